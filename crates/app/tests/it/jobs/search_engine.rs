//! The program beside a real OpenSearch: what is in the source is in its index, whatever happens to either, to the network, or to the program.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use ingather_testkit::search_engine::{Heard, InjectedFault, Proxy, SearchEngine};
use serde_json::{Value, json};

use super::outside::{self, counted, tree};
use crate::dice::Dice;
use crate::files;
use crate::sandbox::{Answer, Sandbox};
use crate::stops::kill::killed_after;

const OUTPUT: &str = "opensearch:docs";

/// A sandbox with some files, whose output is declared at an address.
fn declared(engine: &SearchEngine, url: &str, count: usize) -> Sandbox {
    let sandbox = outside::with_files(count);
    declare(&sandbox, engine.settings_by(url)).exits(0);
    sandbox
}

fn declare(sandbox: &Sandbox, settings: Value) -> Answer {
    outside::declare(sandbox, &[(OUTPUT, settings)])
}

fn synced(sandbox: &Sandbox) -> BTreeMap<String, u64> {
    sandbox.synced(&["--to", OUTPUT]).0
}

fn texts(engine: &SearchEngine) -> BTreeMap<String, String> {
    let text = |entry: &Value| entry["body"].as_str().unwrap_or_default().to_owned();
    engine.entries().iter().map(|(id, entry)| (id.clone(), text(entry))).collect()
}

#[track_caller]
fn is_exact(sandbox: &Sandbox, engine: &SearchEngine) {
    assert_eq!(texts(engine), tree(&sandbox.root()));
    let said = sandbox.run(&["verify", OUTPUT, "--json"]).exits(0).json();
    assert_eq!(differences(said.last().unwrap()), [0; 4]);
}

fn differences(summary: &Value) -> [u64; 4] {
    ["missing", "stale", "orphaned", "foreign"].map(|kind| summary[kind].as_u64().unwrap())
}

/// What was asked, in short: the method, and the last part of the path.
fn short(heard: Vec<Heard>) -> Vec<String> {
    let last = |path: &str| path.split('?').next().unwrap().rsplit('/').next().unwrap().to_owned();
    heard.into_iter().map(|one| format!("{} {}", one.method, last(&one.path))).collect()
}

#[test]
fn an_index_follows_its_source_and_a_run_without_changes_asks_for_its_identity_alone() {
    for engine in SearchEngine::each(
        "an_index_follows_its_source_and_a_run_without_changes_asks_for_its_identity_alone",
    ) {
        let proxy = Proxy::before(&engine.url, |_| InjectedFault::None);
        let sandbox = declared(&engine, &proxy.url, 40);
        assert_eq!(synced(&sandbox), counted(&[("added", 40)]));
        is_exact(&sandbox, &engine);
        proxy.heard();
        let identity =
            [format!("GET {}", engine.index), "POST _refresh".to_owned(), "POST _search".to_owned()];
        assert_eq!(synced(&sandbox), counted(&[("unchanged", 40)]));
        assert_eq!(short(proxy.heard()), identity);

        // Who may enter a folder is no matter of the index: its entries name the folder.
        let before = engine.entries();
        let places: std::collections::BTreeSet<String> =
            before.values().map(|entry| entry["container"].to_string()).collect();
        assert_eq!(places.len(), 5);
        files::tool("chmod", &["0700"], &sandbox.root().join("d1"));
        synced(&sandbox);
        assert_eq!(short(proxy.heard()), identity);

        // Whoever may read a file is in its entry: it is changed there without a look at the text.
        let file = sandbox.root().join("d2/f002.txt");
        files::tool("chmod", &["0600"], &file);
        synced(&sandbox);
        let uri = format!("file://{}", file.display());
        let after = engine.entries();
        assert_ne!((&before[&uri]["acl"], &before[&uri]["seq"]), (&after[&uri]["acl"], &after[&uri]["seq"]));
        assert_eq!(before[&uri]["version"], after[&uri]["version"]);
        is_exact(&sandbox, &engine);

        sandbox.write("d3/f003.txt", "another text");
        sandbox.write("d6/new.txt", "a new text");
        std::fs::remove_file(sandbox.root().join("d4/f004.txt")).unwrap();
        files::settle(&sandbox.root());
        assert_eq!(
            synced(&sandbox),
            counted(&[("added", 1), ("updated", 1), ("deleted", 1), ("unchanged", 38)])
        );
        is_exact(&sandbox, &engine);
    }
}

