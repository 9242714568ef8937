//! Schedules that a seed makes up, compared with the calendar that steps minute by minute: on days on which clocks change, and through the
//! Februaries of leap years and others.

use std::collections::BTreeMap;

use fastrand::Rng;
use ingather_model::job::RunKind;
use ingather_model::job::schedule::{Asked, Calendar, Schedule, Start, Window};
use serde_json::{Map, Value, json};

use super::naive::{DAY, MINUTE, Walls};
use super::{at, begins, bundled_zone, calendar};

const SEED: u64 = 17;
const SCHEDULES: u64 = 200;
/// Zones with two days each on which their clocks change: forward, back.
const CHANGES: [(&str, [&str; 2]); 6] = [
    ("Europe/Berlin", ["2026-03-29", "2026-10-25"]),
    ("America/New_York", ["2028-03-12", "2028-11-05"]),
    ("Australia/Lord_Howe", ["2026-10-04", "2027-04-04"]),
    ("America/Sao_Paulo", ["2018-11-04", "2019-02-17"]),
    ("Africa/Casablanca", ["2026-03-22", "2026-02-15"]),
    ("Pacific/Apia", ["2011-12-31", "2012-04-01"]),
];

/// Any of `from`, mostly few and sometimes all of them by name.
fn some(rng: &mut Rng, from: &[Value]) -> Value {
    match rng.u8(0..8) {
        0 => json!("every"),
        1 => from.iter().filter(|_| rng.bool()).chain([&from[0]]).cloned().collect(),
        _ => (0..rng.usize(1..4)).map(|_| rng.choice(from).unwrap().clone()).collect(),
    }
}

/// A rule whose windows are likely to meet some day, of a zone.
fn rule(rng: &mut Rng, zone: &str, day: &jiff::civil::Date) -> Value {
    let numbers = |from: i16, to: i16| (from..=to).map(Value::from).collect::<Vec<_>>();
    let weekdays =
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"].map(Value::from);
    let near = |at: i8| numbers(i16::from(at), i16::from(at) + 1);
    let parts: [(&str, Vec<Value>, u8); 6] = [
        // Clocks change in the small hours: most times are there.
        ("minutes", numbers(0, 59), 5),
        ("hours", if rng.u8(0..4) == 0 { numbers(0, 23) } else { numbers(0, 4) }, 6),
        ("weekdays", weekdays.to_vec(), 2),
        ("days_of_month", if rng.bool() { numbers(1, 31) } else { near(day.day().min(30)) }, 2),
        ("months", if rng.bool() { numbers(1, 12) } else { near(day.month().min(11)) }, 1),
        ("years", numbers(day.year() - 1, day.year() + 1), 1),
    ];
    let mut fields = Map::new();
    for (name, members, of_eight) in parts {
        if rng.u8(0..8) < of_eight {
            fields.insert(name.to_owned(), some(rng, &members));
        }
    }
    if fields.is_empty() {
        fields.insert("hours".to_owned(), json!([2]));
    }
    if rng.u8(0..8) > 0 {
        fields
            .insert("length_minutes".to_owned(), json!(rng.choice([1, 7, 30, 60, 90, 600, 1_500]).unwrap()));
    }
    fields.insert("time_zone".to_owned(), json!(zone));
    fields.insert("start".to_owned(), json!(rng.choice(["begin", "inside"]).unwrap()));
    fields.insert("kind".to_owned(), json!(rng.choice(["full", "minimal"]).unwrap()));
    Value::Object(fields)
}

/// Windows of a rule as the slow calendar has them, by their beginning.
struct Slow {
    windows: Vec<BTreeMap<i64, Window>>,
}

impl Slow {
    fn of(walls: &Walls, rules: &[Value]) -> Slow {
        let word = |rule: &Value, name: &str| rule[name].as_str().unwrap().to_owned();
        let windows = |rule: &Value| {
            let length = rule.get("length_minutes").map(|length| length.as_i64().unwrap() * MINUTE);
            let window = |begin: i64| Window {
                begin,
                end: length.map(|length| begin + length),
                start: Start::parse(&word(rule, "start")).unwrap(),
                kind: ingather_model::job::RunKind::parse(&word(rule, "kind")).unwrap(),
            };
            walls.begins(rule).into_iter().map(|begin| (begin, window(begin))).collect()
        };
        Slow { windows: rules.iter().map(windows).collect() }
    }

