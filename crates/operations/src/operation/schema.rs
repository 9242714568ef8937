//! Schemas of answers whose types are words of the model, which knows no schemas.

use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::{FailureKind, GuardState, RunOutcome, VisitReason};
use ingather_model::run_counts::RunCounts;
use schemars::{Schema, SchemaGenerator, json_schema};

fn words(words: &[&str]) -> Schema {
    json_schema!({ "type": "string", "enum": words })
}

fn words_or_none(words: &[&str]) -> Schema {
    let all: Vec<Option<&str>> = words.iter().copied().map(Some).chain([None]).collect();
    json_schema!({ "type": ["string", "null"], "enum": all })
}

/// Where a job is in its life.
pub(crate) fn state(_: &mut SchemaGenerator) -> Schema {
    words(State::WORDS)
}

/// How a run looks at its source.
pub(crate) fn run_kind(_: &mut SchemaGenerator) -> Schema {
    words(ingather_model::job::RunKind::WORDS)
}

/// How a run ended.
pub(crate) fn run_outcome(_: &mut SchemaGenerator) -> Schema {
    words_or_none(RunOutcome::WORDS)
}

/// What became of removals that a run held.
pub(crate) fn guard_state(_: &mut SchemaGenerator) -> Schema {
    words_or_none(GuardState::WORDS)
}

/// Counters of a run: each is a whole number.
pub(crate) fn run_counts(_: &mut SchemaGenerator) -> Schema {
    let counters = serde_json::to_value(RunCounts::default()).unwrap_or_default();
    let properties: serde_json::Map<String, serde_json::Value> = counters
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| (name.clone(), serde_json::json!({ "type": "integer", "minimum": 0 })))
        .collect();
    json_schema!({ "type": "object", "properties": properties })
}

/// Any object, whose form is described elsewhere.
pub(crate) fn object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}

/// Why a document is to be visited.
pub(crate) fn visit_reason(_: &mut SchemaGenerator) -> Schema {
    words_or_none(VisitReason::WORDS)
}

/// What a document is whose last visit did not end well.
pub(crate) fn failure_kind(_: &mut SchemaGenerator) -> Schema {
    words(FailureKind::WORDS)
}

/// Objects whose form is described elsewhere.
pub(crate) fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "object" } })
}
