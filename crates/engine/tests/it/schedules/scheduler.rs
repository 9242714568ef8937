//! Jobs that run by themselves, by a clock that is moved by hand.

use ingather_contract::call::Clock as _;
use ingather_engine::scheduler::{Look, Scheduler};
use ingather_engine::{Aborted, Options};
use ingather_model::job::schedule::{Schedule, bundled_zone};
use ingather_model::job::{Definition, RunKind};
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_store::jobs::Job;
use ingather_store::runs;
use ingather_testkit::database::{BOTH, Kind};
use ingather_testkit::memory_output::locked;
use ingather_testkit::together::gate::Gate;
use ingather_testkit::together::{definition, put};
use ingather_testkit::world::{FULL, World};
use serde_json::{Value, json};

const MINUTE: i64 = 60_000;
const DAY: i64 = 1_440 * MINUTE;

/// A world at midnight with a job `docs` that has a schedule.
fn world(kind: Kind, schedule: &Value) -> World {
    let mut world = World::new(kind);
    world.output("one", "memory");
    let now = world.clock.now();
    world.clock.pass(DAY - now % DAY);
    define(&mut world, Some(schedule));
    put(&world, "a", "v1");
    world
}

fn define(world: &mut World, schedule: Option<&Value>) {
    let schedule = schedule.map(|schedule| Schedule::read(schedule).unwrap());
    world.job(Definition { schedule, ..definition(world, "docs", "", &["one"]) });
}

fn look(world: &World, scheduler: &mut Scheduler) -> Look {
    let engine = world.engine();
    let looked = |scheduler: &mut Scheduler| {
        scheduler.look(&engine.reader, world.clock.now(), &|job| engine.process.works_on(job)).unwrap()
    };
    let look = looked(scheduler);
    // What it remembers of looks before changes nothing.
    assert_eq!(told(&looked(&mut self::scheduler())), told(&look));
    look
}

/// A look in a form that can be compared.
fn told(look: &Look) -> String {
    let Look { begins, rests, deletions, continuous, windows, again, interrupted, problems } = look;
    let job = |job: &Job| {
        let Job { id, state, run, revision, paused, scheduled_at, restart, rereads, .. } = job;
        format!("{id:?} {state:?} {run} {revision} {paused} {scheduled_at} {restart:?} {rereads}")
    };
    let begins: Vec<_> = begins.iter().map(|(begins, kind)| (job(begins), kind)).collect();
    let continuous: Vec<_> = continuous.iter().map(|(looked, last)| (job(looked), last)).collect();
    let rests: Vec<_> = rests.iter().chain(deletions).map(job).collect();
    let interrupted: Vec<_> = interrupted.iter().map(|(looked, why)| (job(looked), why)).collect();
    format!("{begins:?} {rests:?} {continuous:?} {windows:?} {again:?} {interrupted:?} {problems:?}")
}

fn scheduler() -> Scheduler {
    Scheduler::new(|schedule| schedule.calendar(&bundled_zone))
}

/// Kinds of the runs that begin now, and in how many minutes it is looked again.
fn asked(world: &World, scheduler: &mut Scheduler) -> (Vec<RunKind>, Option<i64>) {
    let look = look(world, scheduler);
    assert_eq!(look.problems, []);
    let again = look.again.map(|at| (at - world.clock.now()) / MINUTE);
    (look.begins.into_iter().map(|(_, kind)| kind).collect(), again)
}

#[test]
fn an_interval_begins_after_the_last_beginning() {
    for kind in BOTH {
        let world = world(kind, &json!("every 15m"));
        let scheduler = &mut scheduler();
        assert_eq!(asked(&world, scheduler), (vec![RunKind::Full], None), "one that never ran");
        world.run("docs", FULL).unwrap();
        assert_eq!(asked(&world, scheduler), (vec![], Some(15)));
        world.clock.pass(14 * MINUTE);
        assert_eq!(asked(&world, scheduler), (vec![], Some(1)));
        world.clock.pass(MINUTE);
        assert_eq!(asked(&world, scheduler).0, [RunKind::Full]);
    }
}

