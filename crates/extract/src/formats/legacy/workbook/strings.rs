//! The strings of old workbooks: narrow or wide, with looks and phonetics in between, across records.

use encoding_rs::{Encoding, WINDOWS_1252};

use super::super::{narrow, u16_at, u32_at, utf16};

/// A string at the beginning of `data`: its length in one or two bytes, in modern files then a byte that tells its width.
pub(super) fn text(data: &[u8], modern: bool, short: bool, encoding: &'static Encoding) -> String {
    let (length, at) = if short {
        (data.first().map_or(0, |byte| usize::from(*byte)), 1)
    } else {
        (usize::from(u16_at(data, 0)), 2)
    };
    let rest = data.get(at..).unwrap_or_default();
    if !modern {
        return narrow(&rest[..length.min(rest.len())], encoding);
    }
    let Some((flags, rest)) = rest.split_first() else { return String::new() };
    let skip = if flags & 8 != 0 { 2 } else { 0 } + if flags & 4 != 0 { 4 } else { 0 };
    let rest = rest.get(skip..).unwrap_or_default();
    match flags & 1 {
        0 => narrow(&rest[..length.min(rest.len())], WINDOWS_1252),
        _ => utf16(&rest[..(length * 2).min(rest.len())]),
    }
}

/// The text of a box: it stands in the first record that continues the box.
pub(super) fn of_box(pieces: &[&[u8]], encoding: &'static Encoding) -> String {
    let length = usize::from(u16_at(pieces[0], 10));
    let mut text = String::new();
    let mut left = length;
    for piece in &pieces[1..] {
        let Some((flags, rest)) = piece.split_first() else { continue };
        if left == 0 {
            break;
        }
        let wide = flags & 1 == 1;
        let characters = left.min(if wide { rest.len() / 2 } else { rest.len() });
        text.push_str(&if wide {
            utf16(&rest[..characters * 2])
        } else {
            narrow(&rest[..characters], encoding)
        });
        left -= characters;
    }
    text
}

/// Where the letters begin in what says how a string is spoken.
const PHONETIC_AT: usize = 14;

/// The table of strings that all sheets share; each one is decoded when it is asked for.
#[derive(Default)]
pub(super) struct Shared<'r> {
    pieces: Vec<&'r [u8]>,
    /// Where each string begins: piece and place in it.
    begins: Vec<(usize, usize)>,
}

/// A place in pieces that follow each other.
struct Cursor<'p, 'r> {
    pieces: &'p [&'r [u8]],
    piece: usize,
    at: usize,
}

impl Cursor<'_, '_> {
    /// Goes to the next piece at the end of one; whether there is more.
    fn settle(&mut self) -> bool {
        while let Some(piece) = self.pieces.get(self.piece) {
            if self.at < piece.len() {
                return true;
            }
            self.at -= piece.len();
            self.piece += 1;
        }
        false
    }

    fn byte(&mut self) -> Option<u8> {
        if !self.settle() {
            return None;
        }
        let byte = self.pieces[self.piece][self.at];
        self.at += 1;
        Some(byte)
    }

    fn number(&mut self, bytes: u32) -> Option<usize> {
        (0..bytes).try_fold(0usize, |sum, at| Some(sum | usize::from(self.byte()?) << (8 * at)))
    }

    fn skip(&mut self, bytes: usize) {
        self.at += bytes;
        self.settle();
    }

    /// Reads one string, or only goes past it.
    fn string(&mut self, mut out: Option<&mut String>) -> Option<()> {
        let mut left = self.number(2)?;
        let mut flags = self.byte()?;
        let looks = if flags & 8 != 0 { self.number(2)? } else { 0 };
        let phonetic = if flags & 4 != 0 { self.number(4)? } else { 0 };
        while left > 0 {
            let piece = self.pieces.get(self.piece)?;
            if self.at >= piece.len() {
                // Where a string goes on, its width is told again.
                self.at = 0;
                self.piece += 1;
                flags = self.byte()?;
                continue;
            }
            let rest = &piece[self.at..];
            let wide = flags & 1 == 1;
            let characters = left.min(if wide { rest.len() / 2 } else { rest.len() });
            let bytes = if wide { characters * 2 } else { characters };
            if let Some(out) = out.as_deref_mut() {
                let raw = &rest[..bytes];
                out.push_str(&if wide { utf16(raw) } else { narrow(raw, WINDOWS_1252) });
            }
            self.at += bytes;
            left -= characters;
            if characters == 0 {
                self.at = piece.len();
            }
        }
        self.skip(looks.saturating_mul(4));
        match out {
            Some(out) if phonetic > PHONETIC_AT => self.spoken(phonetic, out)?,
            _ => self.skip(phonetic),
        }
        Some(())
    }

    /// Reads how a string is spoken, after how it is written: its letters, behind how they look and how many they are.
    fn spoken(&mut self, length: usize, out: &mut String) -> Option<()> {
        self.skip(PHONETIC_AT - 2);
        let count = self.number(2)?.min((length - PHONETIC_AT) / 2);
        let letters: Vec<u8> = (0..count * 2).map_while(|_| self.byte()).collect();
        if !letters.is_empty() {
            out.push(' ');
            out.push_str(&utf16(&letters));
        }
        Some(())
    }
}

impl<'r> Shared<'r> {
    /// Finds where each string begins.
    pub(super) fn read(pieces: &[&'r [u8]]) -> Self {
        let count = u32_at(pieces[0], 4) as usize;
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        let mut cursor = Cursor { pieces, piece: 0, at: 8 };
        let mut begins = Vec::new();
        // A string has at least three bytes.
        for _ in 0..count.min(total / 3) {
            if !cursor.settle() {
                break;
            }
            begins.push((cursor.piece, cursor.at));
            if cursor.string(None).is_none() {
                break;
            }
        }
        Self { pieces: pieces.to_vec(), begins }
    }

    /// One of them; empty when there is none.
    pub(super) fn get(&self, index: usize) -> String {
        let mut out = String::new();
        if let Some((piece, at)) = self.begins.get(index) {
            let mut cursor = Cursor { pieces: &self.pieces, piece: *piece, at: *at };
            let _ = cursor.string(Some(&mut out));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_string_is_spoken_stands_behind_it() {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        // Looks at one place, then how it is spoken: two letters, and four bytes about where they belong.
        let spoken =
            [&[1, 0, 18, 0, 0, 0, 0, 0, 1, 0, 2, 0, 2, 0][..], &wide("\u{30c8}\u{30e8}"), &[9; 4]].concat();
        let first =
            [&[2, 0, 0x0d, 1, 0, 22, 0, 0, 0][..], &wide("\u{8c4a}\u{7530}"), &[7; 4], &spoken].concat();
        let table = [&[2, 0, 0, 0, 2, 0, 0, 0][..], &first, &[3, 0, 0, b'o', b'n', b'e']].concat();
        for cut in [table.len(), 8 + 9 + 4 + 4 + 15, 8 + 9 + 4 + 2] {
            let shared = Shared::read(&[&table[..cut], &table[cut..]]);
            assert_eq!(
                (shared.get(0).as_str(), shared.get(1).as_str()),
                ("\u{8c4a}\u{7530} \u{30c8}\u{30e8}", "one")
            );
        }
    }
}