#[test]
fn an_index_that_is_dropped_or_older_or_ahead_of_its_store_is_filled_again() {
    for engine in
        SearchEngine::each("an_index_that_is_dropped_or_older_or_ahead_of_its_store_is_filled_again")
    {
        let sandbox = declared(&engine, &engine.url, 30);
        synced(&sandbox);
        engine.done("DELETE", "/PATH", &Value::Null);
        let found = sandbox.run(&["verify", OUTPUT, "--json"]).exits(1).json();
        assert_eq!(found.last().unwrap()["missing"], 30);
        synced(&sandbox);
        is_exact(&sandbox, &engine);

        // The store of an earlier day does not know what the index holds.
        let (data, kept) = (sandbox.data(), sandbox.path().join("kept"));
        files::tool("cp", &["-a", data.to_str().unwrap()], &kept);
        sandbox.write("later.txt", "what the store of before does not know");
        files::settle(&sandbox.root());
        synced(&sandbox);
        std::fs::remove_file(sandbox.root().join("later.txt")).unwrap();
        std::fs::remove_dir_all(&data).unwrap();
        std::fs::rename(&kept, &data).unwrap();
        synced(&sandbox);
        is_exact(&sandbox, &engine);

        // What a server makes for somebody who writes to a free name is none that is written to.
        engine.done("DELETE", "/PATH", &Value::Null);
        engine.done("PUT", "/PATH/_doc/1", &json!({"title": "of others"}));
        sandbox.run(&["sync", "root", "--to", OUTPUT]).refuses(3, &[OUTPUT, "`dynamic`", "nothing was sent"]);
        assert_eq!(engine.entries().len(), 1);
        engine.done("DELETE", "/PATH", &Value::Null);
        synced(&sandbox);
        is_exact(&sandbox, &engine);
    }
}

#[test]
fn entries_that_were_removed_altered_or_planted_by_hand_are_found_and_put_right() {
    for engine in
        SearchEngine::each("entries_that_were_removed_altered_or_planted_by_hand_are_found_and_put_right")
    {
        let sandbox = declared(&engine, &engine.url, 60);
        sandbox.write("leaves.txt", "a text that leaves");
        files::settle(&sandbox.root());
        synced(&sandbox);
        let entries = engine.entries();
        let (leaving, left) = entries.iter().find(|(id, _)| id.ends_with("/leaves.txt")).unwrap();
        std::fs::remove_file(sandbox.root().join("leaves.txt")).unwrap();
        synced(&sandbox);
        let escaped = |id: &str| id.replace('/', "%2F");
        let names: Vec<&String> = entries.keys().filter(|id| *id != leaving).collect();
        for id in &names[..20] {
            engine.done("DELETE", &format!("/PATH/_doc/{}", escaped(id)), &Value::Null);
        }
        for (at, id) in names[20..40].iter().enumerate() {
            // A text; or who may see it.
            let doc = if at % 2 == 0 { json!({"body": "forged"}) } else { json!({"acl": 4711}) };
            engine.done("POST", &format!("/PATH/_update/{}", escaped(id)), &json!({"doc": doc}));
        }
        engine.done("PUT", &format!("/PATH/_doc/{}", escaped(leaving)), left);
        for n in 0..10 {
            engine.done("PUT", &format!("/PATH/_doc/by-hand-{n}"), &json!({"title": "planted"}));
        }
        let verified = |flags: &[&str], code: i32| {
            let told = sandbox.run(&[&["verify", OUTPUT, "--json"], flags].concat()).exits(code).json();
            differences(told.last().unwrap())
        };
        assert_eq!(verified(&[], 1), [20, 20, 1, 10]);
        assert_eq!(verified(&["--repair"], 1), [20, 20, 1, 10]);
        synced(&sandbox);
        assert_eq!(verified(&[], 1), [0, 0, 0, 10], "what is not ours is told of, and stays");
        for n in 0..10 {
            engine.done("DELETE", &format!("/PATH/_doc/by-hand-{n}"), &Value::Null);
        }
        is_exact(&sandbox, &engine);
    }
}

