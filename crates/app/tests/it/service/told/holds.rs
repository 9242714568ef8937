//! Why nothing happens, and how many documents are in which state, as the real program says it.

use std::fs;

use ingather_store::Target;
use ingather_testkit::database::Database;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::super::runs::at_rest;
use super::super::{Service, key};
use super::history::without_pictures;
use crate::sandbox::{Kept, Sandbox};
use crate::stops::upgrade::comes;

/// What `job show` says at the command line.
fn hold(sandbox: &Sandbox) -> String {
    let shown = sandbox.run(&["job", "show", "root", "--json"]).exits(0).json().remove(0);
    shown["hold"].as_str().unwrap_or_default().to_owned()
}

/// What a service answers.
fn shown(service: &Service<'_>) -> Value {
    service.answer("GET", "/api/v1/jobs/root")
}

/// Waits until a service says so.
#[track_caller]
fn says(service: &Service<'_>, beginning: &str) {
    let mut hold = Value::Null;
    let comes = comes(|| {
        hold = shown(service)["hold"].clone();
        hold.as_str().is_some_and(|hold| hold.starts_with(beginning))
    });
    assert!(comes, "{hold}");
}

/// A statement of a test, at the inventory itself.
fn at_the_store(sandbox: &Sandbox, statement: &str) {
    let target = match sandbox.url() {
        Some(url) => Target::Postgres(url.to_owned()),
        None => Target::Sqlite(sandbox.data().join("store.db")),
    };
    Database::at(target).script(statement);
}

/// How many documents a walk over all of them finds in each state.
fn by_hand(sandbox: &Sandbox) -> Value {
    let count = |state: &str| {
        let listed =
            sandbox.run(&["document", "list", "root", "--state", state, "--limit", "100000", "--json"]);
        let listed = listed.exits(0).json();
        // What a rule of the source leaves out is in no inventory.
        listed.iter().filter(|line| !line["changed_run"].is_null()).count()
    };
    json!({"waiting": count("waiting"), "settled": count("settled"), "failed": count("failed"), "skipped": count("skipped")})
}

#[test]
fn documents_are_counted_by_state_everywhere_and_exactly() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        (0..20).for_each(|n| sandbox.write(&format!("d{}/{n}.txt", n % 3), "apple"));
        (0..3).for_each(|n| sandbox.write(&format!("left{n}.png"), "no picture"));
        sandbox.synced(&without_pictures(&sandbox));
        let counted = |after: &str| {
            let line = sandbox.run(&["status", "--json"]).json().remove(0);
            let shown = sandbox.run(&["job", "show", "root", "--json"]).exits(0).json().remove(0);
            assert_eq!((&line["states"], &line["states"]), (&shown["states"], &by_hand(&sandbox)), "{after}");
            let sum: u64 = shown["states"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
            assert_eq!(json!(sum), shown["documents"], "{after}");
            shown["states"].clone()
        };
        let first = counted("the first run");
        assert_eq!(first, json!({"waiting": 0, "settled": 20, "failed": 0, "skipped": 3}));
        sandbox.run(&["job", "resend", "root"]).exits(0);
        assert_eq!(counted("a demand to send all again")["waiting"], 20);
        fs::remove_dir_all(sandbox.root().join("d1")).unwrap();
        sandbox.synced(&["--delete-guard", "off", "--update"]);
        assert_eq!(counted("a run that removes")["settled"], 13);
        let service = Service::start(&sandbox);
        assert_eq!(shown(&service)["states"], service.answer("GET", "/api/v1/status")["jobs"][0]["states"]);
        assert_eq!(shown(&service)["states"]["settled"], 13);
        drop(service);
        let text = sandbox.run(&["job", "show", "root"]).exits(0);
        assert!(text.out.contains("documents  16 · 3 left out"), "{text:?}");
        at_the_store(&sandbox, "UPDATE tally SET n = n + 5 WHERE name = 'settled'");
        let found = sandbox.run(&["doctor"]).exits(1);
        assert!(found.out.contains("1 job has a wrong counter of its documents"), "{found:?}");
        sandbox.run(&["doctor", "--repair"]);
        counted("a repair");
    }
}

