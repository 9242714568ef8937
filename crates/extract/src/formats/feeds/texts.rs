//! The words in an element of a feed: plain, with the tags of a page, escaped once more, or packed in base 64.

use super::markup::{Element, Piece, Pieces};
use crate::formats::html;
use crate::page::TextSink;
use crate::{decode, xml};

/// Bytes in which tags are looked for.
const LOOK_BYTES: usize = 64 << 10;
/// Bytes of the name of an entity.
const ENTITY_BYTES_MAX: usize = 40;
/// Tags that make a text part of a page.
const TAGS: &[&str] = &[
    "a",
    "abbr",
    "article",
    "audio",
    "b",
    "big",
    "blockquote",
    "body",
    "br",
    "center",
    "cite",
    "code",
    "dd",
    "del",
    "div",
    "dl",
    "dt",
    "em",
    "figure",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "html",
    "i",
    "iframe",
    "img",
    "ins",
    "li",
    "math",
    "ol",
    "p",
    "pre",
    "q",
    "s",
    "section",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "sup",
    "svg",
    "table",
    "tbody",
    "td",
    "th",
    "tr",
    "tt",
    "u",
    "ul",
    "video",
];
/// Those of them that are there alone, without an end.
const ALONE: &[&str] = &["br", "hr", "img", "p", "li"];

/// Words, and whether they are part of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) text: String,
    pub(super) is_markup: bool,
}

impl Words {
    pub(super) fn plain(text: String) -> Self {
        Self { text, is_markup: false }
    }

    /// What stands in a text that may be part of a page, though nobody says so.
    pub(super) fn of_unknown(text: String) -> Self {
        Self { is_markup: is_page(&text), text }
    }

    /// The words of an element. What nothing is said of is plain in Atom, and anything in RSS.
    pub(super) fn of(element: &Element<'_>, plain_by_default: bool) -> Self {
        let kind = element.attribute("type").unwrap_or_default().to_ascii_lowercase();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        let mode = element.attribute("mode").unwrap_or_default();
        let is_data = kind.contains('/')
            && !kind.starts_with("text/")
            && !kind.ends_with("xml")
            && !kind.ends_with("html");
        if mode.eq_ignore_ascii_case("base64") || (is_data && !element.has_children()) {
            return Self::packed(&element.text(), kind, is_data);
        }
        if element.has_children() {
            return Self { text: source(element.inner), is_markup: true };
        }
        match kind {
            "text" | "text/plain" | "plain" => Self::plain(element.text()),
            "" if plain_by_default => Self::plain(element.text()),
            kind if kind.contains("html") => Self { text: element.text(), is_markup: true },
            _ => Self::of_unknown(element.text()),
        }
    }

    /// Words that are packed in base 64; data of another kind has none.
    fn packed(text: &str, kind: &str, is_data: bool) -> Self {
        let bytes = decode::base64(text);
        match String::from_utf8(bytes) {
            Ok(words) if kind == "text/plain" => Self::plain(words.trim().to_owned()),
            Ok(words) => Self::of_unknown(words.trim().to_owned()),
            Err(_) if is_data => Self::default(),
            Err(error) => Self::of_unknown(decode::whole(error.as_bytes(), None)),
        }
    }

    /// Writes them as the text of a document.
    pub(super) fn write(&self, page: &mut TextSink<'_>) {
        match self.is_markup {
            true => html::fragment(&self.text, page),
            false => page.text(&self.text),
        }
    }

    /// They in lines, for a field.
    pub(super) fn shown(&self, page: &TextSink<'_>) -> String {
        if self.is_markup { page.aside(|aside| self.write(aside)) } else { self.text.clone() }
    }

    /// They in one line.
    pub(super) fn in_one_line(&self, page: &TextSink<'_>) -> String {
        self.shown(page).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The source of a piece of a page: what is text as it is in the feed is text in the page.
fn source(inner: &str) -> String {
    if !inner.contains("<![CDATA[") {
        return inner.trim().to_owned();
    }
    let mut text = String::with_capacity(inner.len());
    let mut pieces = Pieces::new(inner);
    let mut before = 0;
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Data(data) => text.push_str(data),
            _ => text.push_str(&inner[before..pieces.at]),
        }
        before = pieces.at;
    }
    text.trim().to_owned()
}

/// Whether a text has tags or entities that somebody wants to see as what they stand for.
fn is_page(text: &str) -> bool {
    let text = &text[..decode::boundary(text, LOOK_BYTES)];
    let has_entity = text.match_indices('&').any(|(at, _)| {
        let most = decode::boundary(&text[at + 1..], ENTITY_BYTES_MAX);
        let name = text[at + 1..][..most].split(';').next().unwrap_or_default();
        text[at + 1 + name.len()..].starts_with(';') && xml::resolve(name, &mut String::new())
    });
    let last = text.rfind('>');
    has_entity
        || text.match_indices('<').any(|(at, _)| {
            let rest = &text[at + 1..];
            let (is_end, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, rest));
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            let name = rest[..end].to_ascii_lowercase();
            let closes = rest[end..].trim_start_matches([' ', '\t', '\n', '\r']);
            match is_end {
                true => TAGS.contains(&name.as_str()) && closes.starts_with('>'),
                false => ALONE.contains(&name.as_str()) && last > Some(at) && end < rest.len(),
            }
        })
}

#[cfg(test)]
mod tests {
    use super::is_page;

    #[test]
    fn text_is_part_of_a_page_only_with_tags_or_entities_of_one() {
        for text in ["a <b>c</b>", "one<br>two", "x &amp; y", "<p>x", "<img src='a'>", "don&#8217;t", "</P >"]
        {
            assert!(is_page(text), "{text}");
        }
        for text in ["the <blink> tag", "a < b", "Vec<u8>", "R&D; x", "the <b> tag", "a <br", "<x></x>", "<"]
        {
            assert!(!is_page(text), "{text}");
        }
    }
}
