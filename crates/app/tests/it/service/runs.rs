//! Runs that clients begin and end.

use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::{Service, key};
use crate::commands::many_files;
use crate::sandbox::{Kept, Sandbox};
use crate::stops::upgrade::comes;

/// Waits until nothing works on a job; what its last run was.
#[track_caller]
pub(super) fn at_rest(service: &Service<'_>, job: &str) -> serde_json::Value {
    let mut shown = json!(null);
    let rests = comes(|| {
        shown = service.answer("GET", &format!("/api/v1/jobs/{job}"));
        shown["works"] == json!(false)
    });
    assert!(rests, "it never rests: {shown}");
    shown
}

#[test]
fn a_job_that_is_started_runs_to_its_end_while_others_are_answered() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        sandbox.synced(&[]);
        sandbox.write("b.txt", "apple");
        let mut service = Service::start(&sandbox);
        let begun = service.answer("POST", "/api/v1/jobs/root/start");
        assert_eq!(begun, json!({"job": "root", "mode": "full"}));
        let told = service.tells("run of job root: ended");
        assert!(told.starts_with("run of job root: ended: 2 seen: 1 added, 1 unchanged in "), "{told}");
        let shown = at_rest(&service, "root");
        assert_eq!((&shown["run"]["run"], &shown["run"]["outcome"]), (&json!(2), &json!("done")));
        assert_eq!(shown["run"]["counts"]["added"], 1);
        let found = service.answer("GET", "/api/v1/search?query=apple&limit=5&all=true");
        assert_eq!(found["summary"]["total"], 2);
        let repair = service.request("POST", "/api/v1/outputs/verify").body(&json!({"repair": true}));
        assert_eq!(repair.send(service.address).is(200).json()["answer"]["agrees"], true);
        std::fs::remove_file(sandbox.root().join("a.txt")).unwrap();
        let minimal = service.request("POST", "/api/v1/jobs/root/start").body(&json!({"mode": "minimal"}));
        minimal.send(service.address).is(200);
        service.tells("run of job root: ended");
        let shown = at_rest(&service, "root");
        assert_eq!((&shown["run"]["kind"], &shown["documents"]), (&json!("minimal"), &json!(2)));
        // Whoever wants every document read again wants a full run.
        let again = json!({"mode": "minimal", "rereads": true});
        let again = service.request("POST", "/api/v1/jobs/root/start").body(&again);
        assert_eq!(again.send(service.address).is(200).json(), json!({"job": "root", "mode": "full"}));
        service.tells("run of job root: ended");
        let shown = at_rest(&service, "root");
        assert_eq!((&shown["run"]["kind"], &shown["documents"]), (&json!("full"), &json!(1)));
        service.ask("POST", "/api/v1/jobs/none/start").refuses(404, "no_such_job");
    }
}

/// A lock of the database that no run gets past.
pub(super) fn hold(sandbox: &Sandbox) -> postgres::Client {
    locked(sandbox, "run")
}

/// Nobody writes to a table until the answer's transaction ends.
fn locked(sandbox: &Sandbox, table: &str) -> postgres::Client {
    let mut holder = postgres::Client::connect(sandbox.url().unwrap(), postgres::NoTls).unwrap();
    holder.batch_execute(&format!("BEGIN; LOCK TABLE public.{table} IN SHARE MODE")).unwrap();
    holder
}

#[test]
fn a_job_that_runs_is_refused_a_second_time_and_stops_when_it_is_aborted_while_another_one_runs() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    sandbox.run(&["sync", "root", "--name", "second", "--to", "null"]).exits(0);
    let service = Service::start(&sandbox);
    let mut held = hold(&sandbox);
    for job in ["root", "second"] {
        service.ask("POST", &format!("/api/v1/jobs/{job}/start")).is(200);
        service.ask("POST", &format!("/api/v1/jobs/{job}/start")).refuses(409, "running");
    }
    service.ask("DELETE", "/api/v1/jobs/root").refuses(409, "running");
    // As soon as a run writes, nothing is repaired beside it.
    let repair = service.request("POST", "/api/v1/system/doctor").body(&json!({"repair": true}));
    assert!(comes(|| repair.send(service.address).status == 409));
    assert_eq!(service.answer("GET", "/api/v1/jobs/root")["works"], true);
    std::thread::scope(|scope| {
        let abort = scope.spawn(|| service.answer("POST", "/api/v1/jobs/root/abort"));
        let stops = || service.answer("GET", "/api/v1/jobs/root")["manifold_state"] == "ABORTINGSTARTINGUP";
        assert!(comes(stops), "at once, whatever the store does");
        held.batch_execute("ROLLBACK").unwrap();
        assert_eq!(abort.join().unwrap(), json!({"job": "root", "stopping": true}));
    });
    let (first, second) = (at_rest(&service, "root"), at_rest(&service, "second"));
    // It had not begun: no run of it is on record.
    assert_eq!((&first["run"]["run"], &first["run"]["outcome"]), (&json!(1), &json!("done")), "{first}");
    assert_eq!(second["run"]["outcome"], "done", "{second}");
    assert_eq!(service.answer("POST", "/api/v1/jobs/root/abort")["stopping"], false);
    service.ask("POST", "/api/v1/jobs/root/start").is(200);
    assert_eq!(at_rest(&service, "root")["run"]["outcome"], "done");
}

