//! Jobs that are made and changed while a service works.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use super::client::asked;
use super::runs::{at_rest, hold_amid_run};
use super::{Service, key};
use crate::sandbox::{Kept, Sandbox};
use crate::stops::upgrade::comes;

fn socket(sandbox: &Sandbox) -> String {
    format!("unix:{}", sandbox.data().join("ingather.sock").display())
}

fn found(service: &Service<'_>, query: &str) -> Value {
    service.answer("GET", &format!("/api/v1/search?query={query}&limit=5&all=true"))["summary"]["total"]
        .clone()
}

#[test]
fn a_sync_that_asks_a_service_makes_runs_and_changes_a_job_as_one_that_writes_itself() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        sandbox.write("drafts/b.txt", "apple");
        let service = Service::start(&sandbox);
        let server = socket(&sandbox);
        let sync =
            |flags: &[&str]| asked(&sandbox, &server, None, &[&["sync", "root", "--json"], flags].concat());
        let first = sync(&[]).exits(0).json();
        assert_eq!(
            (&first[0]["job"], &first[0]["run"], &first[0]["added"]),
            (&json!("root"), &json!(1), &json!(2))
        );
        assert_eq!(found(&service, "apple"), 2);
        sandbox.write("c.txt", "apple");
        assert_eq!(sync(&["--minimal"]).exits(0).json()[0]["added"], 1);
        sync(&["--exclude", "drafts"]).refuses(2, &["exclude: none → drafts", "--update"]);
        let changed = sync(&["--exclude", "drafts", "--update"]).exits(0);
        assert!(changed.err.contains("job root changes: exclude: none → drafts"), "{changed:?}");
        assert_eq!((&changed.json()[0]["deleted"], found(&service, "apple")), (&json!(1), json!(2)));
        sync(&["--dry-run"]).refuses(2, &["apply --dry-run"]);
        asked(&sandbox, &server, None, &["sync", "nowhere"]).refuses(2, &["nowhere"]);
        // What somebody is needed for is told by the exit code, as ever.
        (0..30).for_each(|n| sandbox.write(&format!("many/{n}.txt"), "pear"));
        sync(&[]).exits(0);
        std::fs::remove_dir_all(sandbox.root().join("many")).unwrap();
        let held = sync(&[]).exits(1);
        assert_eq!(held.json()[0]["held"], 30, "{held:?}");
        assert_eq!(sync(&["--delete-guard", "off"]).exits(0).json()[0]["deleted"], 30);
    }
}

#[test]
fn a_job_is_defined_without_a_run_and_changed_only_when_that_is_said_and_nothing_works_on_it() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let service = Service::start(&sandbox);
    let server = socket(&sandbox);
    let define =
        |flags: &[&str]| asked(&sandbox, &server, None, &[&["job", "define", "root"], flags].concat());
    let made = define(&[]).exits(0);
    let start = format!("ingather job start root --server {server}");
    assert_eq!(made.out, format!("job root is made; `{start}` runs it, or its schedule does\n"));
    let shown = service.answer("GET", "/api/v1/jobs/root");
    assert_eq!((&shown["documents"], &shown["run"]), (&json!(0), &json!(null)));
    assert_eq!(define(&[]).exits(0).out, "job root is as it was\n");
    define(&["--keep", "extracted"]).refuses(2, &["keep: nothing → extracted", "--update"]);
    let changed = define(&["--keep", "extracted", "--update", "--json"]).exits(0).json();
    assert_eq!(
        changed,
        [json!({"job": "root", "made": false, "changes": ["keep: nothing → extracted"], "revision": 2})]
    );
    // A job that is paused can be changed, and runs no more than before.
    service.ask("POST", "/api/v1/jobs/root/pause").is(200);
    define(&["--keep", "nothing", "--update"]).exits(0);
    assert_eq!(service.answer("GET", "/api/v1/jobs/root")["run"], json!(null));
    // A schedule that is due begins the run.
    service.ask("POST", "/api/v1/jobs/root/resume").is(200);
    define(&["--schedule", "every 1m", "--update"]).exits(0);
    assert!(comes(|| found(&service, "apple") == 1), "the schedule never began a run");
}

/// A lock of the database that no run gets past.
fn hold(sandbox: &Sandbox) -> postgres::Client {
    let mut holder = postgres::Client::connect(sandbox.url().unwrap(), postgres::NoTls).unwrap();
    holder.batch_execute("BEGIN; LOCK TABLE public.document IN SHARE MODE").unwrap();
    holder
}

