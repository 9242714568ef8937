//! Erased documents are nowhere, and no run brings them back.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::Service;
use super::super::runs::{at_rest, hold_amid_run};
use crate::dice::Dice;
use crate::sandbox::{Answer, Kept, Sandbox};
use crate::stops::kill::{Aim, killed_after};

pub(super) fn path(sandbox: &Sandbox, name: &str) -> String {
    sandbox.root().join(name).to_str().unwrap().to_owned()
}

pub(super) fn erase(sandbox: &Sandbox, arguments: &[&str]) -> Answer {
    sandbox.run(&[&["document", "erase", "--yes", "--json"], arguments].concat())
}

pub(super) fn erased(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.run(&["document", "erased", "--json"]).json()
}

/// What a journal tells of an address, in order.
pub(super) fn told(journal: &Path, uri: &str) -> Vec<String> {
    let text = std::fs::read_to_string(journal).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["uri"] == uri).map(|line| line["op"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_erased_document_is_nowhere_and_no_run_brings_it_back() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("d/secret.txt", "quicksilver");
        sandbox.write("other.txt", "banana");
        let journal = sandbox.path().join("changes.jsonl");
        let to = format!("journal:{}", journal.display());
        sandbox.synced(&["--to", "index", "--to", &to, "--keep", "extracted", "--history", "documents"]);
        let backup = sandbox.path().join("backup");
        sandbox.run(&["backup", backup.to_str().unwrap()]).exits(0);
        let file = path(&sandbox, "d/secret.txt");
        let uri = format!("file://{file}");

        let would = &erase(&sandbox, &[&file, "--dry-run"]).exits(0).json()[0];
        assert_eq!((&would["dry_run"], &would["done"]), (&json!(true), &json!(false)));
        assert_eq!(would["documents"][0]["outputs"], json!(["index", to]));
        assert_eq!((sandbox.find("quicksilver").len(), erased(&sandbox).len()), (1, 0), "it changes nothing");

        let done = &erase(&sandbox, &[&file]).exits(0).json()[0];
        assert_eq!(done["done"], true, "{done}");
        assert_eq!(done["documents"][0]["document"], "d/secret.txt");
        assert_eq!(done["journals"], json!([journal.to_str().unwrap()]));
        assert_eq!(done["backups"][0]["file"], backup.to_str().unwrap());
        assert_eq!(sandbox.find("quicksilver"), [""; 0]);
        assert_eq!(told(&journal, &uri), ["put", "delete"]);
        let history = sandbox.run(&["history", "root", "--json"]).exits(0).out;
        let documents = sandbox.run(&["history", "root", "--documents", "--json"]);
        assert!(!history.contains("secret") && !documents.out.contains("secret"), "{history}{documents:?}");

        // The source has it still, and whatever is read again, it stays away.
        for flags in [&[][..], &["--reread"], &["--minimal"]] {
            let counts = sandbox.synced(flags);
            assert_eq!(
                (counts.0.values().sum::<u64>(), counts.get("added")),
                (1, 0),
                "{flags:?}: {counts:?}"
            );
        }
        sandbox.run(&["job", "resend", "root"]).exits(0);
        sandbox.synced(&[]);
        assert_eq!(sandbox.everything(), ["other.txt"]);
        assert_eq!(told(&journal, &uri), ["put", "delete"]);
        let why = &sandbox.run(&["document", "explain", "root", "d/secret.txt", "--json"]).exits(0).json()[0];
        assert_eq!(why["code"], "erased", "{why}");
        let listed = erased(&sandbox);
        assert_eq!((listed[0]["document"].as_str(), listed.len()), (Some("d/secret.txt"), 1));
        assert!(listed[0]["done_at"].is_i64() && listed[0]["by"] == "command line", "{listed:?}");
        sandbox.run(&["doctor"]).exits(0);
        sandbox.run(&["verify"]).exits(0);

        sandbox.run(&["document", "readmit", "root", "d/secret.txt"]).exits(0);
        assert_eq!(erased(&sandbox), [Value::Null; 0]);
        assert_eq!(sandbox.synced(&[]).get("added"), 1);
        assert_eq!(sandbox.find("quicksilver"), ["d/secret.txt"]);
        sandbox
            .run(&["document", "readmit", "root", "d/secret.txt"])
            .refuses(2, &["was erased", "document erased"]);
    }
}

