//! A visit from its claim to the transaction that completes it: one outcome per document and run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ingather_connector::model::balance::Balance;
use ingather_connector::model::fault::{Fault, Reason};
use ingather_connector::model::job::Keep;
use ingather_connector::model::limits;
use ingather_connector::model::retry::{self, Attempts, Next};
use ingather_store::deliveries;
use ingather_store::documents::{self, DocumentUpdate};
use ingather_store::extracts::{self, Extract};
use ingather_store::queue::{self, Failure, VisitReason, VisitRequest};
use ingather_store::{Sql, StoreError};

use crate::dispatcher::WorkItem;
use crate::run::Run;

/// What became of a document, the worse the later: several outputs give the worst, or the most that was done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Unchanged,
    Access,
    Updated,
    Added,
    Skipped(Reason),
    Failed(Reason),
    /// Try again; the fault says when.
    Again(Fault),
    /// The source does not have it any more: the sweep decides.
    Vanished,
}

impl Outcome {
    fn rank(&self) -> u8 {
        match self {
            Outcome::Unchanged => 0,
            Outcome::Access => 1,
            Outcome::Updated => 2,
            Outcome::Added => 3,
            Outcome::Skipped(_) => 4,
            Outcome::Failed(_) => 5,
            Outcome::Again(_) => 6,
            Outcome::Vanished => 7,
        }
    }

    /// The more telling one of two.
    pub(crate) fn or(self, other: Outcome) -> Outcome {
        if other.rank() > self.rank() { other } else { self }
    }
}

/// What is written beside the document itself when a visit that read it is complete.
#[derive(Debug, Default)]
pub(crate) struct VisitArtifacts {
    /// Components that stay as they were; none when the document was not read, or had none.
    pub(crate) kept: Option<Vec<i64>>,
    /// What the pipeline made, when the job keeps that.
    pub(crate) extract: Option<Box<Extract>>,
    /// Not all that is in the document could be read.
    pub(crate) partial: bool,
}

/// A visit whose changes wait for the answers of outputs. It is complete once the last of them is on disk.
pub(crate) struct PendingVisit {
    pub(crate) item: WorkItem,
    /// What the inventory will hold of it; none when the visit found nothing to write.
    pub(crate) update: Option<DocumentUpdate>,
    outcome: Mutex<Outcome>,
    artifacts: VisitArtifacts,
    /// Changes that outputs have not answered yet.
    open: AtomicUsize,
}

impl PendingVisit {
    pub(crate) fn new(
        item: WorkItem,
        update: Option<DocumentUpdate>,
        outcome: Outcome,
        outputs: usize,
    ) -> PendingVisit {
        PendingVisit {
            item,
            update,
            outcome: Mutex::new(outcome),
            artifacts: VisitArtifacts::default(),
            open: AtomicUsize::new(outputs),
        }
    }

    /// Adds what is written beside the document when the visit is complete.
    pub(crate) fn with(self, artifacts: VisitArtifacts) -> PendingVisit {
        PendingVisit { artifacts, ..self }
    }

    /// Whether its content was read, and not only looked at or taken from what is kept.
    pub(crate) fn was_read(&self) -> bool {
        self.update.is_some_and(|update| update.raw.is_some())
    }

    /// Takes note of what one output says; the more telling outcome stays.
    pub(crate) fn note(&self, outcome: Outcome) {
        let mut kept = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = kept.clone().or(outcome);
    }

    /// Whether it waits for these answers only, which the one who asks has: all others are on disk.
    pub(crate) fn waits_for(&self, answers: usize) -> bool {
        self.open.load(Ordering::Acquire) == answers
    }

    /// So many answers are on disk; true when they were the last ones.
    pub(crate) fn close(&self, answers: usize) -> bool {
        self.open.fetch_sub(answers, Ordering::AcqRel) == answers
    }

    fn outcome(&self) -> Outcome {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A visit that is complete, with the rows that follow from its outcome; worked out before the transaction.
struct CompletedVisit<'v> {
    visit: &'v PendingVisit,
    outcome: Outcome,
    failure: Option<Failure>,
    again_at: Option<i64>,
}

/// Rows of visits that are over, for the transaction that ends them; [`Completion::counted`] after its commit.
pub(crate) struct Completion<'v> {
    completed: Vec<CompletedVisit<'v>>,
}

