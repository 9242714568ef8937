//! Planted causes, one by one: the first sentence of the answer names each (design 4.13). Those that no connector of today
//! can bring about are in crates/engine/tests/it/explain.rs.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::Value;

use crate::files;
use crate::people::{Accounts, Person, ordinary};
use crate::sandbox::{Answer, Sandbox};

/// A sandbox whose source has one readable file, synced.
fn synced(flags: &[&str]) -> Sandbox {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.run(&[&["sync", "root"], flags].concat());
    sandbox
}

/// That the answer about a document has this code, and its first sentence these words; as JSON and for people.
#[track_caller]
fn names(sandbox: &Sandbox, document: &str, code: &str, words: &[&str]) -> Value {
    let told = sandbox.run(&["document", "explain", "root", document]).exits(0);
    check(told, sandbox.run(&["document", "explain", "root", document, "--json"]).exits(0), code, words)
}

#[track_caller]
fn check(told: Answer, json: Answer, code: &str, words: &[&str]) -> Value {
    let line = json.json().remove(0);
    let first = told.out.lines().next().unwrap();
    assert_eq!(line["cause"], first, "both say the same");
    assert_eq!(line["code"], code, "{first}");
    for word in words {
        assert!(first.contains(word), "`{word}` is not in: {first}");
    }
    line
}

/// The same as the user who has no rights of its own.
#[track_caller]
fn names_as(sandbox: &Sandbox, person: &Person, document: &str, code: &str, words: &[&str]) -> Value {
    let ask = |more: &[&str]| {
        sandbox.run_as(person, &[&["document", "explain", "root", document], more].concat()).exits(0)
    };
    check(ask(&[]), ask(&["--json"]), code, words)
}

/// That `why` has this code, and its first sentence these words.
#[track_caller]
fn why(sandbox: &Sandbox, user: &str, document: &str, code: &str, words: &[&str]) -> Value {
    let told = sandbox.run(&["why", user, document]).exits(0);
    check(told, sandbox.run(&["why", user, document, "--json"]).exits(0), code, words)
}

/// A sandbox for a source that an ordinary user reads, who owns the data directory.
fn of_a_person() -> (Sandbox, Person) {
    let sandbox = Sandbox::sqlite();
    let person = Person::named(ordinary());
    std::fs::create_dir(sandbox.data()).unwrap();
    std::os::unix::fs::chown(sandbox.data(), Some(person.uid), Some(person.gid)).unwrap();
    std::fs::set_permissions(sandbox.data(), PermissionsExt::from_mode(0o700)).unwrap();
    (sandbox, person)
}

fn mode(sandbox: &Sandbox, name: &str, mode: u32) {
    std::fs::set_permissions(sandbox.root().join(name), PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn a_pattern_is_named() {
    let sandbox = synced(&[
        "--exclude",
        "*.tmp",
        "--exclude",
        "*.log",
        "--exclude",
        "build/",
        "--include",
        "*.txt",
        "--include",
        "*.log",
    ]);
    sandbox.write("sub/b.log", "x");
    sandbox.write("build/c.txt", "x");
    sandbox.write("d.md", "x");
    names(&sandbox, "sub/b.log", "excluded", &["sub/b.log", "exclude pattern `*.log`"]);
    names(&sandbox, "build/c.txt", "excluded", &["lies in `build`", "exclude pattern `build/`"]);
    names(&sandbox, "d.md", "excluded", &["none of the include patterns", "`*.txt`"]);
}

#[test]
fn an_ignore_file_is_named_with_its_line() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("sub/.gitignore", "# a comment\n*.bak\n");
    sandbox.write("sub/b.bak", "x");
    sandbox.write(".git/config", "x");
    sandbox.run(&["sync", "root", "--ignore-files"]).exits(0);
    names(&sandbox, "sub/b.bak", "ignored", &["ignore file `sub/.gitignore` line 2", "`*.bak`"]);
    names(&sandbox, ".git/config", "ignored", &["git's own folder"]);
}

#[test]
fn a_size_is_named_with_how_much_it_is_too_large() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("big.txt", "0123456789");
    sandbox.run(&["sync", "root", "--size-max", "7"]).exits(0);
    names(&sandbox, "big.txt", "size", &["too large", "10 bytes", "3 more", "`size_max` 7"]);
}

