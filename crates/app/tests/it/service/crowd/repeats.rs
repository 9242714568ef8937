//! Changes that are asked for twice, or of a job that is not as it was seen.

use serde_json::json;

use crate::sandbox::{Kept, Sandbox};
use crate::service::http::Request;
use crate::service::{Service, key};

#[test]
fn a_change_with_an_idempotency_key_is_done_once_and_answered_as_often_as_it_is_asked_for() {
    let sandbox = Sandbox::sqlite();
    let operator = key(&sandbox, "bob", &["operator"], None);
    let other = key(&sandbox, "other", &["admin"], None);
    let service = Service::start(&sandbox);
    let named =
        |key: &str| service.request("POST", "/api/v1/api-keys").header(&format!("Idempotency-Key: {key}"));
    let ann = named("first").body(&json!({"name": "ann", "roles": ["searcher"]}));
    let made = ann.send(service.address).is(200);
    assert!(!made.head.contains("idempotent-replayed"), "{made:#?}");
    let again = ann.send(service.address).is(200);
    assert!(again.head.contains("idempotent-replayed: true"), "{again:#?}");
    assert_eq!(made.json(), again.json());
    named("first")
        .body(&json!({"name": "carl", "roles": ["searcher"]}))
        .send(service.address)
        .refuses(422, "key_reused");
    named("second")
        .body(&json!({"name": "ann", "roles": ["searcher"]}))
        .send(service.address)
        .refuses(409, "api_key_exists");
    named(&"x".repeat(256))
        .body(&json!({"name": "dora", "roles": ["searcher"]}))
        .send(service.address)
        .refuses(400, "wrong_use");
    // What failed was not done: it may be asked for again under its key.
    service.ask("DELETE", "/api/v1/api-keys/ann").is(200);
    named("second").body(&json!({"name": "ann", "roles": ["searcher"]})).send(service.address).is(200);
    // A key is its caller's, and gives nobody a role.
    let body = json!({"name": "ann", "roles": ["searcher"]});
    let asked = Request::new("POST", "/api/v1/api-keys").header("Idempotency-Key: first").body(&body);
    asked.clone().key(&other).send(service.address).refuses(409, "api_key_exists");
    asked.key(&operator).send(service.address).refuses(403, "forbidden");
    let changes = service.answer("GET", "/api/v1/audit");
    let done =
        changes["changes"].as_array().unwrap().iter().filter(|change| change["outcome"] == "done").count();
    assert_eq!(done, 3, "what was only told again is no change: {changes}");
}

#[test]
fn a_change_of_a_job_that_was_defined_anew_is_refused_when_whoever_asks_says_what_they_saw() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let admin = key(&sandbox, "test", &["admin"], None);
    let tag = || {
        let service = Service::with(&sandbox, admin.clone(), &[]);
        let shown = service.ask("GET", "/api/v1/jobs/root").is(200);
        let tag = shown.head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
        (service, tag)
    };
    let (service, seen) = tag();
    let pause = |service: &Service<'_>, tag: &str| {
        service
            .request("POST", "/api/v1/jobs/root/pause")
            .header(&format!("If-Match: {tag}"))
            .send(service.address)
    };
    pause(&service, &seen).is(200);
    pause(&service, "*").is(200);
    pause(&service, &format!("\"0.0\", {seen}")).is(200);
    pause(&service, "\"0.0\"").refuses(412, "outdated");
    pause(&service, &format!("W/{seen}")).refuses(412, "outdated");
    service.ask("POST", "/api/v1/jobs/root/resume").is(200);
    let create = service.request("POST", "/api/v1/api-keys").header("If-Match: *");
    create
        .body(&json!({"name": "ann", "roles": ["searcher"]}))
        .send(service.address)
        .refuses(400, "wrong_use");
    drop(service);
    sandbox.synced(&["--exclude", "*.tmp", "--update"]);
    let (service, now) = tag();
    assert_ne!(seen, now);
    let delete = |tag: &str| {
        service
            .request("DELETE", "/api/v1/jobs/root")
            .header(&format!("If-Match: {tag}"))
            .send(service.address)
    };
    delete(&seen).refuses(412, "outdated");
    delete(&now).is(200);
    delete(&now).refuses(404, "no_such_job");
}

#[test]
fn what_can_never_be_meant_is_refused_as_that_on_both_stores_whatever_was_seen() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        sandbox.synced(&[]);
        let service = Service::start(&sandbox);
        for path in ["/api/v1/jobs/a%00b", "/api/v1/reports/status?job=%00", "/api/v1/search?query=a%00b"] {
            service.ask("GET", path).refuses(400, "wrong_use");
        }
        let named = json!({"root": "/srv", "name": "a\u{0}b"});
        service.request("POST", "/api/v1/jobs").body(&named).send(service.address).refuses(400, "wrong_use");
        let start = service.request("POST", "/api/v1/jobs/root/start").header("If-Match: \"other\"");
        start.clone().body(&json!({"unknown": 1})).send(service.address).refuses(400, "wrong_use");
        start.send(service.address).refuses(412, "outdated");
    }
}

#[test]
fn of_many_who_make_the_same_at_once_one_makes_it_and_the_others_are_told_that_it_is_there() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        sandbox.synced(&[]);
        let service = Service::start(&sandbox);
        for round in 0..10 {
            let body = json!({"name": format!("key{round}"), "roles": ["operator"]});
            let statuses: Vec<u16> = std::thread::scope(|scope| {
                let make = || service.request("POST", "/api/v1/api-keys").body(&body).send(service.address);
                let all: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
                all.into_iter().map(|one| one.join().unwrap().status).collect()
            });
            let made = statuses.iter().filter(|status| **status == 200).count();
            assert!(
                made == 1 && statuses.iter().all(|status| [200, 409, 503].contains(status)),
                "{statuses:?}"
            );
        }
    }
}
