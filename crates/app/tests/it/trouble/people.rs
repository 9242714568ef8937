//! What only a person can decide or mend is named: by the doctor, by its exit code, by lists with reasons.

use std::process::Stdio;

use ingather_model::job::RunKind;
use ingather_model::job::history::HistoryOf;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_store::{Durability, Store, Target, jobs, runs};
use rustix::process::{Pid, Signal, kill_process};

use crate::files;
use crate::people::{Person, ordinary};
use crate::sandbox::{Answer, Sandbox};

/// Stages that let nothing but a few characters of each document through.
const SHORT: &str =
    "[[stages]]\ntransform = \"text\"\n\n[[stages]]\ntransform = \"limit\"\nsettings = { characters = 5 }\n";

#[test]
fn two_jobs_that_send_the_same_documents_differently_are_told_by_sync_doctor_and_explain() {
    let sandbox = Sandbox::sqlite();
    ["1.txt", "2.txt", "3.txt"].iter().for_each(|name| sandbox.write(name, "one pangolin"));
    std::fs::write(sandbox.path().join("short.toml"), SHORT).unwrap();
    files::settle(&sandbox.root());
    let quiet = sandbox.run(&["sync", "root", "--name", "whole"]).exits(0);
    assert_eq!(quiet.err, "", "nobody else sends these");
    let words = "jobs whole and short send the same 3 documents to index in different forms, and index holds those of short";
    let second = sandbox.run(&["sync", "root", "--name", "short", "--pipeline", "short.toml"]).exits(0);
    assert!(second.err.contains(words), "{second:?}");
    // Each later sync says it again, whoever makes it.
    let first = sandbox.run(&["sync", "root", "--name", "whole"]).exits(0);
    assert!(first.err.contains(words), "{first:?}");
    let named = sandbox.run(&["doctor"]).exits(1);
    assert!(named.out.contains(words) && named.err.contains("1 problem found"), "{named:?}");
    let told = sandbox.run(&["document", "explain", "whole", "1.txt"]).exits(0);
    assert!(told.out.contains("that job short sent last") && told.out.contains("--to"), "{told:?}");
    // The cure that the sentence names; what it takes along is said at once, and until it is sent again.
    let lost = "job whole: 3 documents are still to be sent again, and may not be found before";
    let deleted = sandbox.run(&["job", "delete", "short"]).exits(0);
    assert!(deleted.err.contains(lost) && deleted.err.contains("`ingather sync`"), "{deleted:?}");
    let named = sandbox.run(&["doctor"]).exits(1);
    assert!(named.out.contains(&format!("resend: {lost}")), "{named:?}");
    sandbox.run(&["sync", "root", "--name", "whole"]).exits(0);
    assert_eq!(sandbox.find("pangolin").len(), 3);
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn jobs_that_send_the_same_in_the_same_form_are_not_told() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("d/1.txt", "one pangolin");
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    let below = sandbox.run(&["sync", "root/d", "--name", "below"]).exits(0);
    assert_eq!(below.err, "");
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn what_is_skipped_can_be_listed_with_its_reasons() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    std::os::unix::fs::symlink("a.txt", sandbox.root().join("link")).unwrap();
    files::tool("mkfifo", &[], &sandbox.root().join("fifo"));
    sandbox.write("large.txt", &"x".repeat(5_000));
    files::settle(&sandbox.root());
    let counts = sandbox.synced(&["--size-max", "4kB"]);
    assert_eq!(counts.get("skipped"), 3);
    let listed = sandbox.run(&["document", "list", "root", "--state", "skipped", "--json"]).exits(0).json();
    let mut codes: Vec<(&str, &str)> = listed
        .iter()
        .map(|line| (line["document"].as_str().unwrap(), line["code"].as_str().unwrap()))
        .collect();
    codes.sort_unstable();
    assert_eq!(codes, [("fifo", "special"), ("large.txt", "size"), ("link", "link")]);
    let few = sandbox.run(&["document", "list", "root", "--state", "skipped", "--limit", "2"]).exits(0);
    assert!(few.out.lines().count() == 2 && few.err.contains("there are more"), "{few:?}");
    assert!(few.out.contains("skipped "), "{few:?}");
}

#[test]
fn the_doctor_knows_what_failed_and_what_could_not_be_read() {
    ingather_testkit::needs!(Users);
    let sandbox = Sandbox::sqlite();
    let person = Person::named(ordinary());
    std::os::unix::fs::chown(sandbox.path(), Some(person.uid), Some(person.gid)).unwrap();
    sandbox.write("a.txt", "apple");
    sandbox.write("closed/b.txt", "banana");
    sandbox.write("secret.txt", "cherry");
    files::tool("chmod", &["000"], &sandbox.root().join("closed"));
    files::tool("chmod", &["000"], &sandbox.root().join("secret.txt"));
    files::settle(&sandbox.root());
    sandbox.run_as(&person, &["sync", "root"]).exits(1);
    let named = sandbox.run_as(&person, &["doctor"]).exits(1);
    for words in [
        "failed: job root: 1 document",
        "--state failed",
        "blind: job root: 1 path could not be read",
        "closed/ (unreadable)",
    ] {
        assert!(named.out.contains(words), "{words}: {named:?}");
    }
    assert!(named.err.contains("2 problems found"), "{named:?}");
}

