//! Which text is a feed: what the first element says, or in JSON the version. A name alone makes none.

use super::{ATOM, CDF, HEAD_BYTES, JSON_FEED, PLAIN, RSS};
use crate::decode;

/// Where spaces of names of old Atom begin.
const OLD_ATOM: &[&str] = &["purl.org/atom/ns#", "example.com/necho"];
/// How the space of names of RSS that is RDF begins, with its version.
const RDF: &[(&str, &str)] = &[
    ("purl.org/rss/1.0/", "RSS 1.0"),
    ("my.netscape.com/rdf/simple/0.9/", "RSS 0.90"),
    ("channel.netscape.com/rdf/simple/0.9/", "RSS 0.90"),
    ("purl.org/net/rss1.1#", "RSS 1.1"),
];
/// What the version of a feed of JSON begins with.
const JSON_VERSION: &str = "jsonfeed.org/version/";

/// The media type of a text that is a feed; `named` is the type by its name.
pub(super) fn media_type(begin: &str, named: Option<&str>) -> Option<&'static str> {
    // Programs may have the beginning of a feed in them.
    let may_be = named.is_none_or(|media| {
        media == PLAIN || media.ends_with("xml") || media.ends_with("json") || media == super::HTML
    });
    let is_declared = begin.get(..5).is_some_and(|five| five.eq_ignore_ascii_case("<?xml"));
    if !may_be && !is_declared {
        return None;
    }
    kind(begin).map(|(media, _)| media)
}

/// The format of a feed, such as `RSS 2.0`.
pub(crate) fn format(text: &str) -> Option<String> {
    kind(text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')).map(|(_, format)| format)
}

/// The type of a feed in two or four bytes a letter and without a mark that says so, which would pass for data.
pub(super) fn in_wide_letters(head: &[u8]) -> Option<&'static str> {
    // No more than what is whole.
    let text = decode::wide(&head[..head.len().min(HEAD_BYTES) / 4 * 4])?;
    kind(&text).map(|(media, _)| media)
}

fn kind(begin: &str) -> Option<(&'static str, String)> {
    match begin.as_bytes().first()? {
        b'<' => of_xml(&begin[..decode::boundary(begin, HEAD_BYTES)]),
        b'{' => {
            let head = &begin[..decode::boundary(begin, HEAD_BYTES)];
            let rest = &head[head.find(JSON_VERSION)? + JSON_VERSION.len()..];
            let version: String =
                rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').take(8).collect();
            let is_version = head.contains("\"version\"") && rest[version.len()..].starts_with('"');
            is_version.then(|| (JSON_FEED, named("JSON Feed", &version)))
        }
        _ => None,
    }
}

/// What the first element says.
fn of_xml(begin: &str) -> Option<(&'static str, String)> {
    let (root, rest) = first_element(begin)?;
    let name = root.split(|c: char| c.is_whitespace() || c == '/').next()?;
    let version = attribute(root, "version").unwrap_or_default();
    match name.rsplit(':').next()?.to_ascii_lowercase().as_str() {
        "rss" => Some((RSS, named("RSS", version))),
        "rdf" => {
            RDF.iter().find(|(space, _)| begin.contains(space)).map(|(_, format)| (RSS, (*format).to_owned()))
        }
        "feed" if root.contains("www.w3.org/2005/Atom") => Some((ATOM, named("Atom", "1.0"))),
        "feed" if OLD_ATOM.iter().any(|space| root.contains(space)) || version.starts_with("0.") => {
            Some((ATOM, named("Atom", if version.is_empty() { "0.3" } else { version })))
        }
        // Without a name space it is Atom if it has what Atom demands, or entries.
        "feed" if !root.contains("xmlns=") && rest.contains("<entry") => Some((ATOM, "Atom".to_owned())),
        "channel" => {
            let lower = begin.to_ascii_lowercase();
            let has = |text: &str| lower.contains(text);
            let is_cdf = has("<item href") || has("<item lastmod") || has("<abstract") || has("channel.cdf");
            let says = ["href", "lastmod", "base", "self"].iter().any(|name| attribute(root, name).is_some());
            (is_cdf || says).then(|| (CDF, "CDF".to_owned()))
        }
        _ => None,
    }
}

fn named(format: &str, version: &str) -> String {
    let version: String =
        version.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '.').take(8).collect();
    format!("{format} {version}").trim_end().to_owned()
}

