//! Documents that are there, that a rule of the job leaves out now, and whose removal the delete guard holds: no listing names them or
//! their folders any more, so each run looks at their own access and at their folders once. Whoever is shut out is shut out; nobody else
//! is let in.

use std::collections::BTreeSet;
use std::sync::Arc;

use ingather_model::access::Acl;
use ingather_model::decision::NOBODY;
use ingather_model::ids::{ContainerId, Digest, DocumentId};
use ingather_model::limits;
use ingather_store::Durability;
use ingather_store::documents::{self, DocumentUpdate, Stored};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::{self, Noted, VisitReason, VisitRequest};

use super::Visitor;
use super::outcome::PendingVisit;
use super::parts::{self, Deliveries};
use super::unchanged::Audience;
use crate::containers::looks;
use crate::delivery::change::{ChangeKind, DecidedChange, access_digest};
use crate::dispatcher::WorkItem;
use crate::error::Result;
use crate::run::Run;
use crate::sweep::Judged;

/// Looks at them, while the outputs still listen.
pub(crate) fn narrow(run: &Run, judged: &Judged) -> Result<()> {
    let held = judged.held_by_rule();
    if held.is_empty() || run.store.is_none() || failpoint(Failpoint::HeldNotLookedAt) {
        return Ok(());
    }
    let replaced = replaced(run, judged)?;
    let ids: Vec<i64> = held.iter().map(|id| id as i64).collect();
    for ids in ids.chunks(limits::CLAIM_MAX) {
        let mut by_document = parts::read(&run.reader, ids)?;
        let mut narrowings = Vec::new();
        for stored in run.reader.read(|sql| documents::get(sql, ids))? {
            run.wait_while_full();
            if run.stops() {
                return Ok(());
            }
            // What cannot be looked at now stays as it is, as it does below a blind spot.
            let Some(acl) = run.author.repository.acl_of_left_out(&run.call, &stored.name) else { continue };
            let deliveries = by_document.remove(&stored.known.id.0).unwrap_or_default();
            let is_elsewhere = stored.known.container.is_some_and(|container| replaced.contains(&container));
            let visitor = Visitor::of_held(run, stored, deliveries);
            if let Some(narrowing) = visitor.narrowing(&acl, is_elsewhere)? {
                narrowings.push((visitor, narrowing));
            }
        }
        send(run, narrowings)?;
    }
    Ok(())
}

/// Hands changes of access to outputs once rows say that they are to come: one that an output does not confirm waits for the next run.
fn send(run: &Run, narrowings: Vec<(Visitor<'_>, Narrowing)>) -> Result<()> {
    let Some(store) = run.store.as_ref().filter(|_| !narrowings.is_empty()) else { return Ok(()) };
    let request = |document| VisitRequest { document, due: queue::DUE_NEXT_RUN, reason: VisitReason::Access };
    let requests: Vec<VisitRequest> =
        narrowings.iter().map(|(visitor, _)| request(visitor.item.id)).collect();
    if !failpoint(Failpoint::NarrowingWithoutRow) {
        store.write(Durability::Relaxed, |sql| {
            run.fence(sql)?;
            queue::enqueue(sql, run.job.id, run.number, &requests)
        })?;
    }
    for (visitor, Narrowing { changes, update }) in narrowings {
        // It settles nothing: the run counts it among what is held.
        let visit = Arc::new(PendingVisit::ahead(&run.state, visitor.item.clone()));
        for change in changes {
            run.push(change.output_index, visitor.queued(&visit, change, &update));
        }
    }
    Ok(())
}

/// Takes the rows of those away whose access all outputs have confirmed; after the last answer.
pub(crate) fn settle(run: &Run, judged: &Judged) -> Result<()> {
    let Some(store) = &run.store else { return Ok(()) };
    let ids: Vec<i64> = judged.held_by_rule().iter().map(|id| id as i64).collect();
    for ids in ids.chunks(limits::CLAIM_MAX) {
        let (requested, noted) =
            run.reader.read(|sql| Ok((queue::request_counts(sql, ids)?, run.attention.noted(sql, ids)?)))?;
        if requested.is_empty() {
            continue;
        }
        // What is to be tried again is so whatever its access.
        let has_failed = |id: &i64| {
            noted.get(id).is_some_and(|noted| noted.failure.is_some())
                && !failpoint(Failpoint::ToldAndNotTriedAgain)
        };
        let by_document = parts::read(&run.reader, ids)?;
        let settled: Vec<(i64, i64)> = requested
            .into_iter()
            .filter(|(id, _, reason)| {
                let is_told = *reason == VisitReason::Access && !has_failed(id);
                is_told && by_document.get(id).is_none_or(Deliveries::is_settled)
            })
            .map(|(id, requests, _)| (id, requests))
            .collect();
        store.write(Durability::Relaxed, |sql| {
            run.fence(sql)?;
            queue::complete(sql, &settled)
        })?;
    }
    Ok(())
}

/// Looks at the folders above them, which may have closed. Those in the place of which there is another one now: who may pass through
/// that one is no access to what was read before.
fn replaced(run: &Run, judged: &Judged) -> Result<BTreeSet<ContainerId>> {
    let mut replaced = BTreeSet::new();
    for (container, name) in judged.folders_of_filtered() {
        match looks::again(run, name)? {
            Ok(now) if now != Some(*container) => drop(replaced.insert(*container)),
            Ok(_) => {}
            Err(fault) => tracing::debug!(document = name, fault = %fault, "its folders cannot be looked at"),
        }
    }
    Ok(replaced)
}

impl<'r> Visitor<'r> {
    fn of_held(run: &'r Run, stored: Stored, deliveries: Deliveries) -> Visitor<'r> {
        let Stored { known, name, identity } = stored;
        let item = WorkItem {
            id: known.id.0,
            name,
            key_hash: known.key_hash,
            known: Some(known),
            container: known.container,
            reason: VisitReason::Access,
            request_count: None,
            version: known.version,
            access: known.access,
            identity,
            noted: Noted::default(),
            is_listed: false,
            // The run waits for what is sent of it.
            claim: Some(run.dispatcher.open_claim()),
            admission: None,
            begun: None,
        };
        Visitor { is_ahead: true, ..Visitor::new(run, item, deliveries, Digest::NONE) }
    }

    /// Access that admits nobody who might not find it before. Nothing of it was read: its row keeps the versions of what was.
    fn narrowing(&self, acl: &Acl, is_elsewhere: bool) -> Result<Option<Narrowing>> {
        let acl_id = self.acl_id_of(acl)?;
        let now = access_digest(Some(acl_id), self.item.container);
        let access = match self.audience(acl_id)? {
            _ if is_elsewhere => NOBODY,
            Audience::Same | Audience::More => return Ok(None),
            Audience::Fewer if self.is_shown_as_known() => now,
            Audience::Fewer | Audience::Others => NOBODY,
        };
        let update = DocumentUpdate {
            id: DocumentId(self.item.id),
            version: self.item.version,
            access: self.item.access,
            settings: self.run.settings,
            identity: self.item.identity,
            acl_id: Some(acl_id),
            container: self.item.container,
            raw: None,
        };
        // What takes no access alone would have to give it up, which the guard holds.
        let changes = self.access_changes(access, |output, access| {
            output.capabilities.access.then_some(ChangeKind::Access { access })
        })?;
        Ok((!changes.is_empty()).then_some(Narrowing { changes, update }))
    }
}

/// What outputs are to be told of one document.
struct Narrowing {
    changes: Vec<DecidedChange>,
    update: DocumentUpdate,
}
