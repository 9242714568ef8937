//! Files of the data directory that are something else, and own files that are damaged: one sentence, and no waiting.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::files;
use crate::people::must;
use crate::sandbox::{Answer, Kept, Sandbox, finish};

/// Longest time that a command may take before it counts as one that waits for ever, seconds.
const HANG_S: &str = "120";

fn synced(kept: Kept) -> Sandbox {
    let sandbox = Sandbox::new(kept);
    sandbox.write("a.txt", "apple pie");
    sandbox.write("b.txt", "banana");
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    sandbox
}

/// Runs a command over another data directory; one that hangs is ended and fails.
#[track_caller]
fn run(sandbox: &Sandbox, data: &Path, arguments: &[&str]) -> Answer {
    let mut command = Command::new("timeout");
    command.args([HANG_S, env!("CARGO_BIN_EXE_ingather"), "--data"]).arg(data).args(arguments);
    command.current_dir(sandbox.path()).env_remove("INGATHER_DATA").env_remove("INGATHER_STORE");
    let answer = finish(command, None);
    assert!(matches!(answer.code, 0..=3), "{arguments:?} waits, or ended otherwise: {answer:#?}");
    assert!(!answer.err.contains("panicked"), "{answer:#?}");
    answer
}

/// Commands that open the store, and most of them the index.
const ALL: [&[&str]; 9] = [
    &["search", "apple", "--all"],
    &["verify"],
    &["doctor"],
    &["job", "list"],
    &["document", "explain", "root", "a.txt"],
    &["sync", "root", "--dry-run"],
    &["sync", "root"],
    &["backup", "b.tar"],
    &["doctor", "--repair"],
];

#[test]
fn no_command_waits_for_a_pipe_a_socket_a_device_or_a_folder_in_place_of_a_file() {
    ingather_testkit::needs!(Machine);
    let sandbox = synced(Kept::Sqlite);
    let harms: [(&str, &dyn Fn(&Path)); 4] = [
        ("pipe", &|file| files::tool("mkfifo", &[], file)),
        ("socket", &|file| drop(UnixListener::bind(file).unwrap())),
        ("device", &|file| drop(must(Command::new("mknod").arg(file).args(["c", "1", "5"])))),
        ("folder", &|file| std::fs::create_dir(file).unwrap()),
    ];
    let store = ["store.db", "store.db-wal", "store.db-shm", "store.db-journal"];
    let index = ["meta.json", ".managed.json", ".tantivy-meta.lock", ".tantivy-writer.lock"];
    for (at, (what, harm)) in harms.iter().enumerate() {
        for name in store.map(str::to_owned).into_iter().chain(index.map(|name| format!("index/{name}"))) {
            let data = sandbox.path().join(format!("d{at}"));
            files::tool("cp", &["-a", sandbox.data().to_str().unwrap()], &data);
            let file = data.join(&name);
            let _ = std::fs::remove_file(&file);
            harm(&file);
            for arguments in ALL {
                let answer = run(&sandbox, &data, arguments);
                let reads = name.starts_with("store")
                    || matches!(arguments[0], "search" | "verify" | "doctor" | "backup");
                assert!(!reads || answer.code != 0, "{what} {name} {arguments:?}: all is well: {answer:#?}");
                let _ = std::fs::remove_file(sandbox.path().join("b.tar"));
            }
            let told = run(&sandbox, &data, &["search", "apple", "--all"]);
            let base = Path::new(&name).file_name().unwrap().to_str().unwrap();
            let sentence = told.err.contains(base) && told.err.contains("is no ordinary file");
            assert!(sentence && told.err.lines().count() == 1, "{what} {name}: {told:#?}");
            if name.starts_with("index") {
                run(&sandbox, &data, &["verify", "--repair"]).exits(0);
                let found = run(&sandbox, &data, &["search", "apple", "--all", "--json"]).exits(0);
                assert_eq!(found.documents(), ["a.txt"], "{what} {name}");
            }
            std::fs::remove_dir_all(&data).unwrap();
        }
    }
}

#[test]
fn an_index_that_is_no_folder_is_named_and_made_anew() {
    let sandbox = synced(Kept::Sqlite);
    let index = sandbox.data().join("index");
    std::fs::remove_dir_all(&index).unwrap();
    for harm in
        [&(|| files::tool("mkfifo", &[], &index)) as &dyn Fn(), &|| std::fs::write(&index, "x").unwrap()]
    {
        let _ = std::fs::remove_dir_all(&index);
        harm();
        let told = run(&sandbox, &sandbox.data(), &["search", "apple", "--all"]).exits(3);
        assert!(
            told.err.contains("it is no folder") && told.err.contains("verify index --repair"),
            "{told:#?}"
        );
        run(&sandbox, &sandbox.data(), &["verify", "--repair"]).exits(0);
        assert_eq!(sandbox.find("apple"), ["a.txt"]);
    }
}

#[test]
fn an_own_number_that_is_damaged_is_made_anew_and_said() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = synced(kept);
        let file = sandbox.data().join("identity");
        let whole = std::fs::read(&file).unwrap();
        for harm in [&b""[..], b"garbage\n", b"\xff\xfe\x00", &whole[..20], &[b'0'; 5_000]] {
            std::fs::write(&file, harm).unwrap();
            let named = sandbox.run(&["doctor"]).exits(1);
            assert!(
                named.out.contains("identity is damaged") && named.out.contains("makes it anew"),
                "{named:#?}"
            );
            assert_eq!(std::fs::read(&file).unwrap(), harm, "who looks changes nothing");
            let synced = sandbox.run(&["sync", "root"]).exits(0);
            assert_eq!(synced.err.lines().count(), 1, "{synced:#?}");
            assert!(
                synced.err.contains("identity is damaged") && synced.err.contains("made anew"),
                "{synced:#?}"
            );
            assert_eq!(std::fs::read(&file).unwrap().len(), 64);
            assert_eq!(sandbox.run(&["sync", "root"]).exits(0).err, "", "it is said once");
        }
        let none: [Value; 0] = [];
        let bad: Vec<Value> = sandbox
            .run(&["doctor", "--json"])
            .json()
            .into_iter()
            .filter(|line| line["ok"] == false)
            .collect();
        assert_eq!(bad, none);
    }
}
