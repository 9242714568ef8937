//! Runs that follow links (`docs/decisions/0037-reach.md`): which documents have been reached, which of them are still to be visited, and
//! what the documents lead to.
//!
//! A document is *reached* when a seed or a link of a document that was visited in this run names it. Reaching one writes its row, its
//! request for a visit and its mark in one transaction, ahead of whatever is delivered of the document that led to it: a run that goes on after a crash
//! knows all that was reached, and what is still queued of it is what is still to be visited.

mod feed;
mod found;
pub(crate) mod handed;
pub(crate) mod hops;
pub(crate) mod in_place;
pub(crate) mod left;
mod named;
pub(crate) mod parked;
mod passing;
mod resume;
pub(crate) mod targets;
mod versions;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use ingather_model::fault::Reason;
use ingather_model::ids::Digest;
use ingather_model::job::RunKind;
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_model::run_counts::Counter;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::queue::LeftOut;
use ingather_store::turns::lock;
use ingather_store::{Sql, StoreError, runs};
use roaring::RoaringTreemap;

use self::feed::Frontier;
pub(crate) use self::feed::feed;
pub(crate) use self::found::{find, seed};
use self::hops::Distances;
use self::in_place::InPlaces;
use self::named::Again;
pub(crate) use self::named::Found;
use self::parked::Parked;
pub(crate) use self::passing::take_due;
use crate::dispatcher::WorkItem;
use crate::process::events::EventWaits;
use crate::process::throttles::Bin;
use crate::run::Run;
use crate::run::dating::Walk;

