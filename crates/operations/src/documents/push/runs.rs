//! Delta runs, as they are asked for: a pass of an application over its whole source.

use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PROBLEMS, work};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::Code;

const BY_PUSH: Words = Words::Not("`ingather push --full` does it");
const LOOK: &str = r#"{"source": "tickets", "run": 3, "of": "a.zip", "mode": "full", "client": "key crawler", "state": "open", "opened_at": 1767225600000,
    "seen_at": 1767225600000, "lease_seconds": 300, "ended_at": 1767225700000, "touched": 1, "veto": "its client says that it is not complete",
    "deleted": 0, "drained_at": 1767225600000, "records": 1200, "buffered": 2, "buffered_since": 1767225600000}"#;

pub(super) const ENDED: &[&str] = &[
    r#"{"run": 3, "deleted": 4}"#,
    r#"{"run": 3, "deleted": 0, "veto": "its client says that it is not complete"}"#,
    r#"{"run": 3, "deleted": 0, "held": {"obsolete": 900, "records": 1000}}"#,
];

const fn row(
    name: &'static str,
    summary: &'static str,
    shapes: (Shape, Shape),
    effect: Effect,
    path: &'static str,
) -> Operation {
    super::row(name, summary, shapes, (effect, Verb::Post, path), (BY_PUSH, PROBLEMS))
}