/// A document of one empty page that nobody can open without its password.
fn protected() -> Vec<u8> {
    let secret = "5a".repeat(32);
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>".to_owned(),
        format!("<</Filter/Standard/V 1/R 2/P -4/O<{secret}>/U<{secret}>>>"),
    ];
    let (mut text, mut table) = ("%PDF-1.4\n".to_owned(), "0000000000 65535 f \n".to_owned());
    for (at, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", text.len()));
        text.push_str(&format!("{} 0 obj\n{object}\nendobj\n", at + 1));
    }
    let at = text.len();
    let trailer = "<</Size 5/Root 1 0 R/Encrypt 4 0 R/ID[<00><00>]>>";
    format!("{text}xref\n0 5\n{table}trailer\n{trailer}\nstartxref\n{at}\n%%EOF\n").into_bytes()
}

#[test]
fn a_type_without_text_and_files_that_cannot_be_decoded_are_named() {
    let sandbox = Sandbox::sqlite();
    let write = |name: &str, bytes: &[u8]| std::fs::write(sandbox.root().join(name), bytes).unwrap();
    write("program.bin", &[0, 1, 2, 3, 0xfe, 0xff].repeat(100));
    write("locked.pdf", &protected());
    write("broken.docx", b"PK\x03\x04 and then nothing that anybody could read");
    write("plain.txt", b"words");
    write("empty.txt", b"");
    files::settle(&sandbox.root());
    sandbox.run(&["sync", "root"]).exits(0);
    names(
        &sandbox,
        "program.bin",
        "type",
        &["`program.bin` is found by its name and fields alone", "its type is application/octet-stream"],
    );
    let locked =
        ["`locked.pdf` is found by its name and fields alone", "application/pdf", "protected by a password"];
    names(&sandbox, "locked.pdf", "decode", &locked);
    names(
        &sandbox,
        "broken.docx",
        "decode",
        &["`broken.docx` is found by its name and fields alone", "cannot be read"],
    );
    for name in ["plain.txt", "empty.txt"] {
        names(&sandbox, name, "current", &["up to date"]);
    }
}

#[test]
fn a_hidden_name_is_named() {
    let sandbox = synced(&["--skip-hidden"]);
    sandbox.write(".profile", "x");
    sandbox.write(".cache/x.txt", "x");
    names(&sandbox, ".profile", "hidden", &["is hidden"]);
    names(&sandbox, ".cache/x.txt", "hidden", &["lies in `.cache`", "is hidden"]);
}

#[test]
fn links_folders_and_special_files_are_named_for_what_they_are() {
    let sandbox = synced(&[]);
    symlink("/etc/passwd", sandbox.root().join("out.txt")).unwrap();
    symlink("a.txt", sandbox.root().join("in.txt")).unwrap();
    symlink("..", sandbox.root().join("up")).unwrap();
    std::fs::create_dir(sandbox.root().join("folder")).unwrap();
    files::tool("mkfifo", &[], &sandbox.root().join("pipe"));
    names(&sandbox, "out.txt", "link", &["symbolic link to `/etc/passwd`, out of the source"]);
    let inside = names(&sandbox, "in.txt", "link", &["symbolic link to `a.txt`"]);
    assert!(!inside["cause"].as_str().unwrap().contains("out of the source"));
    names(&sandbox, "up/x.txt", "link", &["lies in `up`", "out of the source"]);
    names(&sandbox, "folder", "folder", &["is a folder"]);
    names(&sandbox, "pipe", "special", &["special file"]);
}

#[test]
fn an_output_that_refuses_is_named() {
    let sandbox = Sandbox::sqlite();
    // Its address is longer than the index takes.
    files::tunnel(&sandbox.root(), 160, 240);
    sandbox.run(&["sync", "root"]).exits(1);
    let name = format!("{}end.txt", format!("{}/", "d".repeat(240)).repeat(160));
    names(&sandbox, &name, "address_too_long", &["output index refused", "address is longer than"]);
}

#[test]
fn an_unreadable_file_and_an_unreadable_folder_are_named() {
    ingather_testkit::needs!(Users);
    let (sandbox, person) = of_a_person();
    sandbox.write("closed.txt", "x");
    sandbox.write("locked/in.txt", "x");
    mode(&sandbox, "closed.txt", 0o600);
    mode(&sandbox, "locked", 0o700);
    sandbox.run_as(&person, &["sync", "root"]).exits(1);
    let user = format!("user {}", person.uid);
    names_as(&sandbox, &person, "closed.txt", "unreadable", &["`closed.txt`", "permission denied", &user]);
    names_as(
        &sandbox,
        &person,
        "locked/in.txt",
        "unreadable",
        &["locked", "above `locked/in.txt`", "permission denied"],
    );
    // Passing is allowed, listing is not: a walk never meets what is in it.
    mode(&sandbox, "locked", 0o711);
    names_as(&sandbox, &person, "locked/in.txt", "unreadable", &["locked", "permission denied"]);
}

