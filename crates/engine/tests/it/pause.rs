//! A person pauses a job, at rest and in the middle of its run.

use ingather_engine::{EngineError, Met, Refusal};
use ingather_model::guard::Guard;
use ingather_model::job::{Definition, RunKind};
use ingather_store::doctor;
use ingather_testkit::database::{BOTH, Kind};
use ingather_testkit::memory_output::locked;
use ingather_testkit::together::gate::Gate;
use ingather_testkit::together::pause::{FILES_OF_A_PAUSED_RUN, delivered_while_paused};
use ingather_testkit::together::{definition, put, source};
use ingather_testkit::world::{FULL, World};

/// What was claimed when the job was paused is visited and delivered; then nothing more, nothing begins, and a stop is heard.
#[test]
fn a_run_of_a_paused_job_rests_until_the_pause_ends() {
    for kind in BOTH {
        let delivered = delivered_while_paused(kind);
        assert!(
            0 < delivered && delivered < FILES_OF_A_PAUSED_RUN,
            "{kind:?}: {delivered} while it was paused"
        );
        let mut world = World::new(kind);
        world.output("one", "memory");
        world.job(definition(&world, "whole", "", &["one"]));
        put(&world, "a", "v1");
        let job = world.find("whole").unwrap();
        assert!(!world.engine().pause(job.id, true).unwrap(), "nothing runs");
        world.reopen();
        let refused = world.run("whole", FULL);
        assert!(
            matches!(&refused, Err(EngineError::Refused { refusal: Refusal::Paused, message })
                if message == "job whole is paused; `ingather job resume whole` lets it run"),
            "{refused:?}"
        );
        assert!(world.entries("one").is_empty() && world.find("whole").unwrap().run == 0);
        world.resume("whole");
        let gate = Gate::default();
        locked(&world.shelves["one"]).gate = Some(gate.clone());
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let run = scope.spawn(|| world.run("whole", FULL));
            gate.wait_for_somebody();
            assert!(world.engine().pause(job.id, true).unwrap());
            gate.open();
            assert!(world.engine().stop(job.id));
            assert!(run.join().unwrap().unwrap().stopped);
        });
        assert!(world.find("whole").unwrap().paused, "a stop does not end the pause");
        let faults = world.engine().reader.read(|sql| doctor::examine(sql, 5)).unwrap();
        assert!(faults.is_empty(), "{kind:?}: the doctor finds {} faults", faults.len());
        world.delete("whole").unwrap();
        assert!(world.entries("one").is_empty(), "a paused job can be deleted");
    }
}

/// What waits for an output when a run is stopped is not sent any more; the next run reads it again and brings it.
#[test]
fn what_waits_for_an_output_when_its_run_is_stopped_comes_with_the_next_run() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        world.job(definition(&world, "docs", "", &["one"]));
        (0..FILES_OF_A_PAUSED_RUN).for_each(|n| put(&world, &format!("f{n}"), "v1"));
        let job = world.find("docs").unwrap();
        let gate = Gate::default();
        locked(&world.shelves["one"]).gate = Some(gate.clone());
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let run = scope.spawn(|| world.run("docs", FULL));
            gate.wait_for_somebody();
            assert!(world.engine().stop(job.id));
            gate.open();
            assert!(run.join().unwrap().unwrap().stopped);
        });
        assert_eq!(gate.arrived(), 1, "{kind:?}: one batch was under way, and no other follows");
        let report = world.run("docs", FULL).unwrap();
        assert!(report.counts.added > 0 && !report.stopped, "{:?}", report.counts);
        assert_eq!(world.entries("one").len(), FILES_OF_A_PAUSED_RUN);
        let faults = world.engine().reader.read(|sql| doctor::examine(sql, 5)).unwrap();
        assert!(faults.is_empty(), "{kind:?}: the doctor finds {} faults", faults.len());
    }
}

/// What a person confirms is removed by nobody while the job is paused; and whoever stops it is told that it was stopped.
#[test]
fn a_confirmation_is_refused_by_a_pause_and_says_that_it_was_stopped() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        let delete_guard = Guard::Limits { percent: 1, documents: 1 };
        world.job(Definition { delete_guard, ..definition(&world, "docs", "", &["one"]) });
        (0..3_000).for_each(|n| put(&world, &format!("f{n}"), "v1"));
        world.run("docs", FULL).unwrap();
        source(&world).files.retain(|name, _| name == "f0");
        assert_eq!(world.run("docs", FULL).unwrap().counts.held, 2_999);
        let job = world.find("docs").unwrap();
        world.engine().pause(job.id, true).unwrap();
        let refused = world.confirm("docs", None);
        assert!(
            matches!(&refused, Err(EngineError::Refused { refusal: Refusal::Paused, .. })),
            "{refused:?}"
        );
        assert_eq!(world.entries("one").len(), 3_000);
        world.resume("docs");
        let gate = Gate::default();
        locked(&world.shelves["one"]).gate = Some(gate.clone());
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let confirmation = scope.spawn(|| world.confirm("docs", None));
            gate.wait_for_somebody();
            assert!(world.engine().stop(job.id));
            gate.open();
            assert!(confirmation.join().unwrap().unwrap().stopped);
        });
        assert!(world.entries("one").len() > 1, "it was stopped before its end");
        let rest = world.confirm("docs", None).unwrap();
        assert!(!rest.stopped && world.entries("one").len() == 1, "{kind:?}: {rest:?}");
    }
}

/// A run that was stopped before it had begun takes what is wanted of its job with it: whoever wants one more is not told that it comes.
#[test]
fn a_restart_is_not_promised_by_a_run_that_was_stopped_before_it_began() {
    let mut world = World::new(Kind::Sqlite);
    world.output("one", "memory");
    world.job(definition(&world, "docs", "", &["one"]));
    let (job, engine) = (world.find("docs").unwrap(), world.engine());
    let announced = engine.process.announce(&job, &engine.cancel).unwrap();
    engine.want_run(&job, RunKind::Full, false).unwrap();
    assert_eq!(engine.restart(&job, RunKind::Full).unwrap(), Met::Beginning);
    assert!(engine.abort_beginning(job.id).unwrap());
    let refused = engine.restart(&job, RunKind::Full);
    assert!(matches!(&refused, Err(EngineError::Refused { refusal: Refusal::Running, .. })), "{refused:?}");
    drop(announced);
    assert_eq!(engine.restart(&job, RunKind::Full).unwrap(), Met::Nothing, "whoever asks now begins one");
}
