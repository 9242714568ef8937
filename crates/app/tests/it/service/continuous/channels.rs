//! Channels that applications push through: everything is reported, in order and once, through throttling, aborts, ends and kills.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::{Service, goes_on};
use crate::sandbox::{Kept, Sandbox};
use crate::service::http::{Reply, Request};
use crate::service::key;
use crate::stops::upgrade::comes;

/// A client of a service.
pub(super) struct Client<'s, 'b> {
    pub(super) service: &'s Service<'b>,
    pub(super) key: String,
}

impl Client<'_, '_> {
    fn ask(&self, verb: &str, path: &str, body: Option<&Value>) -> Reply {
        let path = format!("/api/v1/{path}");
        let request = Request::new(verb, &path).key(&self.key);
        match body {
            Some(body) => request.body(body).send(self.service.address),
            None => request.send(self.service.address),
        }
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Reply {
        self.ask("POST", path, Some(body))
    }

    pub(super) fn get(&self, path: &str) -> Value {
        self.ask("GET", path, None).is(200).json()
    }

    /// Opens a channel into the source `tickets`; its number.
    pub(super) fn open(&self, mut wanted: Value) -> i64 {
        wanted["source"] = json!("tickets");
        self.post("channels", &wanted).is(200).json()["channel"].as_i64().unwrap()
    }

    pub(super) fn push(&self, channel: i64, records: &Value) -> Reply {
        self.post(&format!("channels/{channel}/records"), &json!({"records": records}))
    }

    pub(super) fn state(&self, channel: i64) -> String {
        self.get(&format!("channels/{channel}"))["state"].as_str().unwrap().to_owned()
    }

    /// All that a channel has told.
    pub(super) fn reports(&self, channel: i64) -> Vec<Value> {
        let (mut all, mut after) = (Vec::new(), json!(0));
        loop {
            let page = self.get(&format!("channels/{channel}/reports?after={after}"));
            all.extend(page["reports"].as_array().unwrap().iter().cloned());
            after = page["last"].clone();
            if page["more"] == json!(false) {
                return all;
            }
        }
    }

    /// Outcomes by key, in the order in which they were told.
    fn outcomes(&self, channel: i64) -> Vec<(String, String)> {
        let completed = self.reports(channel).into_iter().filter(|report| report["kind"] == "completed");
        let text = |report: &Value, field: &str| report[field].as_str().unwrap().to_owned();
        completed.map(|report| (text(&report, "key"), text(&report, "outcome"))).collect()
    }

    fn states(&self, channel: i64) -> Vec<String> {
        let states = self.reports(channel).into_iter().filter(|report| report["kind"] == "state");
        let told = |report: Value| match report["about"].as_str() {
            Some(why) => format!("{}({why})", report["word"].as_str().unwrap()),
            None => report["word"].as_str().unwrap().to_owned(),
        };
        states.map(told).collect()
    }
}

/// That reports have no gap, and that each ticket was queued once, before it was completed once.
pub(super) fn judge(reports: &[Value]) {
    let serials: Vec<i64> = reports.iter().map(|report| report["report"].as_i64().unwrap()).collect();
    assert_eq!(serials, (1..=reports.len() as i64).collect::<Vec<_>>());
    let mut kinds: BTreeMap<i64, Vec<&str>> = BTreeMap::new();
    for report in reports {
        if let Some(ticket) = report["ticket"].as_i64() {
            kinds.entry(ticket).or_default().push(report["kind"].as_str().unwrap());
        }
    }
    for (ticket, kinds) in kinds {
        assert_eq!(kinds, ["queued", "completed"], "ticket {ticket}");
    }
}

fn record(key: &str, text: &str) -> Value {
    json!({"key": key, "text": text, "access": ["everybody"]})
}

/// A source, and a service for two clients that may only push.
pub(super) fn serving(sandbox: &Sandbox) -> (Service<'_>, [String; 2]) {
    sandbox.run(&["job", "define", "push:tickets", "--schedule", "continuous"]).exits(0);
    let keys = ["one", "two"].map(|name| key(sandbox, name, &["pusher"], None));
    (Service::start(sandbox), keys)
}

fn found(service: &Service<'_>, query: &str) -> Vec<String> {
    let found = service.answer("GET", &format!("/api/v1/search?query={query}&all=true"));
    let mut found: Vec<String> = found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["document"].as_str().unwrap().to_owned())
        .collect();
    found.sort();
    found
}