#[test]
fn what_a_run_goes_by_is_not_changed_under_it_but_its_schedule_may() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    sandbox.write("b.txt", "apple");
    let service = Service::start(&sandbox);
    let mut held = hold(&sandbox);
    service.ask("POST", "/api/v1/jobs/root/start").is(200);
    assert!(comes(|| service.answer("GET", "/api/v1/jobs/root")["run"]["run"] == 2));
    let root = sandbox.root().display().to_string();
    let define = |fields: Value| {
        let mut body = json!({"root": root, "update": true});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        // Over the network it is somebody else who asks, and the job is there already.
        service.request("POST", "/api/v1/jobs").body(&body).send(service.address)
    };
    define(json!({"keep": "extracted"})).refuses(409, "running");
    let changed = define(json!({"schedule": "0 2 * * *"})).is(200).json();
    assert_eq!(changed["revision"], 2, "{changed}");
    held.batch_execute("ROLLBACK").unwrap();
    at_rest(&service, "root");
    define(json!({"keep": "extracted"})).is(200);
    let shown = service.answer("GET", "/api/v1/jobs/root");
    assert_eq!((&shown["keep"], shown["schedule"].is_object()), (&json!("extracted"), true));
}

#[test]
fn a_job_is_made_while_another_one_sends_to_the_same_output() {
    let sandbox = Sandbox::new(Kept::Postgres);
    sandbox.write("a.txt", "apple");
    sandbox.write("second/b.txt", "apple");
    sandbox.synced(&["--exclude", "second"]);
    sandbox.write("c.txt", "apple");
    let service = Service::start(&sandbox);
    // Its run has the index open, and lets nobody else write to it.
    let mut held = hold_amid_run(&sandbox, &service, 2);
    let define =
        |flags: &[&str]| asked(&sandbox, &socket(&sandbox), None, &[&["job", "define"], flags].concat());
    define(&["root/second"]).exits(0);
    assert_eq!(service.answer("GET", "/api/v1/jobs/root")["works"], true);
    held.batch_execute("ROLLBACK").unwrap();
    at_rest(&service, "root");
    service.ask("POST", "/api/v1/jobs/second/start").is(200);
    at_rest(&service, "second");
    assert_eq!(found(&service, "apple"), 3);
}

#[test]
fn of_two_who_change_one_job_at_once_nobody_overwrites_what_they_have_not_seen() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = Sandbox::new(kept);
        sandbox.write("a.txt", "apple");
        sandbox.synced(&[]);
        let service = Service::start(&sandbox);
        let root = sandbox.root().display().to_string();
        let (rounds, people) = (15, 4);
        let done = std::sync::Mutex::new(0_i64);
        std::thread::scope(|scope| {
            for person in 0..people {
                let (service, root, done) = (&service, &root, &done);
                scope.spawn(move || {
                    for round in 0..rounds {
                        // Each adds what is theirs to what is stored, as they have seen it, by asking for one setting alone.
                        let field = ["exclude", "include", "size_max", "skip_hidden"][person];
                        let value = [
                            json!([format!("x{round}")]),
                            json!(["*", format!("y{round}")]),
                            json!(1_000 + round),
                            json!(round % 2 == 0),
                        ][person]
                            .clone();
                        let body = json!({"root": root, "update": true, "source": {field: value}});
                        loop {
                            let reply =
                                service.request("POST", "/api/v1/jobs").body(&body).send(service.address);
                            match reply.status {
                                200 => break,
                                409 | 412 | 503 => {}
                                _ => panic!("{reply:#?}"),
                            }
                        }
                        *done.lock().unwrap() += 1;
                    }
                });
            }
        });
        let source = service.answer("GET", "/api/v1/jobs/root")["definition"]["source"].clone();
        let last = [json!(["x14"]), json!(["*", "y14"]), json!(1_014), json!(true)];
        for (field, last) in ["exclude", "include", "size_max", "skip_hidden"].iter().zip(last) {
            assert_eq!(
                source[field], last,
                "what one person has set was overwritten by another one: {source}"
            );
        }
        assert_eq!(*done.lock().unwrap(), rounds * people as i64);
    }
}

