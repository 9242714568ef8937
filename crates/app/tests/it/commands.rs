//! Wrong use and broken surroundings: one sentence, the right exit code, and nothing changed (design 5.1).

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ingather_store::db::Value;
use ingather_store::{Durability, Store, Target, queries};
use rustix::process::{Pid, Signal, kill_process};

use crate::files;
use crate::people::{Person, ordinary};
use crate::sandbox::{Answer, Kept, Sandbox, finish};

/// A sandbox with one file and a job `root`.
fn synced() -> Sandbox {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    sandbox
}

/// A command that is refused, and leaves the data directory as it was.
#[track_caller]
fn refused(sandbox: &Sandbox, arguments: &[&str], code: i32, words: &[&str]) {
    let before = sandbox.data().exists().then(|| sandbox.snapshot());
    sandbox.run(arguments).refuses(code, words);
    let after = sandbox.data().exists().then(|| sandbox.snapshot());
    assert!(before == after, "{arguments:?} changed the data directory");
}

#[test]
fn a_source_that_cannot_be_used_is_named_and_nothing_is_made() {
    ingather_testkit::needs!(Users);
    let sandbox = Sandbox::sqlite();
    refused(&sandbox, &["sync", "nowhere"], 2, &["nowhere does not exist", "nothing was changed"]);
    refused(&sandbox, &["sync", "ftp://example.org/"], 2, &["ftp://example.org/"]);
    let person = Person::named(ordinary());
    std::fs::set_permissions(sandbox.root(), PermissionsExt::from_mode(0o700)).unwrap();
    sandbox.run_as(&person, &["sync", "root"]).refuses(2, &["root", "nothing was changed"]);
    assert!(!sandbox.data().exists());
}

#[test]
fn a_source_inside_the_data_directory_is_refused() {
    let sandbox = synced();
    refused(&sandbox, &["sync", "data"], 2, &["lies inside the data directory"]);
    refused(&sandbox, &["sync", "data/index"], 2, &["lies inside the data directory"]);
    std::os::unix::fs::symlink("data", sandbox.path().join("link")).unwrap();
    refused(&sandbox, &["sync", "link"], 2, &["lies inside the data directory"]);
    // The reverse is no mistake: the directory itself is left out, and counted once.
    let counts = crate::sandbox::Counts::of(&sandbox.run(&["sync", ".", "--json"]).exits(0).json()[0]);
    assert_eq!(counts.get("added"), 1, "{counts:?}");
    assert!(sandbox.everything().iter().all(|name| !name.starts_with("data")));
}

#[test]
fn commands_before_the_first_sync_say_how_to_begin() {
    let sandbox = Sandbox::sqlite();
    for command in [&["search", "x"][..], &["job", "show", "x"], &["document", "list", "x"], &["export"]] {
        refused(&sandbox, command, 3, &["ingather sync FOLDER"]);
    }
    sandbox.run(&["job", "list", "--json"]).exits(0);
    assert!(!sandbox.data().exists());
}

#[test]
fn unknown_names_and_patterns_are_refused() {
    let sandbox = synced();
    refused(&sandbox, &["sync", "root", "--to", "nonsense"], 2, &["nonsense"]);
    refused(
        &sandbox,
        &["sync", "root", "--to", "journal:x", "--update", "--include", "["],
        2,
        &["[", "pattern"],
    );
    refused(&sandbox, &["sync", "root", "--name", "root", "--exclude", "{a", "--update"], 2, &["{a"]);
    refused(&sandbox, &["search", "open OR"], 2, &["needs something on both sides"]);
    refused(&sandbox, &["search", "size:large"], 2, &["write a size"]);
    refused(&sandbox, &["search", "x", "--sort", "taste"], 2, &["taste"]);
    refused(&sandbox, &["search", "x", "--as", "nobody-of-that-name"], 2, &["nobody-of-that-name"]);
    for command in [&["job", "show", "nix"][..], &["job", "held", "nix"], &["job", "delete", "nix"]] {
        refused(&sandbox, command, 2, &["there is no job `nix`", "root"]);
    }
    refused(&sandbox, &["job", "runs", "nix"], 2, &["`nix`"]);
    refused(&sandbox, &["job", "confirm", "nix", "--run", "1"], 2, &["`nix`"]);
    refused(&sandbox, &["document", "list", "nix"], 2, &["`nix`"]);
    refused(&sandbox, &["--store", "mysql://x", "search", "x"], 2, &["postgres://"]);
    refused(&sandbox, &["--store", "postgres://127.0.0.1:1/x", "search", "x"], 3, &["store"]);
    for wrong in
        [&["nonsense"][..], &["sync"], &["sync", "root", "--threads", "0"], &["search", "x", "--limit", "-1"]]
    {
        let answer = sandbox.run(wrong).exits(2);
        assert!(answer.out.is_empty() && !answer.err.is_empty(), "{answer:?}");
    }
}

