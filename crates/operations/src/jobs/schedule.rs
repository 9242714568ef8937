//! The schedule of a job as it is told: in words, and when it begins next by the time zones of this machine.

use ingather_model::job::schedule::{Calendar, Schedule, bundled_zone};
use ingather_model::limits;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// When a job runs by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToldSchedule {
    /// In words.
    pub words: String,
    /// It begins whenever its source changes, and at no time of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continuous: bool,
    /// When it begins next, milliseconds since 1970 UTC: of an interval, if each run is over by then. Empty when it begins no more.
    pub next: Vec<i64>,
    /// Why nobody can tell when it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Of a continuous job, why it is listed at intervals and not watched, where a service says so: a sentence that follows its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwatched: Option<String>,
}

impl ToldSchedule {
    /// A schedule as it is at a time; `begun` is when the last run began.
    pub(crate) fn of(schedule: &Schedule, begun: Option<i64>, now: i64) -> ToldSchedule {
        let words = schedule.describe();
        let continuous = *schedule == Schedule::Continuous;
        match calendar(schedule) {
            Ok(calendar) => {
                let next = next(schedule, &calendar, begun, now);
                ToldSchedule { words, continuous, next, problem: None, unwatched: None }
            }
            Err(problem) => {
                ToldSchedule { words, continuous, next: Vec::new(), problem: Some(problem), unwatched: None }
            }
        }
    }
}

/// What a schedule means by the time zones of this machine.
///
/// # Errors
/// A sentence that names the zone that is not known.
pub fn calendar(schedule: &Schedule) -> Result<Calendar, String> {
    schedule.calendar(&zone)
}

/// A time zone of the system, whose rules are renewed when a country changes its own; of those that come with the program where the
/// system has none of this name.
fn zone(name: &str) -> Option<TimeZone> {
    jiff::tz::db().get(name).ok().or_else(|| bundled_zone(name))
}

/// The schedule that a request gives; none where it is taken back. A text that names no time zone is of that of this machine.
///
/// # Errors
/// A sentence that says what to write.
pub(crate) fn given(given: &Value) -> Result<Option<Schedule>, String> {
    let schedule = match given {
        Value::String(text) if text.trim() == "none" => return Ok(None),
        Value::String(text) => Schedule::parse(text, &zone_of_machine())?,
        value => Schedule::read(value)?,
    };
    calendar(&schedule).map(|_| Some(schedule))
}

/// Refuses a schedule by which a job would never run.
///
/// # Errors
/// A sentence that says so.
pub(super) fn check(schedule: &Schedule, now: i64) -> Result<(), String> {
    let calendar = calendar(schedule)?;
    if *schedule == Schedule::Continuous
        || calendar.next_begin(now).or_else(|| calendar.window_at(now).map(|window| window.begin)).is_some()
    {
        return Ok(());
    }
    let words = schedule.describe();
    Err(format!("the schedule ({words}) begins no more; name days and years that come, or `none`"))
}

/// The time zone of this machine by its name; UTC where it has none.
fn zone_of_machine() -> String {
    let zone = TimeZone::try_system().ok();
    zone.as_ref().and_then(TimeZone::iana_name).unwrap_or("UTC").to_owned()
}

fn next(schedule: &Schedule, calendar: &Calendar, begun: Option<i64>, now: i64) -> Vec<i64> {
    let first = match schedule {
        // One that never ran, or whose time has passed, begins as soon as somebody looks.
        Schedule::Every(_) => {
            Some(begun.and_then(|begun| calendar.next_begin(begun)).map_or(now, |at| at.max(now)))
        }
        Schedule::Windows(_) | Schedule::Continuous => calendar.next_begin(now),
    };
    std::iter::successors(first, |at| calendar.next_begin(*at)).take(limits::BEGINS_TOLD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn the_next_three_beginnings_are_told() {
        let nightly = Schedule::read(&json!("0 2 * * *")).unwrap();
        let told = ToldSchedule::of(&nightly, None, 24 * HOUR);
        assert_eq!((told.words.as_str(), told.problem), ("daily at 02:00 UTC", None));
        assert_eq!(told.next, [26 * HOUR, 50 * HOUR, 74 * HOUR]);
        let interval = Schedule::read(&json!("every 2h")).unwrap();
        let next = |begun: Option<i64>, now: i64| ToldSchedule::of(&interval, begun, now).next;
        assert_eq!(next(None, HOUR), [HOUR, 3 * HOUR, 5 * HOUR]);
        assert_eq!(next(Some(0), HOUR), [2 * HOUR, 4 * HOUR, 6 * HOUR]);
        assert_eq!(next(Some(0), 9 * HOUR), [9 * HOUR, 11 * HOUR, 13 * HOUR]);
        let past = Schedule::read(&json!([{"years": [1970], "months": [1]}])).unwrap();
        assert_eq!(ToldSchedule::of(&past, None, HOUR).next, [0; 0]);
    }

    #[test]
    fn a_zone_that_nobody_knows_is_told_and_nothing_else_suffers() {
        let schedule = Schedule::read(&json!([{"hours": [2], "time_zone": "Middle/Earth"}])).unwrap();
        let told = ToldSchedule::of(&schedule, None, 0);
        assert_eq!((told.words.as_str(), told.next.len()), ("daily at 02:00 Middle/Earth", 0));
        assert!(
            told.problem.unwrap().starts_with("the time zone `Middle/Earth` of the schedule is not known")
        );
    }

    #[test]
    fn a_schedule_that_begins_no_more_is_refused() {
        let check = |value: &Value, now: i64| check(&Schedule::read(value).unwrap(), now);
        let never = check(&json!("0 0 30 2 *"), 0).unwrap_err();
        assert!(
            never.contains("(on the 30th of the month in February at 00:00 UTC) begins no more"),
            "{never}"
        );
        let once = json!([{"years": [1971], "length_minutes": 60}]);
        assert_eq!(check(&once, 0), Ok(()));
        let begins = 365 * 24 * HOUR;
        assert_eq!(check(&once, begins), Ok(()), "its last window is open");
        assert!(check(&once, begins + HOUR).is_err());
    }

    #[test]
    fn the_zone_of_this_machine_is_one_that_it_knows() {
        let name = zone_of_machine();
        assert!(zone(&name).is_some(), "{name}");
    }
}
