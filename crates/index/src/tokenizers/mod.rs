//! How text becomes terms: words, pairs of characters where words have no spaces, stems by language, accents folded.

use tantivy::tokenizer::{
    AsciiFoldingFilter, BoxTokenStream, RawTokenizer, TextAnalyzer, Token, TokenStream, Tokenizer,
    TokenizerManager,
};

use ingather_kit::language::{beginning, is_unspaced};

use self::folding::is_mark;
use self::parts::Reduced;
use crate::stemming::Stemming;

pub(crate) mod compounds;
pub(crate) mod folding;
mod parts;

/// Name of the tokenizer of names, paths and metadata: words as they are, folded.
pub(crate) const PLAIN: &str = "ingather_plain";
/// Name of the tokenizer of titles and bodies: the first character of the text tells the language.
pub(crate) const BY_STEMMING: &str = "ingather_tongue";
/// Longer words are not text; they are not indexed, bytes.
const WORD_BYTES_MAX: usize = 128;
/// Beginning of a text that it is ordered by, bytes.
const ORDER_BYTES_MAX: usize = 1_024;

/// Registers our tokenizers under their names.
pub(crate) fn register(manager: &TokenizerManager) {
    manager.register(PLAIN, analyzer(Stemming::PLAIN, For::Index));
    manager.register(BY_STEMMING, TextAnalyzer::from(ByStemming::new()));
}

/// The analyzer of queries in one language.
pub(crate) fn for_queries(stemming: Stemming) -> TextAnalyzer {
    analyzer(stemming, For::Queries)
}

/// The analyzer of texts that are looked through for what a query found.
pub(crate) fn for_snippets(stemming: Stemming) -> TextAnalyzer {
    analyzer(stemming, For::Snippets)
}

/// What terms are made for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    /// All terms by which a text is found.
    Index,
    /// One term for each word.
    Queries,
    /// Whole words, with their parts.
    Snippets,
}

fn analyzer(stemming: Stemming, what_for: For) -> TextAnalyzer {
    let words = Words { token: Token::default(), run_ends: what_for == For::Index };
    let has_parts = what_for != For::Queries && Stemming::has_compounds(stemming);
    match stemming.stemmer() {
        None => TextAnalyzer::builder(words).filter(AsciiFoldingFilter).build(),
        Some(language) => {
            TextAnalyzer::builder(words).filter(Reduced::to(stemming, language, has_parts)).build()
        }
    }
}

/// The terms of `text` with their positions, as the analyzer makes them.
pub(crate) fn terms(analyzer: &mut TextAnalyzer, text: &str) -> Vec<(usize, String)> {
    let mut terms = Vec::new();
    let mut stream = analyzer.token_stream(text);
    while stream.advance() {
        let token = stream.token();
        terms.push((token.position, token.text.clone()));
    }
    terms
}

/// What a text is ordered by among others: the same letters, whatever their case and accents.
pub(crate) fn for_order(text: &str) -> String {
    let text = beginning(text, ORDER_BYTES_MAX);
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let plain: String = text.chars().filter(|c| !is_mark(*c)).flat_map(char::to_lowercase).collect();
    let mut folding = TextAnalyzer::builder(RawTokenizer::default()).filter(AsciiFoldingFilter).build();
    terms(&mut folding, &plain).pop().map(|(_, folded)| folded).unwrap_or_default()
}

/// Chooses the analyzer by the mark that [`Stemming::mark`] put before the text.
#[derive(Clone)]
struct ByStemming(Vec<TextAnalyzer>);

impl ByStemming {
    fn new() -> ByStemming {
        ByStemming(Stemming::all().map(|stemming| analyzer(stemming, For::Index)).collect())
    }
}

impl Tokenizer for ByStemming {
    type TokenStream<'a> = BoxTokenStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> BoxTokenStream<'a> {
        self.0[Stemming::of_marked(text).index()].token_stream(text)
    }
}

