//! A program that is killed while it seals the secrets of an earlier version leaves all of them plain or all of them sealed, and the
//! next one ends what it began (decision 0036).

use std::path::Path;
use std::process::{Child, Command, Stdio};

use ingather_store::Target;
use serde_json::json;

use super::upgrade::{WAITING, comes};
use crate::dice::Dice;
use crate::safety::secrets::{OPENS, PLANTED, as_before, database, redefine, synced, wiped};
use crate::sandbox::{Kept, Sandbox};

/// Jobs whose secrets are sealed together, and the passwords of each: more than lies beside the store's log.
const JOBS: usize = 8;
const PASSWORDS: usize = 15;
/// As in `upgrade.rs`.
const FRAME: usize = 4_096 + 24;
const HEAD: usize = 32;
const FRAMES: std::ops::Range<usize> = 8..200;
/// Kills at any moment, and the longest time until one.
const KILLS: usize = 8;
const KILLED_WITHIN_US: usize = 60_000;

/// A store as a program of before has left it, with secrets in several jobs.
fn many(kept: Kept) -> Sandbox {
    let sandbox = synced(kept);
    as_before(&sandbox);
    let mut plain: serde_json::Value = serde_json::from_str(&definitions(&sandbox)[0]).unwrap();
    let long = (0..PASSWORDS).map(|at| format!("{at}{}", "x".repeat(1_000)));
    plain["stages"][0]["settings"]["passwords"] =
        json!([PLANTED.to_owned(), OPENS.to_owned()].into_iter().chain(long).take(16).collect::<Vec<_>>());
    redefine(&sandbox, "root", &plain.to_string());
    for job in 1..JOBS {
        let named = |column: &str| format!("replace({column}, 'root', 'root{job}')");
        database(&sandbox).script(&format!(
            "INSERT INTO job (handle, name, repository, root, state, run, definition, revision, created_at) \
             SELECT handle + 1000 + {job}, {}, repository, {}, 'resting', 0, {}, 1, created_at FROM job WHERE name = 'root';",
            named("name"),
            named("root"),
            named("definition"),
        ));
    }
    sandbox
}

fn definitions(sandbox: &Sandbox) -> Vec<String> {
    let question = "SELECT definition FROM job ORDER BY handle";
    match &database(sandbox).target {
        Target::Sqlite(file) => {
            let connection = rusqlite::Connection::open(file).unwrap();
            let mut statement = connection.prepare(question).unwrap();
            let rows = statement.query_map([], |row| row.get(0)).unwrap();
            rows.map(Result::unwrap).collect()
        }
        Target::Postgres(url) => {
            let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
            client.query(question, &[]).unwrap().iter().map(|row| row.get(0)).collect()
        }
    }
}

/// Judges a store as a killed program has left it: whether its secrets are sealed.
#[track_caller]
fn judge(sandbox: &Sandbox, at: &str) -> bool {
    let all = definitions(sandbox);
    let sealed = all.iter().filter(|definition| definition.contains("$sealed")).count();
    let plain = all.iter().filter(|definition| definition.contains(PLANTED)).count();
    assert!((sealed, plain) == (JOBS, 0) || (sealed, plain) == (0, JOBS), "{at}: {sealed} and {plain}");
    sealed > 0
}

/// That the next program ends what was begun, and nothing was lost.
#[track_caller]
fn goes_on(sandbox: &Sandbox, at: &str) {
    let counts = sandbox.synced(&[]);
    // Its passwords are not those of its first run.
    assert_eq!(counts.get("unchanged") + counts.get("updated"), 1, "{at}: {counts:?}");
    assert!(judge(sandbox, at), "{at}");
    wiped(sandbox, at);
    assert_eq!(sandbox.find("whale"), ["a.zip"], "{at}");
}

