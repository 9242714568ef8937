//! Parts of a data directory from another day, and outputs that went away: the next run ends exactly at the tree.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use ingather_store::{Durability, Sql, Store, Target, deliveries};
use ingather_testkit::database::Database;

use crate::files;
use crate::people::ordinary;
use crate::sandbox::{Kept, Sandbox};

/// A store as it was.
enum Yesterday {
    File(Vec<u8>),
    Database(Database),
}

/// Copies the store as it is at rest.
fn keep_store(sandbox: &Sandbox) -> Yesterday {
    match sandbox.database() {
        Some(database) => Yesterday::Database(database.copy()),
        None => Yesterday::File(std::fs::read(sandbox.data().join("store.db")).unwrap()),
    }
}

/// Puts a store of an earlier day in place.
fn restore_store(sandbox: &Sandbox, store: &Yesterday) {
    let store = match store {
        Yesterday::Database(copy) => return sandbox.database().unwrap().put_back(copy),
        Yesterday::File(store) => store,
    };
    for log in ["store.db-wal", "store.db-shm"] {
        let _ = std::fs::remove_file(sandbox.data().join(log));
    }
    std::fs::write(sandbox.data().join("store.db"), store).unwrap();
}

fn copy(from: &Path, to: &Path) {
    let done = std::process::Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap();
    assert!(done.success(), "cp {} {}", from.display(), to.display());
}

/// A sandbox whose store is at rest: settled, with nothing left in its log.
fn settled() -> Sandbox {
    settled_in(Kept::Sqlite)
}

fn settled_in(kept: Kept) -> Sandbox {
    let sandbox = Sandbox::new(kept);
    for name in ["a", "b", "c"] {
        sandbox.write(&format!("{name}.txt"), &format!("word{name}"));
    }
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    sandbox
}

#[test]
fn a_store_of_an_earlier_day_neither_reveals_nor_keeps_what_it_does_not_know() {
    let sandbox = settled();
    let yesterday = keep_store(&sandbox);
    // Its acl is the first that yesterday's store has not given out.
    let secret = sandbox.root().join("secret.txt");
    sandbox.write("secret.txt", "topsecret");
    files::tool("chmod", &["0600"], &secret);
    sandbox.synced(&[]);
    assert_eq!(sandbox.find("topsecret"), ["secret.txt"]);
    restore_store(&sandbox, &yesterday);
    std::fs::remove_file(&secret).unwrap();
    sandbox.write("open.txt", "open");
    files::tool("chmod", &["0604"], &sandbox.root().join("open.txt"));
    sandbox.synced(&[]);
    assert_eq!(sandbox.find("topsecret"), [""; 0]);
    assert_eq!(sandbox.run(&["search", "topsecret", "--as", ordinary(), "--json"]).exits(0).out, "");
    assert_eq!(sandbox.everything(), ["a.txt", "b.txt", "c.txt", "open.txt"]);
}

/// Another folder, with a document that only the ordinary user may read: it gets the next acl that the store gives out.
fn a_document_of_the_ordinary_user(sandbox: &Sandbox) {
    let other = sandbox.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("o.txt"), "of the ordinary user").unwrap();
    files::tool("chown", &[ordinary()], &other.join("o.txt"));
    files::tool("chmod", &["0600"], &other.join("o.txt"));
    files::settle(&other);
    sandbox.run(&["sync", "other"]).exits(0);
}

/// That a repair whose source is away leaves nothing of an entry that names an acl of another day, whoever that is today.
#[track_caller]
fn repaired_without_its_source(sandbox: &Sandbox, next: impl FnOnce(&Sandbox)) {
    let repaired = sandbox.run(&["verify", "--repair"]).exits(1);
    assert!(repaired.err.contains("what differed was removed; not all of it could be sent"), "{repaired:#?}");
    next(sandbox);
    assert_eq!(sandbox.run(&["search", "topsecret", "--as", ordinary(), "--json"]).exits(0).out, "");
    assert_eq!(
        sandbox.run(&["search", "ordinary", "--as", ordinary(), "--json"]).exits(0).documents(),
        ["o.txt"]
    );
    assert_eq!(sandbox.find("topsecret"), [""; 0], "it is removed, not only hidden");
    assert_eq!(sandbox.find("wordb"), ["b.txt"], "what agrees stays");
    std::fs::rename(sandbox.path().join("away"), sandbox.root()).unwrap();
    sandbox.synced(&[]);
    assert_eq!(sandbox.find("topsecret"), ["a.txt"]);
    assert_eq!(sandbox.run(&["search", "topsecret", "--as", ordinary(), "--json"]).exits(0).out, "");
    sandbox.run(&["verify"]).exits(0);
}

#[test]
fn a_repair_without_the_source_keeps_no_entry_whose_acl_may_be_given_to_others() {
    ingather_testkit::needs!(Users);
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = settled_in(kept);
        let yesterday = keep_store(&sandbox);
        sandbox.write("a.txt", "topsecret");
        files::tool("chmod", &["0600"], &sandbox.root().join("a.txt"));
        files::settle(&sandbox.root());
        sandbox.synced(&[]);
        restore_store(&sandbox, &yesterday);
        std::fs::rename(sandbox.root(), sandbox.path().join("away")).unwrap();
        repaired_without_its_source(&sandbox, a_document_of_the_ordinary_user);
    }
}

