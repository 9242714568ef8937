//! Media types: from the first bytes where they speak, from the name where they do not.

mod feeds;
mod tables;

use ingather_model::limits;

use crate::decode;

pub(crate) use self::feeds::format as feed_format;
use self::tables::{BINARY, MAGIC, MAIL_HEADERS, TEXT, UNREAD};

/// Bytes of the beginning that are looked at.
pub const HEAD_BYTES: usize = 8 << 10;

/// ZIP container.
pub(crate) const ZIP: &str = "application/zip";
/// OLE compound file.
pub(crate) const OLE: &str = "application/x-ole-storage";
/// A mail.
pub(crate) const MAIL: &str = "message/rfc822";
/// A web page.
pub(crate) const HTML: &str = "text/html";
/// Any other XML.
pub(crate) const XML: &str = "application/xml";
/// A feed of RSS in any version, be it RDF or not.
pub(crate) const RSS: &str = "application/rss+xml";
/// A feed of Atom.
pub(crate) const ATOM: &str = "application/atom+xml";
/// A channel (CDF).
pub(crate) const CDF: &str = "application/x-cdf";
/// A feed of JSON.
pub(crate) const JSON_FEED: &str = "application/feed+json";
/// Text of no other type.
pub(crate) const PLAIN: &str = "text/plain";
/// Nobody knows.
pub(crate) const BYTES: &str = "application/octet-stream";

pub(crate) fn by_extension(table: &[(&str, &'static str)], name: &str) -> Option<&'static str> {
    let extension = name.rsplit_once('.')?.1.to_lowercase();
    table.iter().find(|(known, _)| *known == extension).map(|(_, media)| *media)
}

/// The type that the first bytes alone tell; `name` only tells containers apart.
pub fn by_content(head: &[u8], name: &str) -> Option<&'static str> {
    let at = |place: usize, bytes: &[u8]| head.get(place..).is_some_and(|rest| rest.starts_with(bytes));
    if at(0, b"RIFF") {
        match head.get(8..12) {
            Some(b"WEBP") => return Some("image/webp"),
            Some(b"WAVE") => return Some("audio/wav"),
            Some(b"AVI ") => return Some("video/x-msvideo"),
            _ => {}
        }
    }
    if at(0, b"\x01\0\0\0") && at(40, b" EMF") {
        return Some("image/emf");
    }
    if at(0, b"BM") && at(6, &[0; 4]) {
        return Some("image/bmp");
    }
    if at(4, b"ftyp") {
        return Some(match head.get(8..12) {
            Some(b"M4A " | b"M4B ") => "audio/mp4",
            Some(b"heic" | b"heix" | b"mif1") => "image/heic",
            Some(b"avif") => "image/avif",
            Some(b"qt  ") => "video/quicktime",
            _ => "video/mp4",
        });
    }
    // Readers look for the mark of PDF within the first kilobyte.
    let begin = &head[..head.len().min(1_024)];
    let is_pdf = begin.contains(&b'%') && begin.windows(5).any(|five| five == b"%PDF-");
    if is_pdf && (!looks_like_text_before(head) || is_pdf_behind_a_page(begin)) || is_pdf_without_mark(begin)
    {
        return Some("application/pdf");
    }
    if let Some(media) = feeds::in_wide_letters(head) {
        return Some(media);
    }
    if is_tar(head) {
        return Some("application/x-tar");
    }
    let media = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, media)| *media)?;
    match media {
        ZIP => Some(packaged(head).or_else(|| by_extension(BINARY, name)).unwrap_or(ZIP)),
        OLE => Some(by_extension(BINARY, name).unwrap_or(OLE)),
        "application/x-archive" if head.get(8..21) == Some(b"debian-binary") => {
            Some("application/vnd.debian.binary-package")
        }
        // Two letters are little to go by.
        "application/x-msdownload" if !head.contains(&0) => None,
        media => Some(media),
    }
}

/// Whether a PDF begins with its first object, or with the remark that shall tell programs that it is no text.
fn is_pdf_without_mark(begin: &[u8]) -> bool {
    let rest = match begin {
        [b'%', a, b, c, d, rest @ ..] if [a, b, c, d].iter().all(|byte| **byte >= 0x80) => rest,
        rest => rest,
    };
    let mut words = rest.trim_ascii_start().splitn(3, |byte| *byte == b' ');
    let mut number =
        || words.next().is_some_and(|word| !word.is_empty() && word.iter().all(u8::is_ascii_digit));
    number()
        && number()
        && words.next().is_some_and(|rest| {
            let object = rest.strip_prefix(b"obj").map(<[u8]>::trim_ascii_start);
            object.is_some_and(|object| object.starts_with(b"<<"))
                && rest.windows(6).any(|six| six == b"endobj")
        })
}

