//! Words become terms: stems, folded, and beside those of compounds the terms of their parts, at the same place, so that phrases
//! stay what they are. A word is reduced once: most words of a text are among few.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, RawTokenizer, Stemmer, TextAnalyzer, Token, TokenFilter, TokenStream,
    Tokenizer,
};

use crate::stemming::Stemming;
use crate::tokenizers::compounds::{Compounds, LETTERS_MIN};

/// Different words whose terms are remembered, for each thread that writes.
const WORDS_KEPT: usize = 32_768;

/// Reduces words of one language.
#[derive(Clone)]
pub(super) struct Reduced {
    stemming: Stemming,
    language: Language,
    has_parts: bool,
}

impl Reduced {
    /// To the stems of that language; with the parts of compounds or without.
    pub(super) fn to(stemming: Stemming, language: Language, has_parts: bool) -> Reduced {
        Reduced { stemming, language, has_parts }
    }
}

impl TokenFilter for Reduced {
    type Tokenizer<T: Tokenizer> = ReducedTokenizer<T>;

    fn transform<T: Tokenizer>(self, words: T) -> ReducedTokenizer<T> {
        let one_word = TextAnalyzer::builder(RawTokenizer::default()).filter(Stemmer::new(self.language));
        let one_word = one_word.filter(AsciiFoldingFilter).build();
        let reducer = Reducer { one_word, how: self, known: HashMap::default() };
        ReducedTokenizer { words, reducer, waiting: Vec::new() }
    }
}

#[derive(Clone)]
pub(super) struct ReducedTokenizer<T> {
    words: T,
    reducer: Reducer,
    /// Terms of the word before that were not told yet, the last one first.
    waiting: Vec<String>,
}

/// What words become.
#[derive(Clone)]
struct Reducer {
    one_word: TextAnalyzer,
    how: Reduced,
    /// By words as they are compared. Every word of every text is looked up here, so how it is hashed counts.
    known: HashMap<Box<str>, Known, RandomState>,
}

/// What a word became.
#[derive(Clone)]
struct Known {
    term: Term,
    /// The terms of its parts.
    parts: Box<[String]>,
}

#[derive(Clone)]
enum Term {
    /// So many bytes of the word, as most stems are: they need no memory of their own.
    Beginning(usize),
    Other(Box<str>),
}

impl Reducer {
    fn term(&mut self, word: &str) -> String {
        let mut term = String::new();
        let mut stream = self.one_word.token_stream(word);
        if stream.advance() {
            std::mem::swap(&mut term, &mut stream.token_mut().text);
        }
        term
    }

    fn learn(&mut self, word: &str) -> Known {
        let may_be_cut = self.how.has_parts && word.len() >= LETTERS_MIN;
        let compounds = may_be_cut.then(|| Compounds::of(self.how.stemming)).flatten();
        let parts = compounds.map(|compounds| compounds.parts(word)).unwrap_or_default();
        let term = self.term(word);
        let term =
            if word.starts_with(&term) { Term::Beginning(term.len()) } else { Term::Other(term.into()) };
        Known { term, parts: parts.iter().map(|part| self.term(part)).collect() }
    }

    /// Puts the term of a word in its place, and those of its parts, the last one first, into `waiting`.
    fn reduce(&mut self, word: &mut String, waiting: &mut Vec<String>) {
        if let Some(known) = self.known.get(word.as_str()) {
            return known.put(word, waiting);
        }
        if self.known.len() >= WORDS_KEPT {
            self.known.clear();
        }
        let known = self.learn(word);
        let written = word.as_str().into();
        known.put(word, waiting);
        self.known.insert(written, known);
    }
}

impl Known {
    fn put(&self, word: &mut String, waiting: &mut Vec<String>) {
        match &self.term {
            Term::Beginning(bytes) => word.truncate(*bytes),
            Term::Other(term) => {
                word.clear();
                word.push_str(term);
            }
        }
        waiting.extend(self.parts.iter().rev().cloned());
    }
}

impl<T: Tokenizer> Tokenizer for ReducedTokenizer<T> {
    type TokenStream<'a> = ReducedStream<'a, T::TokenStream<'a>>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        let ReducedTokenizer { words, reducer, waiting } = self;
        waiting.clear();
        ReducedStream { words: words.token_stream(text), reducer, waiting }
    }
}

pub(super) struct ReducedStream<'a, S> {
    words: S,
    reducer: &'a mut Reducer,
    waiting: &'a mut Vec<String>,
}

impl<S: TokenStream> TokenStream for ReducedStream<'_, S> {
    fn advance(&mut self) -> bool {
        if let Some(part) = self.waiting.pop() {
            self.words.token_mut().text = part;
            return true;
        }
        if !self.words.advance() {
            return false;
        }
        self.reducer.reduce(&mut self.words.token_mut().text, self.waiting);
        true
    }

    fn token(&self) -> &Token {
        self.words.token()
    }

    fn token_mut(&mut self) -> &mut Token {
        self.words.token_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{For, analyzer, terms};
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_word_becomes_what_the_library_makes_of_it_each_time(text in "((running|Flies|happy|naïve|Straße|generali[sz]e[sd]?|[a-zé]{1,9}(ing|ed|ies|ly|ness|s)?) ){0,20}") {
            let mut alone = TextAnalyzer::builder(super::super::Words { token: Token::default(), run_ends: true })
                .filter(Stemmer::new(Language::English))
                .filter(AsciiFoldingFilter)
                .build();
            let mut reduced = analyzer(Stemming::of_code("en"), For::Index);
            let expected = terms(&mut alone, &text);
            for _ in 0..2 {
                proptest::prop_assert_eq!(&terms(&mut reduced, &text), &expected);
            }
        }
    }

    #[test]
    fn parts_stand_where_their_compound_stands() {
        let mut german = analyzer(Stemming::of_code("de"), For::Index);
        for _ in 0..2 {
            let found = terms(&mut german, "Die Haustür klemmt, die Haustüren");
            let found: Vec<(usize, &str)> = found.iter().map(|(at, term)| (*at, term.as_str())).collect();
            assert_eq!(
                found,
                [
                    (0, "die"),
                    (1, "haustur"),
                    (1, "haus"),
                    (1, "tur"),
                    (2, "klemmt"),
                    (3, "die"),
                    (4, "haustur"),
                    (4, "haus"),
                    (4, "tur")
                ]
            );
        }
        let mut dutch = analyzer(Stemming::of_code("nl"), For::Index);
        let found = terms(&mut dutch, "de Huisdeuren");
        let found: Vec<(usize, &str)> = found.iter().map(|(at, term)| (*at, term.as_str())).collect();
        assert_eq!(found, [(0, "de"), (1, "huisdeur"), (1, "huis"), (1, "deur")]);
        assert_eq!(terms(&mut analyzer(Stemming::of_code("en"), For::Index), "Haustür").len(), 1);
        assert_eq!(terms(&mut analyzer(Stemming::of_code("de"), For::Queries), "Haustür").len(), 1);
    }
}
