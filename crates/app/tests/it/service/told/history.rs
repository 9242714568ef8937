//! History and reports of real runs, asked by the command line and over HTTP; and how it is forgotten.

use ingather_store::runs::history::{self, Noted};
use ingather_store::{Durability, Store, Target, jobs};
use serde_json::{Value, json};

use super::super::Service;
use super::super::runs::at_rest;
use crate::files;
use crate::sandbox::{Kept, Sandbox};
use crate::stops::upgrade::comes;

fn store(sandbox: &Sandbox) -> Store {
    let target = match sandbox.url() {
        Some(url) => Target::Postgres(url.to_owned()),
        None => Target::Sqlite(sandbox.data().join("store.db")),
    };
    Store::open(&target).unwrap()
}

/// Document, outcome and code of each line that the command answers.
fn told(sandbox: &Sandbox, words: &[&str]) -> Vec<(String, String, String)> {
    let lines = sandbox.run(&[&["history", "--json"], words].concat()).exits(0).json();
    let text = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    let mut told: Vec<_> = lines
        .iter()
        .map(|line| (text(line, "document"), text(line, "outcome"), text(line, "code")))
        .collect();
    told.sort();
    told
}

fn row(document: &str, outcome: &str, code: &str) -> (String, String, String) {
    (document.to_owned(), outcome.to_owned(), code.to_owned())
}

/// Stages that take no pictures: these are left out, with a reason.
const NO_PICTURES: &str = "[[stages]]\ntransform = \"allow\"\nsettings = { refuse_extensions = [\"png\"] }\n\n\
    [[stages]]\ntransform = \"text\"\n";

/// Flags of a job that leaves pictures out.
pub(super) fn without_pictures(sandbox: &Sandbox) -> [&'static str; 2] {
    std::fs::write(sandbox.path().join("stages.toml"), NO_PICTURES).unwrap();
    ["--pipeline", "stages.toml"]
}

#[test]
fn a_job_keeps_what_failed_and_with_documents_all_that_its_runs_visit_and_remove() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a/one.txt", "apple");
        sandbox.write("a/two.txt", "apple");
        sandbox.write("left.png", "no picture");
        files::settle(&sandbox.root());
        sandbox.synced(&without_pictures(&sandbox));
        let left = told(&sandbox, &["root", "--documents"]);
        assert_eq!(left.len(), 1, "of three documents only the one that was refused is kept: {left:?}");
        assert_eq!((left[0].0.as_str(), left[0].1.as_str()), ("left.png", "skipped"));
        // From its next run on all are kept that a run visits; what is as it was costs nothing.
        sandbox.run(&["job", "define", "root", "--update", "--history", "documents"]).exits(0);
        std::fs::remove_file(sandbox.root().join("a/two.txt")).unwrap();
        sandbox.write("a/three.txt", "apples");
        files::settle(&sandbox.root());
        sandbox.synced(&[]);
        let second = |line: &(String, String, String)| line.0.starts_with("a/");
        let all = told(&sandbox, &["root", "--documents"]);
        let visited: Vec<_> = all.into_iter().filter(second).collect();
        assert_eq!(visited, [row("a/three.txt", "added", ""), row("a/two.txt", "removed", "")]);
        let narrow = ["root", "--documents", "--outcome", "added", "--matching", "a/*", "--since", "1h"];
        assert_eq!(told(&sandbox, &narrow), [row("a/three.txt", "added", "")]);
        assert_eq!(told(&sandbox, &["root", "--documents", "--until", "1h"]), []);
        let runs = sandbox.run(&["history", "--json"]).exits(0).json();
        let by: Vec<&Value> = runs.iter().map(|run| &run["begun_by"]).collect();
        assert_eq!(by, ["command line", "command line"]);
        let says = sandbox.run(&["history", "root", "--documents"]).exits(0);
        assert!(says.err.contains("documents that runs visited or removed since"), "{says:?}");
        assert!(says.out.contains("a/three.txt"), "{says:?}");
        // Back to failures alone: it says so, and keeps what it has.
        sandbox.run(&["job", "define", "root", "--update", "--history", "failures"]).exits(0);
        let says = sandbox.run(&["history", "root", "--documents"]).exits(0).err;
        assert!(says.contains("of job root only those that failed"), "{says}");
        sandbox.run(&["job", "delete", "root", "--yes"]).exits(0);
        let left = store(&sandbox)
            .reader()
            .read(|sql| history::list(sql, None, 0, &history::Place::before(i64::MAX), 9))
            .unwrap();
        assert_eq!(left, [], "it goes with its job");
    }
}

