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

/// From here on no time of a member is believed: it is damage, or what some programs write when they know none.
const STATED_BEFORE: i64 = 4_102_444_800; // 2100-01-01

/// What a container says is the time of a member, in seconds since 1970 UTC, as milliseconds. Zero is what programs write that tell
/// no time.
pub(crate) fn stated(seconds: i64) -> Option<i64> {
    (1..STATED_BEFORE).contains(&seconds).then(|| seconds * 1_000)
}

/// The same from Windows file time.
pub(crate) fn stated_file_time(ticks: u64) -> Option<i64> {
    stated(i64::try_from(ticks / 10_000_000).ok()? - 11_644_473_600)
}

/// The same from a date and time of DOS, which say no zone and are taken as UTC: so the same archive has the same times everywhere.
/// The first day of that calendar at midnight is what programs write that tell no time.
pub(crate) fn stated_dos(date: u16, time: u16) -> Option<i64> {
    let (date, time) = (i64::from(date), i64::from(time));
    let (day, clock) =
        ([1_980 + (date >> 9), date >> 5 & 15, date & 31], [time >> 11, time >> 5 & 63, (time & 31) * 2]);
    stated(moment(day, clock)?).filter(|_| (day, clock) != ([1_980, 1, 1], [0, 0, 0]))
}

/// The same from a date in digits from the year on, whatever sets them apart; without a zone it is UTC, and another zone makes it none.
pub(crate) fn stated_digits(text: &str) -> Option<i64> {
    let (text, zone) = text.split_at(text.find(['Z', '+', '.', ',']).unwrap_or(text.len()));
    let digits: Vec<i64> = text.chars().filter_map(|c| c.to_digit(10)).map(i64::from).collect();
    let number = |from: usize, to: usize| {
        digits.get(from..to).map(|digits| digits.iter().fold(0, |sum, digit| sum * 10 + digit))
    };
    let day = [number(0, 4)?, number(4, 6)?, number(6, 8)?];
    let clock = [8, 10, 12].map(|at| number(at, at + 2).unwrap_or(0));
    let is_plain = digits.len() <= 14 && !zone.contains('+');
    is_plain.then(|| moment(day, clock)).flatten().and_then(stated)
}

/// Seconds since 1970 of a day and a time of day; nothing where there is no such day or time.
pub(crate) fn moment([year, month, day]: [i64; 3], [hour, minute, second]: [i64; 3]) -> Option<i64> {
    let days = days(year, month, day);
    // A leap second is the one before it.
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    let is_day = (1..=12).contains(&month) && civil(days) == (year, month, day);
    (is_day && is_time).then(|| days * 86_400 + hour * 3_600 + minute * 60 + second.min(59))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2024-01-31T12:00:00Z.
    const NOON: i64 = 1_706_702_400_000;

    #[test]
    fn times_of_members_are_the_same_however_they_are_written() {
        assert_eq!(stated(NOON / 1_000), Some(NOON));
        assert_eq!(stated_file_time(133_511_760_000_000_000), Some(NOON));
        assert_eq!(stated_dos(44 << 9 | 1 << 5 | 31, 12 << 11), Some(NOON));
        for text in ["2024-01-31T12:00:00Z", "20240131120000", "20240131T120000", "2024-01-31T12:00:00.5Z"] {
            assert_eq!(stated_digits(text), Some(NOON), "{text}");
        }
        assert_eq!(stated_digits("2024-01-31"), Some(NOON - 43_200_000));
    }

    #[test]
    fn times_that_cannot_be_are_left_out() {
        // 1980-00-00, the beginning of the calendar, 2107, the 30th of February, and the 25th hour.
        for (date, time) in
            [(0, 0), (1 << 5 | 1, 0), (127 << 9 | 12 << 5 | 31, 0), (44 << 9 | 2 << 5 | 30, 0)]
        {
            assert_eq!(stated_dos(date, time), None, "{date}");
        }
        assert_eq!(stated_dos(44 << 9 | 1 << 5 | 31, 25 << 11), None);
        assert_eq!(stated_dos(0xffff, 0xffff), None);
        for seconds in [0, -1, i64::MIN, i64::MAX, 4_102_444_800] {
            assert_eq!(stated(seconds), None);
        }
        assert_eq!((stated_file_time(0), stated_file_time(u64::MAX)), (None, None));
        for text in ["", "yesterday", "20241301", "20240131T120000+0100", "999999999999999999999", "2024"] {
            assert_eq!(stated_digits(text), None, "{text}");
        }
    }

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
