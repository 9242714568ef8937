//! Dates as feeds write them: those of mails in all their sloppy forms, those of W3C and ISO 8601, and those of old programs.

use crate::dates;

/// The longest text that can be a date.
const DATE_BYTES_MAX: usize = 100;

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Zones by name, minutes ahead of UTC. A name that several countries use is the one of most feeds.
const ZONES: &[(&str, i64)] = &[
    ("z", 0),
    ("ut", 0),
    ("utc", 0),
    ("gmt", 0),
    ("wet", 0),
    ("est", -300),
    ("edt", -240),
    ("et", -300),
    ("cst", -360),
    ("cdt", -300),
    ("ct", -360),
    ("mst", -420),
    ("mdt", -360),
    ("mt", -420),
    ("pst", -480),
    ("pdt", -420),
    ("pt", -480),
    ("ast", -240),
    ("adt", -180),
    ("akst", -540),
    ("akdt", -480),
    ("hst", -600),
    ("nst", -210),
    ("bst", 60),
    ("ist", 330),
    ("west", 60),
    ("cet", 60),
    ("met", 60),
    ("cest", 120),
    ("mest", 120),
    ("eet", 120),
    ("eest", 180),
    ("msk", 180),
    ("sgt", 480),
    ("hkt", 480),
    ("awst", 480),
    ("jst", 540),
    ("kst", 540),
    ("acst", 570),
    ("aest", 600),
    ("aedt", 660),
    ("nzst", 720),
    ("nzdt", 780),
];

/// Seconds since 1970 UTC of a date in any of these forms; one without a zone is UTC.
pub(super) fn parsed(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.len() > DATE_BYTES_MAX || !text.is_ascii() {
        return None;
    }
    in_digits(text).or_else(|| in_words(&text.to_ascii_lowercase()))
}

/// What is known of a date so far.
#[derive(Default)]
struct Found {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    clock: Option<[i64; 3]>,
    /// Minutes ahead of UTC.
    zone: Option<i64>,
    /// Hours that are added for the afternoon.
    afternoon: i64,
}

impl Found {
    fn seconds(self) -> Option<i64> {
        let [mut hour, minute, second] = self.clock.unwrap_or_default();
        if self.afternoon > 0 && hour < 12 {
            hour += 12;
        } else if self.afternoon < 0 && hour == 12 {
            hour = 0;
        }
        // Midnight may be the end of a day.
        let next_day = i64::from(hour == 24 && minute == 0 && second == 0);
        let day = [self.year?, self.month.unwrap_or(1), self.day.unwrap_or(1)];
        let seconds = dates::moment(day, [if next_day == 1 { 0 } else { hour }, minute, second])?;
        Some(seconds + next_day * 86_400 - self.zone.unwrap_or(0) * 60)
    }
}

/// A date that begins with a year in digits: `2003-12-31T10:14:55.5Z`, `20031231`, `2003-335`, `03-12-31`, `2003`.
fn in_digits(text: &str) -> Option<i64> {
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '-' | '/' | '.'))).unwrap_or(text.len());
    let (date, rest) = text.split_at(end);
    let rest = rest.trim_start_matches(['T', 't', '_']).trim_start();
    let mut found = Found::default();
    let pieces: Vec<&str> = date.trim_end_matches(['-', '.', '/']).split(['-', '/', '.']).collect();
    match pieces.as_slice() {
        [all] if all.len() == 8 => {
            (found.year, found.month, found.day) = (number(&all[..4]), number(&all[4..6]), number(&all[6..]));
        }
        [all] if all.len() == 7 => of_year(&mut found, &all[..4], &all[4..])?,
        [all] if all.len() == 6 => {
            (found.year, found.month, found.day) = (year(&all[..2]), number(&all[2..4]), number(&all[4..]));
        }
        [all] if all.len() == 4 && rest.is_empty() => found.year = number(all),
        [first, second] if first.len() == 4 && second.len() == 3 => of_year(&mut found, first, second)?,
        [first, second] if first.len() == 4 => {
            (found.year, found.month) = (number(first), Some(number(second)?));
        }
        [first, second, third] if first.len() == 4 || (first.len() == 2 && date.contains('-')) => {
            (found.year, found.month, found.day) = (year(first), Some(number(second)?), Some(number(third)?));
        }
        _ => return None,
    }
    if !rest.is_empty() {
        time_and_zone(&mut found, &rest.to_ascii_lowercase())?;
    }
    found.seconds()
}

