//! Sources that clients push into, each as a whole: what a delta run has not met is told and deleted before its end, a source forgets hashes, and all of it goes.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::{Service, goes_on};
use crate::sandbox::{Kept, Sandbox};
use crate::service::http::{Reply, Request};
use crate::service::key;
use crate::stops::upgrade::comes;

/// A service with the source `tickets`, and what asks it as a client.
struct Source<'s> {
    service: Service<'s>,
    pusher: String,
}

impl<'s> Source<'s> {
    fn begin(sandbox: &'s Sandbox) -> Source<'s> {
        sandbox.run(&["job", "define", "push:tickets", "--schedule", "continuous"]).exits(0);
        let pusher = key(sandbox, "pusher", &["pusher"], None);
        Source { service: Service::start(sandbox), pusher }
    }

    fn post(&self, path: &str, body: &Value) -> Reply {
        let path = format!("/api/v1/sources/tickets/{path}");
        Request::new("POST", &path).key(&self.pusher).body(body).send(self.service.address)
    }

    fn get(&self, path: &str) -> Reply {
        let path = format!("/api/v1/sources/tickets/{path}");
        Request::new("GET", &path).key(&self.pusher).send(self.service.address)
    }

    /// Asked by an operator.
    fn operate(&self, path: &str, body: &Value) -> Reply {
        let path = format!("/api/v1/sources/tickets/{path}");
        self.service.request("POST", &path).body(body).send(self.service.address)
    }

    fn push(&self, keys: std::ops::Range<usize>) {
        let record =
            |n: usize| json!({"key": format!("k/{n}"), "text": "lamp", "hash": "1", "access": ["everybody"]});
        for first in keys.clone().step_by(1_000) {
            let records: Vec<Value> = (first..keys.end.min(first + 1_000)).map(record).collect();
            self.post("records", &json!({"records": records})).is(200);
        }
    }

    /// Opens a delta run; its number and its token.
    fn open(&self, body: &Value) -> (i64, Value) {
        let opened = self.post("runs", body).is(200).json();
        (opened["run"].as_i64().unwrap(), opened["token"].clone())
    }

    fn records(&self) -> u64 {
        self.get("run").is(200).json()["records"].as_u64().unwrap()
    }
}

/// How many documents an index holds of the source.
fn found(sandbox: &Sandbox) -> usize {
    let limit = ["search", "lamp", "--all", "--limit", "10", "--json"];
    sandbox.run(&limit).documents().len()
}

#[test]
fn what_a_delta_run_has_not_met_is_told_and_deleted_while_it_goes_on() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let source = Source::begin(&sandbox);
        source.push(0..5);
        let (run, token) = source.open(&json!({}));
        let within = |path: &str, mut body: Value| {
            body["token"] = token.clone();
            source.post(&format!("runs/{run}/{path}"), &body)
        };
        let unmet = |query: &str| source.get(&format!("runs/{run}/obsolete{query}"));
        within("check", json!({"records": [{"key": "k/1", "hash": "1"}, {"key": "k/3", "hash": "2"}]}))
            .is(200);
        assert_eq!(unmet("").is(200).json()["keys"], json!(["k/0", "k/2", "k/3", "k/4"]));
        // Page by page.
        let (mut keys, mut after) = (Vec::new(), json!(0));
        loop {
            let page = unmet(&format!("?limit=3&after={after}")).is(200).json();
            keys.extend(page["keys"].as_array().unwrap().clone());
            if page["more"] == false {
                break;
            }
            after = page["last"].clone();
        }
        assert_eq!(keys, ["k/0", "k/2", "k/3", "k/4"].map(|key| json!(key)));
        within("touch", json!({"keys": ["k/3"]})).is(200);
        source.post(&format!("runs/{run}/obsolete"), &json!({"token": "wrong"})).refuses(412, "bad_token");
        let deleted = within("obsolete", json!({})).is(200).json();
        assert_eq!(deleted, json!({"run": run, "deleted": 3}));
        assert_eq!(within("obsolete", json!({})).is(200).json()["deleted"], 0, "they are gone");
        assert_eq!(unmet("").is(200).json()["keys"], json!([]));
        // It goes on, and its end counts all that it deleted.
        within("check", json!({"records": [{"key": "k/2", "hash": "1"}]})).is(200);
        assert_eq!(within("finish", json!({"complete": true})).is(200).json()["deleted"], 3);
        within("obsolete", json!({})).refuses(410, "run_expired");
        unmet("").refuses(410, "run_expired");
        assert!(comes(|| found(&sandbox) == 2), "{}", found(&sandbox));