/// Opens a delta run.
pub static BEGIN: Answering<BeginDeltaRun, OpenedDeltaRun> = Answering {
    operation: Operation {
        problems: &[Code::NoSuchJob, Code::Definition, Code::Deleting, Code::ReadOnly, Code::SourceLocked],
        ..row(
            "push.begin",
            "Opens a delta run: a pass over a whole source, which nobody else makes meanwhile. What it has not met can be deleted at its end.",
            (
                Shape::of::<BeginDeltaRun>(
                    "BeginDeltaRun",
                    &[r#"{"source": "tickets", "mode": "full", "client": "crawler", "lease_seconds": 300}"#],
                ),
                Shape::of::<OpenedDeltaRun>(
                    "OpenedDeltaRun",
                    &[r#"{"run": 3, "token": "5f", "lease_seconds": 300}"#],
                ),
            ),
            Effect::Changes,
            "/sources/{source}/runs",
        )
    },
    run: work::begin,
};

/// Asks which records have to be pushed.
pub static CHECK: Answering<CheckRecords, CheckedRecords> = Answering {
    operation: row(
        "push.check",
        "Says of records, by their hashes, whether they have to be pushed; those that have not count as met.",
        (
            Shape::of::<CheckRecords>(
                "CheckRecords",
                &[
                    r#"{"source": "tickets", "run": 3, "token": "5f", "records": [{"key": "17", "hash": "v2"}]}"#,
                ],
            ),
            Shape::of::<CheckedRecords>(
                "CheckedRecords",
                &[r#"{"results": ["unchanged", "changed", "new"]}"#],
            ),
        ),
        Effect::Pushes,
        "/sources/{source}/runs/{run}/check",
    ),
    run: work::check,
};

/// Says that records are there as they are.
pub static VISIT: Answering<VisitRecords, VisitedRecords> = Answering {
    operation: row(
        "push.visit",
        "Says that records are there as they are, with all that is in them; a hash is what they are told by from now on.",
        (
            Shape::of::<VisitRecords>(
                "VisitRecords",
                &[
                    r#"{"source": "tickets", "run": 3, "token": "5f", "records": [{"key": "17", "parents": ["folder"]}]}"#,
                ],
            ),
            Shape::of::<VisitedRecords>("VisitedRecords", &[r#"{"run": 3, "unknown": ["18"]}"#]),
        ),
        Effect::Pushes,
        "/sources/{source}/runs/{run}/visit",
    ),
    run: work::visit,
};

/// Says that records are there.
pub static TOUCH: Answering<TouchRecords, Touched> = Answering {
    operation: row(
        "push.touch",
        "Says that records are there which cannot be read now, so that they stay; without any, that the client lives.",
        (
            Shape::of::<TouchRecords>(
                "TouchRecords",
                &[r#"{"source": "tickets", "run": 3, "token": "5f", "keys": ["17"]}"#],
            ),
            Shape::of::<Touched>("Touched", &[r#"{"run": 3}"#]),
        ),
        Effect::Pushes,
        "/sources/{source}/runs/{run}/touch",
    ),
    run: work::touch,
};

/// Ends a delta run.
pub static FINISH: Answering<FinishDeltaRun, EndedDeltaRun> = Answering {
    operation: row(
        "push.finish",
        "Ends a delta run: what it has not met is deleted, where it was complete and nothing speaks against it.",
        (
            Shape::of::<FinishDeltaRun>(
                "FinishDeltaRun",
                &[r#"{"source": "tickets", "run": 3, "token": "5f", "complete": true, "confirm": false}"#],
            ),
            Shape::of::<EndedDeltaRun>("EndedDeltaRun", ENDED),
        ),
        Effect::Changes,
        "/sources/{source}/runs/{run}/finish",
    ),
    run: work::finish,
};

/// Gives a delta run up.
pub static ROLL_BACK: Answering<RollBackDeltaRun, EndedDeltaRun> = Answering {
    operation: row(
        "push.rollback",
        "Gives a delta run up: nothing is deleted, and what it pushed stays.",
        (
            Shape::of::<RollBackDeltaRun>(
                "RollBackDeltaRun",
                &[r#"{"source": "tickets", "run": 3, "token": "5f"}"#],
            ),
            Shape::of::<EndedDeltaRun>("EndedDeltaRun", ENDED),
        ),
        Effect::Changes,
        "/sources/{source}/runs/{run}/rollback",
    ),
    run: work::roll_back,
};

/// Shows a delta run.
pub static RUN: Answering<ShowDeltaRun, DeltaRunLook> = Answering {
    operation: Operation {
        rest: Rest::At(Verb::Get, "/sources/{source}/run"),
        words: Words::Are("source show"),
        problems: &[Code::NoSuchJob],
        ..row(
            "push.run",
            "How a source stands: its records, and its last delta run.",
            (
                Shape::of::<ShowDeltaRun>("ShowDeltaRun", &[r#"{"source": "tickets"}"#]),
                Shape::of::<DeltaRunLook>("DeltaRunLook", &[LOOK]),
            ),
            Effect::Reads,
            "",
        )
    },
    run: work::look,
};

/// Takes a delta run from its client.
pub static UNLOCK: Answering<UnlockSource, Unlocked> = Answering {
    operation: Operation {
        role: Role::Operator,
        rest: Rest::At(Verb::Delete, "/sources/{source}/lock"),
        words: Words::Are("source unlock"),
        problems: &[Code::NoSuchJob, Code::Definition, Code::ReadOnly],
        ..row(
            "push.unlock",
            "Takes an open delta run from its client, which deletes nothing then, so that another one can be opened.",
            (
                Shape::of::<UnlockSource>("UnlockSource", &[r#"{"source": "tickets"}"#]),
                Shape::of::<Unlocked>("Unlocked", &[r#"{"source": "tickets", "was_open": true}"#]),
            ),
            Effect::Changes,
            "",
        )
    },
    run: work::unlock,
};

/// How a delta run goes over its source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeltaMode {
    /// What it has not met is deleted at its end.
    #[default]
    Full,
    /// Nothing is deleted.
    Additive,
}

/// Asks to open a delta run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BeginDeltaRun {
    /// Name of the job of the source.
    pub source: String,
    /// What becomes of what it has not met.
    #[serde(default)]
    pub mode: DeltaMode,
    /// Key of a compound: the run is over what is in it, at every depth, and deletes nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// What the client calls itself, for those who find the source locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// How long after a sign of life the run is its client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub lease_seconds: Option<u32>,
}

/// A delta run was opened.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OpenedDeltaRun {
    /// Its number.
    pub run: i64,
    /// What proves that a call belongs to it; it is told this once.
    pub token: String,
    /// How long after a sign of life it is its client's.
    pub lease_seconds: u32,
}

/// One record, by what tells its version.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// Its key.
    pub key: String,
    /// Its hash; without one it counts as changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Keys of compounds that it is in, beside those that it was in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::RECORD_PARENTS_MAX))]
    pub parents: Vec<String>,
    /// Of a compound: its hash tells nothing of what is in it, so that this has to be met one by one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shallow: bool,
}

/// Asks which records have to be pushed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckRecords {
    /// Name of the job of the source.
    pub source: String,
    /// The delta run.
    pub run: i64,
    /// What proves that this belongs to it.
    pub token: String,
    /// The records.
    #[schemars(length(max = limits::RECORDS_AT_ONCE_MAX))]
    pub records: Vec<Ledger>,
}

/// Which records have to be pushed, in their order.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckedRecords {
    /// One for each record.
    pub results: Vec<CheckedItem>,
}

/// What a check found of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckedItem {
    /// It is not there: push it.
    New,
    /// It is there with another hash, or could not be delivered: push it.
    Changed,
    /// It is there so.
    Unchanged,
}

/// Says that records are there as they are.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VisitRecords {
    /// Name of the job of the source.
    pub source: String,
    /// The delta run.
    pub run: i64,
    /// What proves that this belongs to it.
    pub token: String,
    /// The records.
    #[schemars(length(max = limits::RECORDS_AT_ONCE_MAX))]
    pub records: Vec<Ledger>,
}

/// They are met.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct VisitedRecords {
    /// The delta run.
    pub run: i64,
    /// Keys of those that are not there.
    pub unknown: Vec<String>,
}

/// Says that records are there.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TouchRecords {
    /// Name of the job of the source.
    pub source: String,
    /// The delta run.
    pub run: i64,
    /// What proves that this belongs to it.
    pub token: String,
    /// Keys of the records.
    #[serde(default)]
    #[schemars(length(max = limits::RECORDS_AT_ONCE_MAX))]
    pub keys: Vec<String>,
}

/// They stay.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Touched {
    /// The delta run.
    pub run: i64,
}

/// Asks to end a delta run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishDeltaRun {
    /// Name of the job of the source.
    pub source: String,
    /// The delta run.
    pub run: i64,
    /// What proves that this belongs to it.
    pub token: String,
    /// It has been over all of its source; where not, nothing is deleted.
    pub complete: bool,
    /// What it has not met is deleted even where that is much of the source.
    #[serde(default)]
    pub confirm: bool,
}

/// Asks to give a delta run up.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollBackDeltaRun {
    /// Name of the job of the source.
    pub source: String,
    /// The delta run.
    pub run: i64,
    /// What proves that this belongs to it.
    pub token: String,
}

/// How a delta run ended.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EndedDeltaRun {
    /// The delta run.
    pub run: i64,
    /// Records that it has not met, and that are deleted.
    pub deleted: u64,
    /// Why nothing was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub veto: Option<String>,
    /// It goes on: so much would be deleted that somebody has to confirm it (`confirm`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldObsolete>,
}

/// Records that a delta run would delete.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HeldObsolete {
    /// So many.
    pub obsolete: u64,
    /// Of so many.
    pub records: u64,
}

impl From<(u64, u64)> for HeldObsolete {
    fn from((obsolete, records): (u64, u64)) -> HeldObsolete {
        HeldObsolete { obsolete, records }
    }
}

/// Asks how a source stands.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowDeltaRun {
    /// Name of the job of the source.
    pub source: String,
}

