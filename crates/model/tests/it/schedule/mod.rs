//! When jobs run by themselves: the rules one by one, and the whole against a calendar that steps minute by minute.
//!
//! | Demanded | Its pure part is tried by |
//! |---|---|
//! | S3.51, S3.228: a run begins when a window has begun since it was last asked | `a_run_begins_once_when_a_window_has_begun_since_it_was_last_asked` |
//! | S3.229: what is remembered is when it was last asked | the same, and `a_beginning_that_was_missed_is_made_up_for_while_its_window_is_open` |
//! | S3.60, S3.73, S3.76, S3.226, S3.230: a window that closes | `a_job_waits_from_the_end_of_its_window_to_the_next_one` |
//! | S3.59, S3.74, S3.77, S3.225, S3.233: a window that opens again | the same |
//! | S3.227: about every ten seconds | `when_to_look_again_is_known`: nobody has to poll |

mod cron;
mod forms;
mod naive;
mod random;

use ingather_model::job::RunKind;
use ingather_model::job::schedule::{Asked, Calendar, Schedule, Start, Window, bundled_zone};
use serde_json::{Value, json};

use naive::{DAY, HOUR, MINUTE};

fn calendar(value: &Value) -> Calendar {
    Schedule::read(value).unwrap().calendar(&bundled_zone).unwrap()
}

fn at(text: &str) -> i64 {
    let zoned = text.parse::<jiff::Zoned>().map(|zoned| zoned.timestamp());
    zoned.or_else(|_| text.parse::<jiff::Timestamp>()).unwrap().as_millisecond()
}

/// All that begins from an instant on, until another.
fn begins(calendar: &Calendar, from: i64, until: i64) -> Vec<i64> {
    let first = calendar.next_begin(from - 1);
    std::iter::successors(first, |at| calendar.next_begin(*at)).take_while(|at| *at < until).collect()
}

fn nightly(start: &str) -> Calendar {
    calendar(&json!([{"hours": [2], "length_minutes": 180, "start": start, "kind": "minimal"}]))
}

#[test]
fn a_run_begins_once_when_a_window_has_begun_since_it_was_last_asked() {
    let calendar = nightly("begin");
    let two = at("2026-03-10T02:00Z");
    let window =
        Window { begin: two, end: Some(two + 3 * HOUR), start: Start::Begin, kind: RunKind::Minimal };
    let asked = Asked { begun: None, at: two - 10_000, full_at: two - 10_000 };
    assert_eq!(calendar.due(asked, two - 1), None);
    assert_eq!(calendar.due(asked, two), Some(window));
    assert_eq!(calendar.due(asked, two + 9_000), Some(window));
    assert_eq!(calendar.due(Asked { at: two, ..asked }, two + 10_000), None, "it was asked when it began");
    let begun = Asked { begun: Some(two + 1), ..asked };
    assert_eq!(
        calendar.due(begun, two + HOUR),
        None,
        "whoever wrote down the run and died then begins none again"
    );
    let tomorrow = calendar.due(Asked { begun: Some(two), at: two + HOUR, full_at: two + HOUR }, two + DAY);
    assert_eq!(tomorrow.map(|window| window.begin), Some(two + DAY));
    let by_hand = Asked { begun: Some(two - HOUR), at: two - HOUR, full_at: two - HOUR };
    assert_eq!(calendar.due(by_hand, two), Some(window), "a run by hand before the window does not count");
}

#[test]
fn a_beginning_that_was_missed_is_made_up_for_while_its_window_is_open() {
    let two = at("2026-03-10T02:00Z");
    let asked = Asked { begun: Some(two - DAY), at: two - HOUR, full_at: two - HOUR };
    for (start, off_until, is_due) in [
        ("begin", two + 2 * HOUR, true),
        ("begin", two + 3 * HOUR - 1, true),
        ("begin", two + 3 * HOUR, false),
        ("inside", two + 2 * HOUR, true),
        ("inside", two + 3 * HOUR, false),
    ] {
        assert_eq!(nightly(start).due(asked, off_until).is_some(), is_due, "{start}, {off_until}");
    }
    // Whoever makes up for nothing names the start of the service.
    let restarted = Asked { at: two + HOUR, ..asked };
    assert_eq!(nightly("begin").due(restarted, two + 2 * HOUR), None);
    assert!(nightly("inside").due(restarted, two + 2 * HOUR).is_some(), "at any time inside");
    // Three nights off, one run.
    let line = calendar(&json!("0 2 * * *"));
    let late = two + 3 * DAY + HOUR;
    assert_eq!(line.due(asked, late).map(|window| window.begin), Some(two + 3 * DAY));
    assert_eq!(line.due(Asked { begun: Some(late), at: late, full_at: late }, late + HOUR), None);
}

