//! Pipelines that are trees: conditions on the way to outputs, and outputs behind branches.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::pipeline;
use crate::files;
use crate::sandbox::Sandbox;

/// What a journal holds by its lines: names of files, with their departments.
fn held(sandbox: &Sandbox, journal: &str) -> BTreeSet<(String, String)> {
    let text = std::fs::read_to_string(sandbox.path().join(journal)).unwrap();
    let mut held = BTreeSet::new();
    for line in text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let Some(uri) = line["uri"].as_str() else { continue };
        let name = uri.rsplit('/').next().unwrap().to_owned();
        let department = line["fields"]["department"][0].as_str().unwrap_or_default().to_owned();
        match line["op"].as_str().unwrap() {
            "put" => {
                held.retain(|(known, _)| *known != name);
                held.insert((name, department));
            }
            "delete" => held.retain(|(known, _)| *known != name),
            _ => {}
        }
    }
    held
}

/// How many lines about documents a journal has.
fn lines(sandbox: &Sandbox, journal: &str) -> usize {
    let text = std::fs::read_to_string(sandbox.path().join(journal)).unwrap();
    let value = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    text.lines().filter(|line| !value(line)["uri"].is_null()).count()
}

fn names(of: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    of.iter().map(|(name, department)| ((*name).to_owned(), (*department).to_owned())).collect()
}

fn set(department: &str) -> Value {
    json!({"set": [{"field": "department", "values": [department]}]})
}

/// `text` for all; one branch for what is large, which one output gets, and one for all else.
fn tree(least: u64, of_the_large: &str) -> Value {
    json!({
        "stages": [
            {"transform": "text"},
            {"transform": "fields", "name": "rest", "settings": set("rest")},
            {"transform": "fields", "name": "large", "after": "text", "settings": set(of_the_large),
                "when": {"field": "size", "above": least}},
        ],
        "outputs": [
            {"output": "journal:large.jsonl", "after": "large"},
            {"output": "journal:rest.jsonl", "after": "rest", "when": {"not": {"field": "size", "above": least}}},
        ],
    })
}

#[test]
fn documents_go_where_conditions_let_them_and_leave_where_these_do_not_hold_any_more() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "small");
    sandbox.write("b.txt", "this one is large");
    files::settle(&sandbox.root());
    let file = pipeline(&sandbox, "tree.json", &tree(10, "large"));
    assert_eq!(sandbox.synced(&["--pipeline", &file]).get("added"), 2);
    assert_eq!(held(&sandbox, "large.jsonl"), names(&[("b.txt", "large")]));
    assert_eq!(held(&sandbox, "rest.jsonl"), names(&[("a.txt", "rest")]));
    assert_eq!(sandbox.synced(&["--pipeline", &file]).get("unchanged"), 2);

    // A branch that changes sends nothing to the other one.
    let before = lines(&sandbox, "rest.jsonl");
    let other = pipeline(&sandbox, "other.json", &tree(10, "big"));
    let words = ["pipeline: stage 3 `fields`: set[].values[] is \"large\", given \"big\""];
    sandbox.run(&["sync", "root", "--pipeline", &other]).refuses(2, &words);
    assert_eq!(sandbox.synced(&["--pipeline", &other, "--update"]).get("updated"), 1);
    assert_eq!(held(&sandbox, "large.jsonl"), names(&[("b.txt", "big")]));
    assert_eq!(lines(&sandbox, "rest.jsonl"), before);

    // A document that grows moves.
    sandbox.write("a.txt", "now it is large as well");
    files::settle(&sandbox.root());
    assert_eq!(sandbox.synced(&[]).get("updated"), 1);
    assert_eq!(held(&sandbox, "large.jsonl"), names(&[("a.txt", "big"), ("b.txt", "big")]));
    assert_eq!(held(&sandbox, "rest.jsonl"), names(&[]));

    // A condition that changes moves both, and says beforehand what differs.
    let higher = pipeline(&sandbox, "higher.json", &tree(20, "big"));
    let words =
        ["stage 3 `fields`: when.above is 10.0, given 20.0", "output `journal:", ".when.not.above is 10.0"];
    sandbox.run(&["sync", "root", "--pipeline", &higher]).refuses(2, &words);
    assert_eq!(sandbox.synced(&["--pipeline", &higher, "--update"]).get("updated"), 1);
    assert_eq!(held(&sandbox, "large.jsonl"), names(&[("a.txt", "big")]));
    assert_eq!(held(&sandbox, "rest.jsonl"), names(&[("b.txt", "rest")]));
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 2);
}

