//! A lease whose renewal fails: for a while, for too long, and because somebody else has it.

use std::sync::Arc;

use ingather_engine::{EngineCode, EngineError, KeptLease};
use ingather_model::limits;
use ingather_store::StoreCode;
use ingather_store::turns::Monitor;
use ingather_testkit::database::{BOTH, Kind};
use ingather_testkit::memory_output::locked;
use ingather_testkit::together::gate::Gate;
use ingather_testkit::together::{definition, put};
use ingather_testkit::world::{FULL, World};

/// What is told of a lease, and what it was lost for.
#[derive(Clone, Default)]
struct Told(Arc<Monitor<(Vec<String>, Option<EngineCode>)>>);

impl Told {
    /// A lease that is kept from now on.
    fn of(world: &World) -> (Told, KeptLease) {
        let told = Told::default();
        let (sentences, losses) = (told.clone(), told.clone());
        world.engine().process.tells(move |sentence| sentences.hear(|told| told.0.push(sentence.to_owned())));
        let lost = move |error: &EngineError| losses.hear(|told| told.1 = Some(error.code()));
        (told, world.engine().keep_lease(lost).unwrap())
    }

    fn hear(&self, what: impl FnOnce(&mut (Vec<String>, Option<EngineCode>))) {
        what(&mut self.0.lock());
        self.0.notify();
    }

    /// Waits until so many sentences were told; the last one.
    fn sentence(&self, number: usize) -> String {
        let told = self.0.wait_while(self.0.lock(), |told| told.0.len() < number && told.1.is_none());
        assert_eq!((told.0.len(), told.1), (number, None), "{:?}", told.0);
        told.0[number - 1].clone()
    }

    /// Waits until it is lost; for what, and what was told before.
    fn lost(&self) -> (EngineCode, usize) {
        let told = self.0.wait_while(self.0.lock(), |told| told.1.is_none());
        (told.1.unwrap(), told.0.len())
    }
}

/// The store takes no renewal any more.
fn refuse(world: &World, kind: Kind) {
    world.database.script(match kind {
        Kind::Sqlite => "CREATE TRIGGER refuse BEFORE UPDATE ON process BEGIN SELECT RAISE(ABORT, 'no room'); END;",
        Kind::Postgres => {
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no room''; END'; \
             CREATE TRIGGER refuse BEFORE UPDATE ON process FOR EACH ROW EXECUTE FUNCTION refuse()"
        }
    });
}

/// It takes them again.
fn admit(world: &World, kind: Kind) {
    world.database.script(match kind {
        Kind::Sqlite => "DROP TRIGGER refuse",
        Kind::Postgres => "DROP FUNCTION refuse CASCADE",
    });
}

const COULD_NOT: &str = "the right to write could not be renewed, and is tried again";

#[test]
fn a_renewal_that_fails_for_a_while_ends_nothing_and_is_told_once() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        world.job(definition(&world, "docs", "", &["one"]));
        put(&world, "a", "v1");
        let (told, _kept) = Told::of(&world);
        let gate = Gate::default();
        locked(&world.shelves["one"]).gate = Some(gate.clone());
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let run = scope.spawn(|| world.run("docs", FULL));
            gate.wait_for_somebody();
            refuse(&world, kind);
            world.clock.pass(limits::LEASE_RENEW_MS);
            let sentence = told.sentence(1);
            assert!(sentence.starts_with(COULD_NOT) && sentence.contains("no room"), "{sentence}");
            admit(&world, kind);
            assert!(told.sentence(2).starts_with("the right to write was renewed after all"));
            // It lasts from the renewal on.
            world.clock.pass(limits::LEASE_MS - limits::LEASE_LEFT_MS_MIN - 1);
            gate.open();
            let report = run.join().unwrap().unwrap();
            assert_eq!((report.stopped, report.error, report.counts.added), (false, None, 1));
        });
        assert_eq!(
            told.sentence(2).len(),
            "the right to write was renewed after all; the work goes on".len()
        );
    }
}

#[test]
fn a_lease_that_cannot_be_renewed_as_long_as_it_lasts_is_lost_before_it_is_over() {
    for kind in BOTH {
        let world = World::new(kind);
        let (told, _kept) = Told::of(&world);
        refuse(&world, kind);
        world.clock.pass(limits::LEASE_RENEW_MS);
        told.sentence(1);
        world.clock.pass(limits::LEASE_MS - limits::LEASE_LEFT_MS_MIN - limits::LEASE_RENEW_MS + 1);
        assert_eq!(told.lost(), (EngineCode::Store(StoreCode::Database), 1));
        let again = world.engine().keep_lease(|_| {});
        assert!(again.is_err(), "until all that worked under it has ended");
    }
}

#[test]
fn a_lease_that_another_process_has_taken_over_is_lost_at_once() {
    for kind in BOTH {
        let world = World::new(kind);
        let (told, _kept) = Told::of(&world);
        world.database.script("DELETE FROM process");
        world.clock.pass(limits::LEASE_RENEW_MS);
        assert_eq!(told.lost(), (EngineCode::Store(StoreCode::Fenced), 0));
    }
}
