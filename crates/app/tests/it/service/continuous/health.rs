//! Outputs that are away or damaged while clients push: a service notices and says so, takes what is pushed, and delivers it soon after they are well.

use std::time::{Duration, Instant};

use ingather_testkit::nats::{Server, Stream};
use serde_json::{Value, json};

use super::Service;
use super::channels::{Client, judge, serving};
use crate::sandbox::{Kept, Sandbox};
use crate::service::key;
use crate::stops::upgrade::comes;

const OUTPUT: &str = "nats:docs";
/// A run that fails is made again after a minute by itself: what is delivered by then was not left to that.
const SOON: Duration = Duration::from_secs(40);

fn record(key: &str) -> Value {
    json!({"key": key, "text": "a lamp", "access": ["everybody"]})
}

/// What `status` says of outputs.
fn told(service: &Service<'_>) -> Option<String> {
    let status = service.answer("GET", "/api/v1/status");
    let needs = status["jobs"][0]["needs"].as_array().unwrap();
    let of_output = needs.iter().find(|need| need["check"] == "output")?;
    Some(format!("{}; {}", of_output["says"].as_str().unwrap(), of_output["advice"].as_str().unwrap()))
}

/// The figure of an output.
fn is_healthy(service: &Service<'_>, output: &str) -> bool {
    let figures = service.ask("GET", "/metrics").is(200).body;
    let line = |healthy: u8| format!("ingather_output_healthy{{output=\"{output}\"}} {healthy}");
    let has = |healthy: u8| figures.lines().any(|found| found == line(healthy));
    assert!(has(0) != has(1), "{figures}");
    has(1)
}

/// What became of the tickets of a channel, in the order of their reports.
fn completed(client: &Client<'_, '_>, channel: i64) -> Vec<(String, String, String)> {
    let reports = client.reports(channel);
    judge_open(&reports);
    let completed = reports.into_iter().filter(|report| report["kind"] == "completed");
    let text = |report: &Value, field: &str| report[field].as_str().unwrap_or_default().to_owned();
    completed.map(|one| (text(&one, "key"), text(&one, "outcome"), text(&one, "code"))).collect()
}

/// That no ticket was completed twice.
fn judge_open(reports: &[Value]) {
    let mut tickets: Vec<i64> = reports
        .iter()
        .filter(|report| report["kind"] == "completed")
        .map(|report| report["ticket"].as_i64().unwrap())
        .collect();
    let all = tickets.len();
    tickets.sort_unstable();
    tickets.dedup();
    assert_eq!(tickets.len(), all, "{reports:?}");
}

fn puts(stream: &Stream) -> Vec<String> {
    let put = |message: ingather_testkit::nats::Message| {
        let is_put = message.body["op"] == "put";
        is_put.then(|| message.body["id"].as_str().unwrap().replace("push:tickets/", ""))
    };
    stream.messages().into_iter().filter_map(put).collect()
}

#[test]
fn what_is_pushed_while_an_output_is_away_is_delivered_soon_after_it_is_back() {
    let test = "what_is_pushed_while_an_output_is_away_is_delivered_soon_after_it_is_back";
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let Some(mut server) = Server::start(test, "") else { return };
        let stream = Stream::at(&server.url());
        let sandbox = Sandbox::new(kept);
        let file = sandbox.path().join("declaration.json");
        let declared =
            json!({"version": 1, "outputs": {OUTPUT: {"kind": "nats", "settings": stream.settings()}}});
        std::fs::write(&file, declared.to_string()).unwrap();
        sandbox.run(&["apply", "-f", file.to_str().unwrap()]).exits(0);
        sandbox.run(&["job", "define", "push:tickets", "--schedule", "continuous", "--to", OUTPUT]).exits(0);
        let pusher = key(&sandbox, "one", &["pusher"], None);
        let mut service = Service::start(&sandbox);
        let client = Client { service: &service, key: pusher };
        let channel = client.open(json!({}));
        client.push(channel, &json!([record("1")])).is(200);
        assert!(comes(|| completed(&client, channel).len() == 1), "{:?}", client.reports(channel));
        assert!(is_healthy(&service, OUTPUT) && told(&service).is_none());

        server.stop();
        client.push(channel, &json!([record("2")])).is(200);
        assert!(comes(|| told(&service).is_some()), "{}", service.answer("GET", "/api/v1/status"));
        let says = told(&service).unwrap();
        assert!(
            says.contains("output nats:docs is unavailable since ") && says.contains("ingather doctor"),
            "{says}"
        );
        assert!(!is_healthy(&service, OUTPUT));
        // It goes on taking what is pushed, and nothing of it is over.
        client.push(channel, &json!([record("3")])).is(200);
        assert_eq!((client.state(channel).as_str(), completed(&client, channel).len()), ("running", 1));

        server.go_on();
        let back = Instant::now();
        assert!(comes(|| completed(&client, channel).len() == 3), "{:?}", client.reports(channel));
        assert!(back.elapsed() < SOON, "it took {:?}", back.elapsed());
        assert!(comes(|| told(&service).is_none()), "{:?}", told(&service));
        assert!(is_healthy(&service, OUTPUT));
        judge(&client.reports(channel));
        let mut delivered = puts(&stream);
        delivered.sort();
        assert_eq!(delivered, ["1", "2", "3"]);
        drop(client);
        service.tells("output nats:docs: is back");
    }
}

#[test]
fn a_channel_ends_when_the_index_of_its_source_is_damaged_and_all_is_delivered_when_it_is_repaired() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let (service, [one, _]) = serving(&sandbox);
        let client = Client { service: &service, key: one };
        let channel = client.open(json!({}));
        client.push(channel, &json!([record("1")])).is(200);
        assert!(comes(|| completed(&client, channel).len() == 1), "{:?}", client.reports(channel));
        assert!(comes(|| service.answer("GET", "/api/v1/jobs/tickets")["works"] == json!(false)));
        std::fs::write(sandbox.data().join("index/meta.json"), "damaged").unwrap();

        client.push(channel, &json!([record("2")])).is(200);
        assert!(comes(|| client.state(channel) == "terminated"), "{:?}", client.reports(channel));
        let reports = client.reports(channel);
        judge(&reports);
        assert_eq!(reports.last().unwrap()["about"], "store_corrupt", "{reports:?}");
        let failed = ("2".to_owned(), "failed".to_owned(), "store_corrupt".to_owned());
        assert_eq!(completed(&client, channel).last(), Some(&failed));
        let says = told(&service).unwrap();
        assert!(
            says.contains("output index is corrupt since ")
                && says.contains("ingather verify index --repair"),
            "{says}"
        );
        assert!(!is_healthy(&service, "index"));
        let refused = client.post("channels", &json!({"source": "tickets"}));
        assert_eq!(refused.json()["code"], "output", "{refused:?}");

        let repaired = || {
            let verify = service.request("POST", "/api/v1/outputs/verify");
            verify.body(&json!({"output": "index", "repair": true})).send(service.address).status == 200
        };
        assert!(comes(repaired));
        let found =
            || service.answer("GET", "/api/v1/search?query=lamp&all=true")["hits"].as_array().unwrap().len();
        assert!(comes(
            || service.ask("GET", "/api/v1/search?query=lamp&all=true").status == 200 && found() == 2
        ));
        assert!(comes(|| told(&service).is_none()), "{:?}", told(&service));
        assert!(is_healthy(&service, "index"));
        let channel = client.open(json!({}));
        client.push(channel, &json!([record("3")])).is(200);
        assert!(comes(|| completed(&client, channel).len() == 1), "{:?}", client.reports(channel));
    }
}
