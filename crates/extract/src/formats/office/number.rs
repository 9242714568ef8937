//! Numbers of spreadsheets as people see them: number formats, dates and times.

mod builtin;

pub(crate) use self::builtin::builtin;
use crate::dates;

/// A number format, cut up once and used for many cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Format {
    /// For positive numbers, negative ones, zero.
    sections: Vec<Section>,
}

#[derive(Clone, Debug, PartialEq)]
enum Section {
    General,
    Number(Number),
    Moment(Vec<Piece>),
}

/// Digits and what stands around them.
#[derive(Clone, Debug, PartialEq, Default)]
struct Number {
    prefix: String,
    suffix: String,
    /// Digits before the point at least.
    whole: usize,
    /// Digits after the point: at least, at most.
    decimals: (usize, usize),
    thousands: bool,
    /// Commas at the end: thousands that are cut off.
    scale: u32,
    percent: bool,
    /// Digits of the exponent, if there is one.
    exponent: Option<usize>,
    /// Whether there is a place for digits at all.
    digits: bool,
}

/// A piece of a date or time.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    /// A letter and how often it stands there; minutes are `n`.
    Unit(char, usize),
    /// Hours, minutes or seconds that do not begin again: `[h]`.
    Elapsed(char),
    /// Morning or afternoon.
    Half,
    Literal(String),
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

/// A number without a format: the digits that it was written with, up to fifteen as spreadsheets keep them.
pub(crate) fn general(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-9..1e15).contains(&size) {
        let text = format!("{value:.14E}");
        let (digits, exponent) = text.split_once('E').unwrap_or((&text, "0"));
        let sign = if exponent.starts_with('-') { "-" } else { "+" };
        let digits = trimmed(digits.to_owned(), 0);
        return format!("{digits}E{sign}{:0>2}", exponent.trim_start_matches('-'));
    }
    trimmed(format!("{value:.10}"), 0)
}

/// Without zeros at the end of its decimals, of which `least` stay.
fn trimmed(text: String, least: usize) -> String {
    let Some((whole, decimals)) = text.split_once('.') else { return text };
    let kept = decimals.trim_end_matches('0').len().max(least);
    match kept {
        0 if whole == "-0" => "0".to_owned(),
        0 => whole.to_owned(),
        kept => format!("{whole}.{}", &decimals[..kept]),
    }
}

impl Format {
    /// Cuts up the code of a format, such as `#,##0.00;[Red]-0`.
    pub(crate) fn parse(code: &str) -> Self {
        let sections =
            split_sections(code).into_iter().take(3).map(|section| parse_section(&section)).collect();
        Self { sections }
    }

    /// The number as people see it.
    pub(crate) fn show(&self, value: f64, since_1904: bool) -> String {
        let (at, value) = match self.sections.len() {
            0 | 1 => (0, value),
            _ if value < 0.0 => (1, -value),
            3 if value == 0.0 => (2, value),
            _ => (0, value),
        };
        match self.sections.get(at) {
            Some(Section::Number(number)) => number.show(value),
            Some(Section::Moment(pieces)) => {
                show_moment(pieces, value, since_1904).unwrap_or_else(|| general(value))
            }
            Some(Section::General) | None => general(value),
        }
    }
}

/// The code cut at semicolons outside of quotes.
fn split_sections(code: &str) -> Vec<String> {
    let mut sections = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for c in code.chars() {
        match c {
            ';' if !quoted && !escaped => {
                sections.push(String::new());
                continue;
            }
            '"' if !escaped => quoted = !quoted,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        if let Some(last) = sections.last_mut() {
            last.push(c);
        }
    }
    sections
}

/// A code cut into literals, `\0` and the literal, and code letters.
enum Mark {
    Literal(String),
    Bracket(String),
    Code(char),
}

fn marks(section: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut chars = section.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => marks.push(Mark::Literal(chars.by_ref().take_while(|c| *c != '"').collect())),
            '\\' => marks.push(Mark::Literal(chars.next().map(String::from).unwrap_or_default())),
            '_' => {
                chars.next();
                marks.push(Mark::Literal(" ".to_owned()));
            }
            '*' => {
                chars.next();
            }
            '[' => marks.push(Mark::Bracket(chars.by_ref().take_while(|c| *c != ']').collect())),
            c => marks.push(Mark::Code(c)),
        }
    }
    marks
}

