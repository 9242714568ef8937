//! A wiki is indexed by its API, and again nearly for free.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use ingather_testkit::script_repository::wiki::ScriptedWiki;
use serde_json::{Value, json};

use super::{HERE, found, sync};
use crate::sandbox::Sandbox;

/// A wiki of six pages in two namespaces.
fn wiki() -> ScriptedWiki {
    let wiki = ScriptedWiki::start(2);
    wiki.write("Main Page", "start apple", &["Apple", "Pear tree"]);
    wiki.write("Apple", "about the apple", &["Main Page", "Nowhere"]);
    wiki.write("Pear tree", "about the pear", &["Apple"]);
    wiki.write("Island", "lonely apple", &[]);
    wiki.write("Diskussion:Apple", "talk of the apple", &["Apple"]);
    wiki.write("Hilfe:Start", "help with the apple", &[]);
    wiki
}

fn count(asked: &[String], what: &str) -> usize {
    asked.iter().filter(|asked| asked.starts_with(what)).count()
}

#[test]
fn a_wiki_is_found_changed_moved_and_deleted_by_its_lists() {
    let (sandbox, wiki) = (Sandbox::sqlite(), wiki());
    let root = wiki.root();
    let (counts, code) = sync(&sandbox, &root, HERE);
    assert_eq!((counts.get("added"), counts.get("failed"), code), (4, 0, 0), "{counts:?}");
    let apple = ["/wiki/Apple", "/wiki/Island", "/wiki/Main_Page"];
    assert_eq!(found(&sandbox, &wiki.server, "apple"), apple);
    let asked = wiki.asked();
    let told = ["siteinfo", "list", "text", "state"].map(|what| count(&asked, what));
    assert!(told[0] <= 2 && told[1..] == [2, 4, 0], "each page was asked for once: {asked:?}");

    let exported = sandbox.run(&["export"]).exits(0).out;
    assert!(exported.contains("\"name\": \"127.0.0.1-"), "it is called after the host: {exported}");

    // As before: its lists are asked for, and no page.
    let (counts, code) = sync(&sandbox, &root, &[]);
    assert_eq!((counts.get("unchanged"), counts.get("updated"), code), (4, 0, 0), "{counts:?}");
    let asked = wiki.asked();
    assert_eq!((count(&asked, "list"), asked.len()), (2, 3), "{asked:?}");

    wiki.write("Apple", "about the cherry", &["Main Page", "Nowhere"]);
    wiki.delete("Island");
    wiki.rename("Pear tree", "Plum tree", true);
    let (counts, code) = sync(&sandbox, &root, &["--delete-guard", "off"]);
    let told = ["added", "updated", "deleted", "failed"].map(|name| counts.get(name));
    assert_eq!((told, code), ([1, 1, 2, 0], 0), "{counts:?}");
    let asked = wiki.asked();
    // What links to a page that moved was touched by that, and is read again; twice, for it has moved to another list besides.
    let told = ["state", "text Apple", "text Plum", "text"].map(|what| count(&asked, what));
    assert!(told[..3] == [0, 1, 1] && told[3] <= 4, "{asked:?}");
    assert_eq!(found(&sandbox, &wiki.server, "cherry"), ["/wiki/Apple"]);
    assert_eq!(
        found(&sandbox, &wiki.server, "apple"),
        ["/wiki/Apple", "/wiki/Main_Page"],
        "one by its title"
    );
    assert_eq!(found(&sandbox, &wiki.server, "lonely"), Vec::<String>::new());
    assert_eq!(found(&sandbox, &wiki.server, "pear"), ["/wiki/Plum_tree"]);
    sandbox.run(&["verify"]).exits(0);
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn what_a_wiki_says_of_a_page_is_found_with_it() {
    let (sandbox, wiki) = (Sandbox::sqlite(), wiki());
    wiki.categorise("Apple", &["Fruit of trees"]);
    let (counts, _) =
        sync(&sandbox, &wiki.root(), &[HERE, &["--set", "namespaces=[0,1,12]", "--name", "fruit"]].concat());
    assert_eq!(counts.get("added"), 6, "{counts:?}");
    let hits = sandbox.run(&["search", "talk", "--all", "--json"]).exits(0).json();
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!(hits[0]["title"], json!("Diskussion:Apple"));
    assert_eq!(hits[0]["uri"], json!(wiki.url("Diskussion:Apple")));
    let explained = sandbox.run(&["document", "explain", "fruit", &wiki.url("Apple")]).exits(0).out;
    assert!(explained.contains("/wiki/Apple"), "{explained}");
    let listed = sandbox.run(&["document", "list", "fruit", "--state", "skipped"]).exits(0).out;
    assert!(listed.contains("list: it is a list of pages"), "{listed}");
}

#[test]
fn a_wiki_is_read_by_whom_its_job_names_and_shut_pages_are_shown_to_nobody() {
    let (sandbox, wiki) = (Sandbox::sqlite(), wiki());
    let root = wiki.root();
    sandbox.run(&["sync", &root]).refuses(2, &["only this machine or its network"]);
    sandbox.run(&["sync", &root, "--set", "private_networks=[\"127.0.0.1\"]"]).refuses(2, &["`access`"]);
    let (counts, code) = sync(&sandbox, &root, HERE);
    assert_eq!((counts.get("added"), code), (4, 0), "{counts:?}");
    wiki.shut("Island", Some("permissiondenied"));
    let (counts, code) = sync(&sandbox, &root, &[]);
    assert_eq!((counts.get("failed"), counts.get("deleted"), code), (1, 0, 1), "{counts:?}");
    let seen = |word: &str| sandbox.run(&["search", word, "--as", "nobody", "--json"]).exits(0).json().len();
    assert_eq!(["lonely", "pear"].map(seen), [0, 1]);
    wiki.shut("Island", None);
    let (counts, code) = sync(&sandbox, &root, &[]);
    assert_eq!((counts.get("failed"), code), (0, 0), "{counts:?}");
    assert_eq!(["lonely", "pear"].map(seen), [1, 1]);
}

#[test]
fn a_job_that_begins_at_a_page_goes_as_far_as_its_hops() {
    let (sandbox, wiki) = (Sandbox::sqlite(), wiki());
    wiki.write("Apple", "about the apple", &["Main Page", "Stem"]);
    wiki.write("Stem", "stem of the apple", &[]);
    let root = wiki.root();
    let start = ["--set", "start=[\"Main Page\"]", "--hops", "link=1"];
    let (counts, code) = sync(&sandbox, &root, &[HERE, &start].concat());
    assert_eq!((counts.get("added"), code), (3, 0), "{counts:?}");
    let (counts, code) = sync(&sandbox, &root, &["--update", "--hops", "link=2"]);
    assert_eq!((counts.get("added"), counts.get("unchanged"), code), (1, 3, 0), "{counts:?}");
    assert_eq!(found(&sandbox, &wiki.server, "apple"), ["/wiki/Apple", "/wiki/Main_Page", "/wiki/Stem"]);
}

#[test]
fn a_wiki_that_fails_loses_nothing() {
    let (sandbox, wiki) = (Sandbox::sqlite(), wiki());
    let root = wiki.root();
    sync(&sandbox, &root, HERE);
    let before = found(&sandbox, &wiki.server, "apple");
    wiki.fail(Some(("badvalue", "Unrecognized value for parameter \"generator\".")));
    let answer = sandbox.run(&["sync", &root, "--delete-guard", "off", "--json"]);
    assert_ne!(answer.code, 0, "{}", answer.out);
    assert_eq!(found(&sandbox, &wiki.server, "apple"), before);
    wiki.fail(None);
    let (counts, code) = sync(&sandbox, &root, &[]);
    assert_eq!((counts.get("deleted"), counts.get("failed"), code), (0, 0, 0), "{counts:?}");
    assert_eq!(found(&sandbox, &wiki.server, "apple"), before);
}

#[test]
fn a_wiki_is_asked_no_faster_than_it_is_told_and_by_one_at_a_time() {
    let (sandbox, wiki) = (Sandbox::sqlite(), wiki());
    let every = Duration::from_millis(60);
    let start = ["--set", "start=[\"Main Page\"]", "--set", "delay_ms=60", "--threads", "4"];
    let (counts, code) = sync(&sandbox, &wiki.root(), &[HERE, &start].concat());
    assert_eq!((counts.get("added"), code), (3, 0), "{counts:?}");
    let asked = wiki.server.asked();
    // What the wiki says of itself when the job is made and in the run, and of each page its state and its text.
    assert_eq!(asked.len(), 8, "{asked:?}");
    let apart: Vec<Duration> = asked.windows(2).map(|two| two[1].at - two[0].at).collect();
    // The server sees a request when its thread gets to it; the first one is made beside the run.
    let early = apart[1..].iter().filter(|apart| **apart + Duration::from_millis(20) < every).count();
    assert_eq!(early, 0, "{apart:?}");
}

/// A run that looks for what is new reads the first lists alone, what is new in them, and of which they tell something else than before: one
/// page has moved to the next list.
#[test]
fn a_minimal_run_finds_new_pages_of_the_first_list() {
    let (sandbox, wiki) = (Sandbox::sqlite(), ScriptedWiki::start(3));
    ["Apple", "Banana", "Cherry"].iter().for_each(|title| wiki.write(title, "about it", &[]));
    let root = wiki.root();
    sync(&sandbox, &root, HERE);
    wiki.write("Blueberry", "about the blueberry", &[]);
    wiki.asked();
    let (counts, code) = sync(&sandbox, &root, &["--minimal"]);
    assert_eq!((counts.get("added"), code), (1, 0), "{counts:?}");
    let asked = wiki.asked();
    let told = ["text Apple", "text Banana", "text Blueberry"].map(|what| count(&asked, what));
    assert!(told == [0, 0, 1] && count(&asked, "text") <= 2, "{asked:?}");
    assert_eq!(found(&sandbox, &wiki.server, "blueberry"), ["/wiki/Blueberry"]);
}

#[test]
fn a_closed_wiki_is_read_by_a_bot_whose_password_is_told_to_nobody() {
    let (sandbox, wiki) = (Sandbox::sqlite(), wiki());
    wiki.close("Ann@search", "hush & co");
    let login = "login={\"user\":\"Ann@search\",\"password\":\"hush & co\"}";
    let flags = [
        "--set",
        "private_networks=[\"127.0.0.1\"]",
        "--set",
        "delay_ms=0",
        "--set",
        "access=[\"unix:u:4242\"]",
    ];
    let root = wiki.root();
    sandbox
        .run(&["sync", &root, HERE[0], HERE[1], HERE[2], HERE[3], "--set", login])
        .refuses(2, &["not for everybody"]);
    let (counts, code) = sync(&sandbox, &root, &[&flags[..], &["--set", login]].concat());
    assert_eq!((counts.get("added"), code), (4, 0), "{counts:?}");
    let seen =
        |who: &[&str]| sandbox.run(&[&["search", "apple", "--json"], who].concat()).exits(0).json().len();
    assert_eq!((seen(&["--all"]), seen(&["--as", "nobody"])), (3, 0));
    let exported = sandbox.run(&["export"]).exits(0).out;
    assert!(exported.contains("Ann@search") && !exported.contains("hush"), "{exported}");
    wiki.log_out();
    let (counts, code) = sync(&sandbox, &root, &[]);
    assert_eq!((counts.get("unchanged"), code), (4, 0), "{counts:?}");
}

/// Whatever people do to a wiki: what is found after a run is what it shows, under the addresses that it has.
#[test]
fn after_any_changes_what_is_found_is_what_the_wiki_shows() {
    let (sandbox, wiki) = (Sandbox::sqlite(), ScriptedWiki::start(4));
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut seed: usize = 7;
    let mut any = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for round in 0..8 {
        for step in 0..12 {
            let (stamp, title) = (round * 100 + step, format!("Page {}", any(24)));
            let other = format!("Page {}", any(24));
            let links = [other.as_str(), "Page 3"];
            match any(6) {
                0 if known.remove(&title).is_some() => wiki.delete(&title),
                1 if known.contains_key(&title) && !known.contains_key(&other) => {
                    known.insert(other.clone(), known[&title]);
                    known.remove(&title);
                    wiki.rename(&title, &other, stamp % 2 == 0);
                }
                2 if known.contains_key(&title) => {
                    known.insert(title.clone(), stamp);
                    wiki.render(&title, &format!("stamped s{stamp}x"));
                }
                _ => {
                    known.insert(title.clone(), stamp);
                    wiki.write(&title, &format!("stamped s{stamp}x"), &links);
                }
            }
        }
        let flags: &[&str] = if round == 0 { HERE } else { &[] };
        let (counts, code) = sync(&sandbox, &wiki.root(), &[flags, &["--delete-guard", "off"]].concat());
        assert_eq!((counts.get("failed"), code), (0, 0), "{round}: {counts:?}");
        let path = |title: &String| format!("/wiki/{}", title.replace(' ', "_"));
        let mut expected: Vec<String> = known.keys().map(path).collect();
        expected.sort();
        let all = ["search", "stamped", "--all", "--json", "--all-copies", "--limit", "100"];
        let hits = sandbox.run(&all).exits(0).json();
        let begin = wiki.server.url("");
        let address =
            |hit: &Value| hit["uri"].as_str().unwrap().strip_prefix(&begin).unwrap_or_default().to_owned();
        let mut seen: Vec<String> = hits.iter().map(address).collect();
        seen.sort();
        assert_eq!(seen, expected, "{round}");
        for (title, stamp) in known.iter().filter(|(_, stamp)| **stamp >= round * 100) {
            assert_eq!(found(&sandbox, &wiki.server, &format!("s{stamp}x")), [path(title)], "{round}");
        }
    }
    sandbox.run(&["verify"]).exits(0);
    sandbox.run(&["doctor"]).exits(0);
}

/// Killed at any place, the next run asks for what is left and for hardly anything twice.
#[test]
fn a_run_over_a_wiki_that_is_killed_goes_on() {
    let (sandbox, wiki) = (Sandbox::sqlite(), ScriptedWiki::start(20));
    let pages = 300;
    (0..pages).for_each(|n| wiki.write(&format!("Page {n:03}"), &format!("text {n}"), &[]));
    let root = wiki.root();
    let flags = [HERE, &["--to", "null"]].concat();
    let mut texts: Vec<String> = Vec::new();
    let mut kills = 0;
    loop {
        let mut sync = sandbox.command(&[&["sync", &root, "-q"], &flags[..]].concat());
        let mut sync = sync.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let seen = texts.len();
        let code = loop {
            texts.extend(wiki.asked().into_iter().filter(|asked| asked.starts_with("text")));
            if let Some(status) = sync.try_wait().unwrap() {
                break status.code();
            }
            if kills < 3 && texts.len() >= seen + 60 {
                sync.kill().unwrap();
                sync.wait().unwrap();
                kills += 1;
                break None;
            }
            std::thread::yield_now();
        };
        if code.is_some() {
            assert_eq!(code, Some(0));
            break;
        }
    }
    texts.extend(wiki.asked().into_iter().filter(|asked| asked.starts_with("text")));
    let fetches = texts.len();
    texts.sort();
    texts.dedup();
    assert_eq!((texts.len(), kills), (pages, 3));
    // At each kill a few were under way, and what was answered within half a second before may not have been written yet.
    assert!(fetches <= pages * 3 / 2, "{fetches} fetches of {pages} pages");
}
