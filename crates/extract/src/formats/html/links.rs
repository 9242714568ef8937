//! What a page says of other pages, to whoever follows links: where they lead, how they are related, and what robots shall do.

use std::collections::BTreeMap;

use super::tokens::{Attributes, Token, Tokens};
use crate::page::LinkSink;

/// Relations of the element `link` that lead to documents and not to what a page needs to be shown.
const FOLLOWED: &[&str] = &["alternate", "next", "prev", "canonical"];
/// Pages that stand in attributes of pages inside each other.
const INSIDE_MAX: usize = 4;
/// What is in the names of robots.
const ROBOTS: &[&str] = &["robot", "bot", "crawler", "spider", "slurp"];
/// How orders to robots begin.
const ORDERS: &[&str] = &[
    "all",
    "index",
    "follow",
    "noindex",
    "nofollow",
    "none",
    "noarchive",
    "nocache",
    "nosnippet",
    "noimageindex",
    "notranslate",
    "indexifembedded",
    "max-",
    "unavailable_after",
];

/// Where the reading of a page stands.
#[derive(Default)]
pub(super) struct Place {
    /// Templates that are open: what is in them is no part of the page.
    templates: usize,
}

impl Place {
    /// Takes what a tag says.
    pub(super) fn open(&mut self, name: &str, attributes: &Attributes<'_>, links: &mut LinkSink) {
        if name == "template" {
            self.templates += 1;
        }
        if self.templates > 0 {
            return;
        }
        match name {
            "a" | "area" | "frame" | "iframe" => anchor(attributes, links, 0),
            "link" => relation(attributes, links),
            "meta" => meta(attributes, links),
            "base" => {
                if let Some(address) = attributes.get("href") {
                    links.base(&address);
                }
            }
            _ => {}
        }
    }

    /// A tag closes.
    pub(super) fn close(&mut self, name: &str) {
        if name == "template" {
            self.templates = self.templates.saturating_sub(1);
        }
    }
}

/// A link of the text, or a page that is shown inside.
fn anchor(attributes: &Attributes<'_>, links: &mut LinkSink, inside: usize) {
    let source = attributes.get("srcdoc").filter(|_| inside < INSIDE_MAX);
    for token in source.iter().flat_map(|source| Tokens::new(source)) {
        if let Token::Open { name, attributes } = token
            && matches!(name.as_str(), "a" | "area" | "frame" | "iframe")
        {
            anchor(&attributes, links, inside + 1);
        }
    }
    let address = ["href", "src", "xlink:href"].iter().find_map(|name| attributes.get(name));
    if let Some(address) = address {
        links.add(&address, &attributes.get("rel").unwrap_or_default(), BTreeMap::new());
    }
}

/// How the page is related to others, which its head says.
fn relation(attributes: &Attributes<'_>, links: &mut LinkSink) {
    let (Some(rel), Some(address)) = (attributes.get("rel"), attributes.get("href")) else { return };
    let is = |wanted: &str| rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case(wanted));
    if is("canonical") {
        links.canonical(&address);
    }
    // Another style of the same page is no page.
    if is("stylesheet") || !FOLLOWED.iter().any(|wanted| is(wanted)) {
        return;
    }
    let names = ["type", "title", "hreflang"].into_iter();
    let fields = names.filter_map(|name| {
        let value = attributes.get(name).filter(|value| !value.is_empty())?;
        Some((name.to_owned(), vec![value]))
    });
    links.add(&address, &rel, fields.collect());
}

/// What the page tells robots, and where it sends its readers on.
fn meta(attributes: &Attributes<'_>, links: &mut LinkSink) {
    let Some(content) = attributes.get("content") else { return };
    if attributes.get("http-equiv").is_some_and(|name| name.trim().eq_ignore_ascii_case("refresh"))
        && let Some(address) = refreshed(&content)
    {
        links.add(address, "refresh", BTreeMap::new());
    }
    if let Some(name) = attributes.get("name")
        && is_for_robots(&name.to_lowercase(), &content)
    {
        links.robots(&name, &content);
    }
}

/// Whether a name is that of a robot, or the content is nothing but orders to one: robots may have any name.
fn is_for_robots(name: &str, content: &str) -> bool {
    let content = content.to_lowercase();
    let is_order = |word: &str| ORDERS.iter().any(|order| word.trim().starts_with(order));
    ROBOTS.iter().any(|part| name.contains(part)) || content.split(',').all(is_order)
}

/// The address in a refresh such as `5; url=/next`, by the rules of the HTML standard.
fn refreshed(content: &str) -> Option<&str> {
    let content = content.trim_ascii();
    let rest = content.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_apart = |c: char| c.is_ascii_whitespace() || matches!(c, ';' | ',');
    if rest.len() == content.len() || !rest.starts_with(is_apart) {
        return None;
    }
    let rest = rest.trim_start_matches(is_apart);
    let named =
        rest.get(..3).filter(|word| word.eq_ignore_ascii_case("url")).map(|_| rest[3..].trim_ascii_start());
    let rest = named.and_then(|rest| rest.strip_prefix('=')).map_or(rest, str::trim_ascii_start);
    let address = match rest.chars().next() {
        Some(quote @ ('"' | '\'')) => rest[1..].split(quote).next().unwrap_or_default(),
        _ => rest,
    };
    Some(address).filter(|address| !address.is_empty())
}

