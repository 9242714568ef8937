//! A repair of an output beside the jobs that send to it.

use ingather_engine::{EngineError, Refusal, outputs};
use ingather_store::doctor;
use ingather_testkit::database::BOTH;
use ingather_testkit::memory_output::locked;
use ingather_testkit::together::gate::Gate;
use ingather_testkit::together::{definition, put};
use ingather_testkit::world::{FULL, World};

/// What is busy.
fn why_busy<T: std::fmt::Debug>(result: Result<T, EngineError>) -> String {
    match result {
        Err(EngineError::Refused { refusal: Refusal::Busy, message }) => message,
        other => panic!("{other:?}"),
    }
}

/// A repair writes to an output itself: nobody sends to it meanwhile, in either order.
#[test]
fn an_output_is_repaired_by_one_alone() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        world.job(definition(&world, "whole", "", &["one"]));
        put(&world, "a", "v1");
        let connection = outputs::connection(world.store(), &world.engine().registry, "one", 0).unwrap();
        let repair = || world.engine().verify(&connection, true, &mut |_| {});
        let gate = Gate::default();
        locked(&world.shelves["one"]).gate = Some(gate.clone());
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let run = scope.spawn(|| world.run("whole", FULL));
            gate.wait_for_somebody();
            assert!(why_busy(repair()).contains("output one is in use"));
            assert!(
                world.engine().verify(&connection, false, &mut |_| {}).is_ok(),
                "whoever looks is in nobody's way"
            );
            gate.open();
            assert_eq!(run.join().unwrap().unwrap().error, None);
        });
        locked(&world.shelves["one"]).gate = None;
        let lost = locked(&world.shelves["one"]).entries.pop_first();
        assert!(lost.is_some());
        let mut asked = Vec::new();
        let mut tell = |_: &_| {
            asked.push(why_busy(world.run("whole", FULL)));
            asked.push(why_busy(repair()));
        };
        let found = world.engine().verify(&connection, true, &mut tell).unwrap();
        assert_eq!(found.missing, 1);
        assert!(
            asked[0].contains("output one is being repaired") && asked[1].contains("output one is in use"),
            "{asked:?}"
        );
        assert_eq!(world.run("whole", FULL).unwrap().counts.seen(), 1);
        assert_eq!(world.entries("one").len(), 1, "{kind:?}");
        let faults = world.engine().reader.read(|sql| doctor::examine(sql, 5)).unwrap();
        assert!(faults.is_empty(), "{kind:?}: the doctor finds {} faults", faults.len());
    }
}
