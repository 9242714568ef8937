//! Letters that are the same to people and not to computers: half-width katakana, letters of Arabic and Hebrew in the form of
//! their place in a word, with or without vowel signs, of Persian and of Arabic, and letters that are written in pieces.
//! Latin letters are folded by the library.

use ingather_kit::language::is_unspaced;
use unicode_normalization::UnicodeNormalization;

/// Accents, vowel signs and other marks of the letter before them, and the stroke that lengthens Arabic words.
pub(super) fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}'
        // Hebrew.
        | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}' | '\u{fb1e}'
        // Arabic, and the same as characters of their own.
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}'
        | '\u{6df}'..='\u{6e4}' | '\u{6e7}' | '\u{6e8}' | '\u{6ea}'..='\u{6ed}'
        | '\u{fc5e}'..='\u{fc63}' | '\u{fcf2}'..='\u{fcf4}' | '\u{fe70}'..='\u{fe7f}')
}

/// Letters of Hebrew and Arabic in the form of their place in a word, and several drawn as one.
fn is_presentation(c: char) -> bool {
    matches!(c, '\u{fb1d}'..='\u{fdff}' | '\u{fe80}'..='\u{fefc}')
}

/// Writes a word in lower case as it is compared.
pub(super) fn word(word: &str, out: &mut String) {
    for c in word.chars().filter(|c| !is_mark(*c)) {
        if is_presentation(c) {
            let plain = std::iter::once(c).nfkc().filter(|c| !is_mark(*c) && !c.is_whitespace());
            out.extend(plain.map(letter));
        } else {
            out.extend(c.to_lowercase().map(letter));
        }
    }
}

/// Persian yeh and keheh are other characters than those of Arabic, and each keyboard has one of them; digits are digits.
fn letter(c: char) -> char {
    match c {
        '\u{6cc}' => '\u{64a}',
        '\u{6a9}' => '\u{643}',
        '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}' => char::from(b'0' + (c as u32 & 0xf) as u8),
        c => c,
    }
}

/// Bytes of the letter of a script without spaces that `text` begins with: kana with its voicing, a syllable of Korean.
pub(crate) fn unspaced_length(text: &str) -> usize {
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return 0 };
    let pieces = match first {
        '\u{1100}'..='\u{115f}' => {
            let vowels =
                characters.clone().take_while(|c| matches!(c, '\u{1160}'..='\u{11a7}')).take(1).count();
            let ends = characters.clone().skip(vowels).take_while(|c| matches!(c, '\u{11a8}'..='\u{11ff}'));
            vowels + if vowels > 0 { ends.take(1).count() } else { 0 }
        }
        '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fe}' | '\u{ff66}'..='\u{ff9d}' => {
            let voiced = characters
                .clone()
                .next()
                .is_some_and(|c| matches!(c, '\u{3099}' | '\u{309a}' | '\u{ff9e}' | '\u{ff9f}'));
            usize::from(voiced)
        }
        _ => 0,
    };
    first.len_utf8() + characters.take(pieces).map(char::len_utf8).sum::<usize>()
}

/// Writes letters of scripts without spaces as they are compared.
pub(super) fn unspaced(letters: &str, out: &mut String) {
    let is_whole = |c: char| !matches!(c, '\u{1100}'..='\u{11ff}' | '\u{3099}' | '\u{309a}' | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}');
    if letters.chars().all(is_whole) {
        out.push_str(letters);
    } else {
        out.extend(letters.nfkc());
    }
}

/// The other ways in which letters of scripts without spaces may be written that are compared as these are.
pub(crate) fn spellings(term: &str) -> Vec<String> {
    let mut spellings = vec![term.to_owned()];
    if !term.starts_with(is_unspaced) {
        return spellings;
    }
    let pieces: String = term.nfd().collect();
    let narrow: Option<String> = pieces.chars().map(narrow).collect();
    for other in [Some(pieces), narrow].into_iter().flatten() {
        if !spellings.contains(&other) {
            spellings.push(other);
        }
    }
    spellings
}

/// A letter of katakana in half the width, if there is one.
fn narrow(c: char) -> Option<char> {
    match c {
        '\u{3099}' => Some('\u{ff9e}'),
        '\u{309a}' => Some('\u{ff9f}'),
        c => ('\u{ff66}'..='\u{ff9d}').find(|narrow| std::iter::once(*narrow).nfkc().eq([c])),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn folded(text: &str) -> String {
        let mut out = String::new();
        word(text, &mut out);
        out
    }

    #[test]
    fn words_are_the_same_whatever_form_their_letters_have() {
        for (written, same) in [
            // As old programs and PDF files have them, and with vowel signs and a longer stroke.
            ("\u{fee3}\u{feae}\u{fea3}\u{fe92}\u{fe8e}", "مرحبا"),
            ("\u{fefb}", "لا"),
            ("\u{fdf2}", "الله"),
            ("مَرْحَبًا", "مرحبا"),
            ("مـــرحبا", "مرحبا"),
            ("שָׁלוֹם", "שלום"),
            ("\u{fb2a}לום", "שלום"),
            // Persian, as its own keyboards and those of Arabic have it.
            ("کتابی", "كتابي"),
            ("\u{fb8e}\u{fe98}\u{fe8e}\u{fe91}\u{fbfd}", "كتابي"),
            ("۱۴۰۲", "1402"),
            ("٢٠٢٤", "2024"),
        ] {
            assert_eq!(folded(written), same, "{written}");
        }
        assert_ne!(folded("علم"), folded("عمل"));
    }

    #[test]
    fn letters_in_pieces_are_whole() {
        for (written, same) in [
            ("ﾌﾟﾛｸﾞﾗﾑ", "プログラム"),
            ("プ", "プ"),
            ("か\u{3099}", "が"),
            ("한", "한"),
            ("豈", "豈"),
            ("ｰ", "ー"),
        ] {
            let mut at = 0;
            let mut out = String::new();
            let mut letters = 0;
            while at < written.len() {
                let length = unspaced_length(&written[at..]);
                unspaced(&written[at..at + length], &mut out);
                (at, letters) = (at + length, letters + 1);
            }
            assert_eq!((out.as_str(), letters), (same, same.chars().count()), "{written}");
        }
        assert_eq!(spellings("プロ"), ["プロ", "フ\u{309a}ロ", "ﾌﾟﾛ"]);
        assert_eq!(spellings("東京"), ["東京"]);
        assert_eq!(spellings("が"), ["が", "か\u{3099}"]);
        assert_eq!(spellings("a"), ["a"]);
    }

    proptest! {
        #[test]
        fn a_letter_is_never_cut_and_never_empty(text in "[\\PC\u{591}-\u{7ff}\u{1100}-\u{11ff}\u{3041}-\u{30ff}\u{fb1d}-\u{fefc}\u{ff66}-\u{ff9f}]{1,8}") {
            let length = unspaced_length(&text);
            prop_assert!(length > 0 && text.is_char_boundary(length));
            for c in text.chars().filter(|c| c.is_alphanumeric() && !is_mark(*c)) {
                prop_assert_ne!(folded(&c.to_string()), "", "{:?}", c);
            }
        }
    }
}