#[test]
fn a_rule_that_starts_inside_begins_one_run_in_each_window() {
    let calendar = nightly("inside");
    let two = at("2026-03-10T02:00Z");
    let made_inside = Asked { begun: None, at: two + HOUR, full_at: two + HOUR };
    assert_eq!(calendar.due(made_inside, two + HOUR).map(|window| window.begin), Some(two));
    let ran = Asked { begun: Some(two + HOUR), at: two + HOUR + MINUTE, full_at: two + HOUR + MINUTE };
    assert_eq!(calendar.due(ran, two + 2 * HOUR), None);
    assert!(calendar.due(ran, two + DAY).is_some());
}

#[test]
fn a_job_waits_from_the_end_of_its_window_to_the_next_one() {
    let calendar = nightly("begin");
    let two = at("2026-03-10T02:00Z");
    for (now, is_open) in [
        (two - 1, false),
        (two, true),
        (two + 3 * HOUR - 1, true),
        (two + 3 * HOUR, false),
        (two + DAY, true),
    ] {
        assert_eq!(calendar.is_open(now), is_open, "{now}");
    }
    assert_eq!(calendar.next_begin(two + 3 * HOUR), Some(two + DAY), "what a person is told who asks");
    // Nothing keeps a run of an interval or of a line from its end.
    assert!(is_always_open(&json!("every 15m")) && is_always_open(&json!("0 2 * * *")));
    let not_yet = json!([{"years": [2030]}]);
    assert!(!is_always_open(&not_yet), "a window without an end has a beginning");
}

fn is_always_open(value: &Value) -> bool {
    (0..48).all(|hours| calendar(value).is_open(at("2026-03-10T00:00Z") + hours * HOUR))
}

#[test]
fn windows_that_overlap_are_as_one_and_the_last_to_end_counts() {
    let rule =
        |hour: i64, length: i64, kind: &str| json!({"hours": [hour], "length_minutes": length, "kind": kind});
    let both = calendar(&json!([rule(1, 120, "full"), rule(2, 240, "minimal")]));
    let midnight = at("2026-03-10T00:00Z");
    let open: Vec<i64> = (0..24).filter(|hour| both.is_open(midnight + hour * HOUR)).collect();
    assert_eq!(open, [1, 2, 3, 4, 5]);
    let kind =
        |calendar: &Calendar, hour: i64| calendar.window_at(midnight + hour * HOUR).map(|window| window.kind);
    assert_eq!(
        [1, 2, 5].map(|hour| kind(&both, hour)),
        [Some(RunKind::Full), Some(RunKind::Minimal), Some(RunKind::Minimal)]
    );
    // Of two that end together a full run does what a minimal one does.
    let same = calendar(&json!([rule(1, 60, "minimal"), rule(1, 60, "full"), rule(1, 60, "minimal")]));
    assert_eq!(kind(&same, 1), Some(RunKind::Full));
    let endless = calendar(&json!([rule(1, 600, "full"), {"hours": [0], "kind": "minimal"}]));
    assert_eq!(kind(&endless, 1), Some(RunKind::Minimal), "what has no end ends last");
    // Longer than a day, daily: always open, and each beginning is one.
    let long = calendar(&json!([{"hours": [0], "length_minutes": 3_000}]));
    assert!((0..48).all(|hour| long.is_open(midnight + hour * HOUR)));
    let asked = Asked { begun: Some(midnight), at: midnight + HOUR, full_at: midnight + HOUR };
    assert_eq!(long.due(asked, midnight + DAY).map(|window| window.begin), Some(midnight + DAY));
}

