//! How often hosts are asked, and what their rules say when nobody understands them.

use std::time::{Duration, Instant};

use super::*;

const EVERY: Duration = Duration::from_millis(60);

/// Settings of a job that keeps to a pace.
fn paced(more: Value) -> Value {
    let mut settings = json!({"delay_ms": EVERY.as_millis() as u64});
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    settings
}

/// Requests follow one another as the pace says; their paths.
fn spaced(server: &SiteServer) -> Vec<String> {
    let asked = server.asked();
    for two in asked.windows(2) {
        let between = two[1].at - two[0].at;
        assert!(between >= EVERY, "{} {between:?} behind {}", two[1].path, two[0].path);
    }
    asked.into_iter().map(|asked| asked.path).collect()
}

#[test]
fn redirects_of_robots_txt_and_the_page_behind_them_keep_to_the_pace() {
    let server = SiteServer::start();
    server.put("/robots.txt", Answer::status(301).with("Location", "/r1"));
    server.put("/r1", Answer::status(302).with("Location", "/r2"));
    server.put("/r2", Answer::of("text/plain", "User-agent: *\nDisallow: /docs/private"));
    server.put("/docs/", Answer::page("a"));
    let site = site(&server, paced(json!({})));
    assert_eq!(why(&visit(site.as_ref(), &server.url("/docs/"))), "read");
    assert_eq!(why(&visit(site.as_ref(), &server.url("/docs/private"))), "robots");
    assert_eq!(spaced(&server), ["/robots.txt", "/r1", "/r2", "/docs/"]);
}

#[test]
fn a_proof_of_a_password_takes_a_turn_of_its_own() {
    let server = SiteServer::start();
    let wants = "Digest realm=\"r\", qop=\"auth\", nonce=\"n\", algorithm=SHA-256";
    server.answer_by(move |asked| {
        let is_asked = asked.path == "/docs/" && asked.header("authorization").is_none();
        is_asked.then(|| Answer::status(401).with("WWW-Authenticate", wants))
    });
    server.put("/docs/", Answer::page("a"));
    let credentials =
        json!([{"origin": server.url(""), "user": "ann", "password": "secret", "digest": true}]);
    let site = site(&server, paced(json!({"credentials": credentials})));
    assert_eq!(why(&visit(site.as_ref(), &server.url("/docs/"))), "read");
    assert_eq!(spaced(&server), ["/robots.txt", "/docs/", "/docs/"]);
}

#[test]
fn a_job_is_made_after_the_rules_of_its_host_were_asked_for_and_at_its_pace() {
    let server = SiteServer::start();
    server.put("/docs/", Answer::page("a"));
    let with = |more: Value| site(&server, paced(more)).check(&call());
    assert!(with(json!({})).is_ok());
    assert_eq!(spaced(&server), ["/robots.txt", "/docs/"]);
    server.put("/robots.txt", Answer::of("text/plain", "User-agent: *\nDisallow: /docs/"));
    let refused = with(json!({})).unwrap_err();
    assert!(matches!(&refused, Fault::Refused(reason) if reason.code == "robots"), "{refused:?}");
    assert_eq!(spaced(&server), ["/robots.txt"]);
    assert!(with(json!({"obey": false})).is_ok());
    server.put("/robots.txt", Answer::status(500));
    assert!(matches!(with(json!({})), Err(Fault::Passing { .. })));
    server.take_away("/robots.txt");
    server.put("/docs/", Answer::status(301).with("Location", "/docs/home"));
    assert!(with(json!({})).unwrap().contains("/docs/home"));
    server.put("/docs/", Answer::status(301).with("Location", "http://www.elsewhere.example/"));
    assert!(with(json!({})).unwrap_err().to_string().contains("name that address as the root"));
    server.put("/docs/", Answer::status(302).with("Location", "http://www.elsewhere.example/"));
    assert!(with(json!({})).is_ok(), "it may be so for a while");
    let login = json!({"page": server.url("/login"), "secret_fields": {"p": "x"}});
    server.put("/docs/", Answer::status(401));
    assert!(with(json!({"login": login, "access": ["unix:g:7"]})).is_ok());
    assert!(with(json!({})).unwrap_err().to_string().contains("`credentials`"));
}

#[test]
fn rules_that_nobody_understands_forbid_all_and_are_asked_for_again() {
    let server = SiteServer::start();
    server.put("/docs/", Answer::page("a"));
    let file = || Answer::of("text/plain", "User-agent: *\nDisallow: /nothing");
    let status = |status| Answer { status, ..file() };
    for odd in [
        file().with("Content-Encoding", "compress"),
        file().with("Content-Encoding", "utf-8"),
        file().with("Content-Range", "bytes 0-9/100"),
        status(206),
        status(201),
        status(226),
        status(300),
        status(301),
        status(304),
        status(408),
        status(503),
    ] {
        server.put("/robots.txt", odd.clone());
        let site = site(&server, json!({}));
        match visit(site.as_ref(), &server.url("/docs/")) {
            Err(Fault::Passing { reason, retry_in_ms: Some(wait), .. }) => {
                assert!(
                    reason.code == "robots" && wait == ingather_model::limits::ROBOTS_RETRY_MS,
                    "{reason:?}"
                );
            }
            answer => panic!("{odd:?}: {answer:?}"),
        }
        assert_eq!(server.paths(), ["/robots.txt"]);
    }
    for none in [Answer::status(204), Answer::status(404), Answer::status(403)] {
        server.put("/robots.txt", none);
        assert_eq!(why(&visit(site(&server, json!({})).as_ref(), &server.url("/docs/"))), "read");
    }
}

#[test]
fn a_host_says_with_its_rules_when_it_wants_to_be_asked_again() {
    let server = SiteServer::start();
    server.put("/robots.txt", Answer::status(503).with("Retry-After", "7200"));
    let (one, other) = (site(&server, json!({})), site(&server, json!({})));
    match visit(one.as_ref(), &server.url("/docs/")) {
        Err(Fault::Passing { retry_in_ms: Some(wait), .. }) => assert_eq!(wait, 7_200_000),
        answer => panic!("{answer:?}"),
    }
    drop(server.paths());
    // It counts for each job of the host.
    match visit(other.as_ref(), &server.url("/docs/")) {
        Err(Fault::Passing { retry_in_ms: Some(wait), .. }) => assert!(wait > 7_000_000, "{wait}"),
        answer => panic!("{answer:?}"),
    }
    assert_eq!(server.paths(), [""; 0], "it is left alone");
    assert!(one.notes().iter().any(|note| note.contains("left alone for 120 minutes")), "{:?}", one.notes());
}

#[test]
fn whoever_waits_for_a_turn_can_be_stopped() {
    let server = SiteServer::start();
    server.put("/docs/", Answer::page("a"));
    let site = site(&server, json!({"delay_ms": 60_000, "obey": false}));
    let key = server.url("/docs/");
    let (refers, context) = (site.refers().unwrap(), call());
    let mut read = |_: &mut _, _: &_, _: &mut dyn std::io::Read| Ok(Links::default());
    drop(refers.visit(&context, &Asked::of(&key), &mut read));
    // clock: it is the test that is not to take long.
    let began = Instant::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut read = |_: &mut _, _: &_, _: &mut dyn std::io::Read| Ok(Links::default());
            refers.visit(&context, &Asked::of(&key), &mut read)
        });
        context.cancel.cancel();
        let answer = waiting.join().unwrap();
        assert_eq!(why(&answer), "cancelled");
    });
    assert!(began.elapsed() < Duration::from_secs(30));
}
