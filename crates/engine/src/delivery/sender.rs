//! The sender of one output: intent, batch, confirmation (design 4.7).

mod told;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use ingather_contract::output::Generation;
use ingather_model::ids::JobId;
use ingather_model::limits;
use ingather_store::definitions::Defined;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Durability, Sql, StoreError, connections, jobs};

use super::author::Author;
use super::batch::{Batch, intent_durability};
use super::change::QueuedChange;
use super::in_flight::{self, InFlight};
use super::output_queue::OutputQueue;
use super::removal::Removals;
use super::telling::note_loss;
use super::writer::Writer;
use crate::error::{EngineError, Result};
use crate::visit::completion::{self, Completions};
use crate::visit::outcome::PendingVisit;

pub(crate) use told::refer;

/// Sends the changes of one queue to its output, in batches, until the queue is closed. It is the only sender of that output: what the
/// delivery log says of an address holds because nobody else changes it meanwhile.
pub(crate) struct Sender {
    writer: Writer,
    queue: Arc<OutputQueue>,
    /// Applied, not committed.
    open: Vec<InFlight>,
    /// Told before them, not confirmed.
    told: Vec<Defined>,
    open_since: i64,
    /// How long they may stay so.
    commit_ms: i64,
    jobs: Jobs,
}

/// Which jobs share addresses with others in this output, as of the jobs that the store had when it was last asked.
#[derive(Default)]
struct Jobs {
    version: Option<jobs::Version>,
    shared: HashMap<JobId, bool>,
}

impl Sender {
    pub(crate) fn new(writer: Writer, queue: Arc<OutputQueue>) -> Sender {
        let commit_ms = limits::INDEX_COMMIT_MS;
        let (open, told, jobs) = (Vec::new(), Vec::new(), Jobs::default());
        Sender { writer, queue, open, told, open_since: 0, commit_ms, jobs }
    }

    /// Sends until the queue is closed, or something fails that no document is to blame for: the output is failed then.
    pub(crate) fn work(mut self) {
        let queue = self.queue.clone();
        let _fails = queue.fails_on_panic();
        if let Err(error) = self.send_all() {
            // Before what it holds is dropped.
            queue.fail(&error);
        }
    }

    fn send_all(&mut self) -> Result<()> {
        while let Some(batch) = self.take() {
            if batch.is_empty() {
                self.tell()?;
            }
            for (author, changes) in by_job(batch) {
                self.deliver(author, changes)?;
            }
            let full = self.open.len() >= limits::INDEX_COMMIT_DOCUMENTS
                || self.writer.call.now() - self.open_since >= self.commit_ms;
            if !self.open.is_empty() && (!self.queue.capabilities.commits || full || self.idle()) {
                self.confirm()?;
            }
        }
        self.confirm()
    }

