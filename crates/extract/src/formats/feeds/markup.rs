//! XML as feeds have it, well-formed or not: elements with the piece of the source that is in them. What never ends ends with
//! what it is in, an end without a beginning is nothing, and no entity of the document's own is followed.

use std::rc::Rc;

use super::addresses;
use super::names;
use crate::xml;

/// Elements inside each other that are told apart while the end of one is looked for; feeds have a dozen.
const DEPTH_MAX: usize = 256;
/// Bytes in which a tag has to end if there are quotes in it; so a quote that never ends costs no more than that.
const TAG_BYTES_MAX: usize = 64 << 10;
/// Attributes of a tag that are looked at.
const ATTRIBUTES_MAX: usize = 256;
/// Prefixes of names that are known at a place of the document.
const PREFIXES_MAX: usize = 256;

/// A piece of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A tag opens: its name and attributes as written, and whether it closes itself.
    Open { name: &'a str, attributes: &'a str, empty: bool },
    /// A tag closes.
    Close(&'a str),
    /// Text with entities in it.
    Text(&'a str),
    /// Text as it is.
    Data(&'a str),
}

/// Cuts a source into pieces.
#[derive(Clone)]
pub(super) struct Pieces<'a> {
    source: &'a str,
    /// How far it was cut.
    pub(super) at: usize,
    /// Whether a document type was met: there is one at most, and its brackets are looked for once.
    has_type: bool,
}

impl<'a> Pieces<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { source, at: 0, has_type: false }
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn take(&mut self, length: usize) -> &'a str {
        let piece = &self.rest()[..length];
        self.at += length;
        piece
    }

    /// Leaves out everything up to the end of `end`.
    fn skip_past(&mut self, end: &str) {
        let length = self.rest().find(end).map_or(self.rest().len(), |at| at + end.len());
        self.at += length;
    }

    /// What begins with `<!`; text if it is a section of text.
    fn declaration(&mut self) -> Option<Piece<'a>> {
        let rest = self.rest();
        if rest.starts_with("<!--") {
            self.at += 4;
            self.skip_past("-->");
            return None;
        }
        if rest.starts_with("<![CDATA[") {
            self.at += 9;
            let length = self.rest().find("]]>").unwrap_or(self.rest().len());
            let text = self.take(length);
            self.at += self.rest().len().min(3);
            return Some(Piece::Data(text));
        }
        // A document type may have declarations of its own in brackets.
        let end = rest.find('>').unwrap_or(rest.len());
        let has_type = std::mem::replace(&mut self.has_type, true);
        let bracket =
            rest[..end].find('[').filter(|_| !has_type).and_then(|at| Some(at + rest[at..].find(']')?));
        self.at += bracket.unwrap_or(0);
        self.skip_past(">");
        None
    }

    /// The tag at the beginning; text where it is none.
    fn tag(&mut self) -> Piece<'a> {
        let rest = self.rest();
        let end = tag_end(rest);
        let inside = &rest[1..end];
        self.at += (end + 1).min(rest.len());
        if let Some(name) = inside.strip_prefix('/') {
            return Piece::Close(
                name.split(|c: char| c.is_whitespace() || c == '<').next().unwrap_or_default(),
            );
        }
        let empty = inside.ends_with('/');
        let inside = inside.strip_suffix('/').unwrap_or(inside);
        let length = inside.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(inside.len());
        Piece::Open { name: &inside[..length], attributes: &inside[length..], empty }
    }
}

/// Where the tag ends that a text begins with: at its bracket, before the next tag, or with the text.
fn tag_end(rest: &str) -> usize {
    let mut quote = None;
    for (at, byte) in rest.bytes().enumerate().skip(1).take(TAG_BYTES_MAX) {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') if rest.as_bytes()[at - 1] == b'=' || rest.as_bytes()[at - 1] == b' ' => {
                quote = Some(byte);
            }
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    rest.find('>').unwrap_or(rest.len())
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        loop {
            let rest = self.rest();
            let bytes = rest.as_bytes();
            match (*bytes.first()?, bytes.get(1)) {
                (b'<', Some(b'!')) => {
                    if let Some(piece) = self.declaration() {
                        return Some(piece);
                    }
                }
                (b'<', Some(b'?')) => self.skip_past("?>"),
                (b'<', Some(byte)) if byte.is_ascii_alphabetic() || *byte == b'_' => return Some(self.tag()),
                (b'<', Some(b'/')) if bytes.get(2).is_some_and(u8::is_ascii_alphabetic) => {
                    return Some(self.tag());
                }
                (b'<', _) => return Some(Piece::Text(self.take(1))),
                _ => {
                    let end = rest.find('<').unwrap_or(rest.len());
                    return Some(Piece::Text(self.take(end)));
                }
            }
        }
    }
}