    /// Of windows of one rule that have no end, the last stands for all.
    fn open(&self, now: i64) -> Vec<Window> {
        let open = |windows: &BTreeMap<i64, Window>| -> Vec<Window> {
            let begun = windows.range(..=now).rev().map(|(_, window)| *window);
            let most =
                if begun.clone().next().is_some_and(|window| window.end.is_none()) { 1 } else { usize::MAX };
            begun.take_while(|window| window.end.is_none_or(|end| now < end)).take(most).collect()
        };
        self.windows.iter().flat_map(open).collect()
    }

    fn next(&self, after: i64) -> Option<i64> {
        self.windows
            .iter()
            .filter_map(|windows| windows.range(after + 1..).next().map(|(begin, _)| *begin))
            .min()
    }

    /// What may begin a run.
    fn due(&self, asked: Asked, now: i64) -> Vec<Window> {
        let fresh = |window: &Window| {
            let at = if window.kind == RunKind::Full { asked.full_at } else { asked.at };
            asked.begun.is_none_or(|begun| begun < window.begin)
                && (window.start == Start::Inside || at < window.begin)
        };
        self.open(now).into_iter().filter(fresh).collect()
    }

    /// Whether a window for a full run is open that began after an instant.
    fn owes_full(&self, after: i64, now: i64) -> bool {
        self.open(now).iter().any(|window| window.kind == RunKind::Full && window.begin > after)
    }
}

fn end(window: &Window) -> i64 {
    window.end.unwrap_or(i64::MAX)
}

/// Whether what begins a run is among what may, and none of these is for a full run where this one is not, or ends later.
fn is_first(answer: Option<Window>, among: &[Window]) -> bool {
    let order = |window: &Window| (window.kind == RunKind::Full, end(window));
    match answer {
        None => among.is_empty(),
        Some(window) => among.contains(&window) && among.iter().all(|other| order(other) <= order(&window)),
    }
}

/// Whether what was answered is among what may be, and none of these ends later.
fn is_best(answer: Option<Window>, among: &[Window]) -> bool {
    match answer {
        None => among.is_empty(),
        Some(window) => among.contains(&window) && among.iter().all(|other| end(other) <= end(&window)),
    }
}

#[test]
fn schedules_are_as_the_slow_calendar_says_where_clocks_are_put_forward() {
    println!("seed {SEED}: {:?}", schedules_are_as_the_slow_calendar_says(0));
}

#[test]
fn schedules_are_as_the_slow_calendar_says_where_clocks_are_put_back() {
    println!("seed {SEED}: {:?}", schedules_are_as_the_slow_calendar_says(1));
}

/// Of each zone one of its two days.
fn schedules_are_as_the_slow_calendar_says(change: usize) -> Tried {
    let (mut tried, mut walls) = (Tried::default(), BTreeMap::new());
    for number in 0..SCHEDULES {
        let mut rng = Rng::with_seed(SEED + number);
        let (zone, days) = CHANGES[usize::try_from(number).unwrap() % CHANGES.len()];
        let day = days[change];
        let midnight = at(&format!("{day}T00:00[{zone}]"));
        let (from, until) = (midnight - 2 * DAY, midnight + 2 * DAY);
        let walls = walls.entry(zone).or_insert_with(|| Walls::of(&bundled_zone(zone).unwrap(), from, until));
        let date = day.parse().unwrap();
        let rules: Vec<Value> = (0..rng.usize(1..4)).map(|_| rule(&mut rng, zone, &date)).collect();
        let pair = Pair {
            quick: calendar(&json!(rules)),
            slow: Slow::of(walls, &rules),
            from,
            until,
            told: format!("seed {SEED}, schedule {number}, {day}: {}", json!(rules)),
        };
        pair.compare(&mut rng, midnight, &mut tried);
    }
    let is_enough = tried.minutes_open > 50_000 && tried.runs > 1_000 && tried.owed > 100;
    assert!(is_enough, "the schedules try something: {tried:?}");
    tried
}

#[derive(Debug, Default)]
struct Tried {
    minutes_open: usize,
    runs: usize,
    owed: usize,
}

/// Both calendars of one schedule, and what the slow one covers.
struct Pair {
    quick: Calendar,
    slow: Slow,
    from: i64,
    until: i64,
    told: String,
}