#[test]
fn a_channel_reports_all_that_it_takes_once_and_in_order_until_it_ends() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let (service, [one, two]) = serving(&sandbox);
        let client = Client { service: &service, key: one };
        assert_eq!(client.get("capabilities")["modes"], json!(["async", "sync"]));
        let channel = client.open(json!({"client": "tracker"}));
        assert_eq!(client.states(channel), ["running"]);
        // What is wrong with a record is said in its report, and nothing else of the call is touched.
        let pushed = json!([
            {"key": "1", "text": "one lamp", "access": ["everybody"], "user_ref": "case 1"},
            {"key": "2", "text": 7, "user_ref": "case 2"},
            {"key": "3", "modified": "never", "user_ref": ""},
            {"key": "none", "delete": true},
            {"key": "nul\u{0}"},
            {"key": "long".repeat(100_000)},
            {"key": "1", "text": "another lamp", "access": ["everybody"], "user_ref": "AAECAw=="},
        ]);
        let answer = client.push(channel, &pushed).is(200).json();
        let results: Vec<&Value> =
            answer["results"].as_array().unwrap().iter().map(|result| &result["outcome"]).collect();
        assert_eq!(results[1..6], ["failed", "failed", "noop", "failed", "failed"]);
        let flush =
            client.post(&format!("channels/{channel}/flush"), &json!({})).is(200).json()["flush"].clone();
        let flushed = || client.reports(channel).into_iter().find(|report| report["kind"] == "feedback");
        assert!(comes(|| flushed().is_some()));
        assert_eq!(flushed().unwrap()["about"], json!(flush.to_string()));
        let reports = client.reports(channel);
        judge(&reports);
        let of_ref = |text: &str| -> Vec<&Value> {
            let is = |report: &&Value| report["user_ref"] == text && report["kind"] == "completed";
            reports.iter().filter(is).map(|report| &report["outcome"]).collect()
        };
        assert_eq!(
            [of_ref("case 1"), of_ref(""), of_ref("AAECAw==")],
            [["superseded"], ["failed"], ["indexed"]]
        );
        let told = |key: &str| {
            let is = |report: &&Value| report["key"] == key && report["kind"] == "completed";
            reports.iter().find(is).unwrap()
        };
        assert!(told("2")["user_ref"] == "case 2" && told("2")["code"] == "invalid_record", "{}", told("2"));
        assert!(told("none")["user_ref"].is_null() && told("nul\u{fffd}")["outcome"] == "failed");

        // A call waits for the next report, and is answered when it comes.
        let last = reports.len();
        let wait = format!("channels/{channel}/reports?after={last}&wait_seconds=30");
        let waited = std::thread::scope(|scope| {
            let waits = scope.spawn(|| client.get(&wait));
            client.push(channel, &json!([record("4", "four lamp")])).is(200);
            waits.join().unwrap()
        });
        assert_eq!(waited["reports"][0]["kind"], "queued");

        // Nobody else knows of it, but for operators.
        let other = Client { service: &service, key: two };
        let path = format!("channels/{channel}");
        other.ask("GET", &path, None).refuses(404, "no_such_channel");
        other.post(&format!("{path}/abort"), &json!({})).refuses(404, "no_such_channel");
        other.push(channel, &json!([record("5", "x")])).refuses(404, "no_such_channel");
        assert_eq!(other.get("channels")["channels"], json!([]));
        let shown = sandbox.run(&["channel", "list", "--json"]).exits(0).json();
        assert_eq!((&shown[0]["client"], &shown[0]["source"]), (&json!("tracker"), &json!("tickets")));

        acknowledged_and_ended(&client, channel, last);
        assert_eq!(found(&service, "lamp"), ["1", "4", "5"]);
        drop(service.end(Signal::TERM));
        sandbox.run(&["doctor"]).exits(0);
    }
}