#[test]
fn the_way_of_a_document_and_the_condition_that_decides_are_shown() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "small");
    let file = pipeline(&sandbox, "tree.json", &tree(10, "large"));
    sandbox.synced(&["--pipeline", &file]);
    let why = "`size` is not above 10: it is `5`";
    let told = sandbox.run(&["pipeline", "try", "root", "a.txt"]).exits(0).out;
    for line in [
        "2 fields: passes it on",
        &format!("3 fields (after text): does not get it: {why}"),
        &format!("output journal:{}: does not get it: {why}", sandbox.path().join("large.jsonl").display()),
        "    source → text → [`size` is above 10] large → journal:",
        &format!("output journal:{}: gets it", sandbox.path().join("rest.jsonl").display()),
        "    source → text → rest → [not `size` is above 10] journal:",
    ] {
        assert!(told.lines().any(|told| told.starts_with(line)), "`{line}` is not in {told}");
    }
    let answer = sandbox.run(&["pipeline", "try", "root", "a.txt", "--json"]).exits(0).json().remove(0);
    let outputs = answer["outputs"].as_array().unwrap();
    let gets: Vec<&Value> = outputs.iter().map(|output| &output["gets"]).collect();
    assert_eq!(gets, [&json!(false), &json!(true)]);
    assert_eq!(
        (&outputs[0]["reason"]["code"], &answer["stages"][2]["comes_after"]),
        (&json!("condition"), &json!("text"))
    );
    assert_eq!(answer["stages"][2]["before"], answer["stages"][0]["after"]);

    let told = sandbox.run(&["document", "explain", "root", "a.txt"]).exits(0).out;
    assert!(told.contains(&format!("a condition keeps it out: {why}")), "{told}");
    assert!(told.contains("source → text → rest → [not `size` is above 10] journal:"), "{told}");
    let answer = sandbox.run(&["document", "explain", "root", "a.txt", "--json"]).exits(0).json().remove(0);
    let states: BTreeSet<&str> = answer["outputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|output| output["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, BTreeSet::from(["held", "kept_out"]));
    let shown = sandbox.run(&["job", "show", "root"]).exits(0).out;
    assert!(shown.contains("source → text → [`size` is above 10] large →"), "{shown}");

    // What no output gets is skipped, and says so.
    let none = json!({"stages": [{"transform": "text"}], "outputs": [{"output": "index", "when": {"field": "size", "above": 10}}]});
    let file = pipeline(&sandbox, "none.json", &none);
    sandbox.synced(&["--pipeline", &file, "--update", "--delete-guard", "off"]);
    let told = sandbox.run(&["document", "explain", "root", "a.txt"]).exits(0).out;
    assert!(told.lines().next().unwrap().contains(why), "{told}");
}

