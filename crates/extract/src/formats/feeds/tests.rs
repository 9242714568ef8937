//! What feeds of each kind give, and what damage costs.

use crate::Extracted;
use crate::formats::tests::{extract, extract_within, linked, survives};

const RSS: &str = "<?xml version='1.0'?><rss version='2.0' xmlns:content='http://purl.org/rss/1.0/modules/content/'>\
    <channel><title>News</title><link>http://x/</link><description>of &lt;b&gt;all&lt;/b&gt;</description><ttl>60</ttl>\
    <language>de</language><generator>hand</generator>\
    <item><title>One &amp;amp; two</title><link>http://x/1</link><guid isPermaLink='false'>id-1</guid>\
    <pubDate>Wed, 31 Dec 2003 10:14:55 GMT</pubDate><author>a@b.c (Ann)</author><category>c1</category>\
    <category>c2</category><description>short</description>\
    <content:encoded><![CDATA[<p>Hello <b>bo</b>ld</p><p>world</p>]]></content:encoded>\
    <enclosure url='http://x/1.mp3' type='audio/mpeg' length='7'/></item>\
    <item><guid>http://x/2</guid><description>words only</description></item></channel></rss>";

#[test]
fn a_feed_gives_its_facts_and_its_entries() {
    let feed = extract("a.xml", RSS.as_bytes());
    assert_eq!(feed.media_type, "application/rss+xml");
    assert_eq!(feed.text, "News\nof all\nOne & two\nwords only");
    let told = |name: &str| feed.field(name);
    assert_eq!(
        (told("title"), told("description"), told("link")),
        (Some("News"), Some("of all"), Some("http://x/"))
    );
    assert_eq!(
        (told("language"), told("generator"), told("format")),
        (Some("de"), Some("hand"), Some("RSS 2.0"))
    );
    let names: Vec<_> = feed.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["id-1", "http://x/2"]);
    let entry = &feed.parts[0];
    assert_eq!((entry.text.as_str(), entry.media_type.as_str()), ("Hello bold\nworld", "text/html"));
    assert_eq!(entry.modified, Some(1_072_865_695_000));
    for (name, value) in [
        ("title", "One & two"),
        ("link", "http://x/1"),
        ("created", "2003-12-31T10:14:55Z"),
        ("author", "Ann"),
        ("author_email", "a@b.c"),
        ("summary", "short"),
        ("enclosure", "http://x/1.mp3"),
        ("enclosure_type", "audio/mpeg"),
        ("default_language", "de"),
    ] {
        assert_eq!(entry.field(name), Some(value), "{name}");
    }
    assert_eq!(entry.fields["categories"], ["c1", "c2"]);
    assert_eq!(
        (feed.parts[1].text.as_str(), feed.parts[1].field("title")),
        ("words only", Some("words only"))
    );
    assert!(!feed.broken_off && feed.reason.is_none());
}

#[test]
fn entries_are_links_to_whoever_follows_them() {
    let links = linked("a.xml", RSS.as_bytes()).unwrap();
    let pairs: Vec<_> = links.list.iter().map(|link| (link.address.as_str(), link.rel.as_str())).collect();
    assert_eq!(pairs, [("http://x/", "alternate"), ("http://x/1", "entry"), ("http://x/2", "entry")]);
    let fields = &links.list[1].fields;
    for (name, value) in [
        ("title", "One & two"),
        ("author", "Ann"),
        ("published", "2003-12-31T10:14:55Z"),
        ("summary", "short"),
    ] {
        assert_eq!(fields[name], [value], "{name}");
    }
    assert_eq!(fields["categories"], ["c1", "c2"]);
    assert_eq!((links.changes_in_ms, links.incomplete), (Some(3_600_000), false));
}

#[test]
fn pages_of_a_feed_and_addresses_inside_of_others_are_made_whole() {
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom' xml:base='http://x/a/'><title>t</title>\
        <link rel='next' href='?page=2'/><entry xml:base='b/'><id>1</id><link href='c'/><title>e</title></entry></feed>";
    let links = linked("a.xml", atom.as_bytes()).unwrap();
    let pairs: Vec<_> = links.list.iter().map(|link| (link.address.as_str(), link.rel.as_str())).collect();
    assert_eq!(pairs, [("http://x/a/?page=2", "next"), ("http://x/a/b/c", "entry")]);
    assert_eq!(links.base, None);
}