#[test]
fn a_program_that_is_killed_anywhere_leaves_an_index_that_the_next_run_makes_exact() {
    for engine in
        SearchEngine::each("a_program_that_is_killed_anywhere_leaves_an_index_that_the_next_run_makes_exact")
    {
        let sandbox = declared(&engine, &engine.url, 200);
        let mut dice = Dice::new(21);
        let mut killed = 0;
        for round in 0..12 {
            for n in (round % 3..200).step_by(3) {
                sandbox.write(&format!("d{}/f{n:03}.txt", n % 5), &format!("text {n} of round {round}"));
            }
            let _ = std::fs::remove_file(sandbox.root().join(format!("d{}/f{round:03}.txt", round % 5)));
            let micros = dice.below(400_000) as u64;
            let command = sandbox.command(&["sync", "root", "--to", OUTPUT, "-q"]);
            killed += usize::from(killed_after(command, Duration::from_micros(micros)));
        }
        assert!(killed >= 6, "{killed} of 12 met a run");
        files::settle(&sandbox.root());
        synced(&sandbox);
        is_exact(&sandbox, &engine);
    }
}

#[test]
fn an_index_behind_a_bad_network_is_exact_in_the_end() {
    for engine in SearchEngine::each("an_index_behind_a_bad_network_is_exact_in_the_end") {
        let dice = std::sync::Mutex::new(Dice::new(33));
        let proxy = Proxy::before(&engine.url, move |_| match dice.lock().unwrap().below(12) {
            0 => InjectedFault::CutOff,
            1 => InjectedFault::AnswerLost,
            2 => InjectedFault::HalfAnswer,
            3 => InjectedFault::Refused(429),
            4 => InjectedFault::Held,
            _ => InjectedFault::None,
        });
        let sandbox = declared(&engine, &proxy.url, 50);
        let mut late = 0;
        for round in 0..4 {
            for n in (round..50).step_by(2) {
                sandbox.write(&format!("d{}/f{n:03}.txt", n % 5), &format!("text {n} of round {round}"));
            }
            let _ = std::fs::remove_file(sandbox.root().join(format!("d{}/f{round:03}.txt", round % 5)));
            files::settle(&sandbox.root());
            // Whether it is done now or not: it is told, and nothing is lost.
            let said = sandbox.run(&["sync", "root", "--to", OUTPUT]);
            assert!(
                said.code == 0 || matches!(said.code, 1 | 3) && !said.err.is_empty(),
                "round {round}: {said:?}"
            );
            late += proxy.release();
        }
        assert!(late > 0, "nothing came late");
        declare(&sandbox, engine.settings()).exits(0);
        synced(&sandbox);
        is_exact(&sandbox, &engine);
    }
}

