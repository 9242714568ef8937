//! Keys that push into some sources alone: whoever asks by one is told of no other source, word for word.

use ingather_operations::OPERATIONS;
use ingather_operations::operation::{Callable, Rest, Role};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::Service;
use crate::sandbox::{Kept, Sandbox};
use crate::service::http::{Reply, Request};
use crate::service::key;
use crate::service::roles::example;
use crate::stops::upgrade::comes;

/// What a call is about.
#[derive(Clone, Copy)]
struct About<'a> {
    source: &'a str,
    channel: i64,
    ticket: i64,
}

/// What is nowhere.
const NOTHING: About<'_> = About { source: "nowhere", channel: 987_654, ticket: 987_655 };

/// A key for some sources alone.
fn key_for(sandbox: &Sandbox, name: &str, sources: &[&str]) -> String {
    let mut words = vec!["api-key", "create", name, "--role", "pusher"];
    words.extend(sources.iter().flat_map(|source| ["--source", source]));
    sandbox.run(&words).exits(0).out.trim().to_owned()
}

/// The example of an operation of pushers as a request by somebody, about something.
fn request(one: &dyn Callable, of_table: &str, key: &str, about: About<'_>) -> Option<Request> {
    let Rest::At(verb, path) = one.rest else { return None };
    let mut body: Value = serde_json::from_str(of_table).unwrap();
    for (field, value) in [
        ("source", json!(about.source)),
        ("channel", json!(about.channel)),
        ("ticket", json!(about.ticket)),
        ("tickets", json!([about.ticket])),
        ("wait_seconds", json!(0)),
    ] {
        body.get_mut(field).into_iter().for_each(|is| *is = value.clone());
    }
    let (path, body) = example(path, verb, &body.to_string());
    let request = Request::new(verb.as_str(), &path).key(key);
    Some(match body {
        Some(body) => request.body(&body),
        None => request,
    })
}

/// An answer as it would be about what is nowhere.
fn as_of_nothing(reply: &Reply, about: About<'_>) -> (u16, String) {
    let mut told = reply.json();
    // Each request has a number.
    told.as_object_mut().into_iter().for_each(|told| drop(told.remove("request")));
    let told = [
        (format!("`{}`", about.source), format!("`{}`", NOTHING.source)),
        (format!("push:{}`", about.source), format!("push:{}`", NOTHING.source)),
        (format!("no channel {} ", about.channel), format!("no channel {} ", NOTHING.channel)),
        (format!("no ticket {},", about.ticket), format!("no ticket {},", NOTHING.ticket)),
    ]
    .iter()
    .fold(told.to_string(), |told, (is, nothing)| told.replace(is, nothing));
    (reply.status, told)
}

/// That all calls by this key are answered as if what they are about were not there.
fn is_told_nothing(service: &Service<'_>, key: &str, about: About<'_>) {
    let mut asked = 0;
    for one in OPERATIONS.iter().filter(|one| one.role == Role::Pusher) {
        for of_table in one.request.examples {
            let send =
                |about| request(*one, of_table, key, about).map(|request| request.send(service.address));
            let (Some(of_others), Some(of_nothing)) = (send(about), send(NOTHING)) else { continue };
            let told = as_of_nothing(&of_others, about);
            assert_eq!(told, as_of_nothing(&of_nothing, NOTHING), "{}", one.name);
            asked += 1;
        }
    }
    assert!(asked > 15, "{asked}");
    let stream = format!("/api/v1/channels/{}/reports", about.channel);
    let stream = Request::new("GET", &stream).key(key).header("Accept: text/event-stream");
    stream.send(service.address).refuses(404, "no_such_channel");
    let listed = channels(service, key);
    assert!(listed.iter().all(|channel| *channel != about.channel), "{listed:?}");
}