#[cfg(test)]
mod tests {
    use ingather_model::document::Links;

    use super::*;
    use crate::formats::tests::linked;

    fn told(page: &str) -> Links {
        linked("a.html", page.as_bytes()).unwrap()
    }

    fn list(page: &str) -> Vec<(String, String)> {
        told(page).list.into_iter().map(|link| (link.address, link.rel)).collect()
    }

    #[test]
    fn links_of_every_kind_are_told_with_their_relation() {
        let page = "<html><head><base href='http://x/b/'><base href='http://y/'><link rel=canonical href=' /c '>\
            <link rel='Alternate' type='application/rss+xml' title='News &amp; more' href=feed><link rel=next href=2>\
            <link rel='alternate stylesheet' href=s.css><link rel=icon href=i.png>\
            <meta http-equiv=Refresh content=\"0; URL='/moved'\"></head><body>\
            <a href='/l?a=1&amp;b=2' rel='NoFollow  ugc'>l</a><map><area href=area></map><iframe src=frame></iframe>\
            <svg><a xlink:href='drawn'></a></svg><a name=n>no link</a></body></html>";
        let pairs = [
            ("/c", "canonical"),
            ("feed", "alternate"),
            ("2", "next"),
            ("/moved", "refresh"),
            ("/l?a=1&b=2", "nofollow ugc"),
            ("area", ""),
            ("frame", ""),
            ("drawn", ""),
        ];
        assert_eq!(list(page), pairs.map(|(address, rel)| (address.to_owned(), rel.to_owned())));
        let links = told(page);
        assert_eq!((links.base.as_deref(), links.canonical.as_deref()), (Some("http://x/b/"), Some("/c")));
        assert_eq!(links.list[1].fields["title"], ["News & more"]);
        assert_eq!(links.list[1].fields["type"], ["application/rss+xml"]);
        assert!(!links.incomplete);
    }

    #[test]
    fn what_is_no_part_of_the_page_has_no_links_and_what_is_hidden_has() {
        let page = "<script>'<a href=1>'</script><style>/*<a href=2>*/</style><!-- <a href=3> --><textarea><a href=4></textarea>\
            <template><a href=5><template></template><a href=6></template><noscript><a href=7></noscript>\
            <nav><a href=8></nav><div hidden><a href=9></div><object><a href=10></object>";
        let addresses: Vec<_> = list(page).into_iter().map(|(address, _)| address).collect();
        assert_eq!(addresses, ["7", "8", "9", "10"]);
    }

    #[test]
    fn a_link_that_is_there_twice_is_told_once_unless_its_relation_differs() {
        let page = "<a href=/a>1</a><a href=' /a'>2</a><a href=/a rel=next>3</a><a href=/b>4</a>";
        assert_eq!(list(page).len(), 3);
    }

    #[test]
    fn links_in_a_page_that_stands_in_an_attribute_are_told() {
        let page = "<iframe srcdoc='&lt;a href=in>x&lt;/a>&lt;base href=other>'></iframe><a href=out>y</a>";
        assert_eq!(list(page).into_iter().map(|(address, _)| address).collect::<Vec<_>>(), ["in", "out"]);
        assert_eq!(told(page).base, None);
    }

    #[test]
    fn robots_are_told_by_their_name_or_by_their_orders() {
        let page = "<meta name=ROBOTS content=NoIndex><meta name=googlebot-news content='nosnippet'>\
            <meta name=Ingather content='noindex, nofollow'><meta name=keywords content='index, cards'>";
        let told = told(page).robots;
        let pairs: Vec<_> = told.iter().map(|(name, content)| (name.as_str(), content.as_str())).collect();
        assert_eq!(
            pairs,
            [("robots", "NoIndex"), ("googlebot-news", "nosnippet"), ("ingather", "noindex, nofollow")]
        );
    }

    #[test]
    fn a_refresh_leads_where_a_browser_would_go() {
        for (content, address) in [
            ("5; url=/a", Some("/a")),
            ("0;URL = \"/a b\" x", Some("/a b")),
            ("1.5, /a", Some("/a")),
            ("0 url=", None),
            ("5", None),
            ("x; url=/a", None),
            ("5url=/a", None),
        ] {
            assert_eq!(refreshed(content), address, "{content}");
        }
    }

    #[test]
    fn a_page_that_is_not_read_to_its_end_says_so() {
        let limits = crate::Limits { text_bytes: 10, ..crate::Limits::default() };
        let request =
            crate::Request { name: "a.html".into(), links: true, limits, ..crate::Request::default() };
        let page = b"<a href=1>words</a><p>more words</p><a href=2>x</a>";
        let links = crate::extract(&request, crate::Input::memory(page.to_vec())).links.unwrap();
        assert!(links.incomplete && links.list.len() == 1, "{links:?}");
    }

    #[test]
    fn nothing_is_told_when_nobody_asks_or_the_format_has_no_links() {
        assert_eq!(crate::formats::tests::extract("a.html", b"<a href=1>x</a>").links, None);
        assert_eq!(linked("a.txt", b"http://x/"), None);
        let mail = b"From: a@b\nTo: c@d\nContent-Type: text/html\n\n<a href=1>x</a>";
        assert_eq!(linked("a.eml", mail), None);
    }
}