#[test]
fn an_api_key_names_no_place_outside_the_roots_of_the_service() {
    let sandbox = Sandbox::sqlite();
    for folder in ["open", "closed"] {
        std::fs::create_dir_all(sandbox.path().join(folder).join("in")).unwrap();
        std::fs::write(sandbox.path().join(folder).join("in/a.txt"), "apple").unwrap();
    }
    symlink(sandbox.path().join("closed"), sandbox.path().join("open/way")).unwrap();
    let place = |path: &str| std::fs::canonicalize(sandbox.path()).unwrap().join(path).display().to_string();
    let admin = key(&sandbox, "admin", &["admin"], None);
    let define = |service: &Service<'_>, body: Value| {
        service.request("POST", "/api/v1/jobs").body(&body).send(service.address)
    };
    {
        let service = Service::with(&sandbox, admin.clone(), &[]);
        define(&service, json!({"root": place("open/in")})).refuses(403, "outside_roots");
    }
    let mut service = Service::with(&sandbox, admin, &["--root", &place("open")]);
    // Nobody is told what there is elsewhere.
    for path in [
        "closed/none",
        "closed/in/a.txt",
        "open/../closed/none",
        "open/way/none",
        "/proc/self/exe",
        "/srv/none",
    ] {
        define(&service, json!({"root": place(path)})).refuses(403, "outside_roots");
    }
    define(&service, json!({"root": place("closed/in")})).refuses(403, "outside_roots");
    define(&service, json!({"root": place("open/../closed/in")})).refuses(403, "outside_roots");
    define(&service, json!({"root": place("open/way/in")})).refuses(403, "outside_roots");
    let journal =
        |file: &str| json!({"root": place("open/in"), "outputs": [format!("journal:{}", place(file))]});
    for file in ["closed/j.jsonl", "open/way/j.jsonl", "open/../closed/j.jsonl"] {
        define(&service, journal(file)).refuses(403, "outside_roots");
    }
    symlink(sandbox.path().join("closed/j.jsonl"), sandbox.path().join("open/link.jsonl")).unwrap();
    define(&service, journal("open/link.jsonl")).refuses(400, "wrong_use");
    let other = json!({"root": place("open/in"), "source": {"root": place("closed/in")}});
    define(&service, other).refuses(400, "definition");
    let declared = json!({"declaration": {"version": 1, "jobs": [{"name": "in", "source": {"root": place("closed/in")}}]}});
    service
        .request("POST", "/api/v1/declaration")
        .body(&declared)
        .send(service.address)
        .refuses(403, "outside_roots");
    assert_eq!(service.answer("GET", "/api/v1/jobs")["jobs"], json!([]));
    assert!(!sandbox.path().join("closed/j.jsonl").exists());
    define(&service, journal("open/j.jsonl")).is(200);
    let moved = json!({"root": place("open/in"), "name": "in", "update": true, "source": {"root": place("closed/in")}});
    define(&service, moved).refuses(400, "definition");
    let own =
        json!({"root": place("open/in"), "name": "in", "update": true, "source": {"root": place("open/in")}});
    define(&service, own).is(200);
    // What becomes a link later leads nowhere, either.
    std::fs::rename(sandbox.path().join("open/j.jsonl"), sandbox.path().join("open/old.jsonl"))
        .unwrap_or_default();
    symlink(sandbox.path().join("closed/j.jsonl"), sandbox.path().join("open/j.jsonl")).unwrap();
    service.ask("POST", "/api/v1/jobs/in/start").is(200);
    let told = service.tells("run of job in: ");
    assert!(told.contains("open/j.jsonl` is a link"), "{told}");
    let shown = at_rest(&service, "in");
    assert_eq!((shown.get("run"), shown.get("restart")), (Some(&Value::Null), None), "it is not tried again");
    assert!(!sandbox.path().join("closed/j.jsonl").exists());
    // The owner of the data directory could write there anyway.
    let by_owner =
        asked(&sandbox, &socket(&sandbox), None, &["job", "define", "closed/in", "--name", "owner"]);
    by_owner.exits(0);
}

/// It were two jobs over the same files else, and a key would learn what there is elsewhere.
#[test]
fn a_source_has_one_name_and_a_key_asks_for_documents_by_names_alone() {
    let sandbox = Sandbox::sqlite();
    for folder in ["open", "closed"] {
        std::fs::create_dir_all(sandbox.path().join(folder).join("in")).unwrap();
        std::fs::write(sandbox.path().join(folder).join("in/a.txt"), "apple").unwrap();
    }
    let place = |path: &str| std::fs::canonicalize(sandbox.path()).unwrap().join(path).display().to_string();
    let admin = key(&sandbox, "admin", &["admin"], None);
    let service = Service::with(&sandbox, admin, &["--root", &place("open")]);
    let define = |path: &str| {
        let body = json!({ "root": place(path) });
        service.request("POST", "/api/v1/jobs").body(&body).send(service.address)
    };
    for path in ["open/in/", "open/in//", "open/in/."] {
        let refused = define(path).refuses(400, "wrong_use");
        assert!(refused.body.contains("; name the source so"), "{path}: {refused:#?}");
    }
    define("open/in").is(200);
    // What is at a path is told to the owner of the data directory, and to no key.
    let elsewhere = place("closed/in/a.txt");
    let explained =
        service.answer("GET", &format!("/api/v1/jobs/in/documents/none/explain?path={elsewhere}"));
    assert_eq!(explained["file"], Value::Null, "{explained:#}");
    let arguments = ["document", "explain", "in", &elsewhere, "--json"];
    let explained = &asked(&sandbox, &socket(&sandbox), None, &arguments).json()[0];
    assert!(explained["file"].is_string(), "{explained:#}");
}

