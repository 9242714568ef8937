//! Many clients that push at once: what they push shares transactions, and each has its own answer. And how much they may push.

use std::sync::Mutex;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::channels::{Client, judge, serving};
use super::{Service, goes_on};
use crate::sandbox::{Kept, Sandbox};
use crate::service::http::Request;
use crate::service::key;
use crate::stops::upgrade::comes;

const RECORDS: &str = "/api/v1/sources/tickets/records";

/// A client that pushes single records until the service is gone; key and ticket of each that was taken.
fn pushes(service: &Service<'_>, (pusher, client): (&str, usize), taken: &Mutex<Vec<(String, i64)>>) {
    for number in 0.. {
        let key = format!("client {client}/{number}");
        let body = json!({"records": [{"key": key, "text": "lamp", "access": ["everybody"]}]});
        let Some(reply) = Request::new("POST", RECORDS).key(pusher).body(&body).try_send(service.address)
        else {
            break;
        };
        let ticket = reply.is(200).json()["results"][0]["ticket"].as_i64().unwrap();
        taken.lock().unwrap().push((key, ticket));
    }
}

#[test]
fn records_of_many_clients_at_once_are_on_disk_when_they_are_answered_and_each_answer_is_of_its_own_record() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.run(&["job", "define", "push:tickets", "--schedule", "continuous"]).exits(0);
        let pusher = key(&sandbox, "pusher", &["pusher"], None);
        let admin = key(&sandbox, "test", &["admin"], None);
        let service = Service::with(&sandbox, admin.clone(), &[]);
        let taken = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for client in 0..16 {
                let (service, taken, pusher) = (&service, &taken, &pusher);
                scope.spawn(move || pushes(service, (pusher, client), taken));
            }
            let wanted = fastrand::usize(20..120);
            assert!(comes(|| taken.lock().unwrap().len() >= wanted));
            kill_process(service.pid(), Signal::KILL).unwrap();
        });
        let taken = taken.into_inner().unwrap();
        let service = Service::with(&sandbox, admin, &[]);
        goes_on(&service);
        for (key, ticket) in &taken {
            let of = || service.answer("GET", &format!("/api/v1/tickets/{ticket}"));
            assert_eq!(of()["key"], json!(key), "ticket {ticket}");
            assert!(comes(|| of()["report"]["outcome"] == "indexed"), "{}", of());
        }
        drop(service.end(Signal::TERM));
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["doctor"]).exits(0);
    }
}

#[test]
fn a_source_takes_as_many_records_as_it_may_have_and_as_many_a_minute_as_it_may() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox
            .run(&["job", "define", "push:tickets", "--schedule", "continuous", "--set", "records_max=3"])
            .exits(0);
        let pusher = key(&sandbox, "pusher", &["pusher"], None);
        let service = Service::start(&sandbox);
        let push = |records: Value| {
            Request::new("POST", RECORDS)
                .key(&pusher)
                .body(&json!({"records": records}))
                .send(service.address)
        };
        let results = |records: Value| -> Vec<String> {
            let answer = push(records).is(200).json();
            let word =
                |one: &Value| one["code"].as_str().or(one["result"].as_str()).unwrap_or_default().to_owned();
            answer["results"].as_array().unwrap().iter().map(word).collect()
        };
        let record = |key: &str| json!({"key": key, "text": "lamp", "access": ["everybody"]});
        let all = ["a", "b", "c", "d"].map(record);
        assert_eq!(results(json!(all)), ["pending", "pending", "pending", "quota"]);
        assert_eq!(
            results(json!([record("a"), record("d")])),
            ["pending", "quota"],
            "one in place of another is none more"
        );
        let gone = json!({"key": "b", "delete": true});
        assert_eq!(results(json!([gone, record("d"), record("e")])), ["pending", "pending", "quota"]);
        let other = json!({"root": "push:tickets", "update": true,
            "source": {"records_max": null, "records_a_minute_max": 5}});
        let change = || service.request("POST", "/api/v1/jobs").body(&other).send(service.address);
        // Not while what was pushed is delivered.
        assert!(comes(|| change().status == 200), "{:?}", change());
        assert_eq!(
            results(json!(["f", "g", "h", "i"].map(record))),
            ["pending"; 4],
            "the new settings count at once"
        );
        let throttled = push(json!([record("j"), record("k"), record("l")])).refuses(429, "throttled");
        assert!(
            throttled.json()["detail"].as_str().unwrap().contains("5 records a minute"),
            "{}",
            throttled.json()
        );
        drop(service.end(Signal::TERM));
    }
}

#[test]
fn channels_that_many_threads_share_tell_each_record_once_and_end_when_all_is_told() {
    const THREADS: usize = 12;
    const CALLS: usize = 8;
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let (service, [one, _]) = serving(&sandbox);
        let client = Client { service: &service, key: one };
        let channels: Vec<i64> = (0..3).map(|_| client.open(json!({}))).collect();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (client, channels) = (&client, &channels);
                scope.spawn(move || {
                    for call in 0..CALLS {
                        let channel = channels[(thread + call) % channels.len()];
                        // Some keys are of several threads and channels.
                        let keys = [format!("{thread}/{call}"), format!("shared/{}", call % 3)];
                        let records =
                            keys.map(|key| json!({"key": key, "text": "lamp", "access": ["everybody"]}));
                        client.push(channel, &json!(records)).is(200);
                        match fastrand::u8(..4) {
                            0 => drop(client.post(&format!("channels/{channel}/flush"), &json!({})).is(200)),
                            1 => assert_eq!(client.state(channel), "running"),
                            2 => drop(
                                client.post(&format!("channels/{channel}/heartbeat"), &json!({})).is(200),
                            ),
                            _ => {}
                        }
                    }
                });
            }
        });
        let mut queued = 0;
        for channel in channels {
            client.post(&format!("channels/{channel}/terminate"), &json!({})).is(200);
            assert!(comes(|| client.state(channel) == "terminated"));
            let reports = client.reports(channel);
            judge(&reports);
            assert_eq!(reports.last().map(|last| &last["word"]), Some(&json!("terminated")));
            queued += reports.iter().filter(|report| report["kind"] == "queued").count();
        }
        assert_eq!(queued, THREADS * CALLS * 2);
        drop(service.end(Signal::TERM));
        sandbox.run(&["verify"]).exits(0);
    }
}
