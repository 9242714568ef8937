//! Fonts of a drawing: the charset of its text, and about how wide letters are where the drawing does not say.

use std::collections::HashMap;

use encoding_rs::{Encoding, WINDOWS_1252};

use crate::decode::codepages::charset;

/// Fonts and other things that a drawing may hold at once.
const OBJECTS_MAX: usize = 4_096;
/// The share of the height of a line that letters are high by.
const LETTERS_OF_LINE: f64 = 0.87;

/// A font.
#[derive(Clone, Copy, Debug)]
pub(super) struct Font {
    /// How high letters are; nothing where the drawing does not say.
    height: f64,
    /// How wide they are in the mean, if the drawing says so.
    width: f64,
    /// The charset of text in eight bits.
    pub(super) encoding: &'static Encoding,
}

impl Default for Font {
    fn default() -> Self {
        Self { height: 0.0, width: 0.0, encoding: WINDOWS_1252 }
    }
}

impl Font {
    /// By what a drawing says: a negative height is that of letters, any other one that of a line.
    pub(super) fn of(height: i32, width: i32, set: u8) -> Self {
        let share = if height < 0 { 1.0 } else { LETTERS_OF_LINE };
        Self {
            height: f64::from(height).abs() * share,
            width: f64::from(width).abs(),
            encoding: charset(i32::from(set)).unwrap_or(WINDOWS_1252),
        }
    }

    /// About how wide a text is, as letters of common fonts are; none when nothing is known of the font.
    pub(super) fn width_of(&self, text: &[u16]) -> Option<i32> {
        let each = |c: char| match self.width > 0.0 {
            true => self.width,
            false => self.height * share_of(c),
        };
        let width: f64 = char::decode_utf16(text.iter().copied()).map(|c| each(c.unwrap_or('a'))).sum();
        (width > 0.0).then_some(width as i32)
    }
}

/// How wide a letter is beside its height, as in Helvetica and its like.
fn share_of(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '\'' | '|' => 0.22,
        ' ' | 'f' | 't' | 'I' | '.' | ',' | ':' | ';' | '!' | '/' => 0.28,
        'r' | '(' | ')' | '-' => 0.33,
        'm' | 'M' | '%' => 0.85,
        'w' | 'G' | 'O' | 'Q' => 0.75,
        'W' | '@' => 0.95,
        'A'..='Z' => 0.68,
        '\u{1100}'..='\u{11ff}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' => 1.0,
        _ => 0.55,
    }
}

/// The things that a drawing has made, of which only fonts matter, and the font in use.
#[derive(Debug, Default)]
pub(super) struct Fonts {
    objects: HashMap<usize, Option<Font>>,
    pub(super) now: Font,
}

impl Fonts {
    /// Keeps what was made under a number that the drawing chose.
    pub(super) fn keep(&mut self, number: usize, font: Font) {
        if self.objects.len() < OBJECTS_MAX {
            self.objects.insert(number, Some(font));
        }
    }

    /// Keeps what was made, a font or anything else, under the first number that is free.
    pub(super) fn keep_next(&mut self, made: Option<Font>) {
        let free = (0..OBJECTS_MAX).find(|number| !self.objects.contains_key(number));
        self.objects.extend(free.map(|number| (number, made)));
    }

    pub(super) fn choose(&mut self, number: usize) {
        if let Some(Some(font)) = self.objects.get(&number) {
            self.now = *font;
        }
    }

    pub(super) fn forget(&mut self, number: usize) {
        self.objects.remove(&number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_free_are_used_again() {
        let mut fonts = Fonts::default();
        fonts.keep_next(None);
        fonts.keep_next(Some(Font::of(-10, 0, 204)));
        fonts.choose(0);
        assert_eq!(fonts.now.encoding.name(), "windows-1252", "what is no font changes nothing");
        fonts.choose(1);
        assert_eq!(fonts.now.encoding.name(), "windows-1251");
        fonts.forget(0);
        fonts.keep_next(Some(Font::of(-20, 0, 161)));
        fonts.choose(0);
        assert_eq!(fonts.now.encoding.name(), "windows-1253");
        (0..OBJECTS_MAX * 2).for_each(|_| fonts.keep_next(None));
        assert_eq!(fonts.objects.len(), OBJECTS_MAX);
    }

    #[test]
    fn widths_are_known_where_the_font_is() {
        let text: Vec<u16> = "Ai".encode_utf16().collect();
        assert_eq!(Font::default().width_of(&text), None);
        assert_eq!(Font::of(-100, 0, 0).width_of(&text), Some(90));
        assert_eq!(Font::of(-100, 40, 0).width_of(&text), Some(80));
        assert_eq!(Font::of(i32::MIN, i32::MIN, 0).width_of(&text), Some(i32::MAX));
    }
}
