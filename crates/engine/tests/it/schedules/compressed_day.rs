//! A day of many schedules, hour by hour by the clock of a test: each run begins when a calendar says that was written apart, which only
//! steps through time and remembers what the wall has shown.

use std::collections::BTreeMap;

use fastrand::Rng;
use ingather_contract::call::Clock as _;
use ingather_engine::scheduler::Scheduler;
use ingather_model::job::history::HistoryOf;
use ingather_model::job::schedule::{Schedule, bundled_zone};
use ingather_model::job::{Definition, RunKind};
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_store::Durability;
use ingather_store::jobs::{self, Job};
use ingather_store::runs::{self, Begin};
use ingather_testkit::database::Kind;
use ingather_testkit::together::definition;
use ingather_testkit::world::World;
use jiff::Timestamp;
use jiff::civil::DateTime;
use serde_json::{Value, json};

const MINUTE: i64 = 60_000;
const DAY: i64 = 1_440 * MINUTE;
/// Of Europe alone clocks change on these days.
const ZONES: [&str; 5] =
    ["Europe/Berlin", "Europe/London", "Europe/Lisbon", "America/New_York", "Asia/Kathmandu"];

/// A run that begins: its job, its kind, and the minute of the day.
type Begins = BTreeMap<(i64, String), RunKind>;

#[test]
fn runs_of_a_day_on_which_clocks_are_put_forward_begin_as_a_plain_calendar_says() {
    compare(Kind::Sqlite, 100, "2026-03-29T00:00:00Z");
    compare(Kind::Postgres, 20, "2026-03-29T00:00:00Z");
}

#[test]
fn runs_of_a_day_on_which_clocks_are_put_back_begin_as_a_plain_calendar_says() {
    compare(Kind::Sqlite, 100, "2026-10-25T00:00:00Z");
    compare(Kind::Postgres, 20, "2026-10-25T00:00:00Z");
}

/// Two days of a hundred schedules each.
fn compare(kind: Kind, schedules: usize, from: &str) {
    let from = from.parse::<Timestamp>().unwrap().as_millisecond();
    let mut world = World::new(kind);
    world.output("one", "memory");
    world.clock.pass(from - world.clock.now());
    let mut rng = Rng::with_seed(from.unsigned_abs());
    let mut expected = Begins::new();
    for n in 0..schedules {
        let name = format!("job {n}");
        let schedule = schedule(&mut rng);
        let read = Schedule::read(&schedule).unwrap();
        world.job(Definition { schedule: Some(read), ..definition(&world, &name, "", &["one"]) });
        expected.extend(begins(&schedule, from).into_iter().map(|(at, kind)| ((at, name.clone()), kind)));
    }
    assert!(expected.len() > schedules * 4, "{} runs are too few to tell anything", expected.len());
    let found = found(&world, from + DAY);
    let only = |some: &Begins, others: &Begins| -> Vec<String> {
        let other = |(at, kind): &(&(i64, String), &RunKind)| others.get(*at) != Some(*kind);
        let told = |((at, name), kind): (&(i64, String), &RunKind)| {
            format!("{name} {kind} at {}", Timestamp::from_millisecond(*at).unwrap())
        };
        some.iter().filter(other).map(told).collect()
    };
    let (missing, extra) = (only(&expected, &found), only(&found, &expected));
    assert!(missing.is_empty() && extra.is_empty(), "{kind:?}: missing {missing:?}, extra {extra:?}");
}

/// An interval, or one or two rules, mostly of the small hours in which clocks change.
fn schedule(rng: &mut Rng) -> Value {
    if rng.u8(0..8) == 0 {
        return json!(rng.choice(["every 25m", "every 1h", "every 7h"]).unwrap());
    }
    let zone = rng.choice(ZONES).unwrap();
    let rule = |rng: &mut Rng| {
        let minutes: Vec<u8> = (0..rng.usize(1..3)).map(|_| rng.u8(0..60)).collect();
        let hours: Vec<u8> = (0..rng.usize(1..4)).map(|_| rng.u8(0..5)).collect();
        let hours = if rng.u8(0..4) == 0 { json!("every") } else { json!(hours) };
        let length = rng.choice([1, 20, 90, 600]).unwrap();
        let kind = rng.choice(["full", "minimal"]).unwrap();
        json!({"minutes": minutes, "hours": hours, "length_minutes": length, "time_zone": zone, "kind": kind})
    };
    (0..rng.usize(1..3)).map(|_| rule(rng)).collect()
}

