//! An output that is told who may see, after an update of the program: what an earlier version has sent names no acls and
//! containers.

use ingather_engine::outputs;
use ingather_model::access::{Acl, Entry};
use ingather_model::guard::Guard;
use ingather_model::job::{ContentBy, Definition, Keep};
use ingather_store::{Durability, definitions};
use ingather_testkit::database::{BOTH, Kind};
use ingather_testkit::memory_output::Calls;
use ingather_testkit::world::{FULL, World};
use ingather_testkit::{memory_output, script_repository};

fn filled(kind: Kind) -> World {
    let mut world = World::new(kind);
    world.output("one", "told");
    {
        let mut source = script_repository::locked(&world.source);
        for (name, who) in [("a", "anna"), ("p/b", "bert"), ("p/c", "anna")] {
            let file = source.file(name);
            (file.content, file.acl) = ("v1".to_owned(), Acl::Ordered(vec![Entry::allow(who)]));
        }
        source.folder("p/").acl = Acl::Ordered(vec![Entry::allow("bert"), Entry::allow("carla")]);
    }
    world.job(Definition {
        name: "docs".to_owned(),
        repository: "source".to_owned(),
        source: serde_json::json!({"world": world.name, "root": ""}),
        stages: Vec::new(),
        outputs: vec!["one".to_owned()],
        routes: std::collections::BTreeMap::new(),
        retired: Vec::new(),
        delete_guard: Guard::Off,
        compare_content: false,
        keep: Keep::Nothing,
        content_by: ContentBy::Read,
        dates: Default::default(),
        priority: ingather_model::job::Priority::default(),
        history: ingather_model::job::history::History::default(),
        notify: Vec::new(),
        hops: Default::default(),
        schedule: None,
    });
    world
}

#[test]
fn what_an_earlier_version_has_sent_is_referred_to_without_a_look_at_the_source() {
    for kind in BOTH {
        let world = filled(kind);
        world.run("docs", FULL).unwrap();
        let seen = |user: &str| world.sees(user, "one");
        let before = [seen("anna"), seen("bert"), seen("")];
        assert_eq!(before[..2], [vec!["a".to_owned()], vec!["p/b".to_owned()]]);
        // As an earlier version leaves it: nothing was told, and entries name nothing that is told.
        let output = world.outputs["one"];
        world.store().write(Durability::Synced, |sql| definitions::reset(sql, output)).unwrap();
        {
            let mut shelf = memory_output::locked(&world.shelves["one"]);
            shelf.cut();
            shelf.calls = Calls::default();
            shelf.entries.values_mut().for_each(|entry| (entry.acl_id, entry.container) = (None, None));
        }
        script_repository::locked(&world.source).fetched.clear();
        assert_eq!([seen("anna"), seen("bert")], [const { Vec::<String>::new() }; 2]);
        for accesses in [3, 0] {
            world.run("docs", FULL).unwrap();
            assert_eq!([seen("anna"), seen("bert"), seen("")], before);
            let calls = std::mem::take(&mut memory_output::locked(&world.shelves["one"]).calls);
            assert_eq!(calls, Calls { access: accesses, ..Calls::default() }, "told once");
        }
        assert_eq!(script_repository::locked(&world.source).fetched, [""; 0], "nothing was read");
    }
}

#[test]
fn a_repair_of_an_output_that_is_told_begins_and_ends_in_the_state_of_before() {
    for kind in BOTH {
        let world = filled(kind);
        world.run("docs", FULL).unwrap();
        let before = world.entries("one");
        {
            let mut shelf = memory_output::locked(&world.shelves["one"]);
            let orphan = shelf.entries.values().next().cloned().unwrap();
            let hasher = world.engine().reader.hasher();
            let id = format!("mem://{}/orphan", world.name);
            let address = hasher.hash(id.as_bytes());
            shelf.entries.insert(id, memory_output::Entry { address, ..orphan });
            shelf.rules.heard.clear();
        }
        let connection = outputs::connection(world.store(), &world.engine().registry, "one", 0).unwrap();
        let found = world.engine().verify(&connection, true, &mut |_| {}).unwrap();
        assert_eq!((found.removed, found.missing, found.stale), (1, 0, 0));
        world.run("docs", FULL).unwrap();
        assert_eq!(world.entries("one"), before);
        let shelf = memory_output::locked(&world.shelves["one"]);
        assert_eq!(shelf.rules.heard, ["begin verify", "end verify", "begin docs", "end docs"]);
        assert_eq!((shelf.emptied, &shelf.violations), (0, &Vec::new()), "it goes on as it was");
    }
}
