//! Puts the parts of compounds beside them: terms at the same place, so that phrases stay what they are.

use std::collections::HashMap;

use tantivy::tokenizer::{Token, TokenFilter, TokenStream, Tokenizer};

use crate::stemming::Stemming;
use crate::tokenizers::compounds::{Compounds, LETTERS_MIN};

/// Different words whose parts are remembered, for each thread that writes.
const WORDS_KEPT: usize = 16_384;

/// Puts the parts of words of one language behind them.
#[derive(Clone)]
pub(super) struct WithParts(Stemming);

impl WithParts {
    pub(super) fn of(stemming: Stemming) -> WithParts {
        WithParts(stemming)
    }
}

impl TokenFilter for WithParts {
    type Tokenizer<T: Tokenizer> = PartsTokenizer<T>;

    fn transform<T: Tokenizer>(self, words: T) -> PartsTokenizer<T> {
        PartsTokenizer { words, stemming: self.0, known: HashMap::new(), waiting: Vec::new() }
    }
}

#[derive(Clone)]
pub(super) struct PartsTokenizer<T> {
    words: T,
    stemming: Stemming,
    known: HashMap<Box<str>, Box<[String]>>,
    /// Parts of the word before that were not told yet, the last one first.
    waiting: Vec<String>,
}

impl<T: Tokenizer> Tokenizer for PartsTokenizer<T> {
    type TokenStream<'a> = PartsStream<'a, T::TokenStream<'a>>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Self::TokenStream<'a> {
        let PartsTokenizer { words, stemming, known, waiting } = self;
        waiting.clear();
        PartsStream { words: words.token_stream(text), stemming: *stemming, known, waiting }
    }
}

pub(super) struct PartsStream<'a, S> {
    words: S,
    stemming: Stemming,
    known: &'a mut HashMap<Box<str>, Box<[String]>>,
    waiting: &'a mut Vec<String>,
}

impl<S: TokenStream> TokenStream for PartsStream<'_, S> {
    fn advance(&mut self) -> bool {
        if let Some(part) = self.waiting.pop() {
            self.words.token_mut().text = part;
            return true;
        }
        if !self.words.advance() {
            return false;
        }
        let word = self.words.token().text.as_str();
        if word.len() < LETTERS_MIN {
            return true;
        }
        if !self.known.contains_key(word) {
            if self.known.len() >= WORDS_KEPT {
                self.known.clear();
            }
            let parts = Compounds::of(self.stemming).map(|compounds| compounds.parts(word));
            self.known.insert(word.into(), parts.unwrap_or_default().into());
        }
        if let Some(parts) = self.known.get(word) {
            self.waiting.extend(parts.iter().rev().cloned());
        }
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
        assert_eq!(terms(&mut analyzer(Stemming::of_code("en"), For::Index), "Haustür").len(), 1);
        assert_eq!(terms(&mut analyzer(Stemming::of_code("de"), For::Queries), "Haustür").len(), 1);
    }
}