/// What a run that follows links has come to.
pub(crate) struct Reach {
    state: Mutex<Reached>,
    /// Something could be handed to the dispatcher; read under its lock, where this one must not be taken.
    stirs: AtomicBool,
    /// The same, of what is to be visited alone.
    hands_over: AtomicBool,
    /// Digest of all that the run goes by.
    pub(crate) basis: Digest,
    /// Who else waits for events in this process.
    pub(crate) events: Arc<EventWaits>,
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
    /// How often documents were asked for again that did not have to wait for an event.
    again: BTreeMap<i64, u32>,
    /// Those that are not visited: their dates have not come.
    rested: RoaringTreemap,
    /// Those of them whose links are still to be followed as they were kept.
    passing: RoaringTreemap,
    frontier: Frontier,
    /// Those whose visits are not over: they wait for a visitor, or are in hands.
    outstanding: RoaringTreemap,
    /// Those of them that are visited once more when they are over.
    once_more: RoaringTreemap,
    /// Those that were visited to the end, by what the last visit counts as.
    over: BTreeMap<Counter, RoaringTreemap>,
    /// Something may be handed down.
    hands_down: bool,
    /// Why documents that are gone, or no entries any more, are none of the job, where it is not said otherwise.
    leaving: BTreeMap<i64, Reason>,
    /// Those that name another one which is found in their place.
    in_place: InPlaces,
    /// Some document leads to another one.
    leads_on: bool,
    /// How far documents are, where hops are counted.
    distances: Option<Distances>,
    /// Those that wait for events.
    parked: Parked,
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
    pub(crate) fn new(
        basis: Digest,
        (walk, held_before): (Walk, Option<Vec<u8>>),
        distances: Option<Distances>,
        is_pushed: bool,
        events: Arc<EventWaits>,
    ) -> Reach {
        let frontier = Frontier::new(is_pushed);
        let (state, stirs) =
            (Mutex::new(Reached { distances, frontier, ..Reached::default() }), AtomicBool::new(false));
        Reach { state, stirs, hands_over: AtomicBool::new(false), basis, events, walk, held_before }
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

    /// Outputs are to lose what they hold of a document that is none of the job any more, for this reason.
    pub(crate) fn leaves(&self, id: i64, why: Reason) {
        self.lock().leaving.insert(id, why);
    }

    /// Why each of these documents is none of the job.
    pub(crate) fn leaving(&self, ids: &[i64]) -> BTreeMap<i64, Reason> {
        let state = self.lock();
        let why = |id: &i64| state.leaving.get(id).cloned().unwrap_or_else(|| LeftOut::Missing.reason());
        ids.iter().map(|id| (*id, why(id))).collect()
    }

    /// Whether no document leads to any other one: as if a folder were empty.
    pub(crate) fn leads_nowhere(&self) -> bool {
        !self.lock().leads_on && !failpoint(Failpoint::EmptySeedsUnguarded)
    }

    /// What something leads to, and is too far from the seeds.
    pub(crate) fn beyond(&self) -> RoaringTreemap {
        let state = self.lock();
        state.distances.as_ref().map(|distances| &distances.beyond - &state.ids).unwrap_or_default()
    }

    /// Whether something can be handed over to the dispatcher is looked at again.
    fn look(&self, state: &Reached) {
        self.hands_over.store(state.frontier.stirs(), Ordering::Release);
        self.stirs.store(state.stirs(), Ordering::Release);
    }

    /// Documents are handed to visitors once more, such as for another attempt.
    pub(crate) fn handed(&self, ids: impl Iterator<Item = i64>) {
        self.lock().outstanding.extend(ids.map(|id| id as u64));
    }

    /// As what the last visit of a document counts that is over.
    pub(crate) fn counted(&self, id: i64) -> Option<Counter> {
        let state = self.lock();
        state.over.iter().find(|(_, ids)| ids.contains(id as u64)).map(|(counted, _)| *counted)
    }

    /// A visit is over, and counts so; none: it is made again. Who is handed something else meanwhile is visited once more.
    /// Whether it is.
    pub(crate) fn visit_over(
        &self,
        item: &WorkItem,
        counted: Option<Counter>,
        bin: impl FnOnce() -> Bin,
    ) -> bool {
        let id = item.id as u64;
        let mut state = self.lock();
        state.outstanding.remove(id);
        state.over.values_mut().for_each(|ids| _ = ids.remove(id));
        counted.into_iter().for_each(|counted| _ = state.over.entry(counted).or_default().insert(id));
        let is_again = state.once_more.remove(id);
        if is_again {
            state.add(bin(), item.id);
            self.look(&state);
        }
        is_again
    }

    /// Documents that are not visited count as they stand, until one of them is visited all the same.
    fn stand(&self, ids: &[i64], counted: Counter) {
        self.lock().over.entry(counted).or_default().extend(ids.iter().map(|id| *id as u64));
    }

    /// Whether all seeds have been named.
    pub(crate) fn is_seeded(&self) -> bool {
        self.lock().seeded
    }

    /// Whether a visit of a document may have begun before this process did.
    pub(crate) fn may_have_begun(&self, id: i64) -> bool {
        self.lock().adopted.contains(id as u64)
    }

    /// A document is to be asked for again, and had to wait for no event; whether that may be.
    pub(crate) fn may_come_again(&self, id: i64) -> bool {
        let mut state = self.lock();
        let times = state.again.entry(id).or_default();
        *times += 1;
        *times <= limits::AGAIN_MAX
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
        self.look(&state);
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
    // Hops are counted from the seeds, and are not kept.
    Ok(before.seeded_at.filter(|_| job.definition.hops.counts_nothing()))
}

impl Reached {
    /// A document is to be visited.
    fn add(&mut self, bin: Bin, id: i64) {
        self.outstanding.insert(id as u64);
        self.frontier.add(bin, id);
    }

    /// Documents are visited once more: now, or when the visit is over that is under way.
    fn take_again(&mut self, run: &Run, again: Again) {
        for (id, name) in again {
            self.rested.remove(id as u64);
            if self.outstanding.contains(id as u64) {
                let _ = self.frontier.has(id) || self.once_more.insert(id as u64);
            } else {
                self.add(run.dispatcher.first_bin_of(&name), id);
            }
        }
    }

    /// Whether something could be handed to the dispatcher, or links are still to be followed as they were kept.
    fn stirs(&self) -> bool {
        self.frontier.stirs() || !self.passing.is_empty()
    }

    /// A document that was reached is not visited. Where the run is to prove what can be reached, it leads where it led.
    fn rest(&mut self, id: i64, walk: Walk) {
        self.rested.insert(id as u64);
        let proves = matches!(walk, Walk::ByDates | Walk::Everything);
        if proves && !failpoint(Failpoint::RestingLeadsNowhere) {
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
