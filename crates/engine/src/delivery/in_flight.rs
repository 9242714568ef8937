//! Changes that are on their way to an output: written as intents, not confirmed.

use std::collections::HashMap;

use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ConnectionId, ContainerId, Digest};
use ingather_model::key::Hasher;
use ingather_model::lifecycle::outcome::DeliveryOutcome;
use ingather_store::definitions::{self, Defined};
use ingather_store::deliveries::{self, Answered, Confirmed, Intent};
use ingather_store::{Sql, StoreError};

use super::change::{ChangeKind, QueuedChange};
use super::next_owner::NextOwner;
use super::removal::PendingRemoval;
use crate::visit::outcome::{Outcome, PendingVisit};

/// A change that is written in the delivery log and was handed to the output, or is about to be.
pub(crate) struct InFlight {
    pub(crate) queued: QueuedChange,
    pub(crate) intent: Intent,
    /// The record whose access is sent, for outputs that judge by what they are told.
    pub(super) speaks_of: Option<Digest>,
    /// How it ends without being sent: the entry of another owner serves for it, or has to stay.
    pub(super) unsent: Option<DeliveryOutcome>,
    /// Who owns the entry once this owner has left it.
    pub(super) next_owner: Option<NextOwner>,
    pub(crate) answer: Result<(), Fault>,
}

impl InFlight {
    pub(super) fn of(queued: QueuedChange, hasher: &Hasher) -> InFlight {
        let (address_parent, address) = hasher.address(&queued.uri);
        let (intended, intended_acl) = match queued.kind {
            ChangeKind::Put { version, access } => (version, access),
            // The record's digest stays as it stands; see `deliveries::intend`.
            ChangeKind::Access { access } => (Digest::NONE, access),
            ChangeKind::Delete => (Digest::NONE, Digest::NONE),
        };
        let (document, component) = (queued.origin.document(), queued.part.id);
        let intent = Intent { document, component, address_parent, address, seq: 0, intended, intended_acl };
        InFlight { queued, intent, speaks_of: None, unsent: None, next_owner: None, answer: Ok(()) }
    }
}

impl InFlight {
    /// Whether it is made of what is kept of the document, whose source cannot be looked at.
    pub(super) fn is_fill(&self) -> bool {
        self.queued.origin.visit().is_some_and(|visit| visit.run.was_refilled(visit.item.id))
    }
}

/// Writes what the output answered: confirmations, removals, refusals, and what other owners have to know of them.
pub(crate) fn write_answers(
    sql: &mut Sql<'_>,
    output: ConnectionId,
    now: i64,
    in_flight: &[InFlight],
    told: &[Defined],
) -> Result<(), StoreError> {
    let rows = |wanted: fn(&InFlight) -> bool| -> Vec<Answered> {
        in_flight.iter().filter(|entry| wanted(entry)).map(|entry| (&entry.intent).into()).collect()
    };
    deliveries::confirm(
        sql,
        output,
        now,
        Confirmed::Record,
        &rows(|e| e.answer.is_ok() && e.unsent.is_none() && matches!(e.queued.kind, ChangeKind::Put { .. })),
    )?;
    deliveries::confirm(
        sql,
        output,
        now,
        Confirmed::Access,
        &rows(|e| e.answer.is_ok() && matches!(e.queued.kind, ChangeKind::Access { .. })),
    )?;
    deliveries::remove(sql, output, &rows(|e| e.answer.is_ok() && e.queued.kind == ChangeKind::Delete))?;
    for entry in in_flight.iter().filter(|entry| entry.answer.is_ok()) {
        entry
            .next_owner
            .iter()
            .try_for_each(|next_owner| next_owner.complete(sql, output, &entry.intent, now))?;
    }
    definitions::confirm(sql, output, told)?;
    let refused =
        |e: &InFlight| matches!(e.answer, Err(Fault::Refused(_) | Fault::Unreadable(_) | Fault::Broken(_)));
    deliveries::end_as(sql, output, DeliveryOutcome::Refused, &rows(refused))?;
    for entry in in_flight.iter().filter(|e| e.answer == Err(Fault::Gone)) {
        deliveries::reset_one(sql, output, (&entry.intent).into())?;
    }
    Ok(())
}

