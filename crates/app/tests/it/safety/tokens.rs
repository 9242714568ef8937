//! Tokens that are not whole hide what a missing one might deny: from searches, from whoever reads a journal, and with a reason.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::sandbox::{Answer, Sandbox, finish};

/// Answers as the name service of a machine where `zoe` is nobody's but a directory's.
fn directory(sandbox: &Sandbox, groups: &str) {
    let programs = sandbox.path().join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let script = format!("#!/bin/sh\ncase $1 in -u) echo 424242;; -G) {groups};; esac\n");
    std::fs::write(programs.join("id"), script).unwrap();
    std::fs::set_permissions(programs.join("id"), PermissionsExt::from_mode(0o755)).unwrap();
}

fn run(sandbox: &Sandbox, arguments: &[&str]) -> Answer {
    let mut command = sandbox.command(arguments);
    let programs = sandbox.path().join("programs");
    command.env("PATH", format!("{}:{}", programs.display(), std::env::var("PATH").unwrap()));
    finish(command, None)
}

/// Documents that zoe finds by a search, and those that the reader of the manual shows.
fn found(sandbox: &Sandbox) -> [Vec<String>; 2] {
    let mut search = run(sandbox, &["search", "apple", "--as", "zoe", "--json"]).exits(0).documents();
    search.sort();
    std::fs::write(sandbox.path().join("journal.py"), super::journal::reader()).unwrap();
    let mut read = Command::new("python3");
    read.args(["journal.py", "changes.jsonl"]).current_dir(sandbox.path());
    let tokens = run(sandbox, &["tokens", "zoe", "--json"]).exits(0).out;
    let read = finish(read, Some(&tokens)).exits(0).out;
    let read = read.lines().filter_map(|uri| uri.rsplit('/').next()).map(str::to_owned).collect();
    [search, read]
}

#[test]
fn tokens_that_are_not_whole_hide_what_a_missing_one_may_deny() {
    let sandbox = Sandbox::sqlite();
    for (name, mode) in [("open.txt", 0o644), ("not_for_its_group.txt", 0o604)] {
        sandbox.write(name, "apple");
        std::fs::set_permissions(sandbox.root().join(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    crate::files::settle(&sandbox.root());
    sandbox.synced(&["--to", "index", "--to", "journal:changes.jsonl"]);

    directory(&sandbox, "echo 424243");
    let both = ["not_for_its_group.txt", "open.txt"].map(str::to_owned).to_vec();
    assert_eq!(found(&sandbox), [both.clone(), both]);
    let whole = run(&sandbox, &["tokens", "zoe"]).exits(0);
    assert_eq!(
        (whole.out.as_str(), whole.err.as_str()),
        ("unix:everyone\nunix:g:424243\nunix:u:424242\n", "")
    );

    directory(&sandbox, "echo 424243; exit 1");
    let open = vec!["open.txt".to_owned()];
    assert_eq!(found(&sandbox), [open.clone(), open]);
    let part = run(&sandbox, &["tokens", "zoe"]).exits(0);
    assert_eq!(part.out, whole.out, "the tokens stand alone where another program reads them");
    assert!(part.err.contains("not all tokens of zoe") && part.err.contains("stays hidden"), "{part:?}");
    let why = run(&sandbox, &["why", "zoe", "not_for_its_group.txt"]).exits(0).out;
    assert!(why.contains("may not see") && why.contains("the user may hold that"), "{why}");
}
