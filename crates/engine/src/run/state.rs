//! What is known of one run under way.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ingather_contract::call::CallContext;
use ingather_model::ids::{ContainerId, Digest, JobId};
use ingather_model::job::Definition;
use ingather_model::lifecycle::outcome::FailureCode;
use ingather_model::limits;
use ingather_model::run_counts::RunCounts;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::leases::Lease;
use ingather_store::queue::{Attention, Noted};
use ingather_store::{Reader, Sql, Store, StoreError};
use roaring::RoaringTreemap;

use crate::containers::acls::Acls;
use crate::containers::pool::SharedContainers;
use crate::containers::{Containers, ListedContainers};
use crate::delivery::author::Author;
use crate::dispatcher::{Dispatcher, WorkItem};
use crate::process::events::Waiter;
use crate::progress::Progress;
use crate::run::dating::{Dating, Walk};
use crate::run::drain::PAUSED;
use crate::run::reach::Reach;
use crate::visit::audience::Audiences;
use crate::visit::pipeline::Pipeline;
use ingather_store::turns::lock;

/// What is known of a run under way, whatever its outputs do; shared by its threads and by the changes that it has on their way.
pub(crate) struct RunState {
    pub(crate) store: Option<Store>,
    pub(crate) lease: Option<Lease>,
    pub(crate) reader: Reader,
    pub(crate) call: CallContext,
    pub(crate) job: Job,
    pub(crate) definition: Definition,
    pub(crate) number: i64,
    /// In whose name it sends, with the source.
    pub(crate) author: Arc<Author>,
    /// Looks at its documents and containers can be compared.
    pub(crate) looks: bool,
    pub(crate) pipeline: Pipeline,
    pub(crate) settings: Digest,
    /// Digest of the stages alone.
    pub(crate) stages: Digest,
    pub(crate) guard_off: bool,
    pub(crate) accepts_devices: bool,
    pub(crate) rereads: bool,
    /// It looks at everything.
    pub(crate) is_full: bool,
    /// What it has reached, where its source is found by following links.
    pub(crate) reach: Option<Reach>,
    /// What it goes by of the dates of documents, where they have any.
    pub(crate) dating: Option<Dating>,
    /// One pass of a continuous job.
    pub(crate) is_pass: bool,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) progress: Arc<Progress>,
    /// What is asked for with each page of the listing.
    pub(crate) attention: Attention,
    pub(crate) credentials_changed: bool,
    /// Attempts at what failed in this run, those of earlier runs included.
    pub(crate) attempts: Mutex<HashMap<i64, Tried>>,
    /// Documents that were missing for the first time in this run, and since when.
    pub(crate) missing: Mutex<HashMap<i64, i64>>,
    /// Documents that are tried again.
    pub(crate) waiting: Mutex<HashMap<i64, Waiting>>,
    pub(crate) fresh: Mutex<RoaringTreemap>,
    pub(crate) vanished: Mutex<RoaringTreemap>,
    pub(crate) failed_now: Mutex<Vec<i64>>,
    /// Documents that no listing met and that outputs were sent from what is kept of them.
    pub(crate) refilled: Mutex<RoaringTreemap>,
    /// Hashes of names that a person has erased: it takes none of them in, and visits none.
    pub(crate) erased: HashSet<i64>,
    /// Acls and containers of its connection, which other runs over it share.
    pub(crate) shared: Arc<SharedContainers>,
    /// What it has met of them.
    pub(crate) listed_containers: Mutex<ListedContainers>,
    pub(crate) audiences: Audiences,
    pub(crate) counts: Mutex<RunCounts>,
    /// Documents that it has noted in the history.
    pub(crate) noted: AtomicUsize,
    /// Documents that conditions of the pipeline have taken out of an output.
    pub(crate) kept_out: AtomicU64,
    pub(crate) aborted: Mutex<Option<String>>,
    /// Why its source could not be listed, where it could not.
    pub(crate) unlisted: Mutex<Option<String>>,
}

/// What was tried with a document that failed in this run, what earlier runs tried included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tried {
    made: u32,
    /// When the last attempt is to be made, where its faults say so.
    cut_off: Option<i64>,
}

impl Tried {
    fn before(item: &WorkItem) -> Tried {
        Tried { made: item.noted.attempts(), cut_off: item.noted.give_up_at() }
    }
}

/// A document that is tried again in this run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    at: i64,
    /// The container that this run has met it in: what the inventory holds is of an earlier run until the visit is settled.
    pub(crate) container: Option<ContainerId>,
    /// What was noted of it before this run.
    pub(crate) noted: Noted,
}

impl Waiter for RunState {
    fn job(&self) -> JobId {
        self.job.id
    }

    fn completed(&self, event: &str) {
        if let Some(reach) = &self.reach {
            reach.completed(event);
            self.dispatcher.stir();
        }
    }
}

impl RunState {
    pub(crate) fn fence(&self, sql: &mut Sql<'_>) -> std::result::Result<(), StoreError> {
        self.lease.as_ref().map_or(Ok(()), |lease| lease.fence(sql))
    }

    pub(crate) fn stops(&self) -> bool {
        self.call.cancel.cancelled() || self.dispatcher.closed()
    }

    /// Whether the sweep must not go on: by then the dispatcher is closed in any case. A lost lease asks to stop as well.
    pub(crate) fn sweep_stops(&self) -> bool {
        self.call.cancel.cancelled()
    }

    /// Waits while a person has paused the job, unless the run is asked to stop: nothing is judged, removed or ended meanwhile.
    pub(crate) fn wait_while_paused(&self) {
        let look = Duration::from_millis(limits::DRAIN_LOOK_MS);
        while !self.call.cancel.cancelled() && self.dispatcher.is_paused(look) {
            self.progress.waits_for(PAUSED);
        }
    }

