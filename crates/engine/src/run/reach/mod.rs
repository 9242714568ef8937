//! Runs that follow links (`docs/decisions/0037-reach.md`): which documents have been reached, which of them are still to be visited, and
//! what the documents lead to.
//!
//! A document is *reached* when a seed or a link of a document that was visited in this run names it. Reaching one writes its row, its
//! request for a visit and its mark in one transaction, ahead of whatever is delivered of the document that led to it: a run that goes on after a crash
//! knows all that was reached, and what is still queued of it is what is still to be visited.

mod feed;
mod found;
mod passing;
mod resume;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use ingather_model::ids::Digest;
use ingather_model::job::RunKind;
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::turns::lock;
use ingather_store::{Sql, StoreError, runs};
use roaring::RoaringTreemap;

use self::feed::Frontier;
pub(crate) use self::feed::feed;
pub(crate) use self::found::{Found, find, seed};
pub(crate) use self::passing::take_due;

use crate::dispatcher::WorkItem;
use crate::run::dating::Walk;

/// What a run that follows links has come to.
pub(crate) struct Reach {
    state: Mutex<Reached>,
    /// Something could be handed to the dispatcher; read under its lock, where this one must not be taken.
    stirs: AtomicBool,
    /// Digest of all that the run goes by.
    pub(crate) basis: Digest,
    /// Which of the documents that it reaches it visits.
    pub(crate) walk: Walk,
    /// What the run before it holds, where it proves nothing itself of what goes.
    pub(crate) held_before: Option<Vec<u8>>,
}

#[derive(Default)]
struct Reached {
    /// Documents that were reached.
    ids: RoaringTreemap,
    /// Those of them that were queued when the process began: nobody knows whether a visit of them had begun before.
    adopted: RoaringTreemap,
    /// Those that are read even if they are as before: something that they led to is not known any more, and only they have its name; or an
    /// output needs the record.
    must_read: RoaringTreemap,
    /// Those that are not visited: their dates have not come.
    rested: RoaringTreemap,
    /// Those of them whose links are still to be followed as they were kept.
    passing: RoaringTreemap,
    /// Those that were put off for what had to be fetched in their place.
    delayed: RoaringTreemap,
    frontier: Frontier,
    /// Ids of documents that were reached, by key: most links lead to what was reached before. Bounded; what is not here is looked up.
    keys: HashMap<DocumentKey, i64>,
    /// Ids for new documents.
    fresh: Range<i64>,
    /// Pieces in which the marks were written.
    pieces: i64,
    /// All seeds have been named.
    seeded: bool,
}

impl Reach {
    pub(crate) fn new(basis: Digest, walk: Walk, held_before: Option<Vec<u8>>) -> Reach {
        let (state, stirs) = (Mutex::default(), AtomicBool::new(false));
        Reach { state, stirs, basis, walk, held_before }
    }

    /// Taken before the store, never inside a transaction.
    fn lock(&self) -> MutexGuard<'_, Reached> {
        lock(&self.state)
    }

    /// What was reached.
    pub(crate) fn ids(&self) -> RoaringTreemap {
        self.lock().ids.clone()
    }

    /// What was reached and not visited, for its date has not come.
    pub(crate) fn rested(&self) -> RoaringTreemap {
        self.lock().rested.clone()
    }

    /// Whether all seeds have been named.
    pub(crate) fn is_seeded(&self) -> bool {
        self.lock().seeded
    }

    /// Whether a visit of a document may have begun before this process did.
    pub(crate) fn may_have_begun(&self, id: i64) -> bool {
        self.lock().adopted.contains(id as u64)
    }

    /// Whether a document is put off for the first time in this run.
    pub(crate) fn is_first_delay(&self, id: i64) -> bool {
        self.lock().delayed.insert(id as u64)
    }

    /// Whether a document is to be read also where it is as before.
    pub(crate) fn must_read(&self, id: i64) -> bool {
        self.lock().must_read.contains(id as u64)
    }

    /// A document is to be read although it is as before.
    pub(crate) fn read_anyway(&self, id: i64) {
        self.lock().must_read.insert(id as u64);
    }

    /// Documents were taken by a visitor.
    pub(crate) fn claimed(&self, items: &[WorkItem]) {
        let mut state = self.lock();
        items.iter().for_each(|item| state.frontier.taken(item.id));
        self.stirs.store(state.stirs(), Ordering::Release);
    }
}

/// Takes over the marks of the run before, where the one that begins now may go on with it; before the new one is opened, which drops them.
pub(crate) fn take_over(
    sql: &mut Sql<'_>,
    job: &Job,
    number: i64,
    (kind, basis, now): (RunKind, Digest, i64),
) -> std::result::Result<Option<i64>, StoreError> {
    let Some(before) = runs::reach::find(sql, job.id, number - 1)? else { return Ok(None) };
    let is_unfinished = before.outcome.is_none_or(|outcome| outcome != RunOutcome::Done);
    let is_young = now - before.started_at <= limits::REACH_GOES_ON_MS;
    let goes_by_the_same = before.basis == Some(basis) || failpoint(Failpoint::GoesOnUnderOthers);
    if !(is_unfinished && is_young && before.kind == kind && goes_by_the_same) {
        return Ok(None);
    }
    runs::reach::take_over(sql, job.id, number - 1, number)?;
    Ok(before.seeded_at)
}

impl Reached {
    /// Whether something could be handed to the dispatcher, or links are still to be followed as they were kept.
    fn stirs(&self) -> bool {
        self.frontier.stirs() || !self.passing.is_empty()
    }

    /// A document that was reached is not visited. Where the run is to prove what can be reached, it leads where it led.
    fn rest(&mut self, id: i64, walk: Walk) {
        self.rested.insert(id as u64);
        if walk == Walk::ByDates && !failpoint(Failpoint::RestingLeadsNowhere) {
            self.passing.insert(id as u64);
        }
    }

    /// One more piece of marks is on disk, or all of them as one.
    fn marked(&mut self) {
        self.pieces = if self.pieces < limits::REACH_PIECES_MAX { self.pieces + 1 } else { 1 };
    }

    /// Keeps the id of a key for the links that follow.
    fn remember(&mut self, key: DocumentKey, id: i64) {
        if self.keys.len() < limits::REACHED_KEYS_MAX {
            self.keys.insert(key, id);
        }
    }
}