#[test]
fn an_interval_is_counted_from_the_beginning_of_the_last_run() {
    let calendar = calendar(&json!({"every_minutes": 15, "kind": "minimal"}));
    let noon = at("2026-03-10T12:00Z");
    let asked = |begun| Asked { begun, at: 0, full_at: 0 };
    assert!(calendar.due(asked(None), noon).is_some(), "it never ran");
    assert_eq!(calendar.due(asked(Some(noon)), noon + 15 * MINUTE - 1), None);
    let due = calendar.due(asked(Some(noon)), noon + 15 * MINUTE).unwrap();
    assert_eq!((due.begin, due.kind), (noon + 15 * MINUTE, RunKind::Minimal));
    assert!(calendar.due(asked(Some(noon)), noon + 9 * HOUR).is_some(), "a run took nine hours");
    assert_eq!(calendar.next_begin(noon), Some(noon + 15 * MINUTE));
    assert_eq!((calendar.window_at(noon), calendar.is_open(noon)), (None, true));
}

#[test]
fn a_clock_that_is_put_back_neither_begins_twice_nor_stops_a_job_for_good() {
    let two = at("2026-03-10T02:00Z");
    let interval = calendar(&json!("every 15m"));
    let asked = |begun| Asked { begun: Some(begun), at: begun, full_at: begun };
    assert_eq!(interval.due(asked(two + 1_000), two), None, "a second");
    assert_eq!(interval.due(asked(two + 15 * MINUTE), two), None, "an interval");
    assert!(interval.due(asked(two + 15 * MINUTE + 1), two).is_some(), "more than that");
    let inside = nightly("inside");
    assert_eq!(inside.due(asked(two + HOUR), two + HOUR - 1_000), None);
    assert!(inside.due(asked(two + 400 * DAY), two + HOUR).is_some());
    let endless = calendar(&json!([{"hours": [2], "start": "inside"}]));
    assert_eq!(endless.due(asked(two + HOUR), two + HOUR - 1_000), None);
    assert!(endless.due(asked(two + 400 * DAY), two + HOUR).is_some());
}

#[test]
fn when_to_look_again_is_known() {
    let two = at("2026-03-10T02:00Z");
    let asked = Asked { begun: Some(two), at: two, full_at: two };
    let nightly = nightly("begin");
    assert_eq!(nightly.next_change(asked, two + HOUR), Some(two + 3 * HOUR), "it closes");
    assert_eq!(nightly.next_change(asked, two + 4 * HOUR), Some(two + DAY), "it opens");
    let interval = calendar(&json!("every 15m"));
    assert_eq!(interval.next_change(asked, two + MINUTE), Some(two + 15 * MINUTE));
    assert_eq!(interval.next_change(asked, two + HOUR), None, "it is due");
    let past = calendar(&json!([{"years": [2020], "length_minutes": 60}]));
    assert_eq!(past.next_change(asked, two), None);
}

#[test]
fn a_beginning_that_no_wall_shows_is_the_first_instant_after_the_gap() {
    let of = |zone: &str, time: &Value| {
        calendar(&json!([{"hours": time[0], "minutes": time[1], "time_zone": zone}]))
    };
    let berlin = of("Europe/Berlin", &json!([[2], [30]]));
    let day = at("2026-03-29T00:00[Europe/Berlin]");
    assert_eq!(begins(&berlin, day, day + DAY), [at("2026-03-29T03:00+02:00[Europe/Berlin]")]);
    // All that the gap swallowed, and what begins right after it, is one beginning.
    let often = of("Europe/Berlin", &json!([[2, 3], [0, 20, 40]]));
    let found = begins(&often, day, day + DAY);
    let three = at("2026-03-29T03:00+02:00[Europe/Berlin]");
    assert_eq!(found, [three, three + 20 * MINUTE, three + 40 * MINUTE]);
    // Half an hour on Lord Howe Island, and a whole day on Samoa.
    let lord_howe = of("Australia/Lord_Howe", &json!([[2], [15]]));
    let day = at("2026-10-04T00:00[Australia/Lord_Howe]");
    assert_eq!(begins(&lord_howe, day, day + DAY), [at("2026-10-04T02:30+11:00[Australia/Lord_Howe]")]);
    let samoa = calendar(&json!([{"days_of_month": [30], "hours": [12], "time_zone": "Pacific/Apia"}]));
    let day = at("2011-12-29T00:00[Pacific/Apia]");
    assert_eq!(begins(&samoa, day, day + 2 * DAY), [at("2011-12-31T00:00+14:00[Pacific/Apia]")]);
}