/// What is under way goes by a new throttle at once: a run that may read nothing says so, and goes on when it may.
#[test]
fn a_throttle_counts_for_a_run_under_way_and_the_job_says_that_it_waits_for_it() {
    let sandbox = Sandbox::sqlite();
    (0..20).for_each(|n| sandbox.write(&format!("{n}.txt"), "apple"));
    let root = sandbox.root().display().to_string();
    let job = format!("version: 1\njobs: [{{name: texts, source: {{root: {root}}}}}]\n");
    std::fs::write(sandbox.path().join("job.yaml"), job).unwrap();
    sandbox.run(&["apply", "-f", "job.yaml"]).exits(0);
    let service = Service::start(&sandbox);
    let declare = |throttle: Value| {
        let files = json!({"kind": "filesystem", "settings": {"throttle": throttle}});
        let declaration = json!({"version": 1, "repositories": {"files": files}});
        let body = json!({ "declaration": declaration });
        service.request("POST", "/api/v1/declaration").body(&body).send(service.address).is(200);
    };
    declare(json!([{"fetches_per_minute": 0}]));
    service.ask("POST", "/api/v1/jobs/texts/start").is(200);
    let hold = || service.answer("GET", "/api/v1/jobs/texts")["hold"].clone();
    let waits =
        "it waits for its throttle until other documents are read, or the rules of its connection change";
    assert!(comes(|| hold() == waits), "{}", hold());
    declare(json!([{"fetches_per_minute": 1}]));
    assert!(
        comes(|| hold().as_str().is_some_and(|hold| hold.starts_with("it waits for its throttle until 2"))),
        "{}",
        hold()
    );
    assert_eq!(found(&service, "apple"), 0);
    declare(json!([]));
    at_rest(&service, "texts");
    assert_eq!(found(&service, "apple"), 20);
}

#[test]
fn an_api_key_names_nothing_of_the_machine_in_a_stage() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    let root = std::fs::canonicalize(sandbox.root()).unwrap().display().to_string();
    let admin = key(&sandbox, "admin", &["admin"], None);
    let service = Service::with(&sandbox, admin, &["--root", &root]);
    for (transform, settings) in [
        ("tika", json!({"url": "http://127.0.0.1:1"})),
        ("tika", json!({"private_network": true})),
        ("text", json!({"password_file": "/etc/shadow"})),
        ("text", json!({"password_variable": "PATH"})),
        ("ocr", json!({"program": "/usr/bin/env"})),
    ] {
        let stages = json!([{"transform": transform, "settings": settings}]);
        let body = json!({"root": root, "stages": stages});
        let define = service.request("POST", "/api/v1/jobs").body(&body);
        define.send(service.address).refuses(403, "outside_roots");
        let job = json!({"name": "docs", "source": {"root": root}, "stages": stages});
        let declared = json!({"declaration": {"version": 1, "jobs": [job]}});
        let apply = service.request("POST", "/api/v1/declaration").body(&declared);
        apply.send(service.address).refuses(403, "outside_roots");
    }
    assert_eq!(service.answer("GET", "/api/v1/jobs")["jobs"], json!([]));
    // Its owner may, and then it stays when a key changes something else.
    let passwords = sandbox.path().join("passwords");
    std::fs::write(&passwords, "secret").unwrap();
    std::fs::set_permissions(&passwords, std::fs::Permissions::from_mode(0o600)).unwrap();
    let stage = json!({"transform": "text", "settings": {"password_file": passwords.display().to_string()}});
    let job = json!({"name": "docs", "source": {"root": root}, "stages": [stage]});
    let declared = json!({"version": 1, "jobs": [job]}).to_string();
    std::fs::write(sandbox.path().join("jobs.json"), declared).unwrap();
    asked(&sandbox, &socket(&sandbox), None, &["apply", "-f", "jobs.json"]).exits(0);
    let body =
        json!({"root": root, "name": "docs", "update": true, "compare_content": true, "stages": [stage]});
    service.request("POST", "/api/v1/jobs").body(&body).send(service.address).is(200);
}