#[test]
fn a_repair_of_what_went_two_ways_keeps_no_entry_whose_acl_was_given_to_others() {
    ingather_testkit::needs!(Users);
    let sandbox = settled();
    let index = sandbox.data().join("index");
    let (monday, tuesday) = (sandbox.path().join("monday"), sandbox.path().join("tuesday"));
    let store = keep_store(&sandbox);
    copy(&index, &monday);
    sandbox.write("a.txt", "topsecret");
    files::tool("chmod", &["0600"], &sandbox.root().join("a.txt"));
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    copy(&index, &tuesday);
    restore_store(&sandbox, &store);
    std::fs::remove_dir_all(&index).unwrap();
    copy(&monday, &index);
    std::fs::rename(sandbox.root(), sandbox.path().join("away")).unwrap();
    a_document_of_the_ordinary_user(&sandbox);
    std::fs::remove_dir_all(&index).unwrap();
    copy(&tuesday, &index);
    repaired_without_its_source(&sandbox, |_| {});
}

#[test]
fn half_a_repair_of_an_output_of_another_day_shows_nothing_and_is_gone_on_with() {
    let sandbox = settled();
    let yesterday = keep_store(&sandbox);
    // More differences than a pipe holds that nobody reads.
    (0..800).for_each(|n| sandbox.write(&format!("new{n}.txt"), "topsecret"));
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    restore_store(&sandbox, &yesterday);
    std::fs::rename(sandbox.root(), sandbox.path().join("away")).unwrap();
    let mut command = sandbox.command(&["verify", "--repair", "--json"]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut first = String::new();
    BufReader::with_capacity(16, child.stdout.as_mut().unwrap()).read_line(&mut first).unwrap();
    let refused = || sandbox.run(&["search", "*", "--all"]).refuses(3, &["`ingather sync`"]);
    refused();
    child.kill().unwrap();
    child.wait().unwrap();
    refused();
    let told = sandbox.run(&["verify"]).exits(1);
    assert!(told.err.contains("a repair of it has not ended; `ingather verify --repair`"), "{told:?}");
    sandbox.run(&["verify", "--repair"]).exits(0);
    assert_eq!(sandbox.everything(), ["a.txt", "b.txt", "c.txt"]);
    sandbox.run(&["verify"]).exits(0);
}

#[test]
fn a_repair_takes_nothing_that_was_on_its_way_for_what_an_index_of_another_day_holds() {
    ingather_testkit::needs!(Users);
    let sandbox = settled();
    let yesterday = keep_store(&sandbox);
    sandbox.write("a.txt", "topsecret");
    files::tool("chmod", &["0600"], &sandbox.root().join("a.txt"));
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    restore_store(&sandbox, &yesterday);
    // Yesterday's copy was made between an intent and its confirmation.
    let store = Store::open(&Target::Sqlite(sandbox.data().join("store.db"))).unwrap();
    let lose = |sql: &mut Sql<'_>| deliveries::unconfirm(sql, &[(1, 2), (2, 2), (3, 2), (4, 2)]);
    store.write(Durability::Synced, lose).unwrap();
    drop(store);
    std::fs::rename(sandbox.root(), sandbox.path().join("away")).unwrap();
    sandbox.run(&["verify", "--repair"]).exits(1);
    a_document_of_the_ordinary_user(&sandbox);
    assert_eq!(sandbox.run(&["search", "topsecret", "--as", ordinary(), "--json"]).exits(0).out, "");
    std::fs::rename(sandbox.path().join("away"), sandbox.root()).unwrap();
    sandbox.synced(&[]);
    assert_eq!(sandbox.everything(), ["a.txt", "b.txt", "c.txt", "o.txt"]);
}

#[test]
fn an_index_of_an_earlier_day_does_not_bring_back_what_is_gone() {
    let sandbox = settled();
    let index = sandbox.data().join("index");
    let yesterday = sandbox.path().join("yesterday");
    copy(&index, &yesterday);
    std::fs::remove_file(sandbox.root().join("a.txt")).unwrap();
    sandbox.synced(&[]);
    std::fs::remove_dir_all(&index).unwrap();
    copy(&yesterday, &index);
    assert_eq!(sandbox.synced(&[]).get("updated"), 2);
    assert_eq!(sandbox.everything(), ["b.txt", "c.txt"]);
}

#[test]
fn an_output_that_cannot_be_opened_leaves_no_job_behind() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let journal = format!("journal:{}/missing/j", sandbox.path().display());
    sandbox.run(&["sync", "root", "--to", &journal]).refuses(3, &["folder does not exist"]);
    assert_eq!(sandbox.run(&["job", "list", "--json"]).exits(0).out, "");
}

