//! What a job says of itself: why nothing happens, and what ManifoldCF calls its state.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::runs::{at_rest, hold_amid_run};
use super::same::prepared;
use super::{Service, key};
use crate::sandbox::{Kept, Sandbox};

const PAUSED: &str = "a person paused it; resume it to go on";

fn status(service: &Service<'_>) -> (Value, Value, String) {
    let shown = service.answer("GET", "/api/v1/jobs/root");
    let listed = service.answer("GET", "/api/v1/jobs")["jobs"][0].clone();
    assert_eq!(shown["hold"], listed["hold"]);
    let hold = shown["hold"].as_str().unwrap_or_default().to_owned();
    (shown["state"].clone(), shown["manifold_state"].clone(), hold)
}

#[test]
fn a_job_says_why_nothing_happens_at_each_phase_of_its_run() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    let window = r#"[{"years": [2998], "hours": [2], "length_minutes": 60, "time_zone": "UTC"}]"#;
    sandbox.run(&["sync", "root", "--schedule", window]).exits(0);
    sandbox.write("b.txt", "apple");
    let key = key(&sandbox, "test", &["admin"], None);
    let mut service = Service::with(&sandbox, key.clone(), &[]);
    let (state, manifold, hold) = status(&service);
    assert_eq!((state, manifold), (json!("resting"), json!("INACTIVE")));
    assert!(hold.starts_with("no run was asked for; its schedule starts it 2998-01-01"), "{hold}");

    // A person begins it, outside its window. It has met nothing yet that it could write.
    let mut holder = hold_amid_run(&sandbox, &service, 2);
    let works = (json!("working"), json!("ACTIVESEEDING"), String::new());
    assert_eq!(status(&service), works);
    service.answer("POST", "/api/v1/jobs/root/pause");
    assert_eq!(status(&service), (json!("working"), json!("PAUSEDSEEDING"), PAUSED.to_owned()));
    service.answer("POST", "/api/v1/jobs/root/resume");
    assert_eq!(status(&service), works);
    service.ask("POST", "/api/v1/jobs/root/resume").refuses(409, "not_paused");
    service.answer("POST", "/api/v1/jobs/root/pause");
    kill_process(service.pid(), Signal::TERM).unwrap();
    holder.batch_execute("ROLLBACK").unwrap();
    service.ended().exits(143);
    let shown = sandbox.run(&["job", "show", "root"]).exits(0);
    assert!(shown.out.contains("waiting to begin, paused") && shown.out.contains(PAUSED), "{shown:?}");

    let mut service = Service::with(&sandbox, key, &[]);
    assert_eq!(status(&service), (json!("starting"), json!("READYFORSTARTUP"), PAUSED.to_owned()));
    service.answer("POST", "/api/v1/jobs/root/resume");
    let (state, _, hold) = status(&service);
    assert_eq!(state, json!("starting"));
    assert!(hold.starts_with("it is outside its window, which opens 2998-01-01"), "{hold}");
    // A person who wants it now heeds no window.
    service.answer("POST", "/api/v1/jobs/root/restart");
    service.tells("run of job root: ended: ");
    let shown = at_rest(&service, "root");
    assert_eq!((&shown["run"]["outcome"], &shown["documents"]), (&json!("done"), &json!(2)));
}

#[test]
fn a_job_whose_removals_are_held_says_who_is_waited_for() {
    let sandbox = prepared(Kept::Sqlite);
    let service = Service::start(&sandbox);
    let (_, _, hold) = status(&service);
    assert!(
        hold.starts_with("40 removals are held") && hold.contains("`ingather job confirm root --run 2`"),
        "{hold}"
    );
    drop(service);
    let confirmed = sandbox.run(&["job", "confirm", "root", "--run", "2"]).exits(0);
    let shown = sandbox.run(&["job", "show", "root", "--json"]).exits(0).json();
    assert_eq!(shown[0]["hold"], "no run was asked for, and it has no schedule; start it", "{confirmed:?}");
}

#[test]
fn the_doctor_names_paused_jobs_and_what_is_not_paused_is_not_resumed() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    sandbox.run(&["job", "pause", "root"]).exits(0);
    let doctor = sandbox.run(&["doctor", "-v"]);
    assert!(doctor.out.contains("job root is paused: no run of it begins"), "{doctor:?}");
    assert!(doctor.out.contains("`ingather job resume root` ends the pause"), "{doctor:?}");
    sandbox.run(&["job", "resume", "root"]).exits(0);
    sandbox
        .run(&["job", "resume", "root"])
        .refuses(2, &["job root is not paused", "ingather job start root"]);
    let doctor = sandbox.run(&["doctor", "-v"]);
    assert!(!doctor.out.contains("is paused"), "{doctor:?}");
}

#[test]
fn the_doctor_advises_what_is_possible_beside_a_service() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    sandbox.write("b.txt", "apple");
    let service = Service::start(&sandbox);
    let mut holder = hold_amid_run(&sandbox, &service, 2);
    service.answer("POST", "/api/v1/jobs/root/abort");
    holder.batch_execute("ROLLBACK").unwrap();
    at_rest(&service, "root");
    let advice = || {
        let looks = sandbox.run(&["doctor", "--json"]).json();
        let run = looks.into_iter().find(|look| look["check"] == "last_run").unwrap();
        assert!(run["says"].as_str().unwrap().contains("run 2 stopped"), "{run}");
        run["advice"].as_str().unwrap().to_owned()
    };
    let socket = format!("--server unix:{}/ingather.sock` goes on", sandbox.data().display());
    assert!(advice().starts_with(&format!("`ingather job start root {socket}")), "{}", advice());
    drop(service);
    assert!(advice().starts_with("`ingather sync` of "), "{}", advice());
}
