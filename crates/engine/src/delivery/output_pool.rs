//! The outputs that are open in this process: each once, whatever the number of jobs that send to it.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use ingather_model::ids::ConnectionId;
use ingather_store::connections::Connection;
use ingather_store::turns::{self, Thread, lock};

use super::opened::Opened;
use super::output_queue::OutputQueue;
use super::sender::Sender;
use super::writer::Writer;
use crate::error::{EngineError, Refusal, Result};

/// The outputs of one process. An output is opened for the first who uses it and closed after the last one, so that a process that
/// rests holds no index open.
#[derive(Default)]
pub(crate) struct OutputPool {
    slots: Mutex<BTreeMap<ConnectionId, Arc<Mutex<Slot>>>>,
}

/// One output, open while somebody uses it. Its lock is held while it is opened or closed: who comes meanwhile waits for that, and
/// not for other outputs.
#[derive(Default)]
struct Slot {
    uses: usize,
    /// Somebody works on the output itself, and opens it as they need.
    repaired: bool,
    open: Option<(Arc<OutputQueue>, Thread)>,
}

/// The right to work on an output itself, for as long as this lives: nobody sends to it meanwhile.
pub(crate) struct OutputRepair {
    slot: Arc<Mutex<Slot>>,
}

/// The use of an open output; it stays open until the last use is dropped.
pub(crate) struct OutputUse {
    slot: Arc<Mutex<Slot>>,
    queue: Arc<OutputQueue>,
}

impl OutputPool {
    /// The output of a connection; opened, and its sender started, when nobody uses it by now.
    ///
    /// # Errors
    /// What opening it says; and where it has failed under those who use it, until they have ended.
    pub(crate) fn get(
        &self,
        writer: &Writer,
        connection: &Connection,
        open: impl FnOnce() -> Result<Opened>,
    ) -> Result<OutputUse> {
        let slot = lock(&self.slots).entry(connection.id).or_default().clone();
        let mut held = lock(&slot);
        if held.repaired {
            return Err(EngineError::refused(
                Refusal::Busy,
                format!(
                    "output {} is being repaired; ask again when `ingather verify --repair` has ended",
                    connection.name
                ),
            ));
        }
        let queue = match &held.open {
            Some((queue, _)) => queue.clone(),
            None => {
                let queue = Arc::new(OutputQueue::new(connection, open()?));
                let sender = Sender::new(writer.clone(), queue.clone());
                let thread = turns::spawn(format!("send {}", connection.name), move || sender.work());
                let thread = thread.map_err(|error| {
                    EngineError::refused(
                        Refusal::Resources,
                        format!("a thread cannot be started ({error}); give the program more memory, or fewer --threads"),
                    )
                })?;
                held.open = Some((queue.clone(), thread));
                queue
            }
        };
        if let Some(error) = queue.failure() {
            return Err(error);
        }
        held.uses += 1;
        drop(held);
        Ok(OutputUse { slot, queue })
    }

    /// Tries whether an output can be opened. One that is open here can be, and takes no second opening beside the first.
    ///
    /// # Errors
    /// What opening it says; and where it has failed under those who use it.
    pub(crate) fn try_open(&self, id: ConnectionId, open: impl FnOnce() -> Result<()>) -> Result<()> {
        let slot = lock(&self.slots).entry(id).or_default().clone();
        let held = lock(&slot);
        match &held.open {
            Some((queue, _)) => queue.failure().map_or(Ok(()), Err),
            None if held.repaired => Ok(()),
            None => open(),
        }
    }

    /// The right to work on an output itself.
    ///
    /// # Errors
    /// `Busy` while somebody sends to it, or works on it in the same way.
    pub(crate) fn repair(&self, connection: &Connection) -> Result<OutputRepair> {
        let slot = lock(&self.slots).entry(connection.id).or_default().clone();
        let mut held = lock(&slot);
        if held.repaired || held.uses > 0 {
            return Err(EngineError::refused(
                Refusal::Busy,
                format!(
                    "output {} is in use; repair it when the jobs that send to it have ended",
                    connection.name
                ),
            ));
        }
        held.repaired = true;
        drop(held);
        Ok(OutputRepair { slot })
    }

    /// The name of each output that is open, and how many changes wait for it. One that is being opened or closed now is left out.
    pub(crate) fn queued(&self) -> Vec<(String, usize)> {
        let slots: Vec<Arc<Mutex<Slot>>> = lock(&self.slots).values().cloned().collect();
        let open = slots.iter().filter_map(|slot| {
            let slot = slot.try_lock().ok()?;
            slot.open.as_ref().map(|(queue, _)| (queue.name.clone(), queue.lock().waiting.len()))
        });
        open.collect()
    }

    /// Nothing can be sent any more: all outputs that are open fail. One that is being opened or closed now fails by its own writes.
    pub(crate) fn fail(&self, error: &EngineError) {
        let slots: Vec<Arc<Mutex<Slot>>> = lock(&self.slots).values().cloned().collect();
        let open = slots.iter().filter_map(|slot| {
            let slot = slot.try_lock().ok()?;
            slot.open.as_ref().map(|(queue, _)| queue.clone())
        });
        // Not while a slot is locked: what fails may end who uses it.
        let queues: Vec<Arc<OutputQueue>> = open.collect();
        queues.iter().for_each(|queue| queue.fail(error));
    }
}

impl Drop for OutputRepair {
    fn drop(&mut self) {
        lock(&self.slot).repaired = false;
    }
}

impl OutputUse {
    /// The output, for those that end before this use.
    pub(crate) fn queue(&self) -> Arc<OutputQueue> {
        self.queue.clone()
    }
}

impl Deref for OutputUse {
    type Target = OutputQueue;

    fn deref(&self) -> &OutputQueue {
        &self.queue
    }
}

impl Drop for OutputUse {
    fn drop(&mut self) {
        let mut slot = lock(&self.slot);
        slot.uses -= 1;
        if slot.uses > 0 {
            return;
        }
        if let Some((queue, sender)) = slot.open.take() {
            queue.close();
            // Its panics are told to whoever used it.
            let _ended = sender.join();
            drop(queue.opened().take());
        }
    }
}
