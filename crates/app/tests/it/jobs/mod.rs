//! Jobs beside each other: their documents in one index, their ends, and what a journal is told.

mod declarations;
mod outside;
mod search_engine;
mod status;
mod stream;

use serde_json::{Value, json};

use crate::files;
use crate::sandbox::{Kept, Sandbox};

fn tree(kept: Kept) -> Sandbox {
    let sandbox = Sandbox::new(kept);
    sandbox.write("a.txt", "apple");
    sandbox.write("sub/b.txt", "banana");
    sandbox.write("sub/deep/c.txt", "cherry");
    sandbox
}

/// The URIs that the index holds, as paths below the root.
fn held(sandbox: &Sandbox) -> Vec<String> {
    let root = format!("file://{}/", sandbox.root().display());
    let lines = sandbox.run(&["search", "*", "--all", "--limit", "10000", "--json"]).exits(0).json();
    let mut found: Vec<String> = lines
        .iter()
        .map(|line| line["uri"].as_str().unwrap().strip_prefix(&root).unwrap().to_owned())
        .collect();
    found.sort();
    found
}

#[test]
fn a_deleted_job_leaves_nothing_in_the_index() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = tree(kept);
        sandbox.synced(&[]);
        let told = sandbox.run(&["job", "delete", "root", "--json"]).exits(0).json();
        assert_eq!(told, [json!({"job": "root", "deleted": 3, "kept": 0})]);
        assert_eq!(held(&sandbox), [""; 0]);
        assert_eq!(sandbox.run(&["job", "list", "--json"]).exits(0).json(), [Value::Null; 0]);
        // And it can come again.
        assert_eq!(sandbox.synced(&[]).get("added"), 3);
        assert_eq!(held(&sandbox).len(), 3);
    }
}

#[test]
fn a_file_in_two_jobs_stays_until_the_last_of_them_goes() {
    for (first, second, left) in [
        ("all", "part", vec!["sub/b.txt", "sub/deep/c.txt"]),
        ("part", "all", vec!["a.txt", "sub/b.txt", "sub/deep/c.txt"]),
    ] {
        for kept in [Kept::Sqlite, Kept::Postgres] {
            let sandbox = tree(kept);
            sandbox.run(&["sync", "root", "--name", "all"]).exits(0);
            sandbox.run(&["sync", "root/sub", "--name", "part"]).exits(0);
            assert_eq!(held(&sandbox), ["a.txt", "sub/b.txt", "sub/deep/c.txt"], "each file once");
            sandbox.run(&["job", "delete", first]).exits(0);
            assert_eq!(held(&sandbox), left, "{first} deleted first, on {kept:?}");
            // What remains is kept current by the job that remains.
            sandbox.write("sub/b.txt", "blueberry");
            let source = if second == "all" { "root" } else { "root/sub" };
            sandbox.run(&["sync", source, "--name", second]).exits(0);
            assert_eq!(sandbox.find("blueberry").len(), 1);
            assert_eq!(sandbox.find("banana").len(), 0);
            assert_eq!(held(&sandbox), left);
            sandbox.run(&["job", "delete", second]).exits(0);
            assert_eq!(held(&sandbox), [""; 0], "{second} deleted last, on {kept:?}");
        }
    }
}

#[test]
fn a_file_that_goes_leaves_both_jobs() {
    let sandbox = tree(Kept::Sqlite);
    sandbox.run(&["sync", "root", "--name", "all"]).exits(0);
    sandbox.run(&["sync", "root/sub", "--name", "part"]).exits(0);
    files::remove(&sandbox.root().join("sub/b.txt"));
    sandbox.run(&["sync", "root", "--name", "all"]).exits(0);
    // The other job still claims it: it has not looked yet.
    sandbox.run(&["sync", "root/sub", "--name", "part"]).exits(0);
    assert_eq!(held(&sandbox), ["a.txt", "sub/deep/c.txt"]);
}

#[test]
fn a_journal_is_told_every_change_once() {
    let sandbox = tree(Kept::Sqlite);
    files::settle(&sandbox.root());
    let journal = sandbox.path().join("changes.jsonl");
    let read = || -> Vec<Value> {
        std::fs::read_to_string(&journal)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter(|line| !line["uri"].is_null())
            .collect()
    };
    sandbox.synced(&["--to", "journal:changes.jsonl"]);
    let lines = read();
    assert_eq!(lines.len(), 3);
    let uri = |name: &str| format!("file://{}/{name}", sandbox.root().display());
    for line in &lines {
        let keys: Vec<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
        let known = ["op", "seq", "id", "address", "job", "uri", "version", "fields", "acl", "container"];
        assert_eq!(keys, known, "{line}");
        assert_eq!((&line["op"], &line["job"], &line["id"]), (&json!("put"), &json!("root"), &line["uri"]));
    }
    sandbox.synced(&[]);
    assert_eq!(read().len(), 3, "nothing changed, nothing told");
    sandbox.write("a.txt", "apricot");
    files::remove(&sandbox.root().join("sub/b.txt"));
    files::tool("chmod", &["0600"], &sandbox.root().join("sub/deep/c.txt"));
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    let mut told: Vec<(String, String)> = read()[3..]
        .iter()
        .map(|line| (line["op"].as_str().unwrap().to_owned(), line["id"].as_str().unwrap().to_owned()))
        .collect();
    told.sort();
    // Who is shut out is told before the content was looked at, and once more with it.
    told.dedup();
    let wanted = [("access", "sub/deep/c.txt"), ("delete", "sub/b.txt"), ("put", "a.txt")];
    assert_eq!(told, wanted.map(|(op, name)| (op.to_owned(), uri(name))));
    // The journal in the source is not a document of it.
    let inside =
        sandbox.run(&["sync", ".", "--name", "outer", "--to", "journal:changes.jsonl", "--json"]).exits(0);
    assert!(read().iter().all(|line| !line["id"].as_str().unwrap().contains("changes.jsonl")), "{inside:?}");
}

