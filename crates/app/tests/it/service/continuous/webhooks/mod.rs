//! Reports by webhook: what it was not told of is not taken, and all others come once by their ids, through refusals, silence and kills.

mod sink;

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use self::sink::{Does, Message, Sink};
use super::channels::{Client, judge};
use super::{Service, goes_on};
use crate::sandbox::{Kept, Sandbox};
use crate::service::http::Request;
use crate::service::key;
use crate::stops::upgrade::comes;

const SECRET: &str = "narwhals sing at night";

/// A source whose reports may be sent to a sink.
fn source(sandbox: &Sandbox, sink: &Sink) {
    let webhooks = format!("webhooks={}", json!([sink.url("/hooks/")]));
    sandbox.run(&["job", "define", "push:tickets", "--schedule", "continuous", "--set", &webhooks]).exits(0);
}

fn webhook(sink: &Sink) -> Value {
    json!({"url": sink.url("/hooks/1?of=tickets"), "secret": SECRET})
}

fn record(key: &str) -> Value {
    json!({"key": key, "text": format!("lamp {key}"), "access": ["everybody"], "user_ref": format!("case {key}")})
}

fn found(service: &Service<'_>) -> BTreeSet<String> {
    let found = service.answer("GET", "/api/v1/search?query=lamp&all=true&limit=1000");
    let hits = found["hits"].as_array().unwrap();
    hits.iter().map(|hit| hit["document"].as_str().unwrap().to_owned()).collect()
}

fn texts<'r>(reports: impl IntoIterator<Item = &'r Value>, field: &str) -> BTreeSet<String> {
    reports.into_iter().map(|report| report[field].as_str().unwrap().to_owned()).collect()
}

fn tickets<'r>(reports: impl IntoIterator<Item = &'r Value>) -> Vec<i64> {
    let mut tickets: Vec<i64> =
        reports.into_iter().map(|report| report["ticket"].as_i64().unwrap()).collect();
    tickets.sort_unstable();
    tickets
}

/// Waits until a channel is over, and its sink has all of it.
fn ends(client: &Client<'_, '_>, channel: i64) -> Value {
    client.post(&format!("channels/{channel}/terminate"), &json!({})).is(200);
    let look = || client.get(&format!("channels/{channel}"));
    let has_all = |look: &Value| look["webhook"]["delivered"] == look["last_report"];
    assert!(comes(|| look()["state"] == "terminated" && has_all(&look())), "{}", look());
    look()
}

/// A service with the source, and the key of a client.
fn begins<'s>(sandbox: &'s Sandbox, sink: &Sink) -> (Service<'s>, String) {
    source(sandbox, sink);
    let one = key(sandbox, "one", &["pusher"], None);
    (Service::start(sandbox), one)
}

