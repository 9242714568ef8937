//! Dates and times of spreadsheets.

use super::Mark;
use crate::dates;

/// A piece of a date or time.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    /// A letter and how often it stands there; minutes are `n`.
    Unit(char, usize),
    /// Hours, minutes or seconds that do not begin again: `[h]`.
    Elapsed(char),
    /// Morning or afternoon.
    Half,
    Literal(String),
    /// Decimals of seconds.
    Fraction(usize),
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// Whether a bracket counts hours, minutes or seconds.
pub(super) fn is_elapsed(word: &str) -> bool {
    !word.is_empty()
        && ["h", "m", "s"].iter().any(|letter| word.to_ascii_lowercase().replace(letter, "").is_empty())
}

/// Cuts up the code of a date or time.
pub(super) fn parse(marks: &[Mark]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut at = 0;
    while let Some(mark) = marks.get(at) {
        at += 1;
        match mark {
            Mark::Literal(text) => pieces.push(Piece::Literal(text.clone())),
            Mark::Bracket(word) if is_elapsed(word) => {
                pieces.push(Piece::Elapsed(word.chars().next().unwrap_or('h').to_ascii_lowercase()));
            }
            Mark::Bracket(_) => {}
            Mark::Code('A' | 'a') => {
                let rest: String = marks[at - 1..]
                    .iter()
                    .map_while(|mark| if let Mark::Code(c) = mark { Some(*c) } else { None })
                    .collect();
                let rest = rest.to_ascii_uppercase();
                let length = if rest.starts_with("AM/PM") {
                    5
                } else if rest.starts_with("A/P") {
                    3
                } else {
                    1
                };
                if length > 1 {
                    pieces.push(Piece::Half);
                }
                at += length - 1;
            }
            Mark::Code(c) if "ymdhs".contains(c.to_ascii_lowercase()) => {
                let c = c.to_ascii_lowercase();
                let same =
                    |mark: &&Mark| matches!(mark, Mark::Code(other) if other.to_ascii_lowercase() == c);
                let count = 1 + marks[at..].iter().take_while(same).count();
                at += count - 1;
                let after_hours = pieces.iter().rev().find_map(|piece| match piece {
                    Piece::Unit(unit, _) => Some(*unit),
                    Piece::Elapsed(unit) => Some(*unit),
                    _ => None,
                });
                let minutes = c == 'm'
                    && count <= 2
                    && (after_hours == Some('h') || next_unit(&marks[at..]) == Some('s'));
                pieces.push(Piece::Unit(if minutes { 'n' } else { c }, count));
            }
            // The era is told by its year, which is counted as all others are.
            Mark::Code('@' | 'g' | 'G') => {}
            Mark::Code('e' | 'E') => pieces.push(Piece::Unit('y', 4)),
            Mark::Code('.') if matches!(pieces.last(), Some(Piece::Unit('s', _) | Piece::Elapsed('s'))) => {
                let digits = marks[at..].iter().take_while(|mark| matches!(mark, Mark::Code('0'))).count();
                at += digits;
                pieces.push(if digits == 0 {
                    Piece::Literal(".".to_owned())
                } else {
                    Piece::Fraction(digits)
                });
            }
            Mark::Code(c) => pieces.push(Piece::Literal(c.to_string())),
        }
    }
    pieces
}

fn next_unit(marks: &[Mark]) -> Option<char> {
    marks.iter().find_map(|mark| match mark {
        Mark::Code(c) if "ymdhs".contains(c.to_ascii_lowercase()) => Some(c.to_ascii_lowercase()),
        _ => None,
    })
}

/// Decimals of seconds that are told apart.
const FRACTION_DIGITS_MAX: usize = 6;

/// Days from 1970 to the beginning of the calendar. The older one has a 29th of February in 1900.
fn first_day(day: i64, since_1904: bool) -> i64 {
    match (since_1904, day < 60) {
        (true, _) => -24_107,
        (false, true) => -25_568,
        (false, false) => -25_569,
    }
}

/// A moment as people see it; nothing for one that is in no calendar.
pub(super) fn show(pieces: &[Piece], value: f64, since_1904: bool) -> Option<String> {
    if !(0.0..2_958_466.0).contains(&value) {
        return None;
    }
    // Seconds are rounded to what is shown of them. The range was checked.
    let digits = pieces
        .iter()
        .find_map(|piece| if let Piece::Fraction(digits) = piece { Some(*digits) } else { None });
    let parts = 10i64.pow(digits.unwrap_or(0).min(FRACTION_DIGITS_MAX) as u32);
    let ticks = (value * 86_400.0 * parts as f64).round() as i64;
    let seconds = ticks.div_euclid(parts);
    let day = first_day(seconds.div_euclid(86_400), since_1904) + seconds.div_euclid(86_400);
    let (year, month, of_month) = dates::civil(day);
    let second = seconds.rem_euclid(86_400);
    let half = pieces.contains(&Piece::Half);
    let hour = second / 3_600;
    let shown_hour = if half { (hour + 11) % 12 + 1 } else { hour };
    let mut out = String::new();
    for piece in pieces {
        let number = match piece {
            Piece::Literal(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Half => {
                out.push_str(if hour < 12 { "AM" } else { "PM" });
                continue;
            }
            Piece::Fraction(digits) => {
                let digits = (*digits).min(FRACTION_DIGITS_MAX);
                out.push_str(&format!(".{:0digits$}", ticks.rem_euclid(parts)));
                continue;
            }
            Piece::Elapsed('h') => (seconds / 3_600, 1),
            Piece::Elapsed('m') => (seconds / 60, 1),
            Piece::Elapsed(_) => (seconds, 1),
            Piece::Unit('y', 1 | 2) => (year % 100, 2),
            Piece::Unit('y', _) => (year, 4),
            Piece::Unit('m', count @ 3..) => {
                // A month is between 1 and 12.
                let name = MONTHS[(month - 1) as usize];
                out.push_str(match count {
                    3 => &name[..3],
                    5 => &name[..1],
                    _ => name,
                });
                continue;
            }
            Piece::Unit('d', count @ 3..) => {
                let name = DAYS[day.rem_euclid(7) as usize];
                out.push_str(if *count == 3 { &name[..3] } else { name });
                continue;
            }
            Piece::Unit('m', count) => (month, *count),
            Piece::Unit('d', count) => (of_month, *count),
            Piece::Unit('h', count) => (shown_hour, *count),
            Piece::Unit('n', count) => (second / 60 % 60, *count),
            Piece::Unit(_, count) => (second % 60, *count),
        };
        out.push_str(&format!("{:0width$}", number.0, width = number.1));
    }
    Some(out.trim().to_owned())
}
