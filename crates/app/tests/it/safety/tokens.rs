//! Tokens that are not whole hide what a missing one might deny: from searches, from whoever reads a journal, and with a reason.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use ingather_model::access::identity::Group;
use ingather_store::{Durability, Sql, Store, Target, connections};
use ingather_testkit::database::Database;

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
    let names = read.lines().filter(|uri| !uri.is_empty()).filter_map(|uri| uri.rsplit('/').next());
    let read = names.map(str::to_owned).collect();
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

/// There is no command yet that makes a connection of a group: two are made by hand here, as a program with more authorities will.
#[test]
fn what_a_connection_of_another_authority_group_rules_is_found_by_nobody_whom_that_group_does_not_know() {
    let sandbox = Sandbox::sqlite();
    let journal = ["--to", "index", "--to", "journal:changes.jsonl"];
    directory(&sandbox, "echo 424243");
    std::fs::create_dir(sandbox.data()).unwrap();
    std::fs::set_permissions(sandbox.data(), PermissionsExt::from_mode(0o700)).unwrap();
    let target = Target::Sqlite(sandbox.data().join("store.db"));
    let (settings, mails) = (serde_json::json!({}), Group::named("mails"));
    let store = Store::open(&target).unwrap();
    let add =
        |sql: &mut Sql<'_>| connections::add_in_group(sql, ("filesystem", "files"), &settings, &mails, 0);
    store.write(Durability::Synced, add).unwrap();
    drop(store);
    sandbox.write("first.txt", "apple");
    crate::files::settle(&sandbox.root());
    sandbox.synced(&journal);
    assert_eq!(found(&sandbox), [[""; 0], [""; 0]]);

    // The next one is of the group without a name.
    Database::at(target).script("UPDATE connection SET name = 'mails' WHERE name = 'files'");
    let folder = sandbox.path().join("other");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("second.txt"), "apple").unwrap();
    crate::files::settle(&folder);
    sandbox.run(&[&["sync", "other"], &journal[..]].concat()).exits(0);
    assert_eq!(found(&sandbox), [["second.txt"], ["second.txt"]]);
    assert_eq!(sandbox.everything().len(), 2, "both are in the index");
    let why = run(&sandbox, &["why", "zoe", "root/first.txt"]).exits(0).out;
    assert!(why.contains("no authority of the group `mails`"), "{why}");
    let declared = sandbox.run(&["export"]).exits(0).out;
    let declared: serde_json::Value = serde_json::from_str(&declared).unwrap();
    let group = |name: &str| declared["repositories"][name]["group"].clone();
    assert_eq!((group("mails"), group("files")), ("mails".into(), serde_json::Value::Null));
}
