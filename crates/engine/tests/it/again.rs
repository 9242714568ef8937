//! What a person wants done once more: everything read again.

use ingather_engine::Options;
use ingather_model::job::RunKind;
use ingather_testkit::database::BOTH;
use ingather_testkit::memory_output::locked;
use ingather_testkit::together::gate::Gate;
use ingather_testkit::together::{definition, put, source};
use ingather_testkit::world::{FULL, World};

/// Names that the last run has read.
fn fetched(world: &World) -> Vec<String> {
    let mut fetched = std::mem::take(&mut source(world).fetched);
    fetched.sort();
    fetched
}

#[test]
fn after_a_reset_of_seeding_a_full_run_reads_everything_once_and_sends_nothing_that_is_as_it_was() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        world.job(definition(&world, "docs", "", &["one"]));
        ["a", "b"].iter().for_each(|name| put(&world, name, "v1"));
        world.run("docs", FULL).unwrap();
        fetched(&world);
        let job = world.find("docs").unwrap();
        let reset = |world: &World| world.engine().reset_seeding(job.id).unwrap();
        reset(&world);
        world.run("docs", Options { kind: RunKind::Minimal, ..FULL }).unwrap();
        assert_eq!(fetched(&world), [""; 0], "a minimal one is not what was wanted");
        let report = world.run("docs", FULL).unwrap();
        assert_eq!((fetched(&world), report.counts.unchanged), (vec!["a".to_owned(), "b".to_owned()], 2));
        world.run("docs", FULL).unwrap();
        assert_eq!(fetched(&world), [""; 0], "once");

        // A run that dies has not done it, and one that was begun before has not been asked for it.
        reset(&world);
        put(&world, "c", "v1");
        world.crash.arm("before send", 1);
        let _dead = world.run("docs", FULL);
        world.reopen();
        fetched(&world);
        world.run("docs", FULL).unwrap();
        assert_eq!(fetched(&world), ["a", "b", "c"]);
        put(&world, "c", "v2");
        let gate = Gate::default();
        locked(&world.shelves["one"]).gate = Some(gate.clone());
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let run = scope.spawn(|| world.run("docs", FULL));
            gate.wait_for_somebody();
            world.engine().reset_seeding(job.id).unwrap();
            gate.open();
            run.join().unwrap().unwrap();
        });
        assert_eq!(fetched(&world), ["c"]);
        world.run("docs", FULL).unwrap();
        assert_eq!(fetched(&world), ["a", "b", "c"]);
    }
}
