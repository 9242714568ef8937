//! Stores that are damaged: SQLite's file and log at many offsets, a PostgreSQL database behind the program's back, and the
//! data directory beside it. Every command says so in a sentence or works, and nobody calls it well.

use std::path::Path;

use ingather_store::{Durability, Store, Target, documents};

use crate::dice::Dice;
use crate::files;
use crate::sandbox::{Answer, Kept, Sandbox, finish};

use super::is_told;

/// Documents of the source.
const DOCUMENTS: usize = 40;
/// Damages of SQLite's files that are tried.
const DAMAGES: usize = 24;
/// Threads that try them at the same time.
const THREADS: usize = 3;

fn synced(kept: Kept) -> Sandbox {
    let sandbox = Sandbox::new(kept);
    for n in 0..DOCUMENTS {
        sandbox.write(&format!("d{}/f{n:02}.txt", n % 5), &format!("common w{n}"));
    }
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    sandbox
}

const SEARCH: &[&str] = &["search", "common", "--all", "--limit", "1000", "--json"];

/// Commands that only look.
const LOOKS: [&[&str]; 13] = [
    SEARCH,
    &["job", "list"],
    &["job", "show", "root"],
    &["job", "runs", "root"],
    &["job", "held", "root"],
    &["document", "list", "root"],
    &["document", "list", "root", "--state", "skipped"],
    &["document", "explain", "root", "d1/f01.txt"],
    &["why", "root", "d1/f01.txt"],
    &["pipeline", "try", "root", "d1/f01.txt"],
    &["export"],
    &["tokens", "root"],
    &["sync", "root", "--dry-run"],
];

/// Every command over what was damaged: whether the doctor and verify call it well, and then it is.
fn is_well(run: impl Fn(&[&str]) -> Answer, at: &str) -> bool {
    for look in LOOKS {
        is_told(&run(look), &format!("{at}: {look:?}"));
    }
    let (doctor, verify) = (run(&["doctor"]), run(&["verify"]));
    is_told(&doctor, at);
    is_told(&verify, at);
    let well = doctor.code == 0 && verify.code == 0;
    if well {
        let found = run(SEARCH).exits(0);
        assert_eq!(found.json().len(), DOCUMENTS, "{at}: called well, and is not");
    }
    well
}

fn run(sandbox: &Sandbox, data: &Path, arguments: &[&str]) -> Answer {
    let data = data.to_str().unwrap();
    finish(sandbox.plain(&[&["--data", data], arguments].concat()), None)
}

/// One change of a file, as a bad disk or a copy that was cut short makes it.
fn strike(path: &Path, dice: &mut Dice) -> String {
    let mut bytes = std::fs::read(path).unwrap();
    let at = dice.below(bytes.len());
    let end = (at + [1, 16, 512, 8_192][dice.below(4)]).min(bytes.len());
    let page = at / 4_096 * 4_096;
    let how = match dice.below(5) {
        0 => {
            bytes.truncate(at);
            "cut off"
        }
        1 => {
            bytes[at..end].fill(0);
            "zeros"
        }
        2 => {
            bytes[at..end].iter_mut().for_each(|byte| *byte = dice.below(256) as u8);
            "noise"
        }
        3 => {
            bytes[at] ^= 1 << dice.below(8);
            "one bit"
        }
        _ => {
            let whole = bytes.len().min(page + 4_096);
            bytes.copy_within(0..whole - page, page);
            "another page"
        }
    };
    std::fs::write(path, bytes).unwrap();
    format!("{} {how} at {at}..{end}", path.display())
}

fn survives(sandbox: &Sandbox, number: usize) {
    let mut dice = Dice::new(number as u64);
    let data = sandbox.path().join(format!("data-{number}"));
    files::tool("cp", &["-a", sandbox.data().to_str().unwrap()], &data);
    let file = if number.is_multiple_of(3) { "store.db-wal" } else { "store.db" };
    let at = format!("{number}: {}", strike(&data.join(file), &mut dice));
    let backup = data.with_extension("tar");
    is_well(|arguments| run(sandbox, &data, arguments), &at);
    let backed_up = run(sandbox, &data, &["backup", backup.to_str().unwrap()]);
    is_told(&backed_up, &at);
    if backed_up.code == 0 {
        let restored = data.with_extension("restored");
        run(sandbox, &restored, &["restore", backup.to_str().unwrap(), "-q"]).exits(0);
    }
    for command in
        [&["doctor", "--repair"][..], &["sync", "root"], &["verify", "--repair"], &["sync", "root"]]
    {
        is_told(&run(sandbox, &data, command), &format!("{at}: {command:?}"));
    }
    is_well(|arguments| run(sandbox, &data, arguments), &at);
    is_told(&run(sandbox, &data, &["job", "delete", "root"]), &at);
    std::fs::remove_dir_all(&data).unwrap();
}

#[test]
fn a_store_and_its_log_that_are_damaged_anywhere_are_never_called_well() {
    let sandbox = synced(Kept::Sqlite);
    // As after a kill: the last commits are in the log only.
    let store = Store::open(&Target::Sqlite(sandbox.data().join("store.db"))).unwrap();
    store.write(Durability::Synced, |sql| documents::take_ids(sql, "seq", 10)).unwrap();
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let take = || next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                while let Some(number) = Some(take()).filter(|number| *number < DAMAGES) {
                    survives(&sandbox, number);
                }
            });
        }
    });
}

