//! Runs that begin by themselves, and pauses.

use serde_json::json;

use super::runs::at_rest;
use super::{Service, key};
use crate::sandbox::{Kept, Sandbox};

#[test]
fn a_job_whose_interval_is_over_begins_by_itself_unless_it_is_paused() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.run(&["sync", "root", "--schedule", "every 1h"]).exits(0);
    sandbox.write("b.txt", "apple");
    sandbox.run(&["job", "pause", "root"]).exits(0);
    // Before the service reads it: of a job that rests it does not read the last run again.
    let mut store = postgres::Client::connect(sandbox.url().unwrap(), postgres::NoTls).unwrap();
    store.batch_execute("UPDATE public.run SET started_at = started_at - 7200000").unwrap();
    let mut service = Service::start(&sandbox);
    let paused = service.answer("POST", "/api/v1/jobs/root/pause");
    assert_eq!(paused, json!({"job": "root", "paused": true, "heard": false}));
    service.ask("POST", "/api/v1/jobs/root/start").refuses(409, "paused");
    let shown = at_rest(&service, "root");
    assert_eq!((&shown["paused"], &shown["run"]["run"]), (&json!(true), &json!(1)));
    // The end of the pause is a change: schedules are looked at.
    assert_eq!(service.answer("POST", "/api/v1/jobs/root/resume")["paused"], false);
    service.tells("run of job root: begins by itself");
    service.tells("run of job root: ended");
    let shown = at_rest(&service, "root");
    assert_eq!(
        (&shown["run"]["run"], &shown["run"]["kind"], &shown["run"]["counts"]["added"]),
        (&json!(2), &json!("full"), &json!(1))
    );
    assert_eq!(shown["schedule"]["words"], "every 1 h");
    assert!(shown.get("paused").is_none());
}

#[test]
fn a_pause_outlasts_the_program_and_is_said_to_whoever_runs_the_job() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        sandbox.synced(&[]);
        let paused = sandbox.run(&["job", "pause", "root"]).exits(0);
        assert_eq!(paused.out, "job root is paused; `ingather job resume root` ends the pause\n");
        sandbox.write("b.txt", "apple");
        let refused = sandbox.run(&["sync", "root"]).exits(2);
        assert!(
            refused.err.contains("job root is paused; `ingather job resume root` lets it run"),
            "{refused:?}"
        );
        assert!(sandbox.run(&["job", "list"]).exits(0).out.contains("idle, paused"));
        let resumed = sandbox.run(&["job", "resume", "root", "--json"]).exits(0);
        assert_eq!(resumed.json(), [json!({"job": "root", "paused": false, "heard": false})]);
        assert_eq!(sandbox.sync(&[]).0.get("added"), 1);
        sandbox.run(&["job", "pause", "none"]).exits(2);
    }
}

#[test]
fn a_job_that_waits_for_its_first_beginning_is_well_and_searches_say_that_it_comes() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let root = std::fs::canonicalize(sandbox.root()).unwrap().display().to_string();
    let service = Service::with(&sandbox, key(&sandbox, "admin", &["admin"], None), &["--root", &root]);
    // A moment that does not come while this runs.
    let waits = json!({"root": root, "name": "yearly", "schedule": "0 0 29 2 *"});
    service.request("POST", "/api/v1/jobs").body(&waits).send(service.address).is(200);
    let status = service.answer("GET", "/api/v1/status")["jobs"].clone();
    let yearly = status.as_array().unwrap().iter().find(|job| job["job"] == "yearly").unwrap();
    assert_eq!((&yearly["well"], &yearly["needs"]), (&json!(true), &json!([])));
    let unfinished =
        || service.answer("GET", "/api/v1/search?query=apple&all=true&advise=true")["unfinished"].to_string();
    assert!(unfinished().contains("its schedule begins one"), "{}", unfinished());
    let changes = service.answer("GET", "/api/v1/audit?limit=1")["changes"][0].clone();
    assert_eq!((&changes["operation"], &changes["job"]), (&json!("jobs.define"), &json!("yearly")));
}
