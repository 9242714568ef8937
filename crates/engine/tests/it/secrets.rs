//! Settings of outputs: which of them are in a digest of what was sent, and which send everything again.

use ingather_engine::{EngineError, Refusal};
use ingather_model::job::Definition;
use ingather_testkit::database::BOTH;
use ingather_testkit::memory_output::locked;
use ingather_testkit::together::gate::Gate;
use ingather_testkit::together::{definition, put};
use ingather_testkit::world::{FULL, World};

#[test]
fn a_digest_of_what_was_sent_goes_by_every_setting_but_secrets() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        world.job(Definition { compare_content: true, ..definition(&world, "docs", "", &["one"]) });
        let sent = |setting: &str| {
            let settings = format!(r#"{{"world":"{}","name":"one"{setting}}}"#, world.name);
            world
                .database
                .script(&format!("UPDATE connection SET settings = '{settings}' WHERE name = 'one'"));
            for text in ["v2", "v1"] {
                put(&world, "a", text);
                world.run("docs", FULL).unwrap();
            }
            let shelf = locked(&world.shelves["one"]);
            shelf.entries.values().map(|entry| entry.version).collect::<Vec<_>>()
        };
        let first = sent("");
        assert_eq!(sent(r#","password":"narwhal""#), first, "{kind:?}");
        assert_eq!(sent(r#","password":"orca""#), first, "{kind:?}");
        assert_ne!(sent(r#","mapping":"other""#), first, "{kind:?}");
    }
}

/// Gives the output of a world these settings beside its own.
fn set(world: &World, setting: &str) {
    let settings = format!(r#"{{"world":"{}","name":"one"{setting}}}"#, world.name);
    world.database.script(&format!("UPDATE connection SET settings = '{settings}' WHERE name = 'one'"));
}

#[test]
fn a_changed_setting_that_changes_what_an_output_holds_sends_everything_again_and_no_other_one_does() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        world.job(definition(&world, "docs", "", &["one"]));
        put(&world, "a", "v1");
        put(&world, "b", "v1");
        assert_eq!(world.run("docs", FULL).unwrap().counts.added, 2, "{kind:?}");
        for (setting, sent) in [
            ("", 0),
            (r#","password":"narwhal""#, 0),
            (r#","address":"here""#, 0),
            (r#","mapping":"plain""#, 2),
            (r#","mapping":"plain","address":"there","password":"orca""#, 0),
            (r#","mapping":"other","address":"there""#, 2),
            (r#","mapping":"other""#, 0),
            ("", 2),
        ] {
            set(&world, setting);
            for again in [sent, 0] {
                let counts = world.run("docs", FULL).unwrap().counts;
                assert_eq!((counts.updated, counts.unchanged), (again, 2 - again), "{kind:?} {setting}");
            }
        }
    }
}

#[test]
fn an_output_that_others_send_to_by_earlier_settings_takes_nothing_by_new_ones() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.threads = 2;
        world.output("one", "memory");
        world.reopen();
        for job in ["sends", "waits"] {
            world.job(definition(&world, job, &format!("{job}/"), &["one"]));
            put(&world, &format!("{job}/a"), "v1");
        }
        let gate = Gate::default();
        locked(&world.shelves["one"]).gate = Some(gate.clone());
        std::thread::scope(|scope| {
            let _opens = gate.opens_at_the_end();
            let sending = scope.spawn(|| world.run("sends", FULL));
            gate.wait_for_somebody();
            set(&world, r#","mapping":"other""#);
            let refused = world.run("waits", FULL).map(drop);
            assert!(
                matches!(&refused, Err(EngineError::Refused { refusal: Refusal::Busy, message }) if message.contains("run this job again")),
                "{kind:?}: {refused:?}"
            );
            gate.open();
            assert_eq!(sending.join().unwrap().unwrap().error, None, "{kind:?}");
        });
        assert_eq!(world.run("waits", FULL).unwrap().counts.added, 1, "{kind:?}");
        assert_eq!(world.run("sends", FULL).unwrap().counts.updated, 1, "{kind:?}");
    }
}
