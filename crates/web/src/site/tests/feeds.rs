//! Feeds: what stands in their place, and what their entries hand down.

use std::collections::BTreeMap;

use ingather_model::job::dates::Dates;

use super::*;
use crate::memo::Memo;

const RSS: &str = "<rss version='2.0'><channel><item><link>/art/1</link></item></channel></rss>";

fn feed(server: &SiteServer, more: Value) -> Arc<dyn Repository> {
    let mut settings = settings(&format!("feed+{}", server.url("/feed")), more);
    settings["access"] = json!(["everybody"]);
    (crate::feed::REFERRING.open)(&settings, &HostContext::default()).unwrap()
}

#[test]
fn what_stands_in_the_place_of_a_feed_and_is_none_says_nothing_of_its_entries() {
    let server = SiteServer::start();
    for entries in ["found", "followed"] {
        let feed = feed(&server, json!({"entries": entries}));
        for (media, body) in
            [("text/html", "<html>We are down for maintenance"), ("text/plain", "not xml"), ("text/html", "")]
        {
            server.put("/feed", Answer::of(media, body));
            match visit(feed.as_ref(), &server.url("/feed")) {
                Err(Fault::Broken(reason)) => {
                    assert_eq!(reason.code, "no_feed");
                    assert!(reason.message.contains(media) && reason.message.contains("feed+"), "{reason:?}");
                }
                answer => panic!("{answer:?}"),
            }
        }
    }
}

#[test]
fn the_pages_of_entries_are_found_in_place_of_the_feed_and_are_told_what_it_says_of_them() {
    let server = SiteServer::start();
    server.put("/feed", Answer::of("application/rss+xml", RSS));
    let entry = |fields: &[(&str, &str)]| Links {
        list: vec![Link {
            address: "/art/1".to_owned(),
            rel: "entry".to_owned(),
            fields: fields
                .iter()
                .map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()]))
                .collect(),
        }],
        ..Links::default()
    };
    let told = [
        ("title", "First"),
        ("author", "Ann"),
        ("published", "2010-06-25T15:00:00Z"),
        ("categories", "news"),
    ];
    let found = feed(&server, json!({}));
    let answer = visit_with(found.as_ref(), &server.url("/feed"), &entry(&told));
    assert_eq!((why(&answer), led(&server, &answer).len()), ("read".to_owned(), 0));
    let followed = feed(&server, json!({"entries": "followed"}));
    let answer = visit_with(followed.as_ref(), &server.url("/feed"), &entry(&told));
    assert_eq!(why(&answer), "feed");
    let handed = match answer {
        Ok(VisitAnswer::NoEntry(_, leads)) => leads.references[0].hands_down.clone(),
        answer => panic!("{answer:?}"),
    };
    server.put("/art/1", Answer::page("words"));
    let key = server.url("/art/1");
    let asked = Asked { handed_down: &handed, ..Asked::of(&key) };
    let links = linked(&[("/art/2", ""), ("/art/3", "entry")]);
    match visit_asked(followed.as_ref(), &asked, &links) {
        Ok(VisitAnswer::Read(observed, leads)) => {
            let record = observed.record;
            assert_eq!((record.title.as_str(), record.author.as_deref()), ("First", Some("Ann")));
            assert_eq!(record.created, Some(1_277_478_000_000));
            assert_eq!(record.fields["categories"], ["news"]);
            assert!(leads.references.is_empty(), "of a page of an entry, nothing is followed");
        }
        answer => panic!("{answer:?}"),
    }
}

#[test]
fn what_is_handed_down_is_bounded_and_another_title_makes_another_content() {
    let server = SiteServer::start();
    server.put("/feed", Answer::of("application/rss+xml", RSS));
    let feed = feed(&server, json!({"entries": "followed"}));
    let long = "x".repeat(ingather_model::limits::HANDED_DOWN_BYTES_MAX);
    let fields =
        BTreeMap::from([("title".to_owned(), vec!["a".to_owned()]), ("summary".to_owned(), vec![long])]);
    let list = vec![Link { address: "/art/1".to_owned(), rel: "entry".to_owned(), fields }];
    let answer = visit_with(feed.as_ref(), &server.url("/feed"), &Links { list, ..Links::default() });
    match answer {
        Ok(VisitAnswer::NoEntry(_, leads)) => {
            assert_eq!(leads.references[0].hands_down.keys().collect::<Vec<_>>(), ["title"]);
        }
        answer => panic!("{answer:?}"),
    }
    server.put("/art/1", Answer::page("words"));
    let content = |title: &str| {
        let handed = HandedDown::from([("title".to_owned(), BTreeSet::from([title.to_owned()]))]);
        let key = server.url("/art/1");
        match visit_asked(
            feed.as_ref(),
            &Asked { handed_down: &handed, ..Asked::of(&key) },
            &Links::default(),
        ) {
            Ok(VisitAnswer::Read(observed, _)) => observed.content,
            answer => panic!("{answer:?}"),
        }
    };
    assert_ne!(content("one"), content("two"));
}