#[test]
fn a_signal_ends_the_service_and_its_runs_and_the_next_run_goes_on() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    many_files(&sandbox, 2_000);
    for signal in [Signal::TERM, Signal::INT] {
        let service = Service::with(&sandbox, String::new(), &[]);
        let ended = service.end(signal);
        assert_eq!(ended.code, 128 + signal.as_raw(), "{ended:?}");
        assert!(!sandbox.data().join("ingather.sock").exists());
    }
    let service = Service::start(&sandbox);
    service.ask("POST", "/api/v1/jobs/root/start").is(200);
    let began = comes(|| service.answer("GET", "/api/v1/jobs/root")["run"]["run"] == 2);
    assert!(began);
    let asked = Instant::now();
    let ended = service.end(Signal::TERM);
    assert_eq!(ended.code, 143, "{ended:?}");
    assert!(asked.elapsed() < Duration::from_secs(60), "{:?}", asked.elapsed());
    let counts = sandbox.synced(&[]);
    assert_eq!(counts.get("added") + counts.get("updated") + counts.get("unchanged"), 2_001, "{counts:?}");
    assert_eq!(sandbox.everything().len(), 2_001);
    let doctor = sandbox.run(&["doctor", "--json"]);
    assert!(!doctor.out.contains("\"number\""), "{doctor:?}");
}

#[test]
fn a_service_that_is_killed_amid_a_run_is_followed_by_one_that_goes_on() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        sandbox.synced(&[]);
        many_files(&sandbox, 1_000);
        let mut service = Service::start(&sandbox);
        service.ask("POST", "/api/v1/jobs/root/start").is(200);
        for round in 0..3 {
            // From the second one on the run goes on by itself.
            let began = comes(|| {
                let shown = service.answer("GET", "/api/v1/jobs/root");
                shown["run"]["run"].as_i64() >= Some(round + 2)
            });
            assert!(began);
            let key = service.key.clone();
            let killed = service.end(Signal::KILL);
            assert_eq!(killed.code, -1, "{killed:?}");
            // What it has left behind, lock, socket and an open run, is in nobody's way.
            service = Service::with(&sandbox, key, &[]);
        }
        service.tells("job root: its run was interrupted 3 times in a row, and does not go on by itself");
        let hold = service.answer("GET", "/api/v1/jobs/root")["hold"].clone();
        let hold = hold.as_str().unwrap_or_default();
        assert!(hold.contains("3 times in a row") && hold.contains("is not on record"), "{hold}");
        let doctor = sandbox.run(&["doctor", "--json"]);
        let told = doctor.json().into_iter().find(|look| look["check"] == "interrupted").unwrap();
        assert!(told["advice"].as_str().unwrap().contains("`ingather job start root`"), "{told}");
        service.ask("POST", "/api/v1/jobs/root/start").is(200);
        let shown = at_rest(&service, "root");
        assert_eq!(
            (&shown["run"]["outcome"], &shown["documents"]),
            (&json!("done"), &json!(1_001)),
            "{shown}"
        );
        service.end(Signal::TERM).exits(143);
        assert_eq!(sandbox.everything().len(), 1_001);
        let doctor = sandbox.run(&["doctor", "--json"]);
        assert!(!doctor.out.contains("\"number\""), "{doctor:?}");
    }
}

#[test]
fn a_deletion_that_a_kill_cuts_off_goes_on_with_the_next_service() {
    let sandbox = Sandbox::new(Kept::Postgres);
    many_files(&sandbox, 50);
    sandbox.synced(&[]);
    let service = Service::start(&sandbox);
    // No document is gone when the kill comes, however long that takes.
    let holder = locked(&sandbox, "document");
    let is_going = || service.answer("GET", "/api/v1/jobs/root")["state"] == "deleting";
    let begun = std::thread::scope(|threads| {
        // Nobody answers it.
        threads.spawn(|| service.request("DELETE", "/api/v1/jobs/root").try_send(service.address));
        let begun = comes(is_going);
        kill_process(service.pid(), Signal::KILL).unwrap();
        begun
    });
    assert!(begun);
    let key = service.key.clone();
    drop((service, holder));
    let mut service = Service::with(&sandbox, key, &[]);
    service.tells("deletion of job root: goes on");
    let ended = service.tells("deletion of job root: ended");
    assert_eq!(ended, "deletion of job root: ended: 50 documents deleted\n");
    service.ask("GET", "/api/v1/jobs/root").refuses(404, "no_such_job");
    assert_eq!(sandbox.everything().len(), 0);
}

