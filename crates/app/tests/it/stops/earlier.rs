//! The way from an earlier version to this one, and back: what docs/manual/upgrade.md promises. The data directory is one that the program
//! of commit 4e0e4c6 has filled and backed up; here it stands for whatever has not been upgraded for long.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use ingather_model::ids::Digest;
use ingather_model::key::DocumentKey;
use ingather_store::{Reader, documents, jobs};
use rustix::process::{Pid, Signal, kill_process};

use crate::files;
use crate::sandbox::{Counts, Kept, Sandbox};

/// Its backup. The jobs `documents`, to the index, and `counted`, which cuts documents off and counts them, ran over /srv/documents.
const BACKUP: &[u8] = include_bytes!("../../../../engine/tests/stores/1-4e0e4c6.backup.tar.gz");
/// What the program that made it told by `search '*' --as nobody`, and beside that by `search '*' --all`.
const OPEN: [&str; 7] = [
    "nested/deep/1.txt",
    "nested/deep/2.txt",
    "open/1.txt",
    "open/2.txt",
    "open/3.txt",
    "open/a.tar",
    "open/broken.pdf",
];
const CLOSED: [&str; 4] = ["closed/1.txt", "closed/2.txt", "closed/3.txt", "nested/deep/3.txt"];
/// What decides whether all documents of `counted` are sent again, as that program has computed it.
const COUNTED: Digest = Digest(7_033_836_955_244_493_798);

