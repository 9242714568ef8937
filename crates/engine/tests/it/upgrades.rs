//! Stores that earlier versions have filled show nobody more than before when they are brought up to date. What a stop in the middle
//! leaves is tried with the program: `crates/app/tests/it/stops/upgrade.rs`.

use ingather_store::Store;
use ingather_testkit::database::{BOTH, Database};
use ingather_testkit::stores::{STORES, wrong};

#[test]
fn a_store_of_every_version_shows_nobody_more_when_it_is_brought_up_to_date() {
    for filled in &STORES {
        for kind in BOTH {
            let database = Database::fresh(kind);
            database.script(filled.dump(kind));
            let store = Store::open(&database.target).unwrap();
            assert_eq!(wrong(store.reader()), [""; 0], "{} on {kind:?}", filled.by);
        }
    }
}

#[test]
fn a_new_store_has_the_tables_that_the_steps_make() {
    for kind in BOTH {
        let stepped = Database::fresh(kind);
        stepped.script(STORES[0].dump(kind));
        let fresh = Database::fresh(kind);
        for database in [&stepped, &fresh] {
            Store::open(&database.target).unwrap();
        }
        let (by_steps, at_once) = (stepped.schema(), fresh.schema());
        assert!(at_once.iter().any(|line| line.contains("container_pending")), "{at_once:#?}");
        assert_eq!(at_once, by_steps, "on {kind:?}");
    }
}
