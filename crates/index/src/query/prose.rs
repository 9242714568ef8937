//! Signs and operators that a pasted question has by chance: what of them is prose.

use crate::query::stop_words;

/// Words that join others, when they are in capitals.
const OPERATORS: [&str; 3] = ["AND", "OR", "NOT"];
/// Sentences in capitals have so many words beside these; `IT AND HR` is none.
const SENTENCE_WORDS_MIN: usize = 5;

/// Whether capitals tell nothing apart, since the query is a sentence that has no other letters: `AND` is a word of it like `THE`.
pub(super) fn is_sentence_in_capitals(query: &str) -> bool {
    if query.chars().any(char::is_lowercase) {
        return false;
    }
    let is_prose = |word: &str| {
        let inside = word.trim_end_matches([',', '.', ';', ':', '?', '!']);
        word.starts_with(char::is_alphanumeric) && !inside.contains([':', '"', '(', ')', '*', '~', '?'])
    };
    let (operators, words): (Vec<&str>, Vec<&str>) =
        query.split_whitespace().partition(|word| OPERATORS.contains(word));
    !operators.is_empty()
        && words.len() >= SENTENCE_WORDS_MIN
        && words.iter().all(|word| is_prose(word))
        && words.iter().any(|word| stop_words::is_small_in_english(word))
}

/// Where parentheses stand that nothing opens or closes. Those in double quotes are no signs.
pub(super) fn lone_parentheses(query: &str) -> Vec<usize> {
    let (mut open, mut lone) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(character) = query[at..].chars().next() {
        match character {
            '"' => at += quoted(&query[at..]).unwrap_or(0),
            '(' => open.push(at),
            ')' if open.pop().is_none() => lone.push(at),
            _ => {}
        }
        at += character.len_utf8();
    }
    lone.append(&mut open);
    lone.sort_unstable();
    lone
}

/// Bytes up to the double quote that closes the one at the beginning.
fn quoted(text: &str) -> Option<usize> {
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some(at),
            '\\' => drop(characters.next()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_in_capitals_is_told_from_words_that_are_joined() {
        for prose in [
            "MATHEMATICAL ANALYSIS AND DESIGN DETAILS OF WAVEGUIDES",
            "I WISH TO CALCULATE THE LOSS, AND NOT THE GAIN. IS IT POSSIBLE?",
        ] {
            assert!(is_sentence_in_capitals(prose), "{prose}");
        }
        for query in [
            "NATO AND EU",
            "IT AND HR",
            "US OR UK NOT EU",
            "the analysis AND design of waveguides in practice",
            "ANALYSIS AND DESIGN AND TEST AND REPAIR AND SALE",
            "(ANALYSIS OR DESIGN) AND THE TEST OF WAVEGUIDES",
            "TYPE:PDF AND THE DESIGN OF WAVEGUIDES AT HOME",
            "THE DESIGN AND TEST OF WAVEGUIDES -DRAFT",
            "THE DESIGN OF WAVEGUIDES AT HOME",
        ] {
            assert!(!is_sentence_in_capitals(query), "{query}");
        }
    }

    #[test]
    fn parentheses_have_partners_outside_of_quotes() {
        assert_eq!(lone_parentheses("(a (b) c)"), Vec::<usize>::new());
        assert_eq!(lone_parentheses("ü (a"), [3]);
        assert_eq!(lone_parentheses("1) a 2) (b) (c"), [1, 6, 12]);
        assert_eq!(lone_parentheses("(a \"b) \\\" (\" c)"), Vec::<usize>::new());
        assert_eq!(lone_parentheses("(a \"b)"), Vec::<usize>::new());
    }
}