#[test]
fn a_document_that_the_guard_holds_is_erased_without_its_confirmation() {
    let sandbox = Sandbox::sqlite();
    (0..60).for_each(|n| sandbox.write(&format!("f{n}.txt"), "apple"));
    sandbox.synced(&[]);
    (0..40).for_each(|n| std::fs::remove_file(sandbox.root().join(format!("f{n}.txt"))).unwrap());
    assert_eq!(sandbox.sync(&[]).0.get("held"), 40);
    erase(&sandbox, &["root", "f7.txt"]).exits(0);
    assert_eq!(sandbox.find("apple").len(), 59);
    let held = sandbox.run(&["job", "held", "root", "--json"]).json();
    assert_eq!(held.len(), 39);
    assert!(held.iter().all(|held| held["document"] != "f7.txt"));
}

#[test]
fn it_is_erased_from_every_job_that_has_it_and_a_name_of_two_documents_is_refused() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        sandbox.write("sub/a.txt", "quicksilver");
        sandbox.synced(&[]);
        let sub = path(&sandbox, "sub");
        sandbox.run(&["sync", &sub, "--name", "sub"]).exits(0);
        sandbox
            .run(&["document", "erase", "a.txt", "--yes"])
            .refuses(2, &["2 documents", "root/a.txt", "sub/a.txt"]);
        sandbox.run(&["document", "erase", "nowhere.txt", "--yes"]).refuses(2, &["no job knows"]);
        let one = &erase(&sandbox, &["sub", "a.txt"]).exits(0).json()[0];
        assert_eq!((&one["also_in"], &one["documents"][0]["job"]), (&json!(["root"]), &json!("sub")));
        sandbox.synced(&[]);
        assert_eq!(sandbox.find("quicksilver"), ["sub/a.txt"], "the other job has it yet");
        let all = &erase(&sandbox, &[&path(&sandbox, "sub/a.txt")]).exits(0).json()[0];
        assert_eq!((all["done"].as_bool(), all["documents"].as_array().unwrap().len()), (Some(true), 2));
        assert_eq!(sandbox.find("quicksilver"), [""; 0]);
        sandbox.run(&["sync", &sub]).exits(0);
        sandbox.synced(&[]);
        assert_eq!(sandbox.everything(), ["a.txt"]);
    }
}

#[test]
fn an_output_that_is_away_is_named_and_lets_go_when_it_is_back() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "quicksilver");
    let (folder, away) = (sandbox.path().join("journals"), sandbox.path().join("away"));
    std::fs::create_dir(&folder).unwrap();
    let journal = folder.join("changes.jsonl");
    let to = format!("journal:{}", journal.display());
    sandbox.synced(&["--to", "index", "--to", &to]);
    let uri = format!("file://{}", path(&sandbox, "a.txt"));
    sandbox.write("b.txt", "apple");
    sandbox.synced(&[]);
    std::fs::rename(&folder, &away).unwrap();
    let not_yet = &erase(&sandbox, &["root", "a.txt"]).exits(1).json()[0];
    let left = &not_yet["documents"][0]["left"];
    assert_eq!((&not_yet["done"], &left[0]["output"]), (&json!(false), &json!(to)), "{not_yet}");
    assert_eq!(sandbox.find("quicksilver"), [""; 0], "the index has let go of it");
    sandbox.run(&["document", "erased"]).exits(1);
    // It is not asked for again where it is on its way out.
    let resent = &sandbox.run(&["job", "resend", "root", "--dry-run", "--json"]).exits(0).json()[0];
    assert_eq!(resent["documents"], 2, "the other document, once for each output: {resent}");
    let mut service = Service::start(&sandbox);
    assert_eq!(service.answer("GET", "/api/v1/documents/erased")["documents"][0]["done_at"], Value::Null);
    std::fs::rename(&away, &folder).unwrap();
    service.tells("job root: 1 document erased");
    assert!(service.answer("GET", "/api/v1/documents/erased")["documents"][0]["done_at"].is_i64());
    assert_eq!(told(&journal, &uri), ["put", "delete"]);
    drop(service);
    sandbox.synced(&[]);
    assert_eq!(told(&journal, &uri), ["put", "delete"]);
    // Let in again while an output has let go of it and another one has not, it is in both.
    sandbox.run(&["document", "readmit", "root", "a.txt"]).exits(0);
    sandbox.synced(&[]);
    std::fs::rename(&folder, &away).unwrap();
    erase(&sandbox, &["root", "a.txt"]).exits(1);
    std::fs::rename(&away, &folder).unwrap();
    sandbox.run(&["document", "readmit", "root", "a.txt"]).exits(0);
    sandbox.synced(&[]);
    assert_eq!(sandbox.find("quicksilver"), ["a.txt"]);
    sandbox.run(&["verify"]).exits(0);
}

