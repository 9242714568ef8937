//! Runs that are begun anew, and waited for.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::super::Service;
use super::super::runs::{at_rest, hold_amid_run};
use crate::sandbox::{Kept, Sandbox};
use crate::stops::upgrade::comes;

#[test]
fn two_people_who_restart_a_run_at_once_have_one_further_run() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    sandbox.write("b.txt", "apple");
    let mut service = Service::start(&sandbox);
    let mut holder = hold_amid_run(&sandbox, &service, 2);
    let restart = || service.request("POST", "/api/v1/jobs/root/restart").body(&json!({"mode": "minimal"}));
    std::thread::scope(|scope| {
        let both = [0, 1].map(|_| scope.spawn(|| restart().send(service.address).is(200).json()));
        for answer in both {
            let told = json!({"job": "root", "mode": "minimal", "stopping": true});
            assert_eq!(answer.join().unwrap(), told);
        }
    });
    let shown = service.answer("GET", "/api/v1/jobs/root");
    assert_eq!((&shown["works"], &shown["restart"]), (&json!(true), &json!("minimal")));
    assert_eq!(shown["manifold_state"], "ABORTINGFORRESTARTSEEDING");
    holder.batch_execute("ROLLBACK").unwrap();
    // The next run may begin before the thread of the first one has told its end.
    let told = [(); 3].map(|()| service.tells("run of job root: "));
    let at = |what: &str| {
        told.iter().position(|line| line.contains(what)).unwrap_or_else(|| panic!("{what}: {told:?}"))
    };
    assert!(at("root: begins again") < at("root: ended: ") && at("root: stopped: ") < told.len(), "{told:?}");
    let shown = at_rest(&service, "root");
    let last = (&shown["run"]["run"], &shown["run"]["kind"], &shown["run"]["outcome"], &shown["documents"]);
    assert_eq!(last, (&json!(3), &json!("minimal"), &json!("done"), &json!(2)));
    assert_eq!((&shown["state"], shown.get("restart")), (&json!("resting"), None));
    let runs = service.answer("GET", "/api/v1/jobs/root/runs");
    assert_eq!((&runs["runs"][1]["outcome"], &runs["runs"][1]["kind"]), (&json!("stopped"), &json!("full")));

    // At rest it begins one, and what is refused for a start is refused for it.
    let answer = service.answer("POST", "/api/v1/jobs/root/restart");
    assert_eq!(answer, json!({"job": "root", "mode": "full", "stopping": false}));
    assert_eq!(at_rest(&service, "root")["run"]["run"], 4);
    service.answer("POST", "/api/v1/jobs/root/pause");
    service.ask("POST", "/api/v1/jobs/root/restart").refuses(409, "paused");
    service.answer("POST", "/api/v1/jobs/root/resume");
    service.ask("POST", "/api/v1/jobs/none/restart").refuses(404, "no_such_job");
}

#[test]
fn a_run_that_was_begun_for_somebody_comes_whatever_follows_at_once() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let mut service = Service::start(&sandbox);
    for run in 2..12 {
        service.ask("POST", "/api/v1/jobs/root/start").is(200);
        service.answer("POST", "/api/v1/jobs/root/pause");
        service.answer("POST", "/api/v1/jobs/root/resume");
        assert!(comes(|| service.answer("GET", "/api/v1/jobs/root")["run"]["run"] == run), "run {run}");
        assert_eq!(at_rest(&service, "root")["run"]["outcome"], "done");
    }
    // Its answer is a promise: a kill takes it from nobody.
    for round in 0..3 {
        let before = service.answer("GET", "/api/v1/jobs/root")["run"]["run"].as_i64().unwrap();
        service.ask("POST", "/api/v1/jobs/root/start").is(200);
        let key = service.key.clone();
        service.end(Signal::KILL);
        service = Service::with(&sandbox, key, &[]);
        let last = || service.answer("GET", "/api/v1/jobs/root")["run"].clone();
        assert!(comes(|| last()["run"].as_i64() > Some(before) && last()["outcome"] == "done"), "{round}");
        at_rest(&service, "root");
    }
}

#[test]
fn an_abort_takes_a_restart_back_and_the_end_of_the_service_does_not() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    sandbox.write("b.txt", "apple");
    let service = Service::start(&sandbox);
    let mut holder = hold_amid_run(&sandbox, &service, 2);
    service.answer("POST", "/api/v1/jobs/root/restart");
    assert_eq!(service.answer("POST", "/api/v1/jobs/root/abort")["stopping"], true);
    let shown = service.answer("GET", "/api/v1/jobs/root");
    // Its listing ends at once where it has not come to what is held.
    assert!(["ABORTINGSEEDING", "ABORTING"].map(Value::from).contains(&shown["manifold_state"]), "{shown:#}");
    assert_eq!(shown["hold"], "it is being stopped; what is in hands is put down first");
    holder.batch_execute("ROLLBACK").unwrap();
    let shown = at_rest(&service, "root");
    let last = (&shown["state"], &shown["run"]["run"], &shown["run"]["outcome"]);
    assert_eq!(last, (&json!("resting"), &json!(2), &json!("stopped")));

    let mut holder = hold_amid_run(&sandbox, &service, 3);
    service.answer("POST", "/api/v1/jobs/root/restart");
    let key = service.key.clone();
    rustix::process::kill_process(service.pid(), rustix::process::Signal::TERM).unwrap();
    holder.batch_execute("ROLLBACK").unwrap();
    let mut service = service;
    service.ended().exits(143);
    let mut service = Service::with(&sandbox, key, &[]);
    service.tells("run of job root: begins again");
    service.tells("run of job root: ended: ");
    assert_eq!(at_rest(&service, "root")["run"]["run"], 4);
}

