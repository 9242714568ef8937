//! A visit whose changes are on their way to outputs, and what becomes of its document.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ingather_model::fault::{Fault, Reason};
use ingather_store::documents::DocumentUpdate;
use ingather_store::documents::links::Memo;
use ingather_store::extracts::Extract;
use ingather_store::turns::lock;

use crate::dispatcher::WorkItem;
use crate::run::dating::Sighting;
use crate::run::state::RunState;

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
    /// Why not all that is in the document could be read; none where it was.
    pub(crate) partial: Option<Reason>,
    /// What is kept with it for its next visit.
    pub(crate) memo: Memo,
    /// What was learned of its dates.
    pub(crate) sighting: Option<Sighting>,
    /// Bytes that were read of it; 0 where what is kept was sent.
    pub(crate) bytes: u64,
}

/// A visit whose changes wait for the answers of outputs. It is complete once the last of them is on disk.
pub(crate) struct PendingVisit {
    pub(crate) run: Arc<RunState>,
    pub(crate) item: WorkItem,
    /// What the inventory will hold of it; none when the visit found nothing to write.
    pub(crate) update: Option<DocumentUpdate>,
    outcome: Mutex<Outcome>,
    pub(super) artifacts: VisitArtifacts,
    pub(crate) answers: Answers,
}

/// How many changes outputs have not answered yet.
pub(crate) struct Answers {
    /// None when answers complete nothing.
    open: Option<AtomicUsize>,
}

impl Answers {
    /// So many changes wait for an answer.
    pub(crate) fn of(changes: usize) -> Answers {
        Answers { open: Some(AtomicUsize::new(changes)) }
    }

    /// Whether these answers, which the one who asks has, are the last ones: all others are on disk.
    pub(crate) fn waits_for(&self, answers: usize) -> bool {
        self.open.as_ref().is_some_and(|open| open.load(Ordering::Acquire) == answers)
    }

    /// So many answers are on disk; true when they were the last ones.
    pub(crate) fn close(&self, answers: usize) -> bool {
        self.open.as_ref().is_some_and(|open| open.fetch_sub(answers, Ordering::AcqRel) == answers)
    }
}

impl PendingVisit {
    pub(crate) fn new(
        run: &Arc<RunState>,
        item: WorkItem,
        update: Option<DocumentUpdate>,
        outcome: Outcome,
        changes: usize,
    ) -> PendingVisit {
        PendingVisit {
            run: run.clone(),
            item,
            update,
            outcome: Mutex::new(outcome),
            artifacts: VisitArtifacts::default(),
            answers: Answers::of(changes),
        }
    }

    /// A visit that is not complete by the answers to its changes: another visit of the document follows, or the run judges it.
    pub(crate) fn ahead(run: &Arc<RunState>, item: WorkItem) -> PendingVisit {
        let answers = Answers { open: None };
        PendingVisit { answers, ..PendingVisit::new(run, item, None, Outcome::Unchanged, 0) }
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
        let mut kept = lock(&self.outcome);
        *kept = kept.clone().or(outcome);
    }

    pub(super) fn outcome(&self) -> Outcome {
        lock(&self.outcome).clone()
    }
}