/// Splits into lower-case words; runs of characters of scripts without spaces become overlapping pairs.
#[derive(Clone)]
pub(crate) struct Words {
    token: Token,
    /// Whether the last character of a run is a term too, so that a search for it alone finds it: in the index, yes; in
    /// a query, no, since that would ask for the run's end. Likewise `C++` is `c` too in the index, and only itself in a query.
    run_ends: bool,
}

/// Signs that belong to the word before them where it is as short as the name of a language of programs.
const SIGNS: [&str; 2] = ["++", "#"];
/// Longer words are found without such a sign, letters.
const SIGNED_LETTERS_MAX: usize = 2;

/// Where the word with the sign behind it ends, as in `C++` and `F#`, when it ends at `to` without.
#[inline]
fn sign_end(text: &str, from: usize, to: usize) -> Option<usize> {
    // Most words are followed by something else.
    if !matches!(text.as_bytes().get(to), Some(b'+' | b'#')) {
        return None;
    }
    let word = &text.as_bytes()[from..to];
    if word.len() > SIGNED_LETTERS_MAX || !word.iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    let sign = SIGNS.iter().find(|sign| text[to..].starts_with(**sign))?;
    let end = to + sign.len();
    let goes_on = text[end..].starts_with(|next: char| next.is_alphabetic() || matches!(next, '+' | '#'));
    (!goes_on).then_some(end)
}

/// What a character begins.
enum Begins {
    /// A word of a script with spaces.
    Word,
    /// A letter of a script without; it is in the token already.
    Told,
    /// Neither.
    Nothing,
}

/// The words of one text.
pub(crate) struct WordStream<'a> {
    text: &'a str,
    at: usize,
    /// The character at `at` is already part of the pair before.
    covered: bool,
    run_ends: bool,
    /// Beginning of the word before, and where it ends with its sign, while that is not told.
    signed: Option<(usize, usize)>,
    token: &'a mut Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream {
            text,
            at: 0,
            covered: false,
            run_ends: self.run_ends,
            signed: None,
            token: &mut self.token,
        }
    }
}

