//! Schemas of answers whose types are words of the model, which knows no schemas.

use ingather_model::job::RunKind;
use ingather_model::job::history::HistoryOutcome;
use ingather_model::job::notify::NotifyEvent;
use ingather_model::job::schedule::Start;
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::{FailureKind, GuardState, RunOutcome, VisitReason};
use ingather_model::lifecycle::projection::ManifoldJobState;
use ingather_model::limits;
use ingather_model::run_counts::RunCounts;
use ingather_store::runs::notices::NoticeState;
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

/// What ManifoldCF calls the state of a job.
pub(crate) fn manifold_state(_: &mut SchemaGenerator) -> Schema {
    words_or_none(ManifoldJobState::WORDS)
}

/// How a run looks at its source.
pub(crate) fn run_kind(_: &mut SchemaGenerator) -> Schema {
    words(RunKind::WORDS)
}

/// How a run ended.
pub(crate) fn run_outcome(_: &mut SchemaGenerator) -> Schema {
    words_or_none(RunOutcome::WORDS)
}

/// What notifiers are told of.
pub(crate) fn notify_event(_: &mut SchemaGenerator) -> Schema {
    words(NotifyEvent::WORDS)
}

/// What became of a notice.
pub(crate) fn notice_state(_: &mut SchemaGenerator) -> Schema {
    words(NoticeState::WORDS)
}

/// What became of a document in a history.
pub(crate) fn history_outcome(_: &mut SchemaGenerator) -> Schema {
    words(HistoryOutcome::WORDS)
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

/// When a job runs by itself: a text, rules for windows, or an interval.
pub(crate) fn schedule(_: &mut SchemaGenerator) -> Schema {
    let minutes = json_schema!({ "type": "integer", "minimum": 1, "maximum": limits::SCHEDULE_MINUTES_MAX });
    let some = |members: serde_json::Value| {
        let most = limits::SCHEDULE_YEARS_NAMED_MAX;
        json_schema!({ "anyOf": [{ "const": "every" }, { "type": "array", "minItems": 1, "maxItems": most, "items": members }] })
    };
    let numbers =
        |from: i16, to: i16| some(serde_json::json!({ "type": "integer", "minimum": from, "maximum": to }));
    let weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    let said = ["weekdays", "days_of_month", "months", "years", "hours", "minutes"]
        .map(|part| serde_json::json!({ "required": [part] }));
    let rule = json_schema!({
        "type": "object",
        "properties": {
            "weekdays": some(serde_json::json!({ "enum": weekdays })),
            "days_of_month": numbers(1, 31),
            "months": numbers(1, 12),
            "years": numbers(1970, limits::SCHEDULE_YEAR_MAX),
            "hours": numbers(0, 23),
            "minutes": numbers(0, 59),
            "length_minutes": minutes,
            "time_zone": { "type": "string", "pattern": "^[A-Za-z0-9/_+-]+$", "maxLength": limits::TIME_ZONE_BYTES_MAX },
            "start": words(Start::WORDS),
            "kind": words(RunKind::WORDS),
        },
        "anyOf": said,
        "additionalProperties": false,
    });
    let interval = json_schema!({
        "type": "object",
        "properties": { "every_minutes": minutes, "kind": words(RunKind::WORDS) },
        "required": ["every_minutes"],
        "additionalProperties": false,
    });
    json_schema!({ "anyOf": [
        { "type": "string", "maxLength": limits::SCHEDULE_TEXT_BYTES_MAX },
        { "type": "array", "minItems": 1, "maxItems": limits::SCHEDULE_RULES_MAX, "items": rule },
        interval,
    ] })
}

/// The same, where nothing said changes nothing.
pub(crate) fn schedule_or_none(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [schedule(generator), { "type": "null" }] })
}