/// The day of a year by its number.
fn of_year(found: &mut Found, year: &str, day: &str) -> Option<()> {
    let (year, day) = (number(year)?, number(day)?);
    let first = dates::moment([year, 1, 1], [0; 3])? / 86_400;
    let (same, month, of_month) = dates::civil(first + day - 1);
    (day > 0 && same == year).then(|| {
        (found.year, found.month, found.day) = (Some(year), Some(month), Some(of_month));
    })
}

/// A date with the name of its month, its pieces in any order that people use.
fn in_words(text: &str) -> Option<i64> {
    let mut found = Found::default();
    let mut is_named = false;
    for word in text.split([' ', ',', '\t', '\n']).filter(|word| !word.is_empty()) {
        // `31-dec-03` and `dec/31/2003` are three words.
        let pieces: Vec<&str> = match word.starts_with(['+', '-']) || word.contains(':') {
            true => vec![word],
            false => word.split(['-', '/']).filter(|piece| !piece.is_empty()).collect(),
        };
        for piece in pieces {
            let piece = piece.trim_end_matches('.');
            let begin = piece.get(..3).unwrap_or_default();
            let first = piece.bytes().next().unwrap_or(b' ');
            if piece.contains(':') && !matches!(first, b'+' | b'-') {
                time_and_zone(&mut found, piece)?;
            } else if first.is_ascii_digit() {
                day_or_year(&mut found, piece)?;
            } else if let Some(at) = MONTHS.iter().position(|month| *month == begin && found.month.is_none())
            {
                (found.month, is_named) = (i64::try_from(at + 1).ok(), true);
            } else if matches!(first, b'+' | b'-') {
                found.zone = Some(found.zone.unwrap_or(0) + offset(piece)?);
            } else if matches!(piece, "am" | "pm" | "a.m" | "p.m") {
                found.afternoon = if first == b'p' { 1 } else { -1 };
            } else if let Some(zone) = zone(piece) {
                found.zone = Some(zone);
            } else if !DAYS.contains(&begin) && !matches!(piece, "at" | "on" | "of") {
                // What a zone is that nobody knows is guessed to be none.
                let is_like_zone =
                    found.clock.is_some() && piece.bytes().all(|byte| byte.is_ascii_alphabetic());
                is_like_zone.then_some(())?;
            }
        }
    }
    found.day.filter(|_| is_named)?;
    found.seconds()
}

fn day_or_year(found: &mut Found, piece: &str) -> Option<()> {
    let digits = piece.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let value = number(digits)?;
    match found.day {
        None if value <= 31 && digits.len() <= 2 => found.day = Some(value),
        _ if found.year.is_none() => found.year = year(digits),
        _ => return None,
    }
    Some(())
}

/// `10:14:55.5+01:00`, `10:14`, `101455Z` and the like.
fn time_and_zone(found: &mut Found, text: &str) -> Option<()> {
    let end =
        text.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.' | ','))).unwrap_or(text.len());
    let (time, zone_text) = text.split_at(end);
    let time = time.split(['.', ',']).next().unwrap_or_default();
    let pieces: Vec<&str> = time.split(':').collect();
    let clock = match pieces.as_slice() {
        [hour, minute] => [number(hour)?, number(minute)?, 0],
        [hour, minute, second] => [number(hour)?, number(minute)?, number(second)?],
        [all] if matches!(all.len(), 2 | 4 | 6) => {
            [0, 2, 4].map(|at| all.get(at..at + 2).and_then(number).unwrap_or(0))
        }
        _ => return None,
    };
    found.clock = Some(clock);
    for word in zone_text.split_whitespace() {
        match word.trim_matches(['(', ')']) {
            "am" => found.afternoon = -1,
            "pm" => found.afternoon = 1,
            word => found.zone = Some(zone(word).or_else(|| offset(word))?),
        }
    }
    Some(())
}