#[test]
fn a_blind_spot_is_named() {
    ingather_testkit::needs!(Users);
    let (sandbox, person) = of_a_person();
    sandbox.write("locked/in.txt", "x");
    sandbox.write("a.txt", "x");
    sandbox.run_as(&person, &["sync", "root"]).exits(0);
    mode(&sandbox, "locked", 0o711);
    sandbox.run_as(&person, &["sync", "root"]).exits(1);
    names_as(
        &sandbox,
        &person,
        "locked/in.txt",
        "blind",
        &["blind spot", "run 2 could not read `locked/`", "kept"],
    );
}

#[test]
fn what_was_written_just_before_is_current_after_one_run() {
    ingather_testkit::needs!(Users);
    let sandbox = Sandbox::sqlite();
    // In memory the grain of the clock is so small that a busy machine may take longer; where builds are it may be as small.
    let source = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let sync = ["sync", source.path().to_str().unwrap(), "--name", "root"];
    std::fs::write(source.path().join("a.txt"), "apple").unwrap();
    sandbox.run(&sync).exits(0);
    names(&sandbox, "a.txt", "current", &["up to date in index"]);
    assert_eq!(sandbox.run(&[&sync[..], &["--json"]].concat()).exits(0).json()[0]["unchanged"], 1);
}

#[test]
fn a_held_removal_is_named() {
    let sandbox = Sandbox::sqlite();
    (0..40).for_each(|n| sandbox.write(&format!("f{n}.txt"), "text"));
    sandbox.synced(&[]);
    (0..30).for_each(|n| files::remove(&sandbox.root().join(format!("f{n}.txt"))));
    sandbox.run(&["sync", "root"]).exits(1);
    let line =
        names(&sandbox, "f3.txt", "held", &["removal is held", "delete guard", "job confirm root --run 2"]);
    assert!(line["waits_for"].as_str().unwrap().contains("confirmation"));
}

#[test]
fn deleted_and_moved_and_changed_and_new_files_are_told_apart() {
    let sandbox = Sandbox::sqlite();
    for name in ["gone.txt", "old.txt", "changed.txt"] {
        sandbox.write(name, name);
    }
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    files::remove(&sandbox.root().join("gone.txt"));
    std::fs::create_dir(sandbox.root().join("sub")).unwrap();
    std::fs::rename(sandbox.root().join("old.txt"), sandbox.root().join("sub/new.txt")).unwrap();
    sandbox.write("changed.txt", "another text");
    sandbox.write("late.txt", "x");
    files::settle(&sandbox.root());
    names(&sandbox, "gone.txt", "deleted", &["`gone.txt` was deleted at the source"]);
    names(&sandbox, "old.txt", "moved", &["was moved to `sub/new.txt`"]);
    names(&sandbox, "changed.txt", "changed", &["was changed at the source"]);
    names(&sandbox, "late.txt", "not_listed", &["not listed yet", "after run 1"]);
    sandbox.synced(&["--delete-guard", "off"]);
    names(&sandbox, "gone.txt", "absent", &["`gone.txt` is not there", "deleted at the source"]);
    names(&sandbox, "late.txt", "current", &["up to date"]);
}

#[test]
fn a_version_of_another_job_is_named() {
    let sandbox = synced(&[]);
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    // The other job compares by content alone, so that its record has another digest.
    sandbox.run(&["sync", "root", "--name", "other", "--compare-content"]).exits(0);
    let line = names(
        &sandbox,
        "a.txt",
        "overwritten",
        &["output index holds the version of `a.txt` that job other sent"],
    );
    assert_eq!(line["also_in"], serde_json::json!(["other"]));
}

#[test]
fn an_output_that_cannot_be_written_is_named_and_when_it_is_tried_again() {
    ingather_testkit::needs!(Mounts);
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let place = sandbox.path().join("full");
    std::fs::create_dir(&place).unwrap();
    files::tool("mount", &["-t", "tmpfs", "-o", "size=16k", "tmpfs"], &place);
    let journal = format!("journal:{}/j", place.display());
    sandbox.write("b.txt", &"long text ".repeat(8_000));
    let mut child = sandbox.command(&["sync", "root", "--to", &journal]).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    // The run would wait for its retries; what waits then is what waits now.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(300);
    let waiting = || {
        let answer = sandbox.run(&["document", "list", "root", "--json"]);
        answer.code == 0
            && answer.json().iter().any(|line| line["document"] == "b.txt" && line["code"] == "journal")
    };
    while !waiting() {
        assert!(std::time::Instant::now() < deadline, "no attempt ever failed");
    }
    let line =
        names(&sandbox, "b.txt", "journal", &["waits for another attempt", "journal", "cannot be written"]);
    assert!(line["due"].as_i64().is_some(), "{line}");
    assert_eq!(line["outputs"][0]["state"], "unconfirmed");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    child.wait().unwrap();
    files::tool("umount", &[], &place);
}