#[test]
fn flags_that_differ_show_both_and_change_nothing_without_update() {
    let sandbox = synced();
    sandbox.write("b.md", "banana");
    refused(&sandbox, &["sync", "root", "--include", "*.md"], 2, &["include: none → *.md", "--update"]);
    refused(&sandbox, &["sync", "root", "--to", "null"], 2, &["to: index → null", "--update"]);
    refused(&sandbox, &["sync", "root", "--compare-content"], 2, &["compare-content: off → on", "--update"]);
    refused(&sandbox, &["sync", "elsewhere", "--name", "root"], 2, &["root", "elsewhere", "--name"]);
    let answer = sandbox.run(&["sync", "root", "--include", "*.md", "--update", "--json"]).exits(0);
    assert!(answer.err.contains("1 deleted"), "the counts come first: {answer:?}");
    assert_eq!(sandbox.everything(), ["b.md"]);
    refused(&sandbox, &["sync", "root", "--include", "*.txt"], 2, &["include: *.md → *.txt"]);
}

/// Starts a sync that writes, and holds it still as soon as it has the lock.
fn still(sandbox: &Sandbox) -> (Child, Pid) {
    still_when(sandbox, sandbox.command(&["sync", "root", "--json"]), "sync of")
}

/// Starts a command that writes, and holds it still as soon as the lock says what it is doing.
pub(crate) fn still_when(sandbox: &Sandbox, mut command: Command, doing: &str) -> (Child, Pid) {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    let mine = format!("process {}: {doing}", child.id());
    let deadline = Instant::now() + Duration::from_secs(300);
    while !std::fs::read_to_string(sandbox.data().join("lock")).unwrap_or_default().starts_with(&mine) {
        assert!(Instant::now() < deadline, "it never took the lock");
        std::thread::yield_now();
    }
    kill_process(pid, Signal::STOP).unwrap();
    (child, pid)
}

