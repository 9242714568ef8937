//! XML as a stream of tags and text, in any charset, forgiving what can be forgiven.

use std::io::{BufRead, BufReader, Cursor, Read};

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::decode;
use crate::page::{Outcome, ParseError};

/// Bytes of a document that is not UTF-8, which is decoded as a whole.
pub(crate) const DECODED_BYTES_MAX: u64 = 256 << 20;
/// Elements inside each other.
const DEPTH_MAX: usize = 4_096;

/// A tag.
pub(crate) struct Tag<'a>(&'a BytesStart<'a>);

impl Tag<'_> {
    /// Name without its prefix.
    pub(crate) fn name(&self) -> &str {
        local(name_of(self.0))
    }

    /// Name with its prefix.
    pub(crate) fn full_name(&self) -> &str {
        name_of(self.0)
    }

    /// Value of the attribute of that name, whatever its prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        self.attributes().find(|(key, _)| local(key) == name).map(|(_, value)| value)
    }

    /// The id of a relation: the attribute `id` that has a prefix, which documents may choose.
    pub(crate) fn relation(&self) -> Option<String> {
        self.attributes().find(|(key, _)| key.ends_with(":id")).map(|(_, value)| value)
    }

    /// All attributes.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let mut attributes = self.0.attributes();
        attributes.with_checks(false);
        let mut attributes = Some(attributes);
        std::iter::from_fn(move || {
            loop {
                match attributes.as_mut()?.next()? {
                    Ok(attribute) => {
                        let value = unescape(&attribute.value);
                        return Some((attribute.key.as_ref().to_owned(), value));
                    }
                    Err(_) => attributes = None,
                }
            }
        })
    }
}

fn name_of<'a>(tag: &'a BytesStart<'_>) -> &'a str {
    let raw: &str = tag;
    raw.split(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default()
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Entities of XML and HTML resolved; unknown ones stay as they are written.
pub(crate) fn unescape(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match rest[1..].find(';').filter(|end| *end <= 40) {
            Some(end) if resolve(&rest[1..=end], &mut out) => rest = &rest[end + 2..],
            _ => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Adds what an entity stands for; whether it is known.
pub(crate) fn resolve(name: &str, out: &mut String) -> bool {
    if let Some(number) = name.strip_prefix('#') {
        let number = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => number.parse().ok(),
        };
        // Numbers below 160 that are no characters are meant as windows-1252, as in HTML.
        let c = number.and_then(|number| match number {
            0x80..=0x9f => {
                encoding_rs::WINDOWS_1252.decode_without_bom_handling(&[number as u8]).0.chars().next()
            }
            number => char::from_u32(number),
        });
        out.extend(c);
        return c.is_some();
    }
    match quick_xml::escape::resolve_html5_entity(name) {
        Some(text) => {
            out.push_str(text);
            true
        }
        None => false,
    }
}

/// What a walk over a document meets.
pub(crate) enum Met<'a> {
    /// A tag opens.
    Open(Tag<'a>),
    /// A tag closes; its name without prefix.
    Close(&'a str),
    /// Text between tags, resolved.
    Text(&'a str),
}

/// Whether to go on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    On,
    Stop,
}

/// Walks over a document. Comments and declarations are left out; no entity of the document's own is followed.
pub(crate) fn walk(source: impl Read, mut met: impl FnMut(Met<'_>) -> Go) -> Outcome {
    let mut reader = Reader::from_reader(utf8(source)?);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut buffer = Vec::new();
    let mut depth = 0usize;
    loop {
        buffer.clear();
        let go = match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(tag)) => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Err(ParseError(format!("elements are nested deeper than {DEPTH_MAX}")));
                }
                met(Met::Open(Tag(&tag)))
            }
            Ok(Event::Empty(tag)) => match met(Met::Open(Tag(&tag))) {
                Go::On => met(Met::Close(local(name_of(&tag)))),
                Go::Stop => Go::Stop,
            },
            Ok(Event::End(tag)) => {
                depth = depth.saturating_sub(1);
                let raw: &str = &tag;
                met(Met::Close(local(raw.trim_end())))
            }
            Ok(Event::Text(text)) => {
                let text: &str = &text;
                met(Met::Text(text))
            }
            Ok(Event::CData(text)) => {
                let text: &str = &text;
                met(Met::Text(text))
            }
            Ok(Event::GeneralRef(name)) => {
                let mut text = String::new();
                let name: &str = &name;
                if !resolve(name, &mut text) {
                    text = format!("&{name};");
                }
                met(Met::Text(&text))
            }
            Ok(Event::Eof) => return Ok(()),
            Ok(_) => Go::On,
            Err(error) => {
                return Err(ParseError(format!("broken XML at byte {}: {error}", reader.error_position())));
            }
        };
        if go == Go::Stop {
            return Ok(());
        }
    }
}

/// The same text in UTF-8: as it comes when it is UTF-8 already, else decoded.
fn utf8(source: impl Read) -> Result<impl BufRead, ParseError> {
    let mut source = source;
    let mut head = Vec::new();
    source.by_ref().take(4_096).read_to_end(&mut head)?;
    let encoding = declared(&head);
    if encoding == UTF_8 {
        let whole = Cursor::new(head).chain(source);
        return Ok(Either::Stream(BufReader::with_capacity(32 << 10, Lossy::new(whole))));
    }
    source.take(DECODED_BYTES_MAX).read_to_end(&mut head)?;
    let (text, _, _) = encoding.decode(&head);
    Ok(Either::Whole(Cursor::new(text.into_owned().into_bytes())))
}

/// A stream that is UTF-8 whatever comes in: malformed bytes become U+FFFD, a byte order mark is left out.
struct Lossy<R> {
    inner: R,
    raw: Vec<u8>,
    out: Vec<u8>,
    at: usize,
    begun: bool,
}

impl<R: Read> Lossy<R> {
    fn new(inner: R) -> Self {
        Self { inner, raw: Vec::new(), out: Vec::new(), at: 0, begun: false }
    }

    /// Reads the next piece; whether there was one.
    fn refill(&mut self) -> std::io::Result<bool> {
        let carried = self.raw.len();
        self.raw.resize(carried + (32 << 10), 0);
        let length = self.inner.read(&mut self.raw[carried..])?;
        self.raw.truncate(carried + length);
        if self.raw.is_empty() {
            return Ok(false);
        }
        if !self.begun {
            self.begun = true;
            if self.raw.starts_with(&[0xef, 0xbb, 0xbf]) {
                self.raw.drain(..3);
            }
        }
        self.out.clear();
        self.at = 0;
        let mut carry = 0;
        let mut chunks = self.raw.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.out.extend_from_slice(chunk.valid().as_bytes());
            if chunk.invalid().is_empty() {
                continue;
            }
            let cut = std::str::from_utf8(chunk.invalid()).is_err_and(|error| error.error_len().is_none());
            if length > 0 && cut && chunks.peek().is_none() {
                carry = chunk.invalid().len();
            } else {
                self.out.extend_from_slice("\u{fffd}".as_bytes());
            }
        }
        let end = self.raw.len() - carry;
        self.raw.drain(..end);
        Ok(true)
    }
}