    /// Nothing waits for this output, and nothing is being made for it.
    fn idle(&self) -> bool {
        let queue = self.queue.lock();
        queue.waiting.is_empty() && (queue.closed || queue.nothing_comes())
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
            !(queue.is_enough() || queue.closed || queue.nothing_comes())
        });
        if queue.waiting.is_empty() && queue.closed {
            return None;
        }
        let mut batch = Vec::with_capacity(queue.waiting.len().min(limits::DELIVERY_BATCH_MAX));
        let (mut bytes, mut given_up) = (0, Vec::new());
        while batch.len() < limits::DELIVERY_BATCH_MAX && bytes < limits::DELIVERY_BYTES_MAX {
            let Some(queued) = queue.waiting.pop_front() else { break };
            if queued.is_given_up() {
                queue.bytes = queue.bytes.saturating_sub(queued.bytes());
                given_up.push(queued);
                continue;
            }
            bytes += queued.bytes();
            batch.push(queued);
        }
        queue.bytes = queue.bytes.saturating_sub(bytes);
        drop(queue);
        self.queue.notify();
        // Their drop may end a claim, whose lock must not wait for that of the queue.
        drop(given_up);
        Some(batch)
    }

    /// Sends changes of one job.
    fn deliver(&mut self, author: Arc<Author>, changes: Vec<QueuedChange>) -> Result<()> {
        let mut batch = Batch::new(author, self.queue.destination(), changes);
        let queue = self.queue.clone();
        let _fails = queue.fails_on_panic();
        // One change of an address is under way at a time: the next one goes by what became of it.
        let sent = if self.collides(&batch) { self.confirm() } else { Ok(()) };
        let sent = sent.and_then(|()| self.send(&mut batch));
        if let Err(error) = &sent {
            queue.fail(error);
        }
        self.open.append(&mut batch.in_flight);
        sent
    }

    /// Whether another job has a change of one of these addresses under way.
    fn collides(&self, batch: &Batch) -> bool {
        let job = batch.author.job;
        if self.open.iter().all(|entry| entry.queued.origin.author().job == job) {
            return false;
        }
        let address = |entry: &InFlight| (entry.intent.address_parent, entry.intent.address);
        let open: HashSet<(i64, i64)> = self.open.iter().map(address).collect();
        batch.in_flight.iter().any(|entry| open.contains(&address(entry)))
    }

    /// Writes what is about to be sent, on disk before it is sent, and sends it.
    fn send(&mut self, batch: &mut Batch) -> Result<()> {
        let Sender { writer, queue, jobs, .. } = self;
        let Writer { store, lease, call } = &*writer;
        let mut output = queue.opened();
        let Some(opened) = output.as_mut() else { return Ok(()) };
        let sent_ahead = store.write(intent_durability(), |sql| {
            lease.fence(sql)?;
            let shared = jobs.share(sql, batch.author.job, &queue.name)? || !batch.author.unique_uris;
            batch.intend(sql, opened, shared, call.now())?;
            Ok(failpoint(Failpoint::IntentAfterSend).then(|| batch.send(call, opened)))
        })?;
        if self.open.is_empty() {
            self.open_since = call.now();
            self.commit_ms = limits::INDEX_COMMIT_MS;
        }
        self.commit_ms = self.commit_ms.min(batch.author.commit_ms);
        // A process that stood still since it wrote its intents may have lost its lease, and another one may have sent something newer.
        if !lease.outlasts(call.steady(), limits::LEASE_LEFT_MS_MIN)
            && !failpoint(Failpoint::SentAfterTheLease)
        {
            writer.extend_lease()?;
        }
        let told = sent_ahead.unwrap_or_else(|| batch.send(call, opened));
        self.told.extend(told.into_iter().flatten());
        batch.let_records_go();
        if failpoint(Failpoint::DeleteBeforeConfirm) {
            let removals = batch.in_flight.iter_mut().filter(|e| e.queued.origin.removal().is_some());
            removals.for_each(|entry| entry.answer = Ok(()));
        }
        Ok(())
    }

    /// Makes durable what was applied, where the output has commits; `later`: for a failpoint, not yet.
    fn commit(&self, later: bool) -> Result<Option<Generation>> {
        let mut output = self.queue.opened();
        let Some(output) = output.as_mut() else { return Ok(None) };
        if later && output.capabilities.commits {
            return Ok(Some(output.output.generation()));
        }
        let done = output.commit(&self.writer.call);
        if done.is_err() {
            note_loss(self.writer.desk(), self.queue.id, output)?;
        }
        done.map_err(|fault| EngineError::Output { name: self.queue.name.clone(), fault })
    }

    /// Commits, then writes what the output said, and settles the documents that waited for it last.
    fn confirm(&mut self) -> Result<()> {
        if self.open.is_empty() {
            return Ok(());
        }
        let (in_flight, told) = (std::mem::take(&mut self.open), std::mem::take(&mut self.told));
        let _fails = self.queue.fails_on_panic();
        let confirmed = self.confirm_all(&in_flight, &told);
        if let Err(error) = &confirmed {
            self.queue.fail(error);
        }
        confirmed
    }

    fn confirm_all(&self, in_flight: &[InFlight], told: &[Defined]) -> Result<()> {
        let (Writer { store, lease, call }, queue) = (&self.writer, &self.queue);
        let generation = self.commit(failpoint(Failpoint::ConfirmationBeforeCommit))?;
        in_flight.iter().for_each(in_flight::note);
        // A document is complete when all its outputs have confirmed: with the last confirmation, or after it when two
        // outputs confirm at the same time. Neither may rely on what the other has not committed.
        let (last, not_alone): (Vec<_>, Vec<_>) = in_flight::by_visit(in_flight)
            .into_iter()
            .partition(|(visit, answers)| visit.answers.waits_for(*answers));
        let (last, not_alone) = match failpoint(Failpoint::SettledByTheFirstOutput) {
            true => {
                let closed = |(visit, answers): &(&PendingVisit, usize)| visit.answers.close(*answers);
                (last.into_iter().chain(not_alone).filter(closed).collect(), Vec::new())
            }
            false => (last, not_alone),
        };
        let completions = Completions::new(last.into_iter().map(|(visit, _)| visit));
        let removals = Removals::of(in_flight::by_removal(in_flight));
        let alone = removals.alone();
        store.write(Durability::Synced, |sql| {
            lease.fence(sql)?;
            let now = call.now();
            completions.hold(sql, alone.pushed())?;
            in_flight::write_answers(sql, queue.id, now, in_flight, told)?;
            if let Some(generation) = &generation {
                connections::record_generation(
                    sql,
                    queue.id,
                    &generation.identity,
                    generation.number,
                    generation.session,
                )?;
            }
            alone.write(sql, now)?;
            completions.write(sql)
        })?;
        completions.counted();
        alone.counted();
        in_flight::count_delivered(in_flight);
        if failpoint(Failpoint::ConfirmationBeforeCommit) {
            self.commit(false)?;
        }
        let over = not_alone.into_iter().filter(|(visit, answers)| visit.answers.close(*answers));
        completion::complete(over.map(|(visit, _)| visit))
    }
}

/// The changes of each job, in their order.
fn by_job(changes: Vec<QueuedChange>) -> Vec<(Arc<Author>, Vec<QueuedChange>)> {
    let mut jobs: Vec<(Arc<Author>, Vec<QueuedChange>)> = Vec::new();
    for change in changes {
        let job = change.origin.author().job;
        match jobs.iter_mut().find(|(author, _)| author.job == job) {
            Some((_, of_job)) => of_job.push(change),
            None => jobs.push((change.origin.author().clone(), vec![change])),
        }
    }
    jobs
}

impl Jobs {
    /// Whether documents of other jobs may claim the same addresses of an output. Asked in the transaction of the intent: a job that
    /// begins to use the output meanwhile has written no intent yet.
    fn share(
        &mut self,
        sql: &mut Sql<'_>,
        job: JobId,
        output: &str,
    ) -> std::result::Result<bool, StoreError> {
        let version = Some(jobs::version(sql)?);
        if self.version != version {
            *self = Jobs { version, shared: HashMap::new() };
        }
        if let Some(shared) = self.shared.get(&job) {
            return Ok(*shared);
        }
        let uses = |other: &jobs::Job| {
            let definition = &other.definition;
            definition.outputs.iter().chain(&definition.retired).any(|name| name == output)
        };
        let shared = jobs::list(sql)?.iter().any(|other| other.id != job && uses(other));
        self.shared.insert(job, shared);
        Ok(shared)
    }
}
