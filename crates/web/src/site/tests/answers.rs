//! What answers mean for a page and for those that it leads to.

use super::*;

/// Whether all that is known is kept.
fn keeps_all(answer: &Result<VisitAnswer, Fault>) -> bool {
    match answer {
        Err(Fault::Broken(_)) => true,
        Err(fault @ Fault::Passing { .. }) => !fault.is_missing(),
        _ => false,
    }
}

#[test]
fn answers_that_say_nothing_of_a_page_keep_it_and_what_it_leads_to() {
    let server = SiteServer::start();
    let site = site(&server, json!({}));
    let visited = |answer: Answer| {
        server.put("/docs/", answer);
        visit(site.as_ref(), &server.url("/docs/"))
    };
    // 429 says that it is asked too often, and is seen to elsewhere.
    let hidden = [401, 403, 404, 407, 410, 429];
    for status in
        (400..=451).filter(|status| !hidden.contains(status)).chain([201, 204, 205, 226, 300, 305, 600])
    {
        let answer = visited(Answer::status(status));
        assert!(keeps_all(&answer), "{status}: {answer:?}");
    }
    for coding in ["compress", "utf-8", "gzip, gzip, gzip"] {
        let answer = visited(Answer::page("a").with("Content-Encoding", coding));
        assert!(keeps_all(&answer), "{coding}: {answer:?}");
    }
}

#[test]
fn what_is_too_much_is_no_entry_and_leads_to_what_it_led_to_before() {
    let server = SiteServer::start();
    server.put("/docs/", Answer::page(&"x".repeat(3_000)));
    let small = site(&server, json!({"size_max": 2_999}));
    match visit(small.as_ref(), &server.url("/docs/")) {
        Ok(VisitAnswer::NoEntry(reason, leads)) => {
            assert!(reason.code == "too_large" && leads.incomplete, "{reason:?} {leads:?}");
        }
        answer => panic!("{answer:?}"),
    }
    let enough = site(&server, json!({"size_max": 3_000}));
    assert_eq!(why(&visit(enough.as_ref(), &server.url("/docs/"))), "read");
}

#[test]
fn certificates_that_cannot_be_read_now_leave_out_no_page() {
    let server = SiteServer::start();
    let site = site(&server, json!({"roots_file": "/nowhere/roots.pem"}));
    let answer = visit(site.as_ref(), &server.url("/docs/"));
    assert!(keeps_all(&answer), "{answer:?}");
}

#[test]
fn a_redirect_for_a_while_is_one_for_now() {
    let server = SiteServer::start();
    let site = site(&server, json!({}));
    for (status, expected) in [(301, false), (302, true), (303, true), (307, true), (308, false)] {
        for to in ["/docs/new", "http://elsewhere.example/", "http://10.0.0.1/", "mailto:a@example.org"] {
            server.put("/docs/", Answer::status(status).with("Location", to));
            match visit(site.as_ref(), &server.url("/docs/")) {
                Ok(VisitAnswer::NoEntry(_, leads)) => {
                    assert_eq!(leads.for_now, expected, "{status} {to}");
                    assert!(leads.references.iter().all(|reference| reference.relation == 1));
                }
                answer => panic!("{status} {to}: {answer:?}"),
            }
        }
    }
    assert_eq!(site.refers().unwrap().relations(), ["link", "redirect"]);
}

#[test]
fn a_page_that_wants_a_password_in_place_of_others_is_told() {
    let server = SiteServer::start();
    let form = format!("<p>Welcome{}</p><form><input type='Password'></form>", " ".repeat(100_000));
    server.put("/docs/login", Answer::page(&form));
    for status in [301, 302, 303, 307, 308] {
        let site = site(&server, json!({}));
        for path in ["/docs/", "/docs/other"] {
            let to = format!("/docs/login?next={path}");
            server.put(&to, Answer::page(&form));
            server.put(path, Answer::status(status).with("Location", &to));
            assert_eq!(why(&visit(site.as_ref(), &server.url(path))), "redirect");
            assert_eq!(why(&visit(site.as_ref(), &server.url(&to))), "read");
        }
        let notes = site.notes();
        assert!(matches!(&notes[..], [note] if note.contains("wants a password")), "{status}: {notes:?}");
        let checked = site.check(&call()).unwrap();
        assert!(checked.contains("wants a password") && checked.contains("`login`"), "{checked}");
    }
    // One that stands there for itself, and one that wants nothing.
    let alone = site(&server, json!({}));
    server.put("/docs/", Answer::status(302).with("Location", "/docs/home"));
    server.put("/docs/home", Answer::page("home"));
    for path in ["/docs/login", "/docs/", "/docs/home"] {
        visit(alone.as_ref(), &server.url(path)).unwrap();
    }
    assert_eq!(alone.notes(), Vec::<String>::new());
}

#[test]
fn a_page_is_found_until_the_time_that_it_names() {
    let server = SiteServer::start();
    let site = site(&server, json!({}));
    // The clock of the tests stands in November 2023.
    for (date, expected) in [("Fri, 25 Jun 2010 15:00:00 GMT", "noindex"), ("2030-01-01", "read")] {
        let until = format!("unavailable_after: {date}");
        server.put("/docs/", Answer::page("a").with("X-Robots-Tag", &until));
        let answer = visit(site.as_ref(), &server.url("/docs/"));
        assert_eq!(why(&answer), expected, "{date}");
        if let Ok(VisitAnswer::Read(_, leads)) = answer {
            assert_eq!(leads.memo, None, "it is asked for again, so that the time is seen to be over");
        }
    }
}