#[test]
fn reports_add_up_to_what_the_runs_counted() {
    let sandbox = Sandbox::sqlite();
    for n in 0..6 {
        sandbox.write(&format!("d{}/f{n}.txt", n % 2), "apple");
    }
    sandbox.write("top.txt", "apple");
    sandbox.write("d0/left.png", "no picture");
    files::settle(&sandbox.root());
    sandbox.synced(&[&without_pictures(&sandbox)[..], &["--history", "documents"]].concat());
    let standing = sandbox.run(&["report", "status", "root", "--json"]).exits(0).json();
    let told: Vec<(&str, u64, u64, u64)> = standing
        .iter()
        .map(|one| {
            let number = |name: &str| one[name].as_u64().unwrap();
            (one["bucket"].as_str().unwrap(), number("documents"), number("settled"), number("skipped"))
        })
        .collect();
    assert_eq!(told, [("", 1, 1, 0), ("d0/", 4, 3, 1), ("d1/", 3, 3, 0)]);
    let results = sandbox.run(&["report", "results", "root", "--levels", "0", "--json"]).exits(0).json();
    let counts: Vec<(&str, u64, u64)> = results
        .iter()
        .map(|one| {
            (one["outcome"].as_str().unwrap(), one["count"].as_u64().unwrap(), one["bytes"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(counts, [("added", 7, 35), ("skipped", 1, 0)]);
    let activity =
        sandbox.run(&["report", "activity", "--window", "3600", "--levels", "0", "--json"]).exits(0).json();
    assert_eq!((&activity[0]["documents"], &activity[0]["bytes"]), (&json!(8), &json!(35)));
    assert_eq!(sandbox.run(&["report", "queue", "root", "--json"]).exits(0).json(), [json!(null); 0]);
    sandbox.run(&["job", "resend", "root"]).exits(0);
    let waiting = sandbox.run(&["report", "queue", "root", "--json"]).exits(0).json();
    let told: Vec<(&str, &Value, &Value, &Value)> = waiting
        .iter()
        .map(|one| (one["bucket"].as_str().unwrap(), &one["waiting"], &one["due"], &one["reasons"]["resend"]))
        .collect();
    let three = &json!(3);
    assert_eq!(
        told,
        [("", &json!(1), &json!(1), &json!(1)), ("d0/", three, three, three), ("d1/", three, three, three)]
    );
    // Asked over HTTP in pages of three, the sums are the same.
    let service = Service::start(&sandbox);
    let (mut cursor, mut counted) = (String::new(), 0);
    for pages in 1.. {
        let page = service.answer("GET", &format!("/api/v1/reports/status?job=root&limit=3{cursor}"));
        counted += page["counted"].as_u64().unwrap();
        assert!(page["counted"].as_u64().unwrap() <= 3 && pages < 9, "{page}");
        assert_eq!(page["documents"], 8);
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(counted, 8);
}

#[test]
fn a_service_tells_who_began_each_run_and_forgets_what_is_too_old() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&["--history", "documents"]);
    // As if it had run for long.
    let before = store(&sandbox);
    let job = before.reader().read(jobs::list).unwrap().remove(0);
    let noted = |document| Noted {
        document,
        outcome: ingather_model::job::history::HistoryOutcome::Failed,
        code: "x",
        name: "old.txt",
        message: "",
        bytes: 0,
    };
    let rows: Vec<Noted<'_>> = (1..=2_500).map(noted).collect();
    before.write(Durability::Synced, |sql| history::note(sql, job.id, 1, 1_000, &rows)).unwrap();
    drop(before);
    let old = |sandbox: &Sandbox| {
        let place = history::Place::before(2_000);
        store(sandbox).reader().read(|sql| history::list(sql, Some(job.id), 0, &place, 9)).unwrap().len()
    };
    assert_eq!(old(&sandbox), 9);
    let service = Service::start(&sandbox);
    assert!(comes(|| old(&sandbox) == 0), "it forgets when it begins, and every hour");
    service.answer("POST", "/api/v1/jobs/root/start");
    at_rest(&service, "root");
    let page = service.answer("GET", "/api/v1/history?job=root");
    assert_eq!(page["runs"][0]["begun_by"], "key test");
    assert_eq!(page["runs"][1]["begun_by"], "command line");
    let since = page["runs"][0]["started_at"].as_i64().unwrap();
    let narrow = service.answer("GET", &format!("/api/v1/history?since={since}&outcome=done&limit=5"));
    assert_eq!(narrow["runs"].as_array().unwrap().len(), 1);
    service.ask("GET", "/api/v1/history?outcome=done&name=x").refuses(400, "wrong_use");
}
