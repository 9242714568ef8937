//! Rich text: words out of control words, in the charset of each font, with embedded objects.

mod destinations;
mod marks;

use std::collections::HashMap;

use encoding_rs::{Encoding, WINDOWS_1252};

use self::destinations::Kind;
use self::marks::Marks;
use crate::Input;
use crate::decode::codepages::{charset, codepage};
use crate::formats::legacy::ole;
use crate::page::{Outcome, TextSink};

/// Groups inside each other.
const DEPTH_MAX: usize = 1_000;

/// What holds until the end of a group.
#[derive(Clone)]
struct State {
    kind: Kind,
    /// Replacement characters that follow a Unicode character.
    skip: usize,
    encoding: &'static Encoding,
    hidden: bool,
}

/// Reads a document.
pub(crate) fn read(input: Input, sink: &mut TextSink<'_>) -> Outcome {
    let bytes = input.into_bytes()?;
    let mut reading = Reading {
        sink,
        states: Vec::new(),
        state: State { kind: Kind::Body, skip: 1, encoding: WINDOWS_1252, hidden: false },
        fonts: HashMap::new(),
        font: 0,
        default_encoding: WINDOWS_1252,
        pending: Vec::new(),
        high: None,
        to_skip: 0,
        starred: false,
        field: String::new(),
        object: Vec::new(),
        marks: Marks::default(),
        around: Vec::new(),
    };
    let whole = reading.read(&bytes);
    reading.flush();
    reading.marks.table(false, reading.sink);
    if whole { Ok(()) } else { Err("the file is cut off".into()) }
}

struct Reading<'p, 'b> {
    sink: &'p mut TextSink<'b>,
    states: Vec<State>,
    state: State,
    fonts: HashMap<i32, &'static Encoding>,
    font: i32,
    default_encoding: &'static Encoding,
    /// Bytes of the current charset that are not decoded yet.
    pending: Vec<u8>,
    /// First half of a character beyond the basic plane.
    high: Option<u16>,
    to_skip: usize,
    /// The group begins with `\*`.
    starred: bool,
    /// What a field of the document's information says so far.
    field: String,
    /// Hexadecimal digits of an embedded object.
    object: Vec<u8>,
    /// Where the text stands, and around texts that stand apart.
    marks: Marks,
    around: Vec<Marks>,
}