fn parse_section(section: &str) -> Section {
    let marks = marks(section);
    let plain: String =
        marks.iter().filter_map(|mark| if let Mark::Code(c) = mark { Some(*c) } else { None }).collect();
    let lower = plain.to_ascii_lowercase();
    if lower.trim() == "general" || lower.contains('/') && lower.contains('?') || lower.trim() == "@" {
        return Section::General;
    }
    let elapsed = marks.iter().any(|mark| matches!(mark, Mark::Bracket(word) if is_elapsed(word)));
    let without_exponent = lower.replace("e+", "").replace("e-", "");
    if elapsed || without_exponent.contains(['y', 'm', 'd', 'h', 's']) {
        return Section::Moment(moment(&marks));
    }
    Section::Number(number(&marks))
}

fn is_elapsed(word: &str) -> bool {
    !word.is_empty()
        && ["h", "m", "s"].iter().any(|letter| word.to_ascii_lowercase().replace(letter, "").is_empty())
}

/// The words of a bracket that are shown: currencies, as in `[$€-407]`.
fn currency(word: &str) -> Option<&str> {
    word.strip_prefix('$').map(|word| word.split('-').next().unwrap_or_default())
}

fn number(marks: &[Mark]) -> Number {
    let mut number = Number::default();
    let (mut after_point, mut exponent, mut commas) = (false, false, 0);
    for mark in marks {
        let literal = match mark {
            Mark::Literal(text) => text.clone(),
            Mark::Bracket(word) => currency(word).unwrap_or_default().to_owned(),
            Mark::Code(c @ ('0' | '#' | '?')) => {
                number.digits = true;
                number.thousands |= std::mem::take(&mut commas) > 0;
                if exponent {
                    number.exponent = number.exponent.map(|digits| digits + usize::from(*c == '0'));
                } else if after_point {
                    number.decimals.1 += 1;
                    if *c == '0' {
                        number.decimals.0 = number.decimals.1;
                    }
                } else {
                    number.whole += usize::from(*c == '0');
                }
                continue;
            }
            Mark::Code('.') if !after_point => {
                after_point = true;
                number.digits = true;
                continue;
            }
            Mark::Code(',') => {
                commas += 1;
                continue;
            }
            Mark::Code('%') => {
                number.percent = true;
                "%".to_owned()
            }
            Mark::Code('E' | 'e') if number.digits => {
                exponent = true;
                number.exponent = Some(0);
                continue;
            }
            Mark::Code('+' | '-') if exponent => continue,
            Mark::Code('@') => continue,
            Mark::Code(c) => c.to_string(),
        };
        if number.digits { number.suffix.push_str(&literal) } else { number.prefix.push_str(&literal) }
    }
    number.scale = commas;
    number
}

impl Number {
    fn show(&self, value: f64) -> String {
        if !self.digits {
            return format!("{}{}", self.prefix, self.suffix).trim().to_owned();
        }
        let mut value = if self.percent { value * 100.0 } else { value };
        value /= 1_000f64.powi(self.scale.min(6) as i32);
        let most = self.decimals.1.min(30);
        let mut text = match self.exponent {
            Some(digits) => {
                let text = format!("{value:.most$E}");
                let (mantissa, exponent) = text.split_once('E').unwrap_or((&text, "0"));
                let sign = if exponent.starts_with('-') { "-" } else { "+" };
                format!("{mantissa}E{sign}{:0>digits$}", exponent.trim_start_matches('-'))
            }
            None => trimmed(rounded(value, most), self.decimals.0),
        };
        if self.exponent.is_none() {
            let negative = text.starts_with('-');
            let (whole, rest) = text
                .trim_start_matches('-')
                .split_once('.')
                .map_or((text.trim_start_matches('-'), ""), |(whole, rest)| (whole, rest));
            let mut whole = format!("{whole:0>width$}", width = self.whole);
            if self.whole == 0 && whole == "0" {
                whole.clear();
            }
            if self.thousands {
                whole = grouped(&whole);
            }
            let point = if rest.is_empty() { "" } else { "." };
            text = format!("{}{whole}{point}{rest}", if negative { "-" } else { "" });
        }
        format!("{}{text}{}", self.prefix, self.suffix).trim().to_owned()
    }
}