/// That a message was signed as the manual says.
fn is_signed(message: &Message) {
    let field = |name: &str| message.head[name].clone();
    let text = format!("{}.{}.{}", field("idempotency-key"), field("ingather-timestamp"), message.text);
    let mut openssl = Command::new("openssl");
    openssl.args(["dgst", "-sha256", "-hmac", SECRET]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = openssl.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let hex = said.trim().rsplit(' ').next().unwrap();
    assert_eq!(field("ingather-signature"), format!("v1={hex}"));
}

/// That each ticket was queued before what followed, and that the end was the last.
fn in_order(sink: &Sink) {
    let told: Vec<Value> = sink.messages().iter().flat_map(|one| one.reports().to_vec()).collect();
    let at = |wanted: &str| told.iter().position(|report| report["id"] == wanted).unwrap();
    for report in sink.heard("completed", false).values() {
        assert!(at(&format!("{}-queued", report["ticket"])) < at(report["id"].as_str().unwrap()));
    }
    assert_eq!(told.last().unwrap()["word"], "terminated");
}

/// A call that is sent twice is answered as before.
fn sent_twice(client: &Client<'_, '_>, channel: i64, key: &str) {
    let path = format!("/api/v1/channels/{channel}/records");
    let again = Request::new("POST", &path).key(&client.key).header("Idempotency-Key: a");
    let again = again.body(&json!({"records": [record(key)]}));
    let [first, second] =
        [(); 2].map(|()| again.send(client.service.address).is(200).json()["results"].clone());
    assert_eq!(first, second);
}

#[test]
fn a_webhook_hears_of_all_that_is_taken_and_what_it_refuses_is_not() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let (sandbox, sink) = (Sandbox::new(kept), Sink::new());
        let (service, one) = begins(&sandbox, &sink);
        let client = Client { service: &service, key: one };
        assert!(client.get("capabilities")["transports"].to_string().contains("\"webhook\""));
        let channel = client.open(json!({"webhook": webhook(&sink)}));
        assert_eq!(sink.messages()[0].body["channel"], json!(channel));
        assert_eq!(sink.messages()[0].reports()[0]["word"], "running");
        let mut calls = 0;
        sink.does(move |message| {
            calls += usize::from(message.is_queued());
            if message.is_queued() && calls % 7 == 0 { Does::Answers(503) } else { Does::Takes }
        });
        let (mut taken, mut refused) = (BTreeSet::new(), BTreeSet::new());
        for call in 1..=30 {
            let keys: Vec<String> = (0..3).map(|at| format!("{call}-{at}")).collect();
            let records: Value = keys.iter().map(|key| record(key)).collect();
            let reply = client.push(channel, &records);
            match call % 7 {
                0 => {
                    reply.refuses(502, "report_failed");
                    refused.extend(keys);
                }
                _ => {
                    assert_eq!(reply.is(200).json()["results"][0]["result"], "pending");
                    taken.extend(keys);
                }
            }
        }
        sent_twice(&client, channel, "again");
        taken.insert("again".to_owned());
        let look = ends(&client, channel);
        assert_eq!(look["webhook"]["url"], json!(sink.url("/hooks/1")), "what is behind `?` may be secret");
        assert!(!look.to_string().contains(SECRET) && look["webhook"]["lost"] == json!(false), "{look}");

        let (queued, completed) = (sink.heard("queued", false), sink.heard("completed", false));
        assert_eq!(texts(queued.values(), "key"), taken);
        assert_eq!(tickets(queued.values()), tickets(completed.values()));
        assert!(completed.values().all(|report| report["outcome"] == "indexed"), "{completed:?}");
        assert_eq!(texts(completed.values(), "user_ref").len(), taken.len());
        assert_eq!(found(&service), taken);
        in_order(&sink);
        sink.messages().iter().for_each(is_signed);
        // The log has the same, without gaps.
        let reports = client.reports(channel);
        judge(&reports);
        assert_eq!(
            tickets(reports.iter().filter(|report| report["kind"] == "queued")),
            tickets(queued.values())
        );
        assert!(refused.is_disjoint(&texts(queued.values(), "key")));
        drop(service.end(Signal::TERM));
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["doctor"]).exits(0);
    }
}

