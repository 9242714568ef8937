//! Which language a document says that its words are in: office files mark runs of text, and have one that holds by default.
//!
//! Marks were set for these words, by people or by a program that looked at them. The default often is that of the template, of
//! the machine or of its keyboard, whatever was written: it is told as a guess, for texts that do not tell their language themselves.

use std::rc::Rc;

use super::TextSink;

/// The field with the language that most of the text is marked as.
const MARKED: &str = "language";
/// The field with the language that most of the text has by default.
pub const DEFAULT: &str = "default_language";
/// Languages that are counted in one document; further ones count as none.
const LANGUAGES_MAX: usize = 64;
/// The longest name of a language, as of tags of BCP 47 with a script and a country.
const NAME_BYTES_MAX: usize = 35;

/// What scripts have languages of their own in an office file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    /// Latin, Greek, Cyrillic and all others.
    Other,
    /// Chinese, Japanese and Korean.
    Eastern,
    /// From right to left, and those of South Asia.
    Complex,
}

/// The script of the first letter.
fn script_of(text: &str) -> Script {
    match text.chars().find(|c| c.is_alphabetic()) {
        Some(
            '\u{1100}'..='\u{11ff}'
            | '\u{3005}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ffdc}'
            | '\u{20000}'..='\u{323af}',
        ) => Script::Eastern,
        Some(
            '\u{590}'..='\u{8ff}'
            | '\u{900}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{fb1d}'..='\u{fefc}',
        ) => Script::Complex,
        _ => Script::Other,
    }
}

/// What is said of the language of some words, for each kind of script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spoken {
    pub(crate) other: Option<Rc<str>>,
    pub(crate) eastern: Option<Rc<str>>,
    pub(crate) complex: Option<Rc<str>>,
}

impl Spoken {
    /// What this does not say, another one says.
    pub(crate) fn or(&self, below: &Spoken) -> Spoken {
        let or = |one: &Option<Rc<str>>, other: &Option<Rc<str>>| one.clone().or_else(|| other.clone());
        Spoken {
            other: or(&self.other, &below.other),
            eastern: or(&self.eastern, &below.eastern),
            complex: or(&self.complex, &below.complex),
        }
    }

    fn of(&self, script: Script) -> Option<&str> {
        match script {
            Script::Other => self.other.as_deref(),
            Script::Eastern => self.eastern.as_deref(),
            Script::Complex => self.complex.as_deref(),
        }
    }
}

/// How much of the text is marked as what, and how much is what by default.
#[derive(Default)]
pub(super) struct Languages {
    /// Of each language, bytes that are marked as it, and that are it by default.
    bytes: Vec<(String, [usize; 2])>,
    all: usize,
}

impl Languages {
    fn count(&mut self, name: &str, bytes: usize, kind: usize) {
        let at = self.bytes.iter().position(|(known, _)| known == name).or_else(|| {
            let fits = name.len() <= NAME_BYTES_MAX && self.bytes.len() < LANGUAGES_MAX;
            fits.then(|| self.bytes.push((name.to_owned(), [0; 2])))?;
            Some(self.bytes.len() - 1)
        });
        if let Some(at) = at {
            self.bytes[at].1[kind] += bytes;
        }
    }

    /// The language of more than half of the text, if there is one, by what `bytes` counts.
    fn most(&self, bytes: impl Fn(&[usize; 2]) -> usize) -> Option<&str> {
        let (name, most) =
            self.bytes.iter().map(|(name, both)| (name, bytes(both))).max_by_key(|(_, bytes)| *bytes)?;
        (most > self.all / 2).then_some(name.as_str())
    }
}

impl TextSink<'_> {
    /// Adds text whose language the document marks, or has by default.
    pub(crate) fn spoken(&mut self, text: &str, marked: &Spoken, default: &Spoken) {
        let letters = text.trim().len();
        if letters > 0 {
            let script = script_of(text);
            self.languages.all += letters;
            match (marked.of(script), default.of(script)) {
                (Some(name), _) => self.languages.count(name, letters, 0),
                (None, Some(name)) => self.languages.count(name, letters, 1),
                (None, None) => {}
            }
        }
        self.text(text);
    }

    /// Tells the language of the document by what was said of its words, unless it names one as a whole.
    pub(super) fn tell_language(&mut self) {
        if self.has_field(MARKED) {
            return;
        }
        let languages = std::mem::take(&mut self.languages);
        if let Some(name) = languages.most(|both| both[0]) {
            self.field(MARKED, name);
        } else if let Some(name) = languages.most(|both| both[0] + both[1]) {
            self.field(DEFAULT, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Budget;
    use crate::{Extracted, Input, Request};

    fn named(name: &str) -> Spoken {
        Spoken { other: Some(name.into()), ..Spoken::default() }
    }

    fn told(pieces: &[(&str, Spoken, Spoken)]) -> Extracted {
        let request = Request::default();
        let budget = Budget::new(&request, &Input::memory(Vec::new()), |_, _, _| ());
        let mut sink = TextSink::new(&budget, 0, "a");
        pieces.iter().for_each(|(text, marked, default)| sink.spoken(text, marked, default));
        sink.finish()
    }

    #[test]
    fn most_of_the_text_decides_and_marks_before_defaults() {
        let none = Spoken::default;
        for (pieces, marked, default) in [
            (
                vec![("eins zwei", named("de-DE"), named("en-US")), ("one", none(), named("en-US"))],
                Some("de-DE"),
                None,
            ),
            (
                vec![("eins", named("de-DE"), none()), ("one two", none(), named("en-US"))],
                None,
                Some("en-US"),
            ),
            (vec![("eins", named("de"), none()), ("drei", none(), named("de"))], None, Some("de")),
            (
                vec![("one", none(), none()), ("eins", named("de"), none()), ("two", none(), none())],
                None,
                None,
            ),
            (vec![("   \n", named("de"), none())], None, None),
        ] {
            let found = told(&pieces);
            assert_eq!((found.field(MARKED), found.field(DEFAULT)), (marked, default), "{pieces:?}");
        }
    }

    #[test]
    fn words_are_in_the_language_of_their_script() {
        let all = Spoken {
            other: Some("en-US".into()),
            eastern: Some("ja-JP".into()),
            complex: Some("he-IL".into()),
        };
        for (text, language) in
            [("one", "en-US"), ("「東京」", "ja-JP"), ("3 שלום", "he-IL"), ("κόσμος", "en-US")]
        {
            assert_eq!(
                told(&[(text, all.clone(), Spoken::default())]).field(MARKED),
                Some(language),
                "{text}"
            );
        }
    }

    #[test]
    fn languages_without_end_are_bounded() {
        let names: Vec<String> = (0..1_000).map(|at| format!("x{at}")).collect();
        let pieces: Vec<_> = names.iter().map(|name| ("w", named(name), Spoken::default())).collect();
        assert_eq!(told(&pieces).field(MARKED), None);
        assert_eq!(told(&[("w", named(&"x".repeat(36)), Spoken::default())]).field(MARKED), None);
    }
}
