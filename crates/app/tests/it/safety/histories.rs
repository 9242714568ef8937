//! A journal of one history, and a store of another: no id means two things to whoever follows, or has both files.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use ingather_testkit::database::Database;

use crate::files;
use crate::people::{Accounts, Person};
use crate::safety::journal::{agrees, snapshot_agrees};
use crate::sandbox::{Kept, Sandbox};

const FLAGS: [&str; 4] = ["--to", "index", "--to", "journal:told.jsonl"];

/// How a store comes back to an earlier day.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Means {
    /// With the command for it.
    Restored,
    /// The whole data directory is copied back.
    Copied,
    /// The database alone, beside the data directory of today.
    Database,
}

/// What becomes of the journal meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meanwhile {
    Stays,
    IsRotated,
    IsPutBack,
}

struct World<'p> {
    sandbox: Sandbox,
    people: &'p [Person],
    group: &'p str,
}

impl World<'_> {
    fn file(&self, name: &str) -> PathBuf {
        self.sandbox.path().join(name)
    }

    /// Writes a file and tells outputs of it.
    fn sync_with(&self, name: &str, mode: u32) {
        self.sandbox.write(name, name);
        let path = self.sandbox.root().join(name);
        files::tool("chgrp", &[self.group], &path);
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        self.sync();
    }

    fn sync(&self) {
        files::settle(&self.sandbox.root());
        self.sandbox.synced(&FLAGS);
    }

    /// Copies a file or folder of the sandbox over another one.
    fn copy(&self, from: &str, to: &str) {
        let _ = std::fs::remove_dir_all(self.file(to));
        let _ = std::fs::remove_file(self.file(to));
        files::tool("cp", &["-a", self.file(from).to_str().unwrap()], &self.file(to));
    }

    fn keep(&self, means: Means) -> Option<Database> {
        match means {
            Means::Restored => drop(self.sandbox.run(&["backup", "day1"]).exits(0)),
            Means::Copied => self.copy("data", "kept"),
            Means::Database => return Some(self.sandbox.database().unwrap().copy()),
        }
        None
    }

    fn put_back(&self, means: Means, kept: Option<&Database>) {
        match means {
            Means::Restored => {
                std::fs::remove_dir_all(self.file("data")).unwrap();
                self.sandbox.run(&["restore", "day1"]).exits(0);
            }
            Means::Copied => self.copy("kept", "data"),
            Means::Database => self.sandbox.database().unwrap().put_back(kept.unwrap()),
        }
    }

    /// One file is open to all. Then a secret comes, the store goes back, and something comes that people may see: its list has the
    /// number that the secret's had.
    fn go_two_ways(&self, means: Means, meanwhile: Meanwhile) {
        let at = format!("{means:?}, the journal {meanwhile:?}");
        self.sync_with("a.txt", 0o644);
        let kept = self.keep(means);
        self.copy("told.jsonl", "begun.jsonl");
        self.sync_with("secret.txt", 0o600);
        self.copy("told.jsonl", "other.jsonl");
        self.put_back(means, kept.as_ref());
        let mut journals = vec!["told.jsonl"];
        match meanwhile {
            Meanwhile::Stays => {}
            Meanwhile::IsRotated => {
                std::fs::rename(self.file("told.jsonl"), self.file("old.jsonl")).unwrap();
                journals.insert(0, "old.jsonl");
            }
            Meanwhile::IsPutBack => self.copy("begun.jsonl", "told.jsonl"),
        }
        std::fs::remove_file(self.sandbox.root().join("secret.txt")).unwrap();
        self.sync_with("open.txt", 0o640);
        self.nobody_sees_the_secret(&journals, &at);
        snapshot_agrees(&self.sandbox, self.people, &journals, &at);
        // Whoever has followed the other history goes on with this one.
        journals.insert(0, "other.jsonl");
        self.nobody_sees_the_secret(&journals, &format!("{at}, followed"));
        self.copy("other.jsonl", "told.jsonl");
        self.sync();
        self.nobody_sees_the_secret(&["told.jsonl"], &format!("{at}, and the other one's journal"));
        snapshot_agrees(&self.sandbox, self.people, &["told.jsonl"], &at);
    }

    fn nobody_sees_the_secret(&self, journals: &[&str], at: &str) {
        let read = agrees(&self.sandbox, self.people, journals, at);
        let shown = read["shown"].to_string();
        assert!(!shown.contains("secret") && shown.contains("open.txt"), "{at}: {shown}");
    }
}

#[test]
fn a_store_that_was_put_back_by_any_means_gives_no_id_a_second_meaning() {
    ingather_testkit::needs!(Users);
    let accounts = Accounts::make(1, &[&[0]]);
    let people = accounts.people();
    for means in [Means::Restored, Means::Copied, Means::Database] {
        for meanwhile in [Meanwhile::Stays, Meanwhile::IsRotated, Meanwhile::IsPutBack] {
            let kept = if means == Means::Database { Kept::Postgres } else { Kept::Sqlite };
            let world = World { sandbox: Sandbox::new(kept), people: &people, group: &accounts.groups()[0] };
            // Where files do not say when they were made, a copy is as good as what it was made of.
            if means != Means::Copied || std::fs::metadata(world.file("root")).unwrap().created().is_ok() {
                world.go_two_ways(means, meanwhile);
            }
        }
    }
}