impl Reading<'_, '_> {
    /// Whether the file came to its end.
    fn read(&mut self, bytes: &[u8]) -> bool {
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'{' => {
                    self.flush();
                    if self.states.len() < DEPTH_MAX {
                        self.states.push(self.state.clone());
                    }
                    self.to_skip = 0;
                }
                b'}' => {
                    self.close();
                    if self.states.is_empty() {
                        return true;
                    }
                }
                b'\\' => at = self.control(bytes, at),
                b'\r' | b'\n' => {}
                byte => self.byte(*byte),
            }
            if self.sink.is_full() {
                return true;
            }
        }
        false
    }

    fn close(&mut self) {
        self.flush();
        let Some(outer) = self.states.pop() else { return };
        let inner = std::mem::replace(&mut self.state, outer);
        if inner.kind != self.state.kind {
            match inner.kind {
                Kind::Information(name) => {
                    let value = std::mem::take(&mut self.field);
                    self.sink.field(name, &value);
                }
                Kind::Object => {
                    let object = std::mem::take(&mut self.object);
                    ole::from_hex(&object, self.sink);
                }
                Kind::Picture => {
                    let digits = std::mem::take(&mut self.object);
                    ole::picture_from_hex(&digits, self.sink);
                }
                Kind::Apart => {
                    self.sink.line_break();
                    self.marks = self.around.pop().unwrap_or_default();
                }
                _ => {}
            }
        }
        self.to_skip = 0;
    }

    /// Reads what follows a backslash; where to go on.
    fn control(&mut self, bytes: &[u8], at: usize) -> usize {
        let Some(first) = bytes.get(at) else { return at };
        if !first.is_ascii_alphabetic() {
            return self.symbol(bytes, at, *first);
        }
        let word = &bytes[at..];
        let length = word.iter().take(32).take_while(|byte| byte.is_ascii_alphabetic()).count();
        let (name, mut at) = (&word[..length], at + length);
        let digits_at = at;
        if bytes.get(at) == Some(&b'-') {
            at += 1;
        }
        at += bytes[at..].iter().take(11).take_while(|byte| byte.is_ascii_digit()).count();
        let number: Option<i32> =
            std::str::from_utf8(&bytes[digits_at..at]).ok().and_then(|digits| digits.parse().ok());
        if bytes.get(at) == Some(&b' ') {
            at += 1;
        }
        // A name is ASCII letters.
        let name = std::str::from_utf8(name).unwrap_or_default();
        if name == "bin" {
            let length = usize::try_from(number.unwrap_or(0)).unwrap_or(0);
            let end = (at + length).min(bytes.len());
            if matches!(self.state.kind, Kind::Object | Kind::Picture) {
                self.object.extend(bytes[at..end].iter().flat_map(|byte| [hex(byte >> 4), hex(byte & 15)]));
            }
            return end;
        }
        self.word(name, number);
        at
    }

    /// A control symbol; where to go on.
    fn symbol(&mut self, bytes: &[u8], at: usize, symbol: u8) -> usize {
        match symbol {
            b'\'' => {
                let digits = bytes.get(at + 1..at + 3).and_then(|two| std::str::from_utf8(two).ok());
                if let Some(byte) = digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
                    self.byte_of_charset(byte);
                    return at + 3;
                }
            }
            // Only at the beginning of a group does it say that the group may be skipped.
            b'*' => self.starred = at >= 2 && bytes[at - 2] == b'{',
            b'~' => self.character('\u{a0}'),
            b'_' => self.character('\u{2011}'),
            // An optional hyphen is no part of the word.
            b'-' => {}
            b'\\' | b'{' | b'}' => self.byte(symbol),
            b'\n' | b'\r' => self.character('\n'),
            _ => {}
        }
        at + 1
    }

    fn word(&mut self, name: &str, number: Option<i32>) {
        let starred = std::mem::take(&mut self.starred);
        match name {
            "u" => self.unicode(number.unwrap_or(0)),
            "uc" => self.state.skip = usize::try_from(number.unwrap_or(1)).unwrap_or(1).min(16),
            "ansicpg" => {
                if let Some(encoding) = number.and_then(codepage) {
                    self.default_encoding = encoding;
                    self.set_encoding(encoding);
                }
            }
            "mac" => {
                self.default_encoding = encoding_rs::MACINTOSH;
                self.set_encoding(encoding_rs::MACINTOSH);
            }
            "f" if self.state.kind == Kind::Fonts => self.font = number.unwrap_or(0),
            "f" => {
                let encoding = self.fonts.get(&number.unwrap_or(0)).copied().unwrap_or(self.default_encoding);
                self.set_encoding(encoding);
            }
            "fcharset" => {
                if let Some(encoding) = number.and_then(charset) {
                    self.fonts.insert(self.font, encoding);
                }
            }
            "cpg" if self.state.kind == Kind::Fonts => {
                if let Some(encoding) = number.and_then(codepage) {
                    self.fonts.insert(self.font, encoding);
                }
            }
            "plain" => {
                self.set_encoding(self.default_encoding);
                self.state.hidden = false;
            }
            // What was deleted is kept until somebody accepts it, and is shown to nobody either.
            "v" | "deleted" => self.state.hidden = number != Some(0),
            _ if self.sink.is_marked() && self.marks.word(name, number) => {}
            _ if self.sink.is_marked() && self.is_text() && self.ends(name) => {}
            _ => match destinations::character(name) {
                Some(c) => self.character(c),
                None => self.destination(name, starred),
            },
        }
    }

    fn is_text(&self) -> bool {
        matches!(self.state.kind, Kind::Body | Kind::Apart) && !self.state.hidden
    }

    /// Whether a word ends a paragraph, a cell or a row.
    fn ends(&mut self, name: &str) -> bool {
        self.flush();
        self.marks.end(name, self.sink)
    }

    fn destination(&mut self, name: &str, starred: bool) {
        let kind = match destinations::kind(name) {
            Some(kind) => kind,
            // Destinations that nobody here knows are skipped; they say so by their star.
            None if starred => Kind::Skipped,
            None => return,
        };
        self.flush();
        let inside = self.state.kind;
        if inside == Kind::Skipped {
            return;
        }
        if kind == Kind::Apart {
            self.sink.line_break();
            if inside != Kind::Apart {
                self.around.push(self.marks.apart());
            }
        }
        self.state.kind = kind;
    }

    fn set_encoding(&mut self, encoding: &'static Encoding) {
        if encoding != self.state.encoding {
            self.flush();
            self.state.encoding = encoding;
        }
    }

    fn unicode(&mut self, number: i32) {
        // Written as signed sixteen bits.
        let unit = number as u16;
        let high = self.high.take();
        match unit {
            0xd800..=0xdbff => {
                self.flush();
                self.high = Some(unit);
            }
            0xdc00..=0xdfff => {
                let pair = high.and_then(|high| char::decode_utf16([high, unit]).next()?.ok());
                self.character(pair.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            // Symbol fonts in the private area.
            _ => self.character(char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
        self.to_skip = self.state.skip;
    }

    fn byte(&mut self, byte: u8) {
        self.starred = false;
        if matches!(self.state.kind, Kind::Object | Kind::Picture) {
            if byte.is_ascii_hexdigit() {
                self.object.push(byte);
            }
            return;
        }
        self.byte_of_charset(byte);
    }

    fn byte_of_charset(&mut self, byte: u8) {
        if self.to_skip > 0 {
            self.to_skip -= 1;
            return;
        }
        if matches!(self.state.kind, Kind::Body | Kind::Apart | Kind::Label | Kind::Information(_))
            && !self.state.hidden
        {
            self.pending.push(byte);
        }
    }

    fn character(&mut self, c: char) {
        self.flush();
        self.write(c.encode_utf8(&mut [0; 4]));
    }

    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        let (text, _) = self.state.encoding.decode_without_bom_handling(&pending);
        self.write(&text);
    }

    fn write(&mut self, text: &str) {
        if self.state.hidden {
            return;
        }
        match self.state.kind {
            Kind::Label if self.sink.is_marked() => self.marks.label(text),
            Kind::Body | Kind::Apart if self.sink.is_marked() => {
                if self.marks.begin(text, self.sink) {
                    self.sink.text(text);
                }
            }
            Kind::Body | Kind::Apart | Kind::Label => self.sink.text(text),
            Kind::Information(_) => self.field.push_str(text),
            Kind::Skipped | Kind::Document | Kind::Fonts | Kind::Object | Kind::Picture => {}
        }
    }
}

fn hex(digit: u8) -> u8 {
    // A digit is below sixteen.
    b"0123456789abcdef"[usize::from(digit & 15)]
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::extract;

    #[test]
    fn words_charsets_and_information_are_read() {
        let extracted = extract(
            "a.rtf",
            b"{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0\\fcharset0 Arial;}{\\f1\\fcharset204 X;}{\\f2\\fcharset128 Y;}}\
              {\\info{\\title A {\\b title}}{\\author Ann}}{\\*\\unknown gone}\\f0 caf\\'e9 \\f1\\'cf\\f2\\'83\\'65\\f0\\par\n\
              \\u8364 ?\\uc0\\u8364\\tab x\\-y{\\v hidden}{\\deleted gone}{\\header top\\par}\\{\\}{\\field{\\*\\fldinst HYPERLINK \"http://x\"}{\\fldrslt link}}}",
        );
        assert_eq!(extracted.text, "caf\u{e9} \u{41f}\u{30c6}\n\u{20ac}\u{20ac}\txy\ntop\n{}link");
        assert_eq!(extracted.field("title"), Some("A title"));
        assert_eq!(extracted.field("author"), Some("Ann"));
        assert_eq!(extracted.reason, None);
    }

    #[test]
    fn headings_lists_and_tables_are_marked() {
        let text = b"{\\rtf1\\pard\\outlinelevel0 The {\\b title}\\par\\pard first{\\footnote\\pard a note} words\\par\
            {\\listtext\\pard 1.\\tab}\\pard\\ls1\\ilvl0 one\\par{\\listtext\\pard\\'b7\\tab}\\pard\\ilvl1 inner\\par\
            \\pard\\par\\trowd\\pard\\intbl a\\cell b|c\\cell\\row\\trowd\\pard\\intbl 1\\par 2\\cell\\cell\\row\\pard end\\par}";
        assert_eq!(
            crate::formats::tests::marked("a.rtf", text),
            "# The title\n\nfirst\n\na note\n words\n\n1. one\n  - inner\n\n| a | b\\|c |\n| --- | --- |\n| 1 2 | |\n\nend"
        );
        let plain = extract("a.rtf", text).text;
        assert!(plain.starts_with("The title\nfirst\na note\n words\n1.\tone\n"), "{plain}");
    }

    #[test]
    fn a_remark_stands_apart_with_its_author() {
        let text =
            b"{\\rtf1 some text{\\*\\atnid AB}{\\*\\atnauthor Ann}\\chatn{\\*\\annotation\\pard too long}.}";
        assert_eq!(extract("a.rtf", text).text, "some text\nAnn\ntoo long\n.");
    }

    #[test]
    fn a_cut_file_keeps_its_words_and_says_so() {
        let extracted = extract("a.rtf", b"{\\rtf1 some words {\\b bold");
        assert_eq!(extracted.text, "some words bold");
        assert!(extracted.reason.is_some());
        assert_eq!(extract("a.rtf", b"{\\rtf1 a\\bin99999 b").text, "a");
    }
}