/// A channel whose client has so many reports, and ends it.
fn acknowledged_and_ended(client: &Client<'_, '_>, channel: i64, last: usize) {
    let path = format!("channels/{channel}");
    client.post(&format!("{path}/reports/acknowledge"), &json!({"report": last})).is(200);
    assert_eq!(client.get(&path)["acknowledged"], json!(last));
    // Whoever follows the reports as a stream hears them to the last one.
    let stream = Request::new("GET", &format!("/api/v1/{path}/reports")).key(&client.key);
    let stream = stream.header("Accept: text/event-stream").header(&format!("Last-Event-ID: {last}"));
    let heard = std::thread::scope(|scope| {
        let hears = scope.spawn(|| stream.send(client.service.address));
        ended(client, channel);
        hears.join().unwrap().is(200).body
    });
    let ids = heard.lines().filter_map(|line| line.strip_prefix("id: "));
    let ids: Vec<usize> = ids.map(|id| id.parse().unwrap()).collect();
    assert_eq!(ids, (last + 1..=client.reports(channel).len()).collect::<Vec<_>>());
}

/// What a channel took is carried to its end, and the end is the last that it tells.
fn ended(client: &Client<'_, '_>, channel: i64) {
    let path = format!("channels/{channel}");
    client.push(channel, &json!([record("5", "five lamp")])).is(200);
    client.post(&format!("{path}/terminate"), &json!({})).is(200);
    client.push(channel, &json!([record("6", "six lamp")])).refuses(410, "shutdown");
    assert!(comes(|| client.state(channel) == "terminated"));
    client.post(&format!("{path}/terminate"), &json!({})).is(200);
    assert_eq!(client.states(channel), ["running", "terminating(client)", "terminated(client)"]);
    let reports = client.reports(channel);
    judge(&reports);
    assert_eq!(reports.last().unwrap()["word"], "terminated");
    client.post(&format!("{path}/flush"), &json!({})).refuses(410, "shutdown");
}

#[test]
fn a_channel_with_too_much_open_takes_nothing_until_less_is_and_ends_when_that_lasts() {
    let sandbox = Sandbox::sqlite();
    let (service, [one, _]) = serving(&sandbox);
    let client = Client { service: &service, key: one };
    let pause = |verb: &str| drop(service.ask("POST", &format!("/api/v1/jobs/tickets/{verb}")).is(200));
    pause("pause");
    let channel = client.open(json!({"open_max": 10}));
    let some = |from: usize, count: usize| -> Value {
        (from..from + count).map(|n| record(&n.to_string(), "lamp")).collect()
    };
    assert_eq!(client.push(channel, &some(0, 8)).is(200).json()["credits"], json!(1));
    assert_eq!(client.push(channel, &some(8, 1)).is(200).json()["credits"], json!(0));
    assert_eq!(client.states(channel), ["running", "throttling"]);
    client.push(channel, &some(9, 1)).refuses(429, "throttled");
    // Who waits is let in when less than half is open.
    let path = format!("channels/{channel}/records");
    let waited = std::thread::scope(|scope| {
        let waits = scope.spawn(|| client.post(&path, &json!({"records": some(9, 1), "wait_seconds": 60})));
        pause("resume");
        waits.join().unwrap()
    });
    waited.is(200);
    assert!(comes(|| client.get(&format!("channels/{channel}"))["completed"] == json!(10)));
    assert_eq!(client.states(channel), ["running", "throttling", "running"]);
    judge(&client.reports(channel));

    pause("pause");
    let late = client.open(json!({"open_max": 1, "throttle_seconds": 1}));
    client.push(late, &some(0, 3)).is(200);
    assert!(comes(|| client.state(late) == "terminating"));
    client.push(late, &some(3, 1)).refuses(410, "shutdown");
    pause("resume");
    assert!(comes(|| client.state(late) == "terminated"));
    let told = client.states(late);
    assert_eq!(told[1..], ["throttling", "terminating(throttle_timeout)", "terminated(throttle_timeout)"]);
    assert_eq!(client.outcomes(late).len(), 3);

    // A client that gives no sign of life loses its channel, as one does that ended it.
    let lapsed = client.open(json!({"lease_seconds": 1}));
    assert!(comes(|| client.state(lapsed) == "terminated"));
    assert_eq!(client.states(lapsed)[1..], ["terminating(lease)", "terminated(lease)"]);
}

