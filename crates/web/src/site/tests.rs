//! What a site is asked, what of its answers is an entry, and where they lead; over HTTP, by the connector alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_contract::refers::{Asked, HandedDown, InPlace, VisitAnswer};
use ingather_contract::repository::{HostContext, Repository};
use ingather_model::access::Acl;
use ingather_model::document::{Link, Links};
use ingather_model::fault::Fault;
use ingather_testkit::script_repository::server::{Answer, SiteServer};
use ingather_testkit::suites::{self, ReferringSample};
use serde_json::{Value, json};

use super::REFERRING;

mod answers;
mod feeds;
mod polite;
mod sitemaps;

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

/// Settings of a job that begins at this address of a server on this machine.
fn settings(root: &str, more: Value) -> Value {
    let mut settings = json!({
        "root": root, "private_networks": ["127.0.0.1"], "access": ["everybody"], "delay_ms": 0, "sitemaps": false
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        settings[name] = value.clone();
    }
    settings
}

fn opened(settings: &Value) -> Result<Arc<dyn Repository>, Fault> {
    (REFERRING.open)(settings, &HostContext::default())
}

fn site(server: &SiteServer, more: Value) -> Arc<dyn Repository> {
    opened(&settings(&server.url("/docs/"), more)).unwrap()
}

/// Visits a page; `links` are what the stages find in it.
fn visit_with(site: &dyn Repository, key: &str, links: &Links) -> Result<VisitAnswer, Fault> {
    visit_asked(site, &Asked::of(key), links)
}

fn visit_asked(site: &dyn Repository, asked: &Asked<'_>, links: &Links) -> Result<VisitAnswer, Fault> {
    let refers = site.refers().unwrap();
    let once = || {
        refers.visit(&call(), asked, &mut |_, _, content| {
            std::io::copy(content, &mut std::io::sink())
                .map_err(|_| Fault::passing("io", "the content cannot be read to its end"))?;
            Ok(links.clone())
        })
    };
    match once() {
        Ok(VisitAnswer::Again { .. }) => once(),
        answer => answer,
    }
}

fn visit(site: &dyn Repository, key: &str) -> Result<VisitAnswer, Fault> {
    visit_with(site, key, &Links::default())
}

/// What a visit led to, by the paths of addresses below the server.
fn led(server: &SiteServer, answer: &Result<VisitAnswer, Fault>) -> BTreeSet<String> {
    let begin = server.url("");
    match answer {
        Ok(VisitAnswer::Read(_, leads) | VisitAnswer::NoEntry(_, leads)) => {
            let keys = leads.references.iter().map(|reference| reference.key.as_str());
            keys.map(|key| key.strip_prefix(&begin).unwrap_or(key).to_owned()).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// Why a page is no entry, or what failed.
fn why(answer: &Result<VisitAnswer, Fault>) -> String {
    match answer {
        Ok(VisitAnswer::NoEntry(reason, _)) => reason.code.clone(),
        Ok(_) => "read".to_owned(),
        Err(fault) => fault.reason().code,
    }
}

fn linked(links: &[(&str, &str)]) -> Links {
    let link = |(address, rel): &(&str, &str)| Link {
        address: (*address).to_owned(),
        rel: (*rel).to_owned(),
        ..Link::default()
    };
    Links { list: links.iter().map(link).collect(), ..Links::default() }
}

#[test]
fn it_keeps_what_a_repository_that_refers_promises() {
    let server = SiteServer::start();
    server.put("/docs/", Answer::of("text/html", "first"));
    let (root, absent) = (server.url("/docs/"), server.url("/docs/absent"));
    suites::referring(
        &REFERRING,
        &ReferringSample {
            source: settings(&root, json!({})),
            host: HostContext::default(),
            present: (&root, b"first"),
            absent: &absent,
            change: (&|| server.put("/docs/", Answer::of("text/html", "second")), b"second"),
        },
    );
}

#[test]
fn links_are_followed_below_the_root_in_their_one_spelling_and_not_where_the_page_forbids_it() {
    let server = SiteServer::start();
    server.put("/docs/", Answer::page("a"));
    let site = site(&server, json!({"exclude": ["**/drafts/**"]}));
    let links = linked(&[
        ("a.html#part", ""),
        ("./x/../a.html", ""),
        ("b.html?utm_source=x&id=1", ""),
        ("/other/c.html", ""),
        ("drafts/d.html", ""),
        ("http://elsewhere.example/docs/", ""),
        ("ad.html", "nofollow sponsored"),
        ("style.css", "stylesheet"),
        ("mailto:a@example.org", ""),
    ]);
    let answer = visit_with(site.as_ref(), &server.url("/docs/"), &links);
    assert_eq!(
        led(&server, &answer),
        BTreeSet::from(["/docs/a.html".to_owned(), "/docs/b.html?id=1".to_owned()])
    );
    let based = Links { base: Some("/docs/deep/".to_owned()), ..linked(&[("e.html", "")]) };
    assert_eq!(led(&server, &visit_with(site.as_ref(), &server.url("/docs/"), &based)).len(), 1);
}

#[test]
fn what_robots_txt_keeps_out_is_not_asked_for_and_its_rules_are_asked_for_once() {
    let server = SiteServer::start();
    server.put(
        "/robots.txt",
        Answer::of("text/plain", "User-agent: *\nDisallow: /docs/private\nSitemap: /docs/map.xml\n"),
    );
    server.put("/docs/", Answer::page("a"));
    server.put("/docs/private.html", Answer::page("secret"));
    let site = site(&server, json!({}));
    assert_eq!(why(&visit(site.as_ref(), &server.url("/docs/"))), "read");
    assert_eq!(why(&visit(site.as_ref(), &server.url("/docs/private.html"))), "robots");
    assert_eq!(server.paths(), ["/robots.txt", "/docs/"]);
    // Only for sites of one's own.
    let disobedient = opened(&settings(&server.url("/docs/"), json!({"obey": false}))).unwrap();
    assert_eq!(why(&visit(disobedient.as_ref(), &server.url("/docs/private.html"))), "read");
}

#[test]
fn a_host_whose_rules_cannot_be_had_is_not_read_and_is_asked_again() {
    let server = SiteServer::start();
    server.put("/robots.txt", Answer::status(503));
    server.put("/docs/", Answer::page("a"));
    let site = site(&server, json!({}));
    let answer = visit(site.as_ref(), &server.url("/docs/"));
    assert!(matches!(&answer, Err(Fault::Passing { reason, .. }) if reason.code == "robots"), "{answer:?}");
    assert_eq!(server.paths(), ["/robots.txt"]);
}

#[test]
fn a_page_waits_its_turn_after_the_rules_of_its_host_were_asked_for() {
    let server = SiteServer::start();
    server.put("/docs/", Answer::page("a"));
    let site = site(&server, json!({"delay_ms": 50}));
    let root = server.url("/docs/");
    let visited =
        site.refers().unwrap().visit(&call(), &Asked::of(&root), &mut |_, _, _| Ok(Links::default()));
    assert!(matches!(visited, Ok(VisitAnswer::Again { .. })), "{visited:?}");
    assert_eq!(server.paths(), ["/robots.txt"]);
    assert_eq!(why(&visit(site.as_ref(), &root)), "read");
}

#[test]
fn what_a_page_says_of_itself_decides_whether_it_is_an_entry_and_whether_it_leads_on() {
    let server = SiteServer::start();
    for path in ["/docs/", "/docs/header"] {
        server.put(path, Answer::page("a"));
    }
    server.put("/docs/header", Answer::page("a").with("X-Robots-Tag", "noindex, nofollow"));
    let site = site(&server, json!({}));
    let with = |links: Links| {
        let answer = visit_with(site.as_ref(), &server.url("/docs/"), &links);
        (why(&answer), led(&server, &answer).len())
    };
    let robots = |content: &str| Links {
        robots: vec![("robots".to_owned(), content.to_owned())],
        ..linked(&[("b", "")])
    };
    assert_eq!(with(robots("index")), ("read".to_owned(), 1));
    assert_eq!(with(robots("noindex")), ("noindex".to_owned(), 1));
    assert_eq!(with(robots("nofollow")), ("read".to_owned(), 0));
    assert_eq!(with(robots("none")), ("noindex".to_owned(), 0));
    let canonical = |to: &str| Links { canonical: Some(to.to_owned()), ..Links::default() };
    assert_eq!(with(canonical("real.html")), ("canonical".to_owned(), 1));
    let answer = visit_with(site.as_ref(), &server.url("/docs/"), &canonical("real.html"));
    assert!(
        matches!(&answer, Ok(VisitAnswer::NoEntry(_, leads)) if leads.in_place
            == Some(InPlace { reference: 0, has_content: true })),
        "{answer:?}"
    );
    // Where the other one is none, it is read, and leads there still.
    let start = server.url("/docs/");
    let asked = Asked { stands_alone: true, ..Asked::of(&start) };
    let answer = visit_asked(site.as_ref(), &asked, &canonical("real.html"));
    assert_eq!((why(&answer), led(&server, &answer).len()), ("read".to_owned(), 1));
    assert_eq!(with(canonical("/docs/")), ("read".to_owned(), 0), "it is itself");
    assert_eq!(
        with(canonical("http://elsewhere.example/")),
        ("read".to_owned(), 0),
        "what lies outside hides nothing"
    );
    let answer = visit_with(site.as_ref(), &server.url("/docs/header"), &linked(&[("b", "")]));
    assert_eq!((why(&answer), led(&server, &answer).len()), ("noindex".to_owned(), 0));
}

#[test]
fn a_page_that_says_until_when_it_may_be_found_expires_then_and_is_read_each_time() {
    let server = SiteServer::start();
    let until = |date: &str| Answer::page("a").with("X-Robots-Tag", &format!("unavailable_after: {date}"));
    server.put("/docs/", until("2999-01-01"));
    server.put("/docs/past", until("2011-01-01"));
    let site = site(&server, json!({}));
    match visit_with(site.as_ref(), &server.url("/docs/"), &Links::default()) {
        Ok(VisitAnswer::Read(observed, leads)) => {
            assert_eq!(observed.dates.expires_not_after, Some(32_472_144_000_000));
            assert_eq!(leads.memo, None, "an answer that it is as before would not say it");
        }
        other => panic!("{other:?}"),
    }
    let answer = visit_with(site.as_ref(), &server.url("/docs/past"), &linked(&[("b", "")]));
    assert_eq!((why(&answer), led(&server, &answer).len()), ("noindex".to_owned(), 1), "it leads on");
}

#[test]
fn redirects_are_followed_as_links_and_never_out_of_the_job() {
    let server = SiteServer::start();
    let to = |location: &str| Answer::status(302).with("Location", location);
    server.put("/docs/old", to("/docs/new"));
    server.put("/docs/out", to("http://elsewhere.example/docs/"));
    server.put("/docs/loop", to("/docs/loop#again"));
    let site = site(&server, json!({}));
    let visited = |path: &str| visit(site.as_ref(), &server.url(path));
    let old = visited("/docs/old");
    assert_eq!(
        (why(&old), led(&server, &old)),
        ("redirect".to_owned(), BTreeSet::from(["/docs/new".to_owned()]))
    );
    let out = visited("/docs/out");
    assert_eq!((why(&out), led(&server, &out).len()), ("redirect_outside".to_owned(), 0));
    assert_eq!(why(&visited("/docs/loop")), "redirect_loop");
}

/// A chain of redirects without end, and indexes of sitemaps that lead to ever more of them, are bounded as links are.
#[test]
fn what_leads_on_without_end_is_bounded_by_the_addresses_that_are_alike() {
    let server = SiteServer::start();
    let number = |path: &str| path.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u32>().unwrap_or(0);
    let own = server.url("");
    server.answer_by(move |asked| match asked.path.as_str() {
        path if path.starts_with("/docs/r") => {
            Some(Answer::status(301).with("Location", &format!("/docs/r{}", number(path) + 1)))
        }
        path if path.starts_with("/sitemap") => Some(Answer::of(
            "application/xml",
            format!(
                "<sitemapindex><sitemap><loc>{own}/sitemap{}.xml</loc></sitemap></sitemapindex>",
                number(path) + 1
            ),
        )),
        _ => None,
    });
    let site = site(&server, json!({"sitemaps": true, "traps": {"alike_max": 20}}));
    for first in ["/docs/r0", "/sitemap0.xml"] {
        let mut at = vec![server.url(first)];
        let mut visited = 0;
        let role = HandedDown::from([("role".to_owned(), BTreeSet::from(["sitemap".to_owned()]))]);
        while let Some(key) = at.pop() {
            visited += 1;
            assert!(visited < 50, "{key}");
            let handed = if first.contains("sitemap") { role.clone() } else { HandedDown::new() };
            let asked = Asked { handed_down: &handed, ..Asked::of(&key) };
            match visit_asked(site.as_ref(), &asked, &Links::default()) {
                Ok(VisitAnswer::NoEntry(_, leads)) => {
                    at.extend(leads.references.iter().map(|to| to.key.clone()));
                    assert!(leads.incomplete || !at.is_empty(), "what is left out by a number is not gone");
                }
                answer => panic!("{key}: {answer:?}"),
            }
        }
        assert!(visited > 15, "{first}: {visited}");
    }
}

#[test]
fn a_page_that_breaks_off_is_no_page_and_a_host_that_is_asked_too_often_is_asked_less() {
    let server = SiteServer::start();
    server.put("/docs/", Answer { cut_off_after: Some(4_000), ..Answer::page(&"x".repeat(9_000)) });
    server.put("/docs/busy", Answer::status(429).with("Retry-After", "7"));
    let site = site(&server, json!({}));
    let broken = visit(site.as_ref(), &server.url("/docs/"));
    assert!(matches!(&broken, Err(Fault::Passing { reason, .. }) if reason.code == "cut_off"), "{broken:?}");
    let host = site.bins(&server.url("/docs/")).remove(0);
    assert_eq!(site.pace(&host).unwrap().every_ms, 0);
    let busy = visit(site.as_ref(), &server.url("/docs/busy"));
    assert!(matches!(&busy, Err(Fault::Passing { retry_in_ms: Some(7_000), .. })), "{busy:?}");
    assert_eq!(site.pace(&host).unwrap().every_ms, 7_000);
}

/// What needs a secret, or a place that not everybody reaches, is for nobody who was not named.
#[test]
fn what_not_everybody_can_read_is_for_those_who_are_named_and_without_names_the_job_is_refused() {
    let root = "https://docs.example.org/";
    let refused = |more: Value| {
        let mut settings = json!({"root": root});
        for (name, value) in more.as_object().into_iter().flatten() {
            settings[name] = value.clone();
        }
        opened(&settings).err().map(|fault| fault.to_string()).unwrap_or_default()
    };
    let secret = json!([{"origin": "https://docs.example.org", "user": "ann", "password": "secret"}]);
    assert_eq!(refused(json!({})), "");
    for more in [
        json!({"private_networks": ["10.0.0.0/8"]}),
        json!({"credentials": secret}),
        json!({"certificate_file": "/tmp/a.pem", "key_file": "/tmp/a.key"}),
        json!({"proxy": {"url": "http://proxy.example:3128"}}),
    ] {
        assert!(refused(more.clone()).contains("`access`"), "{more}");
        let mut named = more.clone();
        named["access"] = json!(["unix:g:1000"]);
        assert_eq!(refused(named), "", "{more}");
    }
    assert!(refused(json!({"access": ["everybody", "unix:g:1"]})).contains("leave one out"));
    for (near, meant) in [
        ("Everybody", "everybody is `everybody`"),
        ("everyone", "`unix:everyone`"),
        ("public", "everybody is `everybody`"),
        ("ann", "`unix:u:NUMBER`"),
        ("unix:u:ann", "`unix:u:NUMBER`"),
        ("Unix:g:7", "`unix:g:NUMBER`"),
    ] {
        let said = refused(json!({"access": [near]}));
        assert!(said.contains(meant) && said.contains("number 1"), "{near}: {said}");
    }
    assert_eq!(refused(json!({"access": ["ad:S-1-5-21", "unix:everyone"]})), "");
    assert!(
        !refused(json!({"credentials": [{"origin": "x", "user": "ann", "token": "secret"}]}))
            .contains("secret\"")
    );
    let server = SiteServer::start();
    server.put("/docs/", Answer::page("a"));
    let site = opened(&settings(&server.url("/docs/"), json!({"access": ["unix:g:7"]}))).unwrap();
    match visit(site.as_ref(), &server.url("/docs/")) {
        Ok(VisitAnswer::Read(observed, _)) => {
            assert_eq!(observed.acl, Acl::Flat { allow: vec!["unix:g:7".to_owned()], deny: Vec::new() });
        }
        answer => panic!("{answer:?}"),
    }
}

#[test]
fn the_charset_of_a_header_reaches_the_stages_and_is_part_of_what_a_page_is() {
    let server = SiteServer::start();
    let site = site(&server, json!({}));
    let read = |media: &str| {
        server.put("/docs/", Answer::of(media, "a"));
        let (mut charset, key) = (None, server.url("/docs/"));
        let refers = site.refers().unwrap();
        let mut once = || {
            refers.visit(&call(), &Asked::of(&key), &mut |record, _, _| {
                charset = record.charset.clone();
                Ok(Links::default())
            })
        };
        match once() {
            Ok(VisitAnswer::Again { .. }) => once().unwrap(),
            answer => answer.unwrap(),
        };
        charset
    };
    for (media, expected) in [
        ("text/html", None),
        ("text/html; charset=Windows-1251", Some("windows-1251")),
        ("text/html;version=1; CHARSET = \"utf-8\"", None),
        ("text/html; charset='SJIS'", Some("shift_jis")),
        ("text/html; charset=none", None),
        ("text/html; charset=", None),
        ("text/html; charset", None),
    ] {
        assert_eq!(read(media).as_deref(), expected, "{media}");
    }
    let content = |media: &str| {
        server.put("/docs/", Answer::of(media, "a"));
        match visit(site.as_ref(), &server.url("/docs/")) {
            Ok(VisitAnswer::Read(observed, _)) => observed.content,
            answer => panic!("{answer:?}"),
        }
    };
    assert_ne!(content("text/html; charset=koi8-r"), content("text/html; charset=koi8-u"));
}

#[test]
fn a_root_has_one_spelling_and_settings_are_refused_with_what_to_do() {
    let said =
        |root: &str| opened(&json!({"root": root})).err().map(|fault| fault.to_string()).unwrap_or_default();
    assert_eq!(said("https://docs.example.org/guide/"), "");
    assert!(said("https://Docs.Example.org/guide/../").contains("name it so: https://docs.example.org/"));
    assert!(said("feed+https://docs.example.org/f").contains("is a feed"));
    assert!(said("ftp://docs.example.org/").contains("ftp"));
    let with = |more: Value| {
        let mut settings = json!({"root": "https://docs.example.org/"});
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        opened(&settings).err().map(|fault| fault.to_string()).unwrap_or_default()
    };
    assert!(with(json!({"delay_ms": -1})).contains("delay_ms"));
    assert!(
        with(json!({"private_networks": ["ten"], "access": ["everybody"]})).contains("no network such as")
    );
    assert!(with(json!({"exclude": ["["]})).contains("exclude"));
    assert!(with(json!({"crawl": 1})).contains("no setting"));
    assert!(with(json!({"exclude": ["*.pdf"]})).contains("**/*.pdf"));
    assert!(with(json!({"entries": "followed"})).contains("`feed+`"));
    for (contact, is_taken) in
        [("me", false), ("@", false), ("me@example.org", true), ("https://example.org/bot", true)]
    {
        assert_eq!(with(json!({"contact": contact})).is_empty(), is_taken, "{contact}");
    }
}