/// Channels that a key is told of, one by one: pages end where they do.
fn channels(service: &Service<'_>, key: &str) -> Vec<i64> {
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let path = format!("/api/v1/channels?limit=1&after={after}");
        let page = Request::new("GET", &path).key(key).send(service.address).is(200).json();
        let of_page = page["channels"].as_array().unwrap();
        found.extend(of_page.iter().map(|channel| channel["channel"].as_i64().unwrap()));
        // No page is short for the sake of others, and its end is none of theirs.
        assert_eq!(page["last"], json!(found.last().copied().unwrap_or_default()));
        if page["more"] == json!(false) {
            return found;
        }
        assert_eq!(of_page.len(), 1);
        after = found[found.len() - 1];
    }
}

/// Pushes a record into a source in both ways, and waits for what became of it; what there is of that.
fn pushed<'a>(service: &Service<'_>, key: &str, source: &'a str) -> About<'a> {
    let post = |path: &str, body: Value| {
        Request::new("POST", &format!("/api/v1/{path}")).key(key).body(&body).send(service.address)
    };
    let get = |path: &str| Request::new("GET", &format!("/api/v1/{path}")).key(key).send(service.address);
    let records = json!({"records": [{"key": "1", "text": "lamp", "access": ["everybody"]}]});
    let ticket =
        post(&format!("sources/{source}/records"), records.clone()).is(200).json()["results"][0]["ticket"]
            .as_i64()
            .unwrap();
    assert!(comes(|| get(&format!("tickets/{ticket}")).is(200).json()["report"].is_object()));
    let reports = get(&format!("sources/{source}/reports")).is(200).json();
    assert_eq!(reports["reports"].as_array().unwrap().last().unwrap()["ticket"], json!(ticket));
    let run = post(&format!("sources/{source}/runs"), json!({})).is(200).json();
    let end = json!({"token": run["token"]});
    post(&format!("sources/{source}/runs/{}/rollback", run["run"]), end).is(200);
    assert_eq!(get(&format!("sources/{source}/run")).is(200).json()["run"], run["run"]);
    let channel = post("channels", json!({"source": source})).is(200).json()["channel"].as_i64().unwrap();
    post(&format!("channels/{channel}/records"), records).is(200);
    let completed = || get(&format!("channels/{channel}")).is(200).json()["completed"] == json!(1);
    assert!(comes(completed));
    let listed = get("channels").is(200).json();
    assert_eq!(listed["channels"].as_array().unwrap().last().unwrap()["channel"], json!(channel));
    assert_eq!(listed["last"], json!(channel));
    About { source, channel, ticket }
}

#[test]
fn a_key_for_some_sources_is_told_of_no_other_one_word_for_word() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        // Before there is any source.
        let one = key_for(&sandbox, "one", &["tickets"]);
        let two = key_for(&sandbox, "two", &["other", "a third"]);
        let all = key(&sandbox, "all", &["pusher"], None);
        sandbox.run(&["job", "define", "push:tickets", "--schedule", "continuous"]).exits(0);
        let service = Service::start(&sandbox);
        let of_one = pushed(&service, &one, "tickets");
        is_told_nothing(&service, &two, of_one);
        assert!(channels(&service, &two).is_empty());
        let other = json!({"root": "push:other", "schedule": "continuous"});
        service.request("POST", "/api/v1/jobs").body(&other).send(service.address).is(200);
        let of_two = pushed(&service, &two, "other");
        let of_all = ["tickets", "other"].map(|source| pushed(&service, &all, source));
        is_told_nothing(&service, &two, of_one);
        is_told_nothing(&service, &two, of_all[0]);
        is_told_nothing(&service, &one, of_two);
        is_told_nothing(&service, &one, of_all[1]);
        for (key, own) in [(&one, vec![of_one]), (&two, vec![of_two]), (&all, of_all.to_vec())] {
            let own: Vec<i64> = own.iter().map(|about| about.channel).collect();
            assert_eq!(channels(&service, key), own);
        }
        // Nothing else is theirs either, whatever it is about.
        for path in ["jobs", "jobs/tickets", "status", "search?query=lamp", "api-keys", "audit"] {
            let asked = Request::new("GET", &format!("/api/v1/{path}")).key(&one);
            asked.send(service.address).refuses(403, "forbidden");
        }
        for source in ["tickets", "other", "nowhere"] {
            let unlock = Request::new("DELETE", &format!("/api/v1/sources/{source}/lock")).key(&one);
            unlock.send(service.address).refuses(403, "forbidden");
        }

        // Another key of the same name is for its own sources.
        service.ask("DELETE", "/api/v1/api-keys/one").is(200);
        let anew = json!({"name": "one", "roles": ["pusher"], "sources": ["other"]});
        let made =
            service.request("POST", "/api/v1/api-keys").body(&anew).send(service.address).is(200).json();
        assert_eq!(made["sources"], json!(["other"]));
        let anew = made["key"].as_str().unwrap();
        is_told_nothing(&service, anew, of_one);
        assert!(channels(&service, anew).is_empty());
        pushed(&service, anew, "other");
        drop(service.end(Signal::TERM));
        sandbox.run(&["doctor"]).exits(0);
    }
}