impl<R: Read> Read for Lossy<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while self.at == self.out.len() {
            if !self.refill()? {
                return Ok(0);
            }
        }
        let length = buffer.len().min(self.out.len() - self.at);
        buffer[..length].copy_from_slice(&self.out[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// One of two ways to the same.
enum Either<A, B> {
    Stream(A),
    Whole(B),
}

impl<A: BufRead, B: BufRead> Read for Either<A, B> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Stream(inner) => inner.read(buffer),
            Self::Whole(inner) => inner.read(buffer),
        }
    }
}

impl<A: BufRead, B: BufRead> BufRead for Either<A, B> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        match self {
            Self::Stream(inner) => inner.fill_buf(),
            Self::Whole(inner) => inner.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        match self {
            Self::Stream(inner) => inner.consume(amount),
            Self::Whole(inner) => inner.consume(amount),
        }
    }
}

/// The charset by byte order mark, zero bytes, or declaration.
fn declared(head: &[u8]) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(head) {
        return encoding;
    }
    match head {
        [0, b'<', ..] => return UTF_16BE,
        [b'<', 0, ..] => return UTF_16LE,
        _ => {}
    }
    said(head).unwrap_or(UTF_8)
}

/// The charset that an XML declaration names.
pub(crate) fn said(head: &[u8]) -> Option<&'static Encoding> {
    let line = String::from_utf8_lossy(&head[..head.len().min(256)]);
    let declaration = line.trim_start().strip_prefix("<?xml")?.split("?>").next()?;
    let rest = declaration.split_once("encoding")?.1.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    decode::labelled(rest[1..].split(quote).next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &[u8]) -> (String, bool) {
        let mut all = String::new();
        let outcome = walk(source, |met| {
            match met {
                Met::Open(tag) => {
                    all.push_str(&format!("<{}:{}>", tag.name(), tag.attribute("a").unwrap_or_default()))
                }
                Met::Close(name) => all.push_str(&format!("</{name}>")),
                Met::Text(text) => all.push_str(text),
            }
            Go::On
        });
        (all, outcome.is_ok())
    }

    #[test]
    fn tags_attributes_and_text_come_in_order() {
        let (all, whole) = texts(b"<?xml version='1.0'?><!-- no --><p:x q:a=\"1&amp;2\">a&lt;&#x42;&eacute;&no;<y/><![CDATA[<z>]]></p:x>");
        assert_eq!(all, "<x:1&2>a<B\u{e9}&no;<y:></y><z></x>");
        assert!(whole);
    }

    #[test]
    fn charsets_are_obeyed() {
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9</a>";
        assert_eq!(texts(latin).0, "<a:>\u{e9}</a>");
        let wide: Vec<u8> = "\u{feff}<a>\u{e9}</a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(texts(&wide).0, "<a:>\u{e9}</a>");
    }

    #[test]
    fn damage_keeps_what_came_before() {
        let (all, _) = texts(b"<a>one<b>two</a></b></c>three\xff<");
        assert!(all.contains("one") && all.contains("two") && all.contains("three"), "{all}");
        let deep = "<a>".repeat(5_000);
        assert!(!texts(deep.as_bytes()).1);
    }

    #[test]
    fn entities_that_grow_are_not_followed() {
        let bomb =
            b"<!DOCTYPE a [<!ENTITY b \"boom\"><!ENTITY f SYSTEM \"file:///etc/passwd\">]><a>&b;&f;</a>";
        assert_eq!(texts(bomb).0, "<a:>&b;&f;</a>");
    }
}
