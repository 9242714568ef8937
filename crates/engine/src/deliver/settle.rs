//! A visit from its start to the transaction that settles it: one outcome per document and run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ingather_connector::model::balance::Balance;
use ingather_connector::model::fault::{Fault, Reason};
use ingather_connector::model::job::Keep;
use ingather_connector::model::limits;
use ingather_connector::model::retry::{self, Attempts, Next};
use ingather_store::deliveries;
use ingather_store::documents::{self, Visited};
use ingather_store::extracts::{self, Extract};
use ingather_store::work::{self, Cause, Trouble, Wanted};
use ingather_store::{Sql, StoreError};

use crate::board::Task;
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

/// What is written beside when a visit that read its document is settled.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// Components that stay as they were; none when the document was not read, or had none.
    pub(crate) kept: Option<Vec<i64>>,
    /// What the pipeline made, when the job keeps that.
    pub(crate) extract: Option<Box<Extract>>,
    /// Not all that is in the document could be read.
    pub(crate) partial: bool,
}

/// One document that is being visited.
pub(crate) struct Visit {
    pub(crate) task: Task,
    /// What the inventory will hold of it; none when the visit found nothing to write.
    pub(crate) visited: Option<Visited>,
    outcome: Mutex<Outcome>,
    made: Made,
    /// Changes that outputs have not answered yet.
    open: AtomicUsize,
}

impl Visit {
    pub(crate) fn new(task: Task, visited: Option<Visited>, outcome: Outcome, outputs: usize) -> Visit {
        Visit {
            task,
            visited,
            outcome: Mutex::new(outcome),
            made: Made::default(),
            open: AtomicUsize::new(outputs),
        }
    }

    /// With what is written beside when it is settled.
    pub(crate) fn with(self, made: Made) -> Visit {
        Visit { made, ..self }
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

/// What follows for one visit, worked out before the transaction.
struct Settled<'v> {
    visit: &'v Visit,
    outcome: Outcome,
    trouble: Option<Trouble>,
    again_at: Option<i64>,
}

/// Rows of visits that are over, for the transaction that ends them; [`Settling::counted`] after its commit.
pub(crate) struct Settling<'v> {
    settled: Vec<Settled<'v>>,
}

