//! What all sheets of a workbook share: strings, formats of numbers, and the day from which days are counted.

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
