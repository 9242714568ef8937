//! The `ocr` transform: reads as `text` does, and the words in pictures by a `tesseract` program, where one is installed.

use std::sync::{Arc, OnceLock};

use garde::Validate;
use ingather_contract::settings;
use ingather_contract::transform::{Transform, TransformKind};
use ingather_extract::pictures::{self, Recognizer};
use ingather_model::fault::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::transforms::text::{Text, TextSettings};

/// The `ocr` transform.
pub(crate) const TRANSFORM: TransformKind = TransformKind {
    name: "ocr",
    about: "Reads as `text` does, and the words in pictures by a `tesseract` program; stands in the place of `text`.",
    version: "1.13",
    schema: settings::schema_of::<Settings>,
    open,
};

/// Who reads pictures in this process. A stage is opened with its settings only, and how processes are started is none.
static RECOGNIZER: OnceLock<Recognizer> = OnceLock::new();

/// Says how pictures are read from now on; without it their stage cannot be opened. The first word counts.
pub fn read_pictures_with(recognizer: Recognizer) {
    // A second one would be the same: both start this program.
    let _ = RECOGNIZER.set(recognizer);
}

fn open(value: &serde_json::Value) -> Result<Arc<dyn Transform>, Fault> {
    let settings: Settings = settings::read(value)?;
    let Some(program) = pictures::find(&settings.program) else {
        let message =
            "program: it is not on this machine; install it (Debian: tesseract-ocr), or use the stage `text`";
        return Err(Fault::refused("settings", message));
    };
    let Settings { languages, text, .. } = settings;
    let languages = languages.join("+");
    let look = move |picture: &[u8]| match RECOGNIZER.get() {
        Some(recognizer) => recognizer.read(&program, &languages, picture),
        None => Err("this program cannot start a reader of pictures".to_owned()),
    };
    Ok(Arc::new(Text::seeing(text, Box::new(look))?))
}

/// How pictures are read: PNG, JPEG, TIFF, BMP, GIF and WebP of at most 64 MiB, as documents of their own and in other documents,
/// and pages of PDF that are pictures. Of one document at most 1,000 are read, for at most half an hour. The program may read
/// programs and their data, write nothing, reach nobody, and take a minute for a picture.
#[derive(Clone, Debug, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// The program: a name, or a path below `/usr`, `/bin` or `/opt`.
    #[garde(length(bytes, min = 1, max = 4_096))]
    #[schemars(extend("x-of-the-machine" = true))]
    program: String,
    /// Languages whose words are expected, as the program names them (`tesseract --list-langs`).
    #[garde(length(min = 1, max = 16), inner(custom(language)))]
    languages: Vec<String>,
    /// How everything else is read: the settings of `text`.
    #[garde(dive)]
    text: TextSettings,
}

/// A name of a language is one word, which cannot be taken for an option of the program.
fn language(name: &str, _: &()) -> garde::Result {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/'));
    match plain && !name.is_empty() && name.len() <= 64 {
        true => Ok(()),
        false => Err(garde::Error::new("is no name of a language such as `eng` or `chi_sim`")),
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            program: "tesseract".to_owned(),
            languages: vec!["eng".to_owned()],
            text: TextSettings::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::refused;
    use super::*;
    use ingather_testkit::suites;
    use serde_json::json;

    #[test]
    fn its_version_changes_with_that_of_text() {
        assert!(TRANSFORM.version.ends_with(&format!(".{}", crate::transforms::text::TRANSFORM.version)));
    }

    #[test]
    fn it_keeps_what_a_transform_promises() {
        let samples: [(&str, &[u8]); 2] = [("a.txt", b"some words"), ("a.png", b"\x89PNG\r\n\x1a\nxx")];
        suites::transform(&TRANSFORM, &json!({"program": "sh"}), &samples);
    }

    #[test]
    fn settings_that_cannot_work_are_refused() {
        assert!(refused(&TRANSFORM, json!({"program": "no-such-program"})).contains("tesseract-ocr"));
        for language in ["", "eng --psm 3", "-l", "a+b"] {
            let words = refused(&TRANSFORM, json!({"program": "sh", "languages": [language]}));
            assert!(words.contains("languages"), "{words}");
        }
    }
}