#[test]
fn an_aborted_channel_leaves_each_record_as_it_was() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let (service, [one, _]) = serving(&sandbox);
        let client = Client { service: &service, key: one };
        let first = client.open(json!({}));
        client.push(first, &json!([record("old", "old lamp"), record("goes", "going lamp")])).is(200);
        assert!(comes(|| client.outcomes(first).len() == 2));
        service.ask("POST", "/api/v1/jobs/tickets/pause").is(200);
        let channel = client.open(json!({}));
        let dropped = json!([record("old", "new lamp"), record("fresh", "fresh lamp"), {"key": "goes", "delete": true}]);
        client.push(channel, &dropped).is(200);
        client.push(channel, &json!([record("old", "newest lamp")])).is(200);
        // Another channel is not touched by that.
        client.push(first, &json!([record("kept", "kept lamp")])).is(200);
        let aborted = client.post(&format!("channels/{channel}/abort"), &json!({})).is(200).json();
        assert_eq!((&aborted["state"], &aborted["reason"]), (&json!("terminated"), &json!("aborted")));
        let outcomes: BTreeSet<(String, String)> = client.outcomes(channel).into_iter().collect();
        let of = |key: &str, outcome: &str| (key.to_owned(), outcome.to_owned());
        let wanted =
            [of("old", "superseded"), of("old", "aborted"), of("fresh", "aborted"), of("goes", "aborted")];
        assert_eq!(outcomes, wanted.into());
        judge(&client.reports(channel));
        service.ask("POST", "/api/v1/jobs/tickets/resume").is(200);
        assert!(comes(|| client.outcomes(first).len() == 3));
        let waiting =
            || service.answer("GET", "/api/v1/jobs/tickets/documents?state=waiting")["documents"].clone();
        assert!(comes(|| waiting() == json!([])), "{}", waiting());
        assert_eq!(found(&service, "lamp"), ["goes", "kept", "old"]);
        assert_eq!(found(&service, "old"), ["old"]);
        drop(service.end(Signal::TERM));
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["doctor"]).exits(0);
    }
}

#[test]
fn an_abort_takes_back_nothing_that_others_have_said_or_were_told_since() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let (service, [one, _]) = serving(&sandbox);
        let client = Client { service: &service, key: one };
        let apart = |records: Value| {
            client.post("sources/tickets/records", &json!({"records": records})).is(200).json()
        };
        let said = |key: &str| json!({"key": key, "text": "told lamp", "access": ["everybody"], "hash": "h", "if_changed": true});
        let first = client.open(json!({}));
        client.push(first, &json!([record("closed", "open lamp"), record("deleted", "open lamp")])).is(200);
        assert!(comes(|| client.outcomes(first).len() == 2));
        service.ask("POST", "/api/v1/jobs/tickets/pause").is(200);
        let channels = [client.open(json!({})), client.open(json!({}))];
        let push = |which: usize, records: Value| drop(client.push(channels[which], &records).is(200));
        push(
            0,
            json!([
                record("closed", "one lamp"),
                record("own", "one lamp"),
                record("own", "own lamp"),
                said("told")
            ]),
        );
        push(
            0,
            json!([{"key": "own", "text": "own lamp", "access": []}, {"key": "deleted", "delete": true}]),
        );
        // What somebody else narrows, deletes or is told is there is not brought back, nor taken away.
        apart(
            json!([{"key": "closed", "text": "closed lamp", "access": []}, {"key": "deleted", "delete": true}]),
        );
        assert_eq!(apart(json!([said("told")]))["results"][0]["result"], "unchanged");
        push(1, json!([{"key": "closed", "text": "other lamp", "access": []}]));
        for channel in channels {
            client.post(&format!("channels/{channel}/abort"), &json!({})).is(200);
        }
        service.ask("POST", "/api/v1/jobs/tickets/resume").is(200);
        for channel in channels {
            assert!(comes(|| client.state(channel) == "terminated"));
            judge(&client.reports(channel));
        }
        let waiting =
            || service.answer("GET", "/api/v1/jobs/tickets/documents?state=waiting")["documents"].clone();
        assert!(comes(|| waiting() == json!([])), "{}", waiting());
        assert_eq!(found(&service, "lamp"), ["closed", "told"]);
        assert_eq!(found(&service, "other"), ["closed"], "what cannot be taken back is carried to its end");
        assert_eq!(sandbox.run(&["search", "lamp", "--as", "nobody", "--json"]).documents(), ["told"]);
        drop(service.end(Signal::TERM));
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["doctor"]).exits(0);
    }
}

