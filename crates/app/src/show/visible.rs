//! Makes text that comes from documents, names and arguments safe for a terminal: nothing in it is an order to one.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a terminal may take it for an order, or shows what follows it in another place than where it stands.
pub(super) fn is_order(character: char) -> bool {
    let directs = matches!(
        character,
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
    );
    let breaks = matches!(character, '\u{2028}' | '\u{2029}');
    directs || breaks || (character.is_control() && character != '\t')
}

/// The text with each byte of such characters as `\xNN`: as names are written, so that commands take them back.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    written(text, &|_| false, &|out, character| {
        let mut buffer = [0u8; 4];
        character.encode_utf8(&mut buffer).bytes().for_each(|byte| {
            // Writing to a string does not fail.
            let _ = write!(out, "\\x{byte:02X}");
        });
    })
}

/// The same for text that is JSON, which keeps its meaning: `\u009b`. Its own line breaks stay.
pub(super) fn visible_json(text: &str) -> Cow<'_, str> {
    written(text, &|character| character == '\n', &|out, character| {
        // All of them lie below U+10000, where one such number is one character.
        let _ = write!(out, "\\u{:04x}", u32::from(character));
    })
}

fn written<'t>(text: &'t str, stays: &dyn Fn(char) -> bool, put: &dyn Fn(&mut String, char)) -> Cow<'t, str> {
    let ordinary = |character: char| stays(character) || !is_order(character);
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || text.chars().all(ordinary) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if ordinary(character) { out.push(character) } else { put(&mut out, character) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_as_names_are_written() {
        for (text, shown) in [
            ("a\x1b[2Jb\x07", "a\\x1B[2Jb\\x07"),
            ("c1 \u{9b}2J", "c1 \\xC2\\x9B2J"),
            ("rtl-\u{202E}txt.exe", "rtl-\\xE2\\x80\\xAEtxt.exe"),
            ("\u{61C}\u{200E}\u{200F}", "\\xD8\\x9C\\xE2\\x80\\x8E\\xE2\\x80\\x8F"),
            ("\u{2066}\u{2069}", "\\xE2\\x81\\xA6\\xE2\\x81\\xA9"),
            ("a\u{2028}b\u{2029}", "a\\xE2\\x80\\xA8b\\xE2\\x80\\xA9"),
            ("a\r\nb\x7f", "a\\x0D\\x0Ab\\x7F"),
            ("ünï 😀\tשלום", "ünï 😀\tשלום"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn a_name_made_visible_is_the_same_name() {
        let name = "rtl-\u{202E}\u{9b}txt.exe";
        let shown = visible(name);
        let read = ingather_model::names::unescape(&shown).unwrap();
        assert_eq!(read, name.as_bytes());
    }

    #[test]
    fn json_means_what_it_meant() {
        let value = serde_json::json!({"title": "a\x1b\u{9b}\u{202E}\u{2028}\x7f\n", "x": ["ü"]});
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let shown = visible_json(&text);
            assert!(shown.chars().all(|c| c == '\n' || !is_order(c)), "{shown}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