#[test]
fn an_output_on_a_server_is_declared_before_a_job_names_it_and_its_secrets_are_shown_to_nobody() {
    for engine in SearchEngine::each(
        "an_output_on_a_server_is_declared_before_a_job_names_it_and_its_secrets_are_shown_to_nobody",
    ) {
        let sandbox = Sandbox::sqlite();
        sandbox.write("a.txt", "a text");
        sandbox.run(&["sync", "root", "--to", OUTPUT]).refuses(2, &[OUTPUT, "not declared", "apply"]);
        sandbox.run(&["sync", "root", "--to", "opensearch"]).refuses(2, &["opensearch:NAME"]);
        let mut settings = engine.settings();
        if engine.login.is_none() {
            (settings["user"], settings["password"]) = (json!("ingather"), json!("hunter2narwhal"));
        }
        let password = settings["password"].as_str().unwrap().to_owned();
        declare(&sandbox, json!({"url": "http://search.example.org", "index": "docs"}))
            .refuses(2, &["url", "https"]);
        assert!(declare(&sandbox, settings.clone()).exits(0).out.contains("made: opensearch"));
        assert!(!declare(&sandbox, settings.clone()).exits(0).out.contains("changed"), "nothing changes");
        let shown = sandbox.run(&["export"]).exits(0).out;
        assert!(
            shown.contains("\"password\": \"(hidden)\"")
                && !shown.contains(&format!("\"password\": \"{password}\"")),
            "{shown}"
        );
        for wrong in ["opensearch:wrong", "opensearch", "docs", "opensearh:docs"] {
            let form = format!("`--to {OUTPUT}`");
            sandbox.run(&["sync", "root", "--to", wrong]).refuses(2, &[wrong, "declared so far", &form]);
        }
        settings["password"] = json!("(hidden)");
        settings["timeout_s"] = json!(20);
        assert!(declare(&sandbox, settings).exits(0).out.contains("timeout_s"));
        assert_eq!(synced(&sandbox), counted(&[("added", 1)]));
        is_exact(&sandbox, &engine);
        its_first_job_may_be_declared_with_it(&engine.another());
    }
}

/// What the job would do is counted before, and nothing is made by that.
fn its_first_job_may_be_declared_with_it(engine: &SearchEngine) {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.txt", "a text");
    let file = sandbox.path().join("declaration.json");
    let job = json!({"name": "root", "repository": "files", "source": {"root": sandbox.root()}, "outputs": [OUTPUT]});
    let outputs = json!({OUTPUT: {"kind": "opensearch", "settings": engine.settings()}});
    std::fs::write(&file, json!({"version": 1, "outputs": outputs, "jobs": [job]}).to_string()).unwrap();
    let apply = ["apply", "-f", file.to_str().unwrap()];
    let planned = sandbox.run(&[&apply[..], &["--dry-run"]].concat()).exits(0).out;
    assert!(planned.contains("1 added"), "{planned}");
    assert_eq!(engine.ask("GET", "/PATH", &Value::Null).0, 404, "a dry run makes nothing");
    sandbox.run(&apply).exits(0);
    assert_eq!(synced(&sandbox), counted(&[("added", 1)]));
    is_exact(&sandbox, engine);
}

#[test]
fn the_status_names_the_job_and_the_output_whose_server_lets_no_run_begin() {
    for engine in SearchEngine::each("the_status_names_the_job_and_the_output_whose_server_lets_no_run_begin")
    {
        let refuses = Arc::new(AtomicU16::new(0));
        let status = refuses.clone();
        let proxy = Proxy::before(&engine.url, move |_| match status.load(Ordering::Relaxed) {
            0 => InjectedFault::None,
            status => InjectedFault::Refused(status),
        });
        let sandbox = declared(&engine, &proxy.url, 3);
        synced(&sandbox);
        assert!(sandbox.run(&["status"]).exits(0).out.ends_with("all is well\n"));
        for (status, why) in [(401, "does not take the credentials"), (503, "is busy or away (503)")] {
            refuses.store(status, Ordering::Relaxed);
            sandbox.run(&["sync", "root", "--to", OUTPUT]).refuses(3, &[OUTPUT, why]);
            let told = sandbox.run(&["status"]).exits(1).out;
            let said = format!("job root: its last run could not begin: output {OUTPUT}: ");
            assert!(
                told.contains(&said) && told.contains(why) && told.contains("`ingather doctor`"),
                "{told}"
            );
            refuses.store(0, Ordering::Relaxed);
            synced(&sandbox);
            assert!(sandbox.run(&["status"]).exits(0).out.ends_with("all is well\n"));
        }
    }
}

