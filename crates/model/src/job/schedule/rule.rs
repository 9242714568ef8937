//! One rule of a schedule as it is written: when its windows begin, how long they last, and what kind of run begins in them.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::moments::Moments;
use crate::job::run_kind::RunKind;
use crate::lifecycle::words;
use crate::limits;

words! {
    /// When in a window a run may begin.
    pub enum Start {
        /// At its beginning.
        Begin = "begin",
        /// At any time inside, once in each window.
        Inside = "inside",
    }
}

/// When windows begin, how long they last, and what kind of run begins in them; made by [`super::Schedule::read`] alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowRule {
    pub(super) weekdays: Field,
    pub(super) days: Field,
    pub(super) months: Field,
    pub(super) years: Field,
    pub(super) hours: Field,
    pub(super) minutes: Field,
    /// None: the window has no end.
    pub(super) length_minutes: Option<u32>,
    pub(super) time_zone: String,
    pub(super) start: Start,
    pub(super) kind: RunKind,
}

/// What a rule says of one part of a date or time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Nothing: what it means follows from what is said of the others.
    Unsaid,
    /// Every one.
    Every,
    /// These; there is at least one.
    These(BTreeSet<i16>),
}

/// The parts of a date and time, as they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) first: i16,
    pub(super) last: i16,
    /// Words for its members, from the first on.
    pub(super) words: &'static [&'static str],
}