/// How a source stands.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeltaRunLook {
    /// Name of the job of the source.
    pub source: String,
    /// Its last delta run; none where there was none, and then nothing is said of one.
    pub run: Option<i64>,
    /// `full` or `additive`.
    pub mode: String,
    /// Who opened it.
    pub client: String,
    /// `open`, `finished`, `rolled_back`, `expired` or `unlocked`.
    pub state: String,
    /// When it was opened, milliseconds since 1970 UTC.
    pub opened_at: i64,
    /// The last sign of life of its client.
    pub seen_at: i64,
    /// How long after that it is its client's.
    pub lease_seconds: i64,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// Records that its client could not read.
    pub touched: i64,
    /// Why it deleted nothing.
    pub veto: Option<String>,
    /// Records that it deleted.
    pub deleted: i64,
    /// When nothing of what was pushed until its end was open any more, and outputs had committed it.
    pub drained_at: Option<i64>,
    /// Key of the compound that it goes over; none: over the whole source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Records of the source.
    pub records: u64,
    /// Records of which something is buffered.
    pub buffered: u64,
    /// Since when the first of these is, milliseconds since 1970 UTC.
    pub buffered_since: Option<i64>,
}

/// Asks to take a delta run from its client.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnlockSource {
    /// Name of the job of the source.
    pub source: String,
}

/// None is open any more.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Unlocked {
    /// Name of the job of the source.
    pub source: String,
    /// One was.
    pub was_open: bool,
}
