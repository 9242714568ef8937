//! A batch of changes of one job for one output: the only way in which entries are changed (design 4.7).
//!
//! What is about to be sent is on disk before it is sent, and who else claims an address is looked up in the same transaction; what the
//! output has answered is written after its commit. The order is the caller's: [`Batch::intend`], [`Batch::send`], the output's commit,
//! [`write_answers`](super::in_flight::write_answers).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_contract::output::{Change, Op, OutputCapabilities};
use ingather_model::fault::Fault;
use ingather_model::ids::ConnectionId;
use ingather_model::job::Keep;
use ingather_model::lifecycle::outcome::DeliveryOutcome;
use ingather_store::definitions::Defined;
use ingather_store::deliveries::{self, Answered, Confirmed, Delivery, Intent};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::{Durability, Sql, StoreError, connections, documents, extracts};

use super::author::Author;
use super::change::{ChangeKind, QueuedChange};
use super::definitions::{Draft, Reference, reference};
use super::in_flight::{InFlight, accesses, named, read};
use super::opened::Opened;
use super::ownership;

/// The output that a batch is for.
#[derive(Clone, Copy)]
pub(crate) struct Destination {
    pub(crate) id: ConnectionId,
    pub(crate) capabilities: OutputCapabilities,
    /// As in [`Opened::session`].
    pub(crate) session: Option<i64>,
}

/// Changes that are sent together.
pub(crate) struct Batch {
    pub(crate) author: Arc<Author>,
    to: Destination,
    draft: Draft,
    pub(crate) in_flight: Vec<InFlight>,
}

impl Batch {
    /// `changes` are of one author, and at least one.
    pub(crate) fn new(author: Arc<Author>, to: Destination, changes: Vec<QueuedChange>) -> Batch {
        let in_flight = changes.into_iter().map(|queued| InFlight::of(queued, &author.hasher)).collect();
        Batch { author, to, draft: Draft::default(), in_flight }
    }

    /// Writes what is about to be sent, and what has to be told before, in the caller's transaction. `shared`: other documents may
    /// claim the same addresses, so that owners are looked up.
    pub(crate) fn intend(
        &mut self,
        sql: &mut Sql<'_>,
        opened: &mut Opened,
        shared: bool,
        now: i64,
    ) -> Result<(), StoreError> {
        let (to, in_flight) = (self.to, &mut self.in_flight);
        for entry in in_flight.iter_mut() {
            // The database may have taken an earlier attempt back, and others may own its address since.
            (entry.unsent, entry.next_owner) = (None, None);
        }
        if shared {
            // One after the other: what an earlier change of this batch does to other owners, the later one has to see.
            for entry in in_flight.iter_mut() {
                let owners = ownership::owners(sql, to.id, &entry.intent)?;
                ownership::resolve(sql, to.capabilities, entry, &owners)?;
                entry
                    .next_owner
                    .iter()
                    .try_for_each(|next_owner| next_owner.intend(sql, to.id, &entry.intent, now))?;
                if !failpoint(Failpoint::BatchUnaware) {
                    ownership::supersede(sql, to.id, entry)?;
                }
            }
        }
        if shared && failpoint(Failpoint::BatchUnaware) {
            in_flight.iter().try_for_each(|entry| ownership::supersede(sql, to.id, entry))?;
        }
        self.speak(sql, now)?;
        if opened.capabilities.told {
            let refers: Vec<Reference> = self.changes().iter().filter_map(reference).collect();
            self.draft = opened.draft(sql, to.id, &refers, None)?;
        }
        let first = connections::take_numbers(sql, to.id, to.session, self.in_flight.len())?;
        for (entry, seq) in self.in_flight.iter_mut().zip(first..) {
            entry.intent.seq = if failpoint(Failpoint::OlderSeqWins) { -seq } else { seq };
        }
        self.write_intents(sql, now)
    }

    fn write_intents(&self, sql: &mut Sql<'_>, now: i64) -> Result<(), StoreError> {
        let (id, in_flight) = (self.to.id, &self.in_flight);
        // In order, so that the later of two changes of one document stands.
        let is_access = |entry: &InFlight| matches!(entry.queued.kind, ChangeKind::Access { .. });
        for like in in_flight.chunk_by(|a, b| is_access(a) == is_access(b)) {
            let intents: Vec<Intent> = like.iter().map(|entry| entry.intent).collect();
            deliveries::intend(sql, id, now, is_access(&like[0]), &intents)?;
        }
        deliveries::remember_components(sql, &named(in_flight))?;
        documents::set_access(sql, &accesses(in_flight))?;
        if self.author.keep == Keep::Extracted && !failpoint(Failpoint::KeptBesideAnIntent) {
            // Their rows have the access of what was read now: what is kept is of before until the visit is over.
            extracts::forget(sql, &read(in_flight))?;
        }
        let uris: Vec<(i64, &str)> = in_flight
            .iter()
            .filter(|entry| entry.queued.part.id == 0 && entry.queued.origin.visit().is_some())
            .filter(|entry| entry.queued.uri != self.author.repository.uri(entry.queued.origin.name()))
            .map(|entry| (entry.intent.document, entry.queued.uri.as_str()))
            .collect();
        deliveries::remember_uris(sql, id, &uris)?;
        let ended = |outcome: DeliveryOutcome| -> Vec<Answered> {
            let puts = in_flight.iter().filter(|entry| matches!(entry.queued.kind, ChangeKind::Put { .. }));
            puts.filter(|entry| entry.unsent == Some(outcome))
                .map(|entry| Answered::from(&entry.intent))
                .collect()
        };
        let shared = ended(DeliveryOutcome::Shared);
        deliveries::confirm(sql, id, now, Confirmed::Record, &shared)?;
        deliveries::end_as(sql, id, DeliveryOutcome::Shared, &shared)?;
        let left = ended(DeliveryOutcome::Superseded);
        deliveries::end_as(sql, id, DeliveryOutcome::Superseded, &left)?;
        // What is kept may be newer all the same: the next run that can look at the source says so.
        if failpoint(Failpoint::LeftFillForgotten) {
            return Ok(());
        }
        let documents: BTreeSet<i64> = left.iter().map(|left| left.document).collect();
        let again =
            |document| VisitRequest { document, due: queue::DUE_NEXT_RUN, reason: VisitReason::Resend };
        queue::enqueue(sql, self.author.job, 0, &documents.into_iter().map(again).collect::<Vec<_>>())
    }

