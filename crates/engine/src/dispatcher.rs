//! What waits between the threads of a run: documents for workers, and the word to stop. All bounded.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use ingather_model::ids::{ContainerId, Digest};
use ingather_model::limits;
use ingather_model::merge::Known;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::{Noted, VisitReason};
use ingather_store::turns::Monitor;

use crate::error::EngineError;
use crate::process::visitors::Visitors;

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
}

#[derive(Default)]
struct State {
    urgent: VecDeque<WorkItem>,
    ready: VecDeque<WorkItem>,
    /// Claims whose visits are not all complete: a worker has them, or an output has not confirmed them.
    claims: usize,
    /// Claimed documents that a worker has: the changes that they lead to are not handed over yet.
    visiting: usize,
    /// Workers that wait until an output has room: until then they make nothing.
    waiting_for_room: usize,
    listing_done: bool,
    /// A person paused the job: nothing more is claimed.
    paused: bool,
    closed: bool,
    error: Option<EngineError>,
}

impl State {
    fn nothing_comes(&self) -> bool {
        let listed = self.listing_done && self.urgent.is_empty() && self.ready.is_empty();
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

/// Shared by the threads of one run.
pub(crate) struct Dispatcher {
    state: Arc<Monitor<State>>,
    /// Those that visit in this process, which wait for each other.
    pub(crate) visitors: Arc<Visitors>,
}

impl Dispatcher {
    pub(crate) fn new(visitors: Arc<Visitors>) -> Dispatcher {
        Dispatcher { state: Arc::default(), visitors }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
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
            state = self.state.wait_while(state, |state| {
                !state.closed && state.urgent.len() + state.ready.len() >= limits::READY_MAX
            });
            if state.closed {
                return;
            }
            match item.reason {
                VisitReason::Access => state.urgent.push_back(item),
                _ => state.ready.push_back(item),
            }
        }
        self.state.notify();
    }

    /// Waits until there is something to visit: how many documents a claim takes; none when the run is over or stops.
    pub(crate) fn wait_ready(&self) -> Option<usize> {
        let nothing = |state: &mut State| {
            !state.closed && (state.paused || (state.urgent.is_empty() && state.ready.is_empty()))
        };
        let state = self.state.wait_while(self.lock(), nothing);
        (!state.closed).then_some((state.urgent.len() + state.ready.len()).min(limits::CLAIM_MAX))
    }

    /// Takes at most so many documents to visit; none when there is nothing any more, or the run is over or stops.
    pub(crate) fn claim(&self, most: usize) -> Option<Vec<WorkItem>> {
        let mut state = self.lock();
        let urgent = state.urgent.len().min(most);
        let ready = state.ready.len().min(most - urgent);
        if state.closed || state.paused || urgent + ready == 0 {
            return None;
        }
        let mut items: Vec<WorkItem> = state.urgent.drain(..urgent).collect();
        items.extend(state.ready.drain(..ready));
        state.claims += 1;
        state.visiting += items.len();
        let claim = Arc::new(Claim(self.state.clone()));
        items.iter_mut().for_each(|item| item.claim = Some(claim.clone()));
        self.state.notify();
        // Its last item may be dropped by whoever takes them, which locks the state.
        drop(state);
        Some(items)
    }

    /// A worker that has so many documents waits until an output has room.
    pub(crate) fn waits_for_room(&self, documents: usize) {
        let mut state = self.lock();
        state.visiting -= documents;
        state.waiting_for_room += 1;
    }

    /// It goes on.
    pub(crate) fn has_room(&self, documents: usize) {
        let mut state = self.lock();
        state.visiting += documents;
        state.waiting_for_room -= 1;
    }

    /// A worker has handed over all that a claim of so many documents led to; whether nothing more is being made now.
    pub(crate) fn handed_over(&self, documents: usize) -> bool {
        let mut state = self.lock();
        state.visiting -= documents;
        state.nothing_comes()
    }

    /// The lister has named everything that it will name.
    pub(crate) fn listing_done(&self) {
        self.lock().listing_done = true;
        self.state.notify();
    }

    /// Whether nothing is being made that an output should wait for.
    pub(crate) fn nothing_comes(&self) -> bool {
        self.lock().nothing_comes()
    }

    /// Waits until the listing is over, nothing is due or in flight, and the job is not paused, or the run stops; at most `longest`.
    pub(crate) fn wait_drained(&self, longest: Duration) -> bool {
        let busy = |state: &mut State| {
            let listed = state.listing_done && state.urgent.is_empty() && state.ready.is_empty();
            !(state.closed || (listed && state.claims == 0 && !state.paused))
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
        self.lock().paused = paused && !failpoint(Failpoint::ClaimedWhilePaused);
        self.state.notify();
    }

    /// Waits, at most `longest`, until the job is not paused; whether it is.
    pub(crate) fn is_paused(&self, longest: Duration) -> bool {
        self.state.wait_at_most(self.lock(), longest, |state| state.paused && state.error.is_none()).1
    }

    /// Waits, at most `longest`, for the end of the run.
    pub(crate) fn rest(&self, longest: Duration) {
        drop(self.state.wait_at_most(self.lock(), longest, |state| !state.closed));
    }

    /// Ends the run: whoever waits goes on.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.state.notify();
        self.visitors.notify();
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
        drop(state);
        self.state.notify();
        self.visitors.notify();
    }

    /// The error that ended the run.
    pub(crate) fn take_error(&self) -> Option<EngineError> {
        self.lock().error.take()
    }
}