#[test]
fn a_command_waits_for_the_end_of_a_run_and_ends_as_it_did() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    assert!(
        sandbox.run(&["job", "wait", "root"]).exits(0).out.starts_with("root: run 1 done: 1 seen: 1 added")
    );
    sandbox.run(&["job", "wait", "none"]).refuses(2, &["there is no job `none`"]);
    sandbox.write("b.txt", "apple");
    let service = Service::start(&sandbox);
    let mut holder = hold_amid_run(&sandbox, &service, 2);
    let address = format!("http://{}", service.address);
    let wait = |flags: &[&str]| {
        let asked = ["job", "wait", "root", "--server", &address];
        let mut command = sandbox.command(&[&asked, flags].concat());
        command.env("INGATHER_API_KEY", &service.key).output().unwrap()
    };
    let over = wait(&["--timeout", "1"]);
    assert_eq!(over.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&over.stderr).contains("is still under way after 1 s"), "{over:?}");
    let local = sandbox.run(&["job", "wait", "root", "--timeout", "1"]).exits(3);
    assert!(local.err.contains("is still under way"), "{local:?}");
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| wait(&["--json"]));
        service.answer("POST", "/api/v1/jobs/root/abort");
        holder.batch_execute("ROLLBACK").unwrap();
        let waited = waits.join().unwrap();
        assert_eq!(waited.status.code(), Some(1), "{waited:?}");
        let shown: serde_json::Value = serde_json::from_slice(&waited.stdout).unwrap();
        assert_eq!((&shown["run"]["run"], &shown["run"]["outcome"]), (&json!(2), &json!("stopped")));
    });
}

#[test]
fn after_a_reset_of_seeding_the_next_run_is_full_and_reads_everything_until_one_has() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        sandbox.write("b.txt", "apple");
        sandbox.synced(&[]);
        let dry = sandbox.run(&["job", "reset-seeding", "root", "--dry-run"]).exits(0);
        assert!(dry.out.contains("would be a full one that reads 2 documents again"), "{dry:?}");
        let rereads = || sandbox.run(&["job", "show", "root", "--json"]).json()[0].get("rereads").cloned();
        assert_eq!(rereads(), None);
        std::fs::remove_file(sandbox.root().join("b.txt")).unwrap();
        let service = Service::start(&sandbox);
        let reset = service.answer("POST", "/api/v1/jobs/root/reset-seeding");
        assert_eq!(reset, json!({"job": "root", "documents": 2, "under_way": false, "dry_run": false}));
        let minimal = service.request("POST", "/api/v1/jobs/root/start").body(&json!({"mode": "minimal"}));
        assert_eq!(minimal.send(service.address).is(200).json()["mode"], "full");
        let shown = at_rest(&service, "root");
        let last = (&shown["run"]["kind"], &shown["documents"], shown.get("rereads"));
        assert_eq!(
            last,
            (&json!("full"), &json!(1), None),
            "what is gone was removed, and nothing is left to do"
        );
        minimal.send(service.address).is(200);
        assert_eq!(at_rest(&service, "root")["run"]["kind"], "minimal");
        service.ask("POST", "/api/v1/jobs/none/reset-seeding").refuses(404, "no_such_job");
    }
}

#[test]
fn what_outputs_hold_is_sent_again_by_the_next_run_and_never_beside_one() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.write("b.txt", "apple");
    sandbox.synced(&["--keep", "extracted"]);
    let dry = sandbox.run(&["job", "resend", "root", "--dry-run"]).exits(0);
    assert_eq!(
        dry.out,
        "root: the next run would send 2 documents to index again (dry run, nothing was changed)\n"
    );
    sandbox.run(&["job", "resend", "root", "--output", "null"]).refuses(2, &["no output `null`", "index"]);
    assert_eq!(sandbox.sync(&[]).0.get("updated"), 0, "nothing was changed");
    let service = Service::start(&sandbox);
    let resend = service.request("POST", "/api/v1/jobs/root/resend");
    // A pause holds back runs, and not what is said of the next one.
    service.answer("POST", "/api/v1/jobs/root/pause");
    let told = json!({"job": "root", "documents": 2, "outputs": ["index"], "dry_run": false});
    assert_eq!(resend.send(service.address).is(200).json(), told);
    service.answer("POST", "/api/v1/jobs/root/resume");
    service.ask("POST", "/api/v1/jobs/root/start").is(200);
    let shown = at_rest(&service, "root");
    assert_eq!((&shown["run"]["counts"]["updated"], &shown["documents"]), (&json!(2), &json!(2)));
    sandbox.write("c.txt", "apple");
    let mut holder = hold_amid_run(&sandbox, &service, 4);
    resend.send(service.address).refuses(409, "running");
    holder.batch_execute("ROLLBACK").unwrap();
    at_rest(&service, "root");
    assert_eq!(sandbox.find("apple"), ["a.txt", "b.txt", "c.txt"]);
}
