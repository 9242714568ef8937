//! What was erased stays erased: in jobs that come later, under every spelling of its name, and until somebody lets it in.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use super::erase::{erase, erased, path, told};
use crate::sandbox::{Kept, Sandbox};

#[test]
fn what_is_erased_everywhere_stays_out_of_jobs_that_do_not_know_it_yet_and_of_those_that_come_later() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("sub/b.txt", "banana");
        let sub = path(&sandbox, "sub");
        sandbox.run(&["sync", &sub, "--name", "sub"]).exits(0);
        sandbox.write("sub/a.txt", "quicksilver");
        sandbox.synced(&[]);
        let file = path(&sandbox, "sub/a.txt");
        erase(&sandbox, &[&file]).exits(0);
        sandbox.run(&["sync", &sub]).exits(0);
        sandbox.synced(&[]);
        assert_eq!(sandbox.find("quicksilver"), [""; 0], "the job that had not met it leaves it out");

        sandbox.run(&["job", "delete", "root", "-q"]).exits(0);
        let stays = erased(&sandbox);
        assert_eq!((stays.len(), &stays[0]["job"]), (1, &json!("")), "{stays:?}");
        assert_eq!(stays[0]["document"], format!("file://{file}"));
        sandbox.synced(&[]);
        assert_eq!(sandbox.find("quicksilver"), [""; 0], "a job that is made again leaves it out");
        let why = &sandbox.run(&["document", "explain", "root", "sub/a.txt", "--json"]).exits(0).json()[0];
        assert_eq!(why["code"], "erased", "{why}");

        // Into one job alone, and then into all.
        sandbox.run(&["document", "readmit", "root", "sub/a.txt"]).exits(0);
        sandbox.run(&["sync", &sub]).exits(0);
        assert_eq!(sandbox.find("quicksilver"), [""; 0], "the other job has it erased");
        assert_eq!(sandbox.synced(&[]).get("added"), 1);
        assert_eq!(sandbox.find("quicksilver"), ["sub/a.txt"]);
        erase(&sandbox, &[&file]).exits(0);
        let let_in = &sandbox.run(&["document", "readmit", &file, "--json"]).exits(0).json()[0];
        assert_eq!(let_in, &json!({"job": "", "document": format!("file://{file}")}));
        assert_eq!(erased(&sandbox), [Value::Null; 0]);
        sandbox.run(&["sync", &sub]).exits(0);
        assert_eq!(sandbox.find("quicksilver"), ["a.txt"]);
        sandbox.run(&["document", "readmit", &file]).refuses(2, &["was erased", "document erased"]);
        sandbox.run(&["verify"]).exits(0);
    }
}

#[test]
fn what_one_job_has_erased_stays_out_of_a_job_of_its_name_alone() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("sub/a.txt", "quicksilver");
        sandbox.synced(&[]);
        let sub = path(&sandbox, "sub");
        erase(&sandbox, &["root", "sub/a.txt"]).exits(0);
        sandbox.run(&["sync", &sub, "--name", "sub"]).exits(0);
        assert_eq!(sandbox.find("quicksilver"), ["a.txt"], "the other job takes it in");
        sandbox.run(&["job", "delete", "root", "-q"]).exits(0);
        assert_eq!(erased(&sandbox)[0]["job"], "root");
        assert_eq!(sandbox.synced(&[]).get("added"), 0);
        sandbox.run(&["document", "readmit", "root", "sub/a.txt"]).exits(0);
        assert_eq!((erased(&sandbox).len(), sandbox.synced(&[]).get("added")), (0, 1));
    }
}

#[test]
fn what_is_erased_twice_was_erased_the_first_time() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "quicksilver");
    sandbox.synced(&[]);
    erase(&sandbox, &["root", "a.txt"]).exits(0);
    let first = erased(&sandbox);
    erase(&sandbox, &["root", "a.txt"]).exits(0);
    erase(&sandbox, &[&path(&sandbox, "a.txt")]).exits(0);
    assert_eq!(erased(&sandbox), first);
}