#[test]
fn a_channel_that_answers_when_all_is_done_does_so_or_says_what_is_not() {
    let sandbox = Sandbox::sqlite();
    let (service, [one, _]) = serving(&sandbox);
    let client = Client { service: &service, key: one };
    let channel = client.open(json!({"mode": "sync"}));
    let answer = client.push(channel, &json!([record("1", "lamp"), {"key": "2", "text": 7}])).is(200).json();
    let results: Vec<&Value> =
        answer["results"].as_array().unwrap().iter().map(|result| &result["outcome"]).collect();
    assert_eq!(results, ["indexed", "failed"]);
    assert_eq!(found(&service, "lamp"), ["1"]);
    service.ask("POST", "/api/v1/jobs/tickets/pause").is(200);
    let body = json!({"records": [record("3", "lamp")], "wait_seconds": 1});
    let path = format!("channels/{channel}/records");
    let answer = client.post(&path, &body).is(200).json();
    assert_eq!(answer["results"][0]["result"], "pending", "{answer}");
    let asked = json!({"tickets": [answer["results"][0]["ticket"]], "wait_seconds": 60});
    service.ask("POST", "/api/v1/jobs/tickets/resume").is(200);
    assert_eq!(client.post(&path, &asked).is(200).json()["results"][0]["outcome"], "indexed");
    judge(&client.reports(channel));
    // What belongs to nobody's push is not told.
    client.post(&path, &json!({"tickets": [4_711]})).refuses(400, "wrong_use");
    // A source that is deleted ends its channels.
    drop(service.end(Signal::TERM));
    sandbox.run(&["job", "delete", "tickets", "--yes"]).exits(0);
    let shown = sandbox.run(&["channel", "show", &channel.to_string(), "--json"]).exits(0).json();
    assert_eq!((&shown[0]["state"], &shown[0]["reason"]), (&json!("terminated"), &json!("source_deleted")));
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn kills_cost_no_report_of_a_channel_and_tell_none_twice() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.run(&["job", "define", "push:tickets", "--schedule", "continuous"]).exits(0);
        let key = key(&sandbox, "test", &["admin"], None);
        let mut random = fastrand::Rng::with_seed(fastrand::u64(..));
        println!("seed {}", random.get_seed());
        let (mut channel, mut queued) = (None, BTreeSet::new());
        for _ in 0..4 {
            let service = Service::with(&sandbox, key.clone(), &[]);
            let client = Client { service: &service, key: key.clone() };
            let channel = *channel.get_or_insert_with(|| client.open(json!({})));
            for _ in 0..random.usize(3..25) {
                let records: Value = (0..random.usize(1..8))
                    .map(|_| match (format!("d/{}", random.u8(0..20)), random.u8(0..5)) {
                        (key, 0) => json!({"key": key, "delete": true}),
                        (key, _) => record(&key, &format!("lamp {}", random.u64(..))),
                    })
                    .collect();
                let answer = client.push(channel, &records).is(200).json();
                queued.extend(
                    answer["results"].as_array().unwrap().iter().map(|one| one["ticket"].as_i64().unwrap()),
                );
            }
            kill_process(service.pid(), Signal::KILL).unwrap();
        }
        let service = Service::with(&sandbox, key.clone(), &[]);
        let client = Client { service: &service, key: key.clone() };
        let channel = channel.unwrap();
        goes_on(&service);
        client.post(&format!("channels/{channel}/terminate"), &json!({})).is(200);
        assert!(
            comes(|| client.state(channel) == "terminated"),
            "{}; {}",
            client.get(&format!("channels/{channel}")),
            service.answer("GET", "/api/v1/status")
        );
        let reports = client.reports(channel);
        judge(&reports);
        let told: BTreeSet<i64> = reports.iter().filter_map(|report| report["ticket"].as_i64()).collect();
        assert_eq!(told, queued);
        drop(service.end(Signal::TERM));
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["doctor"]).exits(0);
    }
}
