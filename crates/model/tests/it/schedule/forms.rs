//! Schedules as they are written, read, refused and told.

use ingather_model::job::Definition;
use ingather_model::job::schedule::{Asked, Schedule};
use serde_json::{Value, json};

use super::naive::{DAY, HOUR, MINUTE};
use super::{at, begins, calendar};

/// What is not said is the first one where something coarser is the finest that is said, and every one elsewhere.
#[test]
fn what_a_rule_does_not_say_follows_from_what_it_says() {
    let (year, ten) = (at("2026-01-01T00:00Z"), at("2026-03-10T00:00Z"));
    let in_year = |rule: Value| begins(&calendar(&json!([rule])), year, at("2027-01-01T00:00Z"));
    let in_day = |rule: Value| begins(&calendar(&json!([rule])), ten, ten + DAY);
    assert_eq!(in_year(json!({"years": [2026]})), [year]);
    assert_eq!(in_year(json!({"months": [1, 3]})), [year, at("2026-03-01T00:00Z")]);
    assert_eq!(in_year(json!({"days_of_month": [1]})).len(), 12);
    assert_eq!(in_year(json!({"weekdays": ["monday"]})).len(), 52);
    assert_eq!(in_year(json!({"weekdays": "every"})).len(), 365);
    assert_eq!(in_day(json!({"hours": [2, 4]})), [ten + 2 * HOUR, ten + 4 * HOUR]);
    assert_eq!(in_day(json!({"minutes": [30]})).len(), 24);
    assert_eq!(in_day(json!({"minutes": [30]}))[0], ten + 30 * MINUTE);
    assert_eq!(in_day(json!({"minutes": "every"})).len(), 1_440);
    // A day has to be in both sets: the one Friday the 13th after another.
    let fridays = in_year(json!({"days_of_month": [13], "weekdays": ["friday"]}));
    assert_eq!(fridays, ["2026-02-13", "2026-03-13", "2026-11-13"].map(|day| at(&format!("{day}T00:00Z"))));
}

#[test]
fn a_continuous_job_is_begun_by_no_time_and_is_always_open() {
    let schedule = Schedule::parse(" continuous ", "Europe/Berlin").unwrap();
    assert_eq!(schedule.to_value(), json!("continuous"));
    assert_eq!(Schedule::read(&schedule.to_value()).as_ref(), Ok(&schedule));
    assert_eq!(schedule.describe(), "continuous: whenever its source changes");
    let calendar = schedule.calendar(&|_| None).unwrap();
    let asked = Asked { begun: None, at: 0, full_at: 0 };
    assert!(calendar.is_open(0) && calendar.due(asked, HOUR).is_none());
    assert_eq!((calendar.next_begin(0), calendar.next_change(asked, 0)), (None, None));
    assert!(Schedule::parse("continuously", "UTC").is_err());
}

#[test]
fn intervals_are_whole_minutes_up_to_a_year() {
    let minutes = |text: &str| {
        Schedule::parse(text, "UTC").map(|schedule| schedule.to_value()["every_minutes"].clone())
    };
    for (text, expected) in [
        ("every 15m", 15),
        ("every 15 minutes", 15),
        ("every 1h30m", 90),
        ("every 2h", 120),
        ("every 1 day", 1_440),
        ("every 120s", 2),
        ("every 1w", 10_080),
        ("every 366d", 527_040),
    ] {
        assert_eq!(minutes(text), Ok(json!(expected)), "{text}");
    }
    for text in [
        "every",
        "every 0m",
        "every -5m",
        "every 90s",
        "every 367d",
        "every 1 month",
        "every 1y",
        "every 5",
        "everything",
    ] {
        let why = minutes(text).unwrap_err();
        assert!(why.contains("is no interval") && why.contains("`every 15m`"), "{text}: {why}");
    }
}

