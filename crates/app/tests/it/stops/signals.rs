//! Signals that ask for an end: stopped cleanly, with an exit code that names the first one, and nothing lost (design 5.1).

use std::process::{Child, Command, Stdio};

use ingather_store::Target;
use ingather_testkit::database::Database;
use rustix::process::{Pid, Signal, kill_process};

use crate::commands::{ended, many_files, still_when};
use crate::files;
use crate::sandbox::{Answer, Counts, Kept, Sandbox};

use super::upgrade::{WAITING, comes};

fn synced() -> Sandbox {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    sandbox
}

/// A command that heeds signals, also where these tests were started so that signals are ignored: in the background of a script,
/// or with `nohup`. It comes behind `before`.
fn heeding(sandbox: &Sandbox, before: &[&str], arguments: &[&str]) -> Command {
    let program = sandbox.command(arguments);
    let mut command = Command::new("env");
    command.arg("--default-signal=INT,TERM,HUP").args(before);
    command.arg(program.get_program()).args(program.get_args());
    command.current_dir(sandbox.path()).env_remove("INGATHER_DATA").env_remove("INGATHER_STORE");
    command
}

/// A sync that has the lock and stands still.
fn held(sandbox: &Sandbox) -> (Child, Pid) {
    still_when(sandbox, heeding(sandbox, &[], &["sync", "root", "--json"]), "sync of")
}

/// The same, started by a shell that becomes it.
fn held_by(sandbox: &Sandbox, script: &str) -> (Child, Pid) {
    let shell = heeding(sandbox, &["sh", "-c", script, "sh"], &["sync", "root", "--json"]);
    still_when(sandbox, shell, "sync of")
}

fn send(pid: Pid, signals: &[Signal]) {
    for signal in signals.iter().chain(&[Signal::CONT]) {
        kill_process(pid, *signal).unwrap();
    }
}

#[test]
fn ctrl_c_stops_cleanly_and_the_next_run_goes_on() {
    let sandbox = synced();
    many_files(&sandbox, 2_000);
    files::remove(&sandbox.root().join("a.txt"));
    let (child, pid) = held(&sandbox);
    send(pid, &[Signal::INT]);
    let stopped = ended(child).exits(130);
    assert!(stopped.err.contains("run the same command again"), "{stopped:?}");
    // A listing that was interrupted proves no absence.
    assert_eq!(Counts::of(&stopped.json()[0]).get("deleted"), 0);
    assert_eq!(sandbox.find("apple"), ["a.txt"]);
    let (counts, code) = sandbox.sync(&[]);
    let there = counts.get("added") + counts.get("updated") + counts.get("unchanged");
    assert_eq!((code, there, counts.get("deleted")), (0, 2_000, 1), "{counts:?}");
    assert_eq!(sandbox.everything().len(), 2_000);
    files::settle(&sandbox.root());
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 2_000);
}

#[test]
fn a_second_ctrl_c_stops_at_once_and_loses_nothing() {
    let sandbox = synced();
    many_files(&sandbox, 2_000);
    let (child, pid) = held(&sandbox);
    // Two of one kind that wait for a process that stands still are one; of two kinds, either may come first.
    send(pid, &[Signal::INT, Signal::TERM]);
    let stopped = ended(child);
    assert!([130, 143].contains(&stopped.code), "{stopped:?}");
    assert_eq!(stopped.out, "", "it does not wait for the balance: {stopped:?}");
    let (counts, code) = sandbox.sync(&[]);
    let there = counts.get("added") + counts.get("updated") + counts.get("unchanged");
    assert_eq!((code, there), (0, 2_001), "{counts:?}");
    assert_eq!(sandbox.everything().len(), 2_001);
}