        // One that deletes nothing at its end deletes nothing before; and most of a source goes by confirmation alone.
        let (run, token) = source.open(&json!({"mode": "additive"}));
        let path = format!("runs/{run}/obsolete");
        let told = source.post(&path, &json!({"token": token})).is(200).json();
        assert!(told["veto"].as_str().unwrap().contains("additive"), "{told}");
        source.post(&format!("runs/{run}/rollback"), &json!({"token": token})).is(200);
        source.push(0..120);
        let (run, token) = source.open(&json!({}));
        let path = format!("runs/{run}/obsolete");
        let told = source.post(&path, &json!({"token": token})).is(200).json();
        assert_eq!(told["held"], json!({"obsolete": 120, "records": 120}), "{told}");
        let told = source.post(&path, &json!({"token": token, "confirm": true})).is(200).json();
        assert_eq!((told["deleted"].as_u64(), source.records()), (Some(120), 0), "{told}");
        source.service.end(Signal::TERM);
        sandbox.run(&["verify"]).exits(0);
    }
}

#[test]
fn a_source_that_is_cleared_is_pushed_again_and_one_that_is_purged_is_empty_and_takes_more() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let source = Source::begin(&sandbox);
        source.push(0..3);
        assert!(comes(|| found(&sandbox) == 3));
        let (run, token) = source.open(&json!({"client": "crawler"}));
        for (path, body) in [("clear", json!({})), ("purge", json!({"confirm": true}))] {
            source.post(path, &body).refuses(403, "forbidden");
            let refused = source.operate(path, &body).refuses(409, "source_locked");
            assert!(refused.json()["detail"].as_str().unwrap().contains("crawler"), "{}", refused.json());
        }
        let listed = sandbox.run(&["source", "list", "--json"]).exits(0).json();
        assert_eq!(
            (&listed[0]["source"], &listed[0]["state"], &listed[0]["records"]),
            (&json!("tickets"), &json!("open"), &json!(3))
        );
        let told = source.operate("clear", &json!({"unlock": true})).is(200).json();
        assert_eq!(told, json!({"source": "tickets", "cleared": 3}));
        let check = json!({"token": token, "records": [{"key": "k/1", "hash": "1"}]});
        source.post(&format!("runs/{run}/check"), &check).refuses(410, "run_expired");
        let (run, token) = source.open(&json!({}));
        let check = json!({"token": token, "records": [{"key": "k/1", "hash": "1"}, {"key": "new"}]});
        let checked = source.post(&format!("runs/{run}/check"), &check).is(200).json();
        assert_eq!(checked["results"], json!(["changed", "new"]));
        source.post(&format!("runs/{run}/rollback"), &json!({"token": token})).is(200);
        assert_eq!(found(&sandbox), 3, "outputs keep what they have");

        let told = source.operate("purge", &json!({})).is(200).json();
        assert_eq!(told["held"], json!({"obsolete": 3, "records": 3}), "{told}");
        assert_eq!((source.records(), found(&sandbox)), (3, 3), "nobody has confirmed it");
        let told = source.operate("purge", &json!({"confirm": true})).is(200).json();
        assert_eq!(told, json!({"source": "tickets", "deleted": 3}));
        assert!(comes(|| found(&sandbox) == 0), "{}", found(&sandbox));
        // An output has it a moment before that is on record.
        let reports = || source.get("reports").is(200).json();
        let deleted = || {
            let reports = reports();
            reports["reports"].as_array().unwrap().iter().filter(|one| one["outcome"] == "deleted").count()
        };
        assert!(comes(|| deleted() == 3), "{}", reports());
        source.push(1..2);
        assert!(comes(|| found(&sandbox) == 1));
        source.service.end(Signal::TERM);
        sandbox.run(&["verify"]).exits(0);
        // By the command line.
        let told = sandbox.run(&["source", "clear", "tickets"]).exits(0);
        assert!(told.err.contains("1 record"), "{}", told.err);
        sandbox.run(&["source", "purge", "tickets"]).refuses(2, &["--yes"]);
        let told = sandbox.run(&["source", "purge", "tickets", "--yes", "--json"]).exits(0).json();
        assert_eq!(told[0], json!({"source": "tickets", "deleted": 1}));
    }
}

