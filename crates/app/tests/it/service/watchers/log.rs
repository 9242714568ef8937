//! A log for programs, ids of requests, and how often somebody may search.

use std::time::Instant;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::service::http::Request;
use crate::service::{Service, WAIT, key, next_line};

#[test]
fn each_line_of_a_log_for_programs_is_an_object_that_says_who_asked_for_what() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let operator = key(&sandbox, "bob", &["operator"], None);
    let mut service = Service::with(&sandbox, operator, &["--log-format", "json"]);
    let started = service.ask("POST", "/api/v1/jobs/root/start").is(200);
    let id = started.head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap().to_owned();
    let (mut lines, end) = (Vec::new(), Instant::now() + WAIT);
    let mut read = |until: &dyn Fn(&Value) -> bool| loop {
        let line = next_line(&mut service.told, end).unwrap_or_else(|| panic!("{lines:#?}"));
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for field in ["time", "level", "event", "message"] {
            assert!(told[field].as_str().is_some_and(|said| !said.is_empty()), "{field}: {told}");
        }
        assert!(told["time"].as_str().unwrap().ends_with('Z'), "{told}");
        lines.push(told);
        if until(lines.last().unwrap()) {
            break lines.last().unwrap().clone();
        }
    };
    let begun = |told: &Value| told["event"] == "jobs.start";
    let ended = |told: &Value| told["event"] == "run.ended";
    // Whichever is written first.
    let first = read(&|told| begun(told) || ended(told));
    let second = read(&|told| begun(told) || ended(told));
    let (change, run) = if begun(&first) { (first, second) } else { (second, first) };
    let told = ["level", "outcome", "job", "caller", "request"].map(|field| change[field].as_str().unwrap());
    assert_eq!(told, ["info", "done", "root", "key bob", id.as_str()]);
    assert_eq!((&run["job"], &run["level"]), (&json!("root"), &json!("info")));
    let refused = service.ask("POST", "/api/v1/jobs/none/abort").refuses(404, "no_such_job");
    let own = refused.json()["request"].as_str().unwrap().to_owned();
    assert!(own != id && refused.head.contains(&format!("x-request-id: {own}")), "{refused:#?}");
    kill_process(service.pid(), Signal::TERM).unwrap();
    let rest = service.ended();
    for line in rest.err.lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
    let change =
        rest.err.lines().find(|line| line.contains("jobs.abort")).expect("what was refused is in it");
    assert!(change.contains("no_such_job") && change.contains(&own), "{change}");
}

#[test]
fn the_log_for_people_has_times_changes_and_the_end_of_the_service() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let operator = key(&sandbox, "bob", &["operator"], None);
    let mut service = Service::with(&sandbox, operator, &[]);
    service.ask("POST", "/api/v1/jobs/root/pause").is(200);
    service.tells("key bob asked for jobs.pause of job `root`: done");
    service.ask("POST", "/api/v1/jobs/none/pause").refuses(404, "no_such_job");
    service.tells("key bob asked for jobs.pause of job `none`: no_such_job");
    kill_process(service.pid(), Signal::TERM).unwrap();
    let rest = service.ended();
    let last = rest.err.lines().last().unwrap();
    assert!(last.ends_with("Z ended") && last.starts_with("20"), "{rest:?}");
}

#[test]
fn a_caller_who_searches_without_end_is_told_to_wait_and_others_are_not() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let [greedy, other] = ["greedy", "other"].map(|name| key(&sandbox, name, &["searcher"], None));
    let service = Service::with(&sandbox, String::new(), &["--searches-per-second", "1"]);
    let search = |key: &str| Request::new("GET", "/api/v1/search?query=apple").key(key).send(service.address);
    // However slow the machine is, so many connections at once are quicker than one each second.
    let refused = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let mut replies = (0..1_000).map(|_| search(&greedy));
                    replies.find(|reply| reply.status == 429)
                })
            })
            .collect();
        asking.into_iter().filter_map(|asking| asking.join().unwrap()).next()
    });
    let refused = refused.expect("one of them was too many").refuses(429, "too_many");
    assert!(refused.head.contains("retry-after: 1"), "{refused:#?}");
    search(&other).is(200);
    let told = Request::new("GET", "/api/v1/openapi.json").send(service.address).is(200).json();
    assert!(told["paths"]["/api/v1/search"]["get"]["responses"]["429"].is_object());
}
