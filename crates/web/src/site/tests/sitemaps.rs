//! Which addresses are read as sitemaps, and what becomes of those that are none.

use std::collections::BTreeMap;

use super::*;

fn role() -> HandedDown {
    BTreeMap::from([("role".to_owned(), BTreeSet::from(["sitemap".to_owned()]))])
}

/// Visits what was named as a sitemap.
fn visit_named(site: &dyn Repository, key: &str) -> Result<VisitAnswer, Fault> {
    let role = role();
    visit_asked(site, &Asked { handed_down: &role, ..Asked::of(key) }, &Links::default())
}

fn map(urls: &[String]) -> Answer {
    let urls: String = urls.iter().map(|url| format!("<url><loc>{url}</loc></url>")).collect();
    Answer::of("text/xml", format!("<?xml version=\"1.0\"?><urlset>{urls}</urlset>"))
}

/// What a visit hands down its role to, by paths.
fn named(server: &SiteServer, answer: &Result<VisitAnswer, Fault>) -> BTreeSet<String> {
    let (begin, role) = (server.url(""), role());
    let leads = match answer {
        Ok(VisitAnswer::Read(_, leads) | VisitAnswer::NoEntry(_, leads)) => leads,
        _ => return BTreeSet::new(),
    };
    let with_role = leads.references.iter().filter(|reference| reference.hands_down == role);
    with_role.map(|reference| reference.key.replace(&begin, "")).collect()
}

#[test]
fn sitemaps_lead_to_what_they_name_within_the_job_and_are_no_entries() {
    let server = SiteServer::start();
    let urls = [server.url("/docs/a"), server.url("/other/b"), "http://elsewhere.example/docs/c".to_owned()];
    server.put("/sitemap.xml", map(&urls));
    let index =
        format!("<sitemapindex><sitemap><loc>{}</loc></sitemap></sitemapindex>", server.url("/sm.xml"));
    server.put("/docs/map", Answer::of("text/xml", index));
    server.put(
        "/docs/broken",
        Answer::of("text/xml", format!("<urlset><url><loc>{}</loc></url><url", urls[0])),
    );
    let site = site(&server, json!({"sitemaps": true}));
    let visited = |path: &str| visit(site.as_ref(), &server.url(path));
    let found = visited("/sitemap.xml");
    assert_eq!(
        (why(&found), led(&server, &found)),
        ("sitemap".to_owned(), BTreeSet::from(["/docs/a".to_owned()]))
    );
    assert_eq!(named(&server, &visited("/docs/map")), BTreeSet::from(["/sm.xml".to_owned()]));
    match visited("/docs/broken") {
        Ok(VisitAnswer::NoEntry(_, leads)) => assert!(leads.incomplete && leads.references.len() == 1),
        answer => panic!("{answer:?}"),
    }
}

#[test]
fn a_sitemap_that_is_not_there_is_missing_as_any_page() {
    let server = SiteServer::start();
    let site = site(&server, json!({"sitemaps": true}));
    let answer = visit(site.as_ref(), &server.url("/sitemap.xml"));
    assert!(answer.as_ref().is_err_and(Fault::is_missing), "{answer:?}");
}

#[test]
fn what_is_named_as_a_sitemap_and_is_none_is_no_entry_and_keeps_what_it_led_to() {
    let server = SiteServer::start();
    let site = site(&server, json!({"sitemaps": true}));
    for answer in
        [Answer::linked("maintenance", &["/docs/x"]), Answer::page(""), Answer::of("text/plain", "no")]
    {
        server.put("/sitemap.xml", answer.clone());
        server.put("/private/my-sitemap.txt", answer);
        for key in ["/sitemap.xml", "/private/my-sitemap.txt"] {
            match visit_named(site.as_ref(), &server.url(key)) {
                Ok(VisitAnswer::NoEntry(reason, leads)) => {
                    assert!(reason.code == "no_sitemap" && leads.incomplete && leads.for_now, "{leads:?}");
                    assert!(leads.references.is_empty());
                }
                answer => panic!("{answer:?}"),
            }
        }
    }
}