#[test]
fn how_often_a_feed_changes_is_told_in_each_of_its_words() {
    let often = |words: &str| {
        let feed = format!(
            "<rss xmlns:sy='http://purl.org/rss/1.0/modules/syndication/'><channel>{words}</channel></rss>"
        );
        linked("a.xml", feed.as_bytes()).unwrap().changes_in_ms
    };
    assert_eq!(often("<ttl>5</ttl>"), Some(300_000));
    assert_eq!(
        often("<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>"),
        Some(21_600_000)
    );
    assert_eq!(often("<sy:updatePeriod>hourly</sy:updatePeriod>"), Some(3_600_000));
    for never in ["<ttl>0</ttl>", "<ttl>-5</ttl>", "<ttl>9999999</ttl>", "<ttl>soon</ttl>", ""] {
        assert_eq!(often(never), None, "{never}");
    }
    let channel = "<channel href='http://x/'><schedule><intervaltime day='1' hour='2'/></schedule></channel>";
    assert_eq!(linked("a", channel.as_bytes()).unwrap().changes_in_ms, Some(26 * 3_600_000));
}

#[test]
fn each_entry_says_until_when_it_is_valid() {
    let feed = "<rss xmlns:d='http://purl.org/dc/terms/'><channel><title>t</title>\
        <item><guid>1</guid><expirationDate>Thu, 01 Jan 1970 02:00:00 GMT</expirationDate></item><item><guid>2</guid></item>\
        <item><guid>3</guid><d:valid>start=1970-01-01T00:00Z;end=1970-01-01T01:00Z</d:valid>\
        <expirationDate>never</expirationDate></item></channel></rss>";
    assert_eq!(linked("a.xml", feed.as_bytes()).unwrap().changes_at, [7_200_000, 3_600_000]);
}

fn names(feed: &str) -> Vec<String> {
    extract("a.xml", feed.as_bytes()).parts.into_iter().map(|part| part.name).collect()
}

#[test]
fn an_entry_has_the_same_name_wherever_it_stands() {
    let item = |words: &str| format!("<item>{words}</item>");
    let feed = |items: &[String]| format!("<rss version='2.0'><channel>{}</channel></rss>", items.concat());
    let all = [
        item("<guid>same</guid><title>old</title>"),
        item("<title>no id</title><pubDate>1 Jan 2004</pubDate>"),
        item("<guid>other</guid>"),
    ];
    let mut forward = names(&feed(&all));
    let mut backward = names(&feed(&[all[2].clone(), all[1].clone(), all[0].clone()]));
    forward.sort();
    backward.sort();
    assert_eq!(forward, backward);
    assert!(forward.contains(&"same".to_owned()) && forward.iter().any(|name| name.starts_with("entry ")));
    // The same entry twice is one, and two that call themselves the same are two.
    let twice = feed(&[all[0].clone(), all[0].clone(), item("<guid>same</guid><title>new</title>")]);
    let names = names(&twice);
    assert!(names.len() == 2 && names[0] == "same" && names[1].starts_with("same "), "{names:?}");
}

#[test]
fn what_is_broken_gives_what_can_be_seen_in_it() {
    let feed = extract(
        "a.xml",
        b"<rss version=2.0><channel><title>A & B</title><item><title>one<item><title>two</titel>\
        <description>x < y &nbsp; &unknown; z</description></item><item><title><![CDATA[cut",
    );
    let told: Vec<_> = feed.parts.iter().map(|part| part.field("title").unwrap_or_default()).collect();
    assert_eq!((feed.field("title"), told), (Some("A & B"), vec!["one", "two", "cut"]));
    assert!(feed.broken_off && feed.reason.is_some_and(|reason| reason.contains("cut off")));
    let links = linked("a.xml", b"<rss version='2.0'><channel><item><link>/1</link></item>").unwrap();
    assert!(links.incomplete && links.list.len() == 1);
}

