//! Languages: which one a text is in, and by which stems it is found.

use tantivy::tokenizer::Language;
use whatlang::{Detector, Lang};

use super::small_words::{self, Verdict};

/// Text that is looked at to tell the language, bytes: more hardly changes the answer, and each byte costs time.
const SAMPLE_BYTES: usize = 1_024;
/// Text that statistics of letters look at, bytes.
const STATISTICS_BYTES: usize = 512;
/// Texts up to this length may be prose without small words, bytes.
const SHORT_BYTES: usize = 256;
/// Shorter texts tell nothing, letters.
const SAMPLE_LETTERS_MIN: usize = 20;

/// Less sure answers of the statistics count for nothing.
const CONFIDENCE_MIN: f64 = 0.3;

/// Languages with stems; the place in this list is the mark in stored texts, so new ones go to the end only.
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
pub(super) struct Tongue(u8);

impl Tongue {
    /// Words as they are.
    pub(super) const PLAIN: Tongue = Tongue(0);

    /// All of them; the place in this order is [`Tongue::index`].
    pub(super) fn all() -> impl Iterator<Item = Tongue> {
        (0..=STEMMED.len() as u8).map(Tongue)
    }

    /// The one for an ISO 639-1 code, also with a region such as `en-GB`; plain when there are no stems for it.
    pub(super) fn of_code(code: &str) -> Tongue {
        let language = code.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        let language = if language == "no" || language == "nn" { "nb" } else { &language };
        let place = STEMMED.iter().position(|(code, _)| *code == language);
        place.map_or(Tongue::PLAIN, |place| Tongue(place as u8 + 1))
    }

    /// Place in [`Tongue::all`].
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The stemmer, if any.
    pub(super) fn stemmer(self) -> Option<Language> {
        self.index().checked_sub(1).map(|place| STEMMED[place].1)
    }

    /// The character that is put before a text so that the tokenizer knows; a control character, never part of a word.
    pub(super) fn mark(self) -> char {
        char::from(self.0 + 1)
    }

    /// The one whose mark stands before `text`.
    pub(super) fn of_marked(text: &str) -> Tongue {
        match text.as_bytes().first() {
            Some(mark @ 1..) if usize::from(*mark) <= STEMMED.len() + 1 => Tongue(mark - 1),
            _ => Tongue::PLAIN,
        }
    }
}

/// ISO 639-1 code of the language of `text`, when the beginning of the text tells it reliably.
///
/// Small words decide for prose of common languages. Statistics of letters, which cost more than indexing a page, judge
/// the rest, except plain ASCII without any small words: that is program text, logs and numbers.
pub(super) fn detect(detector: &Detector, text: &str) -> Option<&'static str> {
    let sample = beginning(text, SAMPLE_BYTES);
    match small_words::judge(sample) {
        Verdict::Sure(code) => return Some(code),
        Verdict::Nothing if sample.len() > SHORT_BYTES && sample.is_ascii() => return None,
        Verdict::Nothing | Verdict::Unsure => {}
    }
    let sample = beginning(sample, STATISTICS_BYTES);
    let letters = sample.chars().filter(|c| c.is_alphabetic()).take(SAMPLE_LETTERS_MIN).count();
    let unspaced = sample.chars().take(SAMPLE_LETTERS_MIN).any(super::words::is_unspaced);
    if letters < SAMPLE_LETTERS_MIN && !unspaced {
        return None;
    }
    let answer = detector.detect(sample)?;
    if answer.confidence() >= CONFIDENCE_MIN { code(answer.lang()) } else { None }
}

fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Codes of three and of two letters, for the languages that have both.
const CODES: &[(&str, &str)] = &[
    ("eng", "en"),
    ("deu", "de"),
    ("fra", "fr"),
    ("spa", "es"),
    ("ita", "it"),
    ("por", "pt"),
    ("nld", "nl"),
    ("swe", "sv"),
    ("dan", "da"),
    ("nob", "nb"),
    ("fin", "fi"),
    ("hun", "hu"),
    ("ron", "ro"),
    ("rus", "ru"),
    ("tur", "tr"),
    ("ell", "el"),
    ("ara", "ar"),
    ("tam", "ta"),
    ("cmn", "zh"),
    ("jpn", "ja"),
    ("kor", "ko"),
    ("tha", "th"),
    ("pol", "pl"),
    ("ces", "cs"),
    ("slk", "sk"),
    ("slv", "sl"),
    ("ukr", "uk"),
    ("bel", "be"),
    ("bul", "bg"),
    ("srp", "sr"),
    ("hrv", "hr"),
    ("mkd", "mk"),
    ("cat", "ca"),
    ("est", "et"),
    ("lat", "la"),
    ("lav", "lv"),
    ("lit", "lt"),
    ("heb", "he"),
    ("yid", "yi"),
    ("pes", "fa"),
    ("urd", "ur"),
    ("hin", "hi"),
    ("ben", "bn"),
    ("mar", "mr"),
    ("guj", "gu"),
    ("pan", "pa"),
    ("tel", "te"),
    ("mal", "ml"),
    ("kan", "kn"),
    ("ori", "or"),
    ("nep", "ne"),
    ("sin", "si"),
    ("mya", "my"),
    ("khm", "km"),
    ("vie", "vi"),
    ("ind", "id"),
    ("jav", "jv"),
    ("tgl", "tl"),
    ("kat", "ka"),
    ("hye", "hy"),
    ("aze", "az"),
    ("uzb", "uz"),
    ("tuk", "tk"),
    ("amh", "am"),
    ("afr", "af"),
    ("aka", "ak"),
    ("sna", "sn"),
    ("zul", "zu"),
    ("epo", "eo"),
    ("cym", "cy"),
];

/// Two letters for the languages that have them.
fn code(language: Lang) -> Option<&'static str> {
    let three = language.code();
    CODES.iter().find(|(long, _)| *long == three).map(|(_, short)| *short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_and_short_texts_are_not_guessed() {
        let detector = Detector::new();
        let told = |text| detect(&detector, text);
        assert_eq!(told("The quick brown foxes were running over the lazy dogs in the garden."), Some("en"));
        assert_eq!(
            told("Die Häuser in unserer Straße wurden vor vielen Jahren von Handwerkern gebaut."),
            Some("de")
        );
        assert_eq!(
            told("Les enfants jouaient dans le jardin pendant que leurs parents travaillaient."),
            Some("fr")
        );
        assert_eq!(
            told("Los niños estaban jugando en el jardín mientras sus padres trabajaban."),
            Some("es")
        );
        assert_eq!(told("東京都は日本の首都であり、世界最大の都市の一つです。"), Some("ja"));
        assert_eq!(told("北京是中华人民共和国的首都。"), Some("zh"));
        assert_eq!(told("ok 17"), None);
        assert_eq!(told(""), None);
    }

    #[test]
    fn every_language_that_is_detected_has_two_letters() {
        assert_eq!(
            Lang::all().iter().filter(|lang| code(**lang).is_none()).collect::<Vec<_>>(),
            Vec::<&Lang>::new()
        );
    }

    #[test]
    fn a_mark_leads_back_to_its_tongue() {
        for tongue in Tongue::all() {
            assert_eq!(Tongue::of_marked(&format!("{}text", tongue.mark())), tongue);
        }
        assert_eq!(Tongue::of_marked("text"), Tongue::PLAIN);
        assert_eq!(Tongue::of_code("en-GB"), Tongue::of_code("EN"));
        assert_eq!(Tongue::of_code("xx"), Tongue::PLAIN);
    }
}