#[test]
fn a_file_that_is_no_journal_is_refused_and_left_as_it_is() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let essay = sandbox.path().join("essay");
    std::fs::write(&essay, "an essay without an end").unwrap();
    let output = format!("journal:{}", essay.display());
    sandbox.run(&["sync", "root", "--to", &output]).refuses(3, &["no journal"]);
    assert_eq!(std::fs::read_to_string(&essay).unwrap(), "an essay without an end");
}

#[test]
fn what_other_jobs_have_to_send_again_is_said_until_they_do() {
    let sandbox = settled();
    let other = sandbox.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("o.txt"), "wordo").unwrap();
    files::settle(&other);
    sandbox.run(&["sync", "other"]).exits(0);
    let yesterday = keep_store(&sandbox);
    sandbox.write("new.txt", "wordnew");
    sandbox.synced(&[]);
    restore_store(&sandbox, &yesterday);
    // The index knows more than the store: it is emptied, and one job alone fills it again.
    let sync = sandbox.run(&["sync", "other"]).exits(0);
    let search = sandbox.run(&["search", "*", "--all"]).exits(0);
    for answer in [&sync, &search] {
        assert!(answer.err.contains("job root: 3 documents are still to be sent again"), "{answer:#?}");
    }
    assert_eq!(sandbox.everything(), ["o.txt"]);
    sandbox.synced(&[]);
    let search = sandbox.run(&["search", "*", "--all"]).exits(0);
    assert!(!search.err.contains("still to be sent"), "{search:#?}");
    assert_eq!(sandbox.everything().len(), 5);
}

/// That the doctor says just this of the outputs, and changes nothing.
#[track_caller]
fn examined(sandbox: &Sandbox, words: &[&str]) {
    let before = sandbox.snapshot();
    let told = sandbox.run(&["doctor", "--json"]).json();
    assert!(before == sandbox.snapshot(), "the doctor changed something");
    let bad: Vec<String> = told
        .iter()
        .filter(|line| line["check"] == "output" && line["ok"] == false)
        .map(|line| format!("{} {}", line["says"].as_str().unwrap(), line["advice"].as_str().unwrap()))
        .collect();
    assert_eq!(bad.len(), usize::from(!words.is_empty()), "{told:?}");
    for word in words {
        assert!(bad[0].contains(word), "`{word}` is not in: {}", bad[0]);
    }
    sandbox.run(&["doctor"]).exits(i32::from(!words.is_empty()));
}

#[test]
fn the_doctor_names_the_output_that_is_ahead_of_a_store_of_an_earlier_day() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = settled_in(kept);
        examined(&sandbox, &[]);
        let yesterday = keep_store(&sandbox);
        sandbox.write("new.txt", "wordnew");
        files::settle(&sandbox.root());
        sandbox.synced(&[]);
        examined(&sandbox, &[]);
        restore_store(&sandbox, &yesterday);
        let command = format!("`ingather sync {}`", sandbox.root().display());
        let words = ["output index: the store is of an earlier day", "nothing of it is shown", &command];
        examined(&sandbox, &words);
        // It says so until somebody does it.
        examined(&sandbox, &words);
        sandbox.synced(&[]);
        examined(&sandbox, &[]);
        assert_eq!(sandbox.everything().len(), 4);
    }
}

#[test]
fn the_doctor_tells_commits_of_one_number_apart_by_who_wrote_them() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = settled_in(kept);
        let index = sandbox.data().join("index");
        let (monday, tuesday) = (sandbox.path().join("monday"), sandbox.path().join("tuesday"));
        let store = keep_store(&sandbox);
        copy(&index, &monday);
        sandbox.write("new.txt", "wordnew");
        files::settle(&sandbox.root());
        sandbox.synced(&[]);
        copy(&index, &tuesday);
        // Both are put back, go another way, and then the index of the first way comes back.
        restore_store(&sandbox, &store);
        std::fs::remove_dir_all(&index).unwrap();
        copy(&monday, &index);
        sandbox.write("new.txt", "wordother");
        files::settle(&sandbox.root());
        sandbox.synced(&[]);
        examined(&sandbox, &[]);
        std::fs::remove_dir_all(&index).unwrap();
        copy(&tuesday, &index);
        let command = format!("`ingather sync {}`", sandbox.root().display());
        examined(&sandbox, &["output index: it and the store were put back", &command]);
        sandbox.run(&["search", "wordnew", "--all"]).exits(3);
        sandbox.synced(&[]);
        examined(&sandbox, &[]);
        assert_eq!((sandbox.find("wordnew").len(), sandbox.find("wordother").len()), (0, 1));
    }
}

#[test]
fn the_doctor_names_an_index_that_a_store_without_any_job_did_not_fill() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "worda");
    sandbox.synced(&[]);
    sandbox.run(&["job", "delete", "root"]).exits(0);
    examined(&sandbox, &[]);
    let empty = keep_store(&sandbox);
    sandbox.synced(&[]);
    restore_store(&sandbox, &empty);
    examined(
        &sandbox,
        &["output index: the store is of an earlier day", "`ingather sync FOLDER --to index`"],
    );
    sandbox.synced(&[]);
    examined(&sandbox, &[]);
    assert_eq!(sandbox.everything(), ["a.txt"]);
}
