//! Sitemaps as they are meant, and as they come.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use ingather_model::limits::{SITEMAP_BYTES_MAX, SITEMAP_DEPTH_MAX};
use proptest::prelude::*;

use super::*;

fn read_from(source: &mut dyn Read) -> (Vec<Found>, Summary) {
    let at = Url::parse("http://example.com/sitemap.xml").unwrap();
    let mut all = Vec::new();
    let elsewhere = |url: &Url| url.host_str() == Some("friend.example");
    let summary = read(source, &at, &UrlRules::default(), &elsewhere, &mut |found| all.push(found));
    (all, summary)
}

fn read_bytes(bytes: &[u8]) -> (Vec<Found>, Summary) {
    read_from(&mut { bytes })
}

fn pages(bytes: &[u8]) -> Vec<String> {
    let page = |found: Found| match found {
        Found::Page(entry) | Found::Sitemap(entry) => entry.url.to_string(),
    };
    read_bytes(bytes).0.into_iter().map(page).collect()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const SMALL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url>
    <loc> http://example.com/a?x=1&amp;y=&#50; </loc><lastmod>2005-01-01</lastmod>
    <changefreq>Monthly</changefreq><priority>0.8</priority>
    <image:image><image:loc>http://example.com/a.png</image:loc></image:image>
  </url>
  <url><loc><![CDATA[http://example.com/b]]></loc><lastmod>soon</lastmod><priority>7</priority></url>
  <url><image:loc>http://example.com/c.png</image:loc></url>
</urlset>"#;

#[test]
fn entries_have_what_the_format_has() {
    let (all, summary) = read_bytes(SMALL.as_bytes());
    let day: jiff::Timestamp = "2005-01-01T00:00:00Z".parse().unwrap();
    let first = Entry {
        url: Url::parse("http://example.com/a?x=1&y=2").unwrap(),
        modified: Some(day.as_millisecond()),
        changes: Some(Changes::Monthly),
        priority: Some(0.8),
    };
    let second = Entry {
        url: Url::parse("http://example.com/b").unwrap(),
        modified: None,
        changes: None,
        priority: None,
    };
    assert_eq!(all, [Found::Page(first), Found::Page(second)]);
    assert_eq!(summary, Summary { taken: 2, elsewhere: 0, malformed: 1, ended: None });
}

#[test]
fn an_index_names_other_sitemaps_with_or_without_a_prefix() {
    let index = "<s:sitemapindex xmlns:s='x'><s:sitemap><s:loc>http://example.com/1.xml</s:loc></s:sitemap>\
        <sitemap><loc>http://example.com/2.xml.gz</loc></sitemap></s:sitemapindex>";
    let (all, _) = read_bytes(index.as_bytes());
    assert!(matches!(all.as_slice(), [Found::Sitemap(_), Found::Sitemap(_)]), "{all:?}");
}

#[test]
fn a_text_has_an_address_on_each_line() {
    let text = "\u{feff}\r\nhttp://example.com/1\r\n\nhttp://example.com/2\nnothing\nhttp://example.com/3";
    assert_eq!(
        pages(text.as_bytes()),
        ["http://example.com/1", "http://example.com/2", "http://example.com/3"]
    );
    assert_eq!(read_bytes(text.as_bytes()).1.malformed, 1);
    assert_eq!(read_bytes(b" \n ").1, Summary::default());
}

#[test]
fn packed_ones_are_unpacked() {
    assert_eq!(read_bytes(&packed(SMALL.as_bytes())), read_bytes(SMALL.as_bytes()));
    let mut twice = packed(b"http://example.com/1\n");
    twice.extend(packed(b"http://example.com/2\n"));
    assert_eq!(pages(&twice), ["http://example.com/1", "http://example.com/2"]);
}

#[test]
fn other_charsets_are_decoded() {
    let utf16: Vec<u8> =
        "\u{feff}http://example.com/\u{e9}\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(pages(&utf16), ["http://example.com/%C3%A9"]);
    let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>http://example.com/\xe9</loc></url></urlset>";
    assert_eq!(pages(latin), ["http://example.com/%C3%A9"]);
    let lie =
        b"<?xml version='1.0' encoding='UTF-16'?><urlset><url><loc>http://example.com/e</loc></url></urlset>";
    assert_eq!(pages(lie), ["http://example.com/e"]);
}

#[test]
fn addresses_of_other_hosts_are_left_out_unless_they_belong_to_the_job() {
    let text = b"http://example.com/\nhttps://evil.example/\nhttp://friend.example/a\n";
    assert_eq!(pages(text), ["http://example.com/", "http://friend.example/a"]);
    assert_eq!(read_bytes(text).1.elsewhere, 1);
}

#[test]
fn what_stands_before_a_break_counts() {
    let at = SMALL.find("<url><loc><![").unwrap();
    for broken in
        [&SMALL[..at + 20], &format!("{}</wrong></urlset>", &SMALL[..at]), &format!("{}<url><", &SMALL[..at])]
    {
        let (all, summary) = read_bytes(broken.as_bytes());
        assert_eq!(all.len(), 1, "{broken}");
        assert!(matches!(summary.ended, Some(Ended::Broken(_))), "{summary:?}");
    }
    let many: String = (0..5_000).map(|number| format!("http://example.com/{number}\n")).collect();
    let whole = packed(many.as_bytes());
    let (all, summary) = read_bytes(&whole[..whole.len() / 2]);
    assert!(!all.is_empty() && all.len() < 5_000);
    assert!(matches!(summary.ended, Some(Ended::Broken(_))), "{summary:?}");
}

#[test]
fn a_page_that_is_no_sitemap_is_told() {
    let (all, summary) = read_bytes(b"<!DOCTYPE html><html><url><loc>http://example.com/</loc></url></html>");
    assert!(all.is_empty());
    assert_eq!(summary.ended, Some(Ended::Broken("`html` is no root of a sitemap".into())));
}

#[test]
fn a_source_that_fails_is_told_from_one_that_is_broken() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset))
        }
    }
    let text = b"http://example.com/1\nhttp://example.com/2\n";
    let (all, summary) = read_from(&mut text.chain(Failing));
    assert!(matches!(summary.ended, Some(Ended::Unread(_))), "{summary:?}");
    assert_eq!(all.len(), 2);
    let packed = packed(text);
    let (_, summary) = read_from(&mut packed[..20].chain(Failing));
    assert!(matches!(summary.ended, Some(Ended::Unread(_))), "{summary:?}");
}