#[test]
fn a_store_that_is_missing_beside_its_index_is_not_called_a_beginning() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let store = sandbox.data().join("store.db");
    let kept = std::fs::read(&store).unwrap();
    std::fs::remove_file(&store).unwrap();
    for command in
        [&["job", "list"][..], &["search", "apple"], &["doctor"], &["sync", "root"], &["backup", "b.tar"]]
    {
        sandbox
            .run(command)
            .refuses(3, &["store.db is missing", "search index beside it", "restore a backup"]);
    }
    assert!(!store.exists(), "nothing was begun anew");
    // Nor is one that was cut off to nothing.
    std::fs::write(&store, "").unwrap();
    for command in
        [&["job", "list"][..], &["search", "apple"], &["doctor"], &["sync", "root"], &["backup", "b.tar"]]
    {
        sandbox.run(command).refuses(3, &["store.db is empty", "search index beside it", "restore a backup"]);
    }
    assert_eq!(std::fs::read(&store).unwrap(), b"", "nothing was begun anew");
    std::fs::write(&store, kept).unwrap();
    assert_eq!(sandbox.everything(), ["a.txt"]);
}

#[test]
fn a_run_whose_process_is_gone_is_not_called_running() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    let states = |word: &str| {
        let list = sandbox.run(&["job", "list"]).exits(0).out;
        let one = sandbox.run(&["job", "show", "root"]).exits(0).out;
        assert!(list.lines().nth(1).unwrap().contains(&format!("root  {word} ")), "{list}");
        assert!(one.contains(&format!("state      {word}\n")), "{one}");
    };
    states("idle");
    let store = Store::open(&Target::Sqlite(sandbox.data().join("store.db"))).unwrap();
    store
        .write(Durability::Synced, |sql| {
            let job = jobs::by_name(sql, "root")?.unwrap();
            let run = jobs::begin(sql, job.id)?.unwrap();
            let begin =
                runs::Begin { number: run, kind: RunKind::Full, at: 0, by: "", notes: HistoryOf::Failures };
            runs::open(sql, job.id, begin)
        })
        .unwrap();
    drop(store);
    states("stopped");
    // As a process holds it that works.
    let lock = std::fs::File::open(sandbox.data().join("lock")).unwrap();
    lock.lock().unwrap();
    states("running");
    // A process that another test starts at this moment may hold a copy of it.
    lock.unlock().unwrap();
    sandbox.synced(&[]);
    states("idle");
}

/// Whether a search says that not everything can be found.
#[track_caller]
fn says_unfinished(sandbox: &Sandbox, next: &str) -> bool {
    let found = sandbox.run(&["search", "w1", "--all"]).exits(0);
    let json = sandbox.run(&["search", "w1", "--all", "--json"]).exits(0);
    let told = |answer: &Answer| answer.err.contains("job root: no run of it has ended yet");
    assert_eq!(told(&found), told(&json), "{found:?} {json:?}");
    assert!(!told(&found) || found.err.contains(next), "{found:?}");
    assert!(!told(&sandbox.run(&["search", "w1", "--all", "-q"]).exits(0)));
    told(&found)
}

#[test]
fn a_search_says_that_a_first_run_broke_off_or_works() {
    let sandbox = Sandbox::sqlite();
    (0..3_000).for_each(|n| sandbox.write(&format!("d{}/f{n}.txt", n % 40), &format!("w{n}")));
    files::settle(&sandbox.root());
    let mut command = sandbox.command(&["sync", "root", "-q"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Until there is something to search.
    while child.try_wait().unwrap().is_none() && sandbox.run(&["search", "w1", "--all"]).code != 0 {}
    let _ = kill_process(Pid::from_child(&child), Signal::INT);
    let broke_off = child.wait().unwrap().code() == Some(130);
    assert_eq!(says_unfinished(&sandbox, "`ingather sync` of "), broke_off);
    sandbox.synced(&[]);
    assert!(!says_unfinished(&sandbox, ""));
    // The same as it stands after a run that broke off, and beside one.
    let store = Store::open(&Target::Sqlite(sandbox.data().join("store.db"))).unwrap();
    let end = |outcome: RunOutcome| {
        let ended = store.write(Durability::Synced, |sql| {
            let job = jobs::by_name(sql, "root")?.unwrap();
            (1..=job.run).try_for_each(|run| runs::end(sql, job.id, run, 1, outcome, "{}", None))
        });
        ended.unwrap();
    };
    for outcome in [RunOutcome::Stopped, RunOutcome::Interrupted, RunOutcome::Failed] {
        end(outcome);
        assert!(says_unfinished(&sandbox, "`ingather sync` of "), "{outcome}");
    }
    let lock = std::fs::File::open(sandbox.data().join("lock")).unwrap();
    lock.lock().unwrap();
    assert!(says_unfinished(&sandbox, "it goes on now"));
    lock.unlock().unwrap();
    end(RunOutcome::Done);
    assert!(!says_unfinished(&sandbox, ""));
}