impl<'a> WordStream<'a> {
    /// Begins a token at the next place; its text as it is written.
    fn begin(&mut self, from: usize, to: usize) -> &'a str {
        self.token.offset_from = from;
        self.token.offset_to = to;
        self.token.position = self.token.position.wrapping_add(1);
        self.token.text.clear();
        &self.text[from..to]
    }

    fn emit(&mut self, from: usize, to: usize, ascii: bool) {
        let word = self.begin(from, to);
        if ascii {
            self.token.text.push_str(word);
            self.token.text.make_ascii_lowercase();
        } else {
            folding::word(word, &mut self.token.text);
        }
    }

    /// What begins with a character beyond ASCII.
    fn begins_beyond_ascii(&mut self, from: usize) -> Begins {
        let Some(first) = self.text[from..].chars().next() else { return Begins::Nothing };
        if is_unspaced(first) {
            let next = from + folding::unspaced_length(&self.text[from..]);
            let goes_on = self.text[next..].starts_with(is_unspaced);
            let covered = std::mem::replace(&mut self.covered, goes_on);
            self.at = next;
            if !goes_on && covered && !self.run_ends {
                return Begins::Nothing;
            }
            let to = if goes_on { next + folding::unspaced_length(&self.text[next..]) } else { next };
            let letters = self.begin(from, to);
            folding::unspaced(letters, &mut self.token.text);
            return Begins::Told;
        }
        self.covered = false;
        if !first.is_alphanumeric() || is_mark(first) {
            self.at = from + first.len_utf8();
            return Begins::Nothing;
        }
        Begins::Word
    }

    /// End of the word that begins at `from`, and whether it is plain ASCII.
    fn word_end(&self, from: usize) -> (usize, bool) {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while at < bytes.len() && bytes[at].is_ascii_alphanumeric() {
            at += 1;
        }
        if at >= bytes.len() || bytes[at].is_ascii() {
            return (at, true);
        }
        for (offset, c) in self.text[at..].char_indices() {
            if is_unspaced(c) || !(c.is_alphanumeric() || is_mark(c)) {
                return (at + offset, offset == 0);
            }
        }
        (bytes.len(), false)
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        if let Some((from, to)) = self.signed.take() {
            let position = self.token.position;
            self.emit(from, to, true);
            self.token.position = position;
            return true;
        }
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() {
            let from = self.at;
            let byte = bytes[from];
            if byte.is_ascii_alphanumeric() {
                // Most words of most texts begin so, and need no look at their first character.
                self.covered = false;
            } else if byte.is_ascii() {
                self.at += 1;
                self.covered = false;
                continue;
            } else {
                match self.begins_beyond_ascii(from) {
                    Begins::Word => {}
                    Begins::Told => return true,
                    Begins::Nothing => continue,
                }
            }
            let (to, ascii) = self.word_end(from);
            self.at = to;
            if let Some(end) = sign_end(self.text, from, to) {
                self.at = end;
                self.signed = self.run_ends.then_some((from, end));
                self.emit(from, if self.run_ends { to } else { end }, true);
                return true;
            }
            if to - from <= WORD_BYTES_MAX {
                self.emit(from, to, ascii);
                return true;
            }
            self.token.position = self.token.position.wrapping_add(1);
        }
        false
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

/// The next word from `from` on in a script that puts spaces between words, as [`Words`] cuts them.
pub(crate) fn next_spaced(text: &str, from: usize) -> Option<std::ops::Range<usize>> {
    let bytes = text.as_bytes();
    let is_part = |c: char| (c.is_alphanumeric() || is_mark(c)) && !is_unspaced(c);
    let mut at = from;
    loop {
        let first = *bytes.get(at)?;
        if first.is_ascii_alphanumeric() {
            break;
        }
        if first.is_ascii() {
            at += 1;
            continue;
        }
        let character = text[at..].chars().next()?;
        if is_part(character) && !is_mark(character) {
            break;
        }
        at += character.len_utf8();
    }
    let begins = at;
    while at < bytes.len() {
        if bytes[at].is_ascii() {
            if !bytes[at].is_ascii_alphanumeric() {
                break;
            }
            at += 1;
            continue;
        }
        match text[at..].chars().next() {
            Some(character) if is_part(character) => at += character.len_utf8(),
            _ => break,
        }
    }
    Some(begins..sign_end(text, begins, at).unwrap_or(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        terms(&mut for_queries(Stemming::PLAIN), text).into_iter().map(|(_, term)| term).collect()
    }

    #[test]
    fn words_are_lower_case_and_folded() {
        assert_eq!(
            words("Ein Übel-Wort, naïve e\u{301}te\u{301} X1"),
            ["ein", "ubel", "wort", "naive", "ete", "x1"]
        );
        assert_eq!(words("  --  "), Vec::<String>::new());
        assert_eq!(words("Straße"), ["strasse"]);
    }

    #[test]
    fn texts_are_ordered_by_their_letters() {
        let mut titles = ["Zebra", "über", "Uhr", "apfel", "E\u{301}te\u{301}", "Äpfel"];
        titles.sort_by_key(|title| for_order(title));
        assert_eq!(titles, ["apfel", "Äpfel", "E\u{301}te\u{301}", "über", "Uhr", "Zebra"]);
        assert_eq!(for_order(&"ü".repeat(1_000)).len(), 512, "cut between letters, each then one byte");
    }

    #[test]
    fn runs_without_spaces_become_pairs() {
        assert_eq!(words("東京都 a"), ["東京", "京都", "a"]);
        assert_eq!(words("x東y京"), ["x", "東", "y", "京"]);
        assert_eq!(words("日本語text中"), ["日本", "本語", "text", "中"]);
        assert_eq!(words("東 京"), ["東", "京"]);
    }

    #[test]
    fn the_index_also_knows_the_end_of_a_run() {
        let ends = terms(&mut analyzer(Stemming::PLAIN, For::Index), "東京 a");
        assert_eq!(ends, [(0, "東京".to_owned()), (1, "京".to_owned()), (2, "a".to_owned())]);
    }

    proptest::proptest! {
        #[test]
        fn words_with_spaces_are_those_of_the_tokenizer(text in "[a-cé\u{301} .,+#1東京ｱﾞ\u{e01}ж\u{5d0}\u{5b8}\u{627}\u{640}\u{64e}\u{fc5e}-]{0,30}") {
            let mut analyzer = for_queries(Stemming::PLAIN);
            let mut stream = analyzer.token_stream(&text);
            let mut told = Vec::new();
            while stream.advance() {
                let range = stream.token().offset_from..stream.token().offset_to;
                if !text[range.clone()].starts_with(is_unspaced) {
                    told.push(range);
                }
            }
            let mut found: Vec<std::ops::Range<usize>> = Vec::new();
            while let Some(word) = next_spaced(&text, found.last().map_or(0, |last| last.end)) {
                found.push(word);
            }
            proptest::prop_assert_eq!(found, told);
        }
    }

    /// The words of a text in scripts with spaces, looked at one character after the other.
    fn plainly(text: &str) -> Vec<(usize, usize, usize, String)> {
        let is_part = |c: char| c.is_alphanumeric() || is_mark(c);
        let (mut found, mut position, mut at) = (Vec::new(), 0, 0);
        while let Some(first) = text[at..].chars().next() {
            if !first.is_alphanumeric() {
                at += first.len_utf8();
                continue;
            }
            let to = text[at..].find(|c: char| !is_part(c)).map_or(text.len(), |length| at + length);
            let mut term = String::new();
            folding::word(&text[at..to], &mut term);
            let end = sign_end(text, at, to);
            if to - at <= WORD_BYTES_MAX {
                found.push((position, at, to, term));
            }
            if let Some(end) = end {
                found.push((position, at, end, text[at..end].to_lowercase()));
            }
            position += 1;
            at = end.unwrap_or(to);
        }
        found
    }

    proptest::proptest! {
        #[test]
        fn words_of_plain_and_of_other_letters_are_cut_alike(text in "([a-dA-D0-9]{0,4}[ .,+#\n-]{0,2}|[aBé\u{301}жЖ\u{5d0}\u{627}_]{0,3}|x{126,129}){0,12}") {
            let mut words = Words { token: Token::default(), run_ends: true };
            let mut stream = words.token_stream(&text);
            let mut told = Vec::new();
            while stream.advance() {
                let token = stream.token();
                told.push((token.position, token.offset_from, token.offset_to, token.text.clone()));
            }
            proptest::prop_assert_eq!(told, plainly(&text));
        }
    }

    #[test]
    fn a_giant_word_leaves_a_gap_and_no_term() {
        let text = format!("a {} b", "x".repeat(200));
        assert_eq!(
            terms(&mut for_queries(Stemming::PLAIN), &text),
            [(0, "a".to_owned()), (2, "b".to_owned())]
        );
    }

    #[test]
    fn signs_belong_to_short_words() {
        assert_eq!(words("C++ and c# (F#), C++11"), ["c++", "and", "c#", "f#", "c++", "11"]);
        assert_eq!(words("C+ 1++ C## C#x abc++ ++"), ["c", "1", "c", "c", "x", "abc"]);
        let both = terms(&mut analyzer(Stemming::of_code("en"), For::Index), "a C++ b");
        let both: Vec<(usize, &str)> = both.iter().map(|(at, term)| (*at, term.as_str())).collect();
        assert_eq!(both, [(0, "a"), (1, "c"), (1, "c++"), (2, "b")], "the index knows both at one place");
    }

    #[test]
    fn offsets_point_into_the_text() {
        let text = "\u{1}Grüße an 東京都!";
        let mut analyzer = for_queries(Stemming::PLAIN);
        let mut stream = analyzer.token_stream(text);
        let mut found = Vec::new();
        while stream.advance() {
            found.push(&text[stream.token().offset_from..stream.token().offset_to]);
        }
        assert_eq!(found, ["Grüße", "an", "東京", "京都"]);
    }
}
