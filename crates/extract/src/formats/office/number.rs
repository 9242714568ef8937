//! Numbers of spreadsheets as people see them: number formats, dates and times.

mod builtin;
mod condition;
mod fraction;
mod moment;

pub(crate) use self::builtin::builtin;
use self::condition::Condition;
use self::fraction::Fraction;
use self::moment::{Piece, is_elapsed};

/// A number format, cut up once and used for many cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Format {
    /// For positive numbers, negative ones, zero, or for those that a condition tells.
    sections: Vec<(Option<Condition>, Section)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Section {
    General,
    Number(Number),
    Fraction(Fraction),
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

/// Digits of a number that spreadsheets keep.
const DIGITS_MAX: usize = 15;

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
    // What is behind the fifteenth digit comes from numbers being kept by halves: `41800000.0099999979`.
    let whole_digits = if size < 1.0 { 0 } else { size.log10() as usize + 1 };
    let decimals = DIGITS_MAX.saturating_sub(whole_digits).min(10);
    trimmed(format!("{value:.decimals$}"), 0)
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
        let (at, value) = self.section(value);
        match self.sections.get(at).map(|(_, section)| section) {
            Some(Section::Number(number)) => number.show(value),
            Some(Section::Fraction(fraction)) => fraction.show(value),
            Some(Section::Moment(pieces)) => {
                moment::show(pieces, value, since_1904).unwrap_or_else(|| general(value))
            }
            Some(Section::General) | None => general(value),
        }
    }

    /// The section for a number, and the number as it stands there: without its sign where only negative ones do.
    fn section(&self, value: f64) -> (usize, f64) {
        let count = self.sections.len();
        let condition = |at: usize| self.sections.get(at).and_then(|(condition, _)| *condition);
        let first =
            condition(0).map_or(if count > 2 { value > 0.0 } else { value >= 0.0 }, |of| of.holds(value));
        let second = condition(1).map_or(count == 2 || value < 0.0, |of| of.holds(value));
        let at = match count {
            0 | 1 if condition(0).is_none() => return (0, value),
            _ if first => 0,
            2.. if second => 1,
            _ => 2,
        };
        let negative = match condition(at) {
            Some(condition) => condition.is_of_negatives(),
            None => at == 1,
        };
        (at, if negative { value.abs() } else { value })
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

fn parse_section(section: &str) -> (Option<Condition>, Section) {
    let marks = marks(section);
    let condition = marks.iter().find_map(|mark| match mark {
        Mark::Bracket(word) => Condition::parse(word),
        _ => None,
    });
    (condition, section_of(&marks))
}

fn section_of(marks: &[Mark]) -> Section {
    let plain: String =
        marks.iter().filter_map(|mark| if let Mark::Code(c) = mark { Some(*c) } else { None }).collect();
    let lower = plain.to_ascii_lowercase();
    if lower.trim() == "general" || lower.trim() == "@" {
        return Section::General;
    }
    if let Some(fraction) = Fraction::parse(&lower) {
        return Section::Fraction(fraction);
    }
    let elapsed = marks.iter().any(|mark| matches!(mark, Mark::Bracket(word) if is_elapsed(word)));
    let without_exponent = lower.replace("e+", "").replace("e-", "");
    if elapsed || without_exponent.contains(['y', 'm', 'd', 'h', 's']) {
        return Section::Moment(moment::parse(marks));
    }
    Section::Number(number(marks))
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
    if value.abs() >= 1e15 && value.is_finite() {
        // Spreadsheets keep fifteen digits; those behind them are of the machine.
        let text = format!("{value:.14e}");
        let (digits, zeros) = text.split_once('e').unwrap_or((&text, "0"));
        let zeros = zeros.parse::<usize>().unwrap_or(0).saturating_sub(14);
        let point = if decimals > 0 { "." } else { "" };
        return digits.replace('.', "") + &"0".repeat(zeros) + point + &"0".repeat(decimals);
    }
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
            ("0", -310_101_195_608_230_976.0, "-310101195608231000"),
            ("#,##0.00", 1e15, "1,000,000,000,000,000.00"),
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
            ("General", 0.1 + 0.2, "0.3"),
            ("General", 0.000_012_3, "0.0000123"),
            ("General", 41_800_000.01, "41800000.01"),
            ("General", 99_999.999_999_999_9, "99999.9999999999"),
            ("General", -123_456_789_012_345.6, "-123456789012346"),
            ("# ?/?", 12_345.678_9, "12345 2/3"),
            ("# ??/??", -1.25, "-1 1/4"),
            ("?/8", 1.5, "12/8"),
            ("# ?/?", 3.0, "3"),
            ("# ?/?", 0.99, "1"),
            ("[<-25]General;[>25]\"high\" 0;\"low\" 0", -30.0, "30"),
            ("[<-25]General;[>25]\"high\" 0;\"low\" 0", 30.0, "high 30"),
            ("[<-25]General;[>25]\"high\" 0;\"low\" 0", -3.0, "low -3"),
            ("[=1]\"yes\";[=0]\"no\"", 0.0, "no"),
            ("[=1]\"yes\";[=0]\"no\"", 7.0, "7"),
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
            ("mm:ss.0", 0.678_9, "17:37.0"),
            ("hh:mm:ss.000", 4_018.999_999_988_43, "23:59:59.999"),
            ("[hh]:mm:ss.00", 4_018.999_999_988_43, "96456:00:00.00"),
            ("yyyy-mm-dd", 1.0, "1900-01-01"),
            ("[$-411]ggge\"年\"m\"月\"d\"日\"", 44_197.0, "2021年1月1日"),
            ("yyyy-mm-dd", 61.0, "1900-03-01"),
            ("yyyy\\年m\\月", 45_322.0, "2024年1月"),
        ] {
            assert_eq!(Format::parse(code).show(value, false), shown, "{code} {value}");
        }
        assert_eq!(Format::parse("yyyy-mm-dd").show(43_860.0, true), "2024-01-31");
        assert_eq!(Format::parse("yyyy").show(-5.0, false), "-5");
    }

    #[test]
    fn any_code_is_taken() {
        for code in [
            "", ";;;", "[", "\"", "\\", "_", "*", "E+", "a", "A/", "[h", "@", "0.0.0", "%,.E", "/", "?/",
            "/0", "[<", "[<>]",
        ] {
            for value in [0.0, -1.5, 1e300, f64::NAN, f64::INFINITY] {
                let _ = Format::parse(code).show(value, false);
            }
        }
    }
}
