//! What an output that judges by what it is told hears beside entries, while a run delivers (decision 0015).
//!
//! Entries that an earlier version of the program has sent name no acls and containers: their references are told once, as the
//! inventory knows them, without a look at the source.

use std::collections::HashMap;

use ingather_contract::output::{Change, Op};
use ingather_model::decision::NOBODY;
use ingather_model::document::component_uri;
use ingather_model::ids::{ConnectionId, Digest};
use ingather_model::lifecycle::outcome::DeliveryOutcome;
use ingather_model::limits;
use ingather_store::definitions::{self, Defined, Subject};
use ingather_store::deliveries::Delivery;
use ingather_store::documents::Stored;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Durability, Store, connections, deliveries, documents};

use super::Sender;
use crate::delivery::change::access_digest;
use crate::delivery::definitions::reference;
use crate::delivery::output_queue::OutputQueue;
use crate::delivery::telling;
use crate::error::Result;
use crate::run::Run;

impl Sender {
    /// Tells the output what it has to know by now, while nothing is to be sent. What goes wrong is told again before the next
    /// batch, or at the end.
    pub(super) fn tell(&self) -> Result<()> {
        if !self.queue.capabilities.told {
            return Ok(());
        }
        if failpoint(Failpoint::NarrowingToldAtTheEnd) || failpoint(Failpoint::EntryAheadOfItsContainer) {
            return Ok(());
        }
        if let Some(opened) = self.queue.opened().as_mut()
            && let Err(fault) = telling::tell(self.writer.desk(), self.queue.id, opened, None)?
        {
            tracing::debug!(output = self.queue.name, fault = %fault, "not told");
        }
        Ok(())
    }
}

/// The entries of one job in an output that judges by what it is told.
struct Referring<'r> {
    run: &'r Run,
    queue: &'r OutputQueue,
}

/// Tells references of all that an output holds of a job, unless it knows them. What goes wrong is done by the next run.
pub(crate) fn refer(run: &Run, queue: &OutputQueue) -> Result<()> {
    Referring { run, queue }.refer()
}

impl Referring<'_> {
    fn refer(&self) -> Result<()> {
        let (run, queue) = (self.run, self.queue);
        let knows = queue.opened().as_ref().and_then(|o| o.definitions.as_ref().map(|d| d.refer(run.job.id)));
        let (Some(store), Some(false)) = (&run.store, knows) else { return Ok(()) };
        let mut after = 0;
        loop {
            let ids = run.reader.read(|sql| {
                deliveries::of_output(sql, queue.id, run.job.id, after, limits::DELIVERY_BATCH_MAX)
            })?;
            let Some(last) = ids.last() else { break };
            after = *last;
            let mut changes = self.references(&ids)?;
            let refers: Vec<_> = changes.iter().filter_map(reference).collect();
            let mut output = queue.opened();
            let Some(opened) = output.as_mut() else { return Ok(()) };
            let draft = store.write(Durability::Synced, |sql| {
                run.fence(sql)?;
                let draft = opened.draft(sql, queue.id, &refers, None)?;
                let first = connections::take_numbers(sql, queue.id, queue.session, changes.len())?;
                changes.iter_mut().zip(first..).for_each(|(change, seq)| change.seq = seq);
                Ok(draft)
            })?;
            if opened.tell(&run.call, &draft).is_err()
                || opened.output.apply(&run.call, &changes).iter().any(std::result::Result::is_err)
            {
                return Ok(());
            }
            let stands = opened.told_stands();
            store.write(Durability::Synced, |sql| {
                run.fence(sql)?;
                definitions::confirm(sql, queue.id, &draft.defined)?;
                stands.iter().try_for_each(|s| {
                    connections::record_generation(sql, queue.id, &s.identity, s.number, s.session)
                })
            })?;
            if run.sweep_stops() {
                return Ok(());
            }
        }
        self.all_refer(store)
    }

    /// From now on entries of this job are sent with references.
    fn all_refer(&self, store: &Store) -> Result<()> {
        let (run, queue) = (self.run, self.queue);
        let done = store.write(Durability::Synced, |sql| {
            run.fence(sql)?;
            let seq = connections::take_numbers(sql, queue.id, queue.session, 1)?;
            let done = Defined { subject: Subject::Entries(run.job.id), seq, intended: NOBODY };
            definitions::intend(sql, queue.id, &[done])?;
            definitions::confirm(sql, queue.id, &[done])?;
            Ok(done)
        })?;
        if let Some(told) = queue.opened().as_mut().and_then(|opened| opened.definitions.as_mut()) {
            told.note_entries(done);
        }
        Ok(())
    }

    /// What the output is known to hold of documents, as changes of access that change nothing.
    fn references(&self, ids: &[i64]) -> Result<Vec<Change>> {
        let run = self.run;
        let (states, stored, uris, components) = run.reader.read(|sql| {
            let (states, stored) = (deliveries::states(sql, ids)?, documents::get(sql, ids)?);
            Ok((states, stored, deliveries::uris(sql, ids)?, deliveries::components(sql, ids)?))
        })?;
        let stored: HashMap<i64, Stored> = stored.into_iter().map(|one| (one.known.id.0, one)).collect();
        let uris: HashMap<(i64, ConnectionId), String> =
            uris.into_iter().map(|(document, output, uri)| ((document, output), uri)).collect();
        let components: HashMap<(i64, i64), String> =
            components.into_iter().map(|one| ((one.document, one.id), one.name)).collect();
        let change = |delivery: Delivery| {
            let stored = stored.get(&delivery.document)?;
            let (acl_id, container) = (stored.known.acl_id, stored.known.container);
            let access = delivery.state.intended_acl;
            let is_told = access == NOBODY || access == access_digest(acl_id, container);
            let is_delivered = delivery.state.is_confirmed()
                && delivery.state.confirmed != Some(Digest::NONE)
                && matches!(delivery.outcome, None | Some(DeliveryOutcome::Shared));
            if !is_told || !is_delivered {
                return None;
            }
            let uri = uris.get(&(delivery.document, delivery.output)).cloned();
            let uri = uri.unwrap_or_else(|| run.author.repository.uri(&stored.name));
            let id = match delivery.component {
                0 => uri,
                component => component_uri(&uri, components.get(&(delivery.document, component))?),
            };
            Some(Change {
                address: run.author.hasher.hash(id.as_bytes()),
                id,
                job: run.job.id.0,
                job_name: run.author.job_name.clone(),
                document: stored.name.clone(),
                seq: 0,
                op: Op::Access {
                    version: delivery.state.known(),
                    acl_id: acl_id.filter(|_| access != NOBODY),
                    container,
                },
            })
        };
        let states = states.into_iter().filter(|delivery| delivery.output == self.queue.id);
        Ok(states.filter_map(change).collect())
    }
}
