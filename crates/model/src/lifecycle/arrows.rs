//! The arrows between ManifoldCF's states that its book draws, with the coverage line of each, and the few that only its
//! program has. Two tests: no move of ours leaves them, and none of theirs is out of our reach (design 4.2).

use super::projection::{ManifoldDocumentState, ManifoldJobState};
use super::steps::{DocumentStep, JobStep};

pub use documents::{BOOK as DOCUMENT_BOOK, PROGRAM as DOCUMENT_PROGRAM, WAYS as DOCUMENT_WAYS};
pub use jobs::{BOOK as JOB_BOOK, PROGRAM as JOB_PROGRAM, WAYS as JOB_WAYS};

mod documents;
mod jobs;
#[cfg(test)]
mod proof;

/// Arrows of one line of the coverage.
#[derive(Clone, Copy, Debug)]
pub struct Arrows<S: 'static> {
    /// Coverage line, or a section of the design.
    pub id: &'static str,
    /// When it is taken.
    pub what: &'static str,
    /// From and to, one by one.
    pub pairs: &'static [(S, S)],
    /// States that are entered from nothing.
    pub enter: &'static [S],
    /// States that are left to nothing.
    pub leave: &'static [S],
}

impl<S: Copy> Arrows<S> {
    const fn between(id: &'static str, what: &'static str, pairs: &'static [(S, S)]) -> Arrows<S> {
        Arrows { id, what, pairs, enter: &[], leave: &[] }
    }

    /// Each arrow; none stands for "has no state".
    pub fn each(&self) -> impl Iterator<Item = (Option<S>, Option<S>)> {
        let pairs = self.pairs.iter().map(|(from, to)| (Some(*from), Some(*to)));
        let enter = self.enter.iter().map(|to| (None, Some(*to)));
        pairs.chain(enter).chain(self.leave.iter().map(|from| (Some(*from), None)))
    }
}

/// A step of ours that takes several arrows of theirs in one transaction.
#[derive(Clone, Copy, Debug)]
pub struct Way<S: 'static, T> {
    /// The step.
    pub on: T,
    /// States that may be passed in between, each by an allowed arrow.
    pub through: &'static [S],
    /// Why it is one transaction.
    pub why: &'static str,
}

/// A way of a job.
pub type JobWay = Way<ManifoldJobState, JobStep>;
/// A way of a document.
pub type DocumentWay = Way<ManifoldDocumentState, DocumentStep>;
