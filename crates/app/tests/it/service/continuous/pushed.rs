//! Sources that applications push into: what is accepted is found by whom it names, and each ticket is completed once, whatever becomes of the process.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::{Service, goes_on};
use crate::safety::secrets::database;
use crate::sandbox::{Kept, Sandbox};
use crate::service::http::Request;
use crate::service::key;
use crate::stops::upgrade::comes;

const RECORDS: &str = "/api/v1/sources/tickets/records";

/// Pushes lines by the command line.
fn push(sandbox: &Sandbox, records: &[Value], flags: &[&str]) -> (Value, i32) {
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    std::fs::write(sandbox.path().join("records.jsonl"), lines).unwrap();
    let words = [&["push", "records.jsonl", "--source", "tickets", "--json"], flags].concat();
    let answer = sandbox.run(&words);
    let told = answer.json().first().cloned().unwrap_or_else(|| panic!("nothing is told: {}", answer.err));
    (told, answer.code)
}

fn record(key: &str, text: &str) -> Value {
    json!({"key": key, "text": text, "access": ["everybody"]})
}

fn found(sandbox: &Sandbox, query: &str, whose: &[&str]) -> Vec<String> {
    let mut found = sandbox.run(&[&["search", query, "--json"], whose].concat()).documents();
    found.sort();
    found
}

fn reports(sandbox: &Sandbox) -> Vec<(String, String, String)> {
    let told = sandbox.run(&["source", "reports", "tickets", "--json"]).exits(0).json();
    let text = |line: &Value, field: &str| line[field].as_str().unwrap().to_owned();
    told.iter().map(|line| (text(line, "key"), text(line, "op"), text(line, "outcome"))).collect()
}

#[test]
fn what_is_pushed_without_a_service_is_found_by_whom_it_names_until_it_is_deleted() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let one = [
            record("17", "a broken lamp"),
            json!({"key": "18", "text": "a secret lamp", "access": ["unix:u:4711"]}),
            json!({"key": "19", "text": "a lamp of nobody"}),
            json!({"key": "20", "text": 7}),
        ];
        let (told, code) = push(&sandbox, &one[..3], &[]);
        assert_eq!((&told["pending"], code), (&json!(3), 0), "{told}");
        assert_eq!(found(&sandbox, "lamp", &["--all"]), ["17", "18", "19"]);
        assert_eq!(found(&sandbox, "lamp", &["--as", "nobody"]), ["17"]);
        // A line that is no JSON ends it, and the sentence names the line.
        std::fs::write(sandbox.path().join("wrong.jsonl"), "\u{feff}{\"key\": \"1\"}\n{\"key\": ").unwrap();
        sandbox.run(&["push", "wrong.jsonl", "--source", "tickets"]).refuses(2, &["line 2", "no JSON"]);
        push(&sandbox, &[json!({"key": "1", "delete": true})], &[]);
        // One that is none touches no other one.
        let (told, code) = push(&sandbox, &[one[0].clone(), one[3].clone(), json!(["20", false])], &[]);
        assert_eq!((&told["pending"], &told["refused"], code), (&json!(1), &json!(2), 1), "{told}");

        // Another version takes the place of all of the one before, its access included.
        push(&sandbox, &[json!({"key": "17", "text": "a mended chair", "access": ["unix:u:4711"]})], &[]);
        assert_eq!(found(&sandbox, "lamp OR chair", &["--as", "nobody"]), [""; 0]);
        push(&sandbox, &[json!({"key": "18", "delete": true}), json!({"key": "none", "delete": true})], &[]);
        assert_eq!(found(&sandbox, "lamp OR chair", &["--all"]), ["17", "19"]);
        let of = |key: &str| -> Vec<(String, String)> {
            let all = reports(&sandbox).into_iter().filter(|(of, ..)| of == key);
            all.map(|(_, op, outcome)| (op, outcome)).collect()
        };
        let told = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
            rows.iter().map(|(op, outcome)| ((*op).to_owned(), (*outcome).to_owned())).collect()
        };
        assert_eq!(of("17"), told(&[("put", "indexed"), ("put", "unchanged"), ("put", "indexed")]));
        assert_eq!(of("18"), told(&[("put", "indexed"), ("delete", "deleted")]));
        assert_eq!(of("none"), told(&[("delete", "noop")]));
        // The same again is accepted, and outputs hear nothing of it.
        let twice = [record("21", "first"), record("21", "second")];
        push(&sandbox, &twice, &[]);
        assert_eq!(of("21"), told(&[("put", "superseded"), ("put", "indexed")]));
        assert_eq!(found(&sandbox, "first", &["--all"]), [""; 0]);
        // Under which addresses outputs hold it does not change: what they hold would stay there.
        let flags = [
            "job",
            "define",
            "push:tickets",
            "--set",
            "address_prefixes=[\"https://a.example/\"]",
            "--update",
        ];
        sandbox.run(&flags).refuses(2, &["address_prefixes", "cannot change"]);
        // What a person has erased is not taken again.
        sandbox.run(&["document", "erase", "tickets", "19", "--yes"]).exits(0);
        let (told, code) = push(&sandbox, &[record("19", "a lamp again"), record("22", "chair")], &[]);
        assert_eq!((&told["refused"], &told["pending"], code), (&json!(1), &json!(1), 1), "{told}");
        assert_eq!(found(&sandbox, "lamp OR chair", &["--all"]), ["17", "22"]);
        let shown = sandbox.run(&["document", "list", "tickets", "--json"]).exits(0).json();
        assert!(shown.iter().all(|document| document["state"] == "settled"), "{shown:?}");
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["status"]).exits(0);
        // What goes with its job leaves nothing behind.
        sandbox.run(&["job", "delete", "tickets", "--yes"]).exits(0);
        assert_eq!(found(&sandbox, "lamp OR chair OR second", &["--all"]), [""; 0]);
        sandbox.run(&["doctor"]).exits(0);
    }
}