/// What holds at a place of the document because something around it says so.
#[derive(Clone, Default)]
pub(super) struct Scope {
    /// Prefixes and what they stand for, the innermost last.
    prefixes: Rc<Vec<(String, String)>>,
    /// Language of the words; empty where somebody takes back what was said.
    pub(super) language: Option<Rc<str>>,
    /// What addresses are relative to.
    base: Option<Rc<str>>,
}

impl Scope {
    /// The scope inside of a tag.
    pub(super) fn inside(&self, attributes: &str) -> Scope {
        let mut scope = self.clone();
        if !attributes.contains("xml") {
            return scope;
        }
        for (name, value) in pairs(attributes) {
            match name {
                "xml:lang" => scope.language = Some(value.trim().replace('_', "-").into()),
                "xml:base" => scope.base = Some(addresses::join(scope.base.as_deref(), &value).into()),
                _ => {
                    let prefix = match name.strip_prefix("xmlns") {
                        Some("") => "",
                        Some(rest) if rest.starts_with(':') => &rest[1..],
                        _ => continue,
                    };
                    if scope.prefixes.len() < PREFIXES_MAX {
                        Rc::make_mut(&mut scope.prefixes).push((prefix.to_ascii_lowercase(), value));
                    }
                }
            }
        }
        scope
    }

    /// The name of an element as this program calls it, whatever prefix the document chose: in lower case, and with a prefix
    /// if it is not of the feed itself.
    pub(super) fn name(&self, written: &str) -> String {
        let written = written.to_ascii_lowercase();
        let (prefix, local) = written.split_once(':').unwrap_or(("", &written));
        let space =
            self.prefixes.iter().rev().find(|(known, _)| known == prefix).map(|(_, space)| space.as_str());
        match space.and_then(names::prefix_of).unwrap_or(prefix) {
            "" => local.to_owned(),
            prefix => format!("{prefix}:{local}"),
        }
    }

    /// An address made whole as far as the document says how.
    pub(super) fn address(&self, written: &str) -> String {
        addresses::join(self.base.as_deref(), written)
    }
}

/// An element with what is in it, as written.
#[derive(Clone)]
pub(super) struct Element<'a> {
    /// Its name, see [`Scope::name`].
    pub(super) name: String,
    attributes: &'a str,
    /// What is between its tags.
    pub(super) inner: &'a str,
    /// What holds in it.
    pub(super) scope: Scope,
}

impl<'a> Element<'a> {
    /// The element whose tag was just cut from `pieces`, which then stand behind it.
    pub(super) fn after(
        pieces: &mut Pieces<'a>,
        (name, attributes, empty): (&'a str, &'a str, bool),
        scope: &Scope,
    ) -> Element<'a> {
        let scope = scope.inside(attributes);
        let inner = if empty { "" } else { inner(pieces, name) };
        Element { name: scope.name(name), attributes, inner, scope }
    }

    /// The elements in it.
    pub(super) fn children(&self) -> impl Iterator<Item = Element<'a>> + use<'a> {
        let (mut pieces, scope) = (Pieces::new(self.inner), self.scope.clone());
        std::iter::from_fn(move || {
            loop {
                if let Piece::Open { name, attributes, empty } = pieces.next()? {
                    return Some(Element::after(&mut pieces, (name, attributes, empty), &scope));
                }
            }
        })
    }

    /// Whether there are elements in it.
    pub(super) fn has_children(&self) -> bool {
        Pieces::new(self.inner).any(|piece| matches!(piece, Piece::Open { .. }))
    }

    /// Its text, without tags.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for piece in Pieces::new(self.inner) {
            match piece {
                Piece::Text(raw) => text.push_str(&xml::unescape(raw)),
                Piece::Data(data) => text.push_str(data),
                Piece::Open { .. } | Piece::Close(_) => {}
            }
        }
        text.trim().to_owned()
    }

    /// Value of an attribute, by its name without a prefix.
    pub(super) fn attribute(&self, wanted: &str) -> Option<String> {
        self.attributes().find(|(name, _)| name == wanted).map(|(_, value)| value)
    }

    /// The attributes that say something of the document, by their names without a prefix in lower case.
    pub(super) fn attributes(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let said = pairs(self.attributes).filter(|(name, _)| !name.starts_with("xml"));
        said.map(|(name, value)| {
            (name.rsplit(':').next().unwrap_or_default().to_ascii_lowercase(), value.trim().to_owned())
        })
    }
}

