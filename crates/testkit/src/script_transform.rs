//! A pipeline stage for scenarios: declines what contains a word, or fails on it, and puts a mark on the rest.

use std::sync::Arc;

use ingather_connector::call::Call;
use ingather_connector::model::fault::{Fault, Reason};
use ingather_connector::settings::{NoSettings, schema_of};
use ingather_connector::transform::{Item, Transform, TransformKind, Verdict};

/// `{"decline": word, "broken": word, "mark": text}`, each optional.
pub static TRANSFORM: TransformKind = TransformKind {
    name: "script",
    about: "Declines, fails or marks by a word.",
    version: "1",
    schema: schema_of::<NoSettings>,
    open: |settings| {
        let word = |name: &str| settings[name].as_str().map(str::to_owned);
        Ok(Arc::new(Script { decline: word("decline"), broken: word("broken"), mark: word("mark") }))
    },
};

struct Script {
    decline: Option<String>,
    broken: Option<String>,
    mark: Option<String>,
}

impl Transform for Script {
    fn apply(&self, _call: &Call, item: &mut Item<'_>) -> Result<Verdict, Fault> {
        let mut text = String::new();
        item.content.read_to_string(&mut text).map_err(|error| Fault::passing("read", error.to_string()))?;
        let has = |word: &Option<String>| word.as_ref().is_some_and(|word| text.contains(word.as_str()));
        if has(&self.broken) {
            return Err(Fault::broken("stage", "the stage cannot read this"));
        }
        if has(&self.decline) {
            return Ok(Verdict::Decline(Reason::new("declined", "it contains the word")));
        }
        if let Some(mark) = &self.mark {
            item.record.fields.insert("mark".to_owned(), vec![mark.clone()]);
        }
        Ok(Verdict::Pass)
    }
}
