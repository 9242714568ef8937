//! Files of the data directory that are not as they were written: every command says so in a sentence or works, none
//! panics, none says that all is well, and what is whole stays.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ingather_store::{Durability, Store, Target, documents};

use crate::files;
use crate::sandbox::{Answer, Kept, Sandbox, finish};

use super::is_told;

/// Documents of the source.
const DOCUMENTS: usize = 60;
/// Threads that try damages at the same time.
const THREADS: usize = 3;

fn synced() -> Sandbox {
    let sandbox = Sandbox::sqlite();
    for n in 0..DOCUMENTS {
        let words: Vec<String> = (0..200).map(|word| format!("w{}", word * 7 + n * 13)).collect();
        sandbox.write(&format!("d{}/f{n:02}.txt", n % 5), &format!("common {}", words.join(" ")));
    }
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    sandbox
}

fn run(sandbox: &Sandbox, data: &Path, arguments: &[&str]) -> Answer {
    let data = data.to_str().unwrap();
    finish(sandbox.plain(&[&["--data", data], arguments].concat()), None)
}

/// Every file below a folder with its content, but for the store's own, whose log goes in with its last reader.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        for entry in std::fs::read_dir(path).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = path.to_string_lossy().into_owned();
            if entry.file_type().unwrap().is_dir() {
                waiting.push(path);
            } else if !name.contains("store.db") {
                found.insert(path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(path).unwrap());
            }
        }
    }
    found
}

/// The largest file of the index whose name ends so.
fn largest(data: &Path, ending: &str) -> PathBuf {
    let of_kind = std::fs::read_dir(data.join("index")).unwrap().map(|entry| entry.unwrap());
    let of_kind = of_kind.filter(|entry| entry.file_name().to_string_lossy().ends_with(ending));
    of_kind.max_by_key(|entry| entry.metadata().unwrap().len()).unwrap().path()
}

/// Writes noise over the second half of a file, but for as much of its end.
fn overwrite(path: &Path, left: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    let half = bytes.len() / 2;
    let end = bytes.len().saturating_sub(left).max(half);
    let mut noise: u32 = 0x9e37_79b9;
    for byte in &mut bytes[half..end] {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (noise >> 24) as u8;
    }
    std::fs::write(path, bytes).unwrap();
}

/// What can happen to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    Overwritten,
    Inside,
    Halved,
    Emptied,
    Missing,
    Foreign,
    Folder,
}

const ALL: [Damage; 7] = [
    Damage::Overwritten,
    Damage::Inside,
    Damage::Halved,
    Damage::Emptied,
    Damage::Missing,
    Damage::Foreign,
    Damage::Folder,
];

impl Damage {
    fn strike(self, path: &Path) {
        match self {
            Damage::Overwritten => overwrite(path, 0),
            // Such a file says at its end that it is whole.
            Damage::Inside => overwrite(path, 300),
            Damage::Halved => {
                let bytes = std::fs::read(path).unwrap();
                std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
            }
            Damage::Emptied => std::fs::write(path, "").unwrap(),
            Damage::Missing => std::fs::remove_file(path).unwrap(),
            Damage::Foreign => std::fs::write(path, "this is none of its files\n".repeat(500)).unwrap(),
            Damage::Folder => {
                std::fs::remove_file(path).unwrap();
                std::fs::create_dir(path).unwrap();
            }
        }
    }
}

/// Commands that only look.
const LOOKS: [&[&str]; 12] = [
    &["search", "common", "--all", "--limit", "100", "--json"],
    &["search", "\"common w7\"", "--all", "--facets"],
    &["search", "*", "--all", "--sort", "modified"],
    &["job", "list"],
    &["job", "show", "root"],
    &["document", "list", "root"],
    &["document", "explain", "root", "d1/f01.txt"],
    &["why", "root", "d1/f01.txt"],
    &["export"],
    &["sync", "root", "--dry-run"],
    &["verify"],
    &["doctor"],
];