#[test]
fn a_schedule_that_nobody_heeds_is_told_as_the_reason() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.run(&["sync", "root", "--schedule", "every 1h"]).exits(0);
    let unattended = "no service is at work that heeds its schedule; `ingather serve` does";
    assert_eq!(hold(&sandbox), unattended);
    let service = Service::start(&sandbox);
    let scheduled = "no run was asked for; its schedule starts it ";
    says(&service, scheduled);
    assert!(hold(&sandbox).starts_with(scheduled), "whoever looks from beside knows of the service");
    service.end(Signal::TERM);
    assert_eq!(hold(&sandbox), unattended);
}

#[test]
fn a_job_whose_source_is_away_keeps_all_says_so_and_goes_on_when_it_is_back() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        (0..9).for_each(|n| sandbox.write(&format!("{n}.txt"), "apple"));
        sandbox.run(&["sync", "root", "--schedule", "continuous"]).exits(0);
        let service = Service::start(&sandbox);
        at_rest(&service, "root");
        let aside = sandbox.path().join("aside");
        fs::rename(sandbox.root(), &aside).unwrap();
        says(&service, "its source could not be listed: ");
        assert_eq!(shown(&service)["states"]["settled"], 9, "nothing is removed");
        fs::rename(&aside, sandbox.root()).unwrap();
        sandbox.write("new.txt", "apple");
        service.ask("POST", "/api/v1/jobs/root/start").is(200);
        at_rest(&service, "root");
        assert_eq!(shown(&service)["states"]["settled"], 10);
    }
}

/// Of a job that this program has no connector for, nothing is lost, and it goes on by itself when there is one (D-4).
#[test]
fn a_job_that_lacks_a_connector_says_so_and_comes_back_by_itself() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        sandbox.run(&["sync", "root", "--schedule", "every 1h"]).exits(0);
        sandbox.write("b.txt", "apple");
        let ago = "UPDATE run SET started_at = started_at - 7200000, ended_at = ended_at - 7200000";
        for (role, kind) in [("output", "index"), ("repository", "filesystem")] {
            let is = |kind: &str| format!("UPDATE connection SET kind = '{kind}' WHERE role = '{role}'");
            at_the_store(&sandbox, &is("sharepoint"));
            at_the_store(&sandbox, ago);
            let before = shown_runs(&sandbox);
            let key = key(&sandbox, role, &["admin"], None);
            let mut service = Service::with(&sandbox, key.clone(), &[]);
            service.tells("run of job root: ");
            says(&service, "the connector `sharepoint` is not installed; it goes on by itself when it is");
            let needs = service.answer("GET", "/api/v1/status")["jobs"][0]["needs"].clone();
            assert_eq!(needs[0]["check"], "connector", "{needs}");
            let listed = service.answer("GET", "/api/v1/jobs")["jobs"][0].clone();
            assert_eq!(
                (&listed["documents"], &listed["schedule"]["words"]),
                (&json!(before.1), &json!("every 1 h"))
            );
            service.end(Signal::TERM);
            at_the_store(&sandbox, &is(kind));
            // The next program has the connector.
            let mut service = Service::with(&sandbox, key, &[]);
            service.tells("run of job root: begins by itself");
            service.tells("run of job root: ended");
            assert_eq!(at_rest(&service, "root")["run"]["run"], before.0 + 1);
        }
        assert_eq!(sandbox.everything().len(), 2);
    }
}

/// Number of the last run, and of the documents.
fn shown_runs(sandbox: &Sandbox) -> (i64, u64) {
    let shown = sandbox.run(&["job", "show", "root", "--json"]).exits(0).json().remove(0);
    (shown["run"]["run"].as_i64().unwrap(), shown["documents"].as_u64().unwrap())
}