#[test]
fn a_damaged_store_is_not_backed_up() {
    let sandbox = synced(Kept::Sqlite);
    let file = sandbox.data().join("store.db");
    let whole = std::fs::read(&file).unwrap();
    let mut refusals = 0;
    for page in (4..whole.len() / 4_096).step_by(2) {
        let mut bytes = whole.clone();
        // The first bytes of a page say what it is.
        bytes[page * 4_096..page * 4_096 + 8].fill(0xee);
        std::fs::write(&file, bytes).unwrap();
        let refused = sandbox.run(&["backup", "b.tar"]).exits(3);
        assert_eq!(refused.err.lines().count(), 1, "{refused:#?}");
        assert!(!refused.err.contains("***") && !refused.err.contains("\\x0A"), "{refused:#?}");
        assert!(!sandbox.path().join("b.tar").exists());
        let words = ["nothing was backed up: the store in ", " is damaged (", "restore an earlier backup"];
        refusals += usize::from(words.iter().all(|word| refused.err.contains(word)));
    }
    assert!(refusals > 5, "only {refusals} that were met by nothing else");
    std::fs::write(&file, whole).unwrap();
    sandbox.run(&["backup", "b.tar"]).exits(0);
}

#[test]
fn a_database_that_was_changed_behind_the_programs_back_is_never_called_well() {
    let sandbox = synced(Kept::Postgres);
    let whole = sandbox.database().unwrap().copy();
    let tamper = |sql: &str| {
        let mut client = postgres::Client::connect(sandbox.url().unwrap(), postgres::NoTls).unwrap();
        client.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    };
    for sql in [
        "DELETE FROM meta",
        "UPDATE meta SET value = 'other' WHERE name = 'id'",
        "UPDATE meta SET value = '00000000000000000000000000000000' WHERE name = 'secret'",
        "UPDATE migration SET checksum = 7",
        "DROP TABLE run CASCADE",
        "DROP TABLE document CASCADE",
        "DELETE FROM document WHERE id % 2 = 0",
        "DELETE FROM delivery WHERE address % 2 = 0",
        "TRUNCATE delivery",
        "DELETE FROM connection",
        "UPDATE acl SET list = 'no json'",
        "UPDATE job SET definition = 'no json'",
        "DELETE FROM container",
        "UPDATE connection SET generation = 1000",
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public",
    ] {
        tamper(sql);
        let run = |arguments: &[&str]| sandbox.run(arguments);
        assert!(!is_well(run, sql), "{sql}: called well");
        for command in
            [&["doctor", "--repair"][..], &["sync", "root"], &["verify", "--repair"], &["backup", "b.tar"]]
        {
            is_told(&run(command), &format!("{sql}: {command:?}"));
        }
        let _ = std::fs::remove_file(sandbox.path().join("b.tar"));
        sandbox.database().unwrap().put_back(&whole);
        let _ = std::fs::remove_dir_all(sandbox.data().join("index"));
        sandbox.run(&["sync", "root"]).exits(0);
        assert_eq!(sandbox.run(SEARCH).exits(0).json().len(), DOCUMENTS, "{sql}");
    }
}

#[test]
fn the_data_directory_beside_a_database_is_damaged_and_never_called_well() {
    let sandbox = synced(Kept::Postgres);
    let at = |name: &str| -> std::path::PathBuf {
        let Some(ending) = name.strip_prefix('*') else { return sandbox.data().join("index").join(name) };
        let listed =
            std::fs::read_dir(sandbox.data().join("index")).unwrap().map(|entry| entry.unwrap().path());
        listed
            .filter(|path| path.to_string_lossy().ends_with(ending))
            .max_by_key(|path| path.metadata().unwrap().len())
            .unwrap()
    };
    let run = |arguments: &[&str]| sandbox.run(arguments);
    for name in ["meta.json", "*.store", "*.fast"] {
        for how in ["halved", "noise", "missing"] {
            let path = at(name);
            let mut bytes = std::fs::read(&path).unwrap();
            match how {
                "halved" => std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap(),
                "missing" => std::fs::remove_file(&path).unwrap(),
                _ => {
                    let half = bytes.len() / 2;
                    bytes[half..].iter_mut().for_each(|byte| *byte ^= 0x5a);
                    std::fs::write(&path, bytes).unwrap();
                }
            }
            assert!(!is_well(run, &format!("{name} {how}")), "{name} {how}: called well");
            is_told(&run(&["backup", "b.tar"]), name);
            let _ = std::fs::remove_file(sandbox.path().join("b.tar"));
            sandbox.run(&["verify", "--repair"]).exits(0);
            sandbox.run(&["sync", "root"]).exits(0);
            assert!(is_well(run, "repaired"), "{name} {how}");
        }
    }
    // All of it is lost: the database is what cannot be had again.
    std::fs::remove_dir_all(sandbox.data()).unwrap();
    assert!(!is_well(run, "no directory"));
    sandbox.run(&["sync", "root"]).exits(0);
    assert!(is_well(run, "made anew"));
}
