//! The schedule of a job as it is told: in words, and when it begins next by the time zones of this machine.

use ingather_model::job::schedule::{Calendar, Schedule, bundled_zone};
use ingather_model::limits;
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a job runs by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToldSchedule {
    /// In words.
    pub words: String,
    /// When it begins next, milliseconds since 1970 UTC: of an interval, if each run is over by then. Empty when it begins no more.
    pub next: Vec<i64>,
    /// Why nobody can tell when it begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl ToldSchedule {
    /// A schedule as it is at a time; `begun` is when the last run began.
    pub(super) fn of(schedule: &Schedule, begun: Option<i64>, now: i64) -> ToldSchedule {
        let words = schedule.describe();
        match calendar(schedule) {
            Ok(calendar) => {
                ToldSchedule { words, next: next(schedule, &calendar, begun, now), problem: None }
            }
            Err(problem) => ToldSchedule { words, next: Vec::new(), problem: Some(problem) },
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

fn next(schedule: &Schedule, calendar: &Calendar, begun: Option<i64>, now: i64) -> Vec<i64> {
    let first = match schedule {
        // One that never ran, or whose time has passed, begins as soon as somebody looks.
        Schedule::Every(_) => {
            Some(begun.and_then(|begun| calendar.next_begin(begun)).map_or(now, |at| at.max(now)))
        }
        Schedule::Windows(_) => calendar.next_begin(now),
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
}