/// Keeps the run of a service that is on record from writing anything of what it finds, until the answer's transaction ends. It has found
/// something, and waits.
#[track_caller]
pub(super) fn hold_amid_run(sandbox: &Sandbox, service: &Service<'_>, run: i64) -> postgres::Client {
    let mut holder = locked(sandbox, "document");
    service.ask("POST", "/api/v1/jobs/root/start").is(200);
    assert!(comes(|| service.answer("GET", "/api/v1/jobs/root")["run"]["run"] == run));
    let waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'document'::regclass AND database = \
        (SELECT oid FROM pg_database WHERE datname = current_database())";
    assert!(comes(|| !holder.query(waits, &[]).unwrap().is_empty()), "the run has nothing to write");
    holder
}

#[test]
fn a_run_that_the_end_of_the_service_stopped_goes_on_with_the_next_one_unless_a_person_stopped_it() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    sandbox.write("b.txt", "apple");
    let key = key(&sandbox, "test", &["admin"], None);
    let stored = |service: &Service<'_>| {
        let shown = service.answer("GET", "/api/v1/jobs/root");
        (shown["state"].clone(), shown["run"]["run"].clone(), shown["run"]["outcome"].clone())
    };

    let mut service = Service::with(&sandbox, key.clone(), &[]);
    let mut holder = hold_amid_run(&sandbox, &service, 2);
    service.answer("POST", "/api/v1/jobs/root/pause");
    kill_process(service.pid(), Signal::TERM).unwrap();
    holder.batch_execute("ROLLBACK").unwrap();
    service.ended().exits(143);
    let mut service = Service::with(&sandbox, key.clone(), &[]);
    assert_eq!(stored(&service), (json!("starting"), json!(2), json!("stopped")), "it stays paused");
    service.answer("POST", "/api/v1/jobs/root/resume");
    service.tells("run of job root: begins by itself");
    service.tells("run of job root: ended");
    let shown = at_rest(&service, "root");
    assert_eq!((&shown["run"]["outcome"], &shown["documents"]), (&json!("done"), &json!(2)));
    service.end(Signal::TERM).exits(143);

    sandbox.write("c.txt", "apple");
    let mut service = Service::with(&sandbox, key.clone(), &[]);
    let mut holder = hold_amid_run(&sandbox, &service, 4);
    service.answer("POST", "/api/v1/jobs/root/abort");
    kill_process(service.pid(), Signal::INT).unwrap();
    holder.batch_execute("ROLLBACK").unwrap();
    service.ended().exits(130);
    let service = Service::with(&sandbox, key, &[]);
    assert_eq!(stored(&service), (json!("resting"), json!(4), json!("stopped")));
    service.ask("POST", "/api/v1/jobs/root/start").is(200);
    assert_eq!(at_rest(&service, "root")["run"]["run"], 5);
}

#[test]
fn the_command_line_starts_a_job_itself_and_has_nothing_to_abort() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&["--exclude", "c*"]);
    sandbox.write("b.txt", "apple");
    sandbox.write("c.txt", "apple");
    let started = sandbox.run(&["job", "start", "root", "--json"]).exits(0);
    assert_eq!((&started.json()[0]["added"], &started.json()[0]["seen"]), (&json!(1), &json!(2)));
    std::fs::remove_file(sandbox.root().join("a.txt")).unwrap();
    let minimal = sandbox.run(&["job", "start", "root", "--minimal", "--json"]).exits(0);
    assert_eq!(minimal.json()[0]["deleted"], 0);
    // Nothing can be under way here.
    let restarted = sandbox.run(&["job", "restart", "root", "--json"]).exits(0);
    assert_eq!((&restarted.json()[0]["run"], &restarted.json()[0]["deleted"]), (&json!(4), &json!(1)));
    sandbox.run(&["job", "start", "none"]).refuses(2, &["there is no job `none`"]);
    let aborted = sandbox.run(&["job", "abort", "root"]).exits(0);
    assert_eq!(aborted.out, "job root is not worked on here\n");
    sandbox.run(&["job", "abort", "none"]).refuses(2, &["there is no job `none`"]);
    let _service = Service::with(&sandbox, String::new(), &[]);
    sandbox.run(&["job", "abort", "root"]).refuses(3, &["ingather serve", "ask that process"]);
    sandbox.run(&["job", "start", "root"]).refuses(3, &["ingather serve"]);
}