#[test]
fn a_window_that_was_missed_is_begun_in_as_long_as_it_is_open_and_once() {
    let nightly = json!([{"hours": [2], "length_minutes": 60, "kind": "minimal"}]);
    for kind in BOTH {
        let world = world(kind, &nightly);
        let first = &mut scheduler();
        assert_eq!(asked(&world, first), (vec![], Some(120)));
        world.clock.pass(150 * MINUTE);
        assert_eq!(
            asked(&world, &mut scheduler()),
            (vec![RunKind::Minimal], Some(30)),
            "the service was off at two"
        );
        world.run("docs", FULL).unwrap();
        assert_eq!(asked(&world, first), (vec![], Some(30)), "it has begun in this window");
        world.clock.pass(DAY + 40 * MINUTE);
        assert_eq!(asked(&world, first), (vec![], Some(23 * 60 - 10)), "the next one is over");
    }
}

#[test]
fn nothing_begins_by_a_window_that_began_before_the_job_got_its_schedule() {
    for kind in BOTH {
        let mut world = world(kind, &json!("every 2h"));
        let scheduler = &mut scheduler();
        world.run("docs", FULL).unwrap();
        world.clock.pass(150 * MINUTE);
        assert_eq!(asked(&world, scheduler).0, [RunKind::Full]);
        define(&mut world, Some(&json!("0 2 * * *")));
        assert_eq!(asked(&world, scheduler), (vec![], Some(1_440 - 30)), "at half past two");
        world.clock.pass(DAY);
        assert_eq!(asked(&world, scheduler).0, [RunKind::Full]);
        define(&mut world, None);
        assert_eq!(asked(&world, scheduler), (vec![], None));
    }
}

#[test]
fn a_clock_that_was_ahead_once_keeps_no_window_from_being_begun_in() {
    for kind in BOTH {
        let world = world(kind, &json!("0 2 * * *"));
        let scheduler = &mut scheduler();
        world.clock.pass(400 * DAY);
        world.run("docs", FULL).unwrap();
        world.clock.pass(-400 * DAY + 150 * MINUTE);
        assert_eq!(asked(&world, scheduler).0, [RunKind::Full]);
        world.run("docs", FULL).unwrap();
        assert_eq!(asked(&world, scheduler), (vec![], Some(1_440 - 30)));
    }
}

#[test]
fn a_full_run_gets_its_turn_beside_minimal_ones_that_have_longer_windows() {
    let both = json!([{"hours": "every", "minutes": [0, 15, 30, 45], "length_minutes": 300, "kind": "minimal"},
        {"hours": [2], "length_minutes": 60}]);
    for kind in BOTH {
        let mut world = world(kind, &both);
        let scheduler = &mut scheduler();
        world.clock.pass(105 * MINUTE);
        assert_eq!(asked(&world, scheduler).0, [RunKind::Minimal]);
        let gate = Gate::default();
        locked(&world.shelves["one"]).gate = Some(gate.clone());
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let run = scope.spawn(|| world.run("docs", Options { kind: RunKind::Minimal, ..FULL }));
            gate.wait_for_somebody();
            world.clock.pass(20 * MINUTE);
            gate.open();
            run.join().unwrap().unwrap();
        });
        assert_eq!(asked(&world, scheduler).0, [RunKind::Full], "a minimal run was under way at two");
        world.run("docs", FULL).unwrap();
        assert_eq!(asked(&world, scheduler).0, [], "and it has one turn");
        world.clock.pass(10 * MINUTE);
        assert_eq!(asked(&world, scheduler).0, [RunKind::Minimal]);
        world.run("docs", Options { kind: RunKind::Minimal, ..FULL }).unwrap();
        assert_eq!(asked(&world, scheduler).0, [], "minimal ones do not give it another one");
        world.clock.pass(DAY - 20 * MINUTE);
        put(&world, "a", "v2");
        ended_by(&world, |_| world.engine().cancel.cancel());
        world.reopen();
        assert_eq!(asked(&world, scheduler).0, [RunKind::Minimal], "at five to two");
        world.clock.pass(6 * MINUTE);
        assert_eq!(asked(&world, scheduler).0, [RunKind::Full], "what goes on does so as what is due");
    }
}

#[test]
fn a_paused_job_begins_when_the_pause_ends() {
    for kind in BOTH {
        let world = world(kind, &json!("every 15m"));
        let scheduler = &mut scheduler();
        let job = world.find("docs").unwrap();
        world.engine().pause(job.id, true).unwrap();
        assert_eq!(asked(&world, scheduler).0, []);
        world.engine().pause(job.id, false).unwrap();
        assert_eq!(asked(&world, scheduler).0, [RunKind::Full]);
    }
}

