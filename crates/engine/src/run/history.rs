//! What a run notes of single documents in the history of its job, and how what is too old is forgotten (decision 0030). A job that does
//! not ask for it pays for the documents that failed or were left out, and for no others.

use std::sync::atomic::Ordering;

use ingather_model::job::history::{HistoryKind, HistoryOf, HistoryOutcome};
use ingather_model::limits;
use ingather_store::jobs::Job;
use ingather_store::runs::history::{self, Noted};
use ingather_store::{Durability, Sql, StoreError};

use super::state::RunState;
use crate::engine::Engine;
use crate::error::Result;
use crate::visit::outcome::Outcome;

/// Documents that a run notes before it makes room for them itself.
const MUCH: usize = limits::HISTORY_FAILURES_MAX;

/// Whether a run notes what became so of a document. What vanished the sweep decides about.
pub(crate) fn wants(run: &RunState, outcome: &Outcome) -> bool {
    match run.definition.history.of {
        HistoryOf::Documents => *outcome != Outcome::Vanished,
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

impl Engine {
    /// Forgets what is too old in the history of a job, or too much, a little in each transaction; how many documents and runs.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn forget_history(&self, job: &Job) -> Result<u64> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let old = job.definition.history.kept_from(self.process.history_days(), self.clock.now());
        let nth = self.reader.read(|sql| history::nth(sql, job.id, limits::HISTORY_ROWS_MAX))?;
        let before = nth.map_or(old, |at| old.max(at + 1));
        let mut forgotten = self.forget_in_steps(job, before)?;
        forgotten += writer.store.write(Durability::Relaxed, |sql| {
            writer.lease.fence(sql)?;
            history::forget_runs(sql, job.id, old)
        })?;
        Ok(forgotten)
    }

    /// Forgets what was noted of documents of a job before a time.
    pub(crate) fn forget_in_steps(&self, job: &Job, before: i64) -> Result<u64> {
        let writer = self.writing()?;
        let mut all = 0;
        while !self.cancel.cancelled() {
            let most = limits::HISTORY_FORGOTTEN_AT_ONCE;
            let forgotten = writer.store.write(Durability::Relaxed, |sql| {
                writer.lease.fence(sql)?;
                let forgotten = history::forget(sql, job.id, before, most)?;
                if forgotten > 0 {
                    history::raise(sql, job.id, HistoryKind::Failures, before)?;
                    history::raise(sql, job.id, HistoryKind::Documents, before)?;
                }
                Ok(forgotten)
            })?;
            all += forgotten;
            if forgotten < most as u64 {
                break;
            }
        }
        Ok(all)
    }
}

/// What a completed visit or removal is called in a history.
pub(crate) fn row<'r>(document: i64, name: &'r str, outcome: HistoryOutcome) -> Noted<'r> {
    Noted { document, outcome, code: "", name, message: "", bytes: 0 }
}
