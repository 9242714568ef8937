//! The doctor on the real program: silent on a sound store, and each fault is found, named and put right.

use std::os::unix::fs::PermissionsExt;

use ingather_model::job::RunKind;
use ingather_model::job::history::HistoryOf;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_store::db::Value as Parameter;
use ingather_store::deliveries::Answered;
use ingather_store::{Durability, Store, Target, queries, runs};
use serde_json::Value;

use crate::files;
use crate::sandbox::{Kept, Sandbox};

/// A run that begins at a time.
fn begin(number: i64, at: i64) -> runs::Begin<'static> {
    runs::Begin { number, kind: RunKind::Full, at, by: "", notes: HistoryOf::Failures }
}

fn synced(kept: Kept) -> Sandbox {
    let sandbox = Sandbox::new(kept);
    for n in 0..30 {
        sandbox.write(&format!("d{}/f{n}.txt", n % 3), &format!("word{n}"));
    }
    files::settle(&sandbox.root());
    sandbox.synced(&[]);
    sandbox
}

pub(crate) fn store(sandbox: &Sandbox) -> Store {
    let target = match sandbox.url() {
        Some(url) => Target::Postgres(url.to_owned()),
        None => Target::Sqlite(sandbox.data().join("store.db")),
    };
    Store::open(&target).unwrap()
}

/// What is not good, by check.
fn found(sandbox: &Sandbox, flags: &[&str], code: i32) -> Vec<Value> {
    let lines = sandbox.run(&[&["doctor", "--json"], flags].concat()).exits(code).json();
    assert!(lines.len() >= 8, "every look is told: {lines:?}");
    lines.into_iter().filter(|line| line["ok"] == false || line["repaired"] == true).collect()
}

#[test]
fn a_sound_store_is_silent_and_nothing_is_written() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = synced(kept);
        let before = sandbox.snapshot();
        assert_eq!(found(&sandbox, &[], 0), [Value::Null; 0]);
        let told = sandbox.run(&["doctor"]).exits(0);
        assert_eq!((told.out.as_str(), told.err.trim()), ("", "no problems found"));
        assert!(sandbox.run(&["doctor", "-v"]).exits(0).out.contains("good  source"));
        assert!(before == sandbox.snapshot(), "looking changes nothing");
        assert_eq!(found(&sandbox, &["--repair"], 0), [Value::Null; 0]);
        assert_eq!(sandbox.synced(&[]).get("unchanged"), 30);
    }
}

#[test]
fn what_was_forgotten_is_sent_by_the_next_run_and_counters_are_made_anew() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = synced(kept);
        let store = store(&sandbox);
        let ids = [1, 2, 3];
        store
            .write(Durability::Synced, |sql| {
                for id in ids {
                    let rows: Vec<Answered> = ingather_store::deliveries::states(sql, &[id])?
                        .into_iter()
                        .map(|held| Answered { document: id, component: held.component, seq: held.seq })
                        .collect();
                    let output = ingather_store::deliveries::states(sql, &[id])?[0].output;
                    ingather_store::deliveries::remove(sql, output, &rows)?;
                }
                let wrong = [Parameter::Int(3), Parameter::Text("documents"), Parameter::Int(7)];
                sql.execute(&queries::TALLY_ADD, &wrong)
            })
            .unwrap();
        drop(store);
        let told = found(&sandbox, &[], 1);
        let checks: Vec<&str> = told.iter().map(|line| line["check"].as_str().unwrap()).collect();
        assert_eq!(checks[0], "forgotten", "{told:?}");
        assert_eq!(told[0]["count"], 3);
        assert!(told[0]["examples"][0].as_str().unwrap().contains(".txt"), "{told:?}");
        let text = sandbox.run(&["doctor"]).exits(1);
        assert!(text.out.contains("forgotten (5): 3 documents were forgotten"), "{text:?}");
        assert!(text.out.contains("runs_of_no_job (14): 1 job that is not there has runs"), "{text:?}");
        let repaired = found(&sandbox, &["--repair"], 0);
        assert!(repaired.iter().all(|line| line["repaired"] == true), "{repaired:?}");
        // They are known again, and not found yet.
        let waits = found(&sandbox, &[], 1);
        assert_eq!((waits.len(), &waits[0]["check"]), (1, &"resend".into()), "{waits:?}");
        let counts = sandbox.synced(&[]);
        assert_eq!((counts.get("unchanged"), counts.get("added")), (27, 3), "{counts:?}");
        assert_eq!(found(&sandbox, &[], 0), [Value::Null; 0]);
        assert_eq!(sandbox.everything().len(), 30);
    }
}

#[test]
fn the_surroundings_are_looked_at_and_say_what_to_do() {
    let sandbox = synced(Kept::Sqlite);
    let one = |check: &str, words: &[&str], flags: &[&str]| {
        let told = found(&sandbox, flags, 1);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["check"], check);
        let says = format!("{} {}", told[0]["says"].as_str().unwrap(), told[0]["advice"].as_str().unwrap());
        words.iter().for_each(|word| assert!(says.contains(word), "`{word}` is not in: {says}"));
    };
    let mode = |path: std::path::PathBuf, mode: u32| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    mode(sandbox.data().join("store.db"), 0o644);
    one("rights", &["store.db", "--repair"], &[]);
    assert_eq!(found(&sandbox, &["--repair"], 0), [Value::Null; 0]);
    assert_eq!(
        std::fs::metadata(sandbox.data().join("store.db")).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let away = sandbox.path().join("away");
    std::fs::rename(sandbox.root(), &away).unwrap();
    one("source", &["job root", "cannot be reached", "mount"], &[]);
    std::fs::rename(&away, sandbox.root()).unwrap();
    let index = sandbox.data().join("index");
    std::fs::rename(&index, &away).unwrap();
    one("output", &["output index", "it is not there", "the next run makes a new one"], &[]);
    std::fs::rename(&away, &index).unwrap();
    // A run from the future: the clock was set back since.
    let later = i64::MAX / 2;
    store(&sandbox)
        .write(Durability::Synced, |sql| {
            let job = ingather_store::jobs::list(sql)?[0].id;
            runs::open(sql, job, begin(9, later))?;
            runs::end(sql, job, 9, later, RunOutcome::Done, "{}", None)
        })
        .unwrap();
    one("clock", &["the clock says", "set the clock right"], &[]);
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -n 200; exec \"$0\" --data data doctor", env!("CARGO_BIN_EXE_ingather")]);
    let told = crate::sandbox::finish(
        {
            limited.current_dir(sandbox.path());
            limited
        },
        None,
    )
    .exits(1);
    assert!(told.out.contains("may open 200 files"), "{told:?}");
}

