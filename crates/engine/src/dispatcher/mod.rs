//! What waits between the threads of a run: documents for workers, and the word to stop. All bounded.

mod claims;
pub(crate) mod feed;
mod waiting;

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use ingather_model::fairness::NEVER;
use ingather_model::ids::{ContainerId, Digest};
use ingather_model::job::Priority;
use ingather_model::limits;
use ingather_model::merge::Known;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::{Noted, VisitReason};
use ingather_store::turns::Monitor;

use self::feed::Feed;
use self::waiting::Waiting;
use crate::error::EngineError;
use crate::process::throttles::{Admission, Bin, Waits};
use crate::process::visitors::{Permit, Rank, Visitors};

/// One document that a worker is to visit.
#[derive(Clone, Debug)]
pub(crate) struct WorkItem {
    /// The document.
    pub(crate) id: i64,
    /// Its name.
    pub(crate) name: String,
    /// Hash of its name.
    pub(crate) key_hash: i64,
    /// What the inventory holds; none for a new one.
    pub(crate) known: Option<Known>,
    /// The container that rules it now.
    pub(crate) container: Option<ContainerId>,
    /// Why.
    pub(crate) reason: VisitReason,
    /// How often the visit was requested when it was claimed; none for a new document, which waits without a row in `queue`.
    pub(crate) request_count: Option<i64>,
    /// Version as listed.
    pub(crate) version: Digest,
    /// Access version as listed.
    pub(crate) access: Digest,
    /// What stays when it is renamed.
    pub(crate) identity: i64,
    /// What was noted of it before this run.
    pub(crate) noted: Noted,
    /// The versions are those that this run has met it with; else they are those of the inventory.
    pub(crate) is_listed: bool,
    /// The claim that it was taken with; none before.
    pub(crate) claim: Option<Arc<Claim>>,
    /// The right to fetch it, where its connection has a throttle.
    pub(crate) admission: Option<Arc<Admission>>,
    /// What its visit has come to that was put back before its content was read; only visits know what that is.
    pub(crate) begun: Option<Arc<dyn Any + Send + Sync>>,
}

#[derive(Default)]
struct State {
    waiting: Waiting,
    /// Claims whose visits are not all complete: a worker has them, or an output has not confirmed them.
    claims: usize,
    /// Claimed documents that a worker has: the changes that they lead to are not handed over yet.
    visiting: usize,
    /// Workers that wait until an output has room: until then they make nothing.
    waiting_for_room: usize,
    listing_done: bool,
    /// Whoever feeds it has nothing to hand over just now: what comes next comes of what is being visited.
    fed: bool,
    /// A person paused the job: nothing more is claimed.
    paused: bool,
    /// It was asked to stop: whoever waits looks.
    stopping: bool,
    /// All that waits does so for its throttle.
    throttled: bool,
    closed: bool,
    error: Option<EngineError>,
}

impl State {
    fn nothing_comes(&self) -> bool {
        // What waits for its throttle is nothing that an output should wait for.
        let listed = (self.listing_done || self.fed) && (self.waiting.is_empty() || self.throttled);
        self.closed || (self.visiting == 0 && (listed || self.paused || self.waiting_for_room > 0))
    }
}

/// Documents that were claimed together. The claim is over when the last item that was taken with it is dropped: its visit is complete,
/// put off or given up by then. Counting by ownership, and not by calls, leaves no way out that forgets to count.
pub(crate) struct Claim(Arc<Monitor<State>>);

impl std::fmt::Debug for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Claim")
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.claims -= 1;
        if state.claims == 0 {
            self.0.notify();
        }
    }
}

impl Waits for Monitor<State> {
    fn freed(&self, bins: &[Bin]) {
        self.lock().waiting.freed(bins);
        self.notify();
    }
}

/// The turn of a worker to wait for something to visit; the next one has it when this is dropped.
struct Watch<'d>(&'d Monitor<bool>);