/// Minutes of a zone by its name, such as `est`, or `gmt+1`.
fn zone(word: &str) -> Option<i64> {
    let word = word.trim_matches(['(', ')', '"']);
    let end = word.find(['+', '-']).unwrap_or(word.len());
    let (name, rest) = word.split_at(end);
    let minutes = ZONES.iter().find(|(known, _)| *known == name).map(|(_, minutes)| *minutes)?;
    if rest.is_empty() { Some(minutes) } else { Some(minutes + offset(rest)?) }
}

/// Minutes of `+0130`, `-5`, `+01:30`.
fn offset(word: &str) -> Option<i64> {
    let sign = match word.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: String = word[1..].chars().filter(|c| *c != ':' && *c != '-').collect();
    let minutes = match digits.len() {
        1 | 2 => number(&digits)? * 60,
        3 => number(&digits[..1])? * 60 + number(&digits[1..])?,
        4 => number(&digits[..2])? * 60 + number(&digits[2..])?,
        _ => return None,
    };
    (minutes < 24 * 60).then_some(sign * minutes)
}

/// A year of two or four digits.
fn year(digits: &str) -> Option<i64> {
    let value = number(digits)?;
    match digits.len() {
        4 => Some(value),
        // Feeds began in 1999, and what they tell of may be older.
        2 => Some(if value >= 70 { 1_900 + value } else { 2_000 + value }),
        3 if value >= 100 => Some(1_900 + value),
        _ => None,
    }
}

fn number(digits: &str) -> Option<i64> {
    let is_number =
        !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_moment_is_the_same_in_every_form() {
        for text in [
            "2003-12-31T10:14:55Z",
            "2003-12-31t10:14:55.25z",
            "2003-12-31 10:14:55",
            "20031231T101455Z",
            "2003-365T10:14:55Z",
            "2003365T10:14:55Z",
            "03-12-31T10:14:55Z",
            "2003/12/31 10:14:55 GMT",
            "2003-12-31T02:14:55-08:00",
            "2003-12-31T18:14:55+0800",
            "Wed, 31 Dec 2003 10:14:55 GMT",
            "wednesday, 31 december 2003 10:14:55 +0000",
            "31 Dec 03 10:14:55 UT",
            "Wed,31 Dec 2003 05:14:55 EST",
            "Wed, 31 Dec 2003 11:14:55 GMT+1",
            "Wed, 31 Dec 2003 11:14:55 +01:00",
            "Wed Dec 31 10:14:55 2003",
            "Wed Dec 31 05:14:55 EST 2003",
            "Dec 31, 2003 10:14:55 AM",
            "31-Dec-2003 10:14:55 Z",
            "31-Dec-03 10:14:55",
        ] {
            assert_eq!(parsed(text), Some(1_072_865_695), "{text}");
        }
    }

    #[test]
    fn parts_of_a_date_that_are_missing_are_the_first_ones() {
        for (text, same) in [
            ("2003", "2003-01-01T00:00:00Z"),
            ("2003-12", "2003-12-01"),
            ("20031231", "2003-12-31T00:00Z"),
            ("2003-12-31T24:00:00Z", "2004-01-01T00:00:00Z"),
            ("Thu, 1 Jan 2004", "2004-01-01"),
            ("Thu, 01 Jan 2004 12:30 pm", "2004-01-01T12:30Z"),
            ("Thu, 01 Jan 2004 12:30:00 am", "2004-01-01T00:30Z"),
        ] {
            assert_eq!(parsed(text), parsed(same), "{text}");
            assert!(parsed(text).is_some(), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "soon",
            "31",
            "Thu, 32 Jan 2004",
            "2003-13-01",
            "30 Feb 2004",
            "12/31/2003",
            "25:00",
            "-",
            "\u{663}",
        ] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "[-+:/., a-zA-Z0-9]{0,40}") {
            let _ = parsed(&text);
        }
    }
}
