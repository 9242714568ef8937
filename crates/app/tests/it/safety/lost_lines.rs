//! Journals that others cut, write over or swap: lines are lost, and nobody is shown a text for the access of another one.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::files;
use crate::people::{Accounts, Person};
use crate::safety::journal::{agrees, read};
use crate::safety::meanwhile;
use crate::sandbox::Sandbox;

const FLAGS: [&str; 4] = ["--to", "index", "--to", "journal:told.jsonl"];
const SECRET: &str = "never open";

fn file(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.path().join(name)
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn sync(sandbox: &Sandbox) {
    files::settle(&sandbox.root());
    sandbox.synced(&FLAGS);
}

/// Copies a file of the sandbox into another one that stays what it is.
fn copy(sandbox: &Sandbox, from: &str, to: &str) {
    let bytes = std::fs::read(file(sandbox, from)).unwrap();
    std::fs::write(file(sandbox, to), bytes).unwrap();
}

/// A file in a folder held a secret while one of them was closed, and holds something else since. What the journal said then is in
/// `begun.jsonl`, what it says by now in `told.jsonl`.
fn rewritten(closed: &str) -> Sandbox {
    let sandbox = Sandbox::sqlite();
    sandbox.write("team/pay.txt", SECRET);
    mode(&sandbox.root().join(closed), 0o700);
    sync(&sandbox);
    copy(&sandbox, "told.jsonl", "begun.jsonl");
    sandbox.write("team/pay.txt", "harmless");
    sync(&sandbox);
    sandbox
}

/// What anybody was shown of the secret.
fn shows_no_secret(sandbox: &Sandbox, people: &[Person], journals: &[&str], at: &str) {
    let shown = read(sandbox, people, journals)["shown"].to_string();
    assert!(!shown.contains(SECRET), "{at}: {shown}");
}

#[test]
fn whoever_has_not_read_what_was_cut_in_place_is_shown_nothing_of_before() {
    ingather_testkit::needs!(Users);
    let accounts = Accounts::make(1, &[&[]]);
    let people = accounts.people();
    for closed in ["team/pay.txt", "team"] {
        let sandbox = rewritten(closed);
        copy(&sandbox, "told.jsonl", "read.jsonl");
        std::fs::write(file(&sandbox, "told.jsonl"), "").unwrap();
        mode(&sandbox.root().join(closed), 0o755);
        sync(&sandbox);
        shows_no_secret(&sandbox, &people, &["begun.jsonl", "told.jsonl"], closed);
        let read = agrees(&sandbox, &people, &["read.jsonl", "told.jsonl"], closed);
        assert!(read["shown"].to_string().contains("harmless"), "{closed}: whoever has read it goes on");
        let command = ["journal", "snapshot", "begun.jsonl", "told.jsonl", "-o", "snap.jsonl"];
        let answer = sandbox.run(&command).exits(1);
        assert!(answer.err.contains("name the older files"), "{answer:?}");
        shows_no_secret(&sandbox, &people, &["snap.jsonl"], closed);
        sandbox.run(&["journal", "snapshot", "read.jsonl", "told.jsonl", "-o", "whole.jsonl"]).exits(0);
    }
}

#[test]
fn access_is_of_the_text_that_it_was_told_for() {
    ingather_testkit::needs!(Users);
    let accounts = Accounts::make(1, &[&[]]);
    let people = accounts.people();
    let sandbox = rewritten("team/pay.txt");
    mode(&sandbox.root().join("team/pay.txt"), 0o755);
    sync(&sandbox);
    agrees(&sandbox, &people, &["told.jsonl"], "whole");
    // One line is lost, and no number tells of it.
    let told = std::fs::read_to_string(file(&sandbox, "told.jsonl")).unwrap();
    let is_lost = |line: &&str| line.starts_with("{\"op\":\"put\"") && line.contains("harmless");
    let put = told.lines().find(is_lost).unwrap();
    let lacking = told.replace(&format!("{put}\n"), "");
    std::fs::write(file(&sandbox, "lacking.jsonl"), &lacking).unwrap();
    shows_no_secret(&sandbox, &people, &["lacking.jsonl"], "lost");
    let snapshot = |name: &str| sandbox.run(&["journal", "snapshot", name, "-o", &format!("{name}.snap")]);
    let answer = snapshot("lacking.jsonl").exits(1);
    assert!(answer.err.contains("last put is in none of them: 1;"), "{answer:?}");
    shows_no_secret(&sandbox, &people, &["lacking.jsonl.snap"], "snapshot");
    // It comes late: what it says itself counts from then on.
    let seq: i64 = put.split_once("\"seq\":").unwrap().1.split_once(',').unwrap().0.parse().unwrap();
    let late = put.replace(&format!("\"seq\":{seq}"), &format!("\"seq\":{}", seq + 1_000));
    std::fs::write(file(&sandbox, "late.jsonl"), format!("{lacking}{late}\n")).unwrap();
    shows_no_secret(&sandbox, &people, &["late.jsonl"], "late");
    snapshot("late.jsonl").exits(0);
}

/// What somebody else does to a journal while a run writes to it.
fn meddle(sandbox: &Sandbox, how: &str) {
    let path = file(sandbox, "told.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let now = match how {
        "cut" => String::new(),
        "cut in the middle" => text[..text.find('\n').unwrap() + 1].to_owned(),
        "written over" => text.replace("never", "nevre"),
        _ => text.clone() + text.lines().next().unwrap() + "\n",
    };
    std::fs::write(path, now).unwrap();
}

#[test]
fn a_journal_that_is_cut_while_a_run_writes_to_it_is_told_anew() {
    ingather_testkit::needs!(Users);
    let accounts = Accounts::make(1, &[&[]]);
    let people = accounts.people();
    for how in ["cut", "cut in the middle", "written over", "written to"] {
        let sandbox = Sandbox::sqlite();
        for name in ["a.bin", "b.bin", "c.bin"] {
            sandbox.write(name, &format!("{SECRET} {name}"));
            mode(&sandbox.root().join(name), 0o600);
        }
        files::settle(&sandbox.root());
        meanwhile::sync(&sandbox, &FLAGS, |_, _| {}).exits(0);
        copy(&sandbox, "told.jsonl", "begun.jsonl");
        for name in ["a.bin", "b.bin", "c.bin"] {
            sandbox.write(name, "harmless");
            mode(&sandbox.root().join(name), 0o644);
        }
        files::settle(&sandbox.root());
        // The other address of the stage is a change of the job: three documents are read to count what it leads to, and then, once the
        // journal is open, by the run.
        let read = AtomicUsize::new(0);
        let answer = meanwhile::sync(&sandbox, &FLAGS, |_, text| {
            if text.contains("harmless") && read.fetch_add(1, Ordering::Relaxed) == 3 {
                meddle(&sandbox, how);
            }
        });
        let answer = answer.exits(3);
        assert!(answer.err.contains("lines are lost; run `ingather sync` again"), "{how}: {answer:?}");
        meanwhile::sync(&sandbox, &FLAGS, |_, _| {}).exits(0);
        // Whether it was followed or not.
        for journals in [&["told.jsonl"][..], &["begun.jsonl", "told.jsonl"]] {
            let read = agrees(&sandbox, &people, journals, how);
            let shown = read["shown"].to_string();
            assert!(!shown.contains(SECRET) && shown.contains("harmless"), "{how}: {shown}");
        }
    }
}

/// A disk that goes back to an earlier day, with the times at which its files were made: the same files, by other names.
fn put_back(sandbox: &Sandbox, from: &str, to: &str) {
    let _ = std::fs::remove_dir_all(file(sandbox, to));
    files::tool("cp", &["-a", file(sandbox, from).to_str().unwrap()], &file(sandbox, to));
    std::fs::remove_dir_all(file(sandbox, to).join("openings")).unwrap();
    let openings = file(sandbox, from).join("openings");
    files::tool("cp", &["-al", openings.to_str().unwrap()], &file(sandbox, to).join("openings"));
}

#[test]
fn a_journal_of_another_history_is_not_taken_for_one_that_has_as_many_lines() {
    ingather_testkit::needs!(Users);
    let accounts = Accounts::make(1, &[&[0]]);
    let (people, group) = (accounts.people(), &accounts.groups()[0]);
    let sandbox = Sandbox::sqlite();
    let write = |name: &str, text: &str, bits: u32| {
        sandbox.write(name, text);
        files::tool("chgrp", &[group], &sandbox.root().join(name));
        mode(&sandbox.root().join(name), bits);
        sync(&sandbox);
    };
    write("a.txt", "first", 0o644);
    put_back(&sandbox, "data", "kept");
    copy(&sandbox, "told.jsonl", "begun.jsonl");
    // In one history a list of some number lets the group in, in the other one nobody.
    write("b.txt", "for the group", 0o640);
    copy(&sandbox, "told.jsonl", "other.jsonl");
    put_back(&sandbox, "kept", "data");
    copy(&sandbox, "begun.jsonl", "told.jsonl");
    write("b.txt", "for none here", 0o600);
    let length = |name: &str| std::fs::metadata(file(&sandbox, name)).unwrap().len();
    let lines = |name: &str| std::fs::read_to_string(file(&sandbox, name)).unwrap().lines().count();
    assert_eq!(lines("told.jsonl"), lines("other.jsonl"), "as many lines; {}", length("other.jsonl"));
    copy(&sandbox, "other.jsonl", "told.jsonl");
    write("c.txt", SECRET, 0o600);
    shows_no_secret(&sandbox, &people, &["told.jsonl"], "swapped");
    agrees(&sandbox, &people, &["told.jsonl"], "swapped");
}
