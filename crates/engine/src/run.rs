//! One run under way: what its threads share, and what the store knew when it began.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ingather_contract::call::Call;
use ingather_model::balance::Balance;
use ingather_model::ids::{ContainerId, Digest};
use ingather_model::job::{Definition, RunKind};
use ingather_model::lifecycle::outcome::{FailureCode, FailureKind, GuardState};
use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::{self, Job};
use ingather_store::leases::Lease;
use ingather_store::queue::FailedDocument;
use ingather_store::{Durability, Reader, Sql, Store, StoreError, queue, runs};
use roaring::RoaringTreemap;

use crate::containers::{Acls, Containers};
use crate::delivery::batch::Author;
use crate::delivery::output_queue::OutputQueue;
use crate::dispatcher::Dispatcher;
use crate::error::{EngineError, Refusal, Result};
use crate::id_set;
use crate::progress::Progress;
use crate::visit::audience::Audiences;
use crate::visit::pipeline::Pipeline;

/// One run under way, shared by its threads.
pub(crate) struct Run {
    pub(crate) store: Option<Store>,
    pub(crate) lease: Option<Lease>,
    pub(crate) reader: Reader,
    pub(crate) call: Call,
    pub(crate) job: Job,
    pub(crate) definition: Definition,
    pub(crate) number: i64,
    /// In whose name it sends, with the source.
    pub(crate) author: Author,
    /// Looks at its documents and containers can be compared.
    pub(crate) looks: bool,
    pub(crate) pipeline: Pipeline,
    pub(crate) outputs: Vec<OutputQueue>,
    pub(crate) settings: Digest,
    /// Digest of the stages alone.
    pub(crate) stages: Digest,
    pub(crate) guard_off: bool,
    pub(crate) accepts_devices: bool,
    pub(crate) rereads: bool,
    pub(crate) dispatcher: Dispatcher,
    pub(crate) progress: Arc<Progress>,
    /// Documents that waited for a visit before this run.
    pub(crate) pending: RoaringTreemap,
    /// Documents of which a removal was sent and not confirmed.
    pub(crate) leaving: RoaringTreemap,
    pub(crate) failed: RoaringTreemap,
    pub(crate) skipped: RoaringTreemap,
    pub(crate) unreadable: RoaringTreemap,
    pub(crate) reader_changed: bool,
    pub(crate) attempts: Mutex<HashMap<i64, u32>>,
    /// Documents that are tried again, when, and the container that this run has met them in.
    pub(crate) waiting: Mutex<HashMap<i64, (i64, Option<ContainerId>)>>,
    pub(crate) fresh: Mutex<RoaringTreemap>,
    pub(crate) vanished: Mutex<RoaringTreemap>,
    pub(crate) failed_now: Mutex<Vec<i64>>,
    /// Documents that no listing met and that outputs were sent from what is kept of them.
    pub(crate) refilled: Mutex<RoaringTreemap>,
    pub(crate) acls: Mutex<Acls>,
    pub(crate) containers: Mutex<Containers>,
    pub(crate) audiences: Audiences,
    pub(crate) balance: Mutex<Balance>,
    pub(crate) aborted: Mutex<Option<String>>,
    pub(crate) lost_lease: AtomicBool,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    pub(crate) fn fence(&self, sql: &mut Sql<'_>) -> std::result::Result<(), StoreError> {
        self.lease.as_ref().map_or(Ok(()), |lease| lease.fence(sql))
    }

    pub(crate) fn stops(&self) -> bool {
        self.call.cancel.cancelled() || self.dispatcher.closed()
    }

    /// Whether the sweep must not go on: by then the dispatcher is closed in any case.
    pub(crate) fn sweep_stops(&self) -> bool {
        self.call.cancel.cancelled() || self.lost_lease.load(Ordering::Relaxed)
    }