/// Whether a whole PDF stands behind a page that a server or proxy put before it: its mark has the remark behind it that
/// shall tell programs that it is no text.
fn is_pdf_behind_a_page(begin: &[u8]) -> bool {
    let mark = begin.windows(5).position(|five| five == b"%PDF-").filter(|_| begin.starts_with(b"<"));
    let mut lines = begin[mark.unwrap_or(begin.len())..].splitn(2, |byte| matches!(byte, b'\r' | b'\n'));
    let remark = lines.nth(1).map(<[u8]>::trim_ascii_start).and_then(|rest| rest.strip_prefix(b"%"));
    remark.and_then(|remark| remark.get(..4)).is_some_and(|four| four.iter().all(|byte| *byte >= 0x80))
}

/// Whether the mark of PDF comes only after markup, as in a page or mail about PDF.
fn looks_like_text_before(head: &[u8]) -> bool {
    let begin = head.trim_ascii_start();
    !begin.starts_with(b"%PDF-") && (begin.starts_with(b"<") || is_mail(head) || begin.starts_with(b"From "))
}

/// The type that OpenDocument and EPUB write into the first member of the ZIP, uncompressed.
fn packaged(head: &[u8]) -> Option<&'static str> {
    let name_length = usize::from(u16::from_le_bytes([*head.get(26)?, *head.get(27)?]));
    let extra = usize::from(u16::from_le_bytes([*head.get(28)?, *head.get(29)?]));
    if head.get(30..30 + name_length)? != b"mimetype" {
        return None;
    }
    let rest = head.get(30 + name_length + extra..)?;
    let known = BINARY.iter().map(|(_, media)| *media).filter(|media| rest.starts_with(media.as_bytes()));
    known.max_by_key(|media| media.len())
}

/// A tape archive: by its mark, or by the sum of its first header.
fn is_tar(head: &[u8]) -> bool {
    let Some(header) = head.get(..512) else { return false };
    if &header[257..262] == b"ustar" {
        return true;
    }
    let written = std::str::from_utf8(&header[148..156]).ok().map(|text| text.trim_matches(['\0', ' ']));
    let Some(written) = written.and_then(|text| u64::from_str_radix(text, 8).ok()) else { return false };
    let sum: u64 = header
        .iter()
        .enumerate()
        .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) })
        .sum();
    header[0] != 0 && written == sum
}

/// The type that the name alone tells.
pub(crate) fn by_name(name: &str) -> Option<&'static str> {
    by_extension(TEXT, name).or_else(|| by_extension(BINARY, name))
}

/// The type of something that is not text.
pub fn of_binary(name: &str) -> &'static str {
    by_extension(BINARY, name).unwrap_or(BYTES)
}

/// The type of text that begins with `head`.
pub fn of_text(head: &str, name: &str) -> &'static str {
    let begin = head.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let bytes = begin.as_bytes();
    let begins = |word: &[u8]| bytes.get(..word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word));
    if begins(b"<!doctype html") || begins(b"<html") {
        return if begins(b"<html") && named_xhtml(head) { "application/xhtml+xml" } else { HTML };
    }
    let named = by_extension(TEXT, name);
    if let Some(media) = feeds::media_type(begin, named) {
        return media;
    }
    if begins(b"<?xml") {
        return of_xml(begin).or(named.filter(|media| media.ends_with("xml"))).unwrap_or(XML);
    }
    if begins(b"{\\rtf") {
        return "application/rtf";
    }
    if begins(b"<svg") {
        return "image/svg+xml";
    }
    if begin.starts_with("From ")
        && begin.lines().skip(1).take(30).any(|line| header_name(line.as_bytes()).is_some())
        && named != Some(PLAIN)
    {
        return "application/mbox";
    }
    if begins(b"BEGIN:VCARD") {
        return "text/vcard";
    }
    if begins(b"BEGIN:VCALENDAR") {
        return "text/calendar";
    }
    if named.is_none_or(|media| media == PLAIN || media == MAIL) && is_mail(head.as_bytes()) {
        return MAIL;
    }
    if named.is_none() && looks_like_html(begin) {
        return HTML;
    }
    named.unwrap_or(PLAIN)
}