impl<'v> Settling<'v> {
    /// Works out what follows. `attempts` are those made before, by document.
    pub(crate) fn new(run: &Run, visits: impl IntoIterator<Item = &'v Visit>) -> Settling<'v> {
        let now = run.call.now();
        let settled = visits.into_iter().map(|visit| follow(run, visit, now)).collect();
        Settling { settled }
    }

    /// Writes them.
    pub(crate) fn write(&self, run: &Run, sql: &mut Sql<'_>) -> Result<(), StoreError> {
        let mut done = Vec::new();
        let mut visited = Vec::new();
        let mut again = Vec::new();
        let mut first = Vec::new();
        let mut troubles = Vec::new();
        let mut over = Vec::new();
        let mut declined = Vec::new();
        for settled in &self.settled {
            let task = &settled.visit.task;
            let vanished = settled.outcome == Outcome::Vanished;
            // A first visit that is not over gets its row now.
            let waits = |due| Wanted { document: task.id, due, cause: Cause::Retry };
            match settled.again_at {
                Some(at) if task.wanted == 0 => first.push(waits(at)),
                Some(at) => again.push((task.id, at)),
                None if vanished && task.wanted == 0 => first.push(waits(run.call.now())),
                // What vanished keeps its work row until the sweep has decided.
                None if vanished => {}
                None => {
                    if task.wanted > 0 {
                        done.push((task.id, task.wanted));
                    }
                    visited.extend(settled.visit.visited);
                    if let Some(kept) = &settled.visit.made.kept {
                        deliveries::keep_components(sql, task.id, kept)?;
                    }
                    if let Some(extract) = &settled.visit.made.extract {
                        extracts::put(sql, task.id, extract)?;
                    }
                }
            }
            if matches!(settled.outcome, Outcome::Skipped(_)) && run.definition.keep == Keep::Extracted {
                declined.push(task.id);
            }
            match &settled.trouble {
                Some(trouble) => troubles.push(trouble.clone()),
                None if run.had_trouble(task.id) => over.push(task.id),
                None => {}
            }
        }
        // Nothing is kept of what nobody wants.
        if !declined.is_empty() {
            extracts::forget(sql, &declined)?;
        }
        work::done(sql, &done)?;
        work::again(sql, &again)?;
        work::want(sql, run.job.id, run.number, &first)?;
        documents::settle(sql, run.number, &visited)?;
        work::trouble(sql, run.job.id, run.call.now(), &troubles)?;
        if !over.is_empty() {
            work::trouble_over(sql, &over)?;
        }
        Ok(())
    }

    /// Counts them, once they are on disk, and lets the run go on.
    pub(crate) fn counted(self, run: &Run) {
        let documents = self.settled.len();
        run.tally(|balance| {
            for settled in &self.settled {
                count(run, balance, settled);
            }
        });
        for settled in self.settled {
            if let Some(trouble) = settled.trouble {
                let name = &settled.visit.task.name;
                tracing::debug!(
                    document = name,
                    code = trouble.code,
                    reason = trouble.message,
                    "not indexed"
                );
            }
        }
        run.board.release(documents);
    }
}

fn follow<'v>(run: &Run, visit: &'v Visit, now: i64) -> Settled<'v> {
    let outcome = visit.outcome();
    let id = visit.task.id;
    let most = match &outcome {
        Outcome::Again(fault) => fault.attempts_max(limits::ATTEMPTS_MAX),
        _ => limits::ATTEMPTS_MAX,
    };
    let trouble = |kind: &'static str, attempts: i64, reason: Reason| Trouble {
        document: id,
        kind,
        attempts,
        attempts_max: i64::from(most),
        code: reason.code,
        message: reason.message,
    };
    let (outcome, trouble, again_at) = match outcome {
        Outcome::Skipped(reason) => {
            (Outcome::Skipped(reason.clone()), Some(trouble("skipped", 0, reason)), None)
        }
        Outcome::Failed(reason) => {
            (Outcome::Failed(reason.clone()), Some(trouble("failed", 1, reason)), None)
        }
        Outcome::Again(fault) => {
            let made = run.attempt(id);
            let reason = fault.reason();
            match retry::after(&fault, Attempts { made, most: limits::ATTEMPTS_MAX }, now) {
                Next::Again { at } => {
                    (Outcome::Again(fault), Some(trouble("retrying", i64::from(made), reason)), Some(at))
                }
                Next::Vanish => (Outcome::Vanished, None, None),
                Next::Keep => {
                    // Looked at again in the next run, whenever that is: its version stays as it was.
                    (
                        Outcome::Again(fault),
                        Some(trouble("retrying", i64::from(made), reason)),
                        Some(i64::MAX),
                    )
                }
                next => {
                    if next == Next::AbortJob {
                        run.abort(&reason.message);
                    }
                    (Outcome::Failed(reason.clone()), Some(trouble("failed", i64::from(made), reason)), None)
                }
            }
        }
        other => (other, None, None),
    };
    Settled { visit, outcome, trouble, again_at }
}

fn count(run: &Run, balance: &mut Balance, settled: &Settled<'_>) {
    let id = settled.visit.task.id;
    let waited = run.was_waiting(id, settled.again_at, settled.visit.task.container);
    if waited {
        balance.waiting -= 1;
    }
    // Some outputs may have taken a new document before another one made it wait.
    let first = run.is_fresh(id, settled.again_at.is_some() && settled.visit.task.known.is_none());
    let is_over = !matches!(settled.outcome, Outcome::Failed(_) | Outcome::Again(_) | Outcome::Vanished);
    balance.partial += u64::from(settled.visit.made.partial && is_over);
    match &settled.outcome {
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
        Outcome::Vanished => run.unsee(id),
    }
}