/// Starts a sync, and holds it still as soon as its run is in the store.
fn working(sandbox: &Sandbox) -> (Child, Pid) {
    let mut command = sandbox.command(&["sync", "root", "--json"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_child(&child);
    let deadline = Instant::now() + Duration::from_secs(300);
    while sandbox.run(&["job", "show", "root", "--json"]).exits(0).json()[0]["run"]["ended_at"]
        != serde_json::Value::Null
    {
        assert!(Instant::now() < deadline, "the run never began");
    }
    kill_process(pid, Signal::STOP).unwrap();
    (child, pid)
}

pub(crate) fn ended(child: Child) -> Answer {
    let output = child.wait_with_output().unwrap();
    Answer {
        code: output.status.code().unwrap_or(-1),
        // An archive that was broken off is no text.
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn many_files(sandbox: &Sandbox, count: usize) {
    (0..count).for_each(|n| sandbox.write(&format!("d{}/f{n}.txt", n % 20), &format!("text of {n}")));
}

#[test]
fn a_second_writer_is_refused_and_readers_work_beside() {
    let sandbox = synced();
    many_files(&sandbox, 300);
    let (child, pid) = still(&sandbox);
    let holder = child.id().to_string();
    let root = sandbox.root();
    let words = [holder.as_str(), "sync of", root.to_str().unwrap()];
    sandbox.run(&["sync", "root"]).refuses(3, &words);
    sandbox.run(&["job", "delete", "root"]).refuses(3, &words);
    assert!(sandbox.everything().contains(&"a.txt".to_owned()));
    sandbox.run(&["search", "apple"]).exits(0);
    sandbox.run(&["job", "list"]).exits(0);
    sandbox.run(&["job", "show", "root"]).exits(0);
    sandbox.run(&["job", "runs", "root"]).exits(0);
    sandbox.run(&["document", "list", "root"]).exits(0);
    sandbox.run(&["export"]).exits(0);
    sandbox.run(&["sync", "root", "--dry-run"]).exits(0);
    kill_process(pid, Signal::CONT).unwrap();
    ended(child).exits(0);
    assert_eq!(sandbox.everything().len(), 301);
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error_and_a_reader_that_left_is_none() {
    let sandbox = synced();
    let mut command = sandbox.command(&["search", "apple", "--all"]);
    command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("cannot write the answer") && said.contains("make room"), "{said}");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = sandbox.command(&["search", "apple", "--all"]);
    command.stdout(writer);
    assert_eq!(command.output().unwrap().status.code(), Some(0));
}

#[test]
fn a_postgres_store_with_a_live_writer_refuses_another_data_directory() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    many_files(&sandbox, 1_000);
    let (child, pid) = working(&sandbox);
    let mut other = Command::new(env!("CARGO_BIN_EXE_ingather"));
    other
        .args(["--data", "other", "--store", sandbox.url().unwrap(), "sync", "root"])
        .current_dir(sandbox.path());
    finish(other, None).refuses(3, &[&child.id().to_string(), "sync of"]);
    kill_process(pid, Signal::CONT).unwrap();
    ended(child).exits(0);
    assert_eq!(sandbox.everything().len(), 1_001);
}

#[test]
fn a_machine_of_the_same_name_with_the_same_path_is_another_one() {
    ingather_testkit::needs!(Mounts);
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    many_files(&sandbox, 1_000);
    let (child, pid) = working(&sandbox);
    // Another directory at the same place: what a second machine has there.
    std::fs::create_dir(sandbox.path().join("elsewhere")).unwrap();
    let mut other = Command::new("unshare");
    let script = "mount --bind elsewhere data && exec \"$@\"";
    other.args(["--mount", "--map-root-user", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_ingather")]);
    other.args(["--data", "data", "--store", sandbox.url().unwrap(), "sync", "root"]);
    other.current_dir(sandbox.path());
    finish(other, None).refuses(3, &[&child.id().to_string(), "sync of"]);
    kill_process(pid, Signal::CONT).unwrap();
    ended(child).exits(0);
    assert_eq!(sandbox.everything().len(), 1_001);
}

#[test]
fn a_data_directory_of_somebody_else_is_named_as_such() {
    ingather_testkit::needs!(Users);
    let sandbox = synced();
    std::fs::set_permissions(sandbox.data(), PermissionsExt::from_mode(0o755)).unwrap();
    let person = Person::named(ordinary());
    for arguments in [&["search", "apple"][..], &["job", "list"]] {
        let answer = sandbox.run_as(&person, arguments);
        assert!(!answer.err.contains("backup") && !answer.err.contains("move it away"), "{answer:?}");
        answer.refuses(3, &["is not yours to read", "--data"]);
    }
}

#[test]
fn a_journal_that_others_can_read_is_refused_unless_told() {
    let sandbox = synced();
    let journal = sandbox.path().join("told.jsonl");
    std::fs::write(&journal, "").unwrap();
    let sync = ["sync", "root", "--name", "told", "--to", "journal:told.jsonl", "--json"];
    for mode in [0o644, 0o640, 0o620] {
        std::fs::set_permissions(&journal, PermissionsExt::from_mode(mode)).unwrap();
        sandbox.run(&sync).refuses(3, &["told.jsonl", "chmod 600", "--shared-journal"]);
        assert_eq!(std::fs::read(&journal).unwrap(), b"");
    }
    assert_eq!(sandbox.run(&[&["--shared-journal"][..], &sync].concat()).exits(0).json()[0]["added"], 1);
    std::fs::set_permissions(&journal, PermissionsExt::from_mode(0o600)).unwrap();
    sandbox.run(&sync).exits(0);
}

#[test]
fn a_link_to_the_source_is_the_source() {
    let sandbox = synced();
    std::os::unix::fs::symlink("root", sandbox.path().join("link")).unwrap();
    let answer = sandbox.run(&["sync", "link", "--json"]).exits(0);
    assert_eq!(
        (answer.json()[0]["job"].as_str(), answer.json()[0]["unchanged"].as_u64()),
        (Some("root"), Some(1))
    );
}

#[test]
fn a_dry_run_of_a_new_job_makes_nothing() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let answer = sandbox.run(&["sync", "root", "--dry-run", "--json"]).exits(0);
    assert_eq!((&answer.json()[0]["added"], &answer.json()[0]["run"]), (&1.into(), &serde_json::Value::Null));
    assert!(!sandbox.data().exists());
}

#[test]
fn a_store_of_a_newer_version_is_refused() {
    let sandbox = synced();
    let store = Store::open(&Target::Sqlite(sandbox.data().join("store.db"))).unwrap();
    let later = [Value::Int(9_999), Value::Text("later"), Value::Int(1)];
    store.write(Durability::Synced, |sql| sql.execute(&queries::MIGRATION_NOTE, &later)).unwrap();
    drop(store);
    for command in [&["sync", "root"][..], &["search", "apple"], &["job", "list"], &["job", "delete", "root"]]
    {
        refused(&sandbox, command, 3, &["9999", "newer"]);
    }
}

#[test]
fn a_damaged_store_is_named_and_left_alone() {
    let sandbox = synced();
    let file = sandbox.data().join("store.db");
    std::fs::write(&file, "this is no database, but it was one before".repeat(1000)).unwrap();
    for command in [&["sync", "root"][..], &["search", "apple"], &["job", "list"], &["job", "delete", "root"]]
    {
        refused(&sandbox, command, 3, &["store.db", "backup"]);
    }
}

#[test]
fn a_damaged_page_of_the_store_is_an_error_not_an_answer() {
    let sandbox = synced();
    let file = sandbox.data().join("store.db");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[4_096..].fill(0xA5);
    std::fs::write(&file, bytes).unwrap();
    for command in [&["search", "apple", "--all"][..], &["job", "list"], &["sync", "root"]] {
        refused(&sandbox, command, 3, &["store"]);
    }
}

#[test]
fn the_help_of_every_command_shows_an_example() {
    let sandbox = Sandbox::sqlite();
    let mut waiting: Vec<Vec<String>> = vec![Vec::new()];
    let mut looked_at = 0;
    while let Some(command) = waiting.pop() {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = sandbox.run(&words).exits(0).out;
        assert!(help.contains("Example"), "{command:?}: {help}");
        assert!(help.lines().any(|line| line.trim_start().starts_with("ingather ")), "{command:?}: {help}");
        let commands =
            help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        for name in commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
        {
            waiting.push([&command[..], &[name.to_owned()]].concat());
        }
        looked_at += 1;
    }
    assert!(looked_at >= 13, "only {looked_at} commands were found");
}

#[test]
fn completions_are_written_for_every_shell() {
    let sandbox = Sandbox::sqlite();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let answer = sandbox.run(&["completions", shell]).exits(0);
        assert!(
            answer.out.contains("ingather") && answer.out.contains("delete-guard"),
            "{shell}: {answer:?}"
        );
    }
}

#[test]
fn what_is_made_is_for_its_owner_alone() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&["--to", "index", "--to", "journal:changes.jsonl"]);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&sandbox.data()), 0o700);
    assert_eq!(mode(&sandbox.data().join("index")), 0o700);
    let files: Vec<_> =
        sandbox.snapshot().into_keys().chain([sandbox.path().join("changes.jsonl")]).collect();
    assert!(files.len() > 5, "{files:?}");
    files.iter().for_each(|file| assert_eq!(mode(file), 0o600, "{}", file.display()));
}

