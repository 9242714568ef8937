//! One meaning: what the command line answers with `--json` is what the service answers, row by row of the table.

use ingather_model::ids::JobId;
use ingather_operations::OPERATIONS;
use ingather_operations::operation::{Rest, Words};
use ingather_store::Durability;
use ingather_store::events::{self, Holder};
use serde_json::{Value, json};

use super::Service;
use crate::doctor::store;
use crate::sandbox::{Kept, Sandbox};

/// Where the lines of the command line stand in the answer of the service.
pub(super) enum Lines {
    /// One line, the answer.
    Answer,
    /// One line for each member of this list.
    Of(&'static str),
    /// One line for each item that is handed out, of those that the command tells.
    Items,
    /// All output is one page, the answer.
    Page,
}

/// What is asked both ways: the operation, words of the command line, verb and path, body, and how the answers correspond.
pub(super) type Asked = (&'static str, &'static [&'static str], &'static str, Option<&'static str>, Lines);

pub(super) const ASKED: &[Asked] = &[
    ("jobs.list", &["job", "list"], "GET /jobs", None, Lines::Of("jobs")),
    ("jobs.show", &["job", "show", "root"], "GET /jobs/root", None, Lines::Answer),
    ("jobs.runs", &["job", "runs", "root"], "GET /jobs/root/runs?limit=20", None, Lines::Of("runs")),
    ("jobs.held", &["job", "held", "root"], "GET /jobs/root/held?limit=100", None, Lines::Of("removals")),
    (
        "documents.list",
        &["document", "list", "root"],
        "GET /jobs/root/documents",
        None,
        Lines::Of("documents"),
    ),
    (
        "documents.explain",
        &["document", "explain", "root", "d/a b.txt"],
        "GET /jobs/root/documents/d%2Fa%20b.txt/explain",
        None,
        Lines::Answer,
    ),
    ("pipeline.stages", &["pipeline", "stages"], "GET /connectors/transforms", None, Lines::Of("stages")),
    (
        "pipeline.try",
        &["pipeline", "try", "root", "d/a b.txt"],
        "POST /jobs/root/documents/d%2Fa%20b.txt/try",
        Some("{}"),
        Lines::Answer,
    ),
    (
        "search",
        &["search", "apple", "--all", "--limit", "10"],
        "GET /search?query=apple&all=true&limit=10",
        None,
        Lines::Of("hits"),
    ),
    (
        "access.filter",
        &["filter", "root", "--engine", "opensearch", "--output", "index"],
        "GET /authority/filter?user=root&engine=opensearch&output=index",
        None,
        Lines::Answer,
    ),
    ("access.tokens", &["tokens", "root"], "GET /authority/tokens?user=root", None, Lines::Answer),
    ("authorities.list", &["authority", "list"], "GET /authorities", None, Lines::Of("authorities")),
    (
        "access.why",
        &["why", "root", "d/a b.txt"],
        "GET /authority/why?user=root&document=d%2Fa+b.txt",
        None,
        Lines::Of("answers"),
    ),
    ("documents.erased", &["document", "erased"], "GET /documents/erased", None, Lines::Of("documents")),
    ("system.status", &["status"], "GET /status", None, Lines::Of("jobs")),
    ("outputs.verify", &["verify"], "POST /outputs/verify", Some("{}"), Lines::Items),
    ("push.run", &["source", "show", "tickets"], "GET /sources/tickets/run", None, Lines::Answer),
    (
        "push.reports",
        &["source", "reports", "tickets"],
        "GET /sources/tickets/reports",
        None,
        Lines::Of("reports"),
    ),
    ("push.sources", &["source", "list"], "GET /sources", None, Lines::Of("sources")),
    ("push.ticket", &["source", "ticket", "2"], "GET /tickets/2", None, Lines::Answer),
    ("channel.list", &["channel", "list"], "GET /channels", None, Lines::Of("channels")),
    ("channel.show", &["channel", "show", "1"], "GET /channels/1", None, Lines::Answer),
    ("channel.reports", &["channel", "reports", "1"], "GET /channels/1/reports", None, Lines::Of("reports")),
    ("events.list", &["event", "list"], "GET /events", None, Lines::Of("events")),
    ("system.doctor", &["doctor", "-v"], "POST /system/doctor", Some("{}"), Lines::Items),
    ("declaration.export", &["export"], "GET /declaration", None, Lines::Page),
    ("api_keys.list", &["api-key", "list"], "GET /api-keys", None, Lines::Of("api_keys")),
    ("notices.list", &["notices"], "GET /notices", None, Lines::Of("notices")),
    ("history.list", &["history"], "GET /history?limit=100", None, Lines::Of("runs")),
    (
        "reports.status",
        &["report", "status", "root"],
        "GET /reports/status?job=root",
        None,
        Lines::Of("buckets"),
    ),
    ("reports.activity", &["report", "activity"], "GET /reports/activity", None, Lines::Of("buckets")),
    ("reports.results", &["report", "results"], "GET /reports/results", None, Lines::Of("groups")),
    ("audit.list", &["audit"], "GET /audit?limit=3", None, Lines::Of("changes")),
    (
        "reports.queue",
        &["report", "queue", "root"],
        "GET /reports/queue?job=root",
        None,
        Lines::Of("buckets"),
    ),
];

/// Changes: what each of them does is seen by what is stored afterwards, in tests of their own.
const CHANGES: &[&str] = &[
    "jobs.define",
    "declaration.apply",
    "jobs.start",
    "jobs.abort",
    "jobs.restart",
    "jobs.reset_seeding",
    "jobs.resend",
    "jobs.pause",
    "jobs.resume",
    "jobs.confirm",
    "jobs.delete",
    "jobs.move",
    "documents.erase",
    "documents.readmit",
    "events.free",
    "push.records",
    "push.unlock",
    "push.clear",
    "push.clear_all",
    "push.purge",
    "channel.flush",
    "channel.terminate",
    "channel.abort",
    "authorities.forget",
    "authorities.delete",
    "api_keys.create",
    "api_keys.delete",
    "api_keys.login_link",
];

/// Whether a line of the command line tells nothing that the answer does not: fields that it leaves out are for others.
fn tells(line: &Value, answer: &Value) -> bool {
    match (line, answer) {
        (Value::Object(line), Value::Object(answer)) => {
            line.iter().all(|(name, value)| answer.get(name).is_some_and(|answer| tells(value, answer)))
        }
        (Value::Array(line), Value::Array(answer)) => {
            line.len() == answer.len() && line.iter().zip(answer).all(|(line, answer)| tells(line, answer))
        }
        (line, answer) => line == answer,
    }
}

/// A member of a list with what the answer says of all of them, as lines have it.
fn with_all(answer: &Value, member: &Value) -> Value {
    let mut all = answer.clone();
    for (name, value) in member.as_object().into_iter().flatten() {
        all[name] = value.clone();
    }
    all
}

/// What changes from one moment to the next.
pub(super) fn settled(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(fields) = value.as_object_mut() {
        ["seconds", "age_ms"].iter().for_each(|field| _ = fields.remove(*field));
    }
    // When each authority was asked.
    for said in value.get_mut("authorities").and_then(Value::as_array_mut).into_iter().flatten() {
        said.as_object_mut().into_iter().for_each(|said| _ = said.remove("at"));
    }
    value
}

pub(super) fn prepared(kept: Kept) -> Sandbox {
    let sandbox = Sandbox::new(kept);
    (0..60).for_each(|n| sandbox.write(&format!("f{n}.txt"), "apple"));
    sandbox.write("d/a b.txt", "apple");
    sandbox.synced(&["--history", "documents", "--notify", "nobody:finished"]);
    (0..40).for_each(|n| std::fs::remove_file(sandbox.root().join(format!("f{n}.txt"))).unwrap());
    assert_eq!(sandbox.sync(&[]).0.get("held"), 40);
    sandbox.run(&["document", "erase", "root", "f59.txt", "--yes"]).exits(0);
    sandbox
}

/// A service with a channel into that source.
pub(super) fn with_channel(sandbox: &Sandbox) -> Service<'_> {
    let service = Service::start(sandbox);
    service
        .request("POST", "/api/v1/channels")
        .body(&json!({"source": "tickets"}))
        .send(service.address)
        .is(200);
    service
}

/// A source into which something was pushed.
pub(super) fn pushed(sandbox: &Sandbox) {
    std::fs::write(sandbox.path().join("tickets.jsonl"), r#"{"key": "17", "text": "a lamp"}"#).unwrap();
    sandbox.run(&["push", "tickets.jsonl", "--source", "tickets", "--full"]).exits(0);
    // Else the service has a pass under way when the one is asked, and not when the other is.
    sandbox.run(&["job", "pause", "tickets"]).exits(0);
}

#[test]
fn the_command_line_and_the_service_answer_the_same_for_every_row() {
    let rows = OPERATIONS.iter().filter(|one| matches!((one.rest, one.words), (Rest::At(..), Words::Are(_))));
    let names: Vec<&str> = rows.map(|one| one.name).collect();
    let known: Vec<&str> = ASKED.iter().map(|asked| asked.0).chain(CHANGES.iter().copied()).collect();
    for name in &names {
        assert!(known.contains(name), "{name} is asked both ways nowhere");
    }
    assert_eq!(names.len(), known.len());
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = prepared(kept);
        pushed(&sandbox);
        let service = with_channel(&sandbox);
        let holder = Holder { job: JobId(1), document: 1, process: "another" };
        let begun = store(&sandbox)
            .write(Durability::Relaxed, |sql| events::begin(sql, "global:e", holder, 1_767_225_600_000));
        assert!(begun.unwrap(), "else no event is pending");
        for (name, words, path, body, lines) in ASKED {
            if *name == "reports.queue" {
                // Else nothing waits.
                service.answer("POST", "/api/v1/jobs/root/resend");
            }
            let (verb, path) = path.split_once(' ').unwrap();
            let mut request = service.request(verb, &format!("/api/v1{path}"));
            if let Some(body) = body {
                request = request.body(&serde_json::from_str(body).unwrap());
            }
            let answer = request.send(service.address).is(200).json();
            let told = sandbox.run(&[words, &["--json"][..]].concat());
            if matches!(lines, Lines::Page) {
                assert_eq!(serde_json::from_str::<Value>(&told.out).unwrap(), answer, "{name}");
                continue;
            }
            let told: Vec<Value> = told.json().iter().map(settled).collect();
            let answered: Vec<Value> = match lines {
                Lines::Answer | Lines::Page => vec![answer.clone()],
                Lines::Of(list) => answer[*list].as_array().unwrap().clone(),
                Lines::Items => answer["items"].as_array().unwrap().clone(),
            };
            assert!(!told.is_empty(), "{name} has told nothing");
            if matches!(lines, Lines::Items) {
                // What goes on around both, such as the space that is free, is another one each time.
                let steady =
                    |line: &&Value| line["check"] != json!("space") && line.get("compared").is_none();
                for line in told.iter().filter(steady) {
                    let found = answered.iter().any(|answered| tells(line, answered));
                    assert!(found, "{name}: {line} is not in {answered:#?}");
                }
                continue;
            }
            let mut answered = answered;
            if *name == "jobs.held" {
                // Pages have no order of their names; the command line puts them in one.
                answered.sort_by_key(|removal| removal["document"].to_string());
            }
            assert_eq!(told.len(), answered.len(), "{name}: {told:#?} {answered:#?}");
            for (line, member) in told.iter().zip(&answered) {
                assert!(tells(line, &with_all(&answer, member)), "{name}: {line:#} is not {member:#}");
            }
        }
    }
}

#[test]
fn changes_over_http_do_what_the_command_line_does() {
    let (by_words, by_http) = (prepared(Kept::Sqlite), prepared(Kept::Sqlite));
    let service = Service::start(&by_http);
    let told = by_words.run(&["job", "confirm", "root", "--run", "2", "--json"]).exits(0).json();
    let confirm = service.request("POST", "/api/v1/jobs/root/confirm").body(&json!({"run": 2}));
    let answer = confirm.send(service.address).is(200).json();
    assert!(tells(&told[0], &answer), "{told:?} {answer}");
    assert_eq!(answer["deleted"], 40);
    confirm.send(service.address).refuses(412, "nothing_held");
    by_words.run(&["job", "confirm", "root", "--run", "2"]).exits(2);
    let counted = by_words.run(&["job", "delete", "root", "--dry-run", "--json"]).exits(0).json();
    let dry = service.answer("DELETE", "/api/v1/jobs/root?dry_run=true");
    assert!(tells(&counted[0], &dry), "{counted:?} {dry}");
    let told = by_words.run(&["job", "delete", "root", "--yes", "--json"]).exits(0).json();
    let gone = service.answer("DELETE", "/api/v1/jobs/root");
    assert!(tells(&told[0], &gone), "{told:?} {gone}");
    service.ask("DELETE", "/api/v1/jobs/root").refuses(404, "no_such_job");
    let (one, other) =
        (by_words.run(&["job", "list", "--json"]).out, by_http.run(&["job", "list", "--json"]).out);
    assert_eq!((one.as_str(), other.as_str()), ("", ""));
}
