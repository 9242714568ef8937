//! What an answer is by its first bytes: a sitemap, a feed, or neither. What else stands in it makes it none: pages tell about both.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use ingather_model::limits;

/// How files begin that are packed by gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// How the version of a feed in JSON begins.
const JSON_FEED: &str = "jsonfeed.org/version/";

/// Whether what begins so is a sitemap, or an index of them, packed or not.
pub(super) fn is_sitemap(start: &[u8]) -> bool {
    let element = first_element(&text_of(start));
    matches!(element.as_deref(), Some("urlset" | "sitemapindex"))
}

/// Whether what begins so is a list of addresses, one on each line; only where somebody says that it is a sitemap.
pub(super) fn is_list_of_addresses(start: &[u8]) -> bool {
    let text = text_of(start);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    ["http://", "https://"].iter().any(|scheme| line.starts_with(scheme))
        && !line.contains(char::is_whitespace)
}

/// Whether what begins so is a feed.
pub(super) fn is_feed(start: &[u8]) -> bool {
    let text = text_of(start);
    if text.starts_with('{') {
        return text.contains(JSON_FEED) && text.contains("\"version\"");
    }
    matches!(first_element(&text).as_deref(), Some("rss" | "rdf" | "feed" | "channel"))
}

/// The text of a beginning, from its first letter on. Letters of two or four bytes are those of one byte with zeros between: the names that
/// are looked for have no others.
fn text_of(start: &[u8]) -> String {
    let mut unpacked = Vec::new();
    let start = match start.starts_with(&GZIP) {
        true => {
            // It ends in the midst of what is packed: what came before counts.
            let most = limits::SITEMAP_HEAD_BYTES as u64;
            let _ = MultiGzDecoder::new(start).take(most).read_to_end(&mut unpacked);
            unpacked.as_slice()
        }
        false => start,
    };
    let marks: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
    let start = marks.iter().find_map(|mark| start.strip_prefix(*mark)).unwrap_or(start);
    let letters: Vec<u8> = start.iter().copied().filter(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&letters)
        .trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
        .to_owned()
}

/// The name of the first element of a text that begins with markup, without its prefix, in lower case.
fn first_element(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix('<')?;
    loop {
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->")?.1;
        } else if let Some(instruction) = rest.strip_prefix('?') {
            rest = instruction.split_once("?>")?.1;
        } else if rest.starts_with('!') {
            let end = rest.find('>')?;
            let bracket = rest[..end].find('[').map(|at| rest[at..].find(']').map(|closed| at + closed));
            let end = match bracket {
                None => end,
                Some(closed) => closed.and_then(|at| Some(at + rest[at..].find('>')?))?,
            };
            rest = &rest[end + 1..];
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/')).unwrap_or(rest.len());
            let name = rest[..end].rsplit(':').next().unwrap_or_default();
            return (!name.is_empty()).then(|| name.to_ascii_lowercase());
        }
        rest = rest.trim_start().strip_prefix('<')?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn wide(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn a_sitemap_is_one_by_its_first_element() {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(b"<?xml version='1.0'?><urlset>").unwrap();
        for (start, expected) in [
            (b"<urlset>".to_vec(), true),
            (
                b"\xef\xbb\xbf \n<?xml version='1.0'?><!-- <a> --><!DOCTYPE x [<!ENTITY a '>'>]>\n<s:urlset "
                    .to_vec(),
                true,
            ),
            (b"<sitemapindex/>".to_vec(), true),
            (packed.finish().unwrap(), true),
            (wide("\u{feff}<?xml version='1.0'?><urlset>"), true),
            (b"<!doctype html><p>how to write a <urlset> in XML".to_vec(), false),
            (b"how to write a <urlset>".to_vec(), false),
            (b"<!-- <urlset> --><html>".to_vec(), false),
            (b"<urlsets>".to_vec(), false),
            (b"<!-- <urlset>".to_vec(), false),
            (b"\x1f\x8bbroken".to_vec(), false),
            (b"".to_vec(), false),
        ] {
            assert_eq!(is_sitemap(&start), expected, "{}", String::from_utf8_lossy(&start));
        }
    }

    #[test]
    fn a_feed_is_one_by_its_first_element_or_its_version() {
        for (start, expected) in [
            ("<rss version='2.0'>", true),
            ("<?xml version='1.0'?><rdf:RDF xmlns='http://purl.org/rss/1.0/'>", true),
            ("<feed xmlns='http://www.w3.org/2005/Atom'>", true),
            ("<CHANNEL HREF='http://x/'>", true),
            ("{\"version\": \"https://jsonfeed.org/version/1.1\"}", true),
            ("{\"version\": 1}", false),
            ("<html><body>We are down for maintenance; see our <rss> feed", false),
            ("not xml", false),
            ("", false),
        ] {
            assert_eq!(is_feed(start.as_bytes()), expected, "{start}");
        }
        assert!(is_feed(&wide("<?xml version='1.0'?><rss>")));
    }

    #[test]
    fn a_list_of_addresses_has_one_on_its_first_line() {
        assert!(is_list_of_addresses(b"\xef\xbb\xbf\n https://a.example/x\nhttps://a.example/y\n"));
        assert!(!is_list_of_addresses(b"https://a.example/ is our address"));
        assert!(!is_list_of_addresses(b"<html>"));
    }
}
