//! Words that say little about what a question is after: they leave questions, never phrases or what must be there.

use tantivy::tokenizer::{Language, RawTokenizer, StopWordFilter, TextAnalyzer};

use crate::stemming::Stemming;

/// Questions of fewer words keep them all: `to be` and `the who` are not empty.
const WORDS_MIN: usize = 3;

/// Words of English questions beside those of the library's list, which has none of them.
const ENGLISH: &str = "about above after again against all also although am among any anybody because been before being below \
     between both can could did do does doing done during each else ever every few from further give given had has have having \
     he her here hers him his how however i its itself just let like made make many may me might more most much must my nor now \
     off once only onto other our ours out over own per please same shall she should since so some than them though through thus \
     too under until up upon us very via we were what whatever when where whether which while who whom whose why within without \
     would yet you your yours";

/// What an apostrophe joins to words. The letters alone say much: `t cell`, `vitamin d`.
const JOINED: &[&str] = &["s", "t", "d", "ll", "re", "ve", "m"];

/// A word of a question.
#[derive(Clone, Copy)]
pub(crate) struct Word<'w> {
    /// In lower case.
    pub(crate) text: &'w str,
    /// Whether an apostrophe joins it to the word before.
    pub(crate) is_joined: bool,
}

/// Whether a word says little in an English question.
pub(crate) fn is_small_in_english(word: &str) -> bool {
    let word = word.to_lowercase();
    let english = StopWordFilter::new(Language::English);
    let is_listed = english.is_some_and(|filter| !is_kept(&mut list(filter), &word));
    is_listed || ENGLISH.split(' ').any(|other| other == word)
}

fn list(filter: StopWordFilter) -> TextAnalyzer {
    TextAnalyzer::builder(RawTokenizer::default()).filter(filter).build()
}

fn is_kept(list: &mut TextAnalyzer, word: &str) -> bool {
    list.token_stream(word).advance()
}

/// For each word whether it can be left out. The language is the one whose list has most of the words.
pub(crate) fn among(words: &[Word<'_>], stemmings: &[Stemming]) -> Vec<bool> {
    let nothing = vec![false; words.len()];
    if words.len() < WORDS_MIN {
        return nothing;
    }
    let stemmed: Vec<Stemming> =
        stemmings.iter().copied().filter(|stemming| *stemming != Stemming::PLAIN).collect();
    let candidates = if stemmed.is_empty() { Stemming::all().collect() } else { stemmed };
    let mut best = (0, nothing);
    for stemming in candidates {
        let Some(filter) = stemming.stemmer().and_then(StopWordFilter::new) else { continue };
        let mut list = list(filter);
        let is_english = stemming == Stemming::of_code("en");
        let leaves = words.iter().enumerate().map(|(at, word)| {
            let english = || ENGLISH.split(' ').any(|other| other == word.text) || is_contracted(words, at);
            !is_kept(&mut list, word.text) || is_english && english()
        });
        let leaves: Vec<bool> = leaves.collect();
        let count = leaves.iter().filter(|leaves| **leaves).count();
        if count > best.0 {
            best = (count, leaves);
        }
    }
    // A question of nothing else is asked as it is.
    if best.0 == words.len() { vec![false; words.len()] } else { best.1 }
}

/// Whether a word is a side of an apostrophe that says little: both of `don't`, the second of `PRAM's`.
fn is_contracted(words: &[Word<'_>], at: usize) -> bool {
    let word = words[at];
    let is_before_not = || {
        word.text.ends_with('n') && words.get(at + 1).is_some_and(|next| next.is_joined && next.text == "t")
    };
    word.is_joined && JOINED.contains(&word.text) || is_before_not()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(question: &str, codes: &[&str]) -> Vec<String> {
        let written: Vec<&str> = question.split([' ', '\'']).collect();
        let lower: Vec<String> = written.iter().map(|word| word.to_lowercase()).collect();
        let joined = written.iter().map(|word| word.as_ptr() as usize - question.as_ptr() as usize);
        let joined = joined.map(|at| question[..at].ends_with('\''));
        let words: Vec<Word<'_>> =
            lower.iter().zip(joined).map(|(text, is_joined)| Word { text, is_joined }).collect();
        let stemmings: Vec<Stemming> = codes.iter().map(|code| Stemming::of_code(code)).collect();
        let leaves = among(&words, &stemmings);
        let kept = written.into_iter().zip(leaves).filter(|(_, leaves)| !leaves);
        kept.map(|(word, _)| word.to_owned()).collect()
    }

    #[test]
    fn a_question_keeps_what_it_is_about() {
        assert_eq!(kept("What is the boundary layer", &["en", "de"]), ["boundary", "layer"]);
        assert_eq!(
            kept("wie wird die Steuer für Häuser berechnet", &["en", "de"]),
            ["Steuer", "Häuser", "berechnet"]
        );
        assert_eq!(kept("what is die casting", &["en", "de"]), ["die", "casting"]);
        assert_eq!(kept("what is the layer", &[]), ["layer"]);
    }

    #[test]
    fn letters_are_left_out_behind_an_apostrophe_only() {
        assert_eq!(kept("what doesn't a T cell do", &["en"]), ["T", "cell"]);
        assert_eq!(kept("the body's need of vitamin D", &["en"]), ["body", "need", "vitamin", "D"]);
    }

    #[test]
    fn short_queries_and_those_of_small_words_only_stay_whole() {
        assert_eq!(kept("the who", &["en"]), ["the", "who"]);
        assert_eq!(kept("to be or not to be", &["en"]).len(), 6);
    }
}