#[test]
fn a_server_that_is_away_when_its_output_is_declared_is_told_with_the_reason() {
    let sandbox = Sandbox::sqlite();
    // Nobody listens where somebody has just ceased to.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = json!({"url": format!("http://127.0.0.1:{port}"), "index": "docs"});
    let file = sandbox.path().join("declaration.json");
    let outputs = json!({OUTPUT: {"kind": "opensearch", "settings": settings}});
    std::fs::write(&file, json!({"version": 1, "outputs": outputs}).to_string()).unwrap();
    let apply = ["apply", "-f", file.to_str().unwrap()];
    let says = ["made: opensearch", "not reached", "cannot be asked", "`ingather doctor`"];
    for flags in [&["--dry-run"][..], &[]] {
        let told = sandbox.run(&[&apply[..], flags].concat()).exits(0).out;
        assert!(says.iter().all(|word| told.contains(word)), "{told}");
    }
    let looked = sandbox.run(&["doctor"]).exits(1).out;
    assert!(looked.contains(&format!("output {OUTPUT}: the server cannot be asked")), "{looked}");
    for engine in
        SearchEngine::each("a_server_that_is_away_when_its_output_is_declared_is_told_with_the_reason")
    {
        let told = declare(&sandbox, engine.settings()).exits(0).out;
        assert!(!told.contains("not reached"), "{told}");
        sandbox.run(&["doctor"]).exits(0);
    }
}

#[test]
fn a_refused_document_that_keeps_its_folder_closed_is_named_with_what_to_do() {
    for engine in
        SearchEngine::each("a_refused_document_that_keeps_its_folder_closed_is_named_with_what_to_do")
    {
        let sandbox = Sandbox::sqlite();
        (0..30).for_each(|n| sandbox.write(&format!("{n}.txt"), "a text"));
        ["d/big.txt", "d/small.txt"].iter().for_each(|name| sandbox.write(name, "a text"));
        let mut settings = engine.settings();
        settings["request_mib"] = json!(1);
        declare(&sandbox, settings).exits(0);
        let folder = sandbox.root().join("d");
        files::tool("chmod", &["0700"], &folder);
        files::settle(&sandbox.root());
        synced(&sandbox);

        // One request has no room for it, and what the index holds of it is for whom the folder let in before.
        sandbox.write("d/big.txt", &"word ".repeat(300_000));
        files::tool("chmod", &["0755"], &folder);
        files::settle(&sandbox.root());
        let sync = ["sync", "root", "--to", OUTPUT];
        let told = sandbox.run(&sync).exits(1).err;
        let refused = format!("output {OUTPUT} refused it");
        let says = ["stays as closed as it was", "`d/big.txt`", &refused, "--exclude"];
        assert!(says.iter().all(|word| told.contains(word)), "{told}");
        let explained = |name: &str| sandbox.run(&["document", "explain", "root", name]).out;
        let of_other = explained("d/small.txt");
        let says = ["is up to date", "`d/big.txt`", &refused, "as closed as it was", "--exclude"];
        assert!(says.iter().all(|word| of_other.contains(word)), "{of_other}");
        let of_itself = explained("d/big.txt");
        let says = [&format!("output {OUTPUT} refused `d/big.txt`"), "what outputs hold of it keeps folder"];
        assert!(says.iter().all(|word| of_itself.contains(*word)), "{of_itself}");
        assert!(!explained("0.txt").contains("closed"));

        let leave_out = [&sync[..], &["--exclude", "big.txt", "--update"]].concat();
        let told = sandbox.run(&leave_out).exits(0).err;
        assert!(!told.contains("closed"), "{told}");
        assert!(!explained("d/small.txt").contains("closed"));
    }
}

