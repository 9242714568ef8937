//! A schedule in words: what a person checks before trusting it.

use jiff::tz::TimeZone;

use super::moments::{Moments, Way, members};
use super::rule::{Start, WEEKDAY_WORDS, WindowRule};
use super::{Interval, Schedule};
use crate::job::run_kind::RunKind;

const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const EVERY_WEEKDAY: u64 = 0b111_1111;
const WORKING_DAYS: u64 = 0b011_1110;
const EVERY_DAY: u64 = (1 << 32) - 2;
const EVERY_MONTH: u64 = (1 << 13) - 2;
const EVERY_HOUR: u64 = (1 << 24) - 1;
const EVERY_MINUTE: u64 = (1 << 60) - 1;
/// Times of a day that are named one by one.
const NAMED_MAX: u32 = 6;

impl Schedule {
    /// What it says, in words: `weekdays at 02:00 Europe/Berlin for 3 h, minimal`.
    pub fn describe(&self) -> String {
        match self {
            Schedule::Every(Interval { minutes, kind }) => {
                format!("every {}{}", length(*minutes), kind_in_words(*kind))
            }
            Schedule::Windows(rules) => {
                let words: Vec<String> = rules.iter().map(rule).collect();
                words.join("; ")
            }
            Schedule::Continuous => "continuous: whenever its source changes".to_owned(),
        }
    }
}

fn rule(rule: &WindowRule) -> String {
    let sets = rule.moments(TimeZone::UTC);
    let mut words = days(&sets);
    let times = times(&sets);
    if words.is_empty() && times.starts_with("at ") && !times.starts_with("at minute") {
        words.push("daily".to_owned());
    }
    words.extend([times, rule.time_zone.clone()]);
    words.extend(rule.length_minutes.map(|minutes| format!("for {}", length(minutes))));
    let inside = if rule.start == Start::Inside { ", at any time inside" } else { "" };
    format!("{}{inside}{}", words.join(" "), kind_in_words(rule.kind))
}

fn kind_in_words(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Full => "",
        RunKind::Minimal => ", minimal",
    }
}

fn length(minutes: u32) -> String {
    match minutes {
        minutes if minutes % 1_440 == 0 => format!("{} d", minutes / 1_440),
        minutes if minutes % 60 == 0 => format!("{} h", minutes / 60),
        minutes => format!("{minutes} min"),
    }
}

/// Which days; nothing for every one.
fn days(sets: &Moments) -> Vec<String> {
    let mut words = Vec::new();
    let of_week = match sets.weekdays {
        EVERY_WEEKDAY => None,
        WORKING_DAYS => Some("weekdays".to_owned()),
        set => Some(list(members(set, Way::Later).map(|day| format!("{}s", weekday(day))).collect())),
    };
    match (of_week, sets.days) {
        (None, EVERY_DAY) => {}
        (Some(of_week), EVERY_DAY) => words.push(of_week),
        (None, set) => words.push(format!("on the {} of the month", spans(set, &ordinal))),
        (Some(of_week), set) => {
            words.push(format!("{of_week} that are the {} of the month", spans(set, &ordinal)))
        }
    }
    if sets.months != EVERY_MONTH {
        let month = |at: i8| MONTH_NAMES[usize::try_from(at - 1).unwrap_or_default()].to_owned();
        words.push(format!("in {}", spans(sets.months, &month)));
    }
    if let Some(years) = &sets.years {
        words.push(format!("of {}", list(years.iter().map(i16::to_string).collect())));
    }
    words
}

/// Which times of a day.
fn times(sets: &Moments) -> String {
    let (hours, minutes) = (sets.hours, sets.minutes);
    let named = hours.count_ones() * minutes.count_ones();
    if named <= NAMED_MAX {
        let clock = |hour| members(minutes, Way::Later).map(move |minute| format!("{hour:02}:{minute:02}"));
        return format!("at {}", list(members(hours, Way::Later).flat_map(clock).collect()));
    }
    let of_hours = match hours {
        EVERY_HOUR => String::new(),
        set => format!(" of the hours {}", spans(set, &|at| at.to_string())),
    };
    let step = minutes.count_ones();
    let is_step = 60 % step == 0
        && members(minutes, Way::Later).enumerate().all(|(at, minute)| {
            u32::try_from(at).ok().map(|at| at * (60 / step)) == u32::try_from(minute).ok()
        });
    match minutes {
        EVERY_MINUTE => format!("every minute{of_hours}"),
        1 if hours == EVERY_HOUR => "every hour".to_owned(),
        _ if is_step && step > 1 => format!("every {} min{of_hours}", 60 / step),
        set => {
            let which = if step == 1 { "minute" } else { "minutes" };
            let of_hours = if of_hours.is_empty() { " of every hour" } else { &of_hours };
            format!("at {which} {}{of_hours}", spans(set, &|at| at.to_string()))
        }
    }
}

fn weekday(day: i8) -> String {
    let word = WEEKDAY_WORDS[usize::try_from(day).unwrap_or_default()];
    format!("{}{}", word[..1].to_ascii_uppercase(), &word[1..])
}

fn ordinal(day: i8) -> String {
    let ending = match day {
        1 | 21 | 31 => "st",
        2 | 22 => "nd",
        3 | 23 => "rd",
        _ => "th",
    };
    format!("{day}{ending}")
}

/// The members of a set, three and more in a row as a range.
fn spans(set: u64, show: &dyn Fn(i8) -> String) -> String {
    let mut rows: Vec<(i8, i8)> = Vec::new();
    for member in members(set, Way::Later) {
        match rows.last_mut() {
            Some(row) if row.1 + 1 == member => row.1 = member,
            _ => rows.push((member, member)),
        }
    }
    let row = |(first, last): (i8, i8)| match last - first {
        0 => vec![show(first)],
        1 => vec![show(first), show(last)],
        _ => vec![format!("{} to {}", show(first), show(last))],
    };
    list(rows.into_iter().flat_map(row).collect())
}

fn list(mut items: Vec<String>) -> String {
    match (items.pop(), items.is_empty()) {
        (Some(last), false) => format!("{} and {last}", items.join(", ")),
        (last, _) => last.unwrap_or_default(),
    }
}