#[test]
fn a_channel_is_opened_where_its_source_allows_and_its_webhook_answers_or_not_at_all() {
    let (sandbox, sink) = (Sandbox::sqlite(), Sink::new());
    source(&sandbox, &sink);
    let [one, admin] =
        [("one", "pusher"), ("test", "admin")].map(|(name, role)| key(&sandbox, name, &[role], None));
    let service = Service::with(&sandbox, admin.clone(), &[]);
    let client = Client { service: &service, key: one.clone() };
    let open = |url: &str| {
        client.post("channels", &json!({"source": "tickets", "webhook": {"url": url, "secret": SECRET}}))
    };
    let port = sink.address.port();
    for url in [
        sink.url("/other/1"),
        sink.url("/hooks/../other"),
        sink.url("@evil.example/hooks/1"),
        format!("http://127.0.0.1.evil.example:{port}/hooks/1"),
        format!("https://127.0.0.1:{port}/hooks/1"),
    ] {
        let refused = open(&url).refuses(400, "definition").json();
        assert!(refused["detail"].as_str().unwrap().contains("webhook"), "{refused}");
    }
    assert!(sink.messages().is_empty(), "nobody else is asked");
    for status in [302, 403, 500] {
        sink.does(move |_| Does::Answers(status));
        open(&sink.url("/hooks/1")).refuses(502, "sink_failed");
    }
    assert_eq!(sink.messages().len(), 3, "no redirect is followed");
    sink.does(|_| Does::Goes);
    open(&sink.url("/hooks/1")).refuses(502, "sink_failed");
    let short = json!({"source": "tickets", "webhook": {"url": sink.url("/hooks/1"), "secret": "short"}});
    client.post("channels", &short).refuses(400, "wrong_use");
    assert_eq!(client.get("channels")["channels"], json!([]));

    sink.does(|_| Does::Takes);
    let channel = client.open(json!({"webhook": webhook(&sink)}));
    // Its secret is sealed where it is kept, and opens with another key of the store as well.
    let is_plain = || {
        let files = std::fs::read_dir(sandbox.data()).unwrap().map(|file| file.unwrap().path());
        let files: Vec<Vec<u8>> =
            files.filter(|path| path.is_file()).map(|path| std::fs::read(path).unwrap()).collect();
        assert!(files.iter().any(|bytes| bytes.windows(7).any(|window| window == b"$sealed")));
        files.iter().any(|bytes| bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()))
    };
    drop(service.end(Signal::TERM));
    assert!(!is_plain());
    sandbox.run(&["secrets", "rotate"]).exits(0);
    assert!(!is_plain());
    let service = Service::with(&sandbox, admin, &[]);
    let client = Client { service: &service, key: one };
    client.push(channel, &json!([record("1")])).is(200);
    ends(&client, channel);
    sink.messages().iter().filter(|message| message.done == Does::Takes).for_each(is_signed);
    let shown = sandbox.run(&["channel", "show", &channel.to_string()]).exits(0).out;
    assert!(shown.contains(&sink.url("/hooks/1")) && shown.contains("has reports up to"), "{shown}");
}

#[test]
fn what_a_webhook_may_have_heard_fails_and_one_that_takes_nothing_ends_its_channel() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let (sandbox, sink) = (Sandbox::new(kept), Sink::new());
        let (service, one) = begins(&sandbox, &sink);
        let client = Client { service: &service, key: one };
        let mut wanted = webhook(&sink);
        wanted["sink_seconds"] = json!(3);
        let channel = client.open(json!({"webhook": wanted}));
        for does in [Does::Goes, Does::Hangs] {
            sink.does(move |message| if message.is_queued() { does } else { Does::Takes });
            client.push(channel, &json!([record("lost"), record("lost too")])).refuses(502, "report_failed");
        }
        assert!(comes(|| sink.heard("completed", false).len() == 4));
        let completed = sink.heard("completed", false);
        assert_eq!(texts(completed.values(), "code"), ["queue_aborted".to_owned()].into());
        assert_eq!(tickets(completed.values()), tickets(sink.heard("queued", true).values()));
        // Others hear no more of it, and nothing is held up.
        sink.does(|_| Does::Takes);
        client.push(channel, &json!([record("1")])).is(200);
        assert!(comes(|| sink.heard("completed", false).len() == 5));

        service.ask("POST", "/api/v1/jobs/tickets/pause").is(200);
        client.push(channel, &json!([record("2")])).is(200);
        sink.does(|_| Does::Answers(500));
        service.ask("POST", "/api/v1/jobs/tickets/resume").is(200);
        assert!(comes(|| client.state(channel) == "terminated"));
        let look = client.get(&format!("channels/{channel}"));
        assert_eq!(
            (&look["reason"], &look["webhook"]["lost"]),
            (&json!("sink_lost"), &json!(true)),
            "{look}"
        );
        client.push(channel, &json!([record("3")])).refuses(410, "shutdown");
        let (reports, messages) = (client.reports(channel), sink.messages().len());
        judge(&reports);
        assert_eq!(reports.last().unwrap()["about"], "sink_lost");
        assert_eq!(found(&service), ["1", "2"].map(str::to_owned).into());
        assert_eq!(sink.messages().len(), messages, "it is asked no more");
        drop(service.end(Signal::TERM));
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["doctor"]).exits(0);
    }
}

