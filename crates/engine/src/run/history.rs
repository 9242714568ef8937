//! What a run notes of single documents in the history of its job (decision 0030). A job that does
//! not ask for it pays for the documents that failed or were left out, and for no others.

use std::sync::atomic::Ordering;

use ingather_model::fault::Fault;
use ingather_model::job::history::{HistoryOf, HistoryOutcome};
use ingather_model::lifecycle::outcome::FailureCode;
use ingather_model::limits;
use ingather_store::runs::history::{self, Noted};
use ingather_store::{Sql, StoreError, queue};

use super::state::RunState;
use crate::visit::outcome::Outcome;

/// Documents that a run notes before it makes room for them itself.
const MUCH: usize = limits::HISTORY_FAILURES_MAX;

/// Whether a run notes what became so of a document. What vanished the sweep decides about; and nothing has become yet of what changed just
/// now and is looked at again soon, as each new file is: only the last of these looks counts.
pub(crate) fn wants(run: &RunState, outcome: &Outcome, again_at: Option<i64>) -> bool {
    let changes = |fault: &Fault| fault.reason().code == FailureCode::Unsteady.as_str();
    let is_over = match outcome {
        Outcome::Again(fault) => again_at == Some(queue::DUE_NEXT_RUN) || !changes(fault),
        outcome => *outcome != Outcome::Vanished,
    };
    match run.definition.history.of {
        HistoryOf::Documents => is_over,
        HistoryOf::Failures => matches!(outcome, Outcome::Failed(_) | Outcome::Skipped(_)),
    }
}

/// The word for what became of a document: that by which it is counted.
pub(crate) fn word(run: &RunState, document: i64, outcome: &Outcome) -> HistoryOutcome {
    match outcome {
        Outcome::Updated | Outcome::Access if run.is_fresh(document, false) => HistoryOutcome::Added,
        Outcome::Unchanged => HistoryOutcome::Unchanged,
        Outcome::Access => HistoryOutcome::Access,
        Outcome::Updated => HistoryOutcome::Updated,
        Outcome::Added => HistoryOutcome::Added,
        Outcome::Skipped(_) => HistoryOutcome::Skipped,
        Outcome::Failed(_) => HistoryOutcome::Failed,
        Outcome::Again(_) | Outcome::Vanished => HistoryOutcome::Waiting,
    }
}

/// How many documents a run notes at most.
fn most(run: &RunState) -> usize {
    match run.definition.history.of {
        HistoryOf::Documents => limits::HISTORY_ROWS_MAX as usize,
        HistoryOf::Failures => limits::HISTORY_FAILURES_MAX,
    }
}

/// Notes what became of documents, as far as there is room.
pub(crate) fn note(
    sql: &mut Sql<'_>,
    run: &RunState,
    at: i64,
    mut rows: Vec<Noted<'_>>,
) -> std::result::Result<(), StoreError> {
    rows.truncate(most(run).saturating_sub(run.noted.load(Ordering::Relaxed)));
    match rows.is_empty() {
        true => Ok(()),
        false => history::note(sql, run.job.id, run.number, at, &rows),
    }
}

/// So many more were to be noted; they are on disk.
pub(crate) fn noted(run: &RunState, rows: usize) {
    run.noted.fetch_add(rows, Ordering::Relaxed);
}

/// Whether a run had more to note than it may.
pub(crate) fn is_cut(run: &RunState) -> bool {
    run.noted.load(Ordering::Relaxed) > most(run)
}

/// Whether a run has noted so much that room is to be made.
pub(crate) fn is_much(run: &RunState) -> bool {
    run.noted.load(Ordering::Relaxed) >= MUCH
}

/// A sentence, as long as a history takes it.
pub(crate) fn beginning(message: &str) -> &str {
    match message.char_indices().nth(limits::HISTORY_MESSAGE_MAX) {
        Some((end, _)) => &message[..end],
        None => message,
    }
}