/// The journal is on a disk that is not mounted: the run that is due is refused, and made up for without anybody.
#[test]
fn a_job_whose_output_is_not_mounted_says_so_and_what_was_due_is_made_up_for() {
    let sandbox = Sandbox::new(Kept::Postgres);
    let disk = sandbox.path().join("disk");
    fs::create_dir(&disk).unwrap();
    sandbox.write("a.txt", "apple");
    sandbox.run(&["sync", "root", "--to", "journal:disk/told", "--schedule", "every 1h"]).exits(0);
    sandbox.write("b.txt", "apple");
    let aside = sandbox.path().join("aside");
    fs::rename(&disk, &aside).unwrap();
    at_the_store(&sandbox, "UPDATE run SET started_at = started_at - 7200000, ended_at = ended_at - 7200000");
    let key = key(&sandbox, "test", &["admin"], None);
    let service = Service::with(&sandbox, key.clone(), &[]);
    says(&service, "its run could not begin: ");
    let needs = service.answer("GET", "/api/v1/status")["jobs"][0]["needs"].clone();
    assert!(needs.as_array().unwrap().iter().any(|need| need["check"] == "refused"), "{needs}");
    assert_eq!(shown(&service)["documents"], 1);
    fs::rename(&aside, &disk).unwrap();
    // It is tried again after a minute; a service that begins does so at once.
    let went_on = comes(|| shown(&service)["run"]["run"] == 2);
    assert!(went_on, "{}", shown(&service));
    at_rest(&service, "root");
    assert_eq!(
        (&shown(&service)["states"]["settled"], &shown(&service)["run"]["outcome"]),
        (&json!(2), &json!("done"))
    );
    assert!(!fs::read_to_string(disk.join("told")).unwrap().is_empty());
}

/// One document that ends the program whenever it is sent: the third time is the last one (P7).
#[test]
fn a_document_that_kills_the_program_does_so_three_times_and_then_its_job_rests_and_says_so() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.run(&["sync", "root", "--to", "journal:told"]).exits(0);
    // Of no text that a reader would have to be kept from; what it becomes in the journal is more than a file may have.
    let words = (0..400_000).map(|n| format!("word{n} ")).collect::<String>();
    sandbox.write("deadly.txt", &words);
    let key = key(&sandbox, "test", &["admin"], None);
    // The kernel kills whoever writes a larger file.
    let limited = ["prlimit", "--fsize=2000000"];
    let begun = || Service::begun_by(&limited, "127.0.0.1:0", &sandbox, &[]);
    for round in 0..3 {
        let mut service = begun();
        service.key.clone_from(&key);
        if round == 0 {
            service.ask("POST", "/api/v1/jobs/root/start").is(200);
        }
        let ended = service.ended();
        assert_eq!(ended.code, -1, "{round}: a signal ended it; {ended:?}");
    }
    let mut service = begun();
    service.key.clone_from(&key);
    service.tells("job root: its run was interrupted 3 times in a row, and does not go on by itself");
    says(&service, "its run was interrupted 3 times in a row");
    let waiting = service.answer("GET", "/api/v1/jobs/root/documents?state=waiting&limit=9");
    let named = waiting["documents"].as_array().unwrap();
    assert!(named.iter().any(|one| one["document"] == "deadly.txt"), "{waiting}");
    assert_eq!(
        shown(&service)["states"]["waiting"],
        json!(named.len()),
        "counters survive each of these ends"
    );
    // Once it is gone a person begins it.
    fs::remove_file(sandbox.root().join("deadly.txt")).unwrap();
    service.ask("POST", "/api/v1/jobs/root/start").is(200);
    assert_eq!(at_rest(&service, "root")["run"]["outcome"], "done");
    service.end(Signal::TERM);
    let doctor = sandbox.run(&["doctor", "--json"]);
    assert!(!doctor.out.contains("\"number\""), "{doctor:?}");
}
