//! One output that is open in this process, with the changes that wait for it. Jobs share it (design 4.7, `ARCHITECTURE.md`).

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, Weak};
use std::time::Duration;

use ingather_contract::output::OutputCapabilities;
use ingather_model::fault::Fault;
use ingather_model::ids::ConnectionId;
use ingather_model::job::Priority;
use ingather_model::limits;
use ingather_store::connections::Connection;
use ingather_store::turns::{Monitor, lock};

use super::batch::Destination;
use super::change::QueuedChange;
use super::opened::Opened;
use super::output_user::OutputUser;
use crate::error::EngineError;

/// The changes that wait for one output.
#[derive(Default)]
pub(crate) struct QueueState {
    pub(crate) waiting: VecDeque<QueuedChange>,
    pub(crate) bytes: usize,
    /// Visits that were claimed and have not handed over all that they lead to; each is taken for one change.
    reserved: usize,
    /// The priority of each visitor that waits for room.
    in_line: Vec<Priority>,
    /// No more will come.
    pub(crate) closed: bool,
    failed: Option<EngineError>,
    users: Vec<Weak<dyn OutputUser>>,
}

impl QueueState {
    /// Enough for a batch that need not wait for more (design store 1.4: below it, commits cost more than rows).
    pub(crate) fn is_enough(&self) -> bool {
        self.waiting.len() >= limits::DELIVERY_BATCH_MIN || self.bytes >= limits::DELIVERY_BYTES_MAX
    }

    fn is_full(&self) -> bool {
        self.waiting.len() >= limits::QUEUED_MAX || self.bytes >= limits::QUEUED_BYTES_MAX
    }

    /// Takes room for so many more visits; not while there is less, or visitors of a better priority wait for room.
    fn reserve(&mut self, visits: usize, priority: Priority) -> bool {
        let has_room = !self.is_full() && self.waiting.len() + self.reserved + visits <= limits::QUEUED_MAX;
        let is_first = self.in_line.iter().all(|other| priority <= *other);
        let takes = (has_room && is_first) || self.failed.is_some();
        self.reserved += if takes { visits } else { 0 };
        takes
    }

    /// Whether none of its users makes anything now.
    pub(crate) fn nothing_comes(&self) -> bool {
        self.users.iter().all(|user| user.upgrade().is_none_or(|user| user.nothing_comes()))
    }
}

/// One open output. It is opened when the first of its users begins and closed when the last one has ended, by
/// [`OutputPool`](super::output_pool::OutputPool). [`OutputQueue::push`] never waits: whoever makes changes waits for room in all of its
/// outputs before it makes them ([`OutputQueue::reserve`], [`OutputQueue::reserve_next`]), so that visits never run ahead of a slow output,
/// and an output that hangs keeps nothing from the others. Beyond its bounds a queue holds what one visit of each thread has led to.
pub(crate) struct OutputQueue {
    pub(crate) id: ConnectionId,
    pub(crate) name: String,
    /// Those that it was opened with.
    pub(crate) settings: serde_json::Value,
    pub(crate) capabilities: OutputCapabilities,
    /// As in [`Opened::session`].
    pub(crate) session: Option<i64>,
    /// None once it was closed.
    opened: Mutex<Option<Opened>>,
    queue: Monitor<QueueState>,
}

impl OutputQueue {
    pub(crate) fn new(connection: &Connection, opened: Opened) -> OutputQueue {
        OutputQueue {
            id: connection.id,
            name: connection.name.clone(),
            settings: connection.settings.clone(),
            capabilities: opened.capabilities,
            session: opened.session,
            opened: Mutex::new(Some(opened)),
            queue: Monitor::default(),
        }
    }

    /// What a batch has to know of it.
    pub(crate) fn destination(&self) -> Destination {
        let OutputQueue { id, capabilities, session, .. } = *self;
        Destination { id, capabilities, session }
    }

