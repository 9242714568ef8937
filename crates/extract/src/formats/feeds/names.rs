//! table: what the elements of feeds are called, whatever their documents call them.

/// Prefixes by how the names of their spaces begin; none is of the feed itself.
const SPACES: &[(&str, &str)] = &[
    ("http://www.w3.org/2005/Atom", ""),
    ("http://purl.org/atom/ns#", ""),
    ("http://purl.org/rss/1.0/modules/content", "content"),
    ("http://purl.org/rss/1.0/modules/syndication", "sy"),
    ("http://purl.org/rss/1.0/modules/slash", "slash"),
    ("http://purl.org/rss/1.0/modules/link", "l"),
    ("http://purl.org/rss/1.0/", ""),
    ("http://my.netscape.com/rdf/simple/0.9", ""),
    ("http://my.netscape.com/publish/formats/rss-0.91", ""),
    ("http://channel.netscape.com/rdf/simple/0.9", ""),
    ("http://backend.userland.com/rss", ""),
    ("http://blogs.law.harvard.edu/tech/rss", ""),
    ("http://backend.userland.com/creativeCommonsRssModule", "cc"),
    ("http://web.resource.org/cc/", "cc"),
    ("http://creativecommons.org/ns", "cc"),
    ("http://cyber.law.harvard.edu/rss/creativeCommonsRssModule", "cc"),
    ("http://purl.org/dc/elements/", "dc"),
    ("http://purl.org/dc/terms/", "dcterms"),
    ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf"),
    ("http://www.w3.org/1999/xhtml", "xhtml"),
    ("http://www.itunes.com/DTDs/", "itunes"),
    ("http://www.itunes.com/dtds/", "itunes"),
    ("http://example.com/DTDs/PodCast-1.0.dtd", "itunes"),
    ("http://search.yahoo.com/mrss", "media"),
    ("http://video.search.yahoo.com/mrss", "media"),
    ("http://wellformedweb.org/CommentAPI/", "wfw"),
    ("http://purl.org/syndication/thread/1.0", "thr"),
    ("http://purl.org/syndication/history/1.0", "fh"),
    ("http://webns.net/mvcb/", "admin"),
    ("http://www.georss.org/georss", "georss"),
];

/// Names of elements that are entries.
const ENTRIES: &[&str] = &["item", "entry"];

/// The prefix of a space of names; none where nobody knows it.
pub(super) fn prefix_of(space: &str) -> Option<&'static str> {
    SPACES.iter().find(|(begin, _)| space.trim().starts_with(begin)).map(|(_, prefix)| *prefix)
}

/// Whether an element of this name, as written, is an entry.
pub(super) fn is_entry(written: &str) -> bool {
    let local = written.rsplit(':').next().unwrap_or_default();
    ENTRIES.iter().any(|entry| local.eq_ignore_ascii_case(entry))
}

/// Elements with nothing but words in them.
const WORDS: &[&str] = &["title", "link", "guid", "pubdate", "id", "updated", "published"];
/// Elements that stand beside those, so that one of them tells that the end of the other is missing.
const BESIDE: &[&str] = &[
    "title",
    "link",
    "guid",
    "pubdate",
    "id",
    "updated",
    "published",
    "description",
    "summary",
    "content",
    "author",
    "category",
    "comments",
    "enclosure",
    "source",
    "item",
    "entry",
];

/// Whether an element that is open, as written, has ended without an end tag when another one begins.
pub(super) fn ends(open: &str, begins: &str) -> bool {
    let is_of = |list: &[&str], name: &str| list.iter().any(|known| known.eq_ignore_ascii_case(name));
    (is_entry(open) && open.eq_ignore_ascii_case(begins)) || (is_of(WORDS, open) && is_of(BESIDE, begins))
}
