//! By which stems a text of a language is found.

use tantivy::tokenizer::Language;

/// Languages with stems; the position in this list is the mark in stored texts, so new ones go to the end only.
const STEMMED: &[(&str, Language)] = &[
    ("en", Language::English),
    ("de", Language::German),
    ("fr", Language::French),
    ("es", Language::Spanish),
    ("it", Language::Italian),
    ("pt", Language::Portuguese),
    ("nl", Language::Dutch),
    ("sv", Language::Swedish),
    ("da", Language::Danish),
    ("nb", Language::Norwegian),
    ("fi", Language::Finnish),
    ("hu", Language::Hungarian),
    ("ro", Language::Romanian),
    ("ru", Language::Russian),
    ("tr", Language::Turkish),
    ("el", Language::Greek),
    ("ar", Language::Arabic),
    ("ta", Language::Tamil),
];

/// How the words of a text are reduced: by the stems of one language, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Stemming(u8);

impl Stemming {
    /// Words as they are.
    pub(crate) const PLAIN: Stemming = Stemming(0);

    /// All of them; the position in this order is [`Stemming::index`].
    pub(crate) fn all() -> impl Iterator<Item = Stemming> {
        (0..=STEMMED.len() as u8).map(Stemming)
    }

    /// The one for an ISO 639-1 code, also with a region such as `en-GB`; plain when there are no stems for it.
    pub(crate) fn of_code(code: &str) -> Stemming {
        let language = code.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        let language = if language == "no" || language == "nn" { "nb" } else { &language };
        let position = STEMMED.iter().position(|(code, _)| *code == language);
        position.map_or(Stemming::PLAIN, |position| Stemming(position as u8 + 1))
    }

    /// Place in [`Stemming::all`].
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The stemmer, if any.
    pub(crate) fn stemmer(self) -> Option<Language> {
        self.index().checked_sub(1).map(|position| STEMMED[position].1)
    }

    /// Whether its words are cut into the words that they are put together from.
    pub(crate) fn has_compounds(self) -> bool {
        ["de", "nl"].map(Stemming::of_code).contains(&self)
    }

    /// The character that is put before a text so that the tokenizer knows; a control character, never part of a word.
    pub(crate) fn mark(self) -> char {
        char::from(self.0 + 1)
    }

    /// The one whose mark stands before `text`.
    pub(crate) fn of_marked(text: &str) -> Stemming {
        match text.as_bytes().first() {
            Some(mark @ 1..) if usize::from(*mark) <= STEMMED.len() + 1 => Stemming(mark - 1),
            _ => Stemming::PLAIN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_leads_back_to_its_stemming() {
        for stemming in Stemming::all() {
            assert_eq!(Stemming::of_marked(&format!("{}text", stemming.mark())), stemming);
        }
        assert_eq!(Stemming::of_marked("text"), Stemming::PLAIN);
        assert_eq!(Stemming::of_code("en-GB"), Stemming::of_code("EN"));
        assert_eq!(Stemming::of_code("xx"), Stemming::PLAIN);
    }
}