impl<'d> Watch<'d> {
    fn new(taken: &'d Monitor<bool>) -> Watch<'d> {
        *taken.wait_while(taken.lock(), |taken| *taken) = true;
        Watch(taken)
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        *self.0.lock() = false;
        self.0.notify_one();
    }
}

/// Shared by the threads of one run.
pub(crate) struct Dispatcher {
    state: Arc<Monitor<State>>,
    /// Whether a worker waits for something to visit. Only one does: each change of the state wakes all who wait for it, and sixty workers that
    /// are woken for one document cost more than to visit it.
    watched: Monitor<bool>,
    feed: Feed,
    /// What [`Dispatcher::rests`] says, for those who must not lock.
    rests: AtomicBool,
    /// Those that visit in this process, which wait for each other.
    pub(crate) visitors: Arc<Visitors>,
    /// How the run stands among them.
    rank: Arc<Rank>,
}

impl Dispatcher {
    pub(crate) fn new(visitors: Arc<Visitors>, priority: Priority, feed: Feed) -> Dispatcher {
        let state = Arc::default();
        feed.gate.join(&state);
        let rank = visitors.enter(priority);
        let watched = Monitor::new(false);
        Dispatcher { state, watched, feed, rests: AtomicBool::new(false), visitors, rank }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// A permit of the run for one of its threads, one of `most`.
    pub(crate) fn permit(&self, most: Option<usize>) -> Permit {
        Permit::new(&self.visitors, &self.rank, most)
    }

    /// Others hear whether this run could take documents, whose priority may be worse.
    fn tell(&self, state: MutexGuard<'_, State>) {
        let stirs = state.waiting.stirs(self.feed.call.steady());
        let ceases = self.rank.wants(stirs && !state.paused && !state.closed && state.waiting_for_room == 0);
        // Whoever waits for a permit asks this state whether it is over.
        drop(state);
        if ceases {
            self.visitors.notify();
        }
    }

    /// A claim of items that no worker takes out of the queue.
    pub(crate) fn open_claim(&self) -> Arc<Claim> {
        self.lock().claims += 1;
        Arc::new(Claim(self.state.clone()))
    }

    /// Hands documents to the workers; waits while too many wait already. Access changes go ahead of all others.
    pub(crate) fn push(&self, items: Vec<WorkItem>) {
        let mut state = self.lock();
        for item in items {
            let bins = self.feed.bins_of(&item.name);
            let ends = || self.feed.call.cancel.cancelled();
            let full = |state: &mut State| {
                !state.closed && !state.stopping && !ends() && state.waiting.len() >= limits::READY_MAX
            };
            while full(&mut state) {
                // Those who wait look often enough whether everything is to end.
                let longest = Duration::from_millis(limits::DRAIN_LOOK_MS);
                state = self.state.wait_at_most(state, longest, full).0;
            }
            if state.closed || state.stopping || ends() {
                return;
            }
            state.waiting.push(item, bins);
            (state.throttled, state.fed) = (false, false);
        }
        self.tell(state);
        self.state.notify();
    }

    /// Puts back a document that was claimed and not read: it waits once more.
    pub(crate) fn put_back(&self, mut item: WorkItem) {
        item.admission = None;
        // Over when it waits again: else all might look done meanwhile. It is dropped while nothing is locked.
        let _claim = item.claim.take();
        item.reason = if item.reason == VisitReason::Access { VisitReason::Changed } else { item.reason };
        let bins = self.feed.bins_of(&item.name);
        let mut state = self.lock();
        state.waiting.push(item, bins);
        state.throttled = false;
        self.tell(state);
        self.state.notify();
    }

    /// Waits until there is something to visit: how many documents a claim takes; none when the run is over or stops.
    pub(crate) fn wait_ready(&self) -> Option<usize> {
        let call = &self.feed.call;
        let _watch = Watch::new(&self.watched);
        let mut state = self.lock();
        loop {
            // Both of one moment: a clock that is moved meanwhile is not moved twice.
            let (now, time) = (call.steady(), call.now());
            let may_be_taken = |state: &State| !state.paused && state.waiting.stirs(call.steady());
            if state.closed {
                return None;
            }
            if may_be_taken(&state) {
                return Some(self.claims_most(state.waiting.len()));
            }
            let wakes_at = if state.paused { None } else { state.waiting.wakes_at(now) };
            if wakes_at.is_some() != state.throttled {
                state.throttled = wakes_at.is_some();
                // Whoever waits for what is being made need not.
                self.state.notify();
            }
            let nothing = |state: &mut State| {
                let parked = || if state.paused { None } else { state.waiting.wakes_at(call.steady()) };
                !state.closed && !may_be_taken(state) && parked() == wakes_at
            };
            state = match wakes_at.filter(|at| *at != NEVER) {
                None => self.state.wait_while(state, nothing),
                Some(at) => {
                    call.clock.awaited(time.saturating_add(at - now));
                    let longest = Duration::from_millis((at - now).clamp(1, limits::SYNC_WAIT_MS_MAX) as u64);
                    self.state.wait_at_most(state, longest, nothing).0
                }
            };
        }
    }

    /// Until when all that waits does so for its throttle, or what is being read for its next bytes, milliseconds since 1970 UTC; [`NEVER`]:
    /// until another fetch is over. None where something is being visited, or nothing waits for that.
    pub(crate) fn waits_until(&self) -> Option<i64> {
        let (state, call) = (self.lock(), &self.feed.call);
        if state.paused || state.closed {
            return None;
        }
        if state.visiting > 0 {
            // Shorter waits are just how it reads.
            let until = self.feed.gate.paced_until.load(Ordering::Relaxed);
            return (until - call.now() >= limits::THROTTLE_TOLD_MS).then_some(until);
        }
        let (now, at) = (call.steady(), state.waiting.wakes_at(call.steady())?);
        Some(if at == NEVER { NEVER } else { call.now().saturating_add(at - now) })
    }

    /// It was asked to stop: whoever waits looks.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stopping = true;
        self.rests.store(true, Ordering::Relaxed);
        self.tell(state);
        self.notify();
    }

