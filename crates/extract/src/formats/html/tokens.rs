//! HTML as a stream of tags and text, by the tokenizer's rules of the HTML standard as far as text needs them.

use crate::xml;

/// One piece of a page.
#[derive(Debug)]
pub(super) enum Token<'a> {
    /// A tag opens; its name in lower case.
    Open {
        /// Name of the element.
        name: String,
        /// What the tag says.
        attributes: Attributes<'a>,
    },
    /// A tag closes.
    Close(String),
    /// Text as written.
    Text(&'a str),
}

/// The attributes of a tag, as written.
#[derive(Debug)]
pub(super) struct Attributes<'a> {
    raw: &'a str,
    /// Whether the tag ends with a slash.
    pub(super) closed: bool,
}

impl Attributes<'_> {
    /// Value of an attribute; empty when it has none.
    pub(super) fn get(&self, wanted: &str) -> Option<String> {
        let space = |c: char| c.is_ascii_whitespace() || c == '/';
        let mut rest = self.raw.trim_start_matches(space);
        while !rest.is_empty() {
            let mut ends = rest.char_indices().skip(1).filter(|(_, c)| space(*c) || *c == '=');
            let end = ends.next().map_or(rest.len(), |(at, _)| at);
            let Some(name) = rest.get(..end) else { break };
            rest = rest[end..].trim_start();
            let mut value = "";
            if let Some(after) = rest.strip_prefix('=') {
                let after = after.trim_start();
                match after.chars().next() {
                    Some(quote @ ('"' | '\'')) => {
                        let end = after[1..].find(quote).map_or(after.len(), |at| at + 1);
                        value = &after[1..end.max(1)];
                        rest = after.get(end + 1..).unwrap_or_default();
                    }
                    _ => {
                        let end = after.find(|c: char| c.is_ascii_whitespace()).unwrap_or(after.len());
                        value = &after[..end];
                        rest = &after[end..];
                    }
                }
            }
            if name.eq_ignore_ascii_case(wanted) {
                return Some(xml::unescape(value.trim()));
            }
            rest = rest.trim_start_matches(space);
        }
        None
    }
}

/// Cuts a page into tokens.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    /// Inside an element whose content is text up to its own closing tag.
    raw: Option<String>,
}

/// Elements whose content is text, not markup.
const RAW: &[&str] = &["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];

impl<'a> Tokens<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { rest: source, raw: None }
    }

    fn take(&mut self, end: usize) -> &'a str {
        let (piece, rest) = self.rest.split_at(end);
        self.rest = rest;
        piece
    }

    /// Text up to the closing tag of `name`.
    fn raw_text(&mut self, name: &str) -> Option<Token<'a>> {
        let bytes = self.rest.as_bytes();
        let mut at = 0;
        let end = loop {
            let Some(next) = self.rest[at..].find("</") else { break bytes.len() };
            at += next;
            let word = bytes.get(at + 2..at + 2 + name.len());
            let after = bytes.get(at + 2 + name.len());
            if word.is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
                && after.is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'))
            {
                break at;
            }
            at += 2;
        };
        match end {
            0 => None,
            end => Some(Token::Text(self.take(end))),
        }
    }

    /// Where a tag that begins at the beginning ends, quotes respected; the whole when it never does.
    fn tag_end(&self) -> usize {
        let mut quote = None;
        let mut value_may_begin = false;
        for (at, byte) in self.rest.bytes().enumerate() {
            match (quote, byte) {
                (None, b'>') => return at,
                (None, b'"' | b'\'') if value_may_begin => quote = Some(byte),
                (Some(open), byte) if open == byte => quote = None,
                _ => {}
            }
            value_may_begin = byte == b'=' || (value_may_begin && byte.is_ascii_whitespace());
        }
        // A quote that never ends: the first bracket ends the tag.
        if quote.is_some() { self.rest.find('>').unwrap_or(self.rest.len()) } else { self.rest.len() }
    }

    /// The tag at the beginning, which is a `<` and a letter, or `</` and a letter.
    fn tag(&mut self) -> Token<'a> {
        let end = self.tag_end();
        let piece = self.take(end);
        self.rest = self.rest.strip_prefix('>').unwrap_or(self.rest);
        let (close, inside) = match piece.strip_prefix("</") {
            Some(inside) => (true, inside),
            None => (false, &piece[1..]),
        };
        let length = inside.find(|c: char| c.is_ascii_whitespace() || c == '/').unwrap_or(inside.len());
        let name = inside[..length].to_ascii_lowercase();
        let name = name.rsplit(':').next().unwrap_or_default().to_owned();
        if close {
            return Token::Close(name);
        }
        let closed = inside.ends_with('/');
        if RAW.contains(&name.as_str()) && !closed {
            self.raw = Some(name.clone());
        }
        Token::Open { name, attributes: Attributes { raw: &inside[length..], closed } }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            if let Some(name) = self.raw.take()
                && let Some(text) = self.raw_text(&name)
            {
                return Some(text);
            }
            let bytes = self.rest.as_bytes();
            match *bytes.first()? {
                b'<' => match bytes.get(1) {
                    Some(byte) if byte.is_ascii_alphabetic() => return Some(self.tag()),
                    Some(b'/') if bytes.get(2).is_some_and(u8::is_ascii_alphabetic) => {
                        return Some(self.tag());
                    }
                    Some(b'!') if self.rest.starts_with("<!--") => {
                        let end = self.rest[4..].find("-->").map_or(self.rest.len(), |at| at + 7);
                        self.take(end);
                    }
                    Some(b'!') if self.rest.starts_with("<![CDATA[") => {
                        self.take(9);
                        let end = self.rest.find("]]>").unwrap_or(self.rest.len());
                        let text = self.take(end);
                        self.rest = self.rest.strip_prefix("]]>").unwrap_or(self.rest);
                        return Some(Token::Text(text));
                    }
                    Some(b'!' | b'?' | b'/') => {
                        let end = self.rest.find('>').map_or(self.rest.len(), |at| at + 1);
                        self.take(end);
                    }
                    _ => return Some(Token::Text(self.take(1))),
                },
                _ => {
                    let end = self.rest.find('<').unwrap_or(self.rest.len());
                    return Some(Token::Text(self.take(end)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn opened(source: &str, attribute: &str) -> Option<String> {
        Tokens::new(source).find_map(|token| match token {
            Token::Open { attributes, .. } => attributes.get(attribute),
            _ => None,
        })
    }

    #[test]
    fn attributes_are_read_in_every_spelling() {
        for source in ["<a b c=\"1 > 2\">", "<a x='y' C='1 > 2' >", "<A\nc\n=\n'1 &gt; 2'/>"] {
            assert_eq!(opened(source, "c").as_deref(), Some("1 > 2"), "{source}");
        }
        assert_eq!(opened("<a c=1/x>", "c").as_deref(), Some("1/x"));
        assert_eq!(opened("<a c>", "c").as_deref(), Some(""));
        assert_eq!(opened("<a d>", "c"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_cut_up_without_loss_of_progress(source in "[<>/!a-c \"'=&;\\-\u{e9}]{0,200}") {
            for token in Tokens::new(&source) {
                if let Token::Open { attributes, .. } = token {
                    let _ = attributes.get("b");
                }
            }
        }
    }
}