#[test]
fn what_is_wrong_with_an_output_and_what_to_do_is_said_once() {
    let (sandbox, other) = (synced(Kept::Sqlite), synced(Kept::Sqlite));
    let index = sandbox.data().join("index");
    std::fs::remove_dir_all(&index).unwrap();
    files::tool("cp", &["-a", other.data().join("index").to_str().unwrap()], &index);
    let told = found(&sandbox, &[], 1);
    let (says, advice) = (told[0]["says"].as_str().unwrap(), told[0]["advice"].as_str().unwrap());
    assert!(
        says.ends_with("belongs to another store") && says.matches("output index").count() == 1,
        "{told:?}"
    );
    assert!(advice.starts_with("move that folder away, then `ingather sync`"), "{told:?}");
    assert!(advice.ends_with("before that, a run would stop there") && told.len() == 1, "{told:?}");
}

#[test]
fn own_files_that_are_something_else_are_named_and_stop_a_run_at_once() {
    for name in ["lock", "identity"] {
        let sandbox = synced(Kept::Sqlite);
        let file = sandbox.data().join(name);
        let harms: [&dyn Fn(); 3] = [
            &|| crate::files::tool("mkfifo", &[], &file),
            &|| std::os::unix::fs::symlink("/nowhere/at/all", &file).unwrap(),
            &|| std::fs::create_dir(&file).unwrap(),
        ];
        for (at, harm) in harms.iter().enumerate() {
            let _ = std::fs::remove_file(&file);
            harm();
            let path = file.display().to_string();
            let told = sandbox.run(&["doctor"]).exits(1);
            assert!(
                told.out.contains(&format!("own_files: {path} is no ordinary file")),
                "{name} {at}: {told:?}"
            );
            sandbox.run(&["sync", "root"]).refuses(3, &[&path, "is no ordinary file; remove it"]);
            sandbox.run(&["job", "list"]).exits(0);
        }
        std::fs::remove_dir(&file).unwrap();
        sandbox.synced(&[]);
        assert_eq!(found(&sandbox, &[], 0), [Value::Null; 0]);
    }
}

#[test]
fn a_run_that_failed_is_told_with_the_last_one_that_ended_well() {
    let sandbox = synced(Kept::Sqlite);
    let store = store(&sandbox);
    let job = store.reader().read(ingather_store::jobs::list).unwrap().remove(0);
    let number =
        store.write(Durability::Synced, |sql| ingather_store::jobs::begin(sql, job.id)).unwrap().unwrap();
    store.write(Durability::Synced, |sql| runs::open(sql, job.id, begin(number, 5))).unwrap();
    drop(store);
    let told = found(&sandbox, &[], 1);
    assert_eq!((told.len(), &told[0]["check"]), (1, &"last_run".into()), "{told:?}");
    let says = told[0]["says"].as_str().unwrap();
    assert!(
        says.contains("the process of run 2 died") && says.contains("run 1 was the last one that ended well"),
        "{says}"
    );
    sandbox.synced(&[]);
    assert_eq!(found(&sandbox, &[], 0), [Value::Null; 0]);
}

#[test]
fn a_store_that_is_damaged_or_missing_cannot_be_examined() {
    let sandbox = Sandbox::sqlite();
    sandbox.run(&["doctor"]).refuses(3, &["ingather sync FOLDER"]);
    let sandbox = synced(Kept::Sqlite);
    std::fs::write(sandbox.data().join("store.db"), "no database".repeat(1_000)).unwrap();
    sandbox.run(&["doctor"]).refuses(3, &["store.db", "backup"]);
}

#[test]
fn what_holds_the_processes_that_read_files_is_told() {
    let sandbox = synced(Kept::Sqlite);
    let told = sandbox.run(&["doctor", "--json"]).exits(0).json();
    let readers = told.iter().find(|line| line["check"] == "readers").unwrap();
    let says = readers["says"].as_str().unwrap();
    for word in ["Landlock (full)", "seccomp (yes)", "no new privileges (yes)", "1.0 GiB of memory"] {
        assert!(says.contains(word), "{says}");
    }
}

#[test]
fn an_index_that_no_job_uses_is_looked_at_too() {
    let (sandbox, other) = (synced(Kept::Sqlite), synced(Kept::Sqlite));
    sandbox.run(&["job", "delete", "root"]).exits(0);
    sandbox.run(&["doctor"]).exits(0);
    let index = sandbox.data().join("index");
    std::fs::remove_dir_all(&index).unwrap();
    sandbox.run(&["doctor"]).exits(0);
    files::tool("cp", &["-a", other.data().join("index").to_str().unwrap()], &index);
    let told = sandbox.run(&["doctor"]).exits(1);
    assert!(told.out.contains("belongs to another store"), "{told:?}");
    assert!(told.out.contains("move that folder away"), "{told:?}");
}
