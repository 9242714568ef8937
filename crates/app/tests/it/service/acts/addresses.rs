//! Addresses of jobs that were moved: never those of two files in one output.

use ingather_store::{Durability, Store, Target, jobs};
use serde_json::{Value, json};

use super::super::Service;
use crate::people::ordinary;
use crate::sandbox::{Answer, Kept, Sandbox, finish};

const FILES: usize = 10;

/// Ten files in the root, and ten in a folder of it that is a job of its own.
fn nested(kept: Kept) -> Sandbox {
    let sandbox = Sandbox::new(kept);
    for n in 0..FILES {
        sandbox.write(&format!("a{n}.txt"), &format!("apple {n}"));
        sandbox.write(&format!("in/b{n}.txt"), &format!("banana {n}"));
    }
    sync(&sandbox, "outer", "root", &[]).exits(0);
    sync(&sandbox, "inner", "root/in", &[]).exits(0);
    sandbox
}

fn sync(sandbox: &Sandbox, job: &str, root: &str, more: &[&str]) -> Answer {
    sandbox.run(&[&["sync", root, "--name", job, "-q"], more].concat())
}

/// Where all that is found lies, in order.
fn places(sandbox: &Sandbox, query: &str) -> Vec<String> {
    let hits = sandbox.run(&["search", query, "--all", "--limit", "100", "--json"]).exits(0).json();
    let begins = format!("file://{}/", sandbox.path().display());
    let mut places: Vec<String> = hits
        .iter()
        .map(|hit| hit["uri"].as_str().unwrap().strip_prefix(&begins).unwrap().to_owned())
        .collect();
    places.sort();
    places
}