    /// Finds of which records it speaks where it sends access alone: whoever has lost what came before shows no other one for it.
    ///
    /// Another owner may have sent its own record since the visit that decided so. What is said then fits no record, so that nobody
    /// finds the entry, and the document is visited again and sends its own.
    fn speak(&mut self, sql: &mut Sql<'_>, now: i64) -> Result<(), StoreError> {
        let is_access = |entry: &InFlight| matches!(entry.queued.kind, ChangeKind::Access { .. });
        let ids: Vec<i64> =
            self.in_flight.iter().filter(|e| is_access(e)).map(|e| e.intent.document).collect();
        if !self.to.capabilities.told || ids.is_empty() || failpoint(Failpoint::AnyVersionSpokenOf) {
            return Ok(());
        }
        let mut states = deliveries::states(sql, &ids)?;
        states.retain(|one| one.output == self.to.id);
        let states: HashMap<(i64, i64), Delivery> =
            states.into_iter().map(|one| ((one.document, one.component), one)).collect();
        let mut overtaken = BTreeSet::new();
        for entry in self.in_flight.iter_mut().filter(|entry| is_access(entry)) {
            let Some(one) = states.get(&(entry.intent.document, entry.intent.component)) else { continue };
            entry.speaks_of = one.state.known();
            // What another owner has told about access alone leaves the record that this one speaks of.
            let is_overtaken = one.outcome == Some(DeliveryOutcome::Superseded)
                && (one.state.confirmed.is_none() || failpoint(Failpoint::AnyTellingOvertakes));
            if entry.queued.was_held && is_overtaken {
                overtaken.insert(one.document);
            }
        }
        let again = |document| VisitRequest { document, due: now, reason: VisitReason::Resend };
        queue::enqueue(sql, self.author.job, 0, &overtaken.into_iter().map(again).collect::<Vec<_>>())
    }

    /// Tells what is to be told, then sends what is to be sent, and keeps the answers. What was told, if it was.
    pub(crate) fn send(&mut self, call: &CallContext, opened: &mut Opened) -> Option<Vec<Defined>> {
        let changes = self.changes();
        let ahead = failpoint(Failpoint::EntryAheadOfItsContainer);
        let ahead = ahead.then(|| opened.output.apply(call, &changes));
        let told = opened.tell(call, &self.draft);
        let answers = match &told {
            Ok(()) if changes.is_empty() => Vec::new(),
            Ok(()) => ahead.unwrap_or_else(|| opened.output.apply(call, &changes)),
            // Nobody may see what it cannot be told about.
            Err(fault) => changes.iter().map(|_| Err(fault.clone())).collect(),
        };
        let missing = Fault::passing("output", "the output gave no answer for this change");
        let mut answers = answers.into_iter();
        for entry in self.in_flight.iter_mut().filter(|entry| entry.unsent.is_none()) {
            entry.answer = answers.next().unwrap_or_else(|| Err(missing.clone()));
            if let Some(next_owner) = &mut entry.next_owner {
                entry.answer = next_owner.answered(std::mem::replace(&mut entry.answer, Ok(())));
            }
        }
        told.is_ok().then(|| std::mem::take(&mut self.draft.defined))
    }

    fn changes(&self) -> Vec<Change> {
        self.in_flight.iter().filter(|entry| entry.unsent.is_none()).map(|entry| self.change(entry)).collect()
    }

    /// Drops what was sent, which nobody reads again: the texts of all that waits for one commit would be in memory together.
    pub(crate) fn let_records_go(&mut self) {
        self.in_flight.iter_mut().for_each(|entry| entry.queued.record = None);
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
            job: self.author.job.0,
            job_name: self.author.job_name.clone(),
            document: entry.queued.origin.name().to_owned(),
            seq: entry.intent.seq,
            op,
        };
        match &entry.next_owner {
            Some(next_owner) => next_owner.change(change),
            None => change,
        }
    }
}

/// Whatever the output does, the intent is on disk before it: a loss of power must not forget what was sent.
pub(crate) fn intent_durability() -> Durability {
    if failpoint(Failpoint::IntentNotDurable) { Durability::Relaxed } else { Durability::Synced }
}
