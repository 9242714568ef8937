//! The queue of changes that wait for one output.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use ingather_contract::output::OutputCapabilities;
use ingather_model::ids::{ConnectionId, Digest};
use ingather_model::limits;
use ingather_store::connections::Connection;

use super::batch::Destination;
use super::change::QueuedChange;
use super::opened::Opened;
use crate::dispatcher::Dispatcher;

/// The changes that wait for one output.
#[derive(Default)]
pub(crate) struct QueueState {
    pub(crate) waiting: VecDeque<QueuedChange>,
    pub(crate) bytes: usize,
    /// No more will come.
    pub(crate) closed: bool,
}

impl QueueState {
    /// Enough for a batch that need not wait for more (design store 1.4: below it, commits cost more than rows).
    pub(crate) fn is_enough(&self) -> bool {
        self.waiting.len() >= limits::DELIVERY_BATCH_MIN || self.bytes >= limits::DELIVERY_BYTES_MAX
    }
}

/// One output of a run, with the queue of changes that wait for it. [`OutputQueue::push`] waits while the queue is full
/// (`QUEUED_MAX`, `QUEUED_BYTES_MAX`), so that visits never run ahead of a slow output.
pub(crate) struct OutputQueue {
    pub(crate) id: ConnectionId,
    pub(crate) name: String,
    pub(crate) capabilities: OutputCapabilities,
    /// Digest of what it receives: stages and its own settings.
    pub(crate) settings: Digest,
    /// Other documents may claim the same addresses: owners are looked up before a send.
    pub(crate) shared: bool,
    /// As in [`Opened::session`].
    pub(crate) session: Option<i64>,
    /// None in a run that writes nothing, and once the sweep has taken it over.
    output: Mutex<Option<Opened>>,
    queue: Mutex<QueueState>,
    changed: Condvar,
}

impl OutputQueue {
    pub(crate) fn new(
        connection: &Connection,
        capabilities: OutputCapabilities,
        settings: Digest,
        shared: bool,
        opened: Option<Opened>,
    ) -> OutputQueue {
        OutputQueue {
            id: connection.id,
            name: connection.name.clone(),
            capabilities,
            settings,
            shared,
            session: opened.as_ref().and_then(|opened| opened.session),
            output: Mutex::new(opened),
            queue: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// What a batch has to know of it.
    pub(crate) fn destination(&self) -> Destination {
        let OutputQueue { id, capabilities, shared, session, .. } = *self;
        Destination { id, capabilities, shared, session }
    }

    /// The output itself, for the one who sends.
    pub(crate) fn output(&self) -> MutexGuard<'_, Option<Opened>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the output over, once nothing is delivered any more.
    pub(crate) fn take_output(&self) -> Option<Opened> {
        self.output().take()
    }

    /// Gives it back.
    pub(crate) fn give_back(&self, opened: Opened) {
        *self.output() = Some(opened);
    }

    /// Appends a change; waits while the queue is full, and visits are still made.
    pub(crate) fn push(&self, dispatcher: &Dispatcher, queued: QueuedChange) {
        let mut queue = self.lock();
        while !dispatcher.closed()
            && (queue.waiting.len() >= limits::QUEUED_MAX || queue.bytes >= limits::QUEUED_BYTES_MAX)
        {
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let before = queue.is_enough();
        queue.bytes += queued.bytes();
        queue.waiting.push_back(queued);
        // The sender is woken when it may begin to wait for more, and when it need not wait any longer.
        if queue.waiting.len() == 1 || (!before && queue.is_enough()) {
            self.changed.notify_all();
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while something holds of the queue, at most `longest`.
    pub(crate) fn wait_while<'q>(
        &'q self,
        queue: MutexGuard<'q, QueueState>,
        longest: std::time::Duration,
        mut holds: impl FnMut(&QueueState) -> bool,
    ) -> MutexGuard<'q, QueueState> {
        let waited = self.changed.wait_timeout_while(queue, longest, |queue| holds(queue));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Room was made, or nothing more is being made.
    pub(crate) fn notify(&self) {
        self.changed.notify_all();
    }

    /// No more will come.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }
}