#[test]
fn settings_that_make_no_schedule_are_refused_with_what_to_write() {
    for (value, says) in [
        (json!(null), "the schedule is no list of rules; write a list such as"),
        (json!({"hours": [2]}), "the schedule is no list of rules"),
        (json!([]), "the schedule has 0 rules; write 1 to 64, or leave it out"),
        (json!(vec![json!({"hours": [2]}); 65]), "the schedule has 65 rules"),
        (json!([{"hours": [2]}, 3]), "rule 2 of the schedule is no object"),
        (json!([{}]), "rule 1 of the schedule says no time; add `hours`, such as [2]"),
        (json!([{"length_minutes": 5}]), "says no time"),
        (json!([{"hour": [2]}]), "has `hour`, which is not known; there is weekdays, days_of_month"),
        (
            json!([{"hours": []}]),
            "`hours` is no list of at least one; write a list, or \"every\", or leave it out",
        ),
        (json!([{"hours": 2}]), "`hours` is no list of at least one"),
        (json!([{"hours": [24]}]), "`hours` has 24; write numbers from 0 to 23"),
        (json!([{"hours": [-1]}]), "`hours` has -1"),
        (json!([{"hours": [2.5]}]), "`hours` has 2.5"),
        (json!([{"hours": ["2"]}]), "`hours` has \"2\"; write numbers from 0 to 23"),
        (json!([{"days_of_month": [0]}]), "write numbers from 1 to 31"),
        (json!([{"months": [13]}]), "write numbers from 1 to 12"),
        (json!([{"years": [1969]}]), "write numbers from 1970 to 2999"),
        (json!([{"years": (2000..2101).collect::<Vec<_>>()}]), "`years` names more than 100 of them"),
        (json!([{"weekdays": [1]}]), "`weekdays` has 1; write names, of sunday, monday"),
        (json!([{"weekdays": ["mon"]}]), "`weekdays` has \"mon\", which is none of sunday, monday"),
        (
            json!([{"hours": [2], "length_minutes": 0}]),
            "`length_minutes` is 0; write a number of minutes from 1 to 527040",
        ),
        (json!([{"hours": [2], "length_minutes": null}]), "`length_minutes` is null"),
        (
            json!([{"hours": [2], "time_zone": "../x"}]),
            "names no time zone; write a name of the IANA database",
        ),
        (json!([{"hours": [2], "time_zone": ""}]), "names no time zone"),
        (json!([{"hours": [2], "start": "middle"}]), "`start` is \"middle\"; write one of begin, inside"),
        (json!([{"hours": [2], "kind": "half"}]), "`kind` is \"half\"; write one of full, minimal"),
        (json!({"every_minutes": 0}), "`every_minutes` is 0; write a number of minutes from 1 to 527040"),
        (json!({"every_minutes": 15, "hours": [2]}), "the schedule has `hours` beside `every_minutes`"),
        (json!({"every_minutes": 15, "kind": 1}), "`kind` is 1; write one of full, minimal"),
    ] {
        let why = Schedule::read(&value).unwrap_err();
        assert!(why.contains("schedule") && why.contains(says) && !why.ends_with('.'), "{value}: {why}");
    }
    let text = |text: &str| Schedule::parse(text, "UTC").unwrap_err();
    assert!(text("[{\"hours\": [2]").starts_with("the schedule is no JSON ("));
    assert!(text(&"[".repeat(2_000)).starts_with("the schedule is no JSON ("), "however deep");
    assert!(text(&" 1".repeat(9_000)).contains("is longer than 16384 bytes"));
}

#[test]
fn json_is_taken_where_a_text_is_and_the_zone_that_is_given_counts_where_none_is_named() {
    let of = |text: &str| Schedule::parse(text, "Asia/Tokyo").unwrap();
    assert_eq!(of("[{\"hours\": [2]}]").to_value()[0]["time_zone"], json!("Asia/Tokyo"));
    assert_eq!(of("[{\"hours\": [2], \"time_zone\": \"UTC\"}]").to_value()[0]["time_zone"], json!("UTC"));
    assert_eq!(of("{\"every_minutes\": 15}"), of("every 15m"));
    assert_eq!(Schedule::read(&json!("0 2 * * *")).unwrap().to_value()[0]["time_zone"], json!("UTC"));
}

