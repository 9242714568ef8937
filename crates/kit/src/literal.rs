//! Sizes and dates as people write them in queries and settings; each is the range of numbers that it stands for.

use std::ops::Range;

use schemars::{Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};

const DAY_MS: i64 = 86_400_000;

/// Bytes: a number with `b`, `k`, `m`, `g` or `t` (1,024 each), also `kb` or `kib`.
pub fn size(text: &str) -> Option<Range<i64>> {
    let text = text.to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let power = match unit.strip_suffix('b').map_or(unit, |unit| unit.strip_suffix('i').unwrap_or(unit)) {
        "" if unit != "ib" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * f64::from(1u32 << 10).powi(power);
    (bytes < 9e18).then(|| bytes as i64..bytes as i64 + 1)
}

/// Bytes as people write them: a number, or one with a unit such as `10kb` or `1.5MiB` (1,024 each).
pub fn bytes(text: &str) -> Option<u64> {
    size(text).and_then(|size| u64::try_from(size.start).ok())
}

/// A size in settings: a number of bytes, or a text with a unit.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a size such as 4096 or \"20MB\"")]
enum Size {
    Bytes(u64),
    Text(String),
}

/// Reads a size of settings.
pub fn read_size<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    Size::deserialize(from)?.bytes()
}

impl Size {
    fn bytes<E: serde::de::Error>(self) -> Result<u64, E> {
        match self {
            Size::Bytes(bytes) => Ok(bytes),
            Size::Text(text) => bytes(&text)
                .ok_or_else(|| E::custom(format!("{text:?} is no size; write it like 4096 or \"20MB\""))),
        }
    }
}

/// Reads a size of settings that may be left out.
pub fn read_size_if_any<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Option::<Size>::deserialize(from)?.map(Size::bytes).transpose()
}

/// The schema of a size in settings.
pub fn size_schema(_generator: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({ "type": ["integer", "string"] })
}

/// Milliseconds since 1970 UTC: `YYYY`, `YYYY-MM`, `YYYY-MM-DD`, or a day with `THH:MM` or `THH:MM:SS`, also with `Z`.
pub fn date(text: &str) -> Option<Range<i64>> {
    let (day, time) = match text.split_once(['T', 't']) {
        Some((day, time)) => (day, Some(time.strip_suffix(['Z', 'z']).unwrap_or(time))),
        None => (text, None),
    };
    let parts: Vec<i64> = day.split('-').map(digits).collect::<Option<_>>()?;
    let (year, month, day) = match (parts.as_slice(), time) {
        (&[year], None) => return Some(days(year, 1, 1)? * DAY_MS..days(year + 1, 1, 1)? * DAY_MS),
        (&[year, month], None) => {
            let next = if month == 12 { days(year + 1, 1, 1)? } else { days(year, month + 1, 1)? };
            return Some(days(year, month, 1)? * DAY_MS..next * DAY_MS);
        }
        (&[year, month, day], _) => (year, month, day),
        _ => return None,
    };
    let midnight = days(year, month, day)? * DAY_MS;
    let Some(time) = time else { return Some(midnight..midnight + DAY_MS) };
    let parts: Vec<i64> = time.split(':').map(digits).collect::<Option<_>>()?;
    let (seconds, span) = match *parts.as_slice() {
        [hour @ 0..24, minute @ 0..60] => (hour * 3600 + minute * 60, 60),
        [hour @ 0..24, minute @ 0..60, second @ 0..60] => (hour * 3600 + minute * 60 + second, 1),
        _ => return None,
    };
    let from = midnight + seconds * 1_000;
    Some(from..from + span * 1_000)
}

/// The same in words: `today`, `yesterday`, or a moment so many hours, days or weeks before `now`, such as `7d`.
pub fn moment(text: &str, now: i64) -> Option<Range<i64>> {
    let midnight = now - now.rem_euclid(DAY_MS);
    let hour = DAY_MS / 24;
    let text = text.to_ascii_lowercase();
    let (number, unit) = match text.as_str() {
        "today" => return Some(midnight..midnight + DAY_MS),
        "yesterday" => return Some(midnight - DAY_MS..midnight),
        _ => text.split_at_checked(text.len().checked_sub(1)?)?,
    };
    let span = match unit {
        "h" => hour,
        "d" => DAY_MS,
        "w" => 7 * DAY_MS,
        _ => return None,
    };
    let at = now - digits(number)? * span;
    Some(at..at + 1)
}

fn digits(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar; none when there is no such date.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let length = *lengths.get(usize::try_from(month - 1).ok()?)?;
    if !(1..=length).contains(&day) || !(1..=10_000).contains(&year) {
        return None;
    }
    let years = year - 1;
    let before = years * 365 + years / 4 - years / 100 + years / 400;
    let months: i64 = lengths.iter().take(month as usize - 1).sum();
    // 719,162 days lie between 0001-01-01 and 1970-01-01.
    Some(before + months + day - 1 - 719_162)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_from_now_on() {
        let now = 10 * DAY_MS + 5;
        assert_eq!(moment("Today", now), Some(10 * DAY_MS..11 * DAY_MS));
        assert_eq!(moment("yesterday", now), Some(9 * DAY_MS..10 * DAY_MS));
        assert_eq!(moment("2d", now), Some(8 * DAY_MS + 5..8 * DAY_MS + 6));
        assert_eq!(moment("1w", now).map(|range| range.start), Some(3 * DAY_MS + 5));
        for text in ["", "d", "7", "7y", "-7d", "é"] {
            assert_eq!(moment(text, now), None, "{text}");
        }
    }

    #[test]
    fn sizes_of_settings_are_numbers_or_have_units() {
        let read = |value: serde_json::Value| read_size(value).map_err(|error| error.to_string());
        assert_eq!(read(serde_json::json!(4_096)), Ok(4_096));
        assert_eq!(read(serde_json::json!("20kB")), Ok(20_480));
        assert!(read(serde_json::json!("ten")).unwrap_err().contains("\"ten\" is no size"));
        assert!(read(serde_json::json!([1])).unwrap_err().contains("a size such as"));
        assert_eq!(read_size_if_any(serde_json::Value::Null).ok(), Some(None));
    }

    #[test]
    fn sizes() {
        assert_eq!(size("10"), Some(10..11));
        assert_eq!(size("10kb"), Some(10_240..10_241));
        assert_eq!(size("1.5KiB"), Some(1_536..1_537));
        assert_eq!(size("2g"), Some(2 << 30..(2 << 30) + 1));
        for wrong in ["", "kb", "1x", "1ib", "1e3", "..", "99999999999t", "-1"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn dates() {
        assert_eq!(date("1970"), Some(0..365 * DAY_MS));
        assert_eq!(date("2024-02"), Some(1_706_745_600_000..1_709_251_200_000));
        assert_eq!(date("2024-12"), Some(1_733_011_200_000..1_735_689_600_000));
        assert_eq!(date("2024-02-29"), Some(1_709_164_800_000..1_709_251_200_000));
        assert_eq!(date("2024-02-29T23:59"), Some(1_709_251_140_000..1_709_251_200_000));
        assert_eq!(date("2024-02-29T23:59:59Z"), Some(1_709_251_199_000..1_709_251_200_000));
        for wrong in [
            "",
            "2023-02-29",
            "2024-13",
            "2024-00-01",
            "24:00",
            "2024-01-01T24:00",
            "x",
            "2024-",
            "2024-1-1-1",
        ] {
            assert_eq!(date(wrong), None, "{wrong}");
        }
    }
}