#[test]
fn only_what_was_named_as_a_sitemap_is_read_outside_of_the_paths_of_a_job() {
    let server = SiteServer::start();
    let urls = [server.url("/docs/a")];
    for path in ["/private/sitemap.xml", "/sm.xml", "/closed/sitemap.xml"] {
        server.put(path, map(&urls));
    }
    server.put("/robots.txt", Answer::of("text/plain", "User-agent: *\nDisallow: /closed"));
    server.put("/docs/r", Answer::status(301).with("Location", "/private/sitemap.xml?who=me"));
    let site = site(&server, json!({"sitemaps": true, "exclude": ["**/private/**"]}));
    assert_eq!(why(&visit(site.as_ref(), &server.url("/sm.xml"))), "outside_path");
    assert_eq!(why(&visit_named(site.as_ref(), &server.url("/sm.xml"))), "sitemap");
    assert_eq!(why(&visit_named(site.as_ref(), &server.url("/private/sitemap.xml"))), "excluded");
    assert_eq!(why(&visit_named(site.as_ref(), &server.url("/closed/sitemap.xml"))), "robots");
    assert_eq!(why(&visit_named(site.as_ref(), "http://elsewhere.example/sitemap.xml")), "outside");
    assert_eq!(why(&visit(site.as_ref(), &server.url("/docs/r"))), "redirect_outside");
    assert!(matches!(
        site.explain(&call(), &server.url("/sm.xml")),
        ingather_contract::repository::SourceStatus::Left(_)
    ));
}

#[test]
fn the_role_of_a_sitemap_goes_along_with_a_redirect_and_to_no_page() {
    let server = SiteServer::start();
    let site = site(&server, json!({"sitemaps": true}));
    for (to, expected) in [("/sitemap_index.xml", "/sitemap_index.xml"), ("/docs/home", ""), ("/docs/", "")] {
        server.put("/sitemap.xml", Answer::status(302).with("Location", to));
        let answer = visit(site.as_ref(), &server.url("/sitemap.xml"));
        let expected: BTreeSet<String> =
            [expected.to_owned()].into_iter().filter(|to| !to.is_empty()).collect();
        assert_eq!(named(&server, &answer), expected, "{to}");
    }
}

#[test]
fn a_page_that_tells_about_sitemaps_is_a_page() {
    let server = SiteServer::start();
    server.put("/docs/how-to", Answer::page("<!doctype html><meta name=description content='<urlset>'><p>x"));
    server.put("/docs/my-sitemap.xml", Answer::page("<html>x"));
    let site = site(&server, json!({"sitemaps": true}));
    for path in ["/docs/how-to", "/docs/my-sitemap.xml"] {
        assert_eq!(why(&visit(site.as_ref(), &server.url(path))), "read", "{path}");
    }
}

#[test]
fn robots_txt_names_sitemaps_anew_while_the_page_where_it_begins_is_as_before() {
    let server = SiteServer::start();
    server.put("/docs/", Answer::page("a"));
    let key = server.url("/docs/");
    let first = visit(site(&server, json!({"sitemaps": true})).as_ref(), &key);
    let memo = match first {
        Ok(VisitAnswer::Read(_, leads)) => leads.memo.unwrap(),
        answer => panic!("{answer:?}"),
    };
    let again = || {
        let site = site(&server, json!({"sitemaps": true}));
        visit_asked(site.as_ref(), &Asked { memo: Some(&memo), ..Asked::of(&key) }, &Links::default())
    };
    assert!(matches!(again(), Ok(VisitAnswer::Unchanged { .. })));
    server.put("/robots.txt", Answer::of("text/plain", format!("Sitemap: {}", server.url("/sm.xml"))));
    assert_eq!(named(&server, &again()), BTreeSet::from(["/sm.xml".to_owned()]));
    let explained = site(&server, json!({"sitemaps": true})).explain(&call(), &server.url("/sm.xml"));
    assert!(format!("{explained:?}").contains("names it as a sitemap"), "{explained:?}");
}

#[test]
fn what_a_job_takes_of_pages_is_no_bound_for_sitemaps_and_robots_txt() {
    let server = SiteServer::start();
    let urls: Vec<String> = (0..100).map(|number| server.url(&format!("/docs/{number}"))).collect();
    server.put("/sitemap.xml", map(&urls));
    let rules = format!("# {}\nUser-agent: *\nDisallow: /docs/private", "x".repeat(5_000));
    server.put("/robots.txt", Answer::of("text/plain", rules));
    let site = site(&server, json!({"sitemaps": true, "size_max": 100}));
    let found = visit(site.as_ref(), &server.url("/sitemap.xml"));
    assert_eq!(led(&server, &found).len(), 100);
    assert!(matches!(found, Ok(VisitAnswer::NoEntry(_, leads)) if !leads.incomplete));
    assert_eq!(why(&visit(site.as_ref(), &server.url("/docs/private"))), "robots");
}
