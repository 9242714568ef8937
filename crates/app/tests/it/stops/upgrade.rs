//! A program that is killed while it brings a store of an earlier version up to date leaves it as it was, or as it is afterwards: it
//! opens, and shows nobody more.

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ingather_store::{Reader, Store, Target};
use ingather_testkit::database::{Database, Kind};
use ingather_testkit::stores::{Filled, STORES, wrong};

use crate::dice::Dice;
use crate::sandbox::{Kept, Sandbox};

/// Kills of each store at any moment.
const KILLS: usize = 8;
/// Longest time until such a kill.
const KILLED_WITHIN_US: usize = 40_000;
/// Longest wait for a lock, or for the end of what the database server does for a program that was killed.
const WAIT: Duration = Duration::from_secs(150);
/// The store's log is written in frames of this size, behind a head; what lies beside it is as large as eight of them.
const FRAME: usize = 4_096 + 24;
const HEAD: usize = 32;
const FRAMES: std::ops::Range<usize> = 8..100;

/// Folders that were replaced, so that a step that rewrites them writes more than lies beside the log.
const MORE: &str = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 4000) \
    INSERT INTO place (id, connection, parent, name, identity, level, gone_at) \
    SELECT 1000 + n, 1, 3, '/srv/documents/replaced ' || n, '1:' || n, 1, 1 FROM n; \
    UPDATE id_block SET next = 10000 WHERE name = 'place';";

fn start(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// A run that brings the store up to date and is refused then: there is a job of that name for another folder.
fn sync(sandbox: &Sandbox) -> Command {
    sandbox.command(&["sync", "root", "--name", "all"])
}

/// Waits until something has come, or the longest time for that is over; whether it has.
pub(crate) fn comes(mut has_come: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + WAIT;
    while !has_come() {
        if Instant::now() > end {
            return false;
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
    true
}

/// A store in the file of a data directory, as a program has left it.
fn put(sandbox: &Sandbox, filled: &Filled) -> Target {
    let _ = std::fs::remove_dir_all(sandbox.data());
    std::fs::create_dir(sandbox.data()).unwrap();
    std::fs::set_permissions(sandbox.data(), PermissionsExt::from_mode(0o700)).unwrap();
    let target = Target::Sqlite(sandbox.data().join("store.db"));
    let database = Database::at(target.clone());
    database.script(filled.dump(Kind::Sqlite));
    // Step 7 renamed what they are in.
    let is_renamed = filled.dump(Kind::Sqlite).contains("CREATE TABLE container ");
    match is_renamed {
        true => database.script(&MORE.replace("place", "container").replace("level", "acl")),
        false => database.script(MORE),
    }
    database.script("PRAGMA journal_mode = WAL;");
    target
}

/// Judges a store as a killed program has left it; whether it had been brought up to date.
#[track_caller]
fn judge(target: &Target, at: &str) -> bool {
    let is_new = matches!(Reader::open(target), Ok(Some(_)));
    let store = Store::open(target).unwrap_or_else(|error| panic!("{at}: {error}"));
    assert_eq!(wrong(store.reader()), [""; 0], "{at}");
    is_new
}

#[test]
fn a_store_in_a_file_whose_upgrade_was_killed_opens_and_shows_nobody_more() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "some words");
    for filled in &STORES {
        let mut left_old = 0;
        for frame in FRAMES.step_by(7) {
            let target = put(&sandbox, filled);
            // The kernel ends it in the middle of this very write.
            let limit = HEAD + frame * FRAME + FRAME / 2;
            let plain = sync(&sandbox);
            let mut limited = Command::new("prlimit");
            limited.args([&format!("--fsize={limit}"), "--core=0"]);
            limited.arg(plain.get_program()).args(plain.get_args()).current_dir(sandbox.path());
            if start(limited).wait().unwrap().code() == Some(2) {
                break;
            }
            left_old += usize::from(!judge(&target, &format!("{}: ended at frame {frame}", filled.by)));
        }
        assert!(left_old > 0 || filled.by != STORES[0].by, "nothing ended in the middle");
        let mut dice = Dice::new(7);
        for _ in 0..KILLS {
            let target = put(&sandbox, filled);
            let micros = dice.below(KILLED_WITHIN_US);
            let mut child = start(sync(&sandbox));
            std::thread::park_timeout(Duration::from_micros(micros as u64));
            child.kill().unwrap();
            child.wait().unwrap();
            judge(&target, &format!("{}: killed after {micros} µs", filled.by));
        }
    }
}

#[test]
fn the_first_run_brings_a_store_of_an_earlier_version_up_to_date() {
    for filled in &STORES {
        let (file, server) = (Sandbox::sqlite(), Sandbox::new(Kept::Postgres));
        put(&file, filled);
        server.database().unwrap().script(filled.dump(Kind::Postgres));
        for sandbox in [&file, &server] {
            sandbox.write("a.txt", "some words");
            let told = ["older version", "run `ingather sync` once"];
            sandbox.run(&["job", "list"]).refuses(3, &told);
            sandbox.run(&["sync", "root", "--dry-run"]).refuses(3, &told);
            sandbox.run(&["sync", "root"]).exits(0);
            sandbox.run(&["job", "list"]).exits(0);
        }
    }
}

/// Steps of the upgrade that another session stops by what it has locked: the number of the step, the table, the lock.
const STEPS: [(i64, &str, &str); 8] = [
    (2, "connection", "ACCESS SHARE"),
    (2, "migration", "SHARE"),
    (3, "place", "ACCESS SHARE"),
    (4, "document", "ACCESS SHARE"),
    (5, "migration", "SHARE"),
    (6, "trouble", "ACCESS EXCLUSIVE"),
    (7, "delivery", "ACCESS SHARE"),
    (8, "connection", "ACCESS SHARE"),
];

pub(super) const WAITING: &str = "SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database() AND NOT l.granted";
const OTHERS: &str =
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";

#[test]
fn a_store_in_postgres_whose_upgrade_was_killed_opens_and_shows_nobody_more() {
    for filled in &STORES {
        let version: i64 = filled.by.split('-').next().unwrap().parse().unwrap();
        for (step, table, lock) in STEPS.into_iter().filter(|(step, ..)| *step > version) {
            let sandbox = Sandbox::new(Kept::Postgres);
            sandbox.write("a.txt", "some words");
            let database = sandbox.database().unwrap();
            database.script(filled.dump(Kind::Postgres));
            let connect = || postgres::Client::connect(sandbox.url().unwrap(), postgres::NoTls).unwrap();
            let (mut holder, mut watcher) = (connect(), connect());
            let mut held = holder.transaction().unwrap();
            held.batch_execute(&format!("LOCK TABLE public.{table} IN {lock} MODE")).unwrap();
            let mut child = start(sync(&sandbox));
            let at = format!("{}: killed in step {step}, at the table {table}", filled.by);
            assert!(
                comes(|| !watcher.query(WAITING, &[]).unwrap().is_empty()),
                "{at}: it does not come there"
            );
            child.kill().unwrap();
            assert!(child.wait().unwrap().code().is_none(), "{at}");
            held.rollback().unwrap();
            drop(holder);
            assert!(
                comes(|| watcher.query(OTHERS, &[]).unwrap().is_empty()),
                "{at}: the server goes on with it"
            );
            drop(watcher);
            assert!(!judge(&database.target, &at), "{at}: half of it is there");
            sandbox.run(&["sync", "root"]).exits(0);
        }
    }
}
