//! Causes that a scripted source and output bring about: the first sentence of an explanation names each (design 4.13).

use ingather_engine::inspect::explain::Explanation;
use ingather_model::fault::Fault;
use ingather_model::guard::Guard;
use ingather_model::job::{ContentBy, Definition, Keep, Stage};
use ingather_testkit::database::BOTH;
use ingather_testkit::memory_output::{self, Effect, InjectedFault};
use ingather_testkit::script_repository;
use ingather_testkit::world::{FULL, World};
use serde_json::json;

fn definition(world: &World) -> Definition {
    Definition {
        name: "docs".to_owned(),
        repository: "source".to_owned(),
        source: json!({"world": world.name, "root": ""}),
        stages: vec![Stage {
            transform: "script".to_owned(),
            settings: json!({"broken": "bad", "decline": "ugly"}),
            ..Stage::default()
        }],
        outputs: vec!["one".to_owned()],
        routes: std::collections::BTreeMap::new(),
        retired: Vec::new(),
        delete_guard: Guard::default(),
        compare_content: false,
        keep: Keep::Nothing,
        content_by: ContentBy::Read,
        dates: Default::default(),
        priority: ingather_model::job::Priority::default(),
        history: ingather_model::job::history::History::default(),
        notify: Vec::new(),
        hops: Default::default(),
        schedule: None,
    }
}

fn explain(world: &World, name: &str) -> Explanation {
    let job = world.find("docs").unwrap();
    world.engine().explain(&job, name).unwrap()
}

#[track_caller]
fn names(world: &World, name: &str, code: &str, words: &[&str]) -> Explanation {
    let told = explain(world, name);
    assert_eq!(told.cause.code, code, "{}", told.cause.message);
    for word in words {
        assert!(told.cause.message.contains(word), "`{word}` is not in: {}", told.cause.message);
    }
    told
}

#[test]
fn what_stages_outputs_and_sources_say_is_named() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        world.job(definition(&world));
        names(&world, "good", "absent", &["`good` is not there"]);
        for (name, text) in
            [("good", "good"), ("bad", "bad"), ("ugly", "ugly"), ("no", "x"), ("later", "x"), ("away", "x")]
        {
            script_repository::locked(&world.source).file(name).content = text.to_owned();
        }
        names(&world, "good", "not_listed", &["never ran"]);
        let lasting = Fault::Passing {
            reason: ingather_model::fault::Reason::new("net", "the share does not answer"),
            retry_in_ms: Some(3_600_000),
            attempts_max: None,
            give_up_at: None,
            when_exhausted: ingather_model::fault::Exhausted::Keep,
        };
        script_repository::locked(&world.source).file("later").fault = Some((lasting.clone(), 9));
        let shelf = world.shelves["one"].clone();
        let faults = [("no", Fault::refused("mapping", "field `x` is no number")), ("away", lasting)];
        for (name, fault) in faults {
            let injected = InjectedFault { name: format!("/{name}"), fault, times: 9, effect: Effect::None };
            memory_output::locked(&shelf).faults.push(injected);
        }
        world.run("docs", FULL).unwrap();
        names(&world, "good", "current", &["up to date in one"]);
        names(&world, "bad", "stage", &["`bad` could not be indexed", "cannot read this"]);
        names(&world, "ugly", "declined", &["`ugly` is left out", "contains the word"]);
        let refused = names(&world, "no", "mapping", &["output one refused `no`", "is no number"]);
        assert_eq!(refused.outputs[0].state, "refused");
        let retried = names(
            &world,
            "later",
            "net",
            &["waits for another attempt after 1 of 8", "share does not answer"],
        );
        assert!(retried.due.is_some() && retried.waits_for.is_some(), "{retried:?}");
        let away = names(&world, "away", "net", &["`away` waits for another attempt"]);
        assert_eq!(away.outputs[0].state, "unconfirmed");
        // What changed since is looked at again, and the sentence says so.
        script_repository::locked(&world.source).file("bad").mtime += 1;
        names(&world, "bad", "stage", &["cannot read this", "changed since"]);
    }
}

#[test]
fn what_became_of_something_in_a_document_is_named() {
    for kind in BOTH {
        let mut world = World::new(kind);
        world.output("one", "memory");
        let stage = |settings| Stage { transform: "script".to_owned(), settings, ..Stage::default() };
        let stages =
            vec![stage(json!({"parts": "keep"})), stage(json!({"decline": "ugly", "broken": "bad"}))];
        world.job(Definition { stages, ..definition(&world) });
        let holds = |world: &World, text: &str| {
            let mut source = script_repository::locked(&world.source);
            let file = source.file("box");
            file.content = text.to_owned();
            file.mtime += 1;
        };
        holds(&world, "v1+a1+ugly1+bad1+...");
        let words = ["`box!/a` is there and no entry yet", "never ran"];
        names(&world, "box!/a", "waiting", &words);
        world.run("docs", FULL).unwrap();
        names(&world, "box!/a", "current", &["is up to date in one"]);
        let words = [
            "`box!/ugly` is left out",
            "stage 2 of the pipeline, `script`, filters it out",
            "contains the word",
        ];
        names(&world, "box!/ugly", "declined", &words);
        names(&world, "box!/bad", "stage", &["`box!/bad` is no entry", "the stage cannot read this"]);
        names(
            &world,
            "box!/none",
            "no_part",
            &["not all that is in it can be read", "pipeline try docs 'box'"],
        );
        // What could be read before is kept, and why.
        holds(&world, "v2+a?");
        world.run("docs", FULL).unwrap();
        names(&world, "box!/a", "unreadable", &["`box!/a` is kept as it was", "it cannot be read"]);
        names(&world, "box!/none", "no_part", &["nothing in it is named `none`"]);
        // As a whole it is declined, fails, or is gone.
        holds(&world, "ugly+a1");
        names(&world, "box!/none", "no_part", &["`box` is read"]);
        holds(&world, "bad");
        names(
            &world,
            "box!/none",
            "stage",
            &["`box` does not pass the stages", "the stage cannot read this"],
        );
        script_repository::locked(&world.source).files.remove("box");
        names(&world, "box!/none", "deleted", &["`box` cannot be read now", "was deleted at the source"]);
    }
}
