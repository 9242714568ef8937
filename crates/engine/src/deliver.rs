//! Deliveries of one output: intent, batch, confirmation (design 4.7). One thread per output is its only sender.

pub(crate) mod completion;
pub(crate) mod definitions;
pub(crate) mod inherit;
pub(crate) mod misfit;
pub(crate) mod opening;
mod ownership;
pub(crate) mod told;
mod witness;

use std::sync::Arc;
use std::time::Duration;

use ingather_connector::model::document::Record;
use ingather_connector::model::fault::Fault;
use ingather_connector::model::ids::{AclId, ContainerId, Digest};
use ingather_connector::model::job::Keep;
use ingather_connector::model::limits;
use ingather_connector::output::{Change, Generation, Op};
use ingather_store::definitions::Defined;
use ingather_store::deliveries::{self, Answered, Confirmed, Intent};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Durability, Sql, StoreError, connections, documents, extracts};

use self::completion::{Completion, Outcome, PendingVisit};
use self::definitions::{Desk, Draft};
use self::inherit::NextOwner;
use crate::error::{EngineError, Result};
use crate::outputs::OutputQueue;
use crate::run::Run;
use crate::visit;
use crate::visit::parts::Part;

/// Longest wait for more before a small batch is sent, while more is being made.
const LINGER: Duration = Duration::from_millis(20);

/// What a change does at one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Put { version: Digest, access: Digest },
    Access { access: Digest },
    Delete,
}

impl ChangeKind {
    /// What it means for the balance when it is confirmed; `first`: nothing was ever confirmed before.
    pub(crate) fn outcome(self, first: bool) -> Outcome {
        match self {
            ChangeKind::Put { .. } if first => Outcome::Added,
            ChangeKind::Put { .. } => Outcome::Updated,
            ChangeKind::Access { .. } => Outcome::Access,
            ChangeKind::Delete => Outcome::Unchanged,
        }
    }
}

/// A change that waits in the queue of its output.
pub(crate) struct QueuedChange {
    pub(crate) visit: Arc<PendingVisit>,
    pub(crate) part: Part,
    pub(crate) uri: String,
    pub(crate) kind: ChangeKind,
    pub(crate) record: Option<Arc<Record>>,
    pub(crate) acl_id: Option<AclId>,
    pub(crate) container: Option<ContainerId>,
    pub(crate) first: bool,
}

impl QueuedChange {
    pub(crate) fn bytes(&self) -> usize {
        self.record.as_ref().map_or(256, |record| record.bytes())
    }
}

/// Hash of an address and of its parent, which keeps a folder's addresses together.
pub(crate) fn address(run: &Run, uri: &str) -> (i64, i64) {
    let parent = uri.rfind('/').map_or(0, |slash| slash + 1);
    (run.hasher.hash(&uri.as_bytes()[..parent]), run.hasher.hash(uri.as_bytes()))
}

