//! The sender of one output: intent, batch, confirmation (design 4.7).

mod told;

use std::time::Duration;

use ingather_contract::output::Generation;
use ingather_model::limits;
use ingather_store::definitions::Defined;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Durability, connections};

use super::batch::{Batch, intent_durability};
use super::change::QueuedChange;
use super::in_flight::{self, InFlight};
use super::output_queue::OutputQueue;
use super::telling::{Desk, note_loss};
use crate::error::{EngineError, Result};
use crate::run::Run;
use crate::visit::completion::{self, Completion};
use crate::visit::outcome::PendingVisit;

/// Sends the changes of one queue to its output, in batches, until the queue is closed. It is the only sender of that output: what the
/// delivery log says of an address holds because nobody else changes it meanwhile.
pub(crate) struct Sender<'r> {
    run: &'r Run,
    queue: &'r OutputQueue,
    /// Applied, not committed.
    open: Vec<InFlight>,
    /// Told before them, not confirmed.
    told: Vec<Defined>,
    open_since: i64,
}

impl<'r> Sender<'r> {
    pub(crate) fn new(run: &'r Run, queue: &'r OutputQueue) -> Sender<'r> {
        Sender { run, queue, open: Vec::new(), told: Vec::new(), open_since: 0 }
    }

    pub(crate) fn work(mut self) -> Result<()> {
        self.refer()?;
        while let Some(batch) = self.take() {
            if batch.is_empty() {
                self.tell()?;
            } else {
                self.deliver(batch)?;
            }
            let full = self.open.len() >= limits::INDEX_COMMIT_DOCUMENTS
                || self.run.call.now() - self.open_since >= limits::INDEX_COMMIT_MS;
            if !self.open.is_empty() && (!self.queue.capabilities.commits || full || self.idle()) {
                self.confirm()?;
            }
        }
        self.confirm()
    }

    /// Nothing waits for this output, and nothing is being made for it.
    fn idle(&self) -> bool {
        let queue = self.queue.lock();
        queue.waiting.is_empty() && (queue.closed || self.run.dispatcher.nothing_comes())
    }

    /// The next batch: empty when there is at most something to commit, none at the end.
    fn take(&self) -> Option<Vec<QueuedChange>> {
        let mut queue = self.queue.lock();
        if self.open.is_empty() {
            queue = self.queue.wait_while(queue, Duration::from_millis(limits::SENDER_REST_MS), |queue| {
                queue.waiting.is_empty() && !queue.closed
            });
        }
        queue = self.queue.wait_while(queue, Duration::from_millis(limits::SENDER_LINGER_MS), |queue| {
            !(queue.is_enough() || queue.closed || self.run.dispatcher.nothing_comes())
        });
        if queue.waiting.is_empty() && queue.closed {
            return None;
        }
        let mut batch = Vec::with_capacity(queue.waiting.len().min(limits::DELIVERY_BATCH_MAX));
        let mut bytes = 0;
        while batch.len() < limits::DELIVERY_BATCH_MAX && bytes < limits::DELIVERY_BYTES_MAX {
            let Some(queued) = queue.waiting.pop_front() else { break };
            bytes += queued.bytes();
            batch.push(queued);
        }
        queue.bytes = queue.bytes.saturating_sub(bytes);
        drop(queue);
        self.queue.notify();
        Some(batch)
    }

    /// Writes what is about to be sent, on disk before it is sent, and sends it.
    fn deliver(&mut self, changes: Vec<QueuedChange>) -> Result<()> {
        let (run, queue) = (self.run, self.queue);
        let mut output = queue.output();
        let (Some(store), Some(opened)) = (&run.store, output.as_mut()) else { return Ok(()) };
        let mut batch = Batch::new(&run.author, queue.destination(), changes);
        let sent_ahead = store.write(intent_durability(), |sql| {
            run.fence(sql)?;
            batch.intend(sql, opened, run.call.now())?;
            Ok(failpoint(Failpoint::IntentAfterSend).then(|| batch.send(&run.call, opened)))
        })?;
        if self.open.is_empty() {
            self.open_since = run.call.now();
        }
        let told = sent_ahead.unwrap_or_else(|| batch.send(&run.call, opened));
        self.told.extend(told.into_iter().flatten());
        self.open.append(&mut batch.in_flight);
        Ok(())
    }

    /// Makes durable what was applied, where the output has commits; `later`: for a planted fault, not yet.
    fn commit(&self, later: bool) -> Result<Option<Generation>> {
        let mut output = self.queue.output();
        let Some(output) = output.as_mut() else { return Ok(None) };
        if later && output.capabilities.commits {
            return Ok(Some(output.output.generation()));
        }
        let done = output.commit(&self.run.call);
        if let (true, Some(store), Some(lease)) = (done.is_err(), &self.run.store, &self.run.lease) {
            note_loss(Desk { store, lease, call: &self.run.call }, self.queue.id, output)?;
        }
        done.map_err(|fault| EngineError::Output { name: self.queue.name.clone(), fault })
    }

    /// Commits, then writes what the output said, and settles the documents that waited for it last.
    fn confirm(&mut self) -> Result<()> {
        let (in_flight, told) = (std::mem::take(&mut self.open), std::mem::take(&mut self.told));
        let (run, queue) = (self.run, self.queue);
        let Some(store) = &run.store else { return Ok(()) };
        if in_flight.is_empty() {
            return Ok(());
        }
        let generation = self.commit(failpoint(Failpoint::ConfirmationBeforeCommit))?;
        in_flight.iter().for_each(in_flight::note);
        // A document is complete when all its outputs have confirmed: with the last confirmation, or after it when two
        // outputs confirm at the same time. Neither may rely on what the other has not committed.
        let (last, not_alone): (Vec<_>, Vec<_>) = in_flight::by_visit(&in_flight)
            .into_iter()
            .partition(|(visit, answers)| visit.waits_for(*answers));
        let (last, not_alone) = match failpoint(Failpoint::SettledByTheFirstOutput) {
            true => {
                let closed = |(visit, answers): &(&PendingVisit, usize)| visit.close(*answers);
                (last.into_iter().chain(not_alone).filter(closed).collect(), Vec::new())
            }
            false => (last, not_alone),
        };
        let completion = Completion::new(run, last.into_iter().map(|(visit, _)| visit));
        store.write(Durability::Synced, |sql| {
            run.fence(sql)?;
            let now = run.call.now();
            in_flight::write_answers(sql, queue.id, now, &in_flight, &told)?;
            if let Some(generation) = &generation {
                connections::record_generation(
                    sql,
                    queue.id,
                    &generation.identity,
                    generation.number,
                    generation.session,
                )?;
            }
            completion.write(run, sql)
        })?;
        run.progress
            .delivered(in_flight.iter().filter(|e| e.answer.is_ok() && !e.nothing_to_send).count() as u64);
        completion.counted(run);
        if failpoint(Failpoint::ConfirmationBeforeCommit) {
            self.commit(false)?;
        }
        let over = not_alone.into_iter().filter(|(visit, answers)| visit.close(*answers));
        completion::complete(run, over.map(|(visit, _)| visit).collect())
    }
}
