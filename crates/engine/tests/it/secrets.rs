//! A secret of an output is in no digest of what it was sent, and any other setting is.

use ingather_model::job::Definition;
use ingather_testkit::database::BOTH;
use ingather_testkit::memory_output::locked;
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