#[test]
fn a_sync_in_json_is_one_line_whatever_happens() {
    let sandbox = Sandbox::sqlite();
    (0..40).for_each(|n| sandbox.write(&format!("f{n}.txt"), "text"));
    let names = ["job", "run", "seen", "added", "updated", "access", "unchanged", "skipped", "failed"];
    let rest = ["waiting", "deleted", "kept", "held", "blind", "seconds", "partial"];
    let one_line = |answer: Answer| {
        let lines = answer.json();
        assert_eq!(lines.len(), 1, "{answer:?}");
        let keys: Vec<&str> = lines[0].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, [&names[..], &rest].concat());
    };
    one_line(sandbox.run(&["sync", "root", "--json"]).exits(0));
    (0..30).for_each(|n| files::remove(&sandbox.root().join(format!("f{n}.txt"))));
    one_line(sandbox.run(&["sync", "root", "--json", "--dry-run"]).exits(1));
    one_line(sandbox.run(&["sync", "root", "--json", "-v"]).exits(1));
    one_line(sandbox.run(&["sync", "root", "--json", "-q", "--exclude", "f39.txt", "--update"]).exits(1));
    // Nobody is asked when the answer goes to a program.
    let answer = finish(sandbox.command(&["sync", "root", "--json"]), Some("y\n"));
    assert!(answer.json()[0]["held"].as_u64() > Some(0), "{answer:?}");
}