#[test]
fn entities_of_its_own_are_not_expanded() {
    let bomb = "<!DOCTYPE urlset [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;'><!ENTITY f SYSTEM 'file:///etc/passwd'>]>\
        <urlset><url><loc>http://example.com/&b;&f;</loc></url></urlset>";
    assert_eq!(pages(bomb.as_bytes()), ["http://example.com/&b;&f;"]);
}

#[test]
fn what_has_no_end_is_cut_and_told() {
    let cut = |source: &mut dyn Read| match read_from(source).1.ended {
        Some(Ended::Cut(message)) => message,
        other => panic!("{other:?}"),
    };
    let head = b"<urlset><url><loc>";
    assert!(cut(&mut head.chain(std::io::repeat(b'a'))).contains("a piece"));
    assert!(cut(&mut b"<!-- ".chain(std::io::repeat(b'-').take(1 << 30))).contains("a piece"));
    assert!(cut(&mut b"a".chain(std::io::repeat(b' '))).contains(&SITEMAP_BYTES_MAX.to_string()));
    let deep = format!("<urlset>{}", "<url>".repeat(SITEMAP_DEPTH_MAX));
    assert!(cut(&mut deep.as_bytes()).contains("nested"));
    let split = format!("<urlset><url><loc>{}", format!("{}<!-- -->", "a".repeat(1_000)).repeat(100));
    assert!(cut(&mut split.as_bytes()).contains("a field"));
    let zeros = packed(&vec![b' '; SITEMAP_BYTES_MAX as usize + 1]);
    assert!(cut(&mut zeros.as_slice()).contains(&SITEMAP_BYTES_MAX.to_string()));
}

#[test]
fn the_entry_behind_the_last_one_is_left_out_and_told() {
    let lines = |count: usize| "http://example.com/a\n".repeat(count).into_bytes();
    let (all, summary) = read_bytes(&lines(SITEMAP_ENTRIES_MAX));
    assert_eq!((all.len(), summary.ended), (SITEMAP_ENTRIES_MAX, None));
    let (all, summary) = read_bytes(&lines(SITEMAP_ENTRIES_MAX + 1));
    assert_eq!(all.len(), SITEMAP_ENTRIES_MAX);
    assert!(matches!(summary.ended, Some(Ended::Cut(_))));
}

proptest! {
    #[test]
    fn any_bytes_are_read_to_an_end(bytes in proptest::collection::vec(any::<u8>(), 0..200), packs: bool, in_xml: bool) {
        let mut file = if in_xml { SMALL.as_bytes()[..SMALL.len() / 2].to_vec() } else { Vec::new() };
        file.extend_from_slice(&bytes);
        let file = if packs { packed(&file) } else { file };
        let (all, summary) = read_bytes(&file);
        prop_assert_eq!(all.len(), summary.taken);
    }
}
