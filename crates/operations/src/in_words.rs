//! Facts as people read them in sentences: sizes, times, and errors of the system.

use std::io::ErrorKind;

use ingather_model::run_counts::{RunCounts, number};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The verb that goes with so many: "is" or "are".
pub fn are(n: u64) -> &'static str {
    if n == 1 { "is" } else { "are" }
}

/// Bytes with a unit.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A time in the zone of this machine.
pub fn time(millis: i64) -> String {
    match Timestamp::from_millisecond(millis) {
        Ok(at) => at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => "?".to_owned(),
    }
}

/// A time as programs read it (RFC 3339), in UTC.
pub fn instant(millis: i64) -> String {
    Timestamp::from_millisecond(millis).unwrap_or_default().to_string()
}

/// A time as people type it: a date, with or without a time of day, of this machine; RFC 3339; or so long ago, such as `7d`. Milliseconds since
/// 1970 UTC.
///
/// # Errors
/// A sentence with the forms that there are.
pub fn moment(text: &str, now: i64) -> Result<i64, String> {
    let text = text.trim();
    let ago = |unit: char, millis: i64| {
        let number = text.strip_suffix(unit)?.parse::<u32>().ok()?;
        now.checked_sub(i64::from(number).checked_mul(millis)?)
    };
    let units = [('m', 60_000), ('h', 3_600_000), ('d', 86_400_000)];
    if let Some(at) = units.into_iter().find_map(|(unit, millis)| ago(unit, millis)) {
        return Ok(at);
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at.as_millisecond());
    }
    let of_machine =
        |at: DateTime| at.to_zoned(TimeZone::system()).ok().map(|at| at.timestamp().as_millisecond());
    text.parse::<DateTime>().ok().and_then(of_machine).ok_or_else(|| {
        format!("`{text}` is no time; give one such as `2026-05-01`, `2026-05-01 08:30`, `2026-05-01T08:30:00Z`, or so long ago, such as `90m`, `24h` or `7d`")
    })
}

/// What a clock on the wall shows at this time in the zone of this machine, milliseconds from 1970 there.
pub(crate) fn wall(at: i64) -> Option<i64> {
    let at = Timestamp::from_millisecond(at).ok()?.to_zoned(TimeZone::system());
    let shown = at.datetime().to_zoned(TimeZone::UTC).ok()?;
    Some(shown.timestamp().as_millisecond())
}

/// When a clock on the wall shows `wall`; of an hour that is there twice, the first.
pub(crate) fn utc(wall: i64) -> Option<i64> {
    let shown = Timestamp::from_millisecond(wall).ok()?.to_zoned(TimeZone::UTC).datetime();
    Some(shown.to_zoned(TimeZone::system()).ok()?.timestamp().as_millisecond())
}

/// An error of the system about a path that somebody named, without its number.
pub fn error(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "it does not exist".to_owned(),
        ErrorKind::NotADirectory => "a file is where a folder should be".to_owned(),
        ErrorKind::InvalidData => "it is no text in UTF-8".to_owned(),
        _ => {
            let said = error.to_string();
            said.split(" (os error ").next().unwrap_or_default().to_owned()
        }
    }
}

/// What to do about an error of the system, for the end of a sentence that names file and error.
pub fn advice(error: &std::io::Error) -> &'static str {
    if ingather_store::lacks_handles(error) {
        return "raise the limit of open files, such as by `ulimit -n 4096`, then run the same command again";
    }
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room there, or name another place",
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            "make it accessible to this user, or name another place"
        }
        ErrorKind::BrokenPipe => "whoever read it has ended; run the same command again",
        ErrorKind::NotFound | ErrorKind::NotADirectory => "check the path",
        _ => "check the disk, then run the same command again",
    }
}

/// What became of the documents of a run.
pub fn sentence(counts: &RunCounts) -> String {
    let parts = [
        (counts.added, "added"),
        (counts.updated, "updated"),
        (counts.access, "with new access"),
        (counts.unchanged, "unchanged"),
        (counts.skipped, "skipped"),
        (counts.failed, "failed"),
        (counts.waiting, "waiting"),
        (counts.deleted, "deleted"),
        (counts.kept, "not checked, kept"),
        (counts.held, "held"),
    ];
    let told: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{} {word}", number(*n))).collect();
    let seen = number(counts.seen());
    let partial = match counts.partial {
        0 => String::new(),
        n => format!("; {} not read in full", number(n)),
    };
    let told = if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) };
    format!("{seen} seen{told}{partial}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_people_type_it() {
        let now = 1_767_225_600_000;
        assert_eq!(moment("2026-01-01T00:00:00Z", 0), Ok(now));
        assert_eq!(moment("2026-01-01T01:00:00+01:00", 0), Ok(now));
        assert_eq!(moment(" 90m", now), Ok(now - 90 * 60_000));
        assert_eq!(moment("24h", now), moment("1d", now));
        let of_machine = moment("2026-05-01", now).unwrap();
        assert_eq!(time(of_machine), "2026-05-01 00:00:00");
        assert_eq!(time(moment("2026-05-01 08:30", now).unwrap()), "2026-05-01 08:30:00");
        for wrong in ["", "d", "yesterday", "2026-13-01", "-1d", "99999999999d"] {
            assert!(moment(wrong, now).unwrap_err().contains("`7d`"), "{wrong}");
        }
    }
}
