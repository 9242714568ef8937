//! What a wiki is asked, what of its answers is an entry, and where they lead; over HTTP, by the connector alone.

mod hostile;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_contract::refers::{Asked, HandedDown, NamedVersion, VisitAnswer};
use ingather_contract::repository::{HostContext, Repository};
use ingather_model::access::Acl;
use ingather_model::document::{Links, Record};
use ingather_model::fault::Fault;
use ingather_testkit::script_repository::server::Answer;
use ingather_testkit::script_repository::wiki::{ScriptedWiki, html};
use ingather_testkit::suites::{self, ReferringSample};
use serde_json::{Value, json};

use super::REFERRING;

/// A clock that stands.
struct Still;

impl Clock for Still {
    fn now(&self) -> i64 {
        1_700_000_000_000
    }
}

fn call() -> CallContext {
    CallContext { clock: Arc::new(Still), cancel: Cancel::default() }
}

/// Settings of a job over a wiki on this machine.
fn settings(root: &str, more: Value) -> Value {
    let mut settings =
        json!({"root": root, "private_networks": ["127.0.0.1"], "access": ["everybody"], "delay_ms": 0});
    settings.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    settings
}

fn opened(settings: &Value) -> Result<Arc<dyn Repository>, Fault> {
    (REFERRING.open)(settings, &HostContext::default())
}

fn wiki(wiki: &ScriptedWiki, more: Value) -> Arc<dyn Repository> {
    opened(&settings(&wiki.root(), more)).unwrap()
}

/// What a visit came to.
struct Came {
    answer: Result<VisitAnswer, Fault>,
    text: String,
    record: Record,
}

fn visit_as(wiki: &dyn Repository, asked: &Asked<'_>) -> Came {
    let (mut text, mut seen) = (String::new(), Record::default());
    let answer = wiki.refers().unwrap().visit(&call(), asked, &mut |record, _, content| {
        text.clear();
        content.read_to_string(&mut text).unwrap();
        seen = record.clone();
        Ok(Links::default())
    });
    Came { answer, text, record: seen }
}

fn visit(wiki: &dyn Repository, key: &str) -> Came {
    visit_as(wiki, &Asked::of(key))
}

impl Came {
    /// Why a page is no entry, or what failed.
    fn why(&self) -> String {
        match &self.answer {
            Ok(VisitAnswer::NoEntry(reason, _)) => reason.code.clone(),
            Ok(VisitAnswer::Read(..)) => "read".to_owned(),
            Ok(VisitAnswer::Unchanged { .. }) => "unchanged".to_owned(),
            Ok(VisitAnswer::Again { .. }) => "again".to_owned(),
            Err(fault) => fault.reason().code,
        }
    }