/// Pushes until the service is gone.
fn push_until_killed(service: &Service<'_>, (key, channel): (&str, i64), calls: &mut u32) {
    loop {
        *calls += 1;
        let records: Value = (0..3).map(|at| record(&format!("{calls}-{at}"))).collect();
        let path = format!("/api/v1/channels/{channel}/records");
        let request = Request::new("POST", &path).key(key).body(&json!({"records": records}));
        let Some(reply) = request.try_send(service.address) else { return };
        assert!([200, 502].contains(&reply.status), "{reply:?}");
    }
}

#[test]
fn kills_deliver_nothing_that_its_webhook_has_not_heard_and_complete_all_that_it_has() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let (sandbox, sink) = (Sandbox::new(kept), Sink::new());
        source(&sandbox, &sink);
        let key = key(&sandbox, "test", &["admin"], None);
        let mut random = fastrand::Rng::with_seed(fastrand::u64(..));
        println!("seed {}", random.get_seed());
        let mut of_sink = random.fork();
        sink.does(move |message| {
            // Time to be killed while it is being told, and behind that.
            std::thread::park_timeout(Duration::from_millis(of_sink.u64(0..20)));
            match of_sink.u8(0..20) {
                0 if message.reports()[0]["report"] != json!(1) => Does::Goes,
                1 if message.reports()[0]["report"] != json!(1) => Does::Answers(500),
                _ => Does::Takes,
            }
        });
        let (mut channel, mut calls) = (None, 0);
        for _ in 0..10 {
            let service = Service::with(&sandbox, key.clone(), &[]);
            let client = Client { service: &service, key: key.clone() };
            let channel = *channel.get_or_insert_with(|| client.open(json!({"webhook": webhook(&sink)})));
            let (pid, wait) = (service.pid(), Duration::from_millis(random.u64(50..600)));
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    std::thread::park_timeout(wait);
                    kill_process(pid, Signal::KILL).unwrap();
                });
                push_until_killed(&service, (&key, channel), &mut calls);
            });
        }
        sink.does(|_| Does::Takes);
        let service = Service::with(&sandbox, key.clone(), &[]);
        let client = Client { service: &service, key: key.clone() };
        let channel = channel.unwrap();
        goes_on(&service);
        ends(&client, channel);
        let (queued, completed) = (sink.heard("queued", true), sink.heard("completed", false));
        let heard: BTreeSet<i64> = tickets(queued.values()).into_iter().collect();
        let done = tickets(completed.values());
        let once: BTreeSet<i64> = done.iter().copied().collect();
        assert_eq!(done.len(), once.len(), "none is completed by two reports");
        assert!(heard.is_subset(&once), "{:?}", heard.difference(&once).collect::<Vec<_>>());
        let taken = texts(sink.heard("queued", false).values(), "key");
        let (found, calls) = (found(&service), 3 * calls as usize);
        assert!(found.is_subset(&taken), "{:?}", found.difference(&taken).collect::<Vec<_>>());
        println!("{} pushed, {} heard, {} found", calls, heard.len(), found.len());
        assert!(!found.is_empty());
        judge(&client.reports(channel));
        drop(service.end(Signal::TERM));
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["doctor"]).exits(0);
    }
}