#[test]
fn a_journal_of_an_earlier_day_is_not_one_that_was_cut() {
    ingather_testkit::needs!(Users);
    let accounts = Accounts::make(1, &[&[0]]);
    let people = accounts.people();
    let world = World { sandbox: Sandbox::sqlite(), people: &people, group: &accounts.groups()[0] };
    let folder = world.sandbox.root().join("team");
    std::fs::create_dir(&folder).unwrap();
    let mode = |mode| std::fs::set_permissions(&folder, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o700);
    world.sync_with("team/pay.txt", 0o644);
    world.copy("told.jsonl", "begun.jsonl");
    // Closed before the folder opens: nobody could ever read it.
    std::fs::set_permissions(folder.join("pay.txt"), PermissionsExt::from_mode(0o600)).unwrap();
    world.sync();
    mode(0o755);
    world.sync_with("team/open.txt", 0o644);
    world.copy("begun.jsonl", "told.jsonl");
    world.sync();
    let read = agrees(&world.sandbox, world.people, &["told.jsonl"], "put back");
    let shown = read["shown"].to_string();
    assert!(!shown.contains("pay.txt") && shown.contains("open.txt"), "{shown}");
}

#[test]
fn a_snapshot_refuses_files_of_two_histories() {
    ingather_testkit::needs!(Users);
    let accounts = Accounts::make(1, &[&[0]]);
    let people = accounts.people();
    let world = World { sandbox: Sandbox::sqlite(), people: &people, group: &accounts.groups()[0] };
    world.sync_with("a.txt", 0o644);
    world.copy("told.jsonl", "begun.jsonl");
    world.sync_with("b.txt", 0o640);
    let (told, begun) = (std::fs::read_to_string(world.file("told.jsonl")), world.file("begun.jsonl"));
    let told = told.unwrap();
    let acl = told.lines().rfind(|line| line.starts_with("{\"op\":\"acl\"")).unwrap();
    let refuses = |files: &[&str], words: &[&str]| {
        world.sandbox.run(&[&["journal", "snapshot"], files].concat()).refuses(3, words);
    };
    refuses(&["told.jsonl", "begun.jsonl"], &["line 1 of `begun.jsonl`", "from the oldest to the newest"]);
    // As an earlier version wrote after a restore: the id once more, with other people, under the same state.
    let level = acl.find("\"level\"").unwrap();
    let seq: i64 = acl.split_once("\"seq\":").unwrap().1.split_once(',').unwrap().0.parse().unwrap();
    let later = acl[..level].replace(&format!("\"seq\":{seq}"), &format!("\"seq\":{}", seq + 1_000));
    let other = format!("{later}\"level\":{{\"flat\":{{\"allow\":[],\"deny\":[]}}}}}}");
    std::fs::write(&begun, format!("{told}{other}\n")).unwrap();
    refuses(&["begun.jsonl"], &["a second meaning", "--update"]);
    // Told again as it was: what a rotation does.
    let same = acl.replace(&format!("\"seq\":{seq}"), &format!("\"seq\":{}", seq + 1_000));
    std::fs::write(&begun, format!("{told}{same}\n")).unwrap();
    world.sandbox.run(&["journal", "snapshot", "begun.jsonl"]).exits(0);
}

/// What a kill leaves: an entry whose put or removal nobody confirmed is hidden, or told of once more, by the next run.
#[test]
fn a_snapshot_of_a_whole_journal_misses_nothing_that_was_only_hidden() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "one");
    files::settle(&sandbox.root());
    sandbox.synced(&FLAGS);
    let told = std::fs::read_to_string(sandbox.path().join("told.jsonl")).unwrap();
    let line = |op: &str, id: &str, seq: i64, access: &str| {
        let head =
            format!("{{\"op\":\"{op}\",\"seq\":{seq},\"id\":\"{id}\",\"address\":\"0\",\"job\":\"root\"");
        format!("{head},\"uri\":\"{id}\",\"version\":null,\"fields\":{{}}{access}}}\n")
    };
    let put = told.lines().find(|line| line.starts_with("{\"op\":\"put\"")).unwrap();
    let (_, id) = put.split_once("\"id\":\"").unwrap();
    let (id, _) = id.split_once('"').unwrap();
    let shown = r#","acl":1,"container":"1-1""#;
    let hidden = r#","acl":null,"container":null"#;
    let whole =
        [line("delete", id, 1_000, ""), line("access", id, 1_001, shown), line("access", "x", 1_002, hidden)];
    let snapshot = |lines: &[String]| {
        std::fs::write(sandbox.path().join("killed.jsonl"), format!("{told}{}", lines.concat())).unwrap();
        sandbox.run(&["journal", "snapshot", "killed.jsonl"])
    };
    let answer = snapshot(&whole).exits(0);
    assert!(answer.err.contains("entries: 0"), "{answer:?}");
    // One that is shown was put in a file that is missing, until it is hidden or gone.
    let missing = [&whole[..], &[line("access", "x", 1_003, shown)]].concat();
    let answer = snapshot(&missing).exits(1);
    assert!(answer.err.contains("put is in none of them: 1;"), "{answer:?}");
    snapshot(&[&missing[..], &[line("delete", "x", 1_004, "")]].concat()).exits(0);
}