#[test]
fn a_run_under_way_makes_room_and_begins_anew() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "quicksilver");
    sandbox.synced(&[]);
    sandbox.write("b.txt", "apple");
    let mut service = Service::start(&sandbox);
    let mut holder = hold_amid_run(&sandbox, &service, 2);
    std::thread::scope(|scope| {
        let asked = json!({"document": "a.txt", "job": "root"});
        let erase = service.request("POST", "/api/v1/documents/erase").body(&asked);
        let address = service.address;
        let answer = scope.spawn(move || erase.send(address).is(200).json());
        while service.answer("GET", "/api/v1/jobs/root")["restart"] != "full" {
            std::thread::yield_now();
        }
        holder.batch_execute("ROLLBACK").unwrap();
        assert_eq!(answer.join().unwrap()["done"], true);
    });
    service.tells("run of job root: stopped: ");
    service.tells("run of job root: begins again");
    service.tells("run of job root: ended: ");
    assert_eq!(at_rest(&service, "root")["documents"], 1);
    let found = service.answer("GET", "/api/v1/search?query=quicksilver&all=true");
    assert_eq!(found["hits"], json!([]));
    let record = service.answer("GET", "/api/v1/audit?limit=1")["changes"][0].clone();
    let what = (&record["operation"], &record["job"], &record["outcome"]);
    assert_eq!(what, (&json!("documents.erase"), &json!("root"), &json!("done")));
}

#[test]
fn a_killed_erasing_goes_on_with_whoever_comes_next() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "quicksilver");
    sandbox.write("b.txt", "apple");
    let journal = sandbox.path().join("changes.jsonl");
    let to = format!("journal:{}", journal.display());
    sandbox.synced(&["--to", "index", "--to", &to]);
    let mut dice = Dice::new(29);
    let (mut half_done, mut aim) = (0, Aim::within(Duration::from_millis(120)));
    for round in 0..300 {
        if round >= 10 && half_done > 1 {
            break;
        }
        let micros = aim.micros(&mut dice);
        let erase = sandbox.command(&["document", "erase", "root", "a.txt", "-q", "--yes"]);
        killed_after(erase, Duration::from_micros(micros));
        let wanted = erased(&sandbox);
        let at = format!("round {round}, killed after {micros} µs: {wanted:?}");
        aim.learns(!wanted.is_empty());
        half_done += usize::from(wanted.first().is_some_and(|one| one["done_at"].is_null()));
        sandbox.synced(&[]);
        let left = if wanted.is_empty() { vec!["a.txt"] } else { Vec::new() };
        assert_eq!(sandbox.find("quicksilver"), left, "{at}");
        assert!(erased(&sandbox).iter().all(|one| one["done_at"].is_i64()), "{at}");
        sandbox.run(&["verify"]).exits(0);
        if !wanted.is_empty() {
            sandbox.run(&["document", "readmit", "root", "a.txt"]).exits(0);
            sandbox.synced(&[]);
        }
    }
    assert!(half_done > 0, "no kill met an erasing that had begun");
}

#[test]
fn a_document_that_waits_is_counted_no_more_when_it_is_erased() {
    let sandbox = Sandbox::sqlite();
    (0..5).for_each(|number| sandbox.write(&format!("f{number}.txt"), "apple"));
    sandbox.synced(&[]);
    sandbox.run(&["job", "resend", "root"]).exits(0);
    sandbox.run(&["document", "erase", "root", "f2.txt", "--yes"]).exits(0);
    sandbox.synced(&[]);
    sandbox.run(&["doctor"]).exits(0);
    let shown = sandbox.run(&["job", "show", "root", "--json"]).exits(0).json()[0].clone();
    assert_eq!(shown["states"], json!({"waiting": 0, "settled": 4, "failed": 0, "skipped": 0}), "{shown}");
}