#[test]
fn a_push_of_everything_deletes_what_it_does_not_have_unless_something_speaks_against_it() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let all: Vec<Value> = (0..120)
            .map(|n| json!({"key": format!("a/{n}"), "text": "lamp", "access": ["everybody"], "hash": "1", "if_changed": true}))
            .collect();
        let (told, code) = push(&sandbox, &all, &["--full"]);
        assert_eq!((&told["pending"], &told["deleted"], code), (&json!(120), &json!(0), 0), "{told}");
        // Nothing has changed: nothing is taken, and nothing goes.
        let (told, _) = push(&sandbox, &all, &["--full"]);
        assert_eq!(
            [&told["pending"], &told["unchanged"], &told["deleted"]],
            [&json!(0), &json!(120), &json!(0)]
        );
        let (told, code) = push(&sandbox, &all[..110], &["--full"]);
        assert_eq!((&told["deleted"], code), (&json!(10), 0), "{told}");
        assert_eq!(found(&sandbox, "lamp", &["--all", "--limit", "200"]).len(), 110);
        // Most of it is held until somebody says that it is right.
        let (told, code) = push(&sandbox, &all[..20], &["--full"]);
        assert_eq!((&told["held"], &told["deleted"], code), (&json!(90), &json!(0), 1), "{told}");
        assert_eq!(found(&sandbox, "lamp", &["--all", "--limit", "200"]).len(), 110);
        // A record that is refused stays as it was: its source has it.
        let mut some = all[..100].to_vec();
        some[0] = json!({"key": "a/0", "text": "lamp", "modified": "yesterday"});
        let (told, code) = push(&sandbox, &some, &["--full"]);
        assert_eq!((&told["refused"], &told["deleted"], code), (&json!(1), &json!(10), 1), "{told}");
        assert!(found(&sandbox, "lamp", &["--all", "--limit", "200"]).contains(&"a/0".to_owned()));
        let (told, code) = push(&sandbox, &all[..20], &["--full", "--confirm"]);
        assert_eq!((&told["deleted"], code), (&json!(80), 0), "{told}");
        assert_eq!(found(&sandbox, "lamp", &["--all", "--limit", "200"]).len(), 20);
        // A file that breaks off deletes nothing.
        std::fs::write(sandbox.path().join("broken.jsonl"), format!("{}\n{{\"key\": \"a/1\", ", all[0]))
            .unwrap();
        sandbox.run(&["push", "broken.jsonl", "--source", "tickets", "--full"]).refuses(2, &["line 2"]);
        let shown = sandbox.run(&["source", "show", "tickets", "--json"]).exits(0).json();
        assert_eq!(
            (&shown[0]["state"], &shown[0]["records"]),
            (&json!("rolled_back"), &json!(20)),
            "{shown:?}"
        );
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["doctor"]).exits(0);
    }
}

/// A service with a source, and a key that may push and do nothing else.
fn serving(sandbox: &Sandbox) -> (Service<'_>, String) {
    sandbox.run(&["job", "define", "push:tickets", "--schedule", "continuous"]).exits(0);
    let pusher = key(sandbox, "pusher", &["pusher"], None);
    (Service::start(sandbox), pusher)
}