#[test]
fn a_schedule_is_told_in_words() {
    let json = |value: Value| Schedule::read(&value).unwrap().describe();
    let text = |text: &str| Schedule::parse(text, "Europe/Berlin").unwrap().describe();
    let working = ["monday", "tuesday", "wednesday", "thursday", "friday"];
    assert_eq!(
        json(
            json!([{"weekdays": working, "hours": [2], "length_minutes": 180, "time_zone": "Europe/Berlin", "kind": "minimal"}])
        ),
        "weekdays at 02:00 Europe/Berlin for 3 h, minimal"
    );
    assert_eq!(
        json(
            json!([{"hours": [22], "length_minutes": 90, "start": "inside"}, {"weekdays": ["sunday"], "length_minutes": 2_880}])
        ),
        "daily at 22:00 UTC for 90 min, at any time inside; Sundays at 00:00 UTC for 2 d"
    );
    for (line, words) in [
        ("every 15m", "every 15 min"),
        ("every 2h", "every 2 h"),
        ("every 24h", "every 1 d"),
        ("0 2 * * *", "daily at 02:00 Europe/Berlin"),
        ("@hourly", "every hour Europe/Berlin"),
        ("* * * * *", "every minute Europe/Berlin"),
        ("*/15 * * * *", "every 15 min Europe/Berlin"),
        ("*/15 8-17 * * 1-5", "weekdays every 15 min of the hours 8 to 17 Europe/Berlin"),
        ("0 8-17 * * *", "at minute 0 of the hours 8 to 17 Europe/Berlin"),
        ("5,20,21 * * * *", "at minutes 5, 20 and 21 of every hour Europe/Berlin"),
        ("30 6,18 * * mon,wed,fri", "Mondays, Wednesdays and Fridays at 06:30 and 18:30 Europe/Berlin"),
        ("0 0 1,15 * *", "on the 1st and 15th of the month at 00:00 Europe/Berlin"),
        (
            "0 0 1-7,22,23,31 jun-aug *",
            "on the 1st to 7th, 22nd, 23rd and 31st of the month in June to August at 00:00 Europe/Berlin",
        ),
        ("0 0 1 * mon", "on the 1st of the month at 00:00 Europe/Berlin; Mondays at 00:00 Europe/Berlin"),
    ] {
        assert_eq!(text(line), words, "{line}");
    }
    assert_eq!(
        json(json!([{"days_of_month": [13], "weekdays": ["friday"], "years": [2026, 2027]}])),
        "Fridays that are the 13th of the month of 2026 and 2027 at 00:00 UTC"
    );
}

/// A definition without a schedule is stored, shown and digested as it was before there were any; and no digest has a schedule.
#[test]
fn a_schedule_changes_nothing_of_what_outputs_hold() {
    let plain = json!({"name": "docs", "repository": "files", "source": {"root": "/a"}, "stages": [{"transform": "text", "settings": {}}],
        "outputs": ["index"], "delete_guard": "off", "compare_content": false});
    let read = |value: &Value| serde_json::from_value::<Definition>(value.clone()).unwrap();
    let without = read(&plain);
    assert_eq!(serde_json::to_string(&without).unwrap(), plain.to_string(), "byte for byte");
    let mut scheduled = plain.clone();
    scheduled["schedule"] = json!("0 2 * * mon-fri");
    let with = read(&scheduled);
    assert_eq!(read(&serde_json::to_value(&with).unwrap()), with);
    assert!(with != without && with.schedule.is_some());
    let versions = ["text 1".to_owned()];
    let digests = |definition: &Definition| {
        let settings = std::collections::BTreeMap::from([("index".to_owned(), json!({}))]);
        [
            definition.settings_digest(&versions, &settings),
            definition.stages_digest(&versions),
            definition.delivery_digest(&[0], &versions, &json!({})),
        ]
    };
    assert_eq!(digests(&with), digests(&without));
}
