//! A site is indexed by following its links, politely, and again nearly for free.

use std::process::Stdio;
use std::time::Duration;

use ingather_testkit::script_repository::server::{Answer, SiteServer};
use serde_json::json;

use super::{HERE, found, sync};
use crate::sandbox::Sandbox;

/// A site of four pages, one of which nothing leads to.
fn site() -> SiteServer {
    let server = SiteServer::start();
    server.put("/docs/", Answer::linked("start apple", &["a.html", "b.html", "http://elsewhere.example/"]));
    server.put("/docs/a.html", Answer::linked("page apple", &["/docs/", "deep/c.html"]));
    server.put("/docs/b.html", Answer::linked("page banana", &["gone.html"]));
    server.put("/docs/deep/c.html", Answer::linked("deep apple", &["../b.html"]));
    server.put("/docs/island.html", Answer::linked("island apple", &["/docs/"]));
    server
}

#[test]
fn a_site_is_found_changed_and_removed_by_its_links() {
    let (sandbox, server) = (Sandbox::sqlite(), site());
    let root = server.url("/docs/");
    let (counts, code) = sync(&sandbox, &root, HERE);
    assert_eq!((counts.get("added"), counts.get("failed"), code), (4, 0, 0), "{counts:?}");
    assert_eq!(found(&sandbox, &server, "apple"), ["/docs/", "/docs/a.html", "/docs/deep/c.html"]);
    server.asked();
    let (counts, code) = sync(&sandbox, &root, &[]);
    assert_eq!((counts.get("unchanged"), counts.get("updated"), code), (4, 0, 0), "{counts:?}");
    let asked = server.asked();
    assert_eq!(asked.iter().filter(|asked| asked.status == 304).count(), 4, "{asked:?}");

    server.put("/docs/a.html", Answer::linked("page cherry", &["/docs/", "new.html"]));
    server.put("/docs/new.html", Answer::linked("new cherry", &[]));
    let (counts, code) = sync(&sandbox, &root, &["--delete-guard", "off"]);
    let told = ["added", "updated", "deleted", "unchanged"].map(|name| counts.get(name));
    assert_eq!((told, code), ([1, 1, 1, 2], 0), "{counts:?}");
    assert_eq!(found(&sandbox, &server, "cherry"), ["/docs/a.html", "/docs/new.html"]);
    assert_eq!(found(&sandbox, &server, "deep"), Vec::<String>::new());
    sandbox.run(&["verify"]).exits(0);
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn a_page_is_explained_by_what_leads_to_it() {
    let (sandbox, server) = (Sandbox::sqlite(), site());
    let root = server.url("/docs/");
    sync(&sandbox, &root, HERE);
    let explained =
        |path: &str| sandbox.run(&["document", "explain", "docs", &server.url(path)]).exits(0).out;
    let linked = explained("/docs/b.html");
    assert!(linked.contains("is up to date in index"), "{linked}");
    for path in ["/docs/", "/docs/deep/c.html"] {
        assert!(linked.contains(&format!("{} (link)", server.url(path))), "{linked}");
    }
    let dead = explained("/docs/gone.html");
    assert!(dead.contains(&format!("led to by  {} (link)", server.url("/docs/b.html"))), "{dead}");
    let unlinked = explained("/docs/island.html");
    assert!(unlinked.contains("waits for  a page that leads to it"), "{unlinked}");
    for number in 0..5 {
        let from = format!("/docs/{number}.html");
        server.put(&from, Answer::linked("another", &["/docs/island.html"]));
    }
    let pages: Vec<String> = (0..5).map(|number| format!("{number}.html")).collect();
    server.put("/docs/", Answer::linked("start", &pages.iter().map(String::as_str).collect::<Vec<_>>()));
    sync(&sandbox, &root, &["--delete-guard", "off"]);
    let linked = explained("/docs/island.html");
    assert!(linked.contains("and 2 more"), "{linked}");
    let lonely = sandbox.run(&["document", "explain", "docs", &root, "--json"]).exits(0).json();
    assert_eq!(lonely[0]["referrers"]["total"], json!(1), "{lonely:?}");
}

#[test]
fn settings_that_cannot_be_are_told_before_those_that_differ() {
    let (sandbox, server) = (Sandbox::sqlite(), site());
    let root = server.url("/docs/");
    sync(&sandbox, &root, HERE);
    sandbox.run(&["sync", &root, "--set", "dellay_ms=1"]).refuses(2, &["dellay_ms"]);
    sandbox.run(&["sync", &root, "--set", "delay_ms=1500"]).refuses(2, &["delay-ms: 0 → 1500", "--update"]);
    sandbox.run(&["sync", "dogs"]).refuses(2, &["no job is called dogs", "there are docs"]);
    sandbox.run(&["sync", &root, "--hops", "link=2", "--update"]).exits(0);
    let shown = sandbox.run(&["job", "show", "docs"]).exits(0).out;
    assert!(shown.contains("hops       link at most 2"), "{shown}");
}

#[test]
fn a_page_that_is_away_keeps_what_it_leads_to_and_a_dead_link_is_told() {
    let (sandbox, server) = (Sandbox::sqlite(), site());
    let root = server.url("/docs/");
    sync(&sandbox, &root, HERE);
    let skipped = sandbox.run(&["document", "list", "docs", "--state", "skipped"]).exits(0).out;
    assert!(skipped.contains("/docs/gone.html  missing: "), "{skipped}");
    server.put("/docs/a.html", Answer::status(410));
    server.put("/docs/b.html", Answer::status(404));
    let (counts, code) = sync(&sandbox, &root, &["--delete-guard", "off"]);
    // 410 is believed at once, 404 after an hour.
    assert_eq!((counts.get("deleted"), counts.get("waiting"), code), (2, 1, 1), "{counts:?}");
    assert_eq!(found(&sandbox, &server, "apple"), ["/docs/"]);
    assert_eq!(found(&sandbox, &server, "banana"), ["/docs/b.html"]);
    let explained = sandbox.run(&["document", "explain", "docs", &server.url("/docs/b.html")]);
    assert!(explained.out.contains("not there"), "{}", explained.out);
}

#[test]
fn a_page_goes_when_the_one_that_it_names_in_its_place_is_found_and_not_before() {
    let (sandbox, server) = (Sandbox::sqlite(), site());
    let root = server.url("/docs/");
    sync(&sandbox, &root, HERE);
    let real = |to: &str| {
        let head = format!("<html><head><link rel=canonical href='{}'></head>", server.url(to));
        Answer::page(&format!("{head}<body>page apple</body></html>"))
    };
    server.put("/docs/a.html", real("/docs/real.html"));
    server.put("/docs/b.html", Answer::status(301).with("Location", &server.url("/docs/moved.html")));
    server.put("/docs/real.html", Answer::status(500));
    server.put("/docs/moved.html", Answer::status(500));
    let kept = ["/docs/a.html", "/docs/b.html"];
    let (counts, code) = sync(&sandbox, &root, &["--delete-guard", "off"]);
    assert_eq!((counts.get("waiting"), code), (4, 1), "{counts:?}");
    let all = found(&sandbox, &server, "page");
    assert_eq!(all, kept, "what they name cannot be visited");
    let explained = sandbox.run(&["document", "explain", "docs", &server.url("/docs/b.html")]).out;
    assert!(explained.contains("redirected") && explained.contains("stays until then"), "{explained}");
    server.put("/docs/real.html", Answer::linked("page real", &[]));
    server.put("/docs/moved.html", Answer::linked("page moved", &[]));
    let (counts, code) = sync(&sandbox, &root, &["--delete-guard", "off"]);
    assert_eq!((counts.get("waiting"), code), (0, 0), "{counts:?}");
    assert_eq!(found(&sandbox, &server, "page"), ["/docs/moved.html", "/docs/real.html"]);
    // Two that name each other are one page.
    server.put("/docs/real.html", real("/docs/a.html"));
    let (counts, code) = sync(&sandbox, &root, &["--delete-guard", "off"]);
    let all = found(&sandbox, &server, "page");
    assert!(all.len() == 2 && code == 0, "{all:?}, {counts:?}");
    sandbox.run(&["doctor"]).exits(0);
}

#[test]
fn pages_are_read_in_the_charset_of_their_header() {
    let (sandbox, server) = (Sandbox::sqlite(), SiteServer::start());
    let names = ["russian", "japanese", "meta", "mark", "lie", "plain.txt"];
    let text = |words: &str, meta: &str| {
        format!("<html><head>{meta}<title>t</title></head><body>{words}</body></html>")
    };
    let written = |label: &str, text: &str| match label {
        // As `iconv` writes them; the test knows no charsets.
        "windows-1251" => text
            .chars()
            .map(|letter| match u32::from(letter) {
                number @ 0x410..=0x44f => (number - 0x410 + 0xc0) as u8,
                number => number as u8,
            })
            .collect(),
        _ => text.as_bytes().to_vec(),
    };
    let russian = "сегодня библиотека";
    let put = |name: &str, charset: &str, body: Vec<u8>| {
        server.put(&format!("/docs/{name}"), Answer::of(&format!("text/html; charset={charset}"), body));
    };
    server.put("/docs/", Answer::linked("start", &names));
    put("russian", "windows-1251", written("windows-1251", &text(russian, "")));
    let mut japanese = b"<html><body>".to_vec();
    // "Library" in Shift_JIS: three characters.
    japanese.extend_from_slice(&[0x90, 0x7d, 0x8f, 0x91, 0x8a, 0xd9]);
    put("japanese", "Shift_JIS", [&japanese[..], b"</body></html>"].concat());
    put("meta", "windows-1251", written("windows-1251", &text(russian, "<meta charset=koi8-r>")));
    put("mark", "koi8-r", text(russian, "").replacen("<html>", "\u{feff}<html>", 1).into_bytes());
    put("lie", "utf-8", written("windows-1251", &text(russian, "<meta charset=windows-1251>")));
    let plain = Answer::of("text/plain; charset=windows-1251", written("windows-1251", russian));
    server.put("/docs/plain.txt", plain);
    let root = server.url("/docs/");
    let (counts, code) = sync(&sandbox, &root, HERE);
    assert_eq!((counts.get("added"), code), (7, 0), "{counts:?}");
    let expected = ["/docs/lie", "/docs/mark", "/docs/meta", "/docs/plain.txt", "/docs/russian"];
    assert_eq!(found(&sandbox, &server, "библиотека"), expected);
    assert_eq!(found(&sandbox, &server, "図書館"), ["/docs/japanese"]);
    let (counts, _) = sync(&sandbox, &root, &[]);
    assert_eq!((counts.get("unchanged"), counts.get("updated")), (7, 0), "{counts:?}");
    // The same bytes under another header are another text.
    put("russian", "koi8-r", written("windows-1251", &text(russian, "")));
    let (counts, _) = sync(&sandbox, &root, &[]);
    assert_eq!((counts.get("unchanged"), counts.get("updated")), (7, 0), "its tag is as before: {counts:?}");
    let mut other = Answer::of("text/html; charset=koi8-r", written("windows-1251", &text(russian, "")));
    other.untagged = true;
    server.put("/docs/russian", other);
    let (counts, _) = sync(&sandbox, &root, &[]);
    assert_eq!((counts.get("unchanged"), counts.get("updated")), (6, 1), "{counts:?}");
    assert_eq!(found(&sandbox, &server, "библиотека"), expected[..4]);
}

#[test]
fn what_a_head_leads_to_is_followed_and_an_empty_page_is_one() {
    let (sandbox, server) = (Sandbox::sqlite(), SiteServer::start());
    let head = "<meta http-equiv=refresh content='1; url=moved'><link rel=next href=second><link rel=prev href=zeroth>\
        <link rel=alternate hreflang=de href=deutsch><link rel=alternate hreflang=x-default href=/docs/>";
    let start =
        format!("<html><head>{head}</head><body>apple <a href=empty>e</a><a href=part>p</a></body></html>");
    server.put("/docs/", Answer::page(&start));
    for name in ["moved", "second", "zeroth", "deutsch"] {
        server.put(&format!("/docs/{name}"), Answer::linked("banana", &[]));
    }
    server.put("/docs/empty", Answer::page(""));
    server.put(
        "/docs/part",
        Answer { status: 206, ..Answer::page("cherry").with("Content-Range", "bytes 0-5/9") },
    );
    let (counts, _) = sync(&sandbox, &server.url("/docs/"), HERE);
    assert_eq!((counts.get("added"), counts.get("failed")), (6, 1), "{counts:?}");
    assert_eq!(
        found(&sandbox, &server, "banana"),
        ["/docs/deutsch", "/docs/moved", "/docs/second", "/docs/zeroth"]
    );
    assert_eq!(found(&sandbox, &server, "cherry"), Vec::<String>::new());
}

#[test]
fn what_a_site_keeps_from_robots_is_not_asked_for() {
    let (sandbox, server) = (Sandbox::sqlite(), site());
    server.put("/robots.txt", Answer::of("text/plain", "User-agent: ingather\nDisallow: /docs/deep/\n"));
    server.put(
        "/docs/b.html",
        Answer::page("<html><head><meta name=robots content=noindex></head><body>banana</body></html>"),
    );
    let (counts, _) = sync(&sandbox, &server.url("/docs/"), HERE);
    assert_eq!(counts.get("added"), 2, "{counts:?}");
    assert_eq!(found(&sandbox, &server, "banana"), Vec::<String>::new());
    let paths = server.paths();
    assert!(!paths.iter().any(|path| path.contains("deep")), "{paths:?}");
    let listed = sandbox.run(&["document", "list", "docs", "--state", "skipped"]).exits(0).out;
    assert!(listed.contains("robots: ") && listed.contains("noindex: "), "{listed}");
}

#[test]
fn a_host_is_asked_no_faster_than_it_is_told_and_by_one_at_a_time() {
    let (sandbox, server) = (Sandbox::sqlite(), site());
    let every = Duration::from_millis(60);
    let flags = [HERE, &["--set", "delay_ms=60", "--threads", "4"]].concat();
    let (counts, _) = sync(&sandbox, &server.url("/docs/"), &flags);
    assert_eq!(counts.get("added"), 4, "{counts:?}");
    let asked = server.asked();
    let apart: Vec<Duration> = asked.windows(2).map(|two| two[1].at - two[0].at).collect();
    assert!(asked.len() >= 6, "{asked:?}");
    // The server sees a request when its thread gets to it.
    let early = apart.iter().filter(|apart| **apart + Duration::from_millis(20) < every).count();
    assert_eq!(early, 0, "{apart:?}");
}

#[test]
fn a_site_is_for_those_whom_its_job_names() {
    let (sandbox, server) = (Sandbox::sqlite(), site());
    let root = server.url("/docs/");
    let flags = ["--set", "private_networks=[\"127.0.0.1\"]", "--set", "delay_ms=0"];
    sandbox.run(&[&["sync", &root], &flags[..]].concat()).refuses(2, &["`access`"]);
    let named = [&flags[..], &["--set", "access=[\"unix:u:4242\"]"]].concat();
    let (counts, code) = sync(&sandbox, &root, &named);
    assert_eq!((counts.get("added"), code), (4, 0), "{counts:?}");
    assert_eq!(found(&sandbox, &server, "apple").len(), 3);
    assert_eq!(
        sandbox.run(&["search", "apple", "--as", "nobody", "--json"]).exits(0).json(),
        Vec::<serde_json::Value>::new()
    );
    // Opened to everybody later: nothing is read or sent for that but who may see it.
    let (counts, code) = sync(&sandbox, &root, &["--update", "--set", "access=[\"everybody\"]"]);
    assert_eq!((counts.get("failed"), code), (0, 0), "{counts:?}");
    assert_eq!(sandbox.run(&["search", "apple", "--as", "nobody", "--json"]).exits(0).json().len(), 3);
}

/// Whoever may not see a site any more sees nothing of it once its job has run, also of pages that cannot be asked for then.
#[test]
fn who_is_not_named_any_more_finds_nothing_also_of_pages_that_fail() {
    let (sandbox, server) = (Sandbox::sqlite(), site());
    let root = server.url("/docs/");
    sync(&sandbox, &root, HERE);
    let seen = || sandbox.run(&["search", "apple", "--as", "nobody", "--json"]).exits(0).json().len();
    assert_eq!(seen(), 3);
    server.answer_by(|_| Some(Answer::status(500)));
    let (counts, code) = sync(&sandbox, &root, &["--update", "--set", "access=[\"unix:u:4242\"]"]);
    assert_eq!((counts.get("deleted"), code), (0, 1), "{counts:?}");
    assert_eq!((seen(), found(&sandbox, &server, "apple").len()), (0, 3));
    // Whom it is for again finds it when it was read.
    let (_, code) = sync(&sandbox, &root, &["--update", "--set", "access=[\"everybody\"]"]);
    assert_eq!((seen(), code), (0, 1), "who may see a page that fails is not widened");
}

#[test]
fn addresses_that_only_this_machine_reaches_are_refused_until_they_are_allowed() {
    let (sandbox, server) = (Sandbox::sqlite(), site());
    sandbox.run(&["sync", &server.url("/docs/")]).refuses(2, &["only this machine or its network"]);
    assert_eq!(server.paths(), Vec::<String>::new());
    sandbox.run(&["sync", "gopher://example.org/"]).refuses(2, &["web sites", "feeds"]);
    sandbox.run(&["sync", &server.url("/docs/"), "--set", "delay"]).refuses(2, &["NAME=VALUE"]);
    sandbox.run(&["sync", &server.url("/docs/"), "--set", "speed=1"]).refuses(2, &["speed", "no setting"]);
}

#[test]
fn a_job_over_a_site_is_exported_declared_and_deleted_like_any_other() {
    let (sandbox, server) = (Sandbox::sqlite(), site());
    let root = server.url("/docs/");
    sync(&sandbox, &root, HERE);
    let exported = sandbox.run(&["export"]).exits(0).out;
    assert!(exported.contains(&root) && exported.contains("\"web\""), "{exported}");
    let file = sandbox.path().join("jobs.json");
    std::fs::write(&file, &exported).unwrap();
    sandbox.run(&["apply", "-f", file.to_str().unwrap()]).exits(0);
    let shown = sandbox.run(&["job", "show", "docs", "--json"]).exits(0).json();
    assert_eq!(shown[0]["root"], json!(root));
    let dated = ["--update", "--schedule", "continuous", "--dates", "recrawl=60,expire=90"];
    sandbox.run(&[&["sync", &root], &dated[..]].concat()).exits(0);
    let exported = sandbox.run(&["export"]).exits(0).out;
    assert!(
        exported.contains("\"recrawl_minutes\": 60") && exported.contains("\"expire_minutes\": 90"),
        "{exported}"
    );
    std::fs::write(&file, exported.replace("\"recrawl_minutes\": 60", "\"recrawl_minutes\": 5")).unwrap();
    sandbox.run(&["apply", "-f", file.to_str().unwrap()]).exits(0);
    let shown = sandbox.run(&["job", "show", "docs"]).exits(0).out;
    assert!(shown.contains("dates      recrawl=5,expire=90"), "{shown}");
    sandbox.run(&["sync", &root, "--update", "--schedule", "none"]).refuses(2, &["--dates none"]);
    sandbox.run(&["sync", &root, "--update", "--schedule", "none", "--dates", "none"]).exits(0);
    sandbox.run(&["sync", &root, "--dates", "recrawl"]).refuses(2, &["recrawl-max"]);
    sandbox.run(&["job", "move", "docs", "/tmp"]).refuses(2, &["only folders are moved"]);
    sandbox.run(&["sync", &root, "--dry-run"]).refuses(2, &["following links"]);
    sandbox.run(&["job", "delete", "docs", "--yes"]).exits(0);
    assert_eq!(found(&sandbox, &server, "*"), Vec::<String>::new());
}

/// Killed at any place, the next run asks for what is left and for hardly anything twice.
#[test]
fn a_crawl_that_is_killed_goes_on() {
    let (sandbox, server) = (Sandbox::sqlite(), SiteServer::start());
    let pages = 400;
    for n in 0..pages {
        let links = [2 * n + 1, 2 * n + 2].map(|n| format!("p{n}"));
        let links: Vec<&str> = links
            .iter()
            .filter(|link| link[1..].parse::<usize>().unwrap() < pages)
            .map(String::as_str)
            .collect();
        server.put(&format!("/docs/p{n}"), Answer::linked(&format!("page {n}"), &links));
    }
    let root = server.url("/docs/p0");
    let flags = [HERE, &["--set", "at_once=4", "--to", "null"]].concat();
    let mut asked: Vec<String> = Vec::new();
    let mut kills = 0;
    loop {
        let mut sync = sandbox.command(&[&["sync", &root, "-q"], &flags[..]].concat());
        let mut sync = sync.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let seen = asked.len();
        let code = loop {
            asked.extend(server.paths().into_iter().filter(|path| path.starts_with("/docs/p")));
            if let Some(status) = sync.try_wait().unwrap() {
                break status.code();
            }
            if kills < 3 && asked.len() >= seen + pages / 5 {
                sync.kill().unwrap();
                kills += 1;
                break sync.wait().unwrap().code();
            }
            std::thread::yield_now();
        };
        if code == Some(0) {
            break;
        }
        assert_eq!(code, None, "it was killed");
    }
    let documents = sandbox.run(&["document", "list", "p0", "--json", "--limit", "1000"]).exits(0).json();
    // The usual sitemap, which is not there, is one of them.
    assert_eq!(documents.len(), pages + 1);
    let twice = asked.len() - pages;
    assert!(kills == 3 && twice <= kills * 64, "{kills} kills, {twice} pages were asked for twice");
}