pub(super) const WEEKDAY_WORDS: &[&str] =
    &["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
pub(super) const WEEKDAYS: Part = Part { name: "weekdays", first: 0, last: 6, words: WEEKDAY_WORDS };
pub(super) const DAYS: Part = Part { name: "days_of_month", first: 1, last: 31, words: &[] };
pub(super) const MONTHS: Part = Part { name: "months", first: 1, last: 12, words: &[] };
const YEARS: Part = Part { name: "years", first: 1970, last: limits::SCHEDULE_YEAR_MAX, words: &[] };
pub(super) const HOURS: Part = Part { name: "hours", first: 0, last: 23, words: &[] };
pub(super) const MINUTES: Part = Part { name: "minutes", first: 0, last: 59, words: &[] };
const PARTS: [Part; 6] = [WEEKDAYS, DAYS, MONTHS, YEARS, HOURS, MINUTES];
/// What a rule says beside them.
const OTHERS: [&str; 4] = ["length_minutes", "time_zone", "start", "kind"];

impl Field {
    /// Its members as bits, where nothing said means all of them or only the first.
    fn bits(&self, part: Part, first_alone: bool) -> u64 {
        let bit = |member: i16| u32::try_from(member).map_or(0, |at| 1u64.checked_shl(at).unwrap_or(0));
        match self {
            Field::These(members) => members.iter().fold(0, |set, member| set | bit(*member)),
            Field::Unsaid if first_alone => bit(part.first),
            Field::Unsaid | Field::Every => (part.first..=part.last).fold(0, |set, member| set | bit(member)),
        }
    }

    pub(super) fn is_said(&self) -> bool {
        *self != Field::Unsaid
    }

    fn read(value: &Value, part: Part) -> Result<Field, String> {
        if value.as_str() == Some("every") {
            return Ok(Field::Every);
        }
        let list = value.as_array().filter(|list| !list.is_empty()).ok_or_else(|| {
            format!("`{}` is no list of at least one; write a list, or \"every\", or leave it out", part.name)
        })?;
        let mut members = BTreeSet::new();
        for value in list {
            members.insert(part.member(value)?);
            if members.len() > limits::SCHEDULE_YEARS_NAMED_MAX {
                return Err(format!(
                    "`{}` names more than {} of them; name fewer, or leave it out",
                    part.name,
                    limits::SCHEDULE_YEARS_NAMED_MAX
                ));
            }
        }
        Ok(Field::These(members))
    }

    fn to_value(&self, part: Part) -> Option<Value> {
        match self {
            Field::Unsaid => None,
            Field::Every => Some(json!("every")),
            Field::These(members) => Some(members.iter().map(|member| part.written(*member)).collect()),
        }
    }
}

impl Part {
    fn member(self, value: &Value) -> Result<i16, String> {
        if let (false, Some(word)) = (self.words.is_empty(), value.as_str()) {
            let place = self.words.iter().position(|known| known.eq_ignore_ascii_case(word));
            let place = place.and_then(|at| i16::try_from(at).ok());
            return place.ok_or_else(|| {
                format!("`{}` has {value}, which is none of {}", self.name, self.words.join(", "))
            });
        }
        let number = value.as_i64().filter(|_| self.words.is_empty()).and_then(|n| i16::try_from(n).ok());
        let number = number.filter(|n| (self.first..=self.last).contains(n));
        number.ok_or_else(|| match self.words {
            [] => format!("`{}` has {value}; write numbers from {} to {}", self.name, self.first, self.last),
            words => format!("`{}` has {value}; write names, of {}", self.name, words.join(", ")),
        })
    }

    fn written(self, member: i16) -> Value {
        let word = usize::try_from(member).ok().and_then(|at| self.words.get(at));
        word.map_or_else(|| json!(member), |word| json!(word))
    }
}

impl WindowRule {
    /// One whose windows begin at any minute, have no end, and are for full runs.
    pub(super) fn plain(time_zone: &str) -> WindowRule {
        WindowRule {
            weekdays: Field::Unsaid,
            days: Field::Unsaid,
            months: Field::Unsaid,
            years: Field::Unsaid,
            hours: Field::Unsaid,
            minutes: Field::Unsaid,
            length_minutes: None,
            time_zone: time_zone.to_owned(),
            start: Start::Begin,
            kind: RunKind::Full,
        }
    }

    /// Reads a rule; without a time zone of its own it is of the one that is given.
    pub(super) fn read(value: &Value, time_zone: &str) -> Result<WindowRule, String> {
        let Value::Object(fields) = value else {
            return Err("is no object; write one such as {\"hours\": [2], \"time_zone\": \"Europe/Berlin\"}"
                .to_owned());
        };
        let known = |name: &str| PARTS.iter().any(|part| part.name == name) || OTHERS.contains(&name);
        if let Some(name) = fields.keys().find(|name| !known(name)) {
            let parts: Vec<&str> = PARTS.iter().map(|part| part.name).chain(OTHERS).collect();
            return Err(format!("has `{name}`, which is not known; there is {}", parts.join(", ")));
        }
        let mut rule = WindowRule::plain(time_zone);
        for part in PARTS {
            if let Some(value) = fields.get(part.name) {
                *rule.field_mut(part) = Field::read(value, part)?;
            }
        }
        if PARTS.iter().all(|part| !rule.field(*part).is_said()) {
            return Err("says no time; add `hours`, such as [2]".to_owned());
        }
        rule.length_minutes = match fields.get("length_minutes") {
            None => None,
            Some(value) => Some(minutes_of(value, "length_minutes")?),
        };
        if let Some(value) = fields.get("time_zone") {
            rule.time_zone = zone_name(value.as_str().unwrap_or_default())?.to_owned();
        }
        rule.start = word_of(fields, "start", Start::Begin, Start::parse, Start::WORDS)?;
        rule.kind = kind_of(fields)?;
        Ok(rule)
    }

    pub(super) fn to_value(&self) -> Value {
        let mut fields = Map::new();
        for part in PARTS {
            if let Some(value) = self.field(part).to_value(part) {
                fields.insert(part.name.to_owned(), value);
            }
        }
        if let Some(minutes) = self.length_minutes {
            fields.insert("length_minutes".to_owned(), json!(minutes));
        }
        fields.insert("time_zone".to_owned(), json!(self.time_zone));
        fields.insert("start".to_owned(), json!(self.start.as_str()));
        fields.insert("kind".to_owned(), json!(self.kind.as_str()));
        Value::Object(fields)
    }

    pub(super) fn field(&self, part: Part) -> &Field {
        match part.name {
            "weekdays" => &self.weekdays,
            "days_of_month" => &self.days,
            "months" => &self.months,
            "years" => &self.years,
            "hours" => &self.hours,
            _ => &self.minutes,
        }
    }

    fn field_mut(&mut self, part: Part) -> &mut Field {
        match part.name {
            "weekdays" => &mut self.weekdays,
            "days_of_month" => &mut self.days,
            "months" => &mut self.months,
            "years" => &mut self.years,
            "hours" => &mut self.hours,
            _ => &mut self.minutes,
        }
    }

    /// When its windows begin, by clocks of a zone. What is not said counts as its first member where something coarser is the finest
    /// that is said, and as every one otherwise, as ManifoldCF has it: of `hours` alone, minute 0 of each such hour of every day.
    pub(super) fn moments(&self, zone: TimeZone) -> Moments {
        let minute_said = self.minutes.is_said();
        let time_said = minute_said || self.hours.is_said();
        let day_said = time_said || self.weekdays.is_said() || self.days.is_said();
        let month_said = day_said || self.months.is_said();
        Moments {
            years: match &self.years {
                Field::These(years) => Some(years.iter().copied().collect()),
                Field::Unsaid | Field::Every => None,
            },
            months: self.months.bits(MONTHS, !month_said),
            days: self.days.bits(DAYS, !day_said),
            weekdays: self.weekdays.bits(WEEKDAYS, false),
            hours: self.hours.bits(HOURS, !time_said),
            minutes: self.minutes.bits(MINUTES, true),
            zone,
        }
    }
}

/// A number of minutes within the bound.
pub(super) fn minutes_of(value: &Value, name: &str) -> Result<u32, String> {
    let minutes = value.as_u64().and_then(|n| u32::try_from(n).ok());
    minutes.filter(|n| (1..=limits::SCHEDULE_MINUTES_MAX).contains(n)).ok_or_else(|| {
        format!("`{name}` is {value}; write a number of minutes from 1 to {}", limits::SCHEDULE_MINUTES_MAX)
    })
}

pub(super) fn kind_of(fields: &Map<String, Value>) -> Result<RunKind, String> {
    word_of(fields, "kind", RunKind::Full, RunKind::parse, RunKind::WORDS)
}

fn word_of<T>(
    fields: &Map<String, Value>,
    name: &str,
    plain: T,
    parse: fn(&str) -> Option<T>,
    words: &[&str],
) -> Result<T, String> {
    let Some(value) = fields.get(name) else { return Ok(plain) };
    value
        .as_str()
        .and_then(parse)
        .ok_or_else(|| format!("`{name}` is {value}; write one of {}", words.join(", ")))
}

/// A name as zones of the IANA database have them; whether there is such a zone is known where there is a database.
pub(super) fn zone_name(name: &str) -> Result<&str, String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "/_+-".contains(c);
    if (1..=limits::TIME_ZONE_BYTES_MAX).contains(&name.len()) && name.chars().all(is_of_name) {
        return Ok(name);
    }
    Err("names no time zone; write a name of the IANA database such as `Europe/Berlin`, or `UTC`".to_owned())
}