#[test]
fn what_a_feed_says_of_an_entry_reaches_the_page_behind_a_redirect_and_the_canonical_one() {
    let server = SiteServer::start();
    server.put("/feed", Answer::of("application/rss+xml", RSS));
    let feed = feed(&server, json!({"paths": ["/"]}));
    server.put("/art/1", Answer::status(301).with("location", "/art/one"));
    let handed = HandedDown::from([("title".to_owned(), BTreeSet::from(["One".to_owned()]))]);
    server.put("/art/2", Answer::page("words"));
    let canonical = Links { canonical: Some("/art/one".to_owned()), ..Links::default() };
    for (path, links) in [("/art/1", Links::default()), ("/art/2", canonical)] {
        let key = server.url(path);
        match visit_asked(feed.as_ref(), &Asked { handed_down: &handed, ..Asked::of(&key) }, &links) {
            Ok(VisitAnswer::NoEntry(_, leads)) => {
                let to = &leads.references[0];
                assert_eq!((to.key.as_str(), &to.hands_down), (server.url("/art/one").as_str(), &handed));
            }
            answer => panic!("{answer:?}"),
        }
    }
}

/// S1.18: what is in it has one date together, the earliest.
#[test]
fn a_feed_is_due_when_the_first_of_its_entries_is_not_valid_any_more() {
    let server = SiteServer::start();
    server.put("/feed", Answer::of("application/rss+xml", RSS));
    let feed = feed(&server, json!({}));
    let key = server.url("/feed");
    let now = call().now();
    let [over, first, second, third] = [-1, 1, 2, 3].map(|hours| now + hours * 3_600_000);
    let read = |changes_in_ms: Option<i64>, changes_at: &[i64]| {
        let links = Links { changes_in_ms, changes_at: changes_at.to_owned(), ..Links::default() };
        match visit_with(feed.as_ref(), &key, &links) {
            Ok(VisitAnswer::Read(observed, leads)) => (observed.dates, leads.memo),
            answer => panic!("{answer:?}"),
        }
    };
    let bounds = |dates: Dates| (dates.revisit_not_before, dates.revisit_not_after);
    let (dates, memo) = read(None, &[third, over, second]);
    assert_eq!(bounds(dates), (None, Some(second)), "what is over is over");
    let (paced, _) = read(Some(9 * 3_600_000), &[third, first]);
    assert_eq!(bounds(paced), (Some(first), Some(first)), "earlier than the feed itself says");
    assert_eq!(bounds(read(None, &[over]).0), (None, None));
    let asked = Asked { memo: memo.as_deref(), ..Asked::of(&key) };
    match visit_asked(feed.as_ref(), &asked, &Links::default()) {
        Ok(VisitAnswer::Unchanged { dates, .. }) => assert_eq!(bounds(dates), (None, Some(second))),
        answer => panic!("{answer:?}"),
    }
    // Once that time has come it is read whole: what is as before would not say which entry is the next one.
    let memo = Memo::decode(&memo.unwrap()).unwrap();
    let overdue = Memo { changes_at: Some(over), ..memo }.encode();
    let asked = Asked { memo: Some(&overdue), ..Asked::of(&key) };
    let answer = visit_asked(feed.as_ref(), &asked, &Links::default());
    assert!(matches!(answer, Ok(VisitAnswer::Read(..))), "{answer:?}");
}

#[test]
fn a_feed_is_due_when_it_says_that_it_will_have_changed_also_when_it_is_as_before() {
    let server = SiteServer::start();
    server.put("/feed", Answer::of("application/rss+xml", RSS));
    let feed = feed(&server, json!({}));
    let key = server.url("/feed");
    let links = Links { changes_in_ms: Some(3_600_000), ..Links::default() };
    let now = call().now();
    let in_an_hour = |dates: Dates| {
        let due = dates.revisit_not_before.unwrap() - now;
        assert!(due >= 3_600_000 && dates.revisit_not_after == dates.revisit_not_before, "{dates:?}");
    };
    let Ok(VisitAnswer::Read(observed, leads)) = visit_with(feed.as_ref(), &key, &links) else {
        panic!("it is read");
    };
    in_an_hour(observed.dates);
    let asked = Asked { memo: leads.memo.as_deref(), ..Asked::of(&key) };
    match visit_asked(feed.as_ref(), &asked, &Links::default()) {
        Ok(VisitAnswer::Unchanged { dates, .. }) => in_an_hour(dates),
        answer => panic!("{answer:?}"),
    }
}