#[test]
fn what_was_interrupted_goes_on_and_rests_after_three_times() {
    for kind in BOTH {
        let mut world = world(kind, &json!([{"hours": [2], "length_minutes": 60}]));
        let scheduler = &mut scheduler();
        for time in 1..=3 {
            world.clock.pass(if time == 1 { 120 * MINUTE } else { MINUTE });
            assert_eq!(asked(&world, scheduler).0, [RunKind::Full], "{time}");
            world.crash.arm("before send", 1);
            let _dead = world.run("docs", FULL);
            world.reopen();
            if time == 2 {
                let now = world.clock.now();
                world.clock.pass(120 * MINUTE);
                assert_eq!(asked(&world, scheduler).0, [], "its window is closed");
                world.clock.pass(now - world.clock.now());
            }
        }
        let told = look(&world, scheduler);
        assert!(told.begins.is_empty());
        assert!(
            matches!(&told.problems[..], [(_, problem)] if problem.starts_with("job docs: its run was interrupted 3 times in a row")),
            "{:?}",
            told.problems
        );
        world.run("docs", FULL).unwrap();
        world.clock.pass(DAY);
        assert_eq!(asked(&world, scheduler).0, [RunKind::Full], "a person has begun it, and it ended");
    }
}

#[test]
fn a_run_without_a_schedule_that_was_interrupted_goes_on_as_well() {
    for kind in BOTH {
        let mut world = world(kind, &json!("every 15m"));
        define(&mut world, None);
        let scheduler = &mut scheduler();
        assert_eq!(asked(&world, scheduler), (vec![], None));
        world.crash.arm("before send", 1);
        let _dead = world.run("docs", FULL);
        world.reopen();
        assert_eq!(asked(&world, scheduler).0, [RunKind::Full]);
    }
}

/// A run of a service that was begun when this is called, and ends by what `ends` does meanwhile; its job afterwards.
fn ended_by(world: &World, ends: impl FnOnce(&Job)) -> Job {
    let options = Options { kind: RunKind::Minimal, goes_on: true, ..FULL };
    let job = world.find("docs").unwrap();
    let gate = Gate::default();
    locked(&world.shelves["one"]).gate = Some(gate.clone());
    std::thread::scope(|scope| {
        let _opens = gate.opens_at_the_end();
        let run = scope.spawn(|| world.run("docs", options));
        gate.wait_for_somebody();
        ends(&job);
        gate.open();
        assert!(run.join().unwrap().unwrap().stopped);
    });
    world.find("docs").unwrap()
}

#[test]
fn a_run_that_the_end_of_a_service_stopped_goes_on_and_one_that_a_person_stopped_does_not() {
    for kind in BOTH {
        let mut world = world(kind, &json!("every 15m"));
        define(&mut world, None);
        let scheduler = &mut scheduler();
        let put_down = ended_by(&world, |_| world.engine().cancel.cancel());
        assert_eq!(put_down.state, State::Starting);
        world.reopen();
        // More often than it may be interrupted: an end that was asked for is no fault of the job.
        for _ in 0..4 {
            assert_eq!(asked(&world, scheduler).0, [RunKind::Minimal], "of the kind that it was");
            put(&world, "a", &world.clock.now().to_string());
            world.clock.pass(MINUTE);
            ended_by(&world, |_| world.engine().cancel.cancel());
            world.reopen();
        }
        world.engine().pause(put_down.id, true).unwrap();
        assert_eq!(asked(&world, scheduler).0, [], "it is paused");
        world.engine().pause(put_down.id, false).unwrap();
        assert_eq!(asked(&world, scheduler).0, [RunKind::Minimal]);
        put(&world, "a", "v2");
        let aborted = ended_by(&world, |job| {
            assert_eq!(world.engine().abort(job).unwrap(), Aborted::Stopping);
            world.engine().cancel.cancel();
        });
        assert_eq!(aborted.state, State::Resting, "a person has stopped it, before the service ended");
        world.reopen();
        assert_eq!(asked(&world, scheduler).0, []);
    }
}