#[test]
fn a_service_manager_and_a_closed_terminal_stop_it_with_exit_codes_of_their_own() {
    let sandbox = synced();
    many_files(&sandbox, 500);
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let (child, pid) = held(&sandbox);
        send(pid, &[signal]);
        let stopped = ended(child).exits(code);
        assert!(stopped.err.contains("run the same command again"), "{stopped:?}");
        assert_eq!(stopped.json().len(), 1, "{stopped:?}");
    }
    // A terminal that is gone takes no answer.
    let (child, pid) = held_by(&sandbox, "exec \"$@\" > /dev/full");
    send(pid, &[Signal::HUP]);
    let stopped = ended(child).exits(129);
    assert!(!stopped.err.contains("cannot write the answer"), "{stopped:?}");
    sandbox.synced(&[]);
    assert_eq!(sandbox.everything().len(), 501);
}

#[test]
fn a_signal_that_it_was_told_to_ignore_stops_nothing() {
    let sandbox = synced();
    many_files(&sandbox, 500);
    let (child, pid) = held_by(&sandbox, "trap '' HUP; exec \"$@\"");
    send(pid, &[Signal::HUP]);
    let done = ended(child).exits(0);
    assert_eq!(Counts::of(&done.json()[0]).get("added"), 500);
}

#[test]
fn a_confirmation_that_is_stopped_says_so_and_goes_on() {
    let sandbox = Sandbox::new(Kept::Postgres);
    many_files(&sandbox, 60);
    sandbox.synced(&[]);
    (1..60).for_each(|n| files::remove(&sandbox.root().join(format!("d{}/f{n}.txt", n % 20))));
    assert_eq!(sandbox.sync(&[]).0.get("held"), 59);
    let confirm = ["job", "confirm", "root", "--run", "2"];
    // It waits for a lock before it removes anything, and is told to stop meanwhile, however slow this test is.
    let connect = || postgres::Client::connect(sandbox.url().unwrap(), postgres::NoTls).unwrap();
    let (mut holder, mut watcher) = (connect(), connect());
    let mut held = holder.transaction().unwrap();
    held.batch_execute("LOCK TABLE public.process IN SHARE MODE").unwrap();
    let mut command = heeding(&sandbox, &[], &confirm);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    assert!(comes(|| !watcher.query(WAITING, &[]).unwrap().is_empty()), "it does not wait");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    held.rollback().unwrap();
    let stopped = ended(child).exits(143);
    assert!(stopped.err.contains("`ingather job confirm root --run 2` goes on"), "{stopped:?}");
    assert_eq!(sandbox.everything().len(), 60);
    sandbox.run(&confirm).exits(0);
    assert_eq!(sandbox.everything().len(), 1);
}

/// Makes every statement that reads `table` one without an end, which gives no row.
fn endless(sandbox: &Sandbox, table: &str, columns: &[&str]) {
    let columns: Vec<String> = columns.iter().map(|column| format!("i AS {column}")).collect();
    store(sandbox).script(&format!(
        "ALTER TABLE {table} RENAME TO {table}_kept; CREATE VIEW {table} AS \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n WHERE i < 0;",
        columns.join(", ")
    ));
}

fn as_before(sandbox: &Sandbox, table: &str) {
    store(sandbox).script(&format!("DROP VIEW {table}; ALTER TABLE {table}_kept RENAME TO {table};"));
}

fn store(sandbox: &Sandbox) -> Database {
    Database::at(Target::Sqlite(sandbox.data().join("store.db")))
}