#[test]
fn an_output_that_is_taken_out_of_a_job_loses_what_it_held() {
    let sandbox = tree(Kept::Sqlite);
    sandbox.synced(&["--to", "index", "--to", "journal:changes.jsonl"]);
    assert_eq!(held(&sandbox).len(), 3);
    sandbox.synced(&["--to", "journal:changes.jsonl", "--update"]);
    assert_eq!(held(&sandbox), [""; 0]);
    sandbox.synced(&["--to", "index", "--to", "journal:changes.jsonl", "--update"]);
    assert_eq!(held(&sandbox).len(), 3);
}

#[test]
fn an_export_names_every_job_with_its_settings() {
    let sandbox = tree(Kept::Sqlite);
    sandbox.synced(&["--exclude", "deep"]);
    let answer = sandbox.run(&["export"]).exits(0);
    let told: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(told["jobs"][0]["name"], "root");
    assert_eq!(told["jobs"][0]["source"]["exclude"], json!(["deep"]));
    assert_eq!(told["outputs"]["index"]["kind"], "index");
}

#[test]
fn a_job_shows_what_it_keeps() {
    let sandbox = tree(Kept::Sqlite);
    for (flags, word) in [(&[][..], "nothing"), (&["--keep", "extracted", "--update"], "extracted")] {
        sandbox.synced(flags);
        let told = sandbox.run(&["job", "show", "root"]).exits(0).out;
        assert!(told.lines().any(|line| line == format!("keep       {word}")), "{told}");
        assert_eq!(sandbox.run(&["job", "show", "root", "--json"]).exits(0).json()[0]["keep"], word);
    }
}

#[test]
fn a_schedule_is_stored_shown_and_taken_back_and_sends_nothing() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = tree(kept);
        assert_eq!(sandbox.synced(&[]).get("added"), 3);
        let plain = sandbox.run(&["export"]).exits(0).out;
        assert!(!plain.contains("schedule"), "{plain}");
        let nightly = "TZ=Asia/Tokyo 0 2 * * mon-fri";
        let differs = ["schedule: none → weekdays at 02:00 Asia/Tokyo", "--update"];
        sandbox.run(&["sync", "root", "--schedule", nightly]).refuses(2, &differs);
        let changed = sandbox.synced(&["--schedule", nightly, "--update"]);
        assert_eq!((changed.get("unchanged"), changed.get("updated")), (3, 0), "{changed:?}");
        assert_eq!(sandbox.synced(&[]).get("unchanged"), 3, "left out, it changes nothing");
        assert_eq!(
            sandbox.synced(&["--schedule", nightly]).get("unchanged"),
            3,
            "the same again is no difference"
        );

        let told = sandbox.run(&["job", "show", "root"]).exits(0).out;
        assert!(told.contains("schedule   weekdays at 02:00 Asia/Tokyo\n"), "{told}");
        assert!(told.contains("           next 20") && told.contains(", by `ingather serve`"), "{told}");
        let job = sandbox.run(&["job", "show", "root", "--json"]).exits(0).json()[0].clone();
        assert_eq!(job["schedule"]["words"], "weekdays at 02:00 Asia/Tokyo");
        let next: Vec<i64> = serde_json::from_value(job["schedule"]["next"].clone()).unwrap();
        // At two in Tokyo it is five in the afternoon of UTC, the day before.
        assert!(next.len() == 3 && next.iter().all(|at| at % 86_400_000 == 17 * 3_600_000), "{next:?}");
        let declared: Value = serde_json::from_str(&sandbox.run(&["export"]).exits(0).out).unwrap();
        let rule = json!([{"weekdays": ["monday", "tuesday", "wednesday", "thursday", "friday"], "days_of_month": "every",
            "months": "every", "hours": [2], "minutes": [0], "time_zone": "Asia/Tokyo", "start": "begin", "kind": "full"}]);
        assert_eq!(declared["jobs"][0]["schedule"], rule);

        let back = sandbox.synced(&["--schedule", "none", "--update"]);
        assert_eq!(back.get("unchanged"), 3, "{back:?}");
        assert_eq!(sandbox.run(&["export"]).exits(0).out, plain, "as if there had never been one");
    }
}

#[test]
fn a_schedule_that_cannot_be_is_refused_in_one_sentence() {
    let sandbox = tree(Kept::Sqlite);
    for (text, words) in [
        ("0 25 * * *", &["has `25` as the hour", "0 to 23"][..]),
        ("every now and then", &["is no interval", "`every 15m`"]),
        ("TZ=Middle/Earth @daily", &["the time zone `Middle/Earth`", "`Europe/Berlin`"]),
        ("[{\"hours\": [24]}]", &["rule 1 of the schedule: `hours` has 24"]),
        ("0 0 30 2 *", &["begins no more", "`none`"]),
    ] {
        sandbox.run(&["sync", "root", "--schedule", text]).refuses(2, words);
    }
    assert_eq!(sandbox.run(&["job", "list", "--json"]).exits(0).out, "", "and no job is made");
}