#[test]
fn a_purge_that_a_kill_cuts_off_is_made_again() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let source = Source::begin(&sandbox);
        source.push(0..1_200);
        // Killed once it has deleted some.
        std::thread::scope(|scope| {
            let purging = scope.spawn(|| {
                let request = source.service.request("POST", "/api/v1/sources/tickets/purge");
                request.body(&json!({"confirm": true})).try_send(source.service.address)
            });
            comes(|| {
                let left = source.records();
                left < 1_200 || purging.is_finished()
            });
            kill_process(source.service.pid(), Signal::KILL).unwrap();
        });
        let (key, pusher) = (source.service.key.clone(), source.pusher.clone());
        drop(source);
        let source = Source { service: Service::with(&sandbox, key, &[]), pusher };
        goes_on(&source.service);
        source.operate("purge", &json!({"confirm": true, "unlock": true})).is(200);
        assert_eq!(source.records(), 0);
        goes_on(&source.service);
        assert!(comes(|| found(&sandbox) == 0), "{}", found(&sandbox));
        source.service.end(Signal::TERM);
        sandbox.run(&["verify"]).exits(0);
    }
}

#[test]
fn all_sources_forget_their_hashes_at_once_but_one_over_which_a_delta_run_is_open() {
    let sandbox = Sandbox::new(Kept::Sqlite);
    sandbox.run(&["job", "define", "push:wiki", "--schedule", "continuous"]).exits(0);
    let source = Source::begin(&sandbox);
    source.push(0..3);
    let wiki = |path: &str, body: &Value| {
        let path = format!("/api/v1/sources/wiki/{path}");
        Request::new("POST", &path).key(&source.pusher).body(body).send(source.service.address)
    };
    wiki("records", &json!({"records": [{"key": "a", "text": "lamp", "hash": "1"}]})).is(200);
    let opened = wiki("runs", &json!({})).is(200).json();
    let all = |body: &Value| {
        source.service.request("POST", "/api/v1/sources/clear").body(body).send(source.service.address)
    };
    let names = |list: &Value| -> Vec<String> {
        let names = list.as_array().into_iter().flatten();
        names.map(|one| one["source"].as_str().unwrap().to_owned()).collect()
    };
    let as_pusher = Request::new("POST", "/api/v1/sources/clear").key(&source.pusher);
    as_pusher.body(&json!({"confirm": true})).send(source.service.address).refuses(403, "forbidden");
    let asked = all(&json!({})).is(200).json();
    assert_eq!(
        (&asked["sources"], names(&asked["left_out"])),
        (&json!([]), vec!["tickets".to_owned(), "wiki".to_owned()])
    );
    let told = all(&json!({"confirm": true})).is(200).json();
    assert_eq!(told["sources"], json!([{"source": "tickets", "cleared": 3}]));
    assert_eq!(names(&told["left_out"]), ["wiki"]);
    assert!(told["left_out"][0]["why"].as_str().unwrap().contains("is open"), "{told}");
    let look = json!({"token": opened["token"], "records": [{"key": "a", "hash": "1"}]});
    let run = opened["run"].as_i64().unwrap();
    assert_eq!(wiki(&format!("runs/{run}/check"), &look).is(200).json()["results"], json!(["unchanged"]));
    // By the command line, which takes the open one from its client.
    let server = format!("unix:{}", sandbox.data().join("ingather.sock").display());
    let cleared = ["source", "clear-all", "--yes", "--unlock", "--json", "--server", &server];
    let told = sandbox.run(&cleared).exits(0).json();
    assert_eq!(
        told[0]["sources"],
        json!([{"source": "tickets", "cleared": 0}, {"source": "wiki", "cleared": 1}])
    );
    wiki(&format!("runs/{run}/check"), &look).refuses(410, "run_expired");
}

