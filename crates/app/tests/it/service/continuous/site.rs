//! A continuous job over a site: its pages are asked for when they are due, and not by each pass.

use std::process::Command;
use std::time::{Duration, Instant};

use ingather_testkit::script_repository::server::{Answer, SiteServer};
use rustix::process::Signal;

use crate::sandbox::Sandbox;
use crate::service::Service;
use crate::service::runs::at_rest;
use crate::stops::upgrade::comes;

/// Ends of the paths of pages that everybody together finds.
fn found(service: &Service<'_>) -> Vec<String> {
    let found = service.answer("GET", "/api/v1/search?query=apple&limit=50&all=true");
    let name = |hit: &serde_json::Value| {
        hit["document"].as_str().unwrap().rsplit('/').next().unwrap_or_default().to_owned()
    };
    let mut names: Vec<String> = found["hits"].as_array().unwrap().iter().map(name).collect();
    names.sort();
    names
}

/// The time in so many seconds, as a header has it.
fn in_seconds(seconds: u32) -> String {
    let later = format!("+{seconds} seconds");
    let told = Command::new("date").args(["-u", "-d", &later, "+%Y-%m-%dT%H:%M:%SZ"]).output().unwrap();
    String::from_utf8(told.stdout).unwrap().trim().to_owned()
}

fn pages(server: &SiteServer) -> Vec<String> {
    let mut paths: Vec<String> =
        server.paths().into_iter().filter(|path| path.starts_with("/docs/")).collect();
    paths.sort();
    paths
}

/// A page may be asked for once a minute at most, so this takes more than one.
#[test]
fn pages_are_asked_for_when_they_are_due_new_ones_at_once_and_those_that_expire_never_again() {
    let (sandbox, server) = (Sandbox::sqlite(), SiteServer::start());
    server.put("/docs/", Answer::linked("start apple", &["a.html", "b.html"]));
    server.put("/docs/a.html", Answer::linked("page apple", &[]));
    let until = format!("unavailable_after: {}", in_seconds(12));
    server.put("/docs/b.html", Answer::linked("page apple", &["c.html"]).with("X-Robots-Tag", &until));
    server.put("/docs/c.html", Answer::linked("deep apple", &[]));
    let root = server.url("/docs/");
    let here = [
        "--set",
        "private_networks=[\"127.0.0.1\"]",
        "--set",
        "access=[\"everybody\"]",
        "--set",
        "delay_ms=0",
    ];
    let refused = sandbox.run(&[&["sync", &root, "--dates", "recrawl=1"], &here[..]].concat()).exits(2);
    assert!(refused.err.contains("in continuous jobs alone"), "{}", refused.err);
    let dates = ["--schedule", "continuous", "--dates", "reseed=60,recrawl=1,recrawl-max=1"];
    let begun = Instant::now();
    sandbox.run(&[&["sync", &root], &here[..], &dates[..]].concat()).exits(0);
    // The root once more, when the job was made.
    let mut first = pages(&server);
    first.dedup();
    assert_eq!(first, ["/docs/", "/docs/a.html", "/docs/b.html", "/docs/c.html"]);
    let shown = sandbox.run(&["job", "show", "docs"]).exits(0).out;
    assert!(shown.contains("dates      reseed=60,recrawl=1,recrawl-max=1"), "{shown}");
    server.put("/docs/a.html", Answer::linked("page apple", &["new.html"]));
    server.put("/docs/new.html", Answer::linked("new apple", &[]));

    server.asked();
    let service = Service::start(&sandbox);
    // Its first pass looks at everything: it reads the seed, and asks for no page that is not due. Then one expires, and nobody asks for it
    // for that.
    assert!(comes(|| found(&service) == ["", "a.html", "c.html"]), "{:?}", found(&service));
    let waited = begun.elapsed();
    assert!(waited < Duration::from_secs(50), "{waited:?}");
    assert_eq!(pages(&server), ["/docs/"]);
    let listed = sandbox.run(&["document", "list", "docs", "--state", "skipped"]).exits(0).out;
    assert!(listed.contains("/docs/b.html") && listed.contains("expired"), "{listed}");
    // A minute after they were read the others are due. What one of them leads to is new, and read at once.
    assert!(comes(|| found(&service) == ["", "a.html", "c.html", "new.html"]), "{:?}", found(&service));
    assert!(begun.elapsed() >= Duration::from_secs(60), "{:?}", begun.elapsed());
    let mut asked = Vec::new();
    let due = ["/docs/", "/docs/a.html", "/docs/c.html", "/docs/new.html"];
    let all_come = comes(|| {
        asked.extend(pages(&server));
        asked.len() >= due.len()
    });
    asked.sort();
    assert!(all_come && asked == due, "{asked:?}");
    at_rest(&service, "docs");
    service.end(Signal::TERM);
    sandbox.run(&["verify"]).exits(0);
    let doctor = sandbox.run(&["doctor"]).exits(1);
    assert!(doctor.err.contains("1 problem found") && doctor.out.contains("unattended: "), "{doctor:?}");
}