/// One damage from strike to cure.
fn survives(sandbox: &Sandbox, file: &str, damage: Damage) {
    let at = format!("{file} {damage:?}");
    let data = sandbox.path().join(format!("data-{}-{damage:?}", file.replace('/', "_")));
    files::tool("cp", &["-a", sandbox.data().to_str().unwrap()], &data);
    let path = match file.strip_prefix("index/*") {
        Some(ending) => largest(&data, ending),
        None => data.join(file),
    };
    let kept = std::fs::read(&path).unwrap();
    damage.strike(&path);
    if std::fs::read(&path).is_ok_and(|bytes| bytes == kept) {
        return;
    }
    let before = content(&data);
    let mut told = false;
    for look in LOOKS {
        let answer = run(sandbox, &data, look);
        is_told(&answer, &format!("{at}: {look:?}"));
        if matches!(look[0], "verify" | "doctor") {
            told |= answer.code != 0;
        }
        if look == LOOKS[0] && answer.code == 0 {
            assert_eq!(answer.json().len(), DOCUMENTS, "{at}: fewer hits, and no word about it");
        }
    }
    let backup = format!("{}.tar", data.display());
    let backed_up = run(sandbox, &data, &["backup", &backup]);
    is_told(&backed_up, &at);
    let harmless = file == "lock"
        || file.ends_with("-wal")
        || (file == "index/.managed.json" && damage == Damage::Missing);
    assert!(told || harmless, "{at}: neither verify nor doctor found it");
    let mut after = content(&data);
    // Which backups there are, for whoever erases a document.
    after.retain(|name, _| name.file_name().is_none_or(|name| name != "backups.jsonl"));
    let changed = after.keys().chain(before.keys()).filter(|name| after.get(*name) != before.get(*name));
    assert_eq!(changed.collect::<Vec<_>>(), Vec::<&PathBuf>::new(), "{at}: changed by who only looks");
    // A sync fails with a sentence or works; it never makes the loss its own.
    is_told(&run(sandbox, &data, &["sync", "root"]), &at);
    if file.starts_with("index/") {
        is_told(&run(sandbox, &data, &["verify", "--repair"]), &at);
        run(sandbox, &data, &["sync", "root", "-q"]).exits(0);
    } else if file.starts_with("store.db") {
        let _ = std::fs::remove_dir(&path);
        for leftover in ["store.db-wal", "store.db-shm"] {
            let _ = std::fs::remove_file(data.join(leftover));
        }
        std::fs::write(&path, kept).unwrap();
        run(sandbox, &data, &["sync", "root", "-q"]).exits(0);
    }
    let found = run(sandbox, &data, LOOKS[0]).exits(0);
    assert_eq!(found.json().len(), DOCUMENTS, "{at}");
    run(sandbox, &data, &["verify", "-q"]).exits(0);
    if backed_up.code == 0 && damage == Damage::Overwritten && file.starts_with("index/") {
        let restored = data.with_extension("restored");
        is_told(&run(sandbox, &restored, &["restore", &backup]), &at);
    }
    std::fs::remove_dir_all(&data).unwrap();
}

#[test]
fn no_command_panics_over_damaged_files_or_calls_them_well() {
    let sandbox = synced();
    // As after a kill: the last commits are in the log only.
    let store = Store::open(&Target::Sqlite(sandbox.data().join("store.db"))).unwrap();
    store.write(Durability::Synced, |sql| documents::take_ids(sql, "seq", 10)).unwrap();
    let files = [
        "index/meta.json",
        "index/.managed.json",
        "index/*.store",
        "index/*.pos",
        "index/*.idx",
        "index/*.term",
        "index/*.fast",
        "index/*.fieldnorm",
        "store.db",
        "store.db-wal",
        "lock",
    ];
    let cases: Vec<(&str, Damage)> =
        files.into_iter().flat_map(|file| ALL.map(|damage| (file, damage))).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((file, damage)) =
                    cases.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    survives(&sandbox, file, *damage);
                }
            });
        }
    });
}

