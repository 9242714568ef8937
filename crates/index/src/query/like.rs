//! Words that stand for others: `word~` for what is nearly it, `te?t` and `wor*d` for what looks like it.

use crate::stemming::Stemming;
use crate::tokenizers;

use ingather_kit::language::is_unspaced;

/// Shorter words have one slip where nothing else is said, letters; the same as for corrections.
const LETTERS_TWO_SLIPS: usize = 6;
/// Slips that can be asked for.
const SLIPS_MAX: u8 = 2;

/// What other words must be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Like {
    /// So many slips away at most, in its forms.
    Near { word: String, slips: u8 },
    /// These letters in this order.
    Pattern(Pattern),
}

/// Letters and gaps; it begins with letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    /// As it was written, in lower case.
    pub(crate) written: String,
    /// Letters, folded as words are.
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Letters(String),
    One,
    Any,
}

impl Like {
    /// Reads a word; none: it stands for itself. A sign counts inside a word only, `~` at its end: what people write in
    /// prose, such as `what?`, stays a word.
    pub(crate) fn read(text: &str) -> Option<Like> {
        let is_letter = |c: char| c.is_alphanumeric() && !is_unspaced(c);
        let (word, slips) = match text.split_once('~') {
            Some((word, slips)) => (word, Some(slips)),
            None => (text, None),
        };
        let inner = word.strip_suffix('*').unwrap_or(word);
        let is_whole = inner.starts_with(is_letter) && inner.ends_with(is_letter);
        if !is_whole || !inner.chars().all(|c| is_letter(c) || matches!(c, '*' | '?')) {
            return None;
        }
        let has_gaps = inner.contains(['*', '?']);
        match slips {
            None if has_gaps => Some(Like::Pattern(Pattern::read(word)?)),
            None => None,
            Some(_) if has_gaps || inner != word => None,
            Some("") => {
                let slips = if word.chars().count() < LETTERS_TWO_SLIPS { 1 } else { SLIPS_MAX };
                Some(Like::Near { word: word.to_owned(), slips })
            }
            Some(number) => {
                let slips = number.parse().ok().filter(|slips| (1..=SLIPS_MAX).contains(slips))?;
                Some(Like::Near { word: word.to_owned(), slips })
            }
        }
    }

    /// As it was written, in lower case.
    pub(crate) fn written(&self) -> String {
        match self {
            Like::Near { word, slips } => format!("{}~{slips}", word.to_lowercase()),
            Like::Pattern(pattern) => pattern.written.clone(),
        }
    }
}

impl Pattern {
    /// None when its letters are no single words, such as marks without a letter.
    fn read(text: &str) -> Option<Pattern> {
        let mut parts = Vec::new();
        let mut plain = tokenizers::for_queries(Stemming::PLAIN);
        for piece in text.split_inclusive(['*', '?']) {
            let letters = piece.trim_end_matches(['*', '?']);
            if !letters.is_empty() {
                let mut folded = tokenizers::terms(&mut plain, letters);
                let (_, only) = folded.pop().filter(|_| folded.is_empty())?;
                parts.push(Part::Letters(only));
            }
            match piece.chars().next_back() {
                Some('?') => parts.push(Part::One),
                // Several in a row say no more than one.
                Some('*') if parts.last() != Some(&Part::Any) => parts.push(Part::Any),
                _ => {}
            }
        }
        Some(Pattern { written: text.to_lowercase(), parts })
    }

    /// The letters that everything like it begins with.
    pub(crate) fn beginning(&self) -> &str {
        match self.parts.first() {
            Some(Part::Letters(letters)) => letters,
            _ => "",
        }
    }

    /// A word that looks like this; none when it is open at its end, where no language would cut anything off.
    pub(crate) fn example(&self) -> Option<String> {
        let letter = |part: &Part| match part {
            Part::Letters(letters) => letters.clone(),
            Part::One | Part::Any => "o".to_owned(),
        };
        let ends = matches!(self.parts.last(), Some(Part::Letters(_)));
        ends.then(|| self.parts.iter().map(letter).collect())
    }

    /// The same without so many of its last letters; none when there are not as many behind its last gap.
    pub(crate) fn without_last(&self, letters: usize) -> Option<Pattern> {
        let mut shorter = self.clone();
        let Some(Part::Letters(last)) = shorter.parts.last_mut() else { return None };
        (0..letters).try_for_each(|_| last.pop().map(drop))?;
        if last.is_empty() {
            shorter.parts.pop();
        }
        Some(shorter)
    }

    /// Whether a term looks like this. The time is bounded by the product of both lengths.
    pub(crate) fn matches(&self, term: &str) -> bool {
        let (mut part, mut rest) = (0, term);
        // Where to go on when what follows the last `*` does not fit: one letter further.
        let mut again: Option<(usize, &str)> = None;
        loop {
            let next = match self.parts.get(part) {
                None if rest.is_empty() => return true,
                None => None,
                Some(Part::Any) => {
                    again = Some((part, rest));
                    Some(rest)
                }
                Some(Part::One) => rest.chars().next().map(|first| &rest[first.len_utf8()..]),
                Some(Part::Letters(letters)) => rest.strip_prefix(letters.as_str()),
            };
            if let Some(after) = next {
                (part, rest) = (part + 1, after);
                continue;
            }
            let Some((any, from)) = again else { return false };
            let Some(first) = from.chars().next() else { return false };
            (part, rest) = (any + 1, &from[first.len_utf8()..]);
            again = Some((any, rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        match Like::read(text) {
            Some(Like::Pattern(pattern)) => pattern,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn signs_inside_a_word_are_wildcards() {
        for (text, yes, no) in [
            ("te?t", "test text", "tet teest tests"),
            ("wor*d", "word world worold", "words wor sword"),
            ("Ü?e*r*", "uber uxezrs", "ubr"),
            ("a*b*c", "abc aXbbc abcbc", "acb abcb"),
            ("a**b", "ab acb", "ba"),
            ("a??b", "axxb", "axb ab"),
        ] {
            let pattern = pattern(text);
            yes.split(' ').for_each(|term| assert!(pattern.matches(term), "{text} {term}"));
            no.split(' ').for_each(|term| assert!(!pattern.matches(term), "{text} {term}"));
        }
        assert_eq!(pattern("Wor*d").beginning(), "wor");
    }

    #[test]
    fn the_end_of_a_pattern_can_be_cut_as_stems_are() {
        let costs = pattern("c?sts");
        assert_eq!(costs.example().as_deref(), Some("costs"));
        assert!(costs.without_last(1).unwrap().matches("cost"));
        assert!(costs.without_last(3).unwrap().matches("co"));
        assert_eq!(costs.without_last(4), None);
        assert_eq!(pattern("c?st*").example(), None);
    }

    #[test]
    fn signs_of_prose_leave_a_word_as_it_is() {
        for text in
            ["what?", "what??", "*ing", "?", "page?id=3", "~5", "a~b", "word~3", "word*", "東?京", "a-b?c"]
        {
            assert_eq!(Like::read(text), None, "{text}");
        }
        let near = |word: &str, slips| Some(Like::Near { word: word.to_owned(), slips });
        assert_eq!(Like::read("word~"), near("word", 1));
        assert_eq!(Like::read("words1~"), near("words1", 2));
        assert_eq!(Like::read("word~2"), near("word", 2));
    }
}