/// Known documents that other people may see from now on.
pub(super) fn accesses(in_flight: &[InFlight]) -> Vec<(i64, Option<AclId>, Option<ContainerId>)> {
    let known = in_flight
        .iter()
        .filter(|entry| entry.queued.kind != ChangeKind::Delete)
        .map(|entry| (&entry.queued, entry.intent.document))
        .filter(|(queued, _)| {
            let known = queued.origin.visit().and_then(|visit| visit.item.known.as_ref());
            known.is_some_and(|known| known.acl_id != queued.acl_id || known.container != queued.container)
        })
        .map(|(queued, document)| (document, queued.acl_id, queued.container));
    let mut rows: Vec<_> = known.collect();
    // What is in one document has its access.
    rows.dedup();
    rows
}

/// Known documents that were read now, and of which an output is told something: of some only access, where the rest of a large
/// document follows in another batch.
pub(super) fn read(in_flight: &[InFlight]) -> Vec<i64> {
    let was_read = |entry: &&InFlight| {
        entry.queued.origin.visit().is_some_and(|visit| visit.item.known.is_some() && visit.was_read())
    };
    let mut documents: Vec<i64> =
        in_flight.iter().filter(was_read).map(|entry| entry.intent.document).collect();
    documents.dedup();
    documents
}

/// Visits with the number of their answers, which stand side by side.
pub(super) fn by_visit(in_flight: &[InFlight]) -> Vec<(&PendingVisit, usize)> {
    let visits = in_flight.iter().filter_map(|entry| entry.queued.origin.visit());
    let mut groups: Vec<(&PendingVisit, usize)> = Vec::new();
    for visit in visits {
        match groups.last_mut() {
            Some((last, answers)) if std::ptr::eq(*last, visit) => *answers += 1,
            _ => groups.push((visit, 1)),
        }
    }
    groups
}

/// Removals with the number of their answers.
pub(super) fn by_removal(in_flight: &[InFlight]) -> Vec<(&PendingRemoval, usize)> {
    let removals = in_flight.iter().filter_map(|entry| entry.queued.origin.removal());
    let mut groups: Vec<(&PendingRemoval, usize)> = Vec::new();
    let mut places: HashMap<*const PendingRemoval, usize> = HashMap::new();
    for removal in removals {
        let place = *places.entry(std::ptr::from_ref(removal)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, answers)) => *answers += 1,
            None => groups.push((removal, 1)),
        }
    }
    groups
}

/// Counts what outputs have taken, for those who watch.
pub(super) fn count_delivered(in_flight: &[InFlight]) {
    for entry in in_flight.iter().filter(|entry| entry.answer.is_ok() && entry.unsent.is_none()) {
        if let Some(visit) = entry.queued.origin.visit() {
            visit.run.progress.delivered(1);
        }
    }
}

/// Components that are about to be sent, with their names.
pub(super) fn named(in_flight: &[InFlight]) -> Vec<(i64, i64, &str)> {
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
pub(super) fn note(entry: &InFlight) {
    if let Some(removal) = entry.queued.origin.removal() {
        removal.note(entry.answer.is_ok());
    }
    let Some(visit) = entry.queued.origin.visit() else { return };
    visit.note(match &entry.answer {
        Ok(()) => entry.queued.kind.outcome(entry.queued.first),
        Err(Fault::Refused(reason) | Fault::Unreadable(reason) | Fault::Broken(reason)) => {
            Outcome::Failed(reason.clone())
        }
        Err(fault @ Fault::Passing { .. }) => Outcome::Again(fault.clone()),
        // The output holds no such entry: it gets the record.
        Err(Fault::Gone) => {
            Outcome::Again(Fault::passing("forgotten", "the output does not hold the entry any more"))
        }
    });
}
