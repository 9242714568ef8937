//! What one of the crowd does: any move, of any job, at any time.

use ingather_model::limits;
use serde_json::{Value, json};

use super::ledger::{Ledger, Told, now};
use super::{Crowd, Kind};
use crate::dice::Dice;
use crate::service::http::{Reply, Request};

/// A request, and the operation that it asks for.
#[derive(Debug)]
pub(super) struct Move {
    pub(super) operation: &'static str,
    verb: &'static str,
    path: String,
    body: Option<Value>,
}

impl Move {
    fn get(operation: &'static str, path: String) -> Move {
        Move { operation, verb: "GET", path, body: None }
    }

    fn post(operation: &'static str, path: String, body: Value) -> Move {
        Move { operation, verb: "POST", path, body: Some(body) }
    }

    pub(super) fn request(&self, key: &str) -> Request {
        let request = Request::new(self.verb, &format!("/api/v1{}", self.path)).key(key);
        match &self.body {
            Some(body) => request.body(body),
            None => request,
        }
    }
}

/// The kind of a run that is asked for.
fn mode(dice: &mut Dice) -> &'static str {
    ["full", "full", "minimal"][dice.below(3)]
}

/// A change of a job, or the job itself where there is none: one setting of it is otherwise than before.
pub(super) fn definition(crowd: &Crowd<'_>, job: &str, dice: &mut Dice) -> Value {
    let mut body = crowd.definition(job);
    let (field, value) = match dice.below(5) {
        0 => ("source", json!({ "exclude": [format!("f{}.txt", dice.below(4))] })),
        1 => ("source", json!({ "exclude": null })),
        2 => ("priority", json!(1 + dice.below(10))),
        3 => ("keep", json!(dice.pick(&["extracted", "nothing"]))),
        _ => ("history", json!(dice.pick(&["failures", "documents"]))),
    };
    body[field] = value;
    body["update"] = json!(!dice.once_in(8));
    body
}

/// A move of a job.
fn of_job(crowd: &Crowd<'_>, job: &str, kind: Kind, dice: &mut Dice) -> Move {
    let at = |path: &str| format!("/jobs/{job}{path}");
    let start = |dice: &mut Dice| {
        let mode = mode(dice);
        let rereads = dice.once_in(12);
        let body = json!({ "mode": mode, "guard_off": dice.once_in(3), "rereads": rereads });
        Move::post("jobs.start", at("/start"), body)
    };
    match (dice.below(30), kind) {
        (0..6, _) => start(dice),
        (6, _) => Move::post("jobs.reset_seeding", at("/reset-seeding"), json!({})),
        (7, _) => Move::post("jobs.resend", at("/resend"), json!({ "dry_run": dice.once_in(3) })),
        (8, _) => Move::post("jobs.confirm", at("/confirm"), json!({ "run": crowd.last_held(job) })),
        (9, _) => Move::post("jobs.define", "/jobs".to_owned(), definition(crowd, job, dice)),
        (10, _) => Move::get("jobs.held", at("/held")),
        (11, _) => Move::get("jobs.runs", at("/runs?limit=3")),
        (12 | 13, _) => Move::get("jobs.show", at("")),
        (14, _) => Move::get("documents.list", at("/documents?limit=20")),
        (15, _) => {
            let name = format!("d{}%2Ff{}.txt", dice.below(2), dice.below(100));
            Move::get("documents.explain", at(&format!("/documents/{name}/explain")))
        }
        (16, _) => Move::get("history.list", format!("/history?job={job}&limit=20")),
        (_, Kind::Steady) => start(dice),
        (17..20, _) => Move::post("jobs.pause", at("/pause"), json!({})),
        (20..25, _) => Move::post("jobs.resume", at("/resume"), json!({})),
        (25 | 26, _) => Move::post("jobs.abort", at("/abort"), json!({})),
        (27 | 28, _) => Move::post("jobs.restart", at("/restart"), json!({ "mode": mode(dice) })),
        (_, Kind::Deleted) => {
            let dry = if dice.once_in(4) { "?dry_run=true" } else { "" };
            Move { operation: "jobs.delete", verb: "DELETE", path: at(dry), body: None }
        }
        _ => start(dice),
    }
}