#[test]
fn a_client_of_a_service_hears_of_each_record_and_of_what_became_of_it() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        sandbox.synced(&[]);
        let searcher = key(&sandbox, "searcher", &["searcher", "operator"], None);
        let (service, pusher) = serving(&sandbox);
        let ask = |verb: &str, path: &str| Request::new(verb, path).key(&pusher);
        let post = |path: &str, body: &Value| ask("POST", path).body(body).send(service.address);
        let wanted = json!({"records": [record("1", "one lamp"), {"key": "2", "modified": "never"}, record("3", "three lamp"), {"key": "5", "title": "\u{0}"}]});
        let pushed = post(RECORDS, &wanted).is(200).json();
        let results: Vec<&str> =
            pushed["results"].as_array().unwrap().iter().map(|one| one["result"].as_str().unwrap()).collect();
        assert_eq!(results, ["pending", "refused", "pending", "refused"]);
        let ticket = pushed["results"][0]["ticket"].as_i64().unwrap();
        let outcome = || {
            let ticket =
                ask("GET", &format!("/api/v1/tickets/{ticket}")).send(service.address).is(200).json();
            ticket["report"]["outcome"].clone()
        };
        assert!(comes(|| outcome() == "indexed"), "{}", outcome());
        // With its key, a push that is repeated is done once.
        let again = |key: &str| {
            let request = ask("POST", RECORDS).header(&format!("Idempotency-Key: {key}"));
            request.body(&json!({"records": [record("4", "four lamp")]})).send(service.address).is(200).json()
        };
        assert_eq!(again("k1"), again("k1"));
        // Whoever may push may do nothing else, and whoever may not is refused.
        for (verb, path) in [
            ("GET", "/api/v1/jobs"),
            ("GET", "/api/v1/search?query=lamp"),
            ("DELETE", "/api/v1/sources/tickets/lock"),
        ] {
            ask(verb, path).send(service.address).refuses(403, "forbidden");
        }
        let refused = Request::new("POST", RECORDS).key(&searcher).body(&json!({"records": []}));
        refused.send(service.address).refuses(403, "forbidden");
        post("/api/v1/sources/none/records", &json!({"records": []})).refuses(404, "no_such_job");
        let many: Vec<Value> = (0..1_001).map(|n| json!({"key": n.to_string()})).collect();
        post(RECORDS, &json!({"records": many})).refuses(413, "too_large");
        // What is pushed again and again is on no record of changes.
        let changes = service.answer("GET", "/api/v1/audit");
        let names = changes["changes"].as_array().unwrap().iter().map(|one| one["operation"].clone());
        assert!(!names.clone().any(|name| name == "push.records"), "{:?}", names.collect::<Vec<_>>());
        // What is done to a source as a whole is, with its name.
        post("/api/v1/sources/tickets/runs", &json!({})).is(200);
        let changes = service.answer("GET", "/api/v1/audit");
        let begun =
            changes["changes"].as_array().unwrap().iter().find(|one| one["operation"] == "push.begin");
        assert_eq!(begun.unwrap()["job"], "tickets", "{changes}");
        // A source that a job reads by itself takes nothing.
        post("/api/v1/sources/root/records", &json!({"records": [record("1", "x")]}))
            .refuses(404, "no_such_job");
    }
}

#[test]
fn a_delta_run_whose_client_gives_no_sign_of_life_is_its_own_no_more() {
    let sandbox = Sandbox::sqlite();
    let (service, pusher) = serving(&sandbox);
    let post = |path: &str, body: &Value| {
        let path = format!("/api/v1/sources/tickets/{path}");
        Request::new("POST", &path).key(&pusher).body(body).send(service.address)
    };
    let lapsed = post("runs", &json!({"lease_seconds": 1})).is(200).json();
    let mut other = Value::Null;
    assert!(comes(|| {
        let answer = post("runs", &json!({}));
        other = answer.json();
        answer.status == 200
    }));
    let body = json!({"token": lapsed["token"], "complete": true});
    post(&format!("runs/{}/finish", lapsed["run"]), &body).refuses(410, "run_expired");
    post(&format!("runs/{}/rollback", other["run"]), &json!({"token": other["token"]})).is(200);
}

