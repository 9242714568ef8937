//! A calendar that steps through time minute by minute and remembers what the wall has shown: slow, and hard to get wrong.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

pub(super) const MINUTE: i64 = 60_000;
pub(super) const HOUR: i64 = 60 * MINUTE;
pub(super) const DAY: i64 = 24 * HOUR;

/// What the wall of a zone shows anew at each minute: in a gap several minutes at once, at the second showing none.
pub(super) struct Walls {
    pub(super) from: i64,
    shown: Vec<Vec<DateTime>>,
}

impl Walls {
    /// Between two instants at whole minutes; begun a day earlier, to know what was shown before.
    pub(super) fn of(zone: &TimeZone, from: i64, until: i64) -> Walls {
        let wall = |at: i64| zone.to_datetime(Timestamp::from_millisecond(at).unwrap());
        let minute = jiff::SignedDuration::from_mins(1);
        let mut latest = wall(from - DAY);
        let mut shown = Vec::new();
        for at in (from - DAY..until).step_by(usize::try_from(MINUTE).unwrap()) {
            let mut anew = Vec::new();
            while latest < wall(at) {
                latest = latest.checked_add(minute).unwrap();
                anew.push(latest);
            }
            if at >= from {
                shown.push(anew);
            }
        }
        Walls { from, shown }
    }

    /// When windows of a rule begin.
    pub(super) fn begins(&self, rule: &Value) -> Vec<i64> {
        let named = PARTS.map(|part| named(rule, part));
        let at = |place: usize| self.from + i64::try_from(place).unwrap() * MINUTE;
        let begins = self.shown.iter().enumerate();
        begins
            .filter(|(_, walls)| walls.iter().any(|wall| matches(&named, *wall)))
            .map(|(n, _)| at(n))
            .collect()
    }
}

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const PARTS: [&str; 6] = ["minutes", "hours", "weekdays", "days_of_month", "months", "years"];

/// What a rule says of a part.
enum Named {
    Nothing,
    Every,
    These(Vec<i16>),
}

fn named(rule: &Value, part: &str) -> Named {
    let number = |value: &Value| match value {
        Value::String(day) => {
            WEEKDAYS.iter().position(|known| known == day).and_then(|at| i16::try_from(at).ok())
        }
        number => number.as_i64().and_then(|number| i16::try_from(number).ok()),
    };
    match rule.get(part) {
        None => Named::Nothing,
        Some(Value::Array(list)) => Named::These(list.iter().map(|value| number(value).unwrap()).collect()),
        Some(_) => Named::Every,
    }
}

/// Whether a rule names what the wall shows. What it does not say has to be the first where nothing as fine or finer is said.
fn matches(named: &[Named; 6], wall: DateTime) -> bool {
    let says = |part: usize| !matches!(named[part], Named::Nothing);
    let is = |part: usize, value: i16, finer_is_said: bool, first: i16| match &named[part] {
        Named::Nothing => finer_is_said || value == first,
        Named::Every => true,
        Named::These(list) => list.contains(&value),
    };
    let time = says(0) || says(1);
    let day = time || says(2) || says(3);
    is(0, wall.minute().into(), false, 0)
        && is(1, wall.hour().into(), says(0), 0)
        && is(2, wall.weekday().to_monday_zero_offset().into(), true, 0)
        && is(3, wall.day().into(), day, 1)
        && is(4, wall.month().into(), day || says(4), 1)
        && is(5, wall.year(), true, 0)
}
