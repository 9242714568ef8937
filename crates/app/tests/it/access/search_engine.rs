//! What a search engine finds by the filter of a user is what the kernel lets that user open.

use std::collections::BTreeSet;

use ingather_testkit::search_engine::SearchEngine;
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