/// Whether a process heeds a signal by now.
fn heeds(child: &Child, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    u64::from_str_radix(caught.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

/// Starts a command, signals it as soon as it heeds signals, and waits for its end.
#[track_caller]
fn stopped_by(sandbox: &Sandbox, signal: Signal, arguments: &[&str]) -> Answer {
    let mut command = heeding(sandbox, &[], arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    assert!(comes(|| heeds(&child, signal)), "{arguments:?} never heeds signals");
    kill_process(Pid::from_child(&child), signal).unwrap();
    let is_over = comes(|| child.try_wait().unwrap().is_some());
    if !is_over {
        child.kill().unwrap();
    }
    let answer = ended(child);
    assert!(is_over, "{arguments:?} went on: {answer:?}");
    answer
}

#[test]
fn a_statement_that_goes_on_and_on_is_broken_off_and_nothing_is_lost() {
    let sandbox = synced();
    sandbox.write("b.txt", "banana");
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    let failures = ["document", "job", "kind", "attempts", "attempts_max", "first_at", "code", "message"];
    let pending = ["container", "job", "acl"];
    let cases: [(&str, &[&str], &[&[&str]]); 3] = [
        (
            "component",
            &["document", "component", "name", "kept"],
            &[
                &["doctor"],
                &["doctor", "--repair"],
                &["verify"],
                &["verify", "--repair"],
                &["job", "delete", "root", "--yes"],
            ],
        ),
        (
            "failure",
            &failures,
            &[
                &["document", "list", "root"],
                &["document", "explain", "root", "a.txt"],
                &["why", "root", "a.txt"],
            ],
        ),
        ("container_pending", &pending, &[&["search", "apple"]]),
    ];
    for (table, columns, commands) in cases {
        for command in commands {
            for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
                endless(&sandbox, table, columns);
                let stopped = stopped_by(&sandbox, signal, command);
                as_before(&sandbox, table);
                assert_eq!(stopped.code, code, "{command:?}: {stopped:?}");
                assert!(stopped.err.contains("stopped"), "{command:?}: {stopped:?}");
                for said in ["problems found", "panicked", "damaged", "cannot be used"] {
                    assert!(!stopped.err.contains(said), "{command:?}: {stopped:?}");
                }
            }
        }
        // A deletion that was begun is gone on with.
        if sandbox.run(&["sync", "root", "-q"]).code == 2 {
            sandbox.run(&["job", "delete", "root", "--yes"]).exits(0);
            sandbox.synced(&[]);
        }
        sandbox.run(&["doctor"]).exits(0);
        sandbox.run(&["verify"]).exits(0);
        assert_eq!(sandbox.everything(), ["a.txt", "b.txt"], "{table}");
    }
}

#[test]
fn a_database_server_is_told_that_nobody_waits_any_more() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let connect = || postgres::Client::connect(sandbox.url().unwrap(), postgres::NoTls).unwrap();
    let (mut holder, mut watcher) = (connect(), connect());
    for (command, table, code) in [
        (&["doctor"][..], "delivery", 143),
        (&["document", "list", "root"], "document", 143),
        (&["job", "delete", "root", "--yes"], "delivery", 143),
        (&["sync", "root"], "document", 143),
    ] {
        // It waits for a lock that nobody gives back before it has ended.
        let mut held = holder.transaction().unwrap();
        held.batch_execute(&format!("LOCK TABLE public.{table} IN ACCESS EXCLUSIVE MODE")).unwrap();
        let mut process = heeding(&sandbox, &[], command);
        process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = process.spawn().unwrap();
        assert!(comes(|| !watcher.query(WAITING, &[]).unwrap().is_empty()), "{command:?} does not wait");
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let is_over = comes(|| child.try_wait().unwrap().is_some());
        let is_told = comes(|| watcher.query(WAITING, &[]).unwrap().is_empty());
        held.rollback().unwrap();
        let stopped = ended(child);
        assert!(is_over && is_told, "{command:?} went on: {stopped:?}");
        assert_eq!(stopped.code, code, "{command:?}: {stopped:?}");
        assert!(
            stopped.err.contains("stopped") && !stopped.err.contains("--store"),
            "{command:?}: {stopped:?}"
        );
    }
    if sandbox.run(&["sync", "root", "-q"]).code == 2 {
        sandbox.run(&["job", "delete", "root", "--yes"]).exits(0);
        sandbox.synced(&[]);
    }
    assert_eq!(sandbox.everything(), ["a.txt"]);
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn a_backup_that_is_stopped_leaves_nothing() {
    let sandbox = synced();
    // A reader that never reads holds it still, whatever it is at.
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        many_files(&sandbox, 600);
        sandbox.synced(&[]);
        let stopped = stopped_by(&sandbox, signal, &["backup", "-"]);
        assert_eq!(stopped.code, code, "{stopped:?}");
        let scratch = std::fs::read_dir(sandbox.data()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(scratch.filter(|name| name.to_string_lossy().starts_with("backup-")).count(), 0);
    }
}
