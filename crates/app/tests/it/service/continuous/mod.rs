//! Continuous jobs: what changes at the source is found, and hidden, without anybody asking for it.

mod at_once;
mod buffered;
mod channels;
mod clients;
mod defects;
mod facts;
mod health;
mod keys;
mod pushed;
mod site;
mod sources;
mod webhooks;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::Service;
use super::runs::at_rest;
use crate::people::ordinary;
use crate::sandbox::{Kept, Sandbox};
use crate::stops::upgrade::comes;

/// A sandbox whose job is continuous.
fn sandbox(kept: Kept) -> Sandbox {
    let sandbox = Sandbox::new(kept);
    sandbox.write("a.txt", "apple");
    sandbox.run(&["sync", "root", "--schedule", "continuous"]).exits(0);
    sandbox
}

/// Has the source `tickets` go on: a run that kills have interrupted several times in a row rests until a person begins it.
fn goes_on(service: &Service<'_>) {
    let begun = service.ask("POST", "/api/v1/jobs/tickets/start");
    // It may have gone on by itself.
    assert!([200, 409].contains(&begun.status), "{begun:?}");
}

/// What a search finds.
fn found(service: &Service<'_>, whose: &str) -> Vec<String> {
    let found = service.answer("GET", &format!("/api/v1/search?query=apple&limit=50&{whose}"));
    let documents =
        found["hits"].as_array().unwrap().iter().map(|hit| hit["document"].as_str().unwrap().to_owned());
    let mut documents: Vec<String> = documents.collect();
    documents.sort();
    documents
}

/// Waits until everybody together finds just this.
#[track_caller]
fn finds(service: &Service<'_>, wanted: &[&str]) {
    let mut last = Vec::new();
    let comes = comes(|| {
        last = found(service, "all=true");
        last == wanted
    });
    assert!(comes, "wanted {wanted:?}, found {last:?}; {}", shown(service));
}

fn shown(service: &Service<'_>) -> Value {
    service.answer("GET", "/api/v1/jobs/root")
}

#[test]
fn what_comes_changes_moves_and_goes_is_found_as_it_is_without_anybody_asking_for_a_run() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = sandbox(kept);
        let root = sandbox.root();
        // Nobody saw it come.
        sandbox.write("before.txt", "apple");
        let service = Service::start(&sandbox);
        finds(&service, &["a.txt", "before.txt"]);
        sandbox.write("new/in/side.txt", "apple");
        finds(&service, &["a.txt", "before.txt", "new/in/side.txt"]);
        sandbox.write("a.txt", "pear");
        finds(&service, &["before.txt", "new/in/side.txt"]);
        fs::rename(root.join("new"), root.join("old")).unwrap();
        finds(&service, &["before.txt", "old/in/side.txt"]);
        sandbox.write("old/in/more.txt", "apple");
        finds(&service, &["before.txt", "old/in/more.txt", "old/in/side.txt"]);
        fs::remove_file(root.join("before.txt")).unwrap();
        finds(&service, &["old/in/more.txt", "old/in/side.txt"]);
        let shown = shown(&service);
        assert_eq!(shown["schedule"]["continuous"], true, "{shown}");
        assert!(shown["schedule"].get("unwatched").is_none(), "{shown}");
        let key = service.key.clone();
        service.end(Signal::TERM);
        // The next service finds what changed while there was none.
        fs::remove_file(root.join("old/in/more.txt")).unwrap();
        let service = Service::with(&sandbox, key, &[]);
        finds(&service, &["old/in/side.txt"]);
        service.end(Signal::TERM);
        sandbox.run(&["verify"]).exits(0);
        let doctor = sandbox.run(&["doctor"]).exits(1);
        assert!(doctor.err.contains("1 problem found"), "{doctor:?}");
        assert!(
            doctor.out.contains("the changes of its source are followed by a service alone"),
            "{doctor:?}"
        );
    }
}

#[test]
fn what_passes_hold_is_told_and_confirmed_while_the_job_is_paused() {
    let sandbox = sandbox(Kept::Sqlite);
    (0..40).for_each(|n| sandbox.write(&format!("{n}.txt"), "apple"));
    let mut service = Service::start(&sandbox);
    let all = || found(&service, "all=true").len();
    assert!(comes(|| all() == 41));
    (0..40).for_each(|n| fs::remove_file(sandbox.root().join(format!("{n}.txt"))).unwrap());
    let held =
        || shown(&service)["hold"].as_str().is_some_and(|hold| hold.contains("held and wait for a person"));
    assert!(comes(held), "{}", shown(&service));
    service.tells("job root: removals are held and wait for a person");
    service.answer("POST", "/api/v1/jobs/root/pause");
    // Nothing makes it void any more.
    sandbox.write("new.txt", "apple");
    assert!(comes(|| shown(&service)["works"] == false));
    let run = shown(&service)["run"]["run"].clone();
    let held = service.answer("GET", "/api/v1/jobs/root/held")["removals"].as_array().unwrap().len() as u64;
    let confirmed = service.request("POST", "/api/v1/jobs/root/confirm").body(&json!({"run": run}));
    let confirmed = confirmed.send(service.address).is(200).json();
    assert_eq!(confirmed["deleted"], held, "{confirmed}");
    service.answer("POST", "/api/v1/jobs/root/resume");
    finds(&service, &["a.txt", "new.txt"]);
}

