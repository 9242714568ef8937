//! A source that buffers what changes, and whose ends are told: with a real service, clients and a notifier.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::{Service, goes_on};
use crate::sandbox::{Kept, Sandbox};
use crate::service::http::Request;
use crate::service::key;
use crate::service::runs::at_rest;
use crate::service::told::notices::{appends, declared, told};
use crate::stops::upgrade::comes;

/// Longer than a test takes: what is delivered before was released.
const LONG: &str = "600000";

struct Client<'s, 'b> {
    service: &'s Service<'b>,
    key: &'s str,
}

impl Client<'_, '_> {
    fn post(&self, path: &str, body: &Value) -> Value {
        let path = format!("/api/v1/{path}");
        Request::new("POST", &path).key(self.key).body(body).send(self.service.address).is(200).json()
    }

    fn push(&self, path: &str, records: &Value) -> Vec<i64> {
        let answer = self.post(&format!("{path}/records"), &json!({"records": records}));
        let results = answer["results"].as_array().unwrap().iter();
        results.map(|one| one["ticket"].as_i64().unwrap()).collect()
    }

    fn outcome(&self, ticket: i64) -> Value {
        let path = format!("/api/v1/tickets/{ticket}");
        let answer = Request::new("GET", &path).key(self.key).send(self.service.address).is(200).json();
        answer["report"]["outcome"].clone()
    }
}

fn record(key: &str, text: &str) -> Value {
    json!({"key": key, "text": text, "access": ["everybody"]})
}

#[test]
fn what_a_source_buffers_is_on_disk_told_and_released_by_the_ends_of_clients() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let (ms, most) = (format!("buffer_ms={LONG}"), format!("buffer_ms_max={LONG}"));
        let define = ["job", "define", "push:tickets", "--schedule", "continuous", "--notify", "all:drained"];
        sandbox.run(&[&define[..], &["--set", &ms, "--set", &most]].concat()).exits(0);
        let admin = key(&sandbox, "test", &["admin"], None);
        let pusher = key(&sandbox, "pusher", &["pusher"], None);
        let flags = declared(&sandbox, &json!({"all": {"command": appends(&sandbox, "true")}}));
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let service = Service::with(&sandbox, admin.clone(), &flags);
        let client = Client { service: &service, key: &pusher };
        // Of several changes the last one is delivered, and none is lost by a kill: what a service begins with looks at everything.
        let first = client.push("sources/tickets", &json!([record("a", "first lamp"), record("b", "lamp")]));
        let second = client.push("sources/tickets", &json!([record("a", "second lamp")]));
        assert_eq!(client.outcome(first[0]), "superseded");
        let shown = service.answer("GET", "/api/v1/sources/tickets/run");
        assert_eq!((&shown["buffered"], shown["buffered_since"].is_i64()), (&json!(2), true), "{shown}");
        assert_eq!(client.outcome(second[0]), Value::Null);
        kill_process(service.pid(), Signal::KILL).unwrap();
        drop(service);
        let service = Service::with(&sandbox, admin, &flags);
        goes_on(&service);
        let client = Client { service: &service, key: &pusher };
        assert!(comes(|| client.outcome(second[0]) == "indexed"));
        // What is pushed while that goes on is met by it.
        at_rest(&service, "tickets");
        let second = client.push("sources/tickets", &json!([record("a", "third lamp")]));
        // A flush of a channel releases what came through it, and nothing else.
        let channel = client.post("channels", &json!({"source": "tickets"}))["channel"].clone();
        let through = client.push(&format!("channels/{channel}"), &json!([record("c", "lamp")]));
        client.post(&format!("channels/{channel}/flush"), &json!({}));
        assert!(comes(|| client.outcome(through[0]) == "indexed"));
        assert_eq!(client.outcome(second[0]), Value::Null);
        // A delta run at its end releases all; and once that is done, notifiers are told.
        let run = client.post("sources/tickets/runs", &json!({}));
        let within = json!({"run": run["run"], "token": run["token"], "records": [record("d", "lamp")]});
        client.post("sources/tickets/records", &within);
        assert_eq!(told(&sandbox), [Value::Null; 0]);
        let path = format!("sources/tickets/runs/{}/finish", run["run"]);
        let finish = json!({"token": run["token"], "complete": false});
        client.post(&path, &finish);
        assert!(comes(|| client.outcome(second[0]) == "indexed"));
        assert!(comes(|| service.answer("GET", "/api/v1/sources/tickets/run")["buffered"] == 0));
        assert!(comes(|| told(&sandbox).len() == 1), "{:?}", told(&sandbox));
        // Asked again, nothing is told again; the next delta run is.
        client.post(&path, &finish);
        let run = client.post("sources/tickets/runs", &json!({}));
        let path = format!("sources/tickets/runs/{}/finish", run["run"]);
        client.post(&path, &json!({"token": run["token"], "complete": true}));
        assert!(comes(|| told(&sandbox).len() == 2), "{:?}", told(&sandbox));
        let told = told(&sandbox);
        let of: Vec<_> =
            told.iter().map(|one| (&one["event"], &one["run"], &one["deleted"], &one["failed"])).collect();
        let drained = json!("drained");
        let (one, two, none, four) = (json!(1), json!(2), json!(0), json!(4));
        assert_eq!(of, [(&drained, &one, &none, &none), (&drained, &two, &four, &none)], "{told:?}");
        drop(service.end(Signal::TERM));
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["doctor"]).exits(0);
    }
}

#[test]
fn a_version_that_comes_late_is_stale_and_wrong_settings_are_refused() {
    let sandbox = Sandbox::new(Kept::Sqlite);
    let wrong = ["job", "define", "push:tickets", "--set", "buffer_ms=2000", "--set", "buffer_ms_max=1000"];
    sandbox.run(&wrong).refuses(2, &["buffer_ms_max", "2000"]);
    sandbox.run(&["job", "define", "push:tickets", "--schedule", "continuous"]).exits(0);
    let pusher = key(&sandbox, "pusher", &["pusher"], None);
    let service = Service::start(&sandbox);
    let client = Client { service: &service, key: &pusher };
    let version = |text: &str, version: i64| json!([{"key": "a", "text": text, "access": ["everybody"], "version": version}]);
    let new = client.push("sources/tickets", &version("new lamp", 7));
    let late = client.push("sources/tickets", &version("old chair", 6));
    let gone = client.push("sources/tickets", &json!([{"key": "a", "delete": true, "version": 5}]));
    assert_eq!([client.outcome(late[0]), client.outcome(gone[0])], ["stale", "stale"]);
    assert!(comes(|| client.outcome(new[0]) == "indexed"));
    let found = service.answer("GET", "/api/v1/search?query=lamp&all=true");
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(1), "{found}");
    drop(service.end(Signal::TERM));
}