/// Any move.
pub(super) fn any(crowd: &Crowd<'_>, dice: &mut Dice) -> (Option<&'static str>, Move) {
    if !dice.once_in(5) {
        let (job, _, kind) = *dice.pick(super::JOBS);
        return (Some(job), of_job(crowd, job, kind, dice));
    }
    let one = match dice.below(24) {
        0..5 => {
            let query = *dice.pick(&["apple", "t7x", "nothing", "name:f1.txt", "apple+NOT+t9x", "(", "a*"]);
            let at = if dice.once_in(10) { "&offset=20" } else { "" };
            Move::get("search", format!("/search?query={query}&limit=10&all=true{at}"))
        }
        5..10 => Move::get("jobs.list", "/jobs".to_owned()),
        10 | 11 => Move::get("system.status", "/status".to_owned()),
        12 => Move::get("declaration.export", "/declaration".to_owned()),
        13 => Move::get("notices.list", "/notices".to_owned()),
        14 => Move::get("audit.list", "/audit?limit=20".to_owned()),
        15 => Move::get("reports.activity", "/reports/activity".to_owned()),
        16 => Move::get("reports.results", "/reports/results".to_owned()),
        17 => Move::get("reports.queue", "/reports/queue?job=steady".to_owned()),
        18 => Move::get("reports.status", "/reports/status?job=moved".to_owned()),
        19 => Move::get("api_keys.list", "/api-keys".to_owned()),
        20 => {
            let name = format!("key{}", dice.below(3));
            Move::post(
                "api_keys.create",
                "/api-keys".to_owned(),
                json!({ "name": name, "roles": ["operator"] }),
            )
        }
        21 => Move {
            operation: "api_keys.delete",
            verb: "DELETE",
            path: format!("/api-keys/key{}", dice.below(3)),
            body: None,
        },
        // Both want to write alone for a moment, when they may.
        22 if dice.once_in(4) => {
            Move::post("system.doctor", "/system/doctor".to_owned(), json!({ "repair": dice.once_in(2) }))
        }
        23 if dice.once_in(4) => {
            Move::post("outputs.verify", "/outputs/verify".to_owned(), json!({ "repair": dice.once_in(2) }))
        }
        _ => Move::get("jobs.list", "/jobs?limit=3".to_owned()),
    };
    (None, one)
}

/// What was answered goes into the ledger.
pub(super) fn note(ledger: &Ledger, job: &'static str, asked: i64, one: &Move, answer: &Value) {
    let told = match one.operation {
        "jobs.start" => Told::Begins(answer["mode"].as_str().unwrap().to_owned()),
        "jobs.restart" if answer["stopping"] == true => Told::Follows,
        "jobs.restart" => Told::Begins(answer["mode"].as_str().unwrap().to_owned()),
        "jobs.reset_seeding" => Told::Resets,
        "jobs.abort" => Told::Ends,
        "jobs.delete" if answer["dry_run"] != true => Told::Ends,
        _ => return,
    };
    ledger.note(job, asked, told);
}

/// Asks; the answer with when it was asked for. Some send what changes something twice, as one whose connection broke off does.
pub(super) fn ask(crowd: &Crowd<'_>, one: &Move, dice: &mut Dice) -> (i64, Reply) {
    let (asked, address) = (now(), crowd.service.address);
    let request = one.request(&crowd.service.key);
    if one.verb == "GET" || !dice.once_in(10) {
        return (asked, request.send(address));
    }
    let key = format!("{}-{}", dice.below(1 << 30), dice.below(1 << 30));
    let request = request.header(&format!("Idempotency-Key: {key}"));
    let first = request.send(address);
    if first.status == 200 {
        let second = request.send(address);
        let is_same = (second.status, &second.body) == (200, &first.body);
        // With no room for it, it is not even looked at; a long answer is not kept.
        let is_kept = first.body.len() <= limits::REPEAT_BYTES_MAX;
        let is_right =
            second.status == 503 || !is_kept || is_same && second.head.contains("idempotent-replayed: true");
        assert!(is_right, "the second answer to the same request is another one: {first:?}, {second:?}");
    }
    (asked, first)
}
