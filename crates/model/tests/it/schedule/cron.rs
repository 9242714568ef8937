//! Lines of cron, as the rules that they stand for.

use fastrand::Rng;
use ingather_model::job::schedule::Schedule;
use serde_json::{Value, json};

use super::naive::DAY;
use super::{at, begins, calendar};

const SEED: u64 = 17;

fn parsed(line: &str) -> Value {
    Schedule::parse(line, "UTC").unwrap().to_value()
}

fn plain(fields: Value) -> Value {
    let mut rule = fields;
    for (name, value) in [("time_zone", "UTC"), ("start", "begin"), ("kind", "full")] {
        if rule.get(name).is_none() {
            rule[name] = json!(value);
        }
    }
    rule
}

#[test]
fn a_line_stands_for_a_rule() {
    let every = |minutes: Value, hours: Value| {
        plain(
            json!({"weekdays": "every", "days_of_month": "every", "months": "every", "hours": hours, "minutes": minutes}),
        )
    };
    assert_eq!(parsed("0 2 * * *"), json!([every(json!([0]), json!([2]))]));
    assert_eq!(parsed("  */20\t8-17/4  * * * "), json!([every(json!([0, 20, 40]), json!([8, 12, 16]))]));
    assert_eq!(parsed("5,1-3,2 * * * *"), json!([every(json!([1, 2, 3, 5]), json!("every"))]));
    assert_eq!(parsed("@daily"), parsed("0 0 * * *"));
    assert_eq!(parsed("@Midnight"), parsed("@daily"));
    assert_eq!(parsed("@hourly"), parsed("0 * * * *"));
    assert_eq!(parsed("@weekly"), parsed("0 0 * * sun"));
    assert_eq!(parsed("@monthly"), parsed("0 0 1 * *"));
    assert_eq!((parsed("@yearly"), parsed("@annually")), (parsed("0 0 1 jan *"), parsed("0 0 1 1 *")));
    let days = |line: &str| parsed(line)[0]["weekdays"].clone();
    assert_eq!(days("0 0 * * mon-fri"), json!(["monday", "tuesday", "wednesday", "thursday", "friday"]));
    assert_eq!(days("0 0 * * 0"), json!(["sunday"]));
    assert_eq!(days("0 0 * * 7"), json!(["sunday"]));
    assert_eq!(days("0 0 * * Fri-Sun"), json!(["sunday", "friday", "saturday"]));
    assert_eq!(days("0 0 * * 5-7"), json!(["sunday", "friday", "saturday"]));
    assert_eq!(parsed("0 0 * Feb,OCTOBER *")[0]["months"], json!([2, 10]));
    for zoned in ["CRON_TZ=Asia/Tokyo 0 2 * * *", "TZ=Asia/Tokyo 0 2 * * *", "TZ=Asia/Tokyo @daily"] {
        assert_eq!(parsed(zoned)[0]["time_zone"], json!("Asia/Tokyo"));
    }
    assert_eq!(
        Schedule::parse("@daily", "Asia/Tokyo").unwrap().to_value()[0]["time_zone"],
        json!("Asia/Tokyo")
    );
}

#[test]
fn a_day_in_either_field_is_taken_unless_one_begins_with_a_star() {
    let day = at("2026-06-01T00:00Z");
    let taken = |line: &str| -> Vec<i64> {
        let begins = begins(&calendar(&json!(line)), day, day + 30 * DAY);
        begins.iter().map(|begin| (begin - day) / DAY + 1).collect()
    };
    // The 1st of June 2026 is a Monday.
    assert_eq!(taken("0 0 13 * mon"), [1, 8, 13, 15, 22, 29], "either");
    assert_eq!(taken("0 0 1,13 * mon"), [1, 8, 13, 15, 22, 29], "both on the 1st is one beginning");
    assert_eq!(taken("0 0 * * mon"), [1, 8, 15, 22, 29]);
    assert_eq!(taken("0 0 */7 * mon"), [1, 8, 15, 22, 29], "both: 1, 8, 15, 22, 29 are every seventh day");
    assert_eq!(taken("0 0 */2 * mon"), [1, 15, 29], "both");
    assert_eq!(taken("0 0 13 * *"), [13]);
    assert_eq!(taken("0 0 13 * */2"), [13], "both: the 13th is a Saturday");
}