/// Whoever asks for the end of a run has looked at the job before that run was on record.
#[test]
fn a_run_that_a_person_stopped_does_not_come_back_whatever_they_had_seen_of_it() {
    for kind in BOTH {
        let mut world = world(kind, &json!("every 15m"));
        define(&mut world, None);
        let scheduler = &mut scheduler();
        let seen = world.find("docs").unwrap();
        let gate = Gate::default();
        locked(&world.shelves["one"]).gate = Some(gate.clone());
        put(&world, "a", "v2");
        let on_record = std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let run = scope.spawn(|| world.run("docs", FULL));
            gate.wait_for_somebody();
            assert_eq!(world.engine().abort(&seen).unwrap(), Aborted::Stopping);
            // Should its process die now, this is all that is known.
            let on_record = world.find("docs").unwrap();
            gate.open();
            assert!(run.join().unwrap().unwrap().stopped);
            on_record
        });
        assert_eq!((on_record.run, on_record.state), (seen.run + 1, State::Stopping));
        world.reopen();
        assert_eq!(asked(&world, scheduler).0, []);
    }
}

#[test]
fn an_abort_at_rest_keeps_what_was_to_go_on_from_doing_so() {
    for kind in BOTH {
        let mut world = world(kind, &json!("every 15m"));
        define(&mut world, None);
        let scheduler = &mut scheduler();
        ended_by(&world, |_| world.engine().cancel.cancel());
        world.reopen();
        let abort = |world: &World| world.engine().abort(&world.find("docs").unwrap()).unwrap();
        assert_eq!((abort(&world), abort(&world)), (Aborted::Rests, Aborted::Nothing));
        assert_eq!(asked(&world, scheduler).0, []);
        put(&world, "a", "v2");
        world.crash.arm("before send", 1);
        let _dead = world.run("docs", FULL);
        world.reopen();
        assert_eq!(abort(&world), Aborted::Rests);
        assert_eq!(asked(&world, scheduler).0, []);
        let id = world.find("docs").unwrap().id;
        let runs = world.engine().reader.read(|sql| runs::list(sql, id, 1)).unwrap();
        assert!(runs.iter().all(|run| run.outcome == Some(RunOutcome::Interrupted)), "{runs:?}");
        assert!(!world.run("docs", FULL).unwrap().stopped);
    }
}

#[test]
fn a_run_that_is_under_way_hears_that_its_window_closes() {
    for kind in BOTH {
        let world = world(kind, &json!([{"hours": [2], "length_minutes": 60}]));
        let scheduler = &mut scheduler();
        world.clock.pass(130 * MINUTE);
        let (engine, job) = (world.engine(), world.find("docs").unwrap());
        let gate = Gate::default();
        locked(&world.shelves["one"]).gate = Some(gate.clone());
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let run = scope.spawn(|| world.run("docs", FULL));
            gate.wait_for_somebody();
            let told = look(&world, scheduler);
            assert_eq!((told.begins.len(), told.windows), (0, vec![(job.id, false)]), "no second run");
            world.clock.pass(50 * MINUTE);
            let told = look(&world, scheduler);
            assert_eq!((told.begins.len(), told.windows), (0, vec![(job.id, true)]));
            assert!(engine.process.close_window(job.id, true), "it hears of it");
            world.engine().pause(job.id, true).unwrap();
            world.engine().pause(job.id, false).unwrap();
            gate.open();
            assert!(!run.is_finished(), "the window is closed, whatever a person does about pauses");
            assert!(engine.process.close_window(job.id, false));
            assert!(!run.join().unwrap().unwrap().stopped);
        });
    }
}

#[test]
fn a_time_zone_that_is_not_known_is_told_and_other_jobs_begin() {
    let mut world = world(Kind::Sqlite, &json!([{"hours": [2], "time_zone": "Middle/Earth"}]));
    let schedule = Some(Schedule::read(&json!("every 15m")).unwrap());
    world.job(Definition { schedule, ..definition(&world, "other", "", &["one"]) });
    let told = look(&world, &mut scheduler());
    assert_eq!(told.begins.iter().map(|(job, _)| job.name.as_str()).collect::<Vec<_>>(), ["other"]);
    assert!(told.problems[0].1.starts_with("job docs: the time zone `Middle/Earth`"), "{:?}", told.problems);
}