#[test]
fn a_damaged_index_is_found_named_and_made_anew() {
    let sandbox = synced();
    overwrite(&largest(&sandbox.data(), ".store"), 300);
    overwrite(&largest(&sandbox.data(), ".pos"), 300);
    let found = sandbox.run(&["verify", "index"]).exits(1);
    assert!(found.out.contains("index: its file ") && found.err.contains("--repair"), "{found:?}");
    let line = sandbox.run(&["verify", "--json"]).exits(1).json().pop().unwrap();
    assert!(line["damage"].as_array().unwrap().len() >= 3, "files and entries: {line}");
    let named = sandbox.run(&["doctor"]).exits(1);
    assert!(
        named.out.contains("output index: its file") && named.out.contains("verify index --repair"),
        "{named:?}"
    );
    let words = ["the search index is damaged: ", "`ingather verify index --repair`"];
    sandbox.run(&["search", "*", "--all", "--limit", "100"]).refuses(3, &words);
    let cured = sandbox.run(&["verify", "--repair"]).exits(0);
    assert!(cured.out.contains("was made anew, and everything was sent again"), "{cured:?}");
    assert_eq!(sandbox.everything().len(), DOCUMENTS);
    assert_eq!(sandbox.synced(&[]).get("unchanged"), DOCUMENTS as u64);
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn who_looks_makes_no_index_and_does_not_change_what_the_next_one_says() {
    let sandbox = synced();
    std::fs::remove_dir_all(sandbox.data().join("index")).unwrap();
    for _ in 0..2 {
        let named = sandbox.run(&["doctor"]).exits(1);
        assert!(named.out.contains("output index: it is not there"), "{named:?}");
        assert!(!named.out.contains("would stop there"), "{named:?}");
        let missing = sandbox.run(&["verify"]).exits(1);
        assert!(missing.out.contains("60 missing"), "{missing:?}");
        sandbox.run(&["search", "common", "--all"]).refuses(3, &["not there any more", "ingather sync"]);
        assert!(!sandbox.data().join("index").exists());
    }
}

#[test]
fn the_index_of_another_store_or_of_an_earlier_day_answers_no_search() {
    let sandbox = synced();
    let other = synced();
    let (mine, earlier) = (sandbox.data().join("index"), sandbox.path().join("earlier"));
    files::tool("cp", &["-a", mine.to_str().unwrap()], &earlier);
    sandbox.write("late.txt", "latecomer");
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    std::fs::remove_dir_all(&mine).unwrap();
    std::fs::rename(&earlier, &mine).unwrap();
    sandbox.run(&["search", "common", "--all"]).refuses(3, &["of an earlier day", "ingather sync"]);
    std::fs::remove_dir_all(&mine).unwrap();
    files::tool("cp", &["-a", other.data().join("index").to_str().unwrap()], &mine);
    sandbox
        .run(&["search", "common", "--all"])
        .refuses(3, &["belongs to another store", "move that folder away"]);
    for command in [&["verify"][..], &["doctor"], &["sync", "root"]] {
        let told = sandbox.run(command);
        assert!(told.code != 0 && format!("{told:?}").contains("belongs to another store"), "{told:?}");
    }
}

#[test]
fn a_closed_pipe_and_a_full_device_are_no_panic() {
    let sandbox = synced();
    let program = env!("CARGO_BIN_EXE_ingather");
    let mut commands = LOOKS.to_vec();
    commands.extend([
        &["completions", "bash"][..],
        &["tokens", "root"],
        &["--help"],
        &["sync", "--help"],
        &["--version"],
    ]);
    for arguments in commands {
        for (where_to, code) in [("> /dev/full", 3), ("| true", 0)] {
            let mut command = Command::new("bash");
            let line = format!("set -o pipefail; \"$0\" \"$@\" {where_to}");
            command.args(["-c", &line, program, "--data"]).arg(sandbox.data()).args(arguments);
            let answer = finish(
                {
                    command.current_dir(sandbox.path());
                    command
                },
                None,
            );
            is_told(&answer, &format!("{arguments:?} {where_to}"));
            // A clean doctor and an empty answer have nothing to write.
            let writes = arguments[0] != "doctor";
            assert!(
                answer.code == code || !writes && answer.code == 0,
                "{arguments:?} {where_to}: {answer:?}"
            );
        }
    }
}

#[test]
fn verifying_beside_a_sync_finds_no_difference_at_any_instant() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        (0..50).for_each(|n| sandbox.write(&format!("f{n}.txt"), &format!("old{n}")));
        files::settle(&sandbox.root());
        sandbox.synced(&[]);
        (0..3_000).for_each(|n| sandbox.write(&format!("new{}/g{n}.txt", n % 40), &format!("new{n}")));
        (0..5).for_each(|n| files::remove(&sandbox.root().join(format!("f{n}.txt"))));
        files::settle(&sandbox.root());
        let mut command = sandbox.command(&["sync", "root", "--json"]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let mut looks = 0;
        while child.try_wait().unwrap().is_none() {
            sandbox.run(&["verify"]).exits(0);
            sandbox.run(&["search", "old7", "--all"]).exits(0);
            looks += 1;
        }
        assert!(looks >= 2, "only {looks} looks beside the sync");
        sandbox.run(&["verify"]).exits(0);
        assert_eq!(sandbox.everything().len(), 3_045);
    }
}