impl Pair {
    /// A service asks at any instant of a day, is off for a while now and then, and runs take their time.
    fn compare(&self, rng: &mut Rng, midnight: i64, tried: &mut Tried) {
        let Pair { quick, slow, told, .. } = self;
        // Windows that began before the slow calendar does are known to one alone.
        let is_known = |window: Option<Window>| window.is_none_or(|window| window.begin >= self.from);
        let mut asked = Asked { begun: None, at: self.from, full_at: self.from };
        let (mut last, mut looked_at) = (RunKind::Full, self.from);
        let (mut busy_until, mut off_until) = (self.from, self.from);
        for minute in -60..1_380 {
            let now = midnight + minute * MINUTE + *rng.choice(&[0, 1, 30_000, MINUTE - 1]).unwrap();
            let next = quick.next_begin(now).filter(|next| *next < self.until);
            assert_eq!(next, slow.next(now), "{now}, {told}");
            let (window, open) = (quick.window_at(now), slow.open(now));
            assert!(!is_known(window) || is_best(window, &open), "{now}, {window:?}, {told}");
            assert!(open.is_empty() || window.is_some(), "{now}, {told}");
            tried.minutes_open += usize::from(window.is_some());
            if rng.u8(0..10) == 0 {
                self.keeps_its_promise(rng, asked, now);
            }
            if now < busy_until.max(off_until) || rng.u8(0..6) == 0 {
                continue;
            }
            asked.at = asked.at.max(busy_until);
            if last == RunKind::Full {
                asked.full_at = asked.full_at.max(busy_until);
            }
            let due = quick.due(asked, now);
            let is_right = is_first(due, &slow.due(asked, now));
            assert!(!is_known(due) || is_right, "{now}, {asked:?}, {due:?}, {told}");
            // Whatever is open beside, and whichever minimal run was under way when it began, a full run gets its turn.
            if slow.owes_full(looked_at.max(asked.full_at), now) {
                tried.owed += 1;
                assert_eq!(due.map(|window| window.kind), Some(RunKind::Full), "{now}, {asked:?}, {told}");
            }
            if let Some(window) = due {
                tried.runs += 1;
                last = window.kind;
                asked.begun = Some(now);
                busy_until = now + rng.i64(1..90) * MINUTE;
            }
            (asked.at, asked.full_at, looked_at) = (now, now, now);
            if rng.u8(0..200) == 0 {
                off_until = now + rng.i64(1..600) * MINUTE;
            }
        }
    }
}

impl Pair {
    /// Whoever looks again when they are told to has missed nothing.
    fn keeps_its_promise(&self, rng: &mut Rng, asked: Asked, now: i64) {
        let again = self.quick.next_change(asked, now).map_or(now + DAY, |at| at.min(now + DAY));
        assert!(again > now, "{now}, {asked:?}, {}", self.told);
        for _ in 0..3 {
            let between = rng.i64(now..again);
            assert_eq!(
                self.quick.is_open(between),
                self.quick.is_open(now),
                "{now}, {between}, {}",
                self.told
            );
            let begins = self.quick.due(asked, between).is_some() && self.quick.due(asked, now).is_none();
            assert!(!begins, "{now}, {between}, {asked:?}, {}", self.told);
        }
    }
}

#[test]
fn februaries_are_as_a_calendar_says_that_steps_minute_by_minute() {
    println!("seed {SEED}");
    for year in [2024, 2026, 2096, 2100] {
        let zone = "Europe/Berlin";
        let from = at(&format!("{year}-02-15T00:00[{zone}]"));
        let until = from + 20 * DAY;
        let walls = Walls::of(&bundled_zone(zone).unwrap(), from, until);
        let leap_day = jiff::civil::Date::constant(year, 2, 28);
        let mut rng = Rng::with_seed(SEED);
        for number in 0..50 {
            let rule = rule(&mut rng, zone, &leap_day);
            let quick = calendar(&json!([rule]));
            assert_eq!(
                begins(&quick, from, until),
                walls.begins(&rule),
                "seed {SEED}, {year}, {number}: {rule}"
            );
        }
    }
}

#[test]
fn what_is_written_reads_as_the_same() {
    let mut rng = Rng::with_seed(SEED);
    for _ in 0..SCHEDULES {
        let date = jiff::civil::Date::constant(2026, 5, 5);
        let rules: Vec<Value> = (0..rng.usize(1..4)).map(|_| rule(&mut rng, "Asia/Tokyo", &date)).collect();
        let schedule = Schedule::read(&json!(rules)).unwrap();
        assert_eq!(Schedule::read(&schedule.to_value()), Ok(schedule.clone()));
        let text = serde_json::to_string(&schedule).unwrap();
        assert_eq!(Schedule::parse(&text, "UTC"), Ok(schedule.clone()));
        assert_eq!(serde_json::from_str::<Schedule>(&text).unwrap(), schedule);
        assert!(!schedule.describe().contains("  "));
    }
}
