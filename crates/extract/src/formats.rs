//! The readers of formats, and which of them reads what.

mod archives;
mod cards;
mod feeds;
mod html;
mod legacy;
mod mail;
mod media;
mod odf;
mod office;
mod pdf;
mod plain;
mod rtf;

use crate::Input;
use crate::detect;
use crate::page::{Outcome, ParseError, TextSink};

type Reader = fn(Input, &mut TextSink<'_>) -> Outcome;

/// Which reader reads which type; the first prefix that fits counts.
const READERS: &[(&str, Reader)] = &[
    (detect::HTML, html::read),
    ("application/xhtml+xml", html::read),
    ("application/vnd.ms-wordml", office::wordml::read),
    ("application/vnd.ms-word.flat-opc", office::wordml::read),
    ("application/vnd.ms-spreadsheetml", office::spreadsheetml::read),
    ("application/xml", plain::xml),
    (detect::RSS, feeds::read),
    (detect::ATOM, feeds::read),
    (detect::CDF, feeds::read),
    (detect::JSON_FEED, feeds::read_json),
    ("image/svg+xml", plain::xml),
    (detect::MAIL, mail::read),
    ("application/mbox", mail::mailbox),
    ("application/rtf", rtf::read),
    ("application/pdf", pdf::read),
    ("application/gzip", archives::packed::gzip),
    ("application/x-bzip2", archives::packed::bzip2),
    ("application/x-xz", archives::packed::xz),
    ("application/zstd", archives::packed::zstd),
    ("application/x-tar", archives::tar::read),
    ("application/x-archive", archives::ar::read),
    ("application/vnd.debian", archives::ar::read),
    ("application/warc", archives::web::warc),
    ("application/x-arc", archives::web::arc),
    ("text/calendar", cards::read),
    ("text/vcard", cards::read),
    ("application/x-7z-compressed", archives::seven::read),
    ("application/vnd.ms-excel", legacy::read),
    ("application/msword", legacy::read),
    ("application/vnd.ms-powerpoint", legacy::read),
    ("application/vnd.ms-outlook-pst", legacy::store::read),
    ("application/vnd.ms-tnef", legacy::tnef::read),
    ("application/vnd.ms-outlook", legacy::read),
    (detect::OLE, legacy::read),
    ("application/json", plain::read),
    ("application/jsonl", plain::read),
    ("application/yaml", plain::read),
    ("application/toml", plain::read),
    ("application/sql", plain::read),
    ("image/", media::image),
    ("audio/", media::audio),
    ("text/", plain::read),
];

/// Whether there is a reader for documents of this type: one of the table, or one for what comes in a ZIP file.
pub fn is_readable(media: &str) -> bool {
    let zipped = [
        detect::ZIP,
        "application/java-archive",
        "application/epub",
        "application/vnd.o",
        "application/vnd.ms-",
    ];
    zipped
        .into_iter()
        .chain(READERS.iter().map(|(prefix, _)| *prefix))
        .any(|prefix| media.starts_with(prefix))
}

/// Whether what is in a document of that type are documents of their own: members, messages, attachments. What is
/// embedded in any other, such as a table in a report, is part of what people read in it.
pub fn holds_documents(media: &str) -> bool {
    matches!(
        media,
        detect::ZIP
            | "application/java-archive"
            | "application/x-tar"
            | "application/gzip"
            | "application/x-bzip2"
            | "application/x-xz"
            | "application/zstd"
            | "application/x-7z-compressed"
            | "application/x-archive"
            | "application/vnd.debian.binary-package"
            | "application/warc"
            | "application/x-arc"
            | "text/calendar"
            | "text/vcard"
            | "message/rfc822"
            | "application/mbox"
            | "application/vnd.ms-outlook"
            | "application/vnd.ms-outlook-pst"
            | "application/vnd.ms-tnef"
            | "application/pdf"
    ) || is_feed(media)
}

/// Whether that is a feed, whose parts are entries.
pub fn is_feed(media: &str) -> bool {
    matches!(media, detect::RSS | detect::ATOM | detect::CDF | detect::JSON_FEED)
}

/// Reads one document or part: finds its type, and calls the reader for it.
pub(crate) fn read(sink: &mut TextSink<'_>, declared: Option<&str>, mut input: Input) {
    let head = match input.head(detect::HEAD_BYTES) {
        Ok(head) => head,
        Err(error) => return sink.broken_off(ParseError::from(error).0),
    };
    let media = detect::media_type(&head, sink.name(), declared);
    sink.set_media_type(&media);
    if head.is_empty() {
        return sink.reason("it is empty");
    }
    let zipped =
        head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") || head.starts_with(b"PK\x07\x08");
    // A mistake in a reader, of ours or of a library, costs this part and no other.
    let container = head.starts_with(&legacy::MAGIC);
    let guarded = std::panic::AssertUnwindSafe(|| call(&media, zipped, container, input, sink));
    match std::panic::catch_unwind(guarded) {
        Ok(Ok(())) => {}
        Ok(Err(ParseError(reason))) => sink.broken_off(reason),
        Err(_) => sink.broken_off("its reader met something that it cannot cope with"),
    }
    sink.note_if_empty();
}

fn call(media: &str, zipped: bool, container: bool, input: Input, sink: &mut TextSink<'_>) -> Outcome {
    match READERS.iter().find(|(prefix, _)| media.starts_with(prefix)) {
        _ if zipped => archives::zipped(input, sink),
        _ if container => legacy::read(input, sink),
        Some((_, reader)) => reader(input, sink),
        None => Err(ParseError(detect::unsupported(media))),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    pub(crate) use super::archives::tar::tests::tar;
    use crate::{Extracted, Input, Request};

    /// Reads bytes under a name with the usual bounds.
    pub(crate) fn extract(name: &str, bytes: &[u8]) -> Extracted {
        let request = Request { name: name.to_owned(), ..Request::default() };
        crate::extract(&request, Input::memory(bytes.to_vec()))
    }

    /// The same with somebody who looks at pictures.
    pub(crate) fn extract_seeing(
        name: &str,
        bytes: &[u8],
        look: impl Fn(&[u8]) -> crate::pictures::Seen + 'static,
    ) -> Extracted {
        let mut request = Request { name: name.to_owned(), ..Request::default() };
        request.options.pictures = true;
        let eyes = crate::input::Eyes::new(look);
        crate::extract(&request, Input::memory(bytes.to_vec()).seen_by(&eyes))
    }

    /// The same within other bounds.
    pub(crate) fn extract_within(limits: crate::Limits, name: &str, bytes: &[u8]) -> Extracted {
        let request = Request { name: name.to_owned(), limits, ..Request::default() };
        crate::extract(&request, Input::memory(bytes.to_vec()))
    }

    /// The same with passwords.
    pub(crate) fn extract_with(passwords: &[&str], name: &str, bytes: &[u8]) -> Extracted {
        let mut request = Request { name: name.to_owned(), ..Request::default() };
        request.options.passwords = passwords.iter().map(|&password| password.to_owned()).collect();
        crate::extract(&request, Input::memory(bytes.to_vec()))
    }

    /// The text with the marks of Markdown.
    pub(crate) fn marked(name: &str, bytes: &[u8]) -> String {
        let mut request = Request { name: name.to_owned(), ..Request::default() };
        request.options.markdown = true;
        crate::extract(&request, Input::memory(bytes.to_vec())).text
    }

    /// What a document says of others, to somebody who follows links.
    pub(crate) fn linked(name: &str, bytes: &[u8]) -> Option<ingather_model::document::Links> {
        let request = Request { name: name.to_owned(), links: true, ..Request::default() };
        crate::extract(&request, Input::memory(bytes.to_vec())).links.map(|links| *links)
    }

    /// Reads copies of a file in which bytes are changed, missing or too many: each one ends with something.
    pub(crate) fn survives(name: &str, bytes: &[u8]) {
        let mut state = 0x9e37_79b9_u32;
        for turn in 0..400 {
            let mut copy = bytes.to_vec();
            for _ in 0..3 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = (state >> 8) as usize % copy.len();
                copy[at] = [0, 0xff, 0x7f, state as u8][(state >> 4) as usize % 4];
            }
            // One in four is cut off, and one in four has a piece twice.
            let at = (state >> 3) as usize % copy.len();
            match (state >> 27) % 4 {
                0 => copy.truncate(at),
                1 => {
                    let piece: Vec<u8> = copy.iter().rev().skip(at).take(64).copied().collect();
                    copy.splice(at..at, piece);
                }
                _ => {}
            }
            let mut request = Request { name: name.to_owned(), ..Request::default() };
            request.options.markdown = turn % 2 == 1;
            let found = crate::extract(&request, Input::memory(copy.clone()));
            let told = !found.text.is_empty() || !found.parts.is_empty() || found.reason.is_some();
            assert!(told, "{copy:?}");
            assert!(found.reason.is_none_or(|reason| !reason.contains("cannot cope")), "{copy:?}");
        }
    }

    /// What a password opens, and that neither none nor a wrong one does.
    pub(crate) fn opens(name: &str, bytes: &[u8], password: &str) -> Extracted {
        for wrong in [vec![], vec!["other"]] {
            let closed = extract_with(&wrong, name, bytes);
            let reason = closed.reason.or_else(|| closed.parts.first()?.reason.clone()).unwrap_or_default();
            assert_eq!(reason, "it is protected by a password", "{wrong:?}");
        }
        extract_with(&["other", password], name, bytes)
    }

    #[test]
    fn a_format_without_a_reader_is_named() {
        for (bytes, reason) in [
            (b"Rar!\x1a\x07\x01\0".as_slice(), "unsupported: a RAR archive"),
            (b"\0\x01\0\0Standard Jet DB\0", "unsupported: an Access database"),
            (b"a\0b", "unsupported: a format that is not known"),
        ] {
            assert_eq!(extract("a", bytes).reason.as_deref(), Some(reason));
        }
    }

    #[test]
    fn every_file_ends_with_text_or_a_reason() {
        for bytes in [
            b"".as_slice(),
            b"\0\0\0\0",
            b"PK\x03\x04",
            b"%PDF-",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
            b"BZh9",
            b"{\\rtf",
        ] {
            let found = extract("a", bytes);
            assert!(found.reason.is_some(), "{bytes:?} {found:?}");
            assert!(!found.media_type.is_empty());
        }
    }
}