#[test]
fn a_search_of_what_went_to_another_output_alone_says_where_to_ask() {
    for engine in SearchEngine::each("a_search_of_what_went_to_another_output_alone_says_where_to_ask") {
        let sandbox = declared(&engine, &engine.url, 3);
        synced(&sandbox);
        let says = [
            "no index",
            &format!("job root: it sends to output {OUTPUT} and not to the index"),
            "`ingather filter USER",
        ];
        sandbox.run(&["search", "text"]).refuses(3, &says);
        // An index that others fill has nothing of it, and says so only where it has nothing to show.
        std::fs::create_dir(sandbox.path().join("other")).unwrap();
        std::fs::write(sandbox.path().join("other/o.txt"), "pear").unwrap();
        sandbox.run(&["sync", "other"]).exits(0);
        let nothing = sandbox.run(&["search", "text"]).exits(0).err;
        assert!(says[1..].iter().all(|word| nothing.contains(word)), "{nothing}");
        let found = sandbox.run(&["search", "pear"]).exits(0);
        assert!(found.out.contains("o.txt") && !found.err.contains("opensearch"), "{found:?}");
    }
}

#[test]
fn two_outputs_never_take_turns_in_one_index() {
    const OTHER: &str = "opensearch:other";
    for engine in SearchEngine::each("two_outputs_never_take_turns_in_one_index") {
        let sandbox = Sandbox::sqlite();
        sandbox.write("a.txt", "a text");
        let spelt = engine.settings_by(&format!("{}/", engine.url));
        let both = [(OUTPUT, engine.settings()), (OTHER, spelt.clone())];
        outside::declare(&sandbox, &both).refuses(2, &[OUTPUT, OTHER, &engine.index, "another index"]);
        declare(&sandbox, engine.settings()).exits(0);
        synced(&sandbox);
        outside::declare(&sandbox, &[(OTHER, spelt)]).refuses(2, &[OUTPUT, OTHER, &engine.index]);

        // By another address it is told when it is opened.
        let proxy = Proxy::before(&engine.url, |_| InjectedFault::None);
        let elsewhere = engine.another();
        outside::declare(&sandbox, &[(OTHER, elsewhere.settings_by(&proxy.url))]).exits(0);
        let sync = ["sync", "root", "--name", "second", "--to", OTHER];
        sandbox.run(&sync).exits(0);
        let before = engine.entries();
        outside::declare(&sandbox, &[(OTHER, engine.settings_by(&proxy.url))]).exits(0);
        sandbox.run(&sync).refuses(3, &[OUTPUT, OTHER, "another place"]);
        let third = ["sync", "root", "--name", "third", "--to", OTHER];
        sandbox.run(&third).refuses(3, &[OUTPUT, OTHER, "another place"]);
        let looked = sandbox.run(&["doctor"]).exits(1).out;
        assert!(
            looked.contains(&format!("output {OTHER}: it leads to what output {OUTPUT} fills")),
            "{looked}"
        );
        assert_eq!(engine.entries(), before);
        is_exact(&sandbox, &engine);

        outside::declare(&sandbox, &[(OTHER, elsewhere.settings_by(&proxy.url))]).exits(0);
        sandbox.run(&sync).exits(0);
        assert_eq!(texts(&elsewhere), tree(&sandbox.root()));
    }
}

#[test]
fn the_log_has_no_password_however_much_it_is_to_tell() {
    for engine in SearchEngine::each("the_log_has_no_password_however_much_it_is_to_tell") {
        let sandbox = declared(&engine, &engine.url, 2);
        let mut settings = engine.settings();
        if engine.login.is_none() {
            // One that asks nobody who they are is told all the same.
            (settings["user"], settings["password"]) = ("ann".into(), "HUNTER2SECRET".into());
        }
        declare(&sandbox, settings.clone()).exits(0);
        let mut command = sandbox.command(&["sync", "root", "-vv", "--to", OUTPUT]);
        command.env("INGATHER_LOG", "trace,ureq=trace,ureq_proto=trace");
        let told = crate::sandbox::finish(command, None).exits(0);
        let sent = base64::Engine::encode(
            &base64::engine::general_purpose::STANDARD,
            format!("{}:{}", settings["user"].as_str().unwrap(), settings["password"].as_str().unwrap()),
        );
        // Such a log breaks lines where it likes.
        assert!(!told.err.contains(&sent[..8]), "{}", told.err);
    }
}