    pub(crate) fn acls(&self) -> MutexGuard<'_, Acls> {
        lock(&self.acls)
    }

    pub(crate) fn containers(&self) -> MutexGuard<'_, Containers> {
        lock(&self.containers)
    }

    pub(crate) fn tally(&self, change: impl FnOnce(&mut Balance)) {
        change(&mut lock(&self.balance));
    }

    pub(crate) fn had_failure(&self, id: i64) -> bool {
        let bit = id as u64;
        self.failed.contains(bit)
            || self.skipped.contains(bit)
            || self.pending.contains(bit)
            || lock(&self.attempts).contains_key(&id)
    }

    /// Attempts that were counted so far.
    pub(crate) fn attempts_made(&self, id: i64) -> u32 {
        lock(&self.attempts).get(&id).copied().unwrap_or_default()
    }

    /// Counts an attempt, those of earlier runs included; the first is 1.
    pub(crate) fn attempt(&self, id: i64) -> u32 {
        let mut attempts = lock(&self.attempts);
        let made = attempts.entry(id).or_insert(0);
        *made = made.saturating_add(1);
        *made
    }

    /// Whether a document was counted as waiting before; from now on it waits until `again_at`.
    pub(crate) fn was_waiting(&self, id: i64, again_at: Option<i64>, container: Option<ContainerId>) -> bool {
        let mut waiting = lock(&self.waiting);
        match again_at {
            Some(at) => waiting.insert(id, (at, container)),
            None => waiting.remove(&id),
        }
        .is_some()
    }

    /// Whether a document was new to this run when it had to wait; `waits_now`: it is one of those.
    pub(crate) fn is_fresh(&self, id: i64, waits_now: bool) -> bool {
        let mut fresh = lock(&self.fresh);
        (waits_now && fresh.insert(id as u64)) || fresh.contains(id as u64)
    }

    /// Documents that are to be tried again now, at most a claim of them; and when the next one is.
    pub(crate) fn due_again(&self, now: i64) -> (Vec<i64>, i64) {
        let waiting = lock(&self.waiting);
        let due = waiting.iter().filter(|(_, (at, _))| *at <= now).map(|(id, _)| *id);
        let soonest = waiting.values().map(|(at, _)| *at).min().unwrap_or(i64::MAX);
        (due.take(limits::CLAIM_MAX).collect(), soonest)
    }

    /// The container of a document that is tried again: what the inventory holds is of an earlier run until its visit is settled.
    pub(crate) fn container_of_waiting(&self, id: i64) -> Option<ContainerId> {
        lock(&self.waiting).get(&id).and_then(|(_, container)| *container)
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
        let balance = lock(&self.balance);
        balance.waiting + balance.failed > 0
    }

    pub(crate) fn failed_now(&self) -> Vec<i64> {
        lock(&self.failed_now).clone()
    }

    pub(crate) fn note_failed(&self, id: i64) {
        lock(&self.failed_now).push(id);
    }

    /// The run has an error to tell at its end.
    pub(crate) fn complain(&self, why: &str) {
        lock(&self.aborted).get_or_insert_with(|| why.to_owned());
    }

    /// The run ends with an error, after what is under way; nothing is removed.
    pub(crate) fn abort(&self, why: &str) {
        self.complain(why);
        self.dispatcher.close();
        self.outputs.iter().for_each(OutputQueue::notify);
    }
}

/// What the store knows about a job's documents that need attention.
pub(crate) struct Known {
    pub(crate) pending: RoaringTreemap,
    pub(crate) leaving: RoaringTreemap,
    pub(crate) failed: RoaringTreemap,
    pub(crate) skipped: RoaringTreemap,
    pub(crate) unreadable: RoaringTreemap,
    /// Attempts made by earlier runs at what waits for another.
    pub(crate) attempts: HashMap<i64, u32>,
}

