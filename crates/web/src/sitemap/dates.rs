//! Dates as sitemaps write them: the profile of ISO 8601 of the W3C.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil::DateTime};

/// A date in milliseconds since 1970: a year, a month, a day, or a moment. One without a zone is meant in UTC. None when it cannot be
/// read: a wrong date is worth less than none.
pub(super) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let utc = |date: DateTime| Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let instant: Timestamp = match text.split_once(['T', 't', ' ']) {
        Some(_) => text.parse().ok().or_else(|| utc(text.parse().ok()?))?,
        None => {
            let mut parts = text.splitn(3, '-');
            let mut part = |length: usize| {
                parts.next().map(|part| {
                    (part.len() == length && digits(part)).then(|| part.parse::<i16>().ok()).flatten()
                })
            };
            let year = part(4)??;
            // A part that is there and cannot be read spoils the date.
            let month = part(2).unwrap_or(Some(1))?;
            let day = part(2).unwrap_or(Some(1))?;
            utc(Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?.into())?
        }
    };
    Some(instant.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_the_profile_is_read() {
        for (text, expected) in [
            ("1997", "1997-01-01T00:00:00Z"),
            ("1997-07", "1997-07-01T00:00:00Z"),
            (" 1997-07-16\n", "1997-07-16T00:00:00Z"),
            ("1997-07-16T19:20+01:00", "1997-07-16T18:20:00Z"),
            ("1997-07-16T19:20:30+01:00", "1997-07-16T18:20:30Z"),
            ("1997-07-16T19:20:30.45+01:00", "1997-07-16T18:20:30.45Z"),
            ("1997-07-16T19:20:30Z", "1997-07-16T19:20:30Z"),
            ("1997-07-16T19:20:30", "1997-07-16T19:20:30Z"),
            ("1997-07-16 19:20:30", "1997-07-16T19:20:30Z"),
        ] {
            let expected: Timestamp = expected.parse().unwrap();
            assert_eq!(parse(text), Some(expected.as_millisecond()), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "yesterday",
            "97",
            "1997-7",
            "1997-13",
            "1997-02-30",
            "1997-07-xx",
            "16/07/1997",
            "1997-07-16T25:00Z",
            "T",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