#[test]
fn a_backup_of_a_damaged_index_is_refused_and_made_once_that_is_repaired() {
    let sandbox = synced();
    let torn = largest(&sandbox.data(), ".store");
    let whole = std::fs::read(&torn).unwrap();
    let harms: [&dyn Fn(); 3] =
        [&|| overwrite(&torn, 200), &|| std::fs::remove_file(&torn).unwrap(), &|| {
            std::fs::write(&torn, &whole[..whole.len() / 2]).unwrap()
        }];
    for harm in harms {
        harm();
        let words = ["nothing was backed up", "is damaged", "`ingather verify index --repair`"];
        sandbox.run(&["backup", "backup.tar"]).refuses(3, &words);
        // What could not be compared is not said to miss nothing.
        let verified = sandbox.run(&["verify"]).exits(1);
        assert!(!verified.out.contains("index: 0 entries"), "{verified:?}");
        assert!(!sandbox.path().join("backup.tar").exists());
        std::fs::write(&torn, &whole).unwrap();
    }
    overwrite(&torn, 200);
    sandbox.run(&["verify", "index", "--repair"]).exits(0);
    sandbox.run(&["backup", "backup.tar"]).exits(0);
    std::fs::remove_dir_all(sandbox.data()).unwrap();
    sandbox.run(&["restore", "backup.tar"]).exits(0);
    assert_eq!(sandbox.everything().len(), DOCUMENTS);
}

#[test]
fn what_changes_something_goes_on_when_nobody_reads_what_it_says() {
    let sandbox = synced();
    let unread = |arguments: &[&str], out: Stdio| {
        let mut command = sandbox.command(arguments);
        command.stdin(Stdio::null()).stdout(out).stderr(Stdio::null());
        command.status().unwrap().code()
    };
    let closed = || Stdio::from(std::io::pipe().unwrap().1);
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    for (out, code) in [(closed(), 0), (full(), 3)] {
        std::fs::remove_dir_all(sandbox.data().join("index")).unwrap();
        assert_eq!(unread(&["verify", "--repair"], out), Some(code));
        assert_eq!(sandbox.everything().len(), DOCUMENTS);
        sandbox.run(&["verify"]).exits(0);
    }
    for (flags, out, left, code) in
        [(["--exclude", "d0/"], closed(), 48, 0), (["--exclude", "d1/"], full(), 48, 3)]
    {
        let flags = [&["sync", "root", "--update", "--delete-guard", "off"], &flags[..]].concat();
        assert_eq!(unread(&flags, out), Some(code));
        assert_eq!(sandbox.everything().len(), left, "{flags:?}");
    }
}
