//! The `language` transform: tells the language of a text, for outputs that cannot do so themselves.

use std::sync::Arc;

use garde::Validate;
use ingather_contract::call::CallContext;
use ingather_contract::settings;
use ingather_contract::transform::{Item, Transform, TransformKind, Verdict};
use ingather_model::fault::Fault;
use schemars::JsonSchema;
use serde::Deserialize;
use whatlang::Detector;

use ingather_kit::language::detect;

/// The `language` transform.
pub(crate) const TRANSFORM: TransformKind = TransformKind {
    name: "language",
    about: "Tells the language of the text where its beginning tells it reliably.",
    version: "1",
    schema: settings::schema_of::<Settings>,
    open: |value| Ok(Arc::new(Language { settings: settings::read(value)?, detector: Detector::new() })),
};

/// Which languages count.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// Judge by the text also where the document itself or its source names a language.
    #[garde(skip)]
    overwrite: bool,
    /// Language of documents whose text does not tell it, such as `en`; none: they have none.
    #[garde(length(min = 2, max = 35))]
    otherwise: Option<String>,
}

struct Language {
    settings: Settings,
    detector: Detector,
}

impl Transform for Language {
    fn apply(&self, _call: &CallContext, item: &mut Item<'_>) -> Result<Verdict, Fault> {
        let record = &mut *item.record;
        if record.language.is_none() || self.settings.overwrite {
            let told =
                record.body.as_deref().and_then(|body| detect(&self.detector, body)).map(str::to_owned);
            // What was said counts for more than a guess for everything.
            record.language = told.or(record.language.take()).or_else(|| self.settings.otherwise.clone());
        }
        Ok(Verdict::Pass)
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::without_reading;
    use super::*;
    use ingather_model::document::Record;
    use ingather_testkit::suites;
    use serde_json::json;

    const GERMAN: &str =
        "Die Sitzung wurde auf den Montag verschoben, weil der Raum nicht frei ist und wir noch warten.";

    #[test]
    fn it_keeps_what_a_transform_promises() {
        suites::transform(&TRANSFORM, &json!({}), &[("a.txt", GERMAN.as_bytes())]);
    }

    #[test]
    fn a_text_tells_its_language_unless_one_is_named() {
        for (settings, named, text, language) in [
            (json!({}), None, Some(GERMAN), Some("de")),
            (json!({}), None, Some("x = 17"), None),
            (json!({}), Some("fr"), Some(GERMAN), Some("fr")),
            (json!({"overwrite": true}), Some("fr"), Some(GERMAN), Some("de")),
            (json!({"overwrite": true}), Some("fr"), Some("x = 17"), Some("fr")),
            (json!({"otherwise": "en"}), None, Some("x = 17"), Some("en")),
            (json!({"otherwise": "en"}), None, None, Some("en")),
        ] {
            let (body, named) = (text.map(str::to_owned), named.map(str::to_owned));
            let mut record = Record { body, language: named, ..Record::default() };
            assert_eq!(without_reading(&TRANSFORM, &settings, &mut record).0.unwrap(), Verdict::Pass);
            assert_eq!(record.language.as_deref(), language, "{settings} {text:?}");
        }
    }
}