#[test]
fn what_one_job_alone_has_sent_leaves_the_entry_that_another_one_shares() {
    let sandbox = Sandbox::sqlite();
    let journal = sandbox.path().join("changes.jsonl");
    let to = format!("journal:{}", journal.display());
    let sub = path(&sandbox, "sub");
    sandbox.write("sub/a.txt", "apple");
    sandbox.run(&["sync", &sub, "--name", "sub", "--to", "index", "--to", &to]).exits(0);
    sandbox.write("sub/a.txt", "quicksilver of this job alone");
    sandbox.synced(&["--to", "index", "--to", &to]);
    let uri = format!("file://{}", path(&sandbox, "sub/a.txt"));
    erase(&sandbox, &["root", "sub/a.txt"]).exits(0);
    assert_eq!(told(&journal, &uri).last().map(String::as_str), Some("delete"));
    sandbox.run(&["sync", &sub]).exits(0);
    assert_eq!(told(&journal, &uri).last().map(String::as_str), Some("put"));
    assert_eq!(sandbox.find("quicksilver"), ["a.txt"], "the other job has it by its own look");
    sandbox.run(&["verify"]).exits(0);
}

#[test]
fn a_name_with_a_byte_that_is_no_text_and_one_that_is_written_like_it_are_two() {
    let sandbox = Sandbox::sqlite();
    let (byte, written) = (OsStr::from_bytes(b"caf\xe9.txt"), r"caf\xE9.txt");
    std::fs::write(sandbox.root().join(byte), "quicksilver").unwrap();
    std::fs::write(sandbox.root().join(written), "mercury").unwrap();
    sandbox.synced(&[]);
    let typed = path(&sandbox, written);
    let uris =
        [path(&sandbox, "caf%E9.txt"), path(&sandbox, "caf%5CxE9.txt")].map(|path| format!("file://{path}"));
    for name in [&typed, written] {
        sandbox
            .run(&["document", "erase", name, "--yes"])
            .refuses(2, &["names two documents", &uris[0], &uris[1]]);
    }
    // The byte itself can be meant for one of them alone, and so can the name as lists write it.
    let would = |name: &OsStr| {
        let mut command = sandbox.command(&["document", "erase", "--dry-run", "--json"]);
        command.arg(name);
        crate::sandbox::finish(command, None).exits(0).json()[0]["documents"][0]["uri"].clone()
    };
    assert_eq!(would(sandbox.root().join(byte).as_os_str()), uris[0]);
    assert_eq!(would(OsStr::new(r"caf\\xE9.txt")), uris[1]);
    erase(&sandbox, &[&uris[1]]).exits(0);
    assert_eq!((sandbox.find("quicksilver").len(), sandbox.find("mercury").len()), (1, 0));
    // What no job knows is there: nothing else is erased in its place.
    sandbox.run(&["document", "readmit", &uris[1]]).exits(0);
    sandbox.run(&["document", "erase", &typed, "--yes"]).refuses(2, &["which no job knows", &uris[0]]);
    assert_eq!(sandbox.find("quicksilver").len(), 1);
    // Only one of them is there.
    sandbox.synced(&[]);
    std::fs::remove_file(sandbox.root().join(byte)).unwrap();
    sandbox.synced(&[]);
    erase(&sandbox, &[&typed]).exits(0);
    assert_eq!(sandbox.find("mercury"), [""; 0]);
}

#[test]
fn nothing_is_erased_where_nobody_can_be_asked_and_nobody_has_said_yes() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "quicksilver");
    sandbox.synced(&[]);
    for flags in [&[][..], &["--json"], &["-q"]] {
        let arguments = [&["document", "erase", "root", "a.txt"], flags].concat();
        sandbox.run(&arguments).refuses(2, &["nobody can be asked", "--yes", "--dry-run"]);
    }
    assert_eq!((sandbox.find("quicksilver").len(), erased(&sandbox).len()), (1, 0));
    sandbox.run(&["document", "erase", "root", "a.txt", "--yes"]).exits(0);
    assert_eq!((sandbox.find("quicksilver").len(), erased(&sandbox).len()), (0, 1));
}