    /// The output itself. Whoever sends holds it from the intent to the answer, so that changes arrive in the order of their numbers.
    pub(crate) fn opened(&self) -> MutexGuard<'_, Option<Opened>> {
        lock(&self.opened)
    }

    /// From now on it is asked whether something comes, and told when the output fails.
    pub(crate) fn join(&self, user: Weak<dyn OutputUser>) {
        let mut queue = self.lock();
        queue.users.retain(|user| user.strong_count() > 0);
        queue.users.push(user);
    }

    /// Takes room for so many visits of a run, if there is as much for its priority; to be given back with [`OutputQueue::give_back`].
    pub(crate) fn reserve(&self, visits: usize, priority: Priority) -> bool {
        self.lock().reserve(visits, priority)
    }

    /// Gives room back.
    pub(crate) fn give_back(&self, visits: usize) {
        self.lock().reserved -= visits;
        self.queue.notify();
    }

    /// Whether it has more changes waiting than it should.
    pub(crate) fn is_full(&self) -> bool {
        let queue = self.lock();
        queue.is_full() && queue.failed.is_none()
    }

    /// Waits for room for so many visits and takes it, ahead of all who wait with a worse priority; false when its user stops.
    pub(crate) fn reserve_next(&self, user: &dyn OutputUser, visits: usize, priority: Priority) -> bool {
        let mut queue = self.lock();
        queue.in_line.push(priority);
        let mut has_room = false;
        queue = self.queue.wait_while(queue, |queue| {
            has_room = queue.reserve(visits, priority);
            !has_room && !user.stops()
        });
        let place = queue.in_line.iter().position(|other| *other == priority);
        place.map(|place| queue.in_line.swap_remove(place));
        drop(queue);
        // Those behind it may be next.
        self.queue.notify();
        has_room
    }

    /// Waits while more changes wait than should, unless its user stops.
    pub(crate) fn wait_while_full(&self, user: &dyn OutputUser) {
        let is_full = |queue: &mut QueueState| queue.is_full() && queue.failed.is_none() && !user.stops();
        drop(self.queue.wait_while(self.lock(), is_full));
    }

    /// Appends a change. One that an output has failed for is dropped.
    pub(crate) fn push(&self, queued: QueuedChange) {
        let mut queue = self.lock();
        if queue.failed.is_some() {
            // Its drop may end a claim, whose lock must not wait for this one.
            drop(queue);
            return;
        }
        let before = queue.is_enough();
        queue.bytes += queued.bytes();
        queue.waiting.push_back(queued);
        // The sender is woken when it may begin to wait for more, and when it need not wait any longer.
        if queue.waiting.len() == 1 || (!before && queue.is_enough()) {
            self.queue.notify();
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.queue.lock()
    }

    /// Waits while something holds of the queue, at most `longest`.
    pub(crate) fn wait_while<'q>(
        &'q self,
        queue: MutexGuard<'q, QueueState>,
        longest: Duration,
        mut holds: impl FnMut(&QueueState) -> bool,
    ) -> MutexGuard<'q, QueueState> {
        self.queue.wait_at_most(queue, longest, |queue| holds(queue)).0
    }

    /// Room was made, a user stops, or nothing more is being made.
    pub(crate) fn notify(&self) {
        // Whoever is about to wait has looked before this, or sees what has changed.
        drop(self.lock());
        self.queue.notify();
    }

    /// No more will come.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.queue.notify();
    }

    /// The output takes nothing any more. Its users hear it before the changes that wait are dropped: a document whose visit ends
    /// unanswered must not look complete.
    pub(crate) fn fail(&self, error: &EngineError) {
        let mut queue = self.lock();
        if queue.failed.is_some() {
            return;
        }
        queue.failed = Some(error.clone());
        queue.bytes = 0;
        let (waiting, users) = (std::mem::take(&mut queue.waiting), queue.users.clone());
        drop(queue);
        for user in users.iter().filter_map(Weak::upgrade) {
            user.fail(error.clone());
        }
        self.queue.notify();
        drop(waiting);
    }

    /// Why it takes nothing any more.
    pub(crate) fn failure(&self) -> Option<EngineError> {
        self.lock().failed.clone()
    }

    /// Fails the output where this thread panics before the guard is dropped.
    pub(crate) fn fails_on_panic(&self) -> FailsOnPanic<'_> {
        FailsOnPanic(self)
    }
}

/// See [`OutputQueue::fails_on_panic`].
pub(crate) struct FailsOnPanic<'q>(&'q OutputQueue);

impl Drop for FailsOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let fault = Fault::broken("panic", "a fault of this program met it; report this, and run again");
            self.0.fail(&EngineError::Output { name: self.0.name.clone(), fault });
        }
    }
}
