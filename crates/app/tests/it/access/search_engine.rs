//! What a search engine finds by the filter of a user is what the kernel lets that user open.

use std::collections::BTreeSet;

use ingather_testkit::search_engine::{InjectedFault, Proxy, SearchEngine};
use serde_json::{Value, json};

use super::{USERS, World};
use crate::people::{Accounts, Person};
use crate::sandbox::Sandbox;

pub(super) const OUTPUT: &str = "opensearch:docs";
/// Others than those of the built-in index, so that there are more trees.
const SEEDS: std::ops::RangeInclusive<u64> = 1_001..=1_005;

/// What the engine finds for somebody, who asks by the filter that they are given.
pub(super) fn found(engine: &SearchEngine, sandbox: &Sandbox, person: &Person) -> BTreeSet<String> {
    let flags = ["--engine", "opensearch", "--output", OUTPUT];
    let filter = sandbox.run(&[&["filter", &*person.name][..], &flags].concat()).exits(0).out;
    let filter: Value = serde_json::from_str(&filter).unwrap();
    let query = json!({"size": 10_000, "_source": ["document"], "query": {"bool": {"filter": [filter]}}});
    let answer = engine.done("POST", "/PATH/_search", &query);
    let hits = answer["hits"]["hits"].as_array().unwrap();
    hits.iter().map(|hit| hit["_source"]["document"].as_str().unwrap().to_owned()).collect()
}

/// What the program finds for somebody who has it ask the engine.
pub(super) fn asked(sandbox: &Sandbox, person: &Person, query: &str) -> BTreeSet<String> {
    let as_person = ["--as", &*person.name, "--json", "--limit", "10000"];
    let search = [&["search", query, "--output", OUTPUT][..], &as_person].concat();
    sandbox.run(&search).exits(0).documents().into_iter().collect()
}

#[test]
fn an_output_that_is_asked_shows_each_user_what_the_index_shows_them() {
    const NAME: &str = "an_output_that_is_asked_shows_each_user_what_the_index_shows_them";
    ingather_testkit::needs!(Users);
    let engines = SearchEngine::each(NAME);
    if engines.is_empty() {
        return;
    }
    let accounts = Accounts::make(2, &USERS);
    let people = accounts.people();
    for engine in engines {
        let sandbox = Sandbox::sqlite();
        sandbox.write("open.txt", "an apple for everybody");
        sandbox.write("none.txt", "a pear");
        for (n, person) in people[..3].iter().enumerate() {
            let (file, folder) = (format!("own{n}.txt"), format!("d{n}"));
            sandbox.write(&file, "an apple of one");
            sandbox.write(&format!("{folder}/in.txt"), "an apple in a folder");
            for (path, mode) in [(file, 0o600), (folder, 0o700)] {
                let path = sandbox.root().join(path);
                std::os::unix::fs::chown(&path, Some(person.uid), None).unwrap();
                std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
            }
        }
        crate::files::settle(&sandbox.root());
        let file = sandbox.path().join("declaration.json");
        let outputs = json!({OUTPUT: {"kind": "opensearch", "settings": engine.settings()}});
        std::fs::write(&file, json!({"version": 1, "outputs": outputs}).to_string()).unwrap();
        sandbox.run(&["apply", "-f", file.to_str().unwrap()]).exits(0);
        let search =
            |flags: &[&str]| sandbox.run(&[&["search", "apple", "--output", OUTPUT], flags].concat());
        search(&[]).refuses(3, &[OUTPUT, "holds nothing yet"]);
        sandbox.synced(&["--to", "index", "--to", OUTPUT]);
        // What others put beside it has the rights of what is there, and is not of this store, or newer than it knows.
        let (_, entry) = engine.entries().into_iter().find(|(id, _)| id.ends_with("/open.txt")).unwrap();
        for (at, (field, value)) in
            [("store", json!("another")), ("seq", json!(1_i64 << 60))].into_iter().enumerate()
        {
            let mut planted = entry.clone();
            (planted[field], planted["document"]) = (value, json!("planted.txt"));
            engine.done("PUT", &format!("/PATH/_doc/planted-{at}?refresh=true"), &planted);
        }
        for (n, person) in people[..3].iter().enumerate() {
            let by_index =
                sandbox.run(&["search", "apple", "--as", &person.name, "--json"]).exits(0).documents();
            let by_index: BTreeSet<String> = by_index.into_iter().collect();
            let own = [format!("own{n}.txt"), format!("d{n}/in.txt"), "open.txt".to_owned()];
            assert_eq!(by_index, own.into_iter().collect());
            assert_eq!(asked(&sandbox, person, "apple"), by_index);
        }
        let all: Vec<Value> = search(&["--all", "--json"]).exits(0).json();
        assert_eq!(all.len(), 7);
        let hit = all.iter().find(|hit| hit["document"] == "open.txt").unwrap();
        assert_eq!(
            (&hit["snippet"], &hit["highlights"]),
            (&json!("an apple for everybody"), &json!([[3, 8]]))
        );
        let told = search(&["--as", &people[0].name, "--limit", "2"]).exits(0);
        assert!(told.out.contains("open.txt") && told.err.contains("2 of 3 found"), "{told:?}");
        what_a_server_shows_beyond_the_filter_is_left_out(&sandbox, &engine, &people[0]);
        what_cannot_be_asked_is_told(&sandbox, &engine);
    }
}

