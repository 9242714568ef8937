//! A backup that was made while a sync worked is whole: what was restored converges without reading what did not change.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::files;
use crate::people::{Person, ordinary};
use crate::sandbox::{Kept, Sandbox};

fn archive(sandbox: &Sandbox) -> PathBuf {
    sandbox.path().join("backup.tar")
}

fn back_up(sandbox: &Sandbox) {
    sandbox.run(&["backup", "backup.tar"]).exits(0);
    assert_eq!(std::fs::metadata(archive(sandbox)).unwrap().permissions().mode() & 0o777, 0o600);
    let left: Vec<_> = std::fs::read_dir(sandbox.data())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("backup"))
        .collect();
    // Whoever erases a document is told of it.
    assert_eq!(left, ["backups.jsonl"], "nothing else is left in the data directory");
}

fn lose(sandbox: &Sandbox) {
    std::fs::remove_dir_all(sandbox.data()).unwrap();
}

#[test]
fn what_was_restored_is_searched_and_nothing_unchanged_is_read_again() {
    ingather_testkit::needs!(Users);
    let sandbox = Sandbox::sqlite();
    let person = Person::named(ordinary());
    std::os::unix::fs::chown(sandbox.path(), Some(person.uid), Some(person.gid)).unwrap();
    (0..60).for_each(|n| sandbox.write(&format!("d{}/f{n}.txt", n % 4), &format!("word{n}")));
    files::settle(&sandbox.root());
    let run = |arguments: &[&str]| sandbox.run_as(&person, arguments);
    // So that a change of access is told without reading.
    run(&["sync", "root", "--content-by", "times"]).exits(0);
    run(&["backup", "backup.tar"]).exits(0);
    // What came after the backup is met again by the listing.
    sandbox.write("late.txt", "latecomer");
    files::remove(&sandbox.root().join("d0/f0.txt"));
    run(&["sync", "root"]).exits(0);
    lose(&sandbox);
    run(&["restore", "backup.tar"]).exits(0);
    let mode =
        |name: &str| std::fs::metadata(sandbox.data().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(""), mode("index"), mode("store.db")), (0o700, 0o700, 0o600));
    // A file that nobody may read now cannot be read again unnoticed.
    for n in 1..60 {
        files::tool("chmod", &["0000"], &sandbox.root().join(format!("d{}/f{n}.txt", n % 4)));
    }
    files::settle(&sandbox.root());
    let answer = run(&["sync", "root", "--json"]).exits(0);
    let counts = crate::sandbox::Counts::of(&answer.json()[0]);
    assert_eq!((counts.get("added"), counts.get("access"), counts.get("deleted")), (1, 59, 1), "{counts:?}");
    assert!(!answer.err.contains("filling it again"), "{answer:?}");
    assert_eq!(run(&["search", "*", "--all", "--limit", "100", "--json"]).exits(0).documents().len(), 60);
    run(&["verify"]).exits(0);
    run(&["doctor"]).exits(0);
}

