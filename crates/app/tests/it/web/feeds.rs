//! Feeds: their entries are found, or the pages that they lead to.

use ingather_testkit::script_repository::server::{Answer, SiteServer};

use super::{HERE, found, sync};
use crate::sandbox::Sandbox;

fn feed(server: &SiteServer, entries: &[(&str, &str)]) -> Answer {
    let item = |(path, text): &(&str, &str)| {
        let link = server.url(path);
        format!(
            "<item><title>{text}</title><link>{link}</link><guid>{link}</guid><description>about {text}</description></item>"
        )
    };
    let items: String = entries.iter().map(item).collect();
    Answer::of(
        "application/rss+xml",
        format!(
            "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>News</title>{items}</channel></rss>"
        ),
    )
}

#[test]
fn entries_of_a_feed_are_found_and_go_with_it() {
    let (sandbox, server) = (Sandbox::sqlite(), SiteServer::start());
    server.put("/feed.xml", feed(&server, &[("/1", "apple"), ("/2", "banana")]));
    let source = format!("feed+{}", server.url("/feed.xml"));
    let (counts, code) = sync(&sandbox, &source, HERE);
    assert_eq!((counts.get("added"), code), (1, 0), "{counts:?}");
    // The feed itself names its entries.
    let entries = |word: &str| {
        let hits = sandbox.run(&["search", word, "--all", "--json"]).exits(0).json();
        hits.iter().filter(|hit| hit["component"] != "").count()
    };
    assert_eq!(entries("apple"), 1);
    // Whoever opens such a hit wants its page.
    let hits = sandbox.run(&["search", "apple", "--all", "--json"]).exits(0).json();
    let links: Vec<&str> = hits.iter().filter_map(|hit| hit["link"].as_str()).collect();
    assert_eq!(links, [server.url("/1")]);
    let shown = sandbox.run(&["search", "apple", "--all"]).exits(0).out;
    assert!(shown.contains(&format!("  {}\n", server.url("/1"))), "{shown}");
    server.put("/feed.xml", feed(&server, &[("/2", "banana"), ("/3", "cherry")]));
    let (counts, code) = sync(&sandbox, &source, &[]);
    assert_eq!((counts.get("updated"), code), (1, 0), "{counts:?}");
    assert_eq!(["apple", "banana", "cherry"].map(entries), [0, 1, 1]);
    assert!(!server.paths().iter().any(|path| path == "/2"), "its pages are not asked for");
}

#[test]
fn pages_that_entries_lead_to_are_found_where_that_is_asked_for() {
    let (sandbox, server) = (Sandbox::sqlite(), SiteServer::start());
    server.put("/feed.xml", feed(&server, &[("/1", "first"), ("/2", "second")]));
    server.put("/1", Answer::linked("whole apple", &["/3"]));
    server.put("/2", Answer::page("<p>whole banana</p>"));
    server.put("/3", Answer::linked("whole cherry", &[]));
    let source = format!("feed+{}", server.url("/feed.xml"));
    let (counts, code) = sync(&sandbox, &source, &[HERE, &["--set", "entries=followed"]].concat());
    assert_eq!((counts.get("added"), code), (2, 0), "{counts:?}");
    assert_eq!(found(&sandbox, &server, "whole"), ["/1", "/2"], "links of these pages are not followed");
    assert_eq!(found(&sandbox, &server, "about"), [""; 0], "the feed is not found beside its pages");
    let titles = || {
        let hits = sandbox.run(&["search", "whole", "--all", "--json"]).exits(0).json();
        let mut titles: Vec<String> =
            hits.iter().map(|hit| hit["title"].as_str().unwrap().to_owned()).collect();
        titles.sort();
        titles
    };
    assert_eq!(titles(), ["second", "whole apple"], "a page without a title has that of its entry");
    server.put("/feed.xml", feed(&server, &[("/1", "first"), ("/2", "another")]));
    let (counts, code) = sync(&sandbox, &source, &[]);
    assert_eq!((counts.get("updated"), code), (1, 0), "{counts:?}");
    assert_eq!(titles(), ["another", "whole apple"]);
    server.put("/feed.xml", Answer::page("down for maintenance"));
    let (counts, code) = sync(&sandbox, &source, &[]);
    assert_eq!((counts.get("failed"), code), (1, 1), "{counts:?}");
    assert_eq!(found(&sandbox, &server, "whole"), ["/1", "/2"], "what stands in place of a feed is none");
}