/// A server that heeds no filter answers with everything; so may one that heeds another than was meant.
fn what_a_server_shows_beyond_the_filter_is_left_out(
    sandbox: &Sandbox,
    engine: &SearchEngine,
    person: &Person,
) {
    let before = asked(sandbox, person, "*");
    let everything = engine.done("GET", "/PATH/_search?size=100&track_total_hits=true", &Value::Null);
    let everything: &'static str = Box::leak(everything.to_string().into_boxed_str());
    let proxy = Proxy::before(&engine.url, move |heard| match heard.path.contains("/_search") {
        true => InjectedFault::Told(everything),
        false => InjectedFault::None,
    });
    let declare = |settings: Value| {
        let file = sandbox.path().join("declaration.json");
        let outputs = json!({OUTPUT: {"kind": "opensearch", "settings": settings}});
        std::fs::write(&file, json!({"version": 1, "outputs": outputs}).to_string()).unwrap();
        sandbox.run(&["apply", "-f", file.to_str().unwrap()]).exits(0);
    };
    declare(engine.settings_by(&proxy.url));
    assert_eq!(asked(sandbox, person, "*"), before);
    let all = sandbox.run(&["search", "*", "--output", OUTPUT, "--all", "--json"]).exits(0).documents();
    assert!(all.len() == 8 && !all.contains(&"planted.txt".to_owned()), "{all:?}");
    declare(engine.settings());
}

fn what_cannot_be_asked_is_told(sandbox: &Sandbox, engine: &SearchEngine) {
    let search = |flags: &[&str]| sandbox.run(&[&["search", "apple"], flags].concat());
    search(&["--output", "opensearch:other"]).refuses(2, &["opensearch:other", OUTPUT]);
    search(&["--output", OUTPUT, "--sort", "size"]).refuses(2, &["--sort"]);
    assert!(search(&["--output", "index"]).exits(0).err.contains("found"));
    // What took the place of the index, or is of an earlier day, is shown to nobody.
    let mapping = engine.done("GET", "/PATH", &Value::Null);
    let mut meta = mapping[&engine.index]["mappings"]["_meta"].clone();
    meta["ingather"]["session"] = json!(4711);
    engine.done("PUT", "/PATH/_mapping", &json!({"_meta": meta}));
    search(&["--output", OUTPUT]).refuses(3, &[OUTPUT, "nothing of it is shown"]);
    engine.done("POST", "/PATH/_close", &Value::Null);
    search(&["--output", OUTPUT]).refuses(3, &[OUTPUT, "is closed"]);
    engine.done("POST", "/PATH/_open", &Value::Null);
}

#[test]
fn a_search_engine_finds_by_a_filter_what_the_kernel_lets_open() {
    ingather_testkit::needs!(Users);
    let engines = SearchEngine::each("a_search_engine_finds_by_a_filter_what_the_kernel_lets_open");
    if engines.is_empty() {
        return;
    }
    let accounts = Accounts::make(2, &USERS);
    let people = accounts.people();
    for engine in engines {
        let (mut open, mut closed) = (0, 0);
        for seed in SEEDS {
            let index = engine.another();
            // What searches find is what a commit had them find: else it would come a second later, and hide that they are asked too early.
            let patient = json!({"index_patterns": [index.index], "template": {"settings": {"refresh_interval": "-1"}}});
            let template = format!("/_index_template/{}", index.index);
            engine.done("PUT", &template, &patient);
            let mut world = World::new(seed, &people, accounts.groups());
            let file = world.sandbox.path().join("declaration.json");
            let outputs = json!({OUTPUT: {"kind": "opensearch", "settings": index.settings()}});
            std::fs::write(&file, json!({"version": 1, "outputs": outputs}).to_string()).unwrap();
            world.sandbox.run(&["apply", "-f", file.to_str().unwrap()]).exits(0);
            world.engine = Some(index);
            let (may, may_not) = world.live();
            open += may;
            closed += may_not;
            engine.done("DELETE", &template, &Value::Null);
        }
        assert!(open > 100 && closed > 100, "too easy: {open} may be opened, {closed} not");
    }
}