impl<'v> Completion<'v> {
    /// Works out what follows. `attempts` are those made before, by document.
    pub(crate) fn new(run: &Run, visits: impl IntoIterator<Item = &'v PendingVisit>) -> Completion<'v> {
        let now = run.call.now();
        let completed = visits.into_iter().map(|visit| follow(run, visit, now)).collect();
        Completion { completed }
    }

    /// Writes them.
    pub(crate) fn write(&self, run: &Run, sql: &mut Sql<'_>) -> Result<(), StoreError> {
        let mut done = Vec::new();
        let mut updates = Vec::new();
        let mut again = Vec::new();
        let mut first = Vec::new();
        let mut failures = Vec::new();
        let mut over = Vec::new();
        let mut unkept = Vec::new();
        for completed in &self.completed {
            let item = &completed.visit.item;
            let vanished = completed.outcome == Outcome::Vanished;
            // A first visit that is not over gets its row now.
            let waits = |due| VisitRequest { document: item.id, due, reason: VisitReason::Retry };
            match completed.again_at {
                Some(at) if item.request_count == 0 => first.push(waits(at)),
                Some(at) => again.push((item.id, at)),
                None if vanished && item.request_count == 0 => first.push(waits(run.call.now())),
                // What vanished keeps its work row until the sweep has decided.
                None if vanished => {}
                None => {
                    if item.request_count > 0 {
                        done.push((item.id, item.request_count));
                    }
                    updates.extend(completed.visit.update);
                    if let Some(kept) = &completed.visit.artifacts.kept {
                        deliveries::keep_components(sql, item.id, kept)?;
                    }
                    match &completed.visit.artifacts.extract {
                        Some(extract) => extracts::put(sql, item.id, extract)?,
                        None if completed.visit.was_read() => unkept.push(item.id),
                        None => {}
                    }
                }
            }
            if matches!(completed.outcome, Outcome::Skipped(_)) {
                unkept.push(item.id);
            }
            match &completed.failure {
                Some(failure) => failures.push(failure.clone()),
                None if run.had_failure(item.id) => over.push(item.id),
                None => {}
            }
        }
        // Nothing is kept of what nobody wants, and nothing of before where something else was read and is not kept.
        if !unkept.is_empty() && run.definition.keep == Keep::Extracted {
            extracts::forget(sql, &unkept)?;
        }
        queue::complete(sql, &done)?;
        queue::reschedule(sql, &again)?;
        queue::enqueue(sql, run.job.id, run.number, &first)?;
        documents::complete(sql, run.number, &updates)?;
        queue::record_failures(sql, run.job.id, run.call.now(), &failures)?;
        if !over.is_empty() {
            queue::clear_failures(sql, &over)?;
        }
        Ok(())
    }

    /// Counts them, once they are on disk, and lets the run go on.
    pub(crate) fn counted(self, run: &Run) {
        let documents = self.completed.len();
        run.tally(|balance| {
            for completed in &self.completed {
                count(run, balance, completed);
            }
        });
        for completed in self.completed {
            if let Some(failure) = completed.failure {
                let name = &completed.visit.item.name;
                tracing::debug!(
                    document = name,
                    code = failure.code,
                    reason = failure.message,
                    "not indexed"
                );
            }
        }
        run.dispatcher.complete(documents);
    }
}

fn follow<'v>(run: &Run, visit: &'v PendingVisit, now: i64) -> CompletedVisit<'v> {
    let outcome = visit.outcome();
    let id = visit.item.id;
    let most = match &outcome {
        Outcome::Again(fault) => fault.attempts_max(limits::ATTEMPTS_MAX),
        _ => limits::ATTEMPTS_MAX,
    };
    let failure = |kind: &'static str, attempts: i64, reason: Reason| Failure {
        document: id,
        kind,
        attempts,
        attempts_max: i64::from(most),
        code: reason.code,
        message: reason.message,
    };
    let (outcome, failure, again_at) = match outcome {
        Outcome::Skipped(reason) => {
            (Outcome::Skipped(reason.clone()), Some(failure("skipped", 0, reason)), None)
        }
        Outcome::Failed(reason) => {
            (Outcome::Failed(reason.clone()), Some(failure("failed", 1, reason)), None)
        }
        Outcome::Again(fault) => {
            let made = run.attempt(id);
            let reason = fault.reason();
            match retry::after(&fault, Attempts { made, most: limits::ATTEMPTS_MAX }, now) {
                Next::Again { at } => {
                    (Outcome::Again(fault), Some(failure("retrying", i64::from(made), reason)), Some(at))
                }
                Next::Vanish => (Outcome::Vanished, None, None),
                Next::Keep => {
                    // Looked at again in the next run, whenever that is: its version stays as it was.
                    (
                        Outcome::Again(fault),
                        Some(failure("retrying", i64::from(made), reason)),
                        Some(i64::MAX),
                    )
                }
                next => {
                    if next == Next::AbortJob {
                        run.abort(&reason.message);
                    }
                    (Outcome::Failed(reason.clone()), Some(failure("failed", i64::from(made), reason)), None)
                }
            }
        }
        other => (other, None, None),
    };
    CompletedVisit { visit, outcome, failure, again_at }
}

fn count(run: &Run, balance: &mut Balance, completed: &CompletedVisit<'_>) {
    let id = completed.visit.item.id;
    let waited = run.was_waiting(id, completed.again_at, completed.visit.item.container);
    if waited {
        balance.waiting -= 1;
    }
    // Some outputs may have taken a new document before another one made it wait.
    let first = run.is_fresh(id, completed.again_at.is_some() && completed.visit.item.known.is_none());
    let is_over = !matches!(completed.outcome, Outcome::Failed(_) | Outcome::Again(_) | Outcome::Vanished);
    balance.partial += u64::from(completed.visit.artifacts.partial && is_over);
    match &completed.outcome {
        Outcome::Updated | Outcome::Access if first => balance.added += 1,
        Outcome::Unchanged => balance.unchanged += 1,
        Outcome::Access => balance.access += 1,
        Outcome::Updated => balance.updated += 1,
        Outcome::Added => balance.added += 1,
        Outcome::Skipped(_) => balance.skipped += 1,
        Outcome::Failed(_) => {
            balance.failed += 1;
            run.note_failed(id);
        }
        Outcome::Again(_) => balance.waiting += 1,
        Outcome::Vanished => run.note_vanished(id),
    }
}
