//! What is in place of a wiki, or goes wrong at one, is no word about pages.

use ingather_testkit::script_repository::server::SiteServer;

use super::*;

#[test]
fn errors_of_a_wiki_say_what_they_mean_and_never_that_a_page_is_gone() {
    let server = ScriptedWiki::start(10);
    server.write("A", "apple", &[]);
    server.write("B", "banana", &[]);
    let site = wiki(&server, json!({}));
    let key = server.url("A");
    let host = site.bins(&key).remove(0);
    assert_eq!(visit(site.as_ref(), &key).why(), "read");
    server.shut("B", Some("permissiondenied"));
    assert!(matches!(visit(site.as_ref(), &server.url("B")).answer, Err(Fault::Unreadable(_))));
    for (code, expected) in [
        ("ratelimited", "too_many_requests"),
        ("internal_api_error_DBQueryError", "server"),
        ("readonly", "server"),
        ("badcontinue", "api"),
    ] {
        server.fail(Some((code, "said\nso")));
        for key in [&key, &seeds(site.as_ref())[0]] {
            assert_eq!(visit(site.as_ref(), key).why(), expected, "{code}");
        }
    }
    server.fail(None);
    assert!(site.pace(&host).unwrap().every_ms > 0, "it says that it is asked too often");
    let server = ScriptedWiki::start(10);
    server.write("A", "apple", &[]);
    let quick = wiki(&server, json!({}));
    let key = server.url("A");
    let host = quick.bins(&key).remove(0);
    assert_eq!(visit(quick.as_ref(), &key).why(), "read");
    server.lag(1);
    match visit(quick.as_ref(), &key).answer {
        Err(Fault::Passing { reason, retry_in_ms: Some(1_000), .. }) => assert_eq!(reason.code, "maxlag"),
        answer => panic!("{answer:?}"),
    }
    assert!(quick.pace(&host).unwrap().every_ms >= 1_000);
}

#[test]
fn a_wiki_that_wants_to_be_left_alone_is_not_asked() {
    let server = ScriptedWiki::start(10);
    server.write("A", "apple", &[]);
    let site = wiki(&server, json!({}));
    let key = server.url("A");
    assert_eq!(visit(site.as_ref(), &key).why(), "read");
    server.server.answer_by(|_| Some(Answer::status(429).with("Retry-After", "3600")));
    assert_eq!(visit(site.as_ref(), &key).why(), "too_many_requests");
    server.server.asked();
    for _ in 0..3 {
        match visit(site.as_ref(), &key).answer {
            Err(Fault::Passing { reason, retry_in_ms: Some(wait), .. }) => {
                assert!(reason.code == "left_alone" && wait > 3_000_000, "{reason:?} {wait}");
            }
            answer => panic!("{answer:?}"),
        }
    }
    assert_eq!(server.server.asked().len(), 0);
}

#[test]
fn a_page_that_is_too_large_is_left_out_and_a_list_is_not() {
    let server = ScriptedWiki::start(10);
    server.write("A", &"apple ".repeat(1_000), &[]);
    server.write("B", "banana", &[]);
    let site = wiki(&server, json!({"size_max": "2KB"}));
    let answer = visit(site.as_ref(), &server.url("A")).answer;
    assert!(
        matches!(&answer, Ok(VisitAnswer::NoEntry(reason, leads)) if reason.code == "too_large" && leads.incomplete),
        "{answer:?}"
    );
    assert_eq!(visit(site.as_ref(), &server.url("B")).why(), "read");
    (0..9).for_each(|n| server.write(&format!("Page {n}"), "apple", &[]));
    let list = visit(site.as_ref(), &seeds(site.as_ref())[0]).answer;
    assert!(matches!(&list, Err(Fault::Broken(reason)) if reason.code == "too_large"), "{list:?}");
}

#[test]
fn what_is_no_wiki_is_told_so() {
    let server = SiteServer::start();
    let root = format!("wiki+{}", server.url("/api.php"));
    let site = opened(&settings(&root, json!({"pages": server.url("/wiki/$1")}))).unwrap();
    let code = |answer: Answer| {
        server.put("/api.php", answer.clone());
        server.answer_by(move |_| Some(answer.clone()));
        let seed = seeds(site.as_ref()).remove(0);
        (visit(site.as_ref(), &seed).why(), visit(site.as_ref(), &server.url("/wiki/A")).why())
    };
    let both = |code: &str| (code.to_owned(), code.to_owned());
    assert_eq!(code(Answer::page("<html>log in</html>")), both("no_wiki"));
    assert_eq!(code(Answer::of("application/json", "{}")), both("no_wiki"));
    assert_eq!(code(Answer::of("application/json", "[".repeat(100_000))), both("no_wiki"));
    assert_eq!(code(Answer::status(404)), both("no_api"));
    assert_eq!(code(Answer::status(410)), both("no_api"));
    assert_eq!(code(Answer::status(418)), both("client_status"));
    assert_eq!(code(Answer::status(302).with("Location", "/login")), both("api_moved"));
    assert_eq!(code(Answer::status(503)), both("server"));
    // It says what it is, and then nothing more.
    let about = r#"{"query":{"general":{"server":"http://x","articlepath":"/$1"},"namespaces":{"0":{"id":0,"name":""}}}}"#;
    assert_eq!(code(Answer::of("application/json", about)), both("api"));
    let check = site.check(&call());
    assert!(check.is_ok(), "{check:?}");
}

#[test]
fn a_wiki_that_goes_on_for_ever_or_asks_for_something_else_is_not_followed() {
    let server = SiteServer::start();
    let root = format!("wiki+{}", server.url("/api.php"));
    let answers = |more: &'static str| {
        server.answer_by(move |asked| {
            let about = r#"{"query":{"general":{"server":"http://x","articlepath":"/$1"},"namespaces":{"0":{"id":0,"name":""}}}}"#;
            let list = format!(r#"{{"batchcomplete":true,"query":{{"pages":[]}},"continue":{more}}}"#);
            let body = if asked.path.contains("siteinfo") { about.to_owned() } else { list };
            Some(Answer::of("application/json", body))
        });
    };
    let site = opened(&settings(&root, json!({"pages": server.url("/wiki/$1")}))).unwrap();
    let seed = seeds(site.as_ref()).remove(0);
    answers(r#"{"action":"delete","gapcontinue":7}"#);
    let next = visit(site.as_ref(), &seed).led().remove(0).0;
    assert!(next.ends_with("gapcontinue=7#1") && !next.contains("delete"), "{next}");
    assert_eq!(visit(site.as_ref(), &next).why(), "api", "it goes on where it is");
    answers(r#"{"action":"delete"}"#);
    assert_eq!(visit(site.as_ref(), &seed).why(), "api");
    assert!(server.paths().iter().all(|path| path.contains("action=query") && !path.contains("delete")));
}

#[test]
fn pages_at_another_host_than_the_api_are_believed_of_settings_alone() {
    let server = ScriptedWiki::start(10);
    server.write("A", "apple", &[]);
    server.articles("@bank.example/$1");
    let site = wiki(&server, json!({}));
    assert_eq!(visit(site.as_ref(), &seeds(site.as_ref())[0]).why(), "pages");
    let told = wiki(&server, json!({"pages": "https://wiki.example.org/$1"}));
    assert_eq!(listed(told.as_ref())[0].0, "https://wiki.example.org/A");
    assert_eq!(told.named("A").unwrap().key, "https://wiki.example.org/A");
    assert_eq!(
        told.named("https://wiki.example.org/A%20b#part").unwrap().key,
        "https://wiki.example.org/A_b"
    );
}