#[test]
fn a_key_is_for_sources_that_can_be_and_for_nothing_beside_them() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        let refuses = |words: &[&str], why: &[&str]| {
            let words = [&["api-key", "create", "wrong", "--role", "pusher"], words].concat();
            sandbox.run(&words).refuses(2, why);
        };
        for role in ["admin", "operator", "searcher", "token-reader", "provisioner"] {
            refuses(&["--role", role, "--source", "tickets"], &["no other", "another key"]);
        }
        refuses(&["--source", ""], &["not a valid name"]);
        refuses(&["--source", ".tickets"], &["not a valid name"]);
        refuses(&["--source", "a/b"], &["not a valid name"]);
        refuses(&["--source", "tickets", "--source", "b", "--source", "tickets"], &["named twice"]);
        let names: Vec<String> = (0..65).map(|n| format!("s{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        refuses(&names.iter().flat_map(|name| ["--source", name]).collect::<Vec<_>>(), &["from 1 to 64"]);
        key_for(&sandbox, "most", &names[..64]);
        key_for(&sandbox, "some", &["tickets", "a third"]);
        let service = Service::start(&sandbox);
        let create =
            |body: Value| service.request("POST", "/api/v1/api-keys").body(&body).send(service.address);
        for (roles, sources) in [
            (json!(["pusher"]), json!([])),
            (json!(["pusher"]), json!("tickets")),
            (json!(["pusher"]), json!([7])),
            (json!(["pusher"]), json!(["a", "a"])),
            (json!(["pusher"]), json!(names)),
            (json!(["pusher", "operator"]), json!(["tickets"])),
            (json!(["operator"]), json!(["tickets"])),
        ] {
            create(json!({"name": "wrong", "roles": roles, "sources": sources})).refuses(400, "wrong_use");
        }
        create(json!({"name": "of all", "roles": ["pusher"], "sources": null})).refuses(400, "wrong_use");
        let made = create(json!({"name": "of-all", "roles": ["pusher"], "sources": null})).is(200).json();
        assert_eq!(made["sources"], json!(null));
        let listed = service.answer("GET", "/api/v1/api-keys")["api_keys"].clone();
        let of = |name: &str| {
            let mut keys = listed.as_array().unwrap().iter();
            keys.find(|key| key["name"] == name).unwrap()["sources"].clone()
        };
        assert_eq!([of("most"), of("some")], [json!(names[..64]), json!(["tickets", "a third"])]);
        assert_eq!([of("of-all"), of("test")], [json!(null), json!(null)]);
        let shown = sandbox.run(&["api-key", "list"]).exits(0).out;
        assert!(shown.contains("SOURCES") && shown.contains("tickets, a third"), "{shown}");
    }
}