/// Makes the source as it was, in a mount table that is this test's own.
fn make_source() {
    files::tool("mount", &["-t", "tmpfs", "-o", "mode=755", "none"], Path::new("/srv"));
    let root = Path::new("/srv/documents");
    for folder in ["open", "closed", "nested/deep"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    for n in 1..=3 {
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
        write(&format!("open/{n}.txt"), &format!("a quince from terrace {n}\n"));
        write(&format!("closed/{n}.txt"), &format!("the ledger of saffron {n}\n"));
        write(&format!("nested/deep/{n}.txt"), &format!("the ferry crosses the lake {n}\n"));
    }
    std::fs::write(root.join("open/broken.pdf"), "not a portable document").unwrap();
    let archive = ["--create", "--directory=/srv/documents/open", "1.txt", "2.txt", "--file"];
    files::tool("tar", &archive, &root.join("open/a.tar"));
    for (name, mode) in
        [("", 0o755), ("open", 0o755), ("nested", 0o755), ("nested/deep", 0o755), ("closed", 0o700)]
    {
        std::fs::set_permissions(root.join(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    files::tool("chmod", &["-R", "a+r"], &root.join("open"));
    for (name, mode) in [("1", "644"), ("2", "644"), ("3", "640")] {
        files::tool("chmod", &[mode], &root.join(format!("nested/deep/{name}.txt")));
    }
    files::settle(root);
}

/// The backup, unpacked from what the repository has.
fn put_backup(sandbox: &Sandbox) {
    let packed = sandbox.path().join("backup.tar.gz");
    std::fs::write(&packed, BACKUP).unwrap();
    files::tool("gzip", &["--decompress"], &packed);
}

/// The data directory as that program has left it: nothing of this one has touched it.
fn put_data(sandbox: &Sandbox) {
    put_backup(sandbox);
    std::fs::create_dir(sandbox.data()).unwrap();
    std::fs::set_permissions(sandbox.data(), PermissionsExt::from_mode(0o700)).unwrap();
    let wanted = format!("--directory={}", sandbox.data().display());
    let parts = ["--extract", &wanted, "--wildcards", "store.db", "index/*", "--file"];
    files::tool("tar", &parts, &sandbox.path().join("backup.tar"));
}

/// A service that begins, says that it is ready, and is ended.
fn serve(sandbox: &Sandbox) {
    let path = sandbox.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(150))).unwrap();
    let mut service = sandbox.command(&["serve", "--listen", "127.0.0.1:0"]);
    service.env("NOTIFY_SOCKET", &path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = service.spawn().unwrap();
    let mut told = [0_u8; 64];
    let length = manager.recv(&mut told).unwrap();
    assert_eq!(&told[..length], b"READY=1");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    std::fs::remove_file(path).unwrap();
}

/// That everybody finds what they found before.
#[track_caller]
fn found_as_before(sandbox: &Sandbox, at: &str) {
    let found = |who: &[&str], query: &str| -> BTreeSet<String> {
        let words = [&["search", query, "--limit", "100", "--json"], who].concat();
        sandbox.run(&words).exits(0).documents().into_iter().collect()
    };
    let names = |of: &[&str]| of.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    assert_eq!(found(&["--as", "nobody"], "*"), names(&OPEN), "{at}");
    assert_eq!(found(&["--all"], "*"), names(&[&OPEN[..], &CLOSED].concat()), "{at}");
    assert_eq!(found(&["--as", "nobody"], "lake"), names(&OPEN[..2]), "{at}");
    assert_eq!(found(&["--as", "nobody"], "saffron"), names(&[]), "{at}");
}

/// The counters of `sync --all`, by the name of the job.
#[track_caller]
fn sync_all(sandbox: &Sandbox, flags: &[&str]) -> Vec<(String, Counts)> {
    let lines = sandbox.run(&[&["sync", "--all", "--json"], flags].concat()).exits(0).json();
    lines.iter().map(|line| (line["job"].as_str().unwrap().to_owned(), Counts::of(line))).collect()
}

/// What decides whether the documents of a job are sent again.
fn settings(sandbox: &Sandbox, name: &str) -> BTreeSet<i64> {
    let target = ingather_store::Target::Sqlite(sandbox.data().join("store.db"));
    let reader = Reader::open(&target).unwrap().unwrap();
    let job = reader.read(jobs::list).unwrap().into_iter().find(|job| job.name == name).unwrap();
    let listed = reader.read(|sql| documents::list(sql, job.id, DocumentKey::BEFORE_ALL, 100)).unwrap();
    let ids: Vec<i64> = listed.iter().map(|listed| listed.id.0).collect();
    let known = reader.read(|sql| documents::get(sql, &ids)).unwrap();
    assert_eq!(known.len(), OPEN.len() + CLOSED.len());
    known.iter().map(|stored| stored.known.settings.0).collect()
}

#[test]
fn what_the_first_version_has_stored_is_found_as_before_at_each_step_of_an_upgrade() {
    ingather_testkit::needs!(Mounts);
    make_source();
    let sandbox = Sandbox::sqlite();
    put_data(&sandbox);
    // Who only looks changes nothing, and there is no backup by this program until it has been upgraded.
    let before = sandbox.snapshot();
    for words in [&["search", "*", "--all"][..], &["job", "list"], &["doctor"], &["backup", "later.tar"]] {
        sandbox.run(words).refuses(3, &["older version", "`ingather sync`"]);
    }
    assert!(before == sandbox.snapshot(), "a command that looks has changed something");
    assert!(!sandbox.path().join("later.tar").exists());

    // The service brings the store up to date, and sends nothing by that.
    let index = |sandbox: &Sandbox| {
        let files = sandbox.snapshot().into_iter();
        files.filter(|(path, _)| path.starts_with(sandbox.data().join("index"))).collect::<Vec<_>>()
    };
    let indexed = index(&sandbox);
    serve(&sandbox);
    assert!(indexed == index(&sandbox), "the index has changed");
    found_as_before(&sandbox, "with a service");
    sandbox.run(&["status"]).exits(0);

    // The first run reads again what newer readers might read otherwise; nothing goes, and then everything rests.
    let seen = (OPEN.len() + CLOSED.len()) as u64;
    // The source lies on another device than then.
    let first = sync_all(&sandbox, &["--accept-devices"]);
    assert_eq!(first.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["counted", "documents"]);
    for (name, counts) in &first {
        let gone = ["added", "deleted", "held", "kept", "failed"].map(|word| counts.get(word));
        assert_eq!(gone, [0; 5], "{name}: {counts:?}");
    }
    found_as_before(&sandbox, "after the first run");
    // Where no stage is another one than then, all is as that program would have it.
    assert_eq!(settings(&sandbox, "counted"), BTreeSet::from([COUNTED.0]));
    for (name, counts) in sync_all(&sandbox, &[]) {
        assert_eq!(counts.get("unchanged"), seen, "{name}: {counts:?}");
    }
    sandbox.run(&["verify"]).exits(0);
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn a_backup_of_the_first_version_is_restored_and_found_as_it_was_while_its_source_is_away() {
    ingather_testkit::needs!(Mounts);
    // An empty place, where the source was.
    files::tool("mount", &["-t", "tmpfs", "-o", "mode=755", "none"], Path::new("/srv"));
    let sandbox = Sandbox::sqlite();
    put_backup(&sandbox);
    let archive = std::fs::read(sandbox.path().join("backup.tar")).unwrap();
    sandbox.run(&["restore", "backup.tar"]).exits(0);
    found_as_before(&sandbox, "restored");
    assert!(archive == std::fs::read(sandbox.path().join("backup.tar")).unwrap(), "the way back is open");
    // A missing source removes nothing, also from an index that is made anew in its new form.
    let answer = sandbox.run(&["sync", "documents"]).exits(1);
    assert!(answer.err.contains("/srv/documents is missing; nothing was removed"), "{answer:#?}");
    found_as_before(&sandbox, "in the new form");
    sandbox.run(&["verify"]).exits(0);
}

#[test]
fn a_job_that_is_named_and_all_of_them_run_on_what_the_first_version_has_stored() {
    ingather_testkit::needs!(Mounts);
    make_source();
    for words in [&["sync", "documents"][..], &["sync", "--all"]] {
        let sandbox = Sandbox::sqlite();
        put_data(&sandbox);
        sandbox.run(&["sync", "documents", "--dry-run"]).refuses(3, &["older version", "`ingather sync`"]);
        sandbox.run(&[words, &["--accept-devices"]].concat()).exits(0);
        found_as_before(&sandbox, &words.concat());
    }
}

#[test]
fn what_a_later_version_has_written_is_left_alone_and_the_backup_of_before_goes_on() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        (0..5).for_each(|n| sandbox.write(&format!("f{n}.txt"), &format!("word{n}")));
        files::settle(&sandbox.root());
        sandbox.synced(&[]);
        sandbox.run(&["backup", "before.tar"]).exits(0);
        let saved = sandbox.database().map(|database| database.copy());
        // A step that this program does not know.
        let later = "INSERT INTO migration (number, name, checksum) VALUES (1000, 'later', 1);";
        match sandbox.database() {
            Some(database) => database.script(later),
            None => {
                let target = ingather_store::Target::Sqlite(sandbox.data().join("store.db"));
                ingather_testkit::database::Database::at(target).script(later);
            }
        }
        // The lock names who holds it, be it for a moment.
        let stored = || {
            let mut files = sandbox.snapshot();
            files.remove(&sandbox.data().join("lock"));
            files
        };
        let after = stored();
        for words in [
            &["sync", "root"][..],
            &["sync", "--all"],
            &["serve", "--listen", "127.0.0.1:0"],
            &["search", "*", "--all"],
            &["job", "list"],
            &["status"],
            &["doctor", "--repair"],
            &["verify", "--repair"],
            &["export"],
            &["backup", "after.tar"],
        ] {
            let answer = sandbox.run(words).exits(3);
            assert!(answer.err.contains("written by a newer version of ingather"), "{words:?}: {answer:#?}");
            assert!(answer.err.contains("use that version"), "{words:?}: {answer:#?}");
        }
        assert!(after == stored(), "{kept:?}: something was changed");
        // The way back: what is stored by the later version goes, what was saved before comes.
        std::fs::remove_dir_all(sandbox.data()).unwrap();
        if let (Some(database), Some(saved)) = (sandbox.database(), &saved) {
            database.put_back(saved);
        }
        sandbox.run(&["restore", "before.tar"]).exits(0);
        sandbox.run(&["verify", "--repair"]).exits(0);
        assert_eq!(sandbox.synced(&[]).get("unchanged"), 5, "{kept:?}");
        assert_eq!(sandbox.everything().len(), 5, "{kept:?}");
        assert!(!sandbox.path().join("after.tar").exists(), "{kept:?}");
    }
}