/// How a continuous job goes by the dates of its documents; null as where it is left out.
pub(crate) fn dates(_: &mut SchemaGenerator) -> Schema {
    let minutes = json_schema!({ "type": "integer", "minimum": 1, "maximum": limits::DATE_MINUTES_MAX });
    json_schema!({ "anyOf": [{ "type": "null" }, {
        "type": "object", "additionalProperties": false, "properties": {
            "reseed_minutes": minutes, "recrawl_minutes": minutes, "recrawl_max_minutes": minutes, "expire_minutes": minutes,
        },
    }] })
}

/// When removals are held: never, or above two figures; null as where it is left out.
pub(crate) fn guard_or_none(_: &mut SchemaGenerator) -> Schema {
    let figure = json_schema!({ "type": "integer", "minimum": 0 });
    json_schema!({ "anyOf": [{ "const": "off" }, { "type": "null" }, {
        "type": "object", "required": ["limits"], "additionalProperties": false, "properties": { "limits": {
            "type": "object", "required": ["percent", "documents"], "properties": { "percent": figure, "documents": figure },
        }},
    }] })
}

/// Bounds of hops as a job takes them, or nothing.
pub(crate) fn hops_or_none(_: &mut SchemaGenerator) -> Schema {
    let most = json_schema!({ "type": "integer", "minimum": 0, "maximum": limits::HOPS_MAX });
    json_schema!({ "anyOf": [{ "type": "null" }, {
        "type": "object", "required": ["most"], "additionalProperties": false, "properties": {
            "most": { "type": "object", "additionalProperties": most, "maxProperties": limits::RELATIONS_MAX },
            "too_far": { "enum": ["remove", "keep", "no_delete", "never_delete"] },
        },
    }] })
}

#[cfg(test)]
mod tests {
    use ingather_model::job::schedule::Schedule;
    use serde_json::json;

    /// What the model reads fits the schema, and what it refuses does not.
    #[test]
    fn the_schema_of_schedules_says_what_is_read() {
        let schema = super::schedule(&mut schemars::SchemaGenerator::default());
        let validator = ingather_testkit::suites::schema::of(&schema.to_value());
        for (value, is_read) in [
            (json!("0 2 * * *"), true),
            (
                json!([{"weekdays": ["monday"], "hours": [2, 4], "length_minutes": 180, "time_zone": "Europe/Berlin"}]),
                true,
            ),
            (
                json!([{"minutes": "every", "start": "inside", "kind": "minimal"}, {"years": [2030], "months": [1], "days_of_month": [31]}]),
                true,
            ),
            (json!("continuous"), true),
            (json!({"every_minutes": 15}), true),
            (json!({"every_minutes": 15, "kind": "minimal"}), true),
            (json!(null), false),
            (json!([]), false),
            (json!([{}]), false),
            (json!([{"length_minutes": 5}]), false),
            (json!([{"hours": []}]), false),
            (json!([{"hours": 2}]), false),
            (json!([{"hours": [24]}]), false),
            (json!([{"weekdays": ["mon"]}]), false),
            (json!([{"weekdays": [1]}]), false),
            (json!([{"days_of_month": [0]}]), false),
            (json!([{"months": [13]}]), false),
            (json!([{"years": [1969]}]), false),
            (json!([{"minutes": ["every"]}]), false),
            (json!([{"hours": [2], "length_minutes": 0}]), false),
            (json!([{"hours": [2], "time_zone": "a b"}]), false),
            (json!([{"hours": [2], "start": "now"}]), false),
            (json!([{"hours": [2], "kind": "half"}]), false),
            (json!([{"hours": [2], "hour": [2]}]), false),
            (json!({"hours": [2]}), false),
            (json!({"every_minutes": 0}), false),
            (json!({"every_minutes": 15, "hours": [2]}), false),
        ] {
            assert_eq!(Schedule::read(&value).is_ok(), is_read, "{value}");
            assert_eq!(validator.is_valid(&value), is_read, "{value}");
        }
    }
}
