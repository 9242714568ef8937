//! What a document says of other documents, within bounds, and only where somebody asks for it: most jobs follow no links.

use std::collections::{BTreeMap, HashSet};

use ingather_model::document::{Link, Links};
use ingather_model::limits;

use super::TextSink;
use crate::decode::clean;

/// The links of a document while it is read.
#[derive(Default)]
pub(crate) struct LinkSink {
    found: Links,
    /// Whether its format has links at all; nothing is told of those of other formats.
    has_links: bool,
    /// Address and relation of those that are in the list.
    known: HashSet<(String, String)>,
    bytes: usize,
}

impl LinkSink {
    /// Adds a link to an address as it is written; one that is there with the same relation is left out, and one that leads
    /// nowhere is none.
    pub(crate) fn add(&mut self, address: &str, rel: &str, fields: BTreeMap<String, Vec<String>>) {
        let Some(address) = tidied(address) else { return };
        let rel = rel.split_ascii_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ");
        let key = (address, clean(&rel));
        if self.known.contains(&key) {
            return;
        }
        let fields: BTreeMap<_, Vec<_>> =
            fields.into_iter().map(|(name, values)| (name, fitting(values))).collect();
        let values =
            fields.iter().flat_map(|(name, values)| values.iter().map(|value| name.len() + value.len()));
        let bytes = key.0.len() + key.1.len() + values.sum::<usize>();
        let is_short = key.0.len() <= limits::LINK_BYTES_MAX && key.1.len() <= limits::LINK_BYTES_MAX;
        let has_room =
            self.found.list.len() < limits::LINKS_MAX && self.bytes + bytes <= limits::LINKS_BYTES_MAX;
        if !is_short || !has_room {
            self.found.incomplete = true;
            return;
        }
        self.bytes += bytes;
        let (address, rel) = key.clone();
        self.known.insert(key);
        self.found.list.push(Link { address, rel, fields });
    }

    /// Says that there may be more links than those that were found.
    pub(crate) fn is_incomplete(&mut self) {
        self.found.incomplete = true;
    }

    /// The address that relative ones are relative to; the first one counts.
    pub(crate) fn base(&mut self, address: &str) {
        if self.found.base.is_none() {
            self.found.base = tidied(address).filter(|address| address.len() <= limits::LINK_BYTES_MAX);
        }
    }

    /// The address that the document says it has; the first one counts.
    pub(crate) fn canonical(&mut self, address: &str) {
        if self.found.canonical.is_none() {
            self.found.canonical = tidied(address).filter(|address| address.len() <= limits::LINK_BYTES_MAX);
        }
    }

    /// What it tells the robots of a name.
    pub(crate) fn robots(&mut self, name: &str, content: &str) {
        let (name, content) = (clean(name.trim()).to_lowercase(), clean(content.trim()));
        let is_short = name.len() + content.len() <= limits::LINK_BYTES_MAX;
        if is_short && self.found.robots.len() < limits::LINK_ROBOTS_MAX {
            self.found.robots.push((name, content));
        }
    }

    /// After how many milliseconds it says that it will have changed.
    pub(crate) fn changes_in_ms(&mut self, milliseconds: i64) {
        self.found.changes_in_ms = Some(milliseconds);
    }

    /// When something in it says that it will have changed, milliseconds since 1970 UTC. Who reads does not know what time it is.
    pub(crate) fn changes_at(&mut self, milliseconds: i64) {
        if self.found.changes_at.len() < limits::EXTRACT_PARTS_MAX {
            self.found.changes_at.push(milliseconds);
        }
    }
}

impl TextSink<'_> {
    /// Where the links of the document go; a reader that asks reads a format that has links. Nothing where nobody follows them.
    pub(crate) fn links(&mut self) -> Option<&mut LinkSink> {
        let links = self.links.as_deref_mut()?;
        links.has_links = true;
        Some(links)
    }

    /// Tells the links with the rest of the document.
    pub(super) fn tell_links(&mut self) {
        let Some(mut links) = self.links.take().filter(|links| links.has_links) else { return };
        links.found.incomplete |= self.out.broken_off;
        self.out.links = Some(Box::new(links.found));
    }
}

/// Values without those that are too long, and without control characters.
fn fitting(values: Vec<String>) -> Vec<String> {
    values.iter().filter(|value| value.len() <= limits::LINK_BYTES_MAX).map(|value| clean(value)).collect()
}

/// An address as a browser takes it from a page: without white space around it and without tabs and line ends in it. Other
/// control characters are written as numbers, which is what they mean in an address. Nothing where it names no document.
fn tidied(address: &str) -> Option<String> {
    let is_around = |c: char| c <= ' ';
    let mut tidied = String::with_capacity(address.len());
    for c in address.trim_matches(is_around).chars() {
        match c {
            '\t' | '\n' | '\r' => {}
            c if c.is_control() => {
                let mut bytes = [0; 4];
                c.encode_utf8(&mut bytes).bytes().for_each(|byte| tidied.push_str(&format!("%{byte:02X}")));
            }
            c => tidied.push(c),
        }
    }
    let begins = |word: &str| tidied.get(..word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word));
    // What stands in the address itself is no other document, and a script is none.
    (!tidied.is_empty() && !begins("data:") && !begins("javascript:")).then_some(tidied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_that_a_browser_would_take() {
        for (written, taken) in [
            (" \u{1}/a b\n", Some("/a b")),
            ("ht\ttp://x/\r\ny", Some("http://x/y")),
            ("/a\u{1}b\u{9f}", Some("/a%01b%C2%9F")),
            ("#top", Some("#top")),
            ("", None),
            (" \n ", None),
            ("data:text/html,x", None),
            ("Java\nScript:go()", None),
        ] {
            assert_eq!(tidied(written).as_deref(), taken, "{written:?}");
        }
    }

    #[test]
    fn links_are_bounded_in_number_and_in_bytes() {
        let mut many = LinkSink::default();
        for at in 0..limits::LINKS_MAX {
            many.add(&format!("/{at}"), "", BTreeMap::new());
            many.add(&format!("/{at}"), "", BTreeMap::new());
        }
        assert_eq!((many.found.list.len(), many.found.incomplete), (limits::LINKS_MAX, false));
        many.add("/more", "", BTreeMap::new());
        assert_eq!((many.found.list.len(), many.found.incomplete), (limits::LINKS_MAX, true));
        let mut long = LinkSink::default();
        long.add(&"a".repeat(limits::LINK_BYTES_MAX), "", BTreeMap::new());
        assert_eq!((long.found.list.len(), long.found.incomplete), (1, false));
        long.add(&"b".repeat(limits::LINK_BYTES_MAX + 1), "", BTreeMap::new());
        assert_eq!((long.found.list.len(), long.found.incomplete), (1, true));
        let mut large = LinkSink::default();
        for at in 0..limits::LINKS_MAX {
            let summary = vec!["s".repeat(4_000), "t".repeat(limits::LINK_BYTES_MAX + 1)];
            large.add(&format!("/{at}"), "entry", BTreeMap::from([("summary".to_owned(), summary)]));
        }
        let bytes: usize =
            large.found.list.iter().flat_map(|link| &link.fields["summary"]).map(String::len).sum();
        assert!(
            large.found.incomplete && bytes <= limits::LINKS_BYTES_MAX && bytes > limits::LINKS_BYTES_MAX / 2
        );
        assert_eq!(large.found.list[0].fields["summary"].len(), 1, "one that is too long is left out");
    }
}