#[test]
fn a_folder_that_is_closed_is_hidden_and_one_that_is_opened_is_shown() {
    ingather_testkit::needs!(Users);
    let sandbox = sandbox(Kept::Sqlite);
    sandbox.write("notes/b.txt", "apple");
    let service = Service::start(&sandbox);
    let person = format!("as={}", ordinary());
    let sees = |wanted: &[&str]| {
        let mut last = Vec::new();
        let comes = comes(|| {
            last = found(&service, &person);
            last == wanted
        });
        assert!(comes, "wanted {wanted:?}, found {last:?}; {}", shown(&service));
    };
    sees(&["a.txt", "notes/b.txt"]);
    let close =
        |mode: u32| fs::set_permissions(sandbox.root().join("notes"), Permissions::from_mode(mode)).unwrap();
    close(0o700);
    sees(&["a.txt"]);
    close(0o755);
    sees(&["a.txt", "notes/b.txt"]);
}

#[test]
fn a_job_with_more_folders_than_are_watched_says_so_and_is_listed_all_the_same() {
    let sandbox = sandbox(Kept::Sqlite);
    fs::create_dir_all(sandbox.root().join("x/y/z")).unwrap();
    sandbox.write("before.txt", "apple");
    let key = super::key(&sandbox, "test", &["admin"], None);
    let mut service = Service::with(&sandbox, key, &["--watched-folders-max", "3"]);
    let sentence = "is listed every 5 minutes instead of being watched: it has more than 3 folders";
    service.tells(&format!("job root {sentence}"));
    finds(&service, &["a.txt", "before.txt"]);
    assert_eq!(shown(&service)["schedule"]["unwatched"], sentence);
    assert_eq!(service.answer("GET", "/api/v1/status")["jobs"][0]["unwatched"], sentence);
}

#[test]
fn passes_that_find_nothing_leave_one_row() {
    let sandbox = sandbox(Kept::Sqlite);
    let service = Service::start(&sandbox);
    let run = || shown(&service)["run"]["run"].as_i64().unwrap();
    for n in 0..6 {
        let before = run();
        // Its time changes, and nothing else.
        let name = sandbox.root().join("a.txt");
        fs::File::open(name)
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(n))
            .unwrap();
        assert!(comes(|| run() > before && shown(&service)["works"] == json!(false)), "{}", shown(&service));
    }
    let runs = service.answer("GET", "/api/v1/jobs/root/runs");
    let quiet = |run: &&Value| run["run"].as_i64().unwrap() > 1 && run["counts"]["updated"] == 0;
    let runs = runs["runs"].as_array().unwrap();
    assert!(runs.iter().filter(quiet).count() <= 2, "{runs:?}");
}

#[test]
fn what_a_person_wants_of_the_next_run_begins_one_at_once() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = sandbox(kept);
        sandbox.write("b.txt", "apple");
        let service = Service::start(&sandbox);
        finds(&service, &["a.txt", "b.txt"]);
        // A pass that is under way makes no room for them.
        let asks = |path: &str, body: &Value| {
            let ask = || service.request("POST", path).body(body).send(service.address);
            assert!(comes(|| ask().status == 200), "{path}: {}", ask().body);
        };
        for path in ["/api/v1/jobs/root/resend", "/api/v1/jobs/root/reset-seeding"] {
            let before = at_rest(&service, "root")["run"]["run"].as_i64().unwrap();
            asks(path, &json!({}));
            let begins = comes(|| {
                let shown = shown(&service);
                let run = &shown["run"];
                run["run"].as_i64() > Some(before) && run["begun_by"] == "restart" && run["outcome"] == "done"
            });
            assert!(begins, "{path}: {}", shown(&service));
            assert_ne!(shown(&service)["rereads"], true);
        }
        let document = json!({"document": "b.txt", "job": "root"});
        asks("/api/v1/documents/erase", &document);
        finds(&service, &["a.txt"]);
        asks("/api/v1/documents/readmit", &document);
        finds(&service, &["a.txt", "b.txt"]);
    }
}