#[test]
fn a_name_that_is_not_utf8_is_explained_by_its_escaped_name_its_path_and_its_uri() {
    let sandbox = Sandbox::sqlite();
    let odd = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"odd-\xff.txt");
    std::fs::write(sandbox.root().join(odd), "x").unwrap();
    sandbox.synced(&[]);
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    let path = format!("{}/odd-\\xFF.txt", sandbox.root().display());
    let uri = format!("file://{}/odd-%FF.txt", sandbox.root().display());
    for name in ["odd-\\xFF.txt", &path, &uri] {
        let line = names(&sandbox, name, "current", &["`odd-\\xFF.txt` is up to date"]);
        assert_eq!(line["uri"], uri);
    }
    sandbox.run(&["document", "explain", "root", "odd-\\q"]).refuses(2, &["odd-\\q"]);
}

#[test]
fn what_lies_elsewhere_or_belongs_to_the_program_is_named() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "x");
    sandbox.run(&["sync", ".", "--name", "root"]).exits(0);
    names(&sandbox, "/etc/passwd", "outside", &["`/etc/passwd` lies outside the source"]);
    names(&sandbox, "data/store.db", "own_file", &["lies in `data`", "belongs to Ingather"]);
}

#[test]
fn who_may_not_see_a_file_learns_what_shuts_out() {
    ingather_testkit::needs!(Users);
    let accounts = Accounts::make(1, &[&[0], &[]]);
    let [member, stranger] = <[Person; 2]>::try_from(accounts.people()).unwrap();
    let sandbox = Sandbox::sqlite();
    for name in ["open.txt", "closed.txt", "listed.txt", "inner/in.txt", "group.txt"] {
        sandbox.write(name, "x");
    }
    mode(&sandbox, "closed.txt", 0o600);
    mode(&sandbox, "inner", 0o750);
    files::tool("setfacl", &["-m", &format!("u:{}:---", stranger.name)], &sandbox.root().join("listed.txt"));
    files::tool("chgrp", &[&accounts.groups()[0]], &sandbox.root().join("group.txt"));
    mode(&sandbox, "group.txt", 0o640);
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    let (name, token) = (stranger.name.as_str(), format!("unix:u:{}", stranger.uid));
    assert_eq!(why(&sandbox, name, "open.txt", "allowed", &["may see `open.txt`"])["may_see"], true);
    let closed =
        why(&sandbox, name, "closed.txt", "denied", &["may not see `closed.txt`", "mode", "others", "read"]);
    assert_eq!(closed["may_see"], false);
    why(&sandbox, name, "listed.txt", "denied", &["access list (ACL)", &token]);
    why(&sandbox, name, "inner/in.txt", "denied", &["folder", "inner", "mode", "execute"]);
    sandbox.run(&["why", "nobody-of-that-name", "open.txt"]).refuses(2, &["no user `nobody-of-that-name`"]);
    // The member is admitted by the group, until the group changes.
    why(&sandbox, &member.name, "group.txt", "allowed", &["may see"]);
    files::tool("chgrp", &["0"], &sandbox.root().join("group.txt"));
    let words = ["group of `group.txt` was changed since", "until the next run"];
    why(&sandbox, &member.name, "group.txt", "access_changed", &words);
    names(&sandbox, "group.txt", "access_changed", &words[..1]);
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    why(&sandbox, &member.name, "group.txt", "denied", &["may not see"]);
    // What is not indexed is seen by nobody, and why.
    let absent = why(&sandbox, name, "absent.txt", "absent", &["cannot find `absent.txt`", "is not there"]);
    assert_eq!(absent["may_see"], false);
    let uri = format!("file://{}/open.txt", sandbox.root().display());
    why(&sandbox, name, &uri, "allowed", &["may see `open.txt`"]);
    let tokens = sandbox.run(&["tokens", name, "--json"]).exits(0).json().remove(0);
    assert!(tokens["tokens"].as_array().unwrap().contains(&token.into()), "{tokens}");
    sandbox.run(&["tokens", "nobody-of-that-name"]).refuses(2, &["nobody-of-that-name"]);
}