    /// A worker that has so many documents waits until an output has room.
    pub(crate) fn waits_for_room(&self, documents: usize) {
        let mut state = self.lock();
        state.visiting -= documents;
        state.waiting_for_room += 1;
        self.tell(state);
    }

    /// It goes on.
    pub(crate) fn has_room(&self, documents: usize) {
        let mut state = self.lock();
        state.visiting += documents;
        state.waiting_for_room -= 1;
        self.tell(state);
    }

    /// A worker has handed over all that a claim of so many documents led to; whether nothing more is being made now.
    pub(crate) fn handed_over(&self, documents: usize) -> bool {
        self.rank.moves();
        let mut state = self.lock();
        state.visiting -= documents;
        state.nothing_comes()
    }

    /// The lister has named everything that it will name.
    pub(crate) fn listing_done(&self) {
        self.lock().listing_done = true;
        self.state.notify();
    }

    /// The first of the bins of a document, by its name: its host, say.
    pub(crate) fn first_bin_of(&self, name: &str) -> Bin {
        let bins = self.feed.bins_of(name).unwrap_or_default();
        bins.into_iter().next().unwrap_or_else(|| self.feed.job.clone())
    }

    /// Whoever feeds it looks: there may be more to hand over. Whoever is about to wait has not looked before this, or sees it.
    pub(crate) fn stir(&self) {
        drop(self.lock());
        self.state.notify();
    }

    /// Waits, at most `longest`, until `stirs` says that there is more to hand over, or nothing waits and nothing is in hands that could lead
    /// to more; whether the latter is so.
    pub(crate) fn wait_fed(&self, longest: Duration, stirs: impl Fn() -> bool) -> bool {
        let mut state = self.lock();
        state.fed = true;
        let idle = |state: &State| state.waiting.is_empty() && state.claims == 0;
        let waits = |state: &mut State| !(state.closed || state.stopping || stirs() || idle(state));
        idle(&self.state.wait_at_most(state, longest, waits).0)
    }

    /// Whether nothing is being made that an output should wait for.
    pub(crate) fn nothing_comes(&self) -> bool {
        self.lock().nothing_comes()
    }

    /// Waits until the listing is over, nothing is due or in flight, and the job is not paused, or the run stops; at most `longest`.
    pub(crate) fn wait_drained(&self, longest: Duration) -> bool {
        let busy = |state: &mut State| {
            let listed = state.listing_done && state.waiting.is_empty();
            !(state.closed || state.stopping || (listed && state.claims == 0 && !state.paused))
        };
        !self.state.wait_at_most(self.lock(), longest, busy).1
    }

    /// Waits until the visits of all claims are complete, put off or given up.
    pub(crate) fn wait_complete(&self) {
        drop(self.state.wait_while(self.lock(), |state| state.claims > 0));
    }

    /// Whether documents are in hands: of workers, or of outputs that have not confirmed them.
    pub(crate) fn is_busy(&self) -> bool {
        self.lock().claims > 0
    }

    /// Whether the lister may name more.
    pub(crate) fn lists(&self) -> bool {
        !self.lock().listing_done
    }

    /// Pauses the run, or lets it go on.
    pub(crate) fn pause(&self, paused: bool) {
        let mut state = self.lock();
        state.paused = paused && !failpoint(Failpoint::ClaimedWhilePaused);
        // What waits for bytes is put back.
        self.rests.store(state.paused || state.stopping || state.closed, Ordering::Relaxed);
        self.tell(state);
        self.notify();
    }

    /// Whether nothing more is to be read now. Locks nothing.
    pub(crate) fn rests(&self) -> bool {
        self.rests.load(Ordering::Relaxed)
    }

    /// Whoever waits for a visitor's place or for bytes looks whether it is still wanted.
    fn notify(&self) {
        self.state.notify();
        self.visitors.notify();
        self.feed.gate.throttles.notify();
    }

    /// Waits, at most `longest`, until the job is not paused; whether it is.
    pub(crate) fn is_paused(&self, longest: Duration) -> bool {
        self.state.wait_at_most(self.lock(), longest, |state| state.paused && state.error.is_none()).1
    }

    /// Waits, at most `longest`, for the end of the run, or until `stirs` says that there is more to hand over.
    pub(crate) fn rest_until(&self, longest: Duration, stirs: impl Fn() -> bool) {
        let waits = |state: &mut State| !(state.closed || state.stopping || stirs());
        drop(self.state.wait_at_most(self.lock(), longest, waits));
    }

    /// Ends the run: whoever waits goes on.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        self.rests.store(true, Ordering::Relaxed);
        self.tell(state);
        self.notify();
    }

    /// Whether the run stops.
    pub(crate) fn closed(&self) -> bool {
        self.lock().closed
    }

    /// Ends the run with an error; the first one counts.
    pub(crate) fn fail(&self, error: EngineError) {
        let mut state = self.lock();
        state.closed = true;
        state.error.get_or_insert(error);
        self.rests.store(true, Ordering::Relaxed);
        self.tell(state);
        self.notify();
    }

    /// The error that ended the run.
    pub(crate) fn take_error(&self) -> Option<EngineError> {
        self.lock().error.take()
    }
}