#[test]
fn a_beginning_that_the_wall_shows_twice_is_one_and_lengths_are_of_real_time() {
    let berlin = calendar(
        &json!([{"hours": [2], "minutes": [30], "length_minutes": 180, "time_zone": "Europe/Berlin"}]),
    );
    let day = at("2026-10-25T00:00[Europe/Berlin]");
    let first = at("2026-10-25T02:30+02:00[Europe/Berlin]");
    assert_eq!(begins(&berlin, day, day + 25 * HOUR), [first]);
    // At its second showing the window is an hour old, and it closes at half past four on the wall.
    assert_eq!(berlin.window_at(first + HOUR).map(|window| window.begin), Some(first));
    assert_eq!(berlin.window_at(first).unwrap().end, Some(at("2026-10-25T04:30+01:00[Europe/Berlin]")));
    assert_eq!(berlin.window_at(first + HOUR - 30 * MINUTE).map(|window| window.begin), Some(first));
    let lord_howe = calendar(&json!([{"hours": [1], "minutes": [45], "time_zone": "Australia/Lord_Howe"}]));
    let day = at("2026-04-05T00:00[Australia/Lord_Howe]");
    assert_eq!(begins(&lord_howe, day, day + DAY), [at("2026-04-05T01:45+11:00[Australia/Lord_Howe]")]);
}

#[test]
fn what_never_comes_is_found_out_at_once() {
    let now = at("2026-03-10T00:00Z");
    let never = calendar(&json!([{"days_of_month": [30, 31], "months": [2]}]));
    assert_eq!((never.next_begin(now), never.window_at(now)), (None, None));
    assert_eq!(calendar(&json!("0 0 31 4,6,9,11 *")).next_begin(now), None);
    assert_eq!(calendar(&json!([{"years": [1999]}])).next_begin(now), None);
    assert_eq!(
        calendar(&json!([{"years": [2900]}])).next_begin(now),
        Some(at("2900-01-01T00:00Z")),
        "it is named"
    );
    // The ends of time are none of a search.
    for now in [i64::MIN, i64::MAX, at("9999-12-30T00:00Z"), at("-009999-01-03T00:00Z")] {
        for text in ["* * * * *", "0 0 29 2 1"] {
            let calendar = calendar(&json!(text));
            let next = calendar.next_begin(now);
            assert!(next.is_none_or(|next| next > now), "{text} after {now}: {next:?}");
            assert!(calendar.window_at(now).is_none_or(|window| window.begin <= now));
            let asked = Asked { begun: Some(now), at: now, full_at: now };
            assert_eq!(calendar.due(asked, now), None, "{text} at {now}");
            assert!(calendar.next_change(asked, now).is_none_or(|at| at > now));
        }
    }
    assert_eq!(calendar(&json!("every 15m")).next_begin(i64::MAX), None);
}

/// The bound of the search is the longest time between two dates that there are.
#[test]
fn every_day_that_there_is_is_found_within_the_bound_of_the_search() {
    let weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    let until = at("2500-01-01T00:00Z");
    let mut longest = 0;
    for weekday in weekdays {
        let leap_days = calendar(&json!([{"days_of_month": [29], "months": [2], "weekdays": [weekday]}]));
        let found = begins(&leap_days, at("2000-01-01T00:00Z"), until);
        assert!(
            found.len() >= 13,
            "{weekday}: in 400 years of a calendar that begins again then there are 97"
        );
        longest = found.windows(2).map(|pair| pair[1] - pair[0]).fold(longest, i64::max);
    }
    assert_eq!(longest / DAY, 40 * 365 + 9, "forty years with nine leap days");
}

#[test]
fn a_zone_that_nobody_knows_is_refused_with_its_name() {
    let schedule = Schedule::read(&json!([{"hours": [2], "time_zone": "Europe/Berlim"}])).unwrap();
    let why = schedule.calendar(&bundled_zone).unwrap_err();
    assert_eq!(
        why,
        "the time zone `Europe/Berlim` of the schedule is not known; write a name of the IANA database such as `Europe/Berlin`, or `UTC`"
    );
}
