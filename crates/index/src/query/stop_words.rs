//! Words that say little about what a question is after: they leave questions, never phrases or what must be there.

use tantivy::tokenizer::{RawTokenizer, StopWordFilter, TextAnalyzer};

use crate::stemming::Stemming;

/// Questions of fewer words keep them all: `to be` and `the who` are not empty.
const WORDS_MIN: usize = 3;

/// Words of English questions beside those of the library's list, which has none of them.
const ENGLISH: &str = "about above after again against all also although am among any anybody because been before being below \
     between both can could did do does doing done during each else ever every few from further give given had has have having \
     he her here hers him his how however i its itself just let like made make many may me might more most much must my nor now \
     off once only onto other our ours out over own per please same shall she should since so some than them though through thus \
     too under until up upon us very via we were what whatever when where whether which while who whom whose why within without \
     would yet you your yours s t d ll re ve m";

/// For each word whether it can be left out. The language is the one whose list has most of the words.
pub(crate) fn among(words: &[String], stemmings: &[Stemming]) -> Vec<bool> {
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
        let mut list = TextAnalyzer::builder(RawTokenizer::default()).filter(filter).build();
        let is_english = stemming == Stemming::of_code("en");
        let leaves = words.iter().map(|word| {
            let word = word.to_lowercase();
            !list.token_stream(&word).advance() || is_english && ENGLISH.split(' ').any(|other| other == word)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(question: &str, codes: &[&str]) -> Vec<String> {
        let words: Vec<String> = question.split(' ').map(str::to_owned).collect();
        let stemmings: Vec<Stemming> = codes.iter().map(|code| Stemming::of_code(code)).collect();
        let leaves = among(&words, &stemmings);
        words.into_iter().zip(leaves).filter(|(_, leaves)| !leaves).map(|(word, _)| word).collect()
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
    fn short_queries_and_those_of_small_words_only_stay_whole() {
        assert_eq!(kept("the who", &["en"]), ["the", "who"]);
        assert_eq!(kept("to be or not to be", &["en"]).len(), 6);
    }
}