/// What is in the brackets of the first element, and what follows.
fn first_element(begin: &str) -> Option<(&str, &str)> {
    let mut rest = begin;
    loop {
        rest = &rest[rest.find('<')? + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->")?.1;
        } else if let Some(instruction) = rest.strip_prefix('?') {
            rest = instruction.split_once("?>").or_else(|| instruction.split_once('>'))?.1;
        } else if rest.starts_with('!') {
            let end = rest.find('>')?;
            let bracket = rest[..end].find('[').and_then(|at| Some(at + rest[at..].find(']')?));
            let end = bracket.map_or(Some(end), |at| Some(at + rest[at..].find('>')?))?;
            rest = &rest[end + 1..];
        } else if rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            let end = rest.find('>').unwrap_or(rest.len());
            return Some((&rest[..end], &rest[end..]));
        }
    }
}

/// The value of an attribute as it is written.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let at = tag.char_indices().map(|(at, _)| at).find(|at| {
        let is_begin = tag[..*at].ends_with(|c: char| c.is_whitespace());
        is_begin
            && tag[*at..].get(..name.len()).is_some_and(|word| word.eq_ignore_ascii_case(name))
            && tag[*at + name.len()..].trim_start().starts_with('=')
    })?;
    let value = tag[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    value[1..].split(quote).next()
}

#[cfg(test)]
mod tests {
    use super::super::{XML, of_text};
    use super::*;

    #[test]
    fn feeds_of_every_kind_are_told_by_their_content() {
        for (text, media, format) in [
            ("<rss version='2.0'><channel/></rss>", RSS, "RSS 2.0"),
            (
                "<?xml version='1.0'?>\n<!-- x --><!DOCTYPE rss [<!ENTITY a '>'>]><r:rss version=\"0.91\">",
                RSS,
                "RSS 0.91",
            ),
            ("<rdf:RDF xmlns:rdf='x' xmlns='http://purl.org/rss/1.0/'>", RSS, "RSS 1.0"),
            ("<rdf:RDF xmlns='http://my.netscape.com/rdf/simple/0.9/'>", RSS, "RSS 0.90"),
            ("<feed xmlns='http://www.w3.org/2005/Atom'>", ATOM, "Atom 1.0"),
            ("<feed version='0.3' xmlns='http://purl.org/atom/ns#'>", ATOM, "Atom 0.3"),
            ("<feed><title>a</title><entry>", ATOM, "Atom"),
            ("<CHANNEL HREF='http://x/'>", CDF, "CDF"),
            ("{\"title\":\"a\",\"version\":\"https://jsonfeed.org/version/1.1\"", JSON_FEED, "JSON Feed 1.1"),
        ] {
            for name in ["a", "a.xml", "a.txt"] {
                assert_eq!(of_text(text, name), media, "{text} {name}");
            }
            assert_eq!(super::format(text).as_deref(), Some(format), "{text}");
        }
    }

    #[test]
    fn other_xml_and_other_json_is_no_feed() {
        for (name, text, media) in [
            ("a.xml", "<?xml version='1.0'?><feed><animal>hay</animal></feed>", XML),
            ("a.xml", "<?xml version='1.0'?><channel><name>TV</name></channel>", XML),
            ("a.xml", "<?xml version='1.0'?><rdf:RDF xmlns:rdf='x' xmlns:owl='y'/>", XML),
            ("a.xml", "<?xml version='1.0'?><a><rss version='2.0'/></a>", XML),
            ("a.rss", "words", RSS),
            ("a.json", "{\"version\":\"1.1\"}", "application/json"),
            ("a.json", "{\"see\":\"https://jsonfeed.org/version/1 for more\"}", "application/json"),
            ("a.php", "<rss version='2.0'><?php echo 1; ?>", "text/x-php"),
        ] {
            assert_eq!(of_text(text, name), media, "{text}");
        }
    }

    #[test]
    fn wide_letters_without_a_mark_are_read_when_they_are_a_feed() {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        assert_eq!(in_wide_letters(&wide("<?xml version='1.0'?><rss>")), Some(RSS));
        assert_eq!(in_wide_letters(&wide("<?xml version='1.0'?><other>")), None);
        assert_eq!(in_wide_letters(b"\0\0\0<\0\0\0r\0\0\0s\0\0\0s\0\0\0>"), Some(RSS));
    }
}