impl Known {
    pub(crate) fn load(sql: &mut Sql<'_>, job: &Job) -> std::result::Result<Known, StoreError> {
        let mut known = Known {
            pending: id_set::of(queue::waiting(sql, job.id)?),
            leaving: id_set::of(queue::leaving(sql, job.id)?),
            failed: RoaringTreemap::new(),
            skipped: RoaringTreemap::new(),
            unreadable: RoaringTreemap::new(),
            attempts: HashMap::new(),
        };
        for kind in [FailureKind::Failed, FailureKind::Skipped, FailureKind::Retrying] {
            let mut after = 0;
            loop {
                let rows = queue::failures(sql, job.id, kind, after, limits::SWEEP_ROWS)?;
                let Some(last) = rows.last() else { break };
                after = last.document;
                for FailedDocument { document: id, attempts, code } in rows {
                    match kind {
                        FailureKind::Failed => known.failed.insert(id as u64),
                        FailureKind::Skipped => known.skipped.insert(id as u64),
                        // What changes all the time has all its attempts in each run.
                        FailureKind::Retrying if code == Some(FailureCode::Unsteady) => false,
                        FailureKind::Retrying => {
                            let rested = i64::from(failpoint(Failpoint::RetryCountedWhilePaused));
                            let made = u32::try_from(attempts + rested).unwrap_or(u32::MAX);
                            known.attempts.insert(id, made).is_none()
                        }
                    };
                    if code == Some(FailureCode::Unreadable) {
                        known.unreadable.insert(id as u64);
                    }
                }
            }
        }
        Ok(known)
    }
}

/// Opens the next run of a job: its number.
pub(crate) fn begin(store: &Store, lease: &Lease, job: &Job, kind: RunKind, now: i64) -> Result<i64> {
    let number = store.write(Durability::Synced, |sql| {
        lease.fence(sql)?;
        let Some(number) = jobs::begin(sql, job.id)? else { return Ok(None) };
        runs::open(sql, job.id, number, kind, now)?;
        if number > 1 && !failpoint(Failpoint::OlderRemovalCarriedOut) {
            // What an earlier run held is void: this one lists again.
            runs::release(sql, job.id, number - 1, GuardState::Void)?;
        }
        Ok(Some(number))
    })?;
    number.ok_or_else(|| {
        EngineError::refused(
            Refusal::Deleting,
            format!("job {} is being deleted; `ingather job delete {}` goes on with it", job.name, job.name),
        )
    })
}

/// Ends a run whose own thread panics: the others would wait for it for ever.
pub(crate) struct ClosesOnPanic<'r>(pub(crate) &'r Run);

impl Drop for ClosesOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.dispatcher.close();
            self.0.outputs.iter().for_each(OutputQueue::close);
        }
    }
}

/// Starts a thread of a run; where the system has none to give, the run ends.
pub(crate) fn start<'scope, 'env>(
    scope: &'scope std::thread::Scope<'scope, 'env>,
    run: &Run,
    work: impl FnOnce() + Send + 'scope,
) -> Option<std::thread::ScopedJoinHandle<'scope, ()>> {
    match std::thread::Builder::new().spawn_scoped(scope, work) {
        Ok(thread) => Some(thread),
        Err(error) => {
            run.dispatcher.fail(EngineError::refused(
                Refusal::Resources,
                format!(
                    "a thread cannot be started ({error}); give the program more memory, or fewer --threads"
                ),
            ));
            run.outputs.iter().for_each(OutputQueue::notify);
            None
        }
    }
}

/// Runs a thread's work; an error ends the run.
pub(crate) fn failing(run: &Run, work: impl FnOnce() -> Result<()>) {
    if let Err(error) = work() {
        run.dispatcher.fail(error);
        run.outputs.iter().for_each(OutputQueue::notify);
    }
}

pub(crate) fn join<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> Option<T> {
    match thread.join() {
        Ok(value) => Some(value),
        // A bug in a connector or here: the run must not end as if nothing had happened.
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