#[test]
fn a_feed_of_json_gives_the_same() {
    let feed = r#"{"version": "https://jsonfeed.org/version/1.1", "title": "News", "home_page_url": "http://x/",
        "items": [{"id": 1, "url": "http://x/1", "title": "One", "content_html": "<p>Hello</p>", "tags": ["c1", 2],
        "date_published": "2003-12-31T10:14:55Z", "authors": [{"name": "Ann"}], "unknown": [{"a": [1]}],
        "attachments": [{"url": "http://x/1.mp3", "mime_type": "audio/mpeg"}]}, {"id": "2", "content_text": "a <b> c"}],
        "language": "de"}"#;
    let found = extract("a.json", feed.as_bytes());
    assert_eq!(
        (found.media_type.as_str(), found.field("format")),
        ("application/feed+json", Some("JSON Feed 1.1"))
    );
    assert_eq!((found.field("title"), found.text.as_str()), (Some("News"), "News\nOne\na <b> c"));
    let entry = &found.parts[0];
    assert_eq!(
        (entry.name.as_str(), entry.text.as_str(), entry.field("author")),
        ("1", "Hello", Some("Ann"))
    );
    assert_eq!(
        (&entry.fields["categories"], entry.modified),
        (&vec!["c1".to_owned(), "2".to_owned()], Some(1_072_865_695_000))
    );
    assert_eq!(
        (found.parts[1].text.as_str(), found.parts[1].field("default_language")),
        ("a <b> c", Some("de"))
    );
    let links = linked("a.json", feed.as_bytes()).unwrap();
    assert_eq!(links.list[1].address, "http://x/1");
    let cut = extract("a.json", &feed.as_bytes()[..feed.len() - 60]);
    assert!(cut.broken_off && cut.parts.len() == 1, "{cut:?}");
}

#[test]
fn of_too_many_entries_the_first_ones_are_read() {
    let feed = format!(
        "<rss version='2.0'><channel>{}</channel></rss>",
        (0..9).map(|n| format!("<item><guid>{n}</guid></item>")).collect::<String>()
    );
    let found =
        extract_within(crate::Limits { parts: 5, ..crate::Limits::default() }, "a.xml", feed.as_bytes());
    assert_eq!((found.parts.len(), found.broken_off, found.over_limit), (5, true, false));
}

#[test]
fn no_entity_of_a_feed_grows_and_no_field_is_taken_for_one_of_ours() {
    let bomb = "<!DOCTYPE rss [<!ENTITY a 'boom'><!ENTITY b '&a;&a;'><!ENTITY f SYSTEM 'file:///etc/passwd'>]>\
        <rss version='2.0'><channel><title>&b;&f;</title><extraction>x</extraction><links>y</links></channel></rss>";
    let found = extract("a.xml", bomb.as_bytes());
    assert_eq!(found.field("title"), Some("&b;&f;"));
    assert_eq!(
        (found.field("extraction"), found.field("feed:extraction"), found.field("links")),
        (None, Some("x"), None)
    );
}

#[test]
fn what_is_a_feed_by_its_name_only_is_read_as_before() {
    let told = |found: Extracted| (found.text, found.parts.len(), found.links);
    assert_eq!(told(extract("a.rss", b"<?xml version='1.0'?><a>words</a>")), ("words".to_owned(), 0, None));
    assert_eq!(told(extract("a.atom", b"only words")), ("only words".to_owned(), 0, None));
}

#[test]
fn damaged_feeds_end_with_something() {
    survives("a.xml", RSS.as_bytes());
    let json = br#"{"version":"https://jsonfeed.org/version/1","title":"t","items":[{"id":"1","content_html":"<p>w"}]}"#;
    survives("a.json", json);
}

#[test]
fn a_feed_that_is_made_to_cost_much_costs_no_more_than_its_length() {
    let feed = |words: &str| {
        format!("<rss version='2.0'><channel><item><guid>1</guid>{words}</item></channel></rss>")
    };
    let many = 200_000;
    for words in [
        "<media:group>".repeat(many),
        "<media:group><source>".repeat(many),
        "<itunes:category>".repeat(many),
        format!("<title>{}", "&amp;".repeat(many)),
        format!("<title><![CDATA[{}]]></title>", "&".repeat(many)),
        format!("<title><![CDATA[{}]]></title>", "<p ".repeat(many)),
        "<!a[>".repeat(many),
        "<a b='>".repeat(many),
        "<channel href='x'>".repeat(many),
        "</item>".repeat(many),
        format!("<description>{}</description>", "<div>".repeat(many)),
    ] {
        let found = extract("a.xml", feed(&words).as_bytes());
        assert!(found.parts.first().is_some_and(|part| part.name == "1"), "{}", &words[..20]);
    }
}