#[test]
fn conditions_that_would_take_much_out_of_an_output_are_refused_before_anything_is_changed() {
    let sandbox = Sandbox::sqlite();
    for number in 0..40 {
        sandbox.write(&format!("f{number}.txt"), if number < 30 { "apple" } else { "banana" });
    }
    files::settle(&sandbox.root());
    assert_eq!(sandbox.synced(&["--to", "journal:all.jsonl"]).get("added"), 40);
    let routed = |least: u64| {
        json!({"stages": [{"transform": "text"}],
            "outputs": [{"output": "journal:all.jsonl", "when": {"field": "size", "above": least}}]})
    };
    let file = pipeline(&sandbox, "much.json", &routed(5));
    let words = ["would take 30 of 40 documents of job root out of outputs", "--delete-guard off"];
    let told = lines(&sandbox, "all.jsonl");
    for flags in [&["--update"][..], &["--update", "--dry-run"], &["--update", "-q"]] {
        let command = [&["sync", "root", "--pipeline", &file][..], flags].concat();
        sandbox.run(&command).refuses(2, &words);
        assert_eq!(lines(&sandbox, "all.jsonl"), told);
    }
    let away = sandbox.root().with_extension("away");
    std::fs::rename(sandbox.root(), &away).unwrap();
    let untold =
        ["nobody can tell what the conditions", "40 of 40 documents of job root could not be looked at"];
    sandbox.run(&["sync", "root", "--pipeline", &file, "--update"]).refuses(2, &untold);
    std::fs::rename(&away, sandbox.root()).unwrap();
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 40, "the job is as it was");
    let off = ["--pipeline", &file, "--update", "--delete-guard", "off"];
    let report = sandbox.synced(&off);
    assert_eq!((report.get("skipped"), report.get("unchanged")), (30, 10));
    assert_eq!(held(&sandbox, "all.jsonl").len(), 10);
    // What takes nothing out needs no word.
    let wider = pipeline(&sandbox, "wider.json", &routed(1));
    assert_eq!(sandbox.synced(&["--pipeline", &wider, "--update"]).get("unchanged"), 10);
    assert_eq!(held(&sandbox, "all.jsonl").len(), 40);
}

#[test]
fn a_pipeline_that_leads_nowhere_is_refused_with_its_place() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let text = json!({"transform": "text"});
    let access = json!({"transform": "access", "after": "source", "name": "shown", "settings": {"allow": ["unix:g:100"]}});
    let files: [(&str, Value, &[&str]); 6] = [
        (
            "a.json",
            json!([{"transform": "text", "when": {"all": [{"field": "size", "above": 1}, {"field": "size", "over": 1}]}}]),
            &["stage 1: text: the condition at `all[1]` has `over`, which is not known"],
        ),
        (
            "b.json",
            json!({"stages": [text], "outputs": [{"output": "index", "when": {"not": 7}}]}),
            &["output `index`: the condition at `not` is no object"],
        ),
        (
            "c.json",
            json!([{"transform": "text", "after": "limit"}]),
            &["stage 1 `text` comes after `limit`", "`source`"],
        ),
        (
            "d.json",
            json!({"stages": [text], "outputs": [{"output": "index", "after": "source"}]}),
            &["stage 1 `text` leads to no stage and no output"],
        ),
        (
            "e.json",
            json!({"stages": [text, access], "outputs": [{"output": "index", "after": "text"}, {"output": "null", "after": "shown"}]}),
            &["stage 2 `shown` says who may see documents", "every output comes after it"],
        ),
        ("f.json", json!({"stages": [text], "outputs": [{"output": "index", "unless": 1}]}), &["unless"]),
    ];
    for (name, pipeline_of, words) in files {
        let file = pipeline(&sandbox, name, &pipeline_of);
        for command in [
            &["sync", "root", "--pipeline", &file, "--update"][..],
            &["sync", "root", "-q", "--pipeline", &file, "--update"],
        ] {
            sandbox.run(command).refuses(2, words);
            assert_eq!(sandbox.synced(&[]).get("unchanged"), 1, "{name}");
        }
    }
    let file = pipeline(&sandbox, "g.json", &json!({"stages": [text], "outputs": [{"output": "null"}]}));
    let both = ["sync", "root", "--pipeline", &file, "--to", "index", "--update"];
    sandbox.run(&both).refuses(2, &["names the outputs, and so does --to"]);
}
