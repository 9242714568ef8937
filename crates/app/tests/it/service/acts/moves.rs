//! A job whose source is elsewhere now: nothing is read or sent again, and nothing is shown by who could see it before.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::super::{Service, key};
use crate::people::ordinary;
use crate::sandbox::{Answer, Kept, Sandbox};

const FILES: usize = 30;

fn tree(kept: Kept) -> Sandbox {
    let sandbox = Sandbox::new(kept);
    for n in 0..FILES {
        sandbox.write(&format!("d{}/f{n}.txt", n % 3), &format!("apple {n}"));
    }
    sandbox
}

fn moved(sandbox: &Sandbox, more: &[&str]) -> Answer {
    sandbox.run(&[&["job", "move", "root", "new", "--json"], more].concat())
}

fn seen(value: &Value, names: &[&str]) -> Vec<u64> {
    names.iter().map(|name| value[*name].as_u64().unwrap()).collect()
}

#[test]
fn a_renamed_root_is_neither_read_nor_sent_again() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = tree(kept);
        let journal = sandbox.path().join("changes.jsonl");
        let to = format!("journal:{}", journal.display());
        sandbox.synced(&["--to", "index", "--to", &to, "--history", "documents"]);
        let (old, new) = (sandbox.root(), sandbox.path().join("new"));
        std::fs::rename(&old, &new).unwrap();

        let would = &moved(&sandbox, &["--dry-run"]).exits(0).json()[0];
        assert_eq!(seen(would, &["documents", "same", "other", "missing", "new"]), [30, 30, 0, 0, 0]);
        assert_eq!((&would["alike"], &would["dry_run"]), (&json!(true), &json!(true)));
        let shown = || sandbox.run(&["job", "show", "root", "--json"]).exits(0).json()[0]["root"].clone();
        assert_eq!(shown(), old.to_str().unwrap());
        moved(&sandbox, &[]).exits(0);
        assert_eq!(shown(), new.to_str().unwrap());

        let puts = || std::fs::read_to_string(&journal).unwrap().matches("\"op\":\"put\"").count();
        let answer = sandbox.run(&["sync", "new", "--json"]).exits(0);
        let told = &answer.json()[0];
        assert_eq!((&told["job"], &told["run"], puts()), (&json!("root"), &json!(2), FILES));
        assert_eq!(seen(told, &["added", "updated", "deleted", "kept", "failed"]), [0; 5], "{told}");
        let bytes = sandbox.run(&["history", "root", "--documents", "--json"]).out;
        let read = bytes.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let second = read.filter(|line| line["run"] == 2 && line["bytes"].as_u64() > Some(0)).count();
        assert_eq!(second, 0, "something was read again: {bytes}");

        let hits = sandbox.run(&["search", "apple", "--all", "--limit", "100", "--json"]).exits(0).json();
        let begins = format!("file://{}/", new.display());
        assert_eq!(hits.len(), FILES);
        assert!(hits.iter().all(|hit| hit["uri"].as_str().unwrap().starts_with(&begins)), "{:?}", hits[0]);
        // What comes later is known by addresses of the same kind, and goes by them.
        std::fs::write(new.join("later.txt"), "banana").unwrap();
        std::fs::remove_file(new.join("d0/f0.txt")).unwrap();
        let told = &sandbox.run(&["sync", "new", "--json"]).exits(0).json()[0];
        assert_eq!(seen(told, &["added", "deleted", "unchanged"]), [1, 1, 29]);
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["doctor"]).exits(0);
        for name in [new.join("later.txt"), old.join("later.txt")] {
            let why = sandbox.run(&["document", "explain", "root", name.to_str().unwrap(), "--json"]);
            assert_eq!(why.exits(0).json()[0]["code"], "current");
        }
        // What another job knows by where it is is one document all the same.
        sandbox.run(&["sync", new.join("d1").to_str().unwrap(), "--name", "one"]).exits(0);
        let file = new.join("d1/f1.txt");
        let erased = &super::erase::erase(&sandbox, &[file.to_str().unwrap()]).exits(0).json()[0];
        assert_eq!(erased["documents"].as_array().unwrap().len(), 2, "{erased}");
        sandbox.run(&["job", "delete", "one", "-q"]).exits(0);
        // Its former place is nobody else's yet, and a declaration changes nothing of that.
        std::fs::create_dir(&old).unwrap();
        std::fs::write(old.join("later.txt"), "other").unwrap();
        sandbox.run(&["sync", "root", "--name", "another"]).refuses(2, &["moved to", "job root"]);
        let mut declared =
            serde_json::from_str::<Value>(&sandbox.run(&["export", "--json"]).exits(0).out).unwrap();
        let file = sandbox.path().join("jobs.json");
        let mut applied = |addresses: Value| {
            declared["jobs"][0]["source"]["addresses"] = addresses;
            std::fs::write(&file, declared.to_string()).unwrap();
            sandbox.run(&["apply", "-f", file.to_str().unwrap()])
        };
        assert_eq!(applied(Value::Null).exits(0).out, "job root: as it is\n");
        applied("/elsewhere".into()).refuses(2, &["job move"]);
        std::fs::remove_dir_all(&old).unwrap();
        std::fs::rename(&new, &old).unwrap();
        sandbox.run(&["job", "move", "root", "root"]).exits(0);
        sandbox.synced(&[]);
        assert_eq!(sandbox.find("banana"), ["later.txt"]);
    }
}