#[test]
fn on_a_terminal_a_person_is_asked_before_many_removals() {
    let sandbox = Sandbox::sqlite();
    (0..40).for_each(|n| sandbox.write(&format!("f{n}.txt"), "text"));
    sandbox.synced(&[]);
    (0..30).for_each(|n| files::remove(&sandbox.root().join(format!("f{n}.txt"))));
    let typed = |answer: &str| {
        let program = env!("CARGO_BIN_EXE_ingather");
        // Gives the program a terminal, and types into it.
        let mut terminal = std::process::Command::new("script");
        terminal.args(["-qec", &format!("'{program}' --data data sync root"), "/dev/null"]);
        terminal.current_dir(sandbox.path());
        finish(terminal, Some(answer))
    };
    let asked = typed("n\n").exits(1);
    assert!(
        asked.out.contains("30 documents are gone") && asked.out.contains("job confirm root"),
        "{asked:?}"
    );
    assert_eq!(sandbox.everything().len(), 40);
    typed("y\n").exits(0);
    assert_eq!(sandbox.everything().len(), 10);
}

#[test]
fn two_runs_of_the_same_job_by_other_names_of_its_folder_are_one_job() {
    let sandbox = synced();
    for source in ["./root", "root/", "root/../root", "root/."] {
        let line = sandbox.run(&["sync", source, "--json"]).exits(0).json().remove(0);
        assert_eq!((&line["job"], &line["seen"]), (&"root".into(), &1.into()), "{source}");
    }
    assert_eq!(sandbox.run(&["job", "list", "--json"]).json().len(), 1);
}

#[test]
fn a_name_that_nobody_can_type_is_refused() {
    let sandbox = synced();
    for name in ["", "two\nlines", "bell\u{7}", "../../x", ".x", "a/b", "\u{1F600}", &"long".repeat(17)] {
        refused(&sandbox, &["sync", "root", "--name", name], 2, &["is not a valid name for a job"]);
    }
}

#[test]
fn an_output_that_is_named_twice_is_one_output() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let journal = sandbox.path().join("changes.jsonl");
    let twice = [
        "--to",
        "index",
        "--to",
        "index",
        "--to",
        "journal:changes.jsonl",
        "--to",
        "journal:./changes.jsonl",
    ];
    sandbox.synced(&twice);
    sandbox.synced(&twice);
    assert_eq!(sandbox.everything(), ["a.txt"]);
    assert_eq!(std::fs::read_to_string(journal).unwrap().matches("{\"op\":\"put\"").count(), 1);
}

#[test]
fn the_allocator_gives_memory_back_at_once_unless_its_environment_says_otherwise() {
    let told = |set: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ingather"));
        command.arg("--version").env("MIMALLOC_VERBOSE", "1").envs(set.iter().copied());
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    assert!(told(&[]).contains("'arena_purge_mult': 1 "), "{}", told(&[]));
    assert!(told(&[("MIMALLOC_ARENA_PURGE_MULT", "7")]).contains("'arena_purge_mult': 7 "));
}