/// Sets that a seed makes up, written as lines in several ways, come back as they were.
#[test]
fn lines_come_back_as_the_sets_that_they_were_written_from() {
    println!("seed {SEED}");
    let mut rng = Rng::with_seed(SEED);
    let weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    for number in 0..500 {
        let mut field = |first: i16, last: i16, names: &[&str]| -> (Value, String) {
            if rng.u8(0..4) == 0 {
                return (json!("every"), "*".to_owned());
            }
            let mut members = std::collections::BTreeSet::new();
            let mut items = Vec::new();
            for _ in 0..rng.usize(1..4) {
                let low = rng.i16(first..=last);
                let high = rng.i16(low..=last);
                let step = rng.i16(1..=high - low + 1);
                let name = |n: i16| {
                    usize::try_from(n - first)
                        .ok()
                        .and_then(|at| names.get(at))
                        .map_or(n.to_string(), |name| (*name).to_owned())
                };
                items.push(match rng.u8(0..4) {
                    0 => {
                        members.insert(low);
                        name(low)
                    }
                    1 => {
                        members.extend(low..=high);
                        format!("{}-{high}", name(low))
                    }
                    2 => {
                        members.extend((low..=high).step_by(usize::try_from(step).unwrap()));
                        format!("{low}-{}/{step}", name(high))
                    }
                    _ => {
                        members.extend((first..=last).step_by(usize::try_from(step).unwrap()));
                        format!("*/{step}")
                    }
                });
            }
            // A star at the beginning changes how fields of days go together; elsewhere it does not.
            items.sort_by_key(|item| item.starts_with('*'));
            (json!(members), items.join(","))
        };
        let (minutes, hours) = (field(0, 59, &[]), field(0, 23, &[]));
        let (day, month, weekday) =
            (field(1, 31, &[]), field(1, 12, &months), field(0, 6, &weekdays.map(|day| &day[..3])));
        let line = format!("{} {} {} {} {}", minutes.1, hours.1, day.1, month.1, weekday.1);
        let named: Value = match &weekday.0 {
            Value::Array(list) => {
                list.iter().map(|at| weekdays[usize::try_from(at.as_i64().unwrap()).unwrap()]).collect()
            }
            every => every.clone(),
        };
        let rule = |day: Value, weekday: Value| {
            plain(
                json!({"weekdays": weekday, "days_of_month": day, "months": month.0, "hours": hours.0, "minutes": minutes.0}),
            )
        };
        let expected = match day.1.starts_with('*') || weekday.1.starts_with('*') {
            true => json!([rule(day.0.clone(), named)]),
            false => json!([rule(day.0.clone(), json!("every")), rule(json!("every"), named)]),
        };
        assert_eq!(parsed(&line), expected, "seed {SEED}, line {number}: {line}");
    }
}

#[test]
fn a_line_that_is_not_understood_is_refused_with_what_to_write() {
    for (line, says) in [
        (
            "0 2 * *",
            "a line of 4 fields, and cron has five: minute, hour, day of month, month, weekday; write one such as `0 2 * * mon-fri`",
        ),
        ("", "a line of 0 fields"),
        ("0 0 2 * * *", "a line of 6 fields"),
        ("60 2 * * *", "has `60` as the minute, and there is 0 to 59"),
        ("0 24 * * *", "has `24` as the hour, and there is 0 to 23"),
        ("0 0 0 * *", "has `0` as the day of the month, and there is 1 to 31"),
        ("0 0 * 13 *", "has `13` as the month, and there is 1 to 12"),
        ("0 0 * * 8", "has `8` as the weekday, and there is 0 to 7"),
        ("0 0 * * mond", "has `mond` as the weekday, which is not understood; write `*`, numbers, ranges"),
        ("0 0 L * *", "has `L` as the day of the month, which is not understood"),
        ("0 0 ? * mon", "has `?` as the day of the month, which is not understood"),
        ("0 0 * * mon#1", "has `mon#1` as the weekday, which is not understood"),
        ("+1 0 * * *", "has `+1` as the minute, which is not understood"),
        ("0,,1 0 * * *", "has `` as the minute, which is not understood"),
        ("0 22-4 * * *", "has `22-4` as the hour, a range whose end is before its beginning; write two"),
        ("5/15 * * * *", "has `5/15` as the minute, a step without a range; write `5-59/15`"),
        ("*/0 * * * *", "has `*/0` as the minute, a step that is no number from 1 to 99"),
        ("*/-1 * * * *", "a step that is no number"),
        ("99999999999 * * * *", "has `99999999999` as the minute"),
        ("@reboot", "has `@reboot`, which stands for no time; write one of @hourly, @daily"),
        ("TZ=../etc 0 2 * * *", "names no time zone; write a name of the IANA database"),
        ("FOO=x 0 2 * * *", "a line of 6 fields"),
        ("at two", "a line of 2 fields"),
        ("every day", "the schedule `every day` is no interval; write whole minutes, hours or days"),
    ] {
        let why = Schedule::parse(line, "UTC").unwrap_err();
        assert!(why.starts_with("the schedule ") && why.contains(says), "`{line}`: {why}");
        assert!(!why.ends_with('.'));
    }
}
