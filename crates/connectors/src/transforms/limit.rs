//! The `limit` transform: cuts long texts off, for outputs that pay or slow down by their length.

use std::sync::Arc;

use garde::Validate;
use ingather_contract::call::CallContext;
use ingather_contract::settings;
use ingather_contract::transform::{Item, Transform, TransformKind, Verdict};
use ingather_extract::decode::boundary;
use ingather_model::fault::Fault;
use schemars::JsonSchema;
use serde::Deserialize;

use super::truncated;

/// The `limit` transform.
pub(crate) const TRANSFORM: TransformKind = TransformKind {
    name: "limit",
    about: "Cuts the text of documents off after a number of characters or bytes, and says so in the field `truncated`.",
    version: "1",
    schema: settings::schema_of::<Limit>,
    open,
};

fn open(value: &serde_json::Value) -> Result<Arc<dyn Transform>, Fault> {
    let limit: Limit = settings::read(value)?;
    if limit.characters.is_none() && limit.bytes.is_none() {
        return Err(Fault::refused("settings", "it says no limit; give `characters` or `bytes`"));
    }
    Ok(Arc::new(limit))
}

/// How much text a document may have; with both, the smaller one counts.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
struct Limit {
    /// Most characters of text.
    #[garde(range(min = 1))]
    characters: Option<usize>,
    /// Most bytes of text in UTF-8; no character is cut in two.
    #[garde(range(min = 1))]
    bytes: Option<usize>,
}

impl Transform for Limit {
    fn apply(&self, _call: &CallContext, item: &mut Item<'_>) -> Result<Verdict, Fault> {
        let Some(body) = &mut item.record.body else { return Ok(Verdict::Pass) };
        let of_characters = self.characters.and_then(|most| body.char_indices().nth(most)).map(|(at, _)| at);
        let of_bytes = self.bytes.map(|most| boundary(body, most));
        let end = [of_characters, of_bytes].into_iter().flatten().min().unwrap_or(body.len());
        if end < body.len() {
            body.truncate(end);
            truncated(item.record);
        }
        Ok(Verdict::Pass)
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{refused, without_reading};
    use super::*;
    use ingather_model::document::Record;
    use ingather_testkit::suites;
    use serde_json::json;

    #[test]
    fn it_keeps_what_a_transform_promises() {
        suites::transform(&TRANSFORM, &json!({"bytes": 3}), &[("a.txt", b"some text")]);
    }

    #[test]
    fn text_is_cut_between_characters_and_says_so() {
        for (settings, text, cut) in [
            (json!({"characters": 3}), "äöüß", "äöü"),
            (json!({"characters": 4}), "äöüß", "äöüß"),
            (json!({"bytes": 3}), "äöüß", "ä"),
            (json!({"bytes": 8}), "äöüß", "äöüß"),
            (json!({"bytes": 1}), "äöüß", ""),
            (json!({"characters": 3, "bytes": 4}), "äöüß", "äö"),
        ] {
            let mut record = Record { body: Some(text.into()), ..Record::default() };
            let (verdict, parts) = without_reading(&TRANSFORM, &settings, &mut record);
            assert_eq!((verdict.unwrap(), parts.list.len()), (Verdict::Pass, 0));
            assert_eq!(record.body.as_deref(), Some(cut), "{settings}");
            assert_eq!(record.fields.contains_key("truncated"), cut != text, "{settings}");
        }
    }

    #[test]
    fn a_limit_that_says_nothing_is_refused() {
        assert!(refused(&TRANSFORM, json!({})).contains("`characters` or `bytes`"));
        refused(&TRANSFORM, json!({"characters": 0}));
    }
}
