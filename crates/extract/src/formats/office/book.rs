//! What all sheets of a workbook share: strings, formats of numbers, and the day from which days are counted.

use std::borrow::Cow;

use super::number::{Format, general};
use crate::page::Outcome;

/// Bytes of strings that all sheets share.
const STRINGS_BYTES_MAX: usize = 192 << 20;

/// What all sheets share.
#[derive(Default)]
pub(super) struct Book {
    /// All shared strings, one after the other.
    strings: String,
    /// Where each one ends.
    ends: Vec<usize>,
    /// Format of each style of cells.
    pub(super) formats: Vec<Format>,
    /// Days are counted from 1904.
    pub(super) since_1904: bool,
}

impl Book {
    /// Adds a shared string.
    pub(super) fn add(&mut self, text: &str) -> Outcome {
        self.push(text);
        self.end_string()
    }

    /// Adds to a shared string that is not ended yet.
    pub(super) fn push(&mut self, text: &str) {
        self.strings.push_str(text);
    }

    /// Ends the shared string that was added to.
    pub(super) fn end_string(&mut self) -> Outcome {
        let begin = self.ends.last().copied().unwrap_or(0);
        if let Cow::Owned(plain) = unescaped(&self.strings[begin..]) {
            self.strings.truncate(begin);
            self.strings.push_str(&plain);
        }
        self.ends.push(self.strings.len());
        match self.strings.len() + self.ends.len() * 8 > STRINGS_BYTES_MAX {
            true => Err("it has more strings than can be held".into()),
            false => Ok(()),
        }
    }

    /// A shared string.
    pub(super) fn string(&self, index: usize) -> &str {
        let end = self.ends.get(index).copied().unwrap_or(0);
        let begin = index.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.strings.get(begin..end).unwrap_or_default()
    }

    /// A number in a style.
    pub(super) fn number(&self, style: usize, value: f64) -> String {
        match self.formats.get(style) {
            Some(format) => format.show(value, self.since_1904),
            None => general(value),
        }
    }
}

/// Text in which characters that XML cannot hold, such as `_x000D_`, stand for themselves (ST_Xstring).
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains("_x") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("_x") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        // A character of two units is two escapes.
        let units = unit(rest).into_iter().chain(rest.get(7..).and_then(unit));
        match char::decode_utf16(units).next() {
            Some(Ok(c)) => {
                out.push(c);
                rest = &rest[7 * c.len_utf16()..];
            }
            _ => {
                out.push_str("_x");
                rest = &rest[2..];
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The unit that an escape at the beginning stands for.
fn unit(text: &str) -> Option<u16> {
    let four = text.strip_prefix("_x")?.get(..4).filter(|_| text.get(6..7) == Some("_"))?;
    let four = Some(four).filter(|four| four.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    u16::from_str_radix(four, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn characters_that_xml_cannot_hold_stand_for_themselves() {
        for (text, plain) in [
            ("a_x000D_b", "a\rb"),
            ("_x005F_x000D_", "_x000D_"),
            ("a_x00", "a_x00"),
            ("_xD800_ _xäöüß_ _x12345", "_xD800_ _xäöüß_ _x12345"),
            ("_xd801__xdc05__x0041_", "\u{10405}A"),
            ("plain", "plain"),
        ] {
            assert_eq!(unescaped(text), plain);
        }
    }
}