#[test]
fn one_client_at_a_time_goes_over_a_source_and_only_by_its_token() {
    let sandbox = Sandbox::sqlite();
    let (service, pusher) = serving(&sandbox);
    let post = |path: &str, body: &Value| {
        let path = format!("/api/v1/sources/tickets/{path}");
        Request::new("POST", &path).key(&pusher).body(body).send(service.address)
    };
    post(
        "records",
        &json!({"records": [record("1", "a"), record("2", "b"), {"key": "3", "text": "c", "hash": "h"}, {"key": "4", "text": "e", "hash": "h"}, record("5", "f")]}),
    )
    .is(200);
    let opened = post("runs", &json!({"lease_seconds": 300})).is(200).json();
    let (run, token) = (opened["run"].as_i64().unwrap(), opened["token"].as_str().unwrap());
    post("runs", &json!({})).refuses(409, "source_locked");
    let within = |path: &str, token: &str, mut body: Value| {
        body["token"] = json!(token);
        post(&format!("runs/{run}/{path}"), &body)
    };
    let asked = json!({"records": [{"key": "3", "hash": "h"}, {"key": "1", "hash": "x"}, {"key": "9"}]});
    within("check", "wrong", asked.clone()).refuses(412, "bad_token");
    let checked = within("check", token, asked).is(200).json();
    assert_eq!(checked["results"], json!(["unchanged", "changed", "new"]));
    within("touch", token, json!({"keys": ["1"]})).is(200);
    // What somebody pushes meanwhile, without the run, is none of what it did not meet.
    post("records", &json!({"records": [record("agent", "d")]})).is(200);
    // Nor is what somebody else says is there, whether it is as before or cannot be taken.
    let others = json!([{"key": "2", "hash": 5}, {"key": "4", "text": "e", "hash": "h", "if_changed": true}]);
    post("records", &json!({"records": others})).is(200);
    let ended = within("finish", token, json!({"complete": true})).is(200).json();
    assert_eq!(ended["deleted"], json!(1), "{ended}");
    // Whoever did not hear the answer asks again.
    assert_eq!(within("finish", token, json!({"complete": true})).is(200).json(), ended);
    within("touch", token, json!({"keys": []})).refuses(410, "run_expired");
    let names = || {
        let shown = service.answer("GET", "/api/v1/jobs/tickets/documents");
        let names = shown["documents"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["document"].as_str().unwrap().to_owned());
        names.collect::<BTreeSet<String>>()
    };
    assert!(comes(|| names() == ["1", "2", "3", "4", "agent"].map(str::to_owned).into()), "{:?}", names());

    // One that is not complete, one that is given up, and one that is taken away delete nothing.
    for end in ["finish", "rollback", "unlock"] {
        let opened = post("runs", &json!({"lease_seconds": 300})).is(200).json();
        let path = format!("runs/{}/{end}", opened["run"]);
        let mut body = json!({"token": opened["token"]});
        match end {
            "finish" => {
                body["complete"] = json!(false);
                assert!(post(&path, &body).is(200).json()["veto"].is_string());
            }
            "rollback" => drop(post(&path, &body).is(200)),
            _ => {
                service.ask("DELETE", "/api/v1/sources/tickets/lock").is(200);
                body["complete"] = json!(true);
                post(&format!("runs/{}/finish", opened["run"]), &body).refuses(410, "run_expired");
            }
        }
    }
    assert_eq!(names().len(), 5);
}

#[test]
fn a_service_that_begins_gives_clients_of_open_delta_runs_their_leases_anew() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let (service, pusher) = serving(&sandbox);
        let post = |service: &Service<'_>, path: &str, body: &Value| {
            let path = format!("/api/v1/sources/tickets/{path}");
            Request::new("POST", &path).key(&pusher).body(body).send(service.address)
        };
        let opened = post(&service, "runs", &json!({"lease_seconds": 3600})).is(200).json();
        let key = service.key.clone();
        drop(service.end(Signal::TERM));
        // For a day there was no service that could have heard its client.
        let day_ms = 24 * 3_600_000;
        database(&sandbox).script(&format!("UPDATE delta_run SET seen_at = seen_at - {day_ms}"));
        let service = Service::with(&sandbox, key, &[]);
        let run = || service.answer("GET", "/api/v1/sources/tickets/run");
        let is_renewed = || run()["seen_at"].as_i64() >= run()["opened_at"].as_i64();
        assert!(comes(is_renewed), "{}", run());
        let touch = json!({"token": opened["token"], "keys": []});
        post(&service, &format!("runs/{}/touch", opened["run"]), &touch).is(200);
        assert_eq!(run()["state"], "open");
    }
}