#[test]
fn what_does_not_look_like_the_source_is_refused_unless_its_number_is_named() {
    let sandbox = tree(Kept::Sqlite);
    sandbox.synced(&[]);
    let new = sandbox.path().join("new");
    // Not file by file: what was renamed a moment ago has no version that counts.
    std::fs::rename(sandbox.root(), &new).unwrap();
    std::fs::create_dir(sandbox.root()).unwrap();
    for folder in ["d1", "d2"] {
        std::fs::rename(new.join(folder), sandbox.root().join(folder)).unwrap();
    }
    moved(&sandbox, &[]).refuses(2, &["does not look like", "10 of 30", "--anyway 10"]);
    moved(&sandbox, &["--anyway", "11"]).refuses(2, &["and not 11"]);
    let would = &moved(&sandbox, &["--dry-run"]).exits(0).json()[0];
    assert_eq!((&would["alike"], &would["missing"]), (&json!(false), &json!(20)));
    moved(&sandbox, &["--anyway", "10"]).exits(0);
    sandbox.run(&["sync", "root", "--name", "root"]).refuses(2, &["is for", "/new"]);
    sandbox.run(&["job", "move", "nowhere", "new"]).refuses(2, &["nowhere"]);
    sandbox.run(&["job", "move", "root", "missing"]).refuses(2, &["missing"]);
}

#[test]
fn nothing_is_shown_by_the_access_of_the_old_place() {
    ingather_testkit::needs!(Users);
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = tree(kept);
        sandbox.synced(&[]);
        let found = || {
            let as_ann = ["search", "apple", "--as", ordinary(), "--limit", "100", "--json"];
            sandbox.run(&as_ann).exits(0).json().len()
        };
        assert_eq!(found(), FILES);
        let closed = sandbox.path().join("closed");
        std::fs::create_dir(&closed).unwrap();
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
        std::fs::rename(sandbox.root(), closed.join("new")).unwrap();
        sandbox.run(&["job", "move", "root", "closed/new"]).exits(0);
        assert_eq!(found(), 0, "nobody has looked at who may see it there");
        sandbox.run(&["sync", "closed/new"]).exits(0);
        assert_eq!(found(), 0, "it is in a closed folder");
        std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o755)).unwrap();
        sandbox.run(&["sync", "closed/new"]).exits(0);
        assert_eq!(found(), FILES);
    }
}

#[test]
fn an_api_key_moves_jobs_below_the_roots_of_the_service_alone() {
    let sandbox = tree(Kept::Sqlite);
    sandbox.synced(&[]);
    let new = sandbox.path().join("new");
    std::fs::rename(sandbox.root(), &new).unwrap();
    let key = key(&sandbox, "test", &["admin"], None);
    let to = |root: &std::path::Path| json!({"root": root.to_str().unwrap()});
    let service = Service::with(&sandbox, key.clone(), &[]);
    let ask = |service: &Service<'_>| {
        service.request("POST", "/api/v1/jobs/root/move").body(&to(&new)).send(service.address)
    };
    ask(&service).refuses(403, "outside_roots");
    drop(service);
    let service = Service::with(&sandbox, key, &["--root", sandbox.path().to_str().unwrap()]);
    assert_eq!(ask(&service).is(200).json()["same"], FILES);
    assert_eq!(service.answer("GET", "/api/v1/jobs/root")["root"], new.to_str().unwrap());
}