/// A change that is written in the delivery log and was handed to the output, or is about to be.
struct InFlight {
    queued: QueuedChange,
    intent: Intent,
    /// The record whose access is sent, for outputs that judge by what they are told.
    speaks_of: Option<Digest>,
    /// The entry of another owner is already what this change would make it, or has to stay.
    nothing_to_send: bool,
    /// Who owns the entry once this owner has left it.
    next_owner: Option<NextOwner>,
    answer: std::result::Result<(), Fault>,
}

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
                let (draft, in_flight) = self.intend(batch)?;
                self.apply(&draft, in_flight);
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
            queue =
                self.queue.wait_while(queue, LINGER * 10, |queue| queue.waiting.is_empty() && !queue.closed);
        }
        queue = self.queue.wait_while(queue, LINGER, |queue| {
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

    /// Writes what is about to be sent, and what has to be told before; on disk before it is sent.
    fn intend(&self, batch: Vec<QueuedChange>) -> Result<(Draft, Vec<InFlight>)> {
        let (run, queue) = (self.run, self.queue);
        let Some(store) = &run.store else { return Ok((Draft::default(), Vec::new())) };
        let mut in_flight: Vec<InFlight> = batch.into_iter().map(|queued| self.entry(queued)).collect();
        let draft = store.write(intent_durability(), |sql| {
            run.fence(sql)?;
            if queue.shared {
                // One after the other: what an earlier change of this batch does to other owners, the later one has to see.
                for entry in &mut in_flight {
                    let owners =
                        deliveries::owners(sql, queue.id, entry.intent.address_parent, entry.intent.address)?;
                    ownership::resolve(sql, queue.capabilities, entry, &owners)?;
                    entry.next_owner.iter().try_for_each(|next_owner| {
                        next_owner.intend(sql, queue.id, &entry.intent, run.call.now())
                    })?;
                    if !failpoint(Failpoint::BatchUnaware) {
                        ownership::supersede(sql, queue, entry)?;
                    }
                }
            }
            if queue.shared && failpoint(Failpoint::BatchUnaware) {
                in_flight.iter().try_for_each(|entry| ownership::supersede(sql, queue, entry))?;
            }
            self.speak(sql, &mut in_flight)?;
            let draft = self.draft(sql, &in_flight)?;
            let first = connections::take_numbers(sql, queue.id, queue.session, in_flight.len())?;
            for (entry, seq) in in_flight.iter_mut().zip(first..) {
                entry.intent.seq = if failpoint(Failpoint::OlderSeqWins) { -seq } else { seq };
            }
            let now = run.call.now();
            // In order, so that the later of two changes of one document stands.
            let is_access = |entry: &InFlight| matches!(entry.queued.kind, ChangeKind::Access { .. });
            for like in in_flight.chunk_by(|a, b| is_access(a) == is_access(b)) {
                let intents: Vec<Intent> = like.iter().map(|entry| entry.intent).collect();
                deliveries::intend(sql, queue.id, now, is_access(&like[0]), &intents)?;
            }
            deliveries::remember_components(sql, &named(&in_flight))?;
            documents::set_access(sql, &accesses(&in_flight))?;
            if run.definition.keep == Keep::Extracted {
                // Their rows have the access of what was read now: what is kept is of before until the visit is over.
                extracts::forget(sql, &read(&in_flight))?;
            }
            let uris: Vec<(i64, &str)> = in_flight
                .iter()
                .filter(|entry| entry.queued.part.id == 0)
                .filter(|entry| entry.queued.uri != run.repository.uri(&entry.queued.visit.item.name))
                .map(|entry| (entry.intent.document, entry.queued.uri.as_str()))
                .collect();
            deliveries::remember_uris(sql, queue.id, &uris)?;
            let is_put = |entry: &&InFlight| {
                entry.nothing_to_send && matches!(entry.queued.kind, ChangeKind::Put { .. })
            };
            let nothing_to_send: Vec<Answered> =
                in_flight.iter().filter(is_put).map(|entry| Answered::from(&entry.intent)).collect();
            deliveries::confirm(sql, queue.id, now, Confirmed::Record, &nothing_to_send)?;
            deliveries::end_as(sql, queue.id, "shared", &nothing_to_send)?;
            if failpoint(Failpoint::IntentAfterSend) {
                self.ask(&draft, &mut in_flight);
            }
            Ok(draft)
        })?;
        Ok((draft, in_flight))
    }

    fn entry(&self, queued: QueuedChange) -> InFlight {
        let (address_parent, address) = address(self.run, &queued.uri);
        let (intended, intended_acl) = match queued.kind {
            ChangeKind::Put { version, access } => (version, access),
            // The record's digest stays as it stands; see `deliveries::intend`.
            ChangeKind::Access { access } => (Digest::NONE, access),
            ChangeKind::Delete => (Digest::NONE, Digest::NONE),
        };
        let document = queued.visit.item.id;
        let component = queued.part.id;
        let intent = Intent { document, component, address_parent, address, seq: 0, intended, intended_acl };
        InFlight { queued, intent, speaks_of: None, nothing_to_send: false, next_owner: None, answer: Ok(()) }
    }

    fn apply(&mut self, draft: &Draft, mut in_flight: Vec<InFlight>) {
        if self.open.is_empty() {
            self.open_since = self.run.call.now();
        }
        if failpoint(Failpoint::IntentAfterSend) || self.ask(draft, &mut in_flight) {
            self.told.extend(&draft.defined);
        }
        self.open.append(&mut in_flight);
    }

    /// Tells what is to be told, then sends what is to be sent, and keeps the answers. Whether it was told.
    fn ask(&self, draft: &Draft, in_flight: &mut [InFlight]) -> bool {
        let changes: Vec<Change> =
            in_flight.iter().filter(|e| !e.nothing_to_send).map(|e| self.change(e)).collect();
        let mut is_told = false;
        if let Some(output) = self.queue.output().as_mut() {
            let ahead = failpoint(Failpoint::EntryAheadOfItsContainer);
            let ahead = ahead.then(|| output.output.apply(&self.run.call, &changes));
            let answers = match output.tell(&self.run.call, draft) {
                Ok(()) => {
                    is_told = true;
                    if changes.is_empty() {
                        return true;
                    }
                    ahead.unwrap_or_else(|| output.output.apply(&self.run.call, &changes))
                }
                // Nobody may see what it cannot be told about.
                Err(fault) => changes.iter().map(|_| Err(fault.clone())).collect(),
            };
            let missing = Fault::passing("output", "the output gave no answer for this change");
            let mut answers = answers.into_iter();
            for entry in in_flight.iter_mut().filter(|entry| !entry.nothing_to_send) {
                entry.answer = answers.next().unwrap_or_else(|| Err(missing.clone()));
                if let Some(next_owner) = &mut entry.next_owner {
                    entry.answer = next_owner.answered(std::mem::replace(&mut entry.answer, Ok(())));
                }
            }
        }
        is_told
    }

    fn change(&self, entry: &InFlight) -> Change {
        let QueuedChange { acl_id, container, .. } = entry.queued;
        let op = match (entry.queued.kind, &entry.queued.record) {
            (ChangeKind::Put { version, .. }, Some(record)) => {
                Op::Put { record: record.clone(), version, acl_id, container }
            }
            (ChangeKind::Access { .. }, _) => Op::Access { version: entry.speaks_of, acl_id, container },
            (ChangeKind::Delete | ChangeKind::Put { .. }, _) => Op::Delete,
        };
        let change = Change {
            id: entry.queued.uri.clone(),
            address: entry.intent.address,
            job: self.run.job.id.0,
            job_name: self.run.job_name.clone(),
            document: entry.queued.visit.item.name.clone(),
            seq: entry.intent.seq,
            op,
        };
        match &entry.next_owner {
            Some(next_owner) => next_owner.change(self.queue.capabilities, change),
            None => change,
        }
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
            definitions::note_loss(Desk { store, lease, call: &self.run.call }, self.queue.id, output)?;
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
        in_flight.iter().for_each(note);
        // A document is complete when all its outputs have confirmed: with the last confirmation, or after it when two
        // outputs confirm at the same time. Neither may rely on what the other has not committed.
        let (last, not_alone): (Vec<_>, Vec<_>) =
            by_visit(&in_flight).into_iter().partition(|(visit, answers)| visit.waits_for(*answers));
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
            write_answers(sql, queue, now, &in_flight, &told)?;
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
        visit::complete(run, over.map(|(visit, _)| visit).collect())
    }
}

/// Writes what the output answered: confirmations, removals, refusals, and what other owners have to know of them.
fn write_answers(
    sql: &mut Sql<'_>,
    queue: &OutputQueue,
    now: i64,
    in_flight: &[InFlight],
    told: &[Defined],
) -> std::result::Result<(), StoreError> {
    let rows = |wanted: fn(&InFlight) -> bool| -> Vec<Answered> {
        in_flight.iter().filter(|entry| wanted(entry)).map(|entry| (&entry.intent).into()).collect()
    };
    deliveries::confirm(
        sql,
        queue.id,
        now,
        Confirmed::Record,
        &rows(|e| e.answer.is_ok() && !e.nothing_to_send && matches!(e.queued.kind, ChangeKind::Put { .. })),
    )?;
    deliveries::confirm(
        sql,
        queue.id,
        now,
        Confirmed::Access,
        &rows(|e| e.answer.is_ok() && matches!(e.queued.kind, ChangeKind::Access { .. })),
    )?;
    deliveries::remove(sql, queue.id, &rows(|e| e.answer.is_ok() && e.queued.kind == ChangeKind::Delete))?;
    for entry in in_flight.iter().filter(|entry| entry.answer.is_ok()) {
        entry
            .next_owner
            .iter()
            .try_for_each(|next_owner| next_owner.complete(sql, queue.id, &entry.intent, now))?;
    }
    ingather_store::definitions::confirm(sql, queue.id, told)?;
    let refused = |e: &InFlight| matches!(e.answer, Err(Fault::Refused(_) | Fault::Broken(_)));
    deliveries::end_as(sql, queue.id, "refused", &rows(refused))?;
    for entry in in_flight.iter().filter(|e| e.answer == Err(Fault::Gone)) {
        deliveries::reset_one(sql, queue.id, (&entry.intent).into())?;
    }
    Ok(())
}

/// Whatever the output does, the intent is on disk before it: a loss of power must not forget what was sent.
pub(crate) fn intent_durability() -> Durability {
    if failpoint(Failpoint::IntentNotDurable) { Durability::Relaxed } else { Durability::Synced }
}

/// Known documents that other people may see from now on.
fn accesses(in_flight: &[InFlight]) -> Vec<(i64, Option<AclId>, Option<ContainerId>)> {
    let known = in_flight
        .iter()
        .filter(|entry| entry.queued.kind != ChangeKind::Delete)
        .map(|entry| (&entry.queued, entry.intent.document))
        .filter(|(queued, _)| {
            let known = queued.visit.item.known.as_ref();
            known.is_some_and(|known| known.acl_id != queued.acl_id || known.container != queued.container)
        })
        .map(|(queued, document)| (document, queued.acl_id, queued.container));
    let mut rows: Vec<_> = known.collect();
    // What is in one document has its access.
    rows.dedup();
    rows
}

/// Known documents of which something is sent that was read now.
fn read(in_flight: &[InFlight]) -> Vec<i64> {
    let was_read = |entry: &&InFlight| {
        matches!(entry.queued.kind, ChangeKind::Put { .. })
            && entry.queued.visit.item.known.is_some()
            && entry.queued.visit.was_read()
    };
    let mut documents: Vec<i64> =
        in_flight.iter().filter(was_read).map(|entry| entry.intent.document).collect();
    documents.dedup();
    documents
}

/// Visits with the number of their answers, which stand side by side.
fn by_visit(in_flight: &[InFlight]) -> Vec<(&PendingVisit, usize)> {
    let visit = |entry: &InFlight| Arc::as_ptr(&entry.queued.visit);
    let groups = in_flight.chunk_by(|one, next| visit(one) == visit(next));
    groups.map(|group| (&*group[0].queued.visit, group.len())).collect()
}

/// Components that are about to be sent, with their names.
fn named(in_flight: &[InFlight]) -> Vec<(i64, i64, &str)> {
    in_flight
        .iter()
        .filter(|entry| entry.queued.kind != ChangeKind::Delete)
        .filter_map(|entry| {
            let name = entry.queued.part.name.as_deref()?;
            Some((entry.intent.document, entry.intent.component, name))
        })
        .collect()
}

/// Takes note of an answer.
fn note(entry: &InFlight) {
    entry.queued.visit.note(match &entry.answer {
        Ok(()) => entry.queued.kind.outcome(entry.queued.first),
        Err(Fault::Refused(reason) | Fault::Broken(reason)) => Outcome::Failed(reason.clone()),
        Err(fault @ Fault::Passing { .. }) => Outcome::Again(fault.clone()),
        // The output holds no such entry: it gets the record.
        Err(Fault::Gone) => {
            Outcome::Again(Fault::passing("forgotten", "the output does not hold the entry any more"))
        }
    });
}