    /// What it led to, with the relation and what was handed down.
    fn led(&self) -> Vec<(String, usize, HandedDown)> {
        match &self.answer {
            Ok(VisitAnswer::Read(_, leads) | VisitAnswer::NoEntry(_, leads)) => {
                let told = leads.references.iter();
                told.map(|to| (to.key.clone(), to.relation, to.hands_down.clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    fn memo(&self) -> Vec<u8> {
        match &self.answer {
            Ok(VisitAnswer::Read(_, leads)) => leads.memo.clone().unwrap(),
            answer => panic!("{answer:?}"),
        }
    }
}

/// Names of the first lists.
fn seeds(wiki: &dyn Repository) -> Vec<String> {
    let pages = std::iter::from_fn({
        let mut listing = wiki.list(&call()).unwrap();
        move || listing.next()
    });
    let groups = pages.flat_map(|page| page.unwrap().groups);
    groups
        .flat_map(|group| group.items.into_iter().map(move |item| group.parent.clone() + &item.name))
        .collect()
}

/// All pages that lists name, with what they hand down, by walking them.
fn listed(wiki: &dyn Repository) -> Vec<(String, HandedDown)> {
    let (mut lists, mut found) = (seeds(wiki), Vec::new());
    while let Some(list) = lists.pop() {
        let visited = visit(wiki, &list);
        assert_eq!(visited.why(), "list");
        for (key, relation, handed) in visited.led() {
            assert_eq!(relation, 0);
            match key.contains("api.php") {
                true => lists.push(key),
                false => found.push((key, handed)),
            }
        }
    }
    found
}

#[test]
fn it_keeps_what_a_repository_that_refers_promises() {
    let server = ScriptedWiki::start(2);
    server.write("Main Page", "apple", &["Other", "None"]);
    server.write("Other", "banana", &[]);
    let (before, after) = (html("apple"), html("cherry"));
    suites::referring(
        &REFERRING,
        &ReferringSample {
            source: settings(
                &server.root(),
                json!({"access": ["unix:g:7"], "credentials": [
                    {"origin": server.server.url(""), "user": "ann", "password": "secret"}
                ]}),
            ),
            host: HostContext::default(),
            present: (&server.url("Main Page"), before.as_bytes()),
            absent: &server.url("Nothing"),
            change: (&|| server.write("Main Page", "cherry", &["Other"]), after.as_bytes()),
        },
    );
}

#[test]
fn lists_name_each_page_of_the_namespaces_once_and_nothing_else() {
    let server = ScriptedWiki::start(3);
    let titles: Vec<String> = (0..10).map(|n| format!("Page {n}")).collect();
    titles.iter().for_each(|title| server.write(title, "apple", &[]));
    server.write("Diskussion:Page 1", "talk", &[]);
    server.write("Hilfe:Page 1", "help", &[]);
    server.rename("Page 9", "Page 99", true);
    let urls = |titles: &[&str]| titles.iter().map(|title| server.url(title)).collect::<BTreeSet<_>>();
    let keys = |more: Value| {
        let found = listed(wiki(&server, more).as_ref());
        let count = found.len();
        let keys: BTreeSet<String> = found.into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys.len(), count, "each once");
        keys
    };
    let mut expected: BTreeSet<String> = titles[..9].iter().map(|title| server.url(title)).collect();
    expected.insert(server.url("Page 99"));
    assert_eq!(keys(json!({})), expected);
    assert_eq!(server.asked(), ["siteinfo", "list 0", "list 0", "list 0", "list 0"]);
    assert_eq!(keys(json!({"namespaces": [12, 1]})), urls(&["Diskussion:Page 1", "Hilfe:Page 1"]));
    assert_eq!(keys(json!({"include": ["* 1", "* 9*"], "exclude": ["*9"]})), urls(&["Page 1"]));
    let none = wiki(&server, json!({"namespaces": [4]}));
    assert_eq!(visit(none.as_ref(), &seeds(none.as_ref())[0]).why(), "namespace");
}

#[test]
fn a_page_is_read_with_one_request_and_is_as_before_without_any() {
    let server = ScriptedWiki::start(10);
    server.write("A", "apple", &["B", "C", "Diskussion:A"]);
    server.write("B", "banana", &[]);
    server.write("Diskussion:A", "talk", &[]);
    server.categorise("A", &["Fruit of trees"]);
    let site = wiki(&server, json!({}));
    let handed =
        |site: &dyn Repository| listed(site).into_iter().find(|(key, _)| *key == server.url("A")).unwrap().1;
    let before = handed(site.as_ref());
    server.asked();
    let key = server.url("A");
    let first = visit_as(site.as_ref(), &Asked { handed_down: &before, ..Asked::of(&key) });
    assert_eq!((first.why().as_str(), server.asked()), ("read", vec!["text A".to_owned()]));
    assert_eq!(first.text, html("apple"));
    let record = &first.record;
    assert_eq!((record.title.as_str(), record.author.as_deref()), ("A", Some("Ann Example")));
    assert_eq!(record.fields["category"], ["Fruit of trees"]);
    assert_eq!((record.fields["namespace"][0].as_str(), record.modified.is_some()), ("(Main)", true));
    assert_eq!(first.led(), [], "lists lead to all pages");
    let memo = first.memo();
    let again = |handed: &HandedDown| {
        visit_as(site.as_ref(), &Asked { handed_down: handed, memo: Some(&memo), ..Asked::of(&key) })
    };
    assert_eq!((again(&before).why().as_str(), server.asked()), ("unchanged", Vec::new()));
    // Where no list tells, it is asked.
    assert_eq!(
        (again(&HandedDown::new()).why().as_str(), server.asked()),
        ("unchanged", vec!["state A".to_owned()])
    );
    // What a template changes is no revision.
    server.render("A", "apricot");
    let rendered = again(&handed(site.as_ref()));
    assert_eq!((rendered.why().as_str(), rendered.text), ("read", html("apricot")));
    server.asked();
    // Written after it was listed: told as it is, and never with the author of another revision.
    server.write("A", "avocado", &[]);
    let late = again(&before);
    assert_eq!(late.why(), "unchanged", "the list is the word of its time");
    let late = visit_as(site.as_ref(), &Asked { handed_down: &before, ..Asked::of(&key) });
    assert_eq!(late.why(), "again");
    let late = visit_as(site.as_ref(), &Asked { handed_down: &before, ..Asked::of(&key) });
    assert_eq!((late.why().as_str(), late.text), ("read", html("avocado")));
    assert_eq!(server.asked(), ["text A", "state A", "text A"]);
}

/// What is held by the version that a list names takes no turn at the host (coverage S1.11–S1.14).
#[test]
fn lists_name_the_versions_of_pages_that_may_be_read() {
    let server = ScriptedWiki::start(10);
    server.write("A", "apple", &[]);
    server.write("B", "banana", &[]);
    server.shut("B", Some("permissiondenied"));
    let site = wiki(&server, json!({}));
    let named = || match visit(site.as_ref(), &seeds(site.as_ref())[0]).answer {
        Ok(VisitAnswer::NoEntry(_, leads)) => leads.references.into_iter().map(|to| (to.key, to.version)),
        answer => panic!("{answer:?}"),
    };
    let versions: BTreeMap<String, Option<NamedVersion>> = named().collect();
    assert_eq!(versions[&server.url("B")], None, "it may be shut by now");
    let read = || match visit(site.as_ref(), &server.url("A")).answer {
        Ok(VisitAnswer::Read(observed, _)) => {
            Some(NamedVersion { content: observed.content, acl: observed.acl })
        }
        answer => panic!("{answer:?}"),
    };
    assert_eq!(versions[&server.url("A")], read());
    server.render("A", "apricot");
    let after: BTreeMap<String, Option<NamedVersion>> = named().collect();
    assert_ne!(
        after[&server.url("A")],
        versions[&server.url("A")],
        "what a template changes is another version"
    );
    assert_eq!(after[&server.url("A")], read());
}

#[test]
fn a_job_that_begins_at_pages_follows_links_within_its_namespaces() {
    let server = ScriptedWiki::start(10);
    server.write("A", "apple", &["B", "C", "Diskussion:A", "Old"]);
    server.write("B", "banana", &[]);
    server.write("Diskussion:A", "talk", &[]);
    server.write("Old", "x", &[]);
    server.rename("Old", "New", true);
    let site = wiki(&server, json!({"start": ["A", "B_x"]}));
    let named = seeds(site.as_ref());
    assert_eq!(named.len(), 2);
    let start = visit(site.as_ref(), &named[0]);
    assert_eq!((start.why().as_str(), start.led()), ("start", vec![(server.url("A"), 0, HandedDown::new())]));
    // Pages that are not there, or in other namespaces, are none of the job.
    let links = [(server.url("B"), 1, HandedDown::new()), (server.url("Old"), 1, HandedDown::new())];
    assert_eq!(visit(site.as_ref(), &server.url("A")).led(), links);
    assert_eq!(visit(site.as_ref(), &server.url("Old")).led(), [(server.url("New"), 2, HandedDown::new())]);
    assert_eq!(site.named(&named[0]).unwrap().key, named[0]);
}

#[test]
fn while_a_list_cannot_be_read_what_was_told_before_proves_nothing() {
    let server = ScriptedWiki::start(10);
    server.write("A", "apple", &[]);
    let site = wiki(&server, json!({}));
    let (key, handed) = listed(site.as_ref()).remove(0);
    let memo = visit_as(site.as_ref(), &Asked { handed_down: &handed, ..Asked::of(&key) }).memo();
    let again = || {
        visit_as(site.as_ref(), &Asked { handed_down: &handed, memo: Some(&memo), ..Asked::of(&key) }).why()
    };
    assert_eq!(again(), "unchanged");
    server.fail(Some(("readapidenied", "You need read permission to use this module.")));
    assert_eq!(visit(site.as_ref(), &seeds(site.as_ref())[0]).why(), "unreadable");
    assert_eq!(again(), "unreadable", "the wiki was shut");
    server.fail(None);
    listed(site.as_ref());
    server.asked();
    assert_eq!((again().as_str(), server.asked()), ("unchanged", Vec::new()));
}

#[test]
fn each_request_takes_a_turn_of_its_own() {
    let server = ScriptedWiki::start(10);
    server.write("A", "apple", &[]);
    let site = wiki(&server, json!({"delay_ms": 50}));
    let key = server.url("A");
    let mut seen = Vec::new();
    for _ in 0..3 {
        let why = visit(site.as_ref(), &key).why();
        seen.push((why, server.asked().len()));
    }
    assert_eq!(seen, [("again".to_owned(), 1), ("again".to_owned(), 1), ("read".to_owned(), 1)]);
    let host = site.bins(&key).remove(0);
    assert_eq!(site.pace(&host).unwrap().every_ms, 50);
    assert_eq!(site.bins(&seeds(site.as_ref())[0]), site.bins(&key));
}

#[test]
fn pages_that_moved_lead_to_where_they_are_and_deleted_ones_are_gone() {
    let server = ScriptedWiki::start(10);
    server.write("Old", "apple", &[]);
    server.write("Odd", "apple", &[]);
    server.rename("Old", "New", true);
    server.rename("Odd", "Even", false);
    server.write("Diskussion:There", "x", &[]);
    server.write("Away", "x", &[]);
    server.rename("Away", "Diskussion:Away", true);
    let site = wiki(&server, json!({}));
    let old = visit(site.as_ref(), &server.url("Old"));
    assert_eq!(
        (old.why().as_str(), old.led()),
        ("redirect", vec![(server.url("New"), 2, HandedDown::new())])
    );
    let away = visit(site.as_ref(), &server.url("Away"));
    assert_eq!((away.why().as_str(), away.led()), ("redirect", Vec::new()), "it is none of the job now");
    for gone in ["Odd", "Never"] {
        assert!(matches!(visit(site.as_ref(), &server.url(gone)).answer, Err(Fault::Gone)), "{gone}");
    }
    // What was listed, and deleted before it was read.
    let (key, handed) = listed(site.as_ref()).remove(0);
    assert_eq!(key, server.url("Even"));
    server.delete("Even");
    let visited = visit_as(site.as_ref(), &Asked { handed_down: &handed, ..Asked::of(&key) });
    assert!(matches!(visited.answer, Err(Fault::Gone)), "{:?}", visited.answer);
    assert_eq!(visit(site.as_ref(), &server.url("Diskussion:There")).why(), "namespace");
    assert_eq!(visit(site.as_ref(), "http://elsewhere.example/wiki/A").why(), "outside");
}

#[test]
fn redirects_lead_to_the_next_page_and_not_out_of_the_wiki() {
    let server = ScriptedWiki::start(10);
    let site = wiki(&server, json!({}));
    visit(site.as_ref(), &seeds(site.as_ref())[0]);
    let led = |redirects: Value| {
        let body = json!({"batchcomplete": true, "query": {"redirects": redirects, "pages": []}}).to_string();
        server.server.answer_by(move |_| Some(Answer::of("application/json", body.clone())));
        let visited = visit(site.as_ref(), &server.url("A"));
        assert_eq!(visited.why(), "redirect");
        visited.led().into_iter().map(|(key, ..)| key).collect::<Vec<_>>()
    };
    assert_eq!(
        led(json!([{"from": "B", "to": "C"}, {"from": "A", "to": "B", "tofragment": "x"}])),
        [server.url("B")]
    );
    assert_eq!(led(json!([{"from": "A", "to": "B", "tointerwiki": "de"}])), Vec::<String>::new());
    assert_eq!(led(json!([{"from": "A", "to": "B|C"}])), Vec::<String>::new());
}

/// Whatever is there in place of a wiki, nothing of it is taken for an answer.
#[test]
fn a_closed_wiki_is_read_by_who_logs_in_and_sessions_are_renewed() {
    let server = ScriptedWiki::start(10);
    server.write("A", "apple", &[]);
    server.close("Ann@search", "hush & co");
    let login = |password: &str| json!({"access": ["unix:g:7"], "login": {"user": "Ann@search", "password": password}});
    let open = wiki(&server, json!({}));
    assert!(matches!(open.check(&call()), Err(Fault::Unreadable(_))));
    assert!(matches!(visit(open.as_ref(), &server.url("A")).answer, Err(Fault::Unreadable(_))));
    let site = wiki(&server, login("hush & co"));
    assert!(site.check(&call()).unwrap().contains("wants a login"));
    server.asked();
    match visit(site.as_ref(), &server.url("A")).answer {
        Ok(VisitAnswer::Read(observed, _)) => {
            assert_eq!(observed.acl, Acl::Flat { allow: vec!["unix:g:7".to_owned()], deny: Vec::new() });
        }
        answer => panic!("{answer:?}"),
    }
    let asked = server.asked();
    assert_eq!(asked, ["siteinfo", "tokens", "login", "siteinfo", "state A", "text A"]);
    server.log_out();
    assert_eq!(visit(site.as_ref(), &server.url("A")).why(), "read");
    assert_eq!(server.asked(), ["state A", "tokens", "login", "state A", "text A"]);
    // A password that is refused is not sent again and again, and not told.
    let wrong = wiki(&server, login("guess"));
    for _ in 0..5 {
        let visited = visit(wrong.as_ref(), &server.url("A"));
        assert_eq!(visited.why(), "login");
    }
    assert_eq!(server.asked().iter().filter(|asked| *asked == "login").count(), 1);
    let notes = wrong.notes().join(" ");
    assert!(notes.contains("Failed") && !notes.contains("guess"), "{notes}");
}

#[test]
fn settings_are_refused_with_what_to_do() {
    let said = |value: Value| opened(&value).err().map(|fault| fault.to_string()).unwrap_or_default();
    let root = "wiki+https://wiki.example.org/w/api.php";
    let with = |more: Value| {
        let mut settings = json!({"root": root});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        said(settings)
    };
    assert_eq!(with(json!({})), "");
    assert!(said(json!({"root": "https://wiki.example.org/w/api.php"})).contains("behind `wiki+`"));
    assert!(
        said(json!({"root": "wiki+https://Wiki.example.org/w/api.php"}))
            .contains("name it so: wiki+https://wiki")
    );
    assert!(
        said(json!({"root": "wiki+https://wiki.example.org/w/api.php?action=query"})).contains("has a query")
    );
    assert!(with(json!({"namespaces": [-1, 0]})).contains("below 0"));
    assert!(with(json!({"namespaces": []})).contains("namespaces"));
    assert!(with(json!({"start": ["A|B"]})).contains("`start`: number 1"));
    assert!(with(json!({"include": ["["]})).contains("include"));
    assert!(with(json!({"pages": "https://wiki.example.org/"})).contains("`$1`"));
    assert!(with(json!({"private_networks": ["10.0.0.0/8"]})).contains("`access`"));
    assert!(with(json!({"delay_ms": -1})).contains("delay_ms"));
    assert!(with(json!({"crawl": 1})).contains("no setting"));
    let login = json!({"user": "Ann", "password": "hush"});
    for access in [Value::Null, json!(["everybody"])] {
        let refused = with(json!({"login": login, "access": access}));
        assert!(refused.contains("not for everybody") && !refused.contains("hush"), "{refused}");
    }
    assert_eq!(with(json!({"login": login, "access": ["unix:g:7"]})), "");
}
