//! Stages of pipelines one file each: `docs/manual/pipeline.md` says how they work together.

pub(crate) mod access;
pub(crate) mod allow;
pub(crate) mod fields;
pub(crate) mod language;
pub(crate) mod limit;
pub(crate) mod ocr;
pub(crate) mod passages;
pub(crate) mod text;
#[cfg(feature = "tika")]
pub(crate) mod tika;

use ingather_model::document::Record;

/// Says in a record that its text is not all of the document's.
fn truncated(record: &mut Record) {
    record.fields.insert("truncated".to_owned(), vec!["true".to_owned()]);
}

#[cfg(test)]
pub(crate) mod trial {
    //! What the tests of stages share: one item sent through one stage.

    use std::sync::Arc;

    use ingather_contract::call::{CallContext, Cancel};
    use ingather_contract::transform::{Audience, Item, TransformKind, Verdict};
    use ingather_model::document::{Parts, Record};
    use ingather_model::fault::Fault;
    use ingather_testkit::clock::HandClock;
    use serde_json::Value;

    /// What a stage with these settings makes of a record with this content.
    pub(super) fn apply_to(
        kind: &TransformKind,
        settings: &Value,
        record: &mut Record,
        content: &mut dyn std::io::Read,
    ) -> (Result<Verdict, Fault>, Parts) {
        let call = CallContext { clock: Arc::new(HandClock::at(0)), cancel: Cancel::default() };
        let mut parts = Parts::default();
        let stage = (kind.open)(settings).unwrap();
        let verdict = stage.apply(
            &call,
            &mut Item { record, content, links: None, parts: &mut parts, audience: &Audience::default },
        );
        (verdict, parts)
    }

    /// The same for a stage that reads no content: it would notice.
    pub(super) fn without_reading(
        kind: &TransformKind,
        settings: &Value,
        record: &mut Record,
    ) -> (Result<Verdict, Fault>, Parts) {
        struct Closed;
        impl std::io::Read for Closed {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                panic!("the stage asks for content")
            }
        }
        apply_to(kind, settings, record, &mut Closed)
    }

    /// The reason why settings are refused.
    #[track_caller]
    pub(crate) fn refused(kind: &TransformKind, settings: Value) -> String {
        match (kind.open)(&settings) {
            Ok(_) => panic!("{settings} is taken"),
            Err(fault) => fault.reason().message,
        }
    }
}
