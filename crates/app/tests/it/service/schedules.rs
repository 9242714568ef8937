//! Runs that begin by themselves, and pauses.

use serde_json::json;

use super::Service;
use super::runs::at_rest;
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
