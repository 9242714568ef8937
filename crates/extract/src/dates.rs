//! Dates as formats write them, as RFC 3339 in UTC where they say so.

/// Days from 1970-01-01 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of a number of days since 1970-01-01.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days - era * 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Seconds since 1970 UTC as `2024-01-31T12:00:00Z`.
pub(crate) fn from_unix(seconds: i64) -> String {
    let (year, month, day) = civil(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}

/// Windows file time: 100 nanoseconds since 1601 UTC. Nothing for zero and for what is no date.
pub(crate) fn from_file_time(ticks: u64) -> Option<String> {
    let seconds = i64::try_from(ticks / 10_000_000).ok()? - 11_644_473_600;
    (ticks != 0 && (-5_000_000_000..=32_503_680_000).contains(&seconds)).then(|| from_unix(seconds))
}

/// A PDF date, `D:20240131120000+01'00'`, with everything after the year optional.
pub(crate) fn from_pdf(date: &str) -> Option<String> {
    let date = date.trim().trim_start_matches("D:");
    let digits: Vec<i64> = date.chars().map_while(|c| c.to_digit(10)).map(i64::from).take(14).collect();
    if digits.len() < 4 {
        return None;
    }
    let two = |at: usize, missing: i64| match digits.get(at..at + 2) {
        Some(pair) => pair[0] * 10 + pair[1],
        None => missing,
    };
    let year = two(0, 0) * 100 + two(2, 0);
    let (month, day) = (two(4, 1), two(6, 1));
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let rest = date.get(digits.len()..).unwrap_or_default();
    let number = |at: usize| rest.get(at..at + 2).and_then(|two| two.parse::<i64>().ok()).unwrap_or(0);
    let offset = match rest.as_bytes().first() {
        Some(b'+') => number(1) * 3_600 + number(4) * 60,
        Some(b'-') => -(number(1) * 3_600 + number(4) * 60),
        _ => 0,
    };
    let second = two(8, 0) * 3_600 + two(10, 0) * 60 + two(12, 0);
    Some(from_unix(days(year, month, day) * 86_400 + second - offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_of_writing_a_date_gives_the_same() {
        assert_eq!(from_unix(1_706_702_400), "2024-01-31T12:00:00Z");
        assert_eq!(from_file_time(133_511_760_000_000_000).as_deref(), Some("2024-01-31T12:00:00Z"));
        assert_eq!(from_pdf("D:20240131130000+01'00'").as_deref(), Some("2024-01-31T12:00:00Z"));
        assert_eq!(from_pdf("20240131120000Z").as_deref(), Some("2024-01-31T12:00:00Z"));
    }

    #[test]
    fn what_is_no_date_gives_none() {
        assert_eq!(from_pdf("yesterday"), None);
        assert_eq!(from_pdf("D:20241301"), None);
        assert_eq!(from_file_time(0), None);
        assert_eq!(from_file_time(u64::MAX), None);
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(-1), (1969, 12, 31));
    }
}