#[test]
fn what_is_in_an_archive_stays_while_that_does_and_goes_with_it() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let source = Source::begin(&sandbox);
        let compound = |key: &str, kind: &str, parents: &[&str]| json!({"key": key, "text": "lamp", "hash": "1", "access": ["everybody"], "compound": kind, "parents": parents});
        let member = |key: &str, parents: &[&str]| json!({"key": key, "text": "lamp", "hash": "1", "access": ["everybody"], "parents": parents});
        let records = json!([
            compound("zip", "drop", &[]),
            compound("zip/inner", "drop", &["zip"]),
            member("zip/a", &["zip"]),
            member("zip/inner/b", &["zip/inner"]),
            member("zip/inner/c", &["zip/inner", "folder"])
        ]);
        source.post("records", &json!({"records": records})).is(200);
        assert!(comes(|| found(&sandbox) == 3), "what is in the archives is found, and they are not");
        let wrong = source
            .post("records", &json!({"records": [member("a", &["a"]), member("b", &[""])]}))
            .is(200)
            .json();
        assert_eq!(
            wrong["results"].as_array().unwrap().iter().filter(|one| one["result"] == "refused").count(),
            2
        );

        // One answer stands for all that is in an archive, at every depth.
        let (run, token) = source.open(&json!({}));
        let within = |run: i64, token: &Value, path: &str, mut body: Value| {
            body["token"] = token.clone();
            source.post(&format!("runs/{run}/{path}"), &body).is(200).json()
        };
        let checked = within(run, &token, "check", json!({"records": [{"key": "zip", "hash": "1"}]}));
        assert_eq!(checked["results"], json!(["unchanged"]));
        assert_eq!(within(run, &token, "finish", json!({"complete": true}))["deleted"], 0);

        // A run over one archive: what it has not met of that goes, and what another one holds stays.
        let (run, token) = source.open(&json!({"of": "zip"}));
        assert_eq!(source.get("run").is(200).json()["of"], "zip");
        let visited = within(run, &token, "visit", json!({"records": [{"key": "zip/a"}, {"key": "none"}]}));
        assert_eq!(visited["unknown"], json!(["none"]));
        let unmet = source.get(&format!("runs/{run}/obsolete?of=zip/inner")).is(200).json();
        assert_eq!(unmet["keys"], json!(["zip/inner/b"]));
        assert_eq!(within(run, &token, "obsolete", json!({"of": "zip/inner"}))["deleted"], 1);
        assert_eq!(within(run, &token, "finish", json!({"complete": true}))["deleted"], 2);
        assert!(comes(|| found(&sandbox) == 2), "one of two archives, and what is in it alone, is gone");

        source.post("records", &json!({"records": [{"key": "zip", "delete": true}]})).is(200);
        assert!(comes(|| found(&sandbox) == 1), "what a folder holds that nobody pushed stays");
        assert_eq!(source.records(), 1);
        source.post("records", &json!({"records": [{"key": "folder", "delete": true}]})).is(200);
        assert!(comes(|| found(&sandbox) == 0), "and goes with that");
    }
}
