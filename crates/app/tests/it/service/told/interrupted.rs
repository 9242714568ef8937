//! A job whose run was interrupted too often rests, and everybody says so: a service, and commands beside it and without it.

use ingather_model::job::RunKind;
use ingather_model::job::history::HistoryOf;
use ingather_store::runs::{self, Begin};
use ingather_store::{Durability, Store, Target, jobs};
use ingather_testkit::database::Database;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::super::{Service, key};
use crate::sandbox::{Kept, Sandbox};
use crate::stops::upgrade::comes;

/// Runs that were begun just now and whose process died.
fn interrupted(sandbox: &Sandbox, times: u32) {
    let target = match sandbox.url() {
        Some(url) => Target::Postgres(url.to_owned()),
        None => Target::Sqlite(sandbox.data().join("store.db")),
    };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let at = i64::try_from(now.as_millis()).unwrap();
    let store = Store::open(&target).unwrap();
    store
        .write(Durability::Synced, |sql| {
            let job = jobs::by_name(sql, "root")?.unwrap();
            for _ in 0..times {
                let number = jobs::begin(sql, job.id)?.unwrap();
                let begin = Begin { number, kind: RunKind::Full, at, by: "", notes: HistoryOf::Failures };
                runs::open(sql, job.id, begin)?;
            }
            Ok(())
        })
        .unwrap();
}

/// A job with a window that is closed.
fn sandbox(kept: Kept) -> Sandbox {
    let sandbox = Sandbox::new(kept);
    sandbox.write("a.txt", "apple");
    let window = r#"[{"years": [2998], "hours": [2], "length_minutes": 60, "time_zone": "UTC"}]"#;
    sandbox.run(&["sync", "root", "--schedule", window]).exits(0);
    sandbox
}

#[track_caller]
fn rests(sandbox: &Sandbox) {
    let shown = sandbox.run(&["job", "show", "root"]).exits(0).out;
    assert!(shown.contains("state      idle\n"), "{shown}");
    assert!(shown.contains("its run was interrupted 3 times in a row"), "{shown}");
    for command in [&["job", "list"][..], &["status"]] {
        let told = sandbox.run(command).out;
        assert!(told.contains("idle") && !told.contains("running"), "{told}");
    }
    let status = sandbox.run(&["status", "--json"]).exits(1).json().remove(0);
    assert_eq!((&status["state"], &status["well"]), (&json!("resting"), &json!(false)), "{status}");
    let hold = status["hold"].as_str().unwrap_or_default();
    assert!(hold.starts_with("its run was interrupted 3 times in a row"), "{status}");
    // It waits for nothing.
    sandbox.run(&["job", "wait", "root", "--timeout", "20"]).exits(1);
}

#[test]
fn a_job_that_rests_after_three_interruptions_is_said_to_be_running_by_nobody() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = sandbox(kept);
        interrupted(&sandbox, 3);
        rests(&sandbox);
        let service = Service::start(&sandbox);
        let told = service.answer("GET", "/api/v1/jobs/root");
        assert_eq!((&told["state"], &told["works"]), (&json!("resting"), &json!(false)), "{told}");
        let hold = told["hold"].as_str().unwrap_or_default();
        assert!(hold.starts_with("its run was interrupted 3 times in a row"), "before its window: {told}");
        rests(&sandbox);
        service.end(Signal::TERM);
        rests(&sandbox);
    }
}

#[test]
fn a_run_that_a_service_tries_for_the_third_time_is_under_way_for_commands_beside_it() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    sandbox.write("b.txt", "apple");
    let key = key(&sandbox, "test", &["admin"], None);
    interrupted(&sandbox, 2);
    let mut holder = postgres::Client::connect(sandbox.url().unwrap(), postgres::NoTls).unwrap();
    holder.batch_execute("BEGIN; LOCK TABLE public.document IN SHARE MODE").unwrap();
    let service = Service::with(&sandbox, key, &[]);
    let run = || service.answer("GET", "/api/v1/jobs/root")["run"]["run"].clone();
    assert!(comes(|| run() == 4), "{}", run());
    let shown = sandbox.run(&["job", "show", "root", "--json"]).exits(0).json().remove(0);
    assert_eq!((&shown["state"], &shown["hold"]), (&json!("working"), &Value::Null), "{shown}");
    holder.batch_execute("ROLLBACK").unwrap();
    let rests = comes(|| service.answer("GET", "/api/v1/jobs/root")["works"] == false);
    assert!(rests);
    assert_eq!(service.answer("GET", "/api/v1/jobs/root")["run"]["outcome"], "done");
}

#[test]
fn status_tells_of_notices_that_nobody_tells() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.run(&["sync", "root", "--notify", "ops:finished"]).exits(0);
    let says = |told: &str| {
        assert!(told.contains("notifier ops waits to be told of run 1, and nobody tells it"), "{told}");
        assert!(told.contains("`ingather serve --notifiers FILE`"), "{told}");
    };
    says(&sandbox.run(&["status"]).exits(1).out);
    // A service looks at once: what waits for a minute is told by nobody.
    Database::at(Target::Sqlite(sandbox.data().join("store.db"))).script("UPDATE notice SET at = at - 61000");
    let service = Service::start(&sandbox);
    let status = service.answer("GET", "/api/v1/status");
    says(&status["jobs"][0]["needs"].to_string());
}