#[test]
fn a_job_in_another_one_moves_away_only_where_the_other_leaves_its_old_place_out() {
    let sandbox = nested(Kept::Sqlite);
    let (old, new) = (sandbox.root().join("in"), sandbox.path().join("new"));
    std::fs::rename(&old, &new).unwrap();
    let moved = || sandbox.run(&["job", "move", "inner", "new", "-q"]);
    moved().refuses(2, &["job outer", "job inner (moved to", "same addresses", "--exclude '/in'"]);

    sync(&sandbox, "outer", "root", &["--exclude", "/in", "--update", "--delete-guard", "off"]).exits(0);
    moved().exits(0);
    sync(&sandbox, "inner", "new", &[]).exits(0);
    std::fs::create_dir(&old).unwrap();
    std::fs::write(old.join("later.txt"), "cherry at the old place").unwrap();
    std::fs::write(new.join("later.txt"), "cherry where it is now").unwrap();
    for (job, root) in [("inner", "new"), ("outer", "root")] {
        sync(&sandbox, job, root, &[]).exits(0);
    }
    assert_eq!(places(&sandbox, "cherry"), ["new/later.txt"]);
    // Nor does it come back later, by whichever door.
    let mut declared: Value = serde_json::from_str(&sandbox.run(&["export", "--json"]).exits(0).out).unwrap();
    let file = sandbox.path().join("jobs.json");
    let apply = |declared: &Value| {
        std::fs::write(&file, declared.to_string()).unwrap();
        sandbox.run(&["apply", "-f", file.to_str().unwrap()])
    };
    let jobs = declared["jobs"].as_array_mut().unwrap();
    let outer = jobs.iter_mut().find(|job| job["name"] == "outer").unwrap();
    outer["source"].as_object_mut().unwrap().remove("exclude").unwrap();
    apply(&declared).refuses(2, &["job outer", "job inner (moved to", "same addresses"]);
    sync(&sandbox, "third", "root/in", &[]).refuses(2, &["job third", "job inner (moved to"]);
    let elsewhere = sandbox.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    // Neither a place of another job, nor, under a second name, what was moved.
    for (root, addresses) in [(&elsewhere, &sandbox.root()), (&new, &old)] {
        let source = json!({"root": root, "addresses": addresses});
        let claims = json!({"version": 1, "jobs": [{"name": "third", "source": source}]});
        apply(&claims).refuses(2, &["job third", "job inner (moved to", "leave `addresses` out"]);
    }
    // What goes to another output has no address in common with them.
    let to = format!("journal:{}", sandbox.path().join("changes.jsonl").display());
    sync(&sandbox, "third", "root/in", &["--to", &to]).exits(0);
    sync(&sandbox, "third", "root/in", &["--to", &to, "--to", "index", "--update"])
        .refuses(2, &["job inner"]);
    sandbox.run(&["verify"]).exits(0);
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn jobs_in_a_folder_that_moves_go_with_it() {
    for kept in [Kept::Sqlite, Kept::Postgres] {
        let sandbox = nested(kept);
        let new = sandbox.path().join("new");
        std::fs::rename(sandbox.root(), &new).unwrap();
        // By itself it would take addresses of the other one, which is where it was yet.
        sandbox.run(&["job", "move", "inner", "new/in", "-q"]).refuses(2, &["`ingather job move outer`"]);
        let moved = |more: &[&str]| {
            sandbox.run(&[&["job", "move", "outer", "new", "--json"], more].concat()).exits(0).json()
        };
        for dry_run in [true, false] {
            let told = moved(if dry_run { &["--dry-run"] } else { &[] }).remove(0);
            assert_eq!((&told["along"], &told["dry_run"]), (&json!(["inner"]), &json!(dry_run)));
        }
        let root = sandbox.run(&["job", "show", "inner", "--json"]).exits(0).json()[0]["root"].clone();
        assert_eq!(root, new.join("in").to_str().unwrap());
        std::fs::write(new.join("in/later.txt"), "cherry").unwrap();
        for (job, root) in [("inner", "new/in"), ("outer", "new"), ("inner", "new/in")] {
            sync(&sandbox, job, root, &[]).exits(0);
        }
        assert_eq!(places(&sandbox, "*").len(), 2 * FILES + 1);
        assert_eq!(places(&sandbox, "cherry"), ["new/in/later.txt"]);
        sandbox.run(&["verify"]).exits(0);
        sandbox.run(&["doctor"]).exits(0);
    }
}

#[test]
fn a_folder_moves_without_a_job_in_it_that_stays_where_it_leaves_that_out() {
    let sandbox = nested(Kept::Sqlite);
    let new = sandbox.path().join("new");
    // Not file by file: what was renamed a moment ago has no version that counts.
    std::fs::rename(sandbox.root(), &new).unwrap();
    std::fs::create_dir(sandbox.root()).unwrap();
    std::fs::rename(new.join("in"), sandbox.root().join("in")).unwrap();
    let moved = || sandbox.run(&["job", "move", "outer", "new", "-q", "--anyway", "10"]);
    moved().refuses(2, &["job inner lies in", "would be moved with it", "--exclude"]);
    let leaves_out = ["job", "define", "root", "--name", "outer", "--exclude", "/in", "--update", "-q"];
    sandbox.run(&leaves_out).exits(0);
    moved().exits(0);
    sync(&sandbox, "outer", "new", &["--delete-guard", "off"]).exits(0);
    sync(&sandbox, "inner", "root/in", &[]).exits(0);
    assert_eq!(places(&sandbox, "banana").len(), FILES);
    assert!(places(&sandbox, "apple").iter().all(|place| place.starts_with("new/a")));
    sandbox.run(&["verify"]).exits(0);
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn what_moves_with_a_folder_is_shown_to_nobody_until_its_own_run() {
    ingather_testkit::needs!(Users);
    let sandbox = nested(Kept::Sqlite);
    let found = || {
        let asked = ["search", "banana", "--as", ordinary(), "--limit", "100", "--json"];
        sandbox.run(&asked).exits(0).json().len()
    };
    assert_eq!(found(), FILES);
    std::fs::rename(sandbox.root(), sandbox.path().join("new")).unwrap();
    sandbox.run(&["job", "move", "outer", "new", "-q"]).exits(0);
    assert_eq!(found(), 0, "nobody has looked at who may see it there");
    sync(&sandbox, "inner", "new/in", &[]).exits(0);
    sync(&sandbox, "outer", "new", &[]).exits(0);
    assert_eq!(found(), FILES);
}

#[test]
fn definitions_of_an_earlier_version_that_share_addresses_are_told() {
    let sandbox = nested(Kept::Sqlite);
    let leaves_out = ["job", "define", "root", "--name", "outer", "--exclude", "/in", "--update", "-q"];
    sandbox.run(&leaves_out).exits(0);
    std::fs::rename(sandbox.root().join("in"), sandbox.path().join("new")).unwrap();
    sandbox.run(&["job", "move", "inner", "new", "-q"]).exits(0);
    let store = Store::open(&Target::Sqlite(sandbox.data().join("store.db"))).unwrap();
    let outer = store.reader().read(|sql| jobs::by_name(sql, "outer")).unwrap().unwrap();
    let mut definition = outer.definition.clone();
    definition.source.as_object_mut().unwrap().remove("exclude");
    store.write(Durability::Synced, |sql| jobs::define(sql, &outer, &definition, 0)).unwrap();
    drop(store);
    let told = sandbox.run(&["doctor", "--json"]).exits(1);
    let told: Vec<Value> = told.json().into_iter().filter(|look| look["check"] == "addresses").collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].to_string().contains("--exclude '/in'"), "{told:?}");
}