#[test]
fn a_page_whose_links_are_not_followed_leads_to_no_canonical_one() {
    let server = SiteServer::start();
    server.put("/docs/", Answer::page("a").with("X-Robots-Tag", "noindex, nofollow"));
    let site = site(&server, json!({}));
    let links = Links { canonical: Some("real".to_owned()), ..Links::default() };
    let answer = visit_with(site.as_ref(), &server.url("/docs/"), &links);
    assert_eq!((why(&answer), led(&server, &answer).len()), ("noindex".to_owned(), 0));
}

#[test]
fn under_other_settings_a_page_that_is_as_before_is_read_for_where_it_leads() {
    let server = SiteServer::start();
    server.put("/docs/", Answer::page("a"));
    let memo = |site: &dyn Repository| match visit(site, &server.url("/docs/")) {
        Ok(VisitAnswer::Read(_, leads)) => leads.memo.unwrap(),
        answer => panic!("{answer:?}"),
    };
    let before = memo(site(&server, json!({})).as_ref());
    let with = |more: Value| {
        let site = site(&server, more);
        let key = server.url("/docs/");
        let asked = Asked { memo: Some(&before), ..Asked::of(&key) };
        matches!(visit_asked(site.as_ref(), &asked, &Links::default()), Ok(VisitAnswer::Unchanged { .. }))
    };
    assert!(with(json!({})) && with(json!({"delay_ms": 1})));
    assert!(!with(json!({"paths": ["/"]})) && !with(json!({"exclude": ["**/b"]})));
}

#[test]
fn a_page_where_it_begins_that_no_pattern_takes_in_is_only_followed() {
    let server = SiteServer::start();
    server.put("/docs/", Answer::page("a"));
    for patterns in [json!({"include": ["**/files/*"]}), json!({"exclude": ["**/docs/"]})] {
        let site = site(&server, patterns);
        let answer = visit_with(site.as_ref(), &server.url("/docs/"), &linked(&[("files/a", "")]));
        assert!(["not_included", "excluded"].contains(&why(&answer).as_str()), "{answer:?}");
        assert_eq!(led(&server, &answer), BTreeSet::from(["/docs/files/a".to_owned()]));
    }
}

#[test]
fn what_bounds_left_out_is_counted_and_named() {
    let server = SiteServer::start();
    server.put("/docs/", Answer::page("a"));
    let traps = json!({"depth_max": 2, "parameters_max": 1, "alike_max": 2, "path_bytes_max": 40});
    let site = site(&server, json!({"traps": traps}));
    let long = format!("long-{}", "x".repeat(40));
    let links = linked(&[
        ("a/b/c", ""),
        ("a/b/d", ""),
        ("q?a=1&b=2", ""),
        ("p1", ""),
        ("p2", ""),
        ("p3", ""),
        (&long, ""),
        ("taken", ""),
    ]);
    for _ in 0..2 {
        drop(visit_with(site.as_ref(), &server.url("/docs/"), &links));
    }
    let notes = site.notes();
    for begin in [
        "2 addresses were not followed by the bound `depth_max`",
        "1 address was not followed by the bound `parameters_max`",
        "1 address was not followed by the bound `alike_max`",
        "1 address was not followed by the bound `path_bytes_max`",
    ] {
        assert!(notes.iter().any(|note| note.starts_with(begin)), "{begin}: {notes:?}");
    }
}

#[test]
fn a_new_time_of_the_same_bytes_is_no_change() {
    let server = SiteServer::start();
    let site = site(&server, json!({}));
    let visited = |body: &str, date: &str, memo: Option<&[u8]>| {
        let page = Answer { untagged: true, ..Answer::page(body) }.with("Last-Modified", date);
        server.put("/docs/", page);
        let key = server.url("/docs/");
        match visit_asked(site.as_ref(), &Asked { memo, ..Asked::of(&key) }, &Links::default()) {
            Ok(VisitAnswer::Read(observed, leads)) => (observed.record.modified, leads.memo.unwrap()),
            answer => panic!("{answer:?}"),
        }
    };
    let (first, later) = ("Fri, 25 Jun 2010 15:00:00 GMT", "Sat, 26 Jun 2010 15:00:00 GMT");
    let (modified, memo) = visited("a", first, None);
    let (again, memo) = visited("a", later, Some(&memo));
    assert!(modified.is_some() && again == modified, "{again:?}");
    let (again, memo) = visited("a", "Sun, 27 Jun 2010 15:00:00 GMT", Some(&memo));
    assert_eq!(again, modified, "it is kept from run to run");
    let asked = server.asked().pop().unwrap();
    assert_eq!(asked.header("if-modified-since"), Some(later), "it is asked for by its newest time");
    assert_ne!(visited("b", later, Some(&memo)).0, modified);
    let long = "x".repeat(ingather_model::limits::WEB_COMPARED_BYTES_MAX + 1);
    let (modified, memo) = visited(&long, first, None);
    assert_ne!(visited(&long, later, Some(&memo)).0, modified, "a long one is not looked at");
}