/// What a client pushes at random, and what may be there by that.
struct Pushed {
    random: fastrand::Rng,
    key: String,
    version: u64,
    /// Of each record the versions that may be there: the last that was answered, and those behind it whose answer was lost.
    may: BTreeMap<String, Vec<Option<u64>>>,
    tickets: BTreeSet<i64>,
}

impl Pushed {
    fn push(&mut self, service: &Service<'_>) {
        let mut asked: Vec<(String, Option<u64>)> = Vec::new();
        for _ in 0..self.random.usize(1..12) {
            self.version += 1;
            let version = (self.random.u8(0..5) > 0).then_some(self.version);
            asked.push((format!("d/{}", self.random.u8(0..20)), version));
        }
        let of = |(key, version): &(String, Option<u64>)| match version {
            Some(version) => record(key, &format!("lamp version{version}end")),
            None => json!({"key": key, "delete": true}),
        };
        let records: Vec<Value> = asked.iter().map(of).collect();
        let request = Request::new("POST", RECORDS).key(&self.key).body(&json!({"records": records}));
        let answer = request.try_send(service.address).filter(|answer| answer.status == 200);
        for (key, version) in asked {
            let versions = self.may.entry(key).or_default();
            if answer.is_some() {
                versions.clear();
            }
            versions.push(version);
        }
        let results = answer.map(|answer| answer.json()["results"].clone());
        for result in results.iter().flat_map(|results| results.as_array().unwrap()) {
            let is_new = self.tickets.insert(result["ticket"].as_i64().unwrap());
            assert!(is_new, "a ticket was given twice");
        }
    }

    /// That each ticket was completed once, and that each record is there as it may be.
    fn judge(&self, sandbox: &Sandbox) {
        let told = sandbox.run(&["source", "reports", "tickets", "--json"]).exits(0).json();
        let mut times: BTreeMap<i64, usize> = BTreeMap::new();
        told.iter().for_each(|line| *times.entry(line["ticket"].as_i64().unwrap()).or_default() += 1);
        assert!(times.values().all(|times| *times == 1), "{times:?}");
        assert!(self.tickets.iter().all(|ticket| times.contains_key(ticket)));
        let held: BTreeSet<String> =
            found(sandbox, "lamp", &["--all", "--limit", "100"]).into_iter().collect();
        for (key, versions) in &self.may {
            let is = versions.iter().any(|version| match version {
                None => !held.contains(key),
                Some(version) => {
                    found(sandbox, &format!("version{version}end"), &["--all"]) == [key.as_str()]
                }
            });
            assert!(is, "{key} is none of {versions:?}");
        }
        assert!(held.iter().all(|key| self.may.contains_key(key)));
    }
}

#[test]
fn kills_lose_no_record_that_was_accepted_and_complete_each_ticket_once() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.run(&["job", "define", "push:tickets", "--schedule", "continuous"]).exits(0);
        let key = key(&sandbox, "test", &["admin"], None);
        let random = fastrand::Rng::with_seed(fastrand::u64(..));
        println!("seed {}", random.get_seed());
        let (may, tickets) = (BTreeMap::new(), BTreeSet::new());
        let mut pushed = Pushed { random, key: key.clone(), version: 0, may, tickets };
        for _ in 0..4 {
            let service = Service::with(&sandbox, key.clone(), &[]);
            for _ in 0..pushed.random.usize(3..25) {
                pushed.push(&service);
                std::thread::park_timeout(Duration::from_millis(pushed.random.u64(0..40)));
            }
            kill_process(service.pid(), Signal::KILL).unwrap();
        }
        let service = Service::with(&sandbox, key.clone(), &[]);
        goes_on(&service);
        let open = || -> Vec<i64> {
            let of = |ticket: &i64| service.answer("GET", &format!("/api/v1/tickets/{ticket}"));
            pushed.tickets.iter().copied().filter(|ticket| of(ticket)["report"].is_null()).collect()
        };
        let shown = || {
            let of = |ticket: &i64| service.answer("GET", &format!("/api/v1/tickets/{ticket}"));
            let tickets: Vec<Value> = open().iter().map(of).collect();
            let documents = service.answer("GET", "/api/v1/jobs/tickets/documents");
            format!("{tickets:?} are open; {documents}; {}", service.answer("GET", "/api/v1/jobs/tickets"))
        };
        assert!(comes(|| open().is_empty()), "{}", shown());
        drop(service.end(Signal::TERM));
        pushed.judge(&sandbox);
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["doctor"]).exits(0);
    }
}