#[test]
fn what_was_moved_is_found_and_named_by_where_it_is() {
    let sandbox = nested(Kept::Sqlite);
    let (old, new) = (sandbox.root(), sandbox.path().join("new"));
    std::fs::rename(&old, &new).unwrap();
    sandbox.run(&["job", "move", "outer", "new", "-q"]).exits(0);
    for (job, root) in [("outer", "new"), ("inner", "new/in")] {
        sync(&sandbox, job, root, &[]).exits(0);
    }
    for place in [&new, &old] {
        let at = |name: &str| format!("{}/{name}", place.display());
        assert_eq!(places(&sandbox, &format!("path:{}", at("in"))).len(), FILES);
        assert_eq!(places(&sandbox, &format!("path:{}", at("in/b1.txt"))), ["new/in/b1.txt"]);
        assert_eq!(places(&sandbox, &format!("uri:file://{}", at("a1.txt"))), ["new/a1.txt"]);
        assert_eq!(places(&sandbox, &format!("uri:file://{}", at("a*"))).len(), FILES);
        assert_eq!(places(&sandbox, &format!("apple -path:{}", place.display())), [""; 0]);
        let told = sandbox.run(&["document", "explain", "inner", &at("in/b1.txt"), "--json"]).exits(0).json();
        assert_eq!(told[0]["uri"], format!("file://{}/in/b1.txt", new.display()));
        assert_eq!(told[0]["address"], format!("file://{}/in/b1.txt", old.display()));
        assert_eq!(told[0]["also_in"], json!(["outer"]));
    }
    let told = sandbox.run(&["document", "explain", "outer", "a1.txt"]).exits(0).out;
    assert!(told.contains(&format!("file://{}/a1.txt (so outputs know it", old.display())), "{told}");
}

#[test]
fn a_new_root_is_named_from_the_folder_of_whoever_asks() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "apple");
    sandbox.synced(&[]);
    let home = sandbox.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let new = home.join("new");
    std::fs::rename(sandbox.root(), &new).unwrap();
    let service = Service::start(&sandbox);
    let moved = |root: &str| {
        let socket = format!("unix:{}", sandbox.data().join("ingather.sock").display());
        let mut command = sandbox.plain(&["job", "move", "root", root, "--server", &socket]);
        command.current_dir(&home);
        finish(command, None)
    };
    moved("missing").refuses(2, &[home.join("missing").to_str().unwrap()]);
    let told = moved("./new").exits(0);
    assert!(told.out.contains(&format!("at {} as they were", new.display())), "{told:?}");
    assert_eq!(service.answer("GET", "/api/v1/jobs/root")["root"], new.to_str().unwrap());
    let asked = service.request("POST", "/api/v1/jobs/root/move").body(&json!({"root": "new"}));
    asked.send(service.address).refuses(400, "wrong_use");
}

#[test]
fn what_a_renamed_root_needs_is_named_wherever_it_is_missed() {
    let sandbox = nested(Kept::Sqlite);
    let new = sandbox.path().join("new");
    std::fs::rename(sandbox.root(), &new).unwrap();
    let moves = format!("`ingather job move outer {}`", new.display());
    let doctor = sandbox.run(&["doctor"]).exits(1).out;
    assert!(doctor.contains("`ingather job move outer NEW-ROOT`"), "{doctor}");
    let missed = sandbox.run(&["sync", "root", "--name", "outer"]).exits(1).err;
    assert!(missed.contains("`ingather job move outer NEW-ROOT`"), "{missed}");
    sync(&sandbox, "outer", "new", &[]).refuses(2, &[&moves]);
    let declared = json!({"version": 1, "jobs": [{"name": "outer", "source": {"root": new}}]});
    let file = sandbox.path().join("jobs.json");
    std::fs::write(&file, declared.to_string()).unwrap();
    sandbox.run(&["apply", "-f", file.to_str().unwrap()]).refuses(2, &[&moves]);
}
