//! Which language a text is in.

mod small_words;

use whatlang::{Detector, Lang};

use small_words::Verdict;

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

/// ISO 639-1 code of the language of `text`, when the beginning of the text tells it reliably.
///
/// Small words decide for prose of common languages. Statistics of letters, which cost more than indexing a page, judge
/// the rest, except plain ASCII without any small words: that is program text, logs and numbers.
pub fn detect(detector: &Detector, text: &str) -> Option<&'static str> {
    let sample = beginning(text, SAMPLE_BYTES);
    match small_words::judge(sample) {
        Verdict::Sure(code) => return Some(code),
        Verdict::Nothing if sample.len() > SHORT_BYTES && sample.is_ascii() => return None,
        Verdict::Nothing | Verdict::Unsure => {}
    }
    let sample = beginning(sample, STATISTICS_BYTES);
    let letters = sample.chars().filter(|c| c.is_alphabetic()).take(SAMPLE_LETTERS_MIN).count();
    let unspaced = sample.chars().take(SAMPLE_LETTERS_MIN).any(is_unspaced);
    if letters < SAMPLE_LETTERS_MIN && !unspaced {
        return None;
    }
    let answer = detector.detect(sample)?;
    if answer.confidence() >= CONFIDENCE_MIN { code(answer.lang()) } else { None }
}

/// So many bytes from the beginning of a text at most, whole characters.
pub fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Scripts that put no space between words: Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer.
pub fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e01}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30fa}' | '\u{30fc}'..='\u{318f}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{323af}')
}

/// Other codes of the same languages, which documents name.
const ALIASES: &[(&str, &str)] = &[
    ("no", "nb"),
    ("nn", "nb"),
    ("nor", "nb"),
    ("nno", "nb"),
    ("ger", "de"),
    ("fre", "fr"),
    ("dut", "nl"),
    ("rum", "ro"),
    ("gre", "el"),
    ("cze", "cs"),
    ("slo", "sk"),
    ("chi", "zh"),
    ("zho", "zh"),
    ("per", "fa"),
    ("fas", "fa"),
    ("iw", "he"),
];

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

/// The language that a document names, as BCP 47 tags (`de-AT`), codes of three letters and names of locales (`de_AT`) do;
/// none when it is not one that has a code of two letters.
pub fn named(text: &str) -> Option<&'static str> {
    let code = text.trim().split(['-', '_', '.']).next().unwrap_or_default().to_ascii_lowercase();
    let code = ALIASES.iter().find(|(other, _)| *other == code).map_or(code.as_str(), |(_, code)| code);
    CODES.iter().find(|(long, short)| *long == code || *short == code).map(|(_, short)| *short)
}

/// Names of languages that people use beside those of the library.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("chinese", "zh"),
    ("norwegian", "nb"),
    ("norsk", "nb"),
    ("farsi", "fa"),
    ("burmese", "my"),
    ("flemish", "nl"),
];

/// The code of a language by its name, in English or in itself: `German`, `Deutsch`.
pub fn by_name(text: &str) -> Option<&'static str> {
    let name = text.to_lowercase();
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, code)| *code);
    let is_named = |language: &&Lang| {
        [language.eng_name(), language.name()].iter().any(|known| known.to_lowercase() == name)
    };
    other.or_else(|| Lang::all().iter().find(is_named).and_then(|language| code(*language)))
}

/// The names that [`by_name`] knows, in lower case.
pub fn names() -> Vec<String> {
    let all = Lang::all().iter().flat_map(|language| [language.eng_name(), language.name()]);
    all.chain(OTHER_NAMES.iter().map(|(name, _)| *name)).map(str::to_lowercase).collect()
}

/// Two letters for the languages that have them.
fn code(language: Lang) -> Option<&'static str> {
    let three = language.code();
    CODES.iter().find(|(long, _)| *long == three).map(|(_, short)| *short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_language_is_told_by_its_code_in_every_form() {
        for (text, code) in [
            ("de", Some("de")),
            ("de-AT", Some("de")),
            (" EN_us.UTF-8", Some("en")),
            ("ger", Some("de")),
            ("fra", Some("fr")),
            ("nn-NO", Some("nb")),
            ("zh-Hant-TW", Some("zh")),
            ("", None),
            ("und", None),
            ("x-klingon", None),
            ("Deutsch", None),
        ] {
            assert_eq!(named(text), code, "{text}");
        }
    }

    #[test]
    fn a_language_is_known_by_its_names() {
        for (text, code) in [
            ("german", Some("de")),
            ("Deutsch", Some("de")),
            ("français", Some("fr")),
            ("Chinese", Some("zh")),
            ("Norwegian", Some("nb")),
            ("de", None),
            ("klingon", None),
        ] {
            assert_eq!(by_name(text), code, "{text}");
        }
        assert!(names().iter().all(|name| by_name(name).is_some()));
    }

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
}