/// Rounded half up as people expect of decimals: 2.675 is written 2.68.
fn rounded(value: f64, decimals: usize) -> String {
    let exact = format!("{value:.*}", decimals);
    let shortest = format!("{value}");
    match shortest.split_once('.') {
        Some((_, rest)) if rest.len() == decimals + 1 && rest.ends_with('5') => {
            // The digit that decides is a five exactly as written: away from zero.
            let up = value + value.signum() * 10f64.powi(-(decimals as i32) - 2);
            format!("{up:.*}", decimals)
        }
        _ => exact,
    }
}

fn grouped(whole: &str) -> String {
    let mut out = String::new();
    for (at, c) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

fn moment(marks: &[Mark]) -> Vec<Piece> {
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
            Mark::Code('@') => {}
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

fn show_moment(pieces: &[Piece], value: f64, since_1904: bool) -> Option<String> {
    if !(0.0..2_958_466.0).contains(&value) {
        return None;
    }
    // The range was checked. Days from 1970 to the first day of the calendar.
    let epoch = if since_1904 { -24_107 } else { -25_569 };
    let seconds = (value * 86_400.0).round() as i64;
    let day = epoch + seconds.div_euclid(86_400);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_in_a_spreadsheet() {
        for (code, value, shown) in [
            ("General", 1.1, "1.1"),
            ("General", 42.0, "42"),
            ("General", 123_456_789_012.0, "123456789012"),
            ("General", 1.5e20, "1.5E+20"),
            ("0", 2.5, "3"),
            ("0.00", 2.675, "2.68"),
            ("#,##0", 1_234_567.0, "1,234,567"),
            ("#,##0.00_);(#,##0.00)", -1_234.5, "(1,234.50)"),
            ("0%", 0.125, "13%"),
            ("0.00E+00", 12_345.0, "1.23E+04"),
            ("[$€-407] #,##0.0#", 5.25, "€ 5.25"),
            ("\"EUR\" 000", 7.0, "EUR 007"),
            ("0.0,", 12_345.0, "12.3"),
            ("0;-0;\"none\"", 0.0, "none"),
            ("#", 0.0, ""),
        ] {
            assert_eq!(Format::parse(code).show(value, false), shown, "{code} {value}");
        }
    }

    #[test]
    fn dates_are_shown_as_in_a_spreadsheet() {
        for (code, value, shown) in [
            ("m/d/yy", 45_322.0, "1/31/24"),
            ("yyyy-mm-dd hh:mm:ss", 45_322.5, "2024-01-31 12:00:00"),
            ("d-mmm-yy", 45_322.0, "31-Jan-24"),
            ("dddd, mmmm d", 45_322.0, "Wednesday, January 31"),
            ("h:mm AM/PM", 0.75, "6:00 PM"),
            ("[h]:mm:ss", 1.5, "36:00:00"),
            ("mm:ss", 0.01, "14:24"),
            ("yyyy\\年m\\月", 45_322.0, "2024年1月"),
        ] {
            assert_eq!(Format::parse(code).show(value, false), shown, "{code} {value}");
        }
        assert_eq!(Format::parse("yyyy-mm-dd").show(43_860.0, true), "2024-01-31");
        assert_eq!(Format::parse("yyyy").show(-5.0, false), "-5");
    }

    #[test]
    fn any_code_is_taken() {
        for code in ["", ";;;", "[", "\"", "\\", "_", "*", "E+", "a", "A/", "[h", "@", "0.0.0", "%,.E"] {
            for value in [0.0, -1.5, 1e300, f64::NAN, f64::INFINITY] {
                let _ = Format::parse(code).show(value, false);
            }
        }
    }
}