#[test]
fn a_backup_beside_a_working_sync_is_consistent_at_any_instant() {
    let sandbox = Sandbox::sqlite();
    (0..50).for_each(|n| sandbox.write(&format!("f{n}.txt"), &format!("old{n}")));
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    (0..4_000).for_each(|n| sandbox.write(&format!("new{}/g{n}.txt", n % 40), &format!("new{n}")));
    files::settle(&sandbox.root());
    let mut command = sandbox.command(&["sync", "root", "--json"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut taken: usize = 0;
    while child.try_wait().unwrap().is_none() {
        let file = format!("backup-{taken}.tar");
        sandbox.run(&["backup", &file]).exits(0);
        taken += 1;
    }
    assert!(taken >= 3, "only {taken} backups beside the sync");
    // Each costs seconds: some of them, from first to last.
    for n in (0..taken).step_by(taken.div_ceil(5)) {
        lose(&sandbox);
        sandbox.run(&["restore", &format!("backup-{n}.tar")]).exits(0);
        assert_eq!(
            sandbox.run(&["doctor", "--json"]).json().iter().filter(|line| line["number"].is_u64()).count(),
            0
        );
        let answer = sandbox.run(&["sync", "root", "--json"]).exits(0);
        assert!(!answer.err.contains("filling it again"), "backup {n}: {answer:?}");
        let counts = crate::sandbox::Counts::of(&answer.json()[0]);
        assert_eq!(counts.get("updated"), 0, "backup {n}: {counts:?}");
        assert_eq!(sandbox.everything().len(), 4_050, "backup {n}");
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["doctor"]).exits(0);
    }
}

#[test]
fn a_process_that_was_alive_in_the_backup_does_not_hold_what_is_restored() {
    let sandbox = Sandbox::sqlite();
    (0..2_000).for_each(|n| sandbox.write(&format!("f{n}.txt"), "text"));
    let mut command = sandbox.command(&["sync", "root"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(300);
    while sandbox.run(&["job", "show", "root"]).code != 0 {
        assert!(std::time::Instant::now() < deadline, "the sync never began");
    }
    kill_process(pid, Signal::STOP).unwrap();
    back_up(&sandbox);
    kill_process(pid, Signal::KILL).unwrap();
    child.wait().unwrap();
    std::fs::rename(sandbox.data(), sandbox.path().join("before")).unwrap();
    sandbox.run(&["restore", "backup.tar"]).exits(0);
    sandbox.run(&["sync", "root"]).exits(0);
    assert_eq!(sandbox.everything().len(), 2_000);
}

#[test]
fn a_damaged_backup_and_a_directory_in_use_are_refused_and_nothing_is_made() {
    let sandbox = Sandbox::sqlite();
    (0..20).for_each(|n| sandbox.write(&format!("f{n}.txt"), "text"));
    sandbox.synced(&[]);
    back_up(&sandbox);
    sandbox.run(&["backup", "backup.tar"]).refuses(2, &["backup.tar exists"]);
    let before = sandbox.snapshot();
    sandbox.run(&["restore", "backup.tar"]).refuses(2, &["is not empty", "--data"]);
    assert!(before == sandbox.snapshot());
    lose(&sandbox);
    let whole = std::fs::read(archive(&sandbox)).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(archive(&sandbox), bytes).unwrap();
        sandbox.run(&["restore", "backup.tar"]).refuses(3, &["backup.tar"]);
        let left: Vec<_> =
            std::fs::read_dir(sandbox.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("data")), "{left:?}");
    };
    // Cut off anywhere, or one bit turned anywhere that says something.
    for end in [0, 100, 512, whole.len() / 2, whole.len() - 3_000] {
        refused(&whole[..end]);
    }
    for at in (0..whole.len()).step_by(whole.len() / 40 + 1).filter(|at| whole[*at] != 0) {
        let mut turned = whole.clone();
        turned[at] ^= 1;
        refused(&turned);
    }
    refused(b"no archive at all, but as long as one of its blocks would be");
    std::fs::write(archive(&sandbox), &whole).unwrap();
    // An empty directory gives way.
    std::fs::create_dir(sandbox.data()).unwrap();
    sandbox.run(&["restore", "backup.tar"]).exits(0);
    assert_eq!(sandbox.everything().len(), 20);
    sandbox.run(&["restore", "missing.tar"]).refuses(2, &["is not empty"]);
}

#[test]
fn a_backup_that_is_damaged_anywhere_is_refused_as_a_whole() {
    let sandbox = Sandbox::sqlite();
    for n in 0..20 {
        sandbox.write(&format!("f{n}.txt"), &format!("word{n}"));
    }
    sandbox.synced(&[]);
    back_up(&sandbox);
    let whole = std::fs::read(archive(&sandbox)).unwrap();
    std::fs::remove_dir_all(sandbox.data()).unwrap();
    let names = || {
        let entries = std::fs::read_dir(sandbox.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
    };
    let refused = |bytes: &[u8], what: &str| {
        std::fs::write(archive(&sandbox), bytes).unwrap();
        let before = names();
        let answer = sandbox.run(&["restore", archive(&sandbox).to_str().unwrap()]);
        assert_eq!(answer.code, 3, "{what}: {answer:?}");
        let lines: Vec<&str> = answer.err.lines().collect();
        assert!(
            lines.len() == 1 && lines[0].ends_with("nothing was restored, use another one"),
            "{what}: {answer:?}"
        );
        assert!(answer.out.is_empty(), "{what}: {answer:?}");
        assert!(before == names() && !sandbox.data().exists(), "{what}: nothing is made, and nothing stays");
    };
    for tenth in 0..10 {
        let at = whole.len() * tenth / 10;
        refused(&whole[..at], &format!("cut at {at}"));
        // A byte of an entry: what is between two entries is nobody's.
        let at = (at..whole.len()).find(|at| whole[*at] != 0).unwrap();
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        refused(&flipped, &format!("a bit of byte {at}"));
        let mut lacking = whole.clone();
        lacking.drain(at..(at + 512).min(whole.len()));
        refused(&lacking, &format!("512 bytes from {at} on are missing"));
    }
    for (bytes, what) in [
        (b"".to_vec(), "empty"),
        (b"my holiday, 1998".to_vec(), "a text"),
        (b"SQLite format 3\0".repeat(200), "a database"),
        (vec![0; 4_096], "zeros"),
        ([&whole[..], &whole[..]].concat().split_off(512), "something else in front"),
    ] {
        refused(&bytes, what);
    }
    sandbox
        .run(&["restore", "root"])
        .refuses(3, &["root is no backup", "it is a folder; nothing was restored"]);
    assert!(!sandbox.data().exists());
    std::fs::write(archive(&sandbox), &whole).unwrap();
    sandbox.run(&["restore", archive(&sandbox).to_str().unwrap()]).exits(0);
    assert_eq!(sandbox.everything().len(), 20);
}

/// Writes the archive again as a program would have that backed up other content: every checksum is right.
fn rewrite(sandbox: &Sandbox, change: impl Fn(&str, &mut Vec<u8>)) {
    let mut read = tar::Archive::new(std::fs::File::open(archive(sandbox)).unwrap());
    let mut built = tar::Builder::new(Vec::new());
    let mut sums = Vec::new();
    for entry in read.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut header = entry.header().clone();
        let mut name = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        if name.starts_with("manifest-") {
            let mut manifest: Value = serde_json::from_slice(&bytes).unwrap();
            manifest["files"] = std::mem::take(&mut sums).into();
            bytes = serde_json::to_vec_pretty(&manifest).unwrap();
            name = format!("manifest-{}.json", blake3::hash(&bytes).to_hex());
        } else {
            change(&name, &mut bytes);
            let sum = blake3::hash(&bytes).to_hex().to_string();
            sums.push(json!({"name": name, "bytes": bytes.len(), "blake3": sum}));
        }
        header.set_size(bytes.len() as u64);
        built.append_data(&mut header, &name, bytes.as_slice()).unwrap();
    }
    std::fs::write(archive(sandbox), built.into_inner().unwrap()).unwrap();
}

#[test]
fn of_a_backup_whose_index_was_damaged_already_the_rest_is_restored() {
    let sandbox = Sandbox::sqlite();
    (0..20).for_each(|n| sandbox.write(&format!("f{n}.txt"), "text"));
    files::settle(&sandbox.root());
    sandbox.synced(&["--exclude", "none.txt"]);
    back_up(&sandbox);
    let whole = std::fs::read(archive(&sandbox)).unwrap();
    let harms: [(&str, fn(&mut Vec<u8>)); 4] = [
        ("meta.json", |bytes| bytes.truncate(10)),
        ("meta.json", Vec::clear),
        (".store", |bytes| bytes.iter_mut().for_each(|byte| *byte ^= 0x55)),
        (".fast", |bytes| bytes[0] ^= 1),
    ];
    for (ending, harm) in harms {
        std::fs::write(archive(&sandbox), &whole).unwrap();
        rewrite(&sandbox, |name, bytes| {
            if name.starts_with("index/") && name.ends_with(ending) {
                harm(bytes);
            }
        });
        lose(&sandbox);
        let restored = sandbox.run(&["restore", "backup.tar", "--json"]).exits(1);
        assert!(
            restored.err.contains("the search index in this backup is damaged")
                && restored.err.contains("the next `ingather sync`"),
            "{ending}: {restored:#?}"
        );
        assert_eq!(restored.json().remove(0)["index"], Value::Null);
        sandbox.run(&["search", "text", "--all"]).refuses(3, &["is not there any more", "ingather sync"]);
        let shown = sandbox.run(&["job", "show", "root", "--json"]).exits(0);
        assert!(shown.out.contains("none.txt"), "its settings are there: {shown:#?}");
        sandbox.synced(&[]);
        assert_eq!(sandbox.everything().len(), 20);
        sandbox.run(&["verify"]).exits(0);
    }
    // A store that was damaged is none: nothing is restored.
    std::fs::write(archive(&sandbox), &whole).unwrap();
    rewrite(&sandbox, |name, bytes| {
        if name == "store.db" {
            bytes[100..].fill(7);
        }
    });
    lose(&sandbox);
    sandbox.run(&["restore", "backup.tar"]).refuses(3, &["cannot be restored"]);
    assert!(!sandbox.data().exists());
}

#[test]
fn an_archive_that_would_write_elsewhere_is_refused() {
    let sandbox = Sandbox::sqlite();
    for name in ["../escaped", "index/../../escaped", "/escaped", "other/file"] {
        let mut builder = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        // As a hostile program would write it: the library refuses such names.
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, &b"x"[..]).unwrap();
        std::fs::write(archive(&sandbox), builder.into_inner().unwrap()).unwrap();
        sandbox.run(&["restore", "backup.tar"]).refuses(3, &["is no backup"]);
        assert!(!sandbox.data().exists() && !sandbox.path().join("escaped").exists(), "{name}");
    }
}

#[test]
fn with_an_inventory_in_postgresql_the_backup_says_what_is_not_in_it() {
    let sandbox = Sandbox::new(Kept::Postgres);
    (0..20).for_each(|n| sandbox.write(&format!("f{n}.txt"), "text"));
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    let told = sandbox.run(&["backup", "backup.tar"]).exits(0);
    assert!(told.err.contains("the inventory is not") && told.err.contains("pg_dump"), "{told:?}");
    lose(&sandbox);
    let told = sandbox.run(&["restore", "backup.tar"]).exits(0);
    assert!(told.err.contains("--store"), "{told:?}");
    assert_eq!(sandbox.everything().len(), 20);
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 20);
}
