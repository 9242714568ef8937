//! When a job runs by itself: rules of windows, lines of cron as their short form, an interval after the last run, or whenever its source changes.
//!
//! Demanded by coverage S3.51, S3.59, S3.60, S3.73–S3.77 and S3.224–S3.233. What a rule means is what ManifoldCF's schedule records mean;
//! where it is not, decision 0024 says why.
//!
//! *Windows.* A window begins at a minute of a calendar and lasts some minutes, or has no end: then it is open until the next one of its rule.
//! While a window is open, its job may work; when it closes, the job puts down what it has under way and waits, and goes on in the next one.
//! Windows that overlap are as one: a job waits only when none is open. A run that a person began heeds no window.
//!
//! *A beginning that was missed.* A rule that starts at the beginning starts a run if a window has begun since the schedule was last asked,
//! and is open yet (coverage S3.228, S3.229). So a service that was off makes up for a beginning while its window is open, and for none that
//! is over; one that was off for three days begins one run, not three. A rule that starts inside begins one run in each window.
//!
//! *Changes of clocks.* Where clocks are put forward and the wall never shows a beginning, the window begins with the first instant after the
//! gap. Where they are put back and the wall shows it twice, it begins the first time alone. Lengths of windows and intervals are of real time.
//!
//! The clock is a number of milliseconds since 1970 UTC, and time zones are what the caller knows by their names, so that answers depend on
//! nothing else.

mod calendar;
mod cron;
mod moments;
mod rule;
mod words;

use jiff::SpanRelativeTo;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

pub use calendar::{Asked, Calendar, Window};
pub use rule::{Start, WindowRule};

use crate::job::run_kind::RunKind;
use crate::limits;

/// When a job runs by itself, checked and within its bounds: made by [`Schedule::read`] and [`Schedule::parse`] alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// A run begins so long after the last one began, or when that is over, whichever is later.
    Every(Interval),
    /// Runs begin in windows; of the rules at least one.
    Windows(Vec<WindowRule>),
    /// Passes begin whenever something changed at the source; see [`Passes`](crate::job::passes::Passes).
    Continuous,
}

/// How the last of them is written.
const CONTINUOUS: &str = "continuous";

/// The time from one beginning to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    minutes: u32,
    kind: RunKind,
}

/// Whose clocks on the wall are meant where a rule does not say.
const PLAIN_ZONE: &str = "UTC";

impl Schedule {
    /// Reads a schedule: a list of rules, `{"every_minutes": 15}`, or a text as [`Schedule::parse`] takes it, of UTC.
    ///
    /// # Errors
    /// A sentence that names the rule and what to write.
    pub fn read(value: &Value) -> Result<Schedule, String> {
        match value {
            Value::String(text) => Schedule::parse(text, PLAIN_ZONE),
            value => structured(value, PLAIN_ZONE),
        }
    }

    /// Reads a text: a line of cron, `every 15m`, `continuous`, or what [`Schedule::read`] takes as JSON. `time_zone` is that of what names none.
    ///
    /// # Errors
    /// A sentence that says what to write.
    pub fn parse(text: &str, time_zone: &str) -> Result<Schedule, String> {
        let text = text.trim();
        if text.len() > limits::SCHEDULE_TEXT_BYTES_MAX {
            let most = limits::SCHEDULE_TEXT_BYTES_MAX;
            return Err(format!("the schedule is longer than {most} bytes; write it with fewer rules"));
        }
        if text.starts_with(['[', '{']) {
            let value: Value = serde_json::from_str(text)
                .map_err(|why| format!("the schedule is no JSON ({why}); check brackets and quotes"))?;
            return structured(&value, time_zone);
        }
        if text == CONTINUOUS {
            return Ok(Schedule::Continuous);
        }
        if let Some(length) = text.strip_prefix("every") {
            return Ok(Schedule::Every(Interval { minutes: interval(length)?, kind: RunKind::Full }));
        }
        let rules = cron::rules(text, time_zone).map_err(|why| format!("the schedule {why}"))?;
        Ok(Schedule::Windows(rules))
    }

    /// The same as it is written.
    pub fn to_value(&self) -> Value {
        match self {
            Schedule::Every(Interval { minutes, kind }) => {
                json!({"every_minutes": minutes, "kind": kind.as_str()})
            }
            Schedule::Windows(rules) => rules.iter().map(WindowRule::to_value).collect(),
            Schedule::Continuous => CONTINUOUS.into(),
        }
    }

    /// What it means by time zones of which `zone` knows the names. Rules of zones change several times a year, so a service makes it anew from
    /// time to time.
    ///
    /// # Errors
    /// A sentence that names the zone that is not known.
    pub fn calendar(&self, zone: &dyn Fn(&str) -> Option<TimeZone>) -> Result<Calendar, String> {
        Calendar::of(self, zone)
    }
}

/// A zone of those that come with the program, whatever the machine has.
pub fn bundled_zone(name: &str) -> Option<TimeZone> {
    TimeZoneDatabase::bundled().get(name).ok()
}

impl Serialize for Schedule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Schedule, D::Error> {
        Schedule::read(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

fn structured(value: &Value, time_zone: &str) -> Result<Schedule, String> {
    match value {
        Value::Object(fields) if fields.contains_key("every_minutes") => {
            if let Some(name) = fields.keys().find(|name| !["every_minutes", "kind"].contains(&name.as_str()))
            {
                return Err(format!(
                    "the schedule has `{name}` beside `every_minutes`; only `kind` may be there"
                ));
            }
            let of = |why| format!("the schedule: {why}");
            let minutes = rule::minutes_of(&fields["every_minutes"], "every_minutes").map_err(of)?;
            Ok(Schedule::Every(Interval { minutes, kind: rule::kind_of(fields).map_err(of)? }))
        }
        Value::Array(list) if (1..=limits::SCHEDULE_RULES_MAX).contains(&list.len()) => {
            let read = |(at, value)| {
                WindowRule::read(value, time_zone).map_err(|why| {
                    let colon = if why.starts_with('`') { ":" } else { "" };
                    format!("rule {} of the schedule{colon} {why}", at + 1)
                })
            };
            Ok(Schedule::Windows(list.iter().enumerate().map(read).collect::<Result<_, _>>()?))
        }
        Value::Array(list) => {
            let most = limits::SCHEDULE_RULES_MAX;
            Err(format!("the schedule has {} rules; write 1 to {most}, or leave it out", list.len()))
        }
        _ => Err("the schedule is no list of rules; write a list such as [{\"hours\": [2]}], \
                  {\"every_minutes\": 15}, or a line of cron"
            .to_owned()),
    }
}

/// The minutes of what stands behind `every`.
fn interval(text: &str) -> Result<u32, String> {
    let days_are_days = SpanRelativeTo::days_are_24_hours();
    let span = text.trim().parse::<jiff::Span>().ok();
    let length = span.and_then(|span| span.to_duration(days_are_days).ok()).map(|length| length.as_secs());
    let minutes =
        length.filter(|seconds| seconds % 60 == 0).and_then(|seconds| u32::try_from(seconds / 60).ok());
    minutes.filter(|n| (1..=limits::SCHEDULE_MINUTES_MAX).contains(n)).ok_or_else(|| {
        format!(
            "the schedule `every{text}` is no interval; write whole minutes, hours or days up to {} of them, such as `every 15m`, \
             `every 2h` or `every 1d`",
            limits::SCHEDULE_MINUTES_MAX / 1_440
        )
    })
}