    pub(crate) fn acls(&self) -> MutexGuard<'_, Acls> {
        self.shared.acls()
    }

    /// Containers as this run sees them; never taken inside a transaction of the store.
    pub(crate) fn containers(&self) -> Containers<'_> {
        Containers::new(self.job.id, lock(&self.listed_containers), self.shared.tree())
    }

    pub(crate) fn count(&self, change: impl FnOnce(&mut RunCounts)) {
        change(&mut lock(&self.counts));
    }

    pub(crate) fn had_failure(&self, item: &WorkItem) -> bool {
        let noted = &item.noted;
        noted.failure.is_some() || noted.request.is_some() || lock(&self.attempts).contains_key(&item.id)
    }

    /// Attempts that were counted so far.
    pub(crate) fn attempts_made(&self, item: &WorkItem) -> u32 {
        lock(&self.attempts).get(&item.id).map_or_else(|| item.noted.attempts(), |tried| tried.made)
    }

    /// Counts an attempt, those of earlier runs included; the first is 1.
    pub(crate) fn attempt(&self, item: &WorkItem) -> u32 {
        let mut attempts = lock(&self.attempts);
        let tried = attempts.entry(item.id).or_insert_with(|| Tried::before(item));
        tried.made = tried.made.saturating_add(1);
        tried.made
    }

    /// When the last attempt at a document is to be made of which a fault says this: the earliest time that any of its faults has named.
    pub(crate) fn cut_off(&self, item: &WorkItem, asked: Option<i64>) -> Option<i64> {
        let mut attempts = lock(&self.attempts);
        let tried = attempts.entry(item.id).or_insert_with(|| Tried::before(item));
        let before = tried.cut_off.filter(|_| !failpoint(Failpoint::CutOffForgotten));
        tried.cut_off = [before, asked].into_iter().flatten().min();
        tried.cut_off
    }

    /// Whether it is a pass that looks at what is due alone.
    pub(crate) fn is_due_pass(&self) -> bool {
        self.reach.as_ref().is_some_and(|reach| reach.walk == Walk::Due)
    }

    /// Since when a document is missing, where it is missing `now`.
    pub(crate) fn missing_since(&self, item: &WorkItem, now: i64) -> i64 {
        let is_missing = |code| code == Some(FailureCode::Missing);
        let counts = |code| is_missing(code) || failpoint(Failpoint::MissingSinceAnotherFault);
        let noted = item.noted.failure.filter(|failure| counts(failure.code));
        match noted {
            Some(failure) => failure.first_at,
            None => *lock(&self.missing).entry(item.id).or_insert(now),
        }
    }

    /// Whether a document was counted as waiting before; from now on it waits until `again_at`.
    pub(crate) fn was_waiting(&self, item: &WorkItem, again_at: Option<i64>) -> bool {
        let mut waiting = lock(&self.waiting);
        match again_at {
            Some(at) => waiting.insert(item.id, Waiting { at, container: item.container, noted: item.noted }),
            None => waiting.remove(&item.id),
        }
        .is_some()
    }

    /// Nobody wants a document any more that is tried again; whether it was.
    pub(crate) fn gives_up(&self, id: i64) -> bool {
        lock(&self.waiting).remove(&id).is_some()
    }

    /// Whether a document was new to this run when it had to wait; `waits_now`: it is one of those.
    pub(crate) fn is_fresh(&self, id: i64, waits_now: bool) -> bool {
        let mut fresh = lock(&self.fresh);
        (waits_now && fresh.insert(id as u64)) || fresh.contains(id as u64)
    }

    /// Documents that are to be tried again now, at most a claim of them; and when the next one is.
    pub(crate) fn due_again(&self, now: i64) -> (Vec<i64>, i64) {
        let waiting = lock(&self.waiting);
        let due = waiting.iter().filter(|(_, waiting)| waiting.at <= now).map(|(id, _)| *id);
        let soonest = waiting.values().map(|waiting| waiting.at).min().unwrap_or(i64::MAX);
        (due.take(limits::CLAIM_MAX).collect(), soonest)
    }

    /// How this run has met a document that is tried again.
    pub(crate) fn waiting(&self, id: i64) -> Option<Waiting> {
        lock(&self.waiting).get(&id).copied()
    }

    /// A document that the listing named is not there any more: the sweep judges it.
    pub(crate) fn note_vanished(&self, id: i64) {
        lock(&self.vanished).insert(id as u64);
    }

    /// Whether this document was sent from what is kept of it, although its place could not be looked at.
    pub(crate) fn was_refilled(&self, id: i64) -> bool {
        lock(&self.refilled).contains(id as u64)
    }

    /// Whether new names may still be unconfirmed.
    pub(crate) fn unsettled(&self) -> bool {
        let counts = lock(&self.counts);
        counts.waiting + counts.failed > 0
    }

    pub(crate) fn failed_now(&self) -> Vec<i64> {
        lock(&self.failed_now).clone()
    }

    pub(crate) fn note_failed(&self, id: i64) {
        lock(&self.failed_now).push(id);
    }

    /// A condition of the pipeline takes a document out of an output.
    pub(crate) fn note_kept_out(&self) {
        self.kept_out.fetch_add(1, Ordering::Relaxed);
    }

    /// The run has an error to tell at its end.
    pub(crate) fn complain(&self, why: &str) {
        lock(&self.aborted).get_or_insert_with(|| why.to_owned());
    }

    /// The run ends with an error, after what is under way; nothing is removed.
    pub(crate) fn abort(&self, why: &str) {
        self.complain(why);
        self.dispatcher.close();
    }
}