/// When runs begin that take no time, by the plain calendar.
fn begins(schedule: &Value, from: i64) -> Vec<(i64, RunKind)> {
    let every = match schedule.as_str() {
        Some("every 25m") => Some(25),
        Some("every 1h") => Some(60),
        Some("every 7h") => Some(420),
        _ => None,
    };
    if let Some(every) = every {
        let step = usize::try_from(every * MINUTE).unwrap();
        return (from..from + DAY).step_by(step).map(|at| (at, RunKind::Full)).collect();
    }
    let rules = schedule.as_array().unwrap();
    let zone = bundled_zone(rules[0]["time_zone"].as_str().unwrap()).unwrap();
    let wall = |at: i64| zone.to_datetime(Timestamp::from_millisecond(at).unwrap());
    let mut latest = wall(from - DAY);
    let mut begins = Vec::new();
    for at in (from - DAY..from + DAY).step_by(usize::try_from(MINUTE).unwrap()) {
        let mut kinds = Vec::new();
        // In a gap several minutes at once; in the hour that is shown a second time none.
        while latest < wall(at) {
            latest = latest.checked_add(jiff::SignedDuration::from_mins(1)).unwrap();
            kinds.extend(rules.iter().filter(|rule| names(rule, latest)).map(kind_of));
        }
        // What began when the jobs were made, or before, is not made up for.
        if at > from && !kinds.is_empty() {
            let is_full = kinds.contains(&RunKind::Full);
            begins.push((at, if is_full { RunKind::Full } else { RunKind::Minimal }));
        }
    }
    begins
}

fn names(rule: &Value, wall: DateTime) -> bool {
    let is_in = |list: &Value, number: i8| match list {
        Value::Array(list) => list.iter().any(|one| one.as_i64() == Some(i64::from(number))),
        _ => true,
    };
    is_in(&rule["hours"], wall.hour()) && is_in(&rule["minutes"], wall.minute())
}

fn kind_of(rule: &Value) -> RunKind {
    RunKind::parse(rule["kind"].as_str().unwrap()).unwrap()
}

/// When the scheduler has runs begin, asked at the times that it names itself and whenever one has ended.
fn found(world: &World, until: i64) -> Begins {
    let mut scheduler = Scheduler::new(|schedule| schedule.calendar(&bundled_zone));
    let mut found = Begins::new();
    loop {
        let now = world.clock.now();
        let look = scheduler.look(&world.engine().reader, now, &|_| false).unwrap();
        assert_eq!(look.problems, []);
        let is_over = look.begins.is_empty();
        for (job, kind) in look.begins {
            run(world, &job, kind, now);
            let before = found.insert((now, job.name.clone()), kind);
            assert_eq!(before, None, "{} begins twice at once", job.name);
        }
        if is_over {
            let again = look.again.unwrap_or(until);
            assert!(again > now, "it would be asked for ever");
            if again >= until {
                return found;
            }
            world.clock.pass(again - now);
        }
    }
}

/// A run that takes no time, as it is on record.
fn run(world: &World, job: &Job, kind: RunKind, now: i64) {
    let store = world.store();
    let ended = store.write(Durability::Relaxed, |sql| {
        let number = jobs::begin(sql, job.id)?.unwrap_or_default();
        let begin = Begin { number, kind, at: now, by: "schedule", notes: HistoryOf::Failures };
        runs::open(sql, job.id, begin)?;
        let moved = jobs::drain(sql, job.id, number)? && jobs::sweep(sql, job.id, number)?;
        runs::end(sql, job.id, number, now, RunOutcome::Done, "{}", None)?;
        Ok(moved && jobs::rest(sql, job.id, number, None, false)?)
    });
    assert!(ended.unwrap(), "{}", job.name);
}