/// What is in an element up to its end: its own tag, the beginning of what cannot be in it, or the end of all.
fn inner<'a>(pieces: &mut Pieces<'a>, wanted: &str) -> &'a str {
    let begin = pieces.at;
    let mut open: Vec<&str> = Vec::new();
    loop {
        let before = pieces.at;
        match pieces.next() {
            None => return &pieces.source[begin..],
            Some(Piece::Open { name, empty, .. }) => {
                while open.last().is_some_and(|open| names::ends(open, name)) {
                    open.pop();
                }
                if open.is_empty() && names::ends(wanted, name) {
                    pieces.at = before;
                    return &pieces.source[begin..before];
                }
                if !empty && open.len() < DEPTH_MAX {
                    open.push(name);
                }
            }
            Some(Piece::Close(name)) => match open.iter().rposition(|open| *open == name) {
                Some(at) => open.truncate(at),
                None if name.eq_ignore_ascii_case(wanted) => {
                    // Comments before the end tag belong to nobody and stay in.
                    let end = pieces.source[..pieces.at].rfind("</").unwrap_or(before);
                    return &pieces.source[begin..end.max(begin)];
                }
                None => {}
            },
            Some(_) => {}
        }
    }
}

/// Names and values of attributes.
fn pairs(attributes: &str) -> impl Iterator<Item = (&str, String)> {
    let mut rest = attributes;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        let end = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
        let name = &rest[..end];
        if name.is_empty() && !rest.starts_with('=') {
            return None;
        }
        rest = rest[end..].trim_start();
        let Some(after) = rest.strip_prefix('=') else { return Some((name, String::new())) };
        let after = after.trim_start();
        let value = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let value = after[1..].split(quote).next().unwrap_or_default();
                rest = after.get(value.len() + 2..).unwrap_or_default();
                value
            }
            _ => {
                let value = after.split(|c: char| c.is_whitespace()).next().unwrap_or_default();
                rest = &after[value.len()..];
                value
            }
        };
        Some((name, xml::unescape(value)))
    })
    .take(ATTRIBUTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(source: &str) -> Element<'_> {
        let mut pieces = Pieces::new(source);
        loop {
            if let Piece::Open { name, attributes, empty } = pieces.next().unwrap() {
                return Element::after(&mut pieces, (name, attributes, empty), &Scope::default());
            }
        }
    }

    fn names(source: &str) -> Vec<String> {
        root(source).children().map(|element| format!("{}={}", element.name, element.text())).collect()
    }

    #[test]
    fn elements_end_where_somebody_reading_would_end_them() {
        for (source, told) in [
            ("<a><b>1</b><c x='>'/><d>2<e>3</e></d></a>", vec!["b=1", "c=", "d=23"]),
            ("<a><b>1<br>2</b><c>3</c></a>", vec!["b=12", "c=3"]),
            ("<a><b>1</x></b><c>3", vec!["b=1", "c=3"]),
            ("<a><item>1<item>2</item></a>", vec!["item=1", "item=2"]),
            ("<a><b>1 < 2 & 3 &lt; 4</b></a>", vec!["b=1 < 2 & 3 < 4"]),
            ("<a><b><![CDATA[<x>&amp;</x>]]></b><c><![CD", vec!["b=<x>&amp;</x>", "c="]),
            ("<!DOCTYPE a [<!ENTITY x '>'>]><a><!-- <b> --><b>&x;</b></a", vec!["b=&x;"]),
        ] {
            assert_eq!(names(source), told, "{source}");
        }
    }

    #[test]
    fn names_have_the_prefix_of_what_they_stand_for() {
        let source = "<r:rss xmlns:r='http://backend.userland.com/rss2' xmlns:d='http://purl.org/dc/elements/1.1/'>\
            <r:Title>1</r:Title><d:creator>2</d:creator><itunes:author>3</itunes:author>\
            <body xmlns='http://www.w3.org/1999/xhtml'>4</body><m:x xmlns:m='http://nobody/'>5</m:x></r:rss>";
        assert_eq!(names(source), ["title=1", "dc:creator=2", "itunes:author=3", "xhtml:body=4", "m:x=5"]);
        assert_eq!(root(source).name, "rss");
    }

    #[test]
    fn attributes_are_read_in_every_spelling() {
        let element = root("<a B='1 &amp; 2' x:c=3 d e=\"4\" />");
        for (name, value) in [("b", "1 & 2"), ("c", "3"), ("d", ""), ("e", "4")] {
            assert_eq!(element.attribute(name).as_deref(), Some(value), "{name}");
        }
    }

    #[test]
    fn nesting_without_end_costs_no_more_than_its_length() {
        let source = format!("<a>{}<b>1</b></a>", "<x>".repeat(100_000));
        assert_eq!(root(&source).children().count(), 1);
        assert_eq!(root(&format!("<a {}", "b='<a ".repeat(50_000))).children().count(), 0);
    }
}
