//! Lines of cron as a short form: five fields, or a word such as `@daily`, into rules.
//!
//! No library does it: those that read such lines answer when a line is next due, and keep the sets of its fields to themselves.
//!
//! Cron takes a day that is in *either* of its two fields of days where both name some, and one that is in both where one of them begins
//! with `*`. A rule takes a day that is in both. So a line whose two fields of days both name some becomes two rules, one for each;
//! where both have a begin at the same instant, their windows are as one.

use std::collections::BTreeSet;

use super::rule::{
    DAYS, Field, HOURS, MINUTES, MONTHS, Part, WEEKDAY_WORDS, WEEKDAYS, WindowRule, zone_name,
};

const MONTH_WORDS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
/// Letters that names of days and months are cut off after.
const NAME_LETTERS: usize = 3;
/// Words that stand for lines.
const WORDS: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

/// The rules that a line stands for; its windows have no end. A time zone may stand before it, as `CRON_TZ=` or `TZ=`.
///
/// # Errors
/// A sentence that names the field and what to write.
pub(super) fn rules(line: &str, time_zone: &str) -> Result<Vec<WindowRule>, String> {
    let mut fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let mut time_zone = time_zone;
    if let Some(given) = fields.first().and_then(|first| first.split_once('='))
        && matches!(given.0, "CRON_TZ" | "TZ")
    {
        time_zone = zone_name(given.1)?;
        fields.remove(0);
    }
    if let [word] = fields[..]
        && word.starts_with('@')
    {
        let known = WORDS.iter().find(|known| known.0.eq_ignore_ascii_case(word));
        let line = known.ok_or_else(|| {
            let words: Vec<&str> = WORDS.iter().map(|known| known.0).collect();
            format!("has `{word}`, which stands for no time; write one of {}", words.join(", "))
        })?;
        fields = line.1.split(' ').collect();
    }
    let [minutes, hours, days, months, weekdays] = fields[..] else {
        return Err(format!(
            "is a line of {} fields, and cron has five: minute, hour, day of month, month, weekday; write one such as \
             `0 2 * * mon-fri`, or `every 15m`",
            fields.len()
        ));
    };
    let rule = WindowRule {
        minutes: field(minutes, MINUTES, &[])?,
        hours: field(hours, HOURS, &[])?,
        days: field(days, DAYS, &[])?,
        months: field(months, MONTHS, MONTH_WORDS)?,
        weekdays: field(weekdays, WEEKDAYS, WEEKDAY_WORDS)?,
        ..WindowRule::plain(time_zone)
    };
    if days.starts_with('*') || weekdays.starts_with('*') {
        return Ok(vec![rule]);
    }
    let by_day = WindowRule { weekdays: Field::Every, ..rule.clone() };
    Ok(vec![by_day, WindowRule { days: Field::Every, ..rule }])
}

/// The set of a field: a list of numbers, names, ranges and steps.
fn field(text: &str, part: Part, words: &[&str]) -> Result<Field, String> {
    if text == "*" {
        return Ok(Field::Every);
    }
    let mut members = BTreeSet::new();
    for item in text.split(',') {
        let refused = |why: &str| format!("has `{item}` as {}, {why}", called(part));
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (item, None),
        };
        let (first, last) = match (range, range.split_once('-'), step) {
            ("*", _, _) => (part.first, part.last),
            (_, Some((first, last)), _) => {
                let first = member(first, part, words, &refused)?;
                let last = member(last, part, words, &refused)?;
                // Sunday ends a week that does not begin with it.
                (first, if part == WEEKDAYS && last == 0 && first > 0 { 7 } else { last })
            }
            (_, None, None) => {
                let only = member(range, part, words, &refused)?;
                (only, only)
            }
            // Some take it for one number, some for all from it on.
            (_, None, Some(step)) => {
                let last = part.last;
                return Err(refused(&format!("a step without a range; write `{range}-{last}/{step}`")));
            }
        };
        if first > last {
            return Err(refused(
                "a range whose end is before its beginning; write two, with a comma between",
            ));
        }
        let step =
            match step {
                None => 1,
                Some(step) => step.parse().ok().filter(|n| (1..=99).contains(n)).ok_or_else(|| {
                    refused("a step that is no number from 1 to 99; write one such as `*/15`")
                })?,
            };
        let names = (first..=last).step_by(step);
        // Cron has two numbers for Sunday.
        members.extend(names.map(|name| if part == WEEKDAYS { name % 7 } else { name }));
    }
    Ok(Field::These(members))
}

fn member(text: &str, part: Part, words: &[&str], refused: &dyn Fn(&str) -> String) -> Result<i16, String> {
    let last = if part == WEEKDAYS { 7 } else { part.last };
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(number) = text.parse().ok().filter(|_| is_number) {
        return match (part.first..=last).contains(&number) {
            true => Ok(number),
            false => Err(refused(&format!("and there is {} to {last}", part.first))),
        };
    }
    let known = |word: &&str| {
        word.eq_ignore_ascii_case(text)
            || (text.len() == NAME_LETTERS && word[..NAME_LETTERS].eq_ignore_ascii_case(text))
    };
    let at = words.iter().position(known).and_then(|at| i16::try_from(at).ok());
    at.map(|at| at + part.first).ok_or_else(|| {
        refused("which is not understood; write `*`, numbers, ranges such as `1-5`, steps such as `*/15`, and commas between them")
    })
}

fn called(part: Part) -> &'static str {
    match part.name {
        "minutes" => "the minute",
        "hours" => "the hour",
        "days_of_month" => "the day of the month",
        "months" => "the month",
        _ => "the weekday",
    }
}