fn named_xhtml(head: &str) -> bool {
    head.get(..512.min(head.len()))
        .is_some_and(|begin| begin.contains("\"http://www.w3.org/1999/xhtml\"") && begin.contains("<?xml"))
}

/// What kinds of XML say in their first element.
fn of_xml(begin: &str) -> Option<&'static str> {
    let begin = &begin[..crate::decode::boundary(begin, HEAD_BYTES)];
    let root = begin.split('<').find(|piece| piece.starts_with(|c: char| c.is_alphabetic()))?;
    let name = root.split(|c: char| c.is_whitespace() || c == '>' || c == '/').next()?;
    let local = name.rsplit(':').next()?;
    Some(match local {
        "html" => "application/xhtml+xml",
        "svg" => "image/svg+xml",
        "rss" => RSS,
        "feed" if root.contains("2005/Atom") => ATOM,
        "wordDocument" => "application/vnd.ms-wordml",
        "package" if root.contains("xmlPackage") => "application/vnd.ms-word.flat-opc",
        "Workbook" if root.contains("office:spreadsheet") => "application/vnd.ms-spreadsheetml",
        _ => return None,
    })
}

/// Tags that no other text has.
fn looks_like_html(begin: &str) -> bool {
    let begin = &begin[..crate::decode::boundary(begin, 1_024)];
    let lower = begin.to_ascii_lowercase();
    begin.starts_with('<')
        && ["<html", "<head", "<body", "<title", "<table", "<div", "<p>", "<a href", "<script", "<!--"]
            .iter()
            .any(|tag| lower.contains(tag))
}

/// Longest name of a header that is looked for; RFC 5322 has no limit but that of a line.
const HEADER_NAME_BYTES: usize = 128;

/// The name of the header that a line begins with, known or not.
fn header_name(line: &[u8]) -> Option<&[u8]> {
    // In text without colons, only as many bytes as a name has are looked at.
    let at =
        line.iter().take(HEADER_NAME_BYTES + 1).position(|byte| !byte.is_ascii_graphic() || *byte == b':')?;
    (at > 0 && line[at] == b':').then(|| &line[..at])
}

/// Whether text begins as a mail does: headers only, at least two of them known.
fn is_mail(head: &[u8]) -> bool {
    let mut rest = &head[..head.len().min(4_096)];
    let mut known = 0;
    let mut is_first = true;
    while !rest.is_empty() && !rest.starts_with(b"\n") && !rest.starts_with(b"\r\n") {
        if is_first || !rest.starts_with(b" ") && !rest.starts_with(b"\t") {
            match header_name(rest) {
                Some(name) => {
                    known += usize::from(
                        MAIL_HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header.as_bytes())),
                    );
                }
                // A single line of an envelope may come first; the last line may be cut.
                None if is_first && rest.starts_with(b"From ") || known > 3 => {}
                // Most texts are told by how their first line begins: its end is not looked for then.
                None => return false,
            }
        }
        is_first = false;
        rest = rest.iter().position(|byte| *byte == b'\n').map_or(&[], |at| &rest[at + 1..]);
    }
    known >= 2
}

