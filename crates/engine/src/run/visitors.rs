//! The threads of a run that visit: what they wait for before they claim documents, and between two of them.

use ingather_model::limits;

use super::Run;
use crate::delivery::output_queue::OutputQueue;
use crate::dispatcher::WorkItem;
use crate::process::visitors::Permit;

/// What a visitor has taken before it claims documents: room in the queues of all outputs of its run, and the right to be busy.
pub(crate) struct Place<'r> {
    run: &'r Run,
    permit: Permit,
    /// Visits that room is reserved for.
    reserved: usize,
    /// Documents that it has claimed.
    claimed: usize,
}

impl<'r> Place<'r> {
    pub(crate) fn new(run: &'r Run, permit: Permit) -> Place<'r> {
        Place { run, permit, reserved: 0, claimed: 0 }
    }

    /// Waits until there is something to visit and a place for it, and takes it; none when the run is over or stops.
    pub(crate) fn claim(&mut self) -> Option<Vec<WorkItem>> {
        loop {
            self.clear();
            let ready = self.run.dispatcher.wait_ready()?;
            self.permit.take(|| self.run.dispatcher.closed());
            if self.reserve(ready)
                && let Some(items) = self.run.dispatcher.claim(self.reserved)
            {
                self.claimed = items.len();
                return Some(items);
            }
        }
    }

    /// Takes room for visits in all outputs or in none, so that nobody keeps one output's room while it waits for another one. Where there
    /// is none, waits for it; false where there is none then, either.
    fn reserve(&mut self, visits: usize) -> bool {
        let visits = visits.min(limits::CLAIM_MAX);
        let priority = self.permit.priority();
        let queues: Vec<&OutputQueue> = self.run.queues().collect();
        let room_in_all = |has: Option<usize>| {
            let lacks = |n: &usize| has != Some(*n) && !queues[*n].reserve(visits, priority);
            let Some(full) = (0..queues.len()).find(lacks) else { return Ok(()) };
            let taken = (0..queues.len()).filter(|n| *n < full || has == Some(*n));
            taken.for_each(|n| queues[n].give_back(visits));
            Err(full)
        };
        let has_room = room_in_all(None).or_else(|full| {
            let mut comes = false;
            self.rest(|run| comes = queues[full].reserve_next(run, visits, priority));
            if comes { room_in_all(Some(full)) } else { Err(full) }
        });
        self.reserved = if has_room.is_ok() { visits } else { 0 };
        has_room.is_ok()
    }

    /// Before a document is read: waits while an output has more changes waiting than it should, since nobody knows how large what will be
    /// read is.
    pub(crate) fn wait_while_full(&mut self) {
        if self.run.queues().any(OutputQueue::is_full) {
            self.rest(Run::wait_while_full);
        }
    }

    /// Waits for an output, in nobody's way: others may be busy meanwhile, and outputs need not wait for what this one makes.
    fn rest(&mut self, wait: impl FnOnce(&Run)) {
        self.permit.give_back();
        self.run.dispatcher.waits_for_room(self.claimed);
        self.run.notify_outputs();
        wait(self.run);
        self.run.dispatcher.has_room(self.claimed);
        self.permit.take(|| self.run.dispatcher.closed());
    }

    fn clear(&mut self) {
        self.claimed = 0;
        let reserved = std::mem::take(&mut self.reserved);
        if reserved > 0 {
            self.run.queues().for_each(|queue| queue.give_back(reserved));
        }
        self.permit.give_back();
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.clear();
    }
}