fn start(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn copied(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    crate::files::tool("cp", &["-a", from.to_str().unwrap()], to);
}

/// Runs a command on copies of a store: ended by the kernel in the middle of single writes to the log, then killed at any moment.
fn ended_in_the_middle(
    sandbox: &Sandbox,
    kept: &Path,
    arguments: &[&str],
    seed: u64,
    mut judged: impl FnMut(&str),
) {
    for frame in FRAMES.step_by(23) {
        copied(kept, &sandbox.data());
        // The kernel ends it in the middle of this very write.
        let limit = HEAD + frame * FRAME + FRAME / 2;
        let plain = sandbox.command(arguments);
        let mut limited = Command::new("prlimit");
        limited.args([&format!("--fsize={limit}"), "--core=0"]);
        limited.arg(plain.get_program()).args(plain.get_args()).current_dir(sandbox.path());
        if start(limited).wait().unwrap().code() == Some(0) {
            break;
        }
        judged(&format!("ended at frame {frame}"));
    }
    let mut dice = Dice::new(seed);
    for _ in 0..KILLS {
        copied(kept, &sandbox.data());
        let micros = dice.below(KILLED_WITHIN_US);
        let mut child = start(sandbox.command(arguments));
        std::thread::park_timeout(std::time::Duration::from_micros(micros as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        judged(&format!("killed after {micros} µs"));
    }
}

#[test]
fn a_program_that_is_killed_while_it_seals_leaves_all_plain_or_all_sealed() {
    let sandbox = many(Kept::Sqlite);
    let kept = sandbox.path().join("kept");
    copied(&sandbox.data(), &kept);
    let (mut left_plain, mut left_sealed) = (0, 0);
    let judged = |at: &str| {
        match judge(&sandbox, at) {
            true => left_sealed += 1,
            false => left_plain += 1,
        }
        goes_on(&sandbox, at);
    };
    ended_in_the_middle(&sandbox, &kept, &["sync", "root"], 36, judged);
    assert!(left_plain > 0 && left_sealed > 0, "{left_plain} and {left_sealed}: nothing ended in the middle");
}

#[test]
fn a_program_that_is_killed_while_postgres_seals_or_wipes_leaves_all_plain_or_all_sealed() {
    // The table that another session has locked, the lock, and whether the secrets are sealed when the program waits for it.
    for (table, lock, is_sealed) in
        [("meta", "SHARE", false), ("job", "SHARE", false), ("job", "ACCESS SHARE", true)]
    {
        let sandbox = many(Kept::Postgres);
        let connect = || postgres::Client::connect(sandbox.url().unwrap(), postgres::NoTls).unwrap();
        let (mut holder, mut watcher) = (connect(), connect());
        let mut held = holder.transaction().unwrap();
        held.batch_execute(&format!("LOCK TABLE public.{table} IN {lock} MODE")).unwrap();
        let mut child = start(sandbox.command(&["sync", "root"]));
        let at = format!("killed at the table {table}, locked as {lock}");
        // Where another database of the server has a transaction that goes on for long, wiping is left to the next one.
        let waits = || {
            if child.try_wait().unwrap().is_some() {
                child = start(sandbox.command(&["sync", "root"]));
            }
            !watcher.query(WAITING, &[]).unwrap().is_empty()
        };
        assert!(comes(waits), "{at}: it does not come there");
        child.kill().unwrap();
        child.wait().unwrap();
        held.rollback().unwrap();
        drop(holder);
        let over =
            "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        assert!(comes(|| watcher.query(over, &[]).unwrap().is_empty()), "{at}: the server goes on with it");
        drop(watcher);
        assert_eq!(judge(&sandbox, &at), is_sealed, "{at}");
        goes_on(&sandbox, &at);
    }
}

#[test]
fn a_rotation_that_is_killed_leaves_a_key_that_opens_all() {
    let sandbox = many(Kept::Sqlite);
    goes_on(&sandbox, "before");
    let kept = sandbox.path().join("kept");
    copied(&sandbox.data(), &kept);
    let before = definitions(&sandbox);
    let (mut old, mut new) = (0, 0);
    let judged = |at: &str| {
        match definitions(&sandbox) == before {
            true => old += 1,
            false => new += 1,
        }
        goes_on(&sandbox, at);
        sandbox.run(&["secrets", "rotate"]).exits(0);
        goes_on(&sandbox, at);
    };
    ended_in_the_middle(&sandbox, &kept, &["secrets", "rotate"], 37, judged);
    assert!(old > 0 && new > 0, "{old} and {new}: nothing ended in the middle");
}