/// The type of a document: by content first, by name second, by what the source declares last.
pub fn media_type(head: &[u8], name: &str, declared: Option<&str>) -> String {
    if let Some(media) = by_content(head, name) {
        return media.to_owned();
    }
    let declared =
        declared.map(|media| media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    if decode::is_binary(head) {
        return match of_binary(name) {
            BYTES => declared
                .filter(|media| media.contains('/') && !media.starts_with("text/"))
                .unwrap_or_else(|| BYTES.to_owned()),
            media => media.to_owned(),
        };
    }
    let mut text = decode::Text::new();
    text.push(head, false);
    match of_text(&text.text, name) {
        PLAIN => declared.filter(|media| media.starts_with("text/")).unwrap_or_else(|| PLAIN.to_owned()),
        media => media.to_owned(),
    }
}

/// Types whose text is for people only after reading, though it is text.
const MARKUP: &[&str] = &[
    HTML,
    MAIL,
    "application/xhtml+xml",
    XML,
    RSS,
    ATOM,
    CDF,
    JSON_FEED,
    "image/svg+xml",
    "application/mbox",
    "application/rtf",
    "application/vnd.ms-wordml",
    "application/vnd.ms-word.flat-opc",
    "application/vnd.ms-spreadsheetml",
    "text/calendar",
    "text/vcard",
];

/// Whether text of this type is taken as it is; there is more to do for the others.
pub fn is_text(media: &str) -> bool {
    !MARKUP.contains(&media)
}

/// What is said of a document whose type has no reader.
pub(crate) fn unsupported(media: &str) -> String {
    match UNREAD.iter().find(|(known, _)| media.starts_with(known)) {
        Some((_, name)) => format!("unsupported: {name}"),
        None if media == BYTES => "unsupported: a format that is not known".to_owned(),
        None => format!("unsupported: {media}"),
    }
}

/// How many bytes of a document that begins so can matter: of text that is taken as it is only its beginning.
pub(crate) fn bytes_that_matter(begin: &[u8], name: &str, text_bytes: usize) -> u64 {
    let head = &begin[..begin.len().min(HEAD_BYTES)];
    let media = media_type(head, name, None);
    let plain = media.starts_with("text/") && is_text(&media) && by_content(head, name).is_none();
    // No charset needs more than four bytes for a character of text.
    if plain { text_bytes as u64 * 4 + limits::EXTRACT_CHUNK_BYTES as u64 } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_goes_before_the_name() {
        assert_eq!(by_content(b"%PDF-1.7", "a.txt"), Some("application/pdf"));
        assert_eq!(by_content(b"\n\n%PDF-1.7", "a.txt"), Some("application/pdf"));
        let behind = b"<html>moved</html>%PDF-1.7\r\n%\xe2\xe3\xcf\xd3\r\n1 0 obj";
        assert_eq!(by_content(behind, "a.pdf"), Some("application/pdf"));
        assert_eq!(by_content(b"<html>about %PDF-1.7 files\n% and more", "a.html"), None);
        assert_eq!(by_content(b"PK\x03\x04....", "a.ZIP"), Some(ZIP));
        assert!(
            by_content(b"PK\x03\x04....", "a.Docx").is_some_and(|media| media.contains("wordprocessingml"))
        );
        assert_eq!(by_content(b"hello", "a.pdf"), None);
        let object = b"1 0 obj <</Type/Catalog>> endobj";
        let remark = [b"%\xe2\xe3\xcf\xd3\r".as_slice(), object].concat();
        assert_eq!(
            [object, remark.as_slice()].map(|head| by_content(head, "a")),
            [Some("application/pdf"); 2]
        );
        assert_eq!(by_content(b"1 0 obj is how an object begins", "a"), None);
        assert_eq!(of_text("hello", "a.pdf"), PLAIN);
        assert_eq!(of_text(" <!DOCTYPE HTML>", "a.txt"), HTML);
        assert_eq!(of_text("<?xml version", "a.svg"), "image/svg+xml");
        assert_eq!(of_text("<?xml version", "a.txt"), XML);
        assert_eq!(of_text("fn main", "main.RS"), "text/x-rust");
        assert_eq!(of_binary("a.unknown"), BYTES);
    }

    #[test]
    fn text_tells_what_it_is() {
        let mail = "Received: from a\n by b\nFrom: a@b\nTo: c@d\n\nhello";
        assert_eq!(of_text(mail, "x"), MAIL);
        assert_eq!(of_text(&format!("From a@b Mon Jan 1\n{mail}"), "x"), "application/mbox");
        assert_eq!(of_text("note: one\nother: two\n", "x"), PLAIN);
        assert_eq!(
            of_text("<?xml version='1.0'?>\n<!-- c -->\n<rss version='2.0'>", "x"),
            "application/rss+xml"
        );
        assert_eq!(of_text("<p>Hello</p>", "x"), HTML);
        assert_eq!(of_text("<p>Hello</p>", "x.rs"), "text/x-rust");
    }

    #[test]
    fn a_declared_type_counts_least() {
        assert_eq!(media_type(b"%PDF-1.4", "a", Some("text/html")), "application/pdf");
        assert_eq!(media_type(b"hello", "a.md", Some("text/html")), "text/markdown");
        assert_eq!(media_type(b"hello", "a", Some("Text/HTML; charset=x")), "text/html");
        assert_eq!(media_type(b"a\0b", "a", Some("application/x-thing")), "application/x-thing");
    }
}
