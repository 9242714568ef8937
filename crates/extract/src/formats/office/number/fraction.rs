//! Numbers that are shown as fractions: `# ?/?`.

/// How a fraction is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fraction {
    /// Wholes stand before it.
    mixed: bool,
    denominator: Denominator,
}

#[derive(Clone, Debug, PartialEq)]
enum Denominator {
    Fixed(u32),
    AtMost(u32),
}

/// Digits of a denominator that are made use of.
const DIGITS_MAX: u32 = 5;

impl Fraction {
    /// The fraction that a code stands for; nothing when it is none.
    pub(super) fn parse(code: &str) -> Option<Self> {
        let (before, behind) = code.trim().split_once('/')?;
        let is_place = |c: char| matches!(c, '?' | '#' | '0');
        let numerator = before.trim_end();
        if !numerator.ends_with(is_place) {
            return None;
        }
        let mixed = numerator.trim_end_matches(is_place).contains(is_place);
        let behind = behind.trim();
        let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
        let denominator = match digits.parse::<u32>() {
            Ok(fixed @ 1..) => Denominator::Fixed(fixed),
            _ => {
                let places = behind.chars().take_while(|c| is_place(*c)).count() as u32;
                Denominator::AtMost(10u32.pow(places.min(DIGITS_MAX)) - 1)
            }
        };
        (denominator != Denominator::AtMost(0)).then_some(Self { mixed, denominator })
    }

    pub(super) fn show(&self, value: f64) -> String {
        let size = value.abs();
        // Beyond that there is nothing behind the point.
        if size.is_nan() || size >= 1e15 {
            return super::general(value);
        }
        let (over, under) = match self.denominator {
            Denominator::Fixed(under) => ((size.fract() * f64::from(under)).round() as u64, u64::from(under)),
            Denominator::AtMost(most) => nearest(size.fract(), u64::from(most)),
        };
        let whole = size as u64 + over / under;
        let over = over % under;
        let sign = if value < 0.0 && (whole > 0 || over > 0) { "-" } else { "" };
        match (self.mixed, over) {
            (true, 0) => format!("{sign}{whole}"),
            (true, _) if whole > 0 => format!("{sign}{whole} {over}/{under}"),
            (true, _) => format!("{sign}{over}/{under}"),
            (false, _) => {
                format!("{sign}{}/{under}", u128::from(whole) * u128::from(under) + u128::from(over))
            }
        }
    }
}

/// The nearest fraction to a number below one, by its continued fraction.
fn nearest(value: f64, most: u64) -> (u64, u64) {
    let (mut before, mut found) = ((1u64, 0u64), (0u64, 1u64));
    let mut left = value;
    while left > 1e-9 {
        let turned = 1.0 / left;
        // The rest is above 1e-9, so that this is below 1e9.
        let step = turned.floor() as u64;
        let next = (step * found.0 + before.0, step * found.1 + before.1);
        if next.1 > most {
            // Not quite as good, and within what is allowed.
            let part = (most - before.1) / found.1;
            let between = (part * found.0 + before.0, part * found.1 + before.1);
            let far = |of: (u64, u64)| (value - of.0 as f64 / of.1.max(1) as f64).abs();
            return if between.1 > 0 && far(between) < far(found) { between } else { found };
        }
        (before, found) = (found, next);
        left = turned.fract();
    }
    found
}
