//! How many documents of a job are in which state, and how far its run has come.

use ingather_engine::progress::Snapshot;
use ingather_model::job::estimate::Pace;
use ingather_store::states::States;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::jobs::Run;

/// How many documents of the inventory of a job are in which state; together they are all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentStates {
    /// Wait for a visit.
    pub waiting: u64,
    /// Up to date, or nothing to deliver.
    pub settled: u64,
    /// Could not be read, understood or delivered.
    pub failed: u64,
    /// Left out by a stage or for what they are; what a rule of the source leaves out is in no inventory.
    pub skipped: u64,
}

impl From<States> for DocumentStates {
    fn from(states: States) -> DocumentStates {
        let States { documents: _, waiting, settled, failed, skipped } = states;
        DocumentStates { waiting, settled, failed, skipped }
    }
}

/// How far a run has come that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunProgress {
    /// What it does, for a person.
    pub doing: String,
    /// Documents that its listing named so far.
    pub seen: u64,
    /// Documents that the inventory had when it began.
    pub known: u64,
    /// Those that had to be visited.
    pub changed: u64,
    /// Changes that outputs confirmed.
    pub delivered: u64,
    /// Documents that were removed.
    pub removed: u64,
    /// Bytes of content that were read.
    pub bytes: u64,
    /// How much of it is done, in parts of a hundred, guessed; none: nobody can tell yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<u8>,
    /// How much longer it will take at this speed, milliseconds; none: nobody can tell yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_ms: Option<i64>,
}

impl RunProgress {
    /// By what the run says of itself, and by what waits. `waits`: it does nothing just now, so that nobody can tell when it ends.
    pub(super) fn of(
        now: Snapshot,
        lists: bool,
        run: &Run,
        waiting: u64,
        at: i64,
        waits: bool,
    ) -> RunProgress {
        let Snapshot { seen, known, changed, delivered, removed, bytes, waits_for } = now;
        let elapsed = at.saturating_sub(run.started_at);
        let pace = Some(Pace { elapsed, known, lists, seen, changed, waiting }).filter(|_| !waits);
        RunProgress {
            doing: waits_for.to_owned(),
            seen,
            known,
            changed,
            delivered,
            removed,
            bytes,
            percent: pace.and_then(Pace::percent),
            left_ms: pace.and_then(Pace::left),
        }
    }
}
