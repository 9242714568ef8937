//! Taking entries out: removal intents, deletions, and forgetting what no output holds any more.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ingather_contract::call::Call;
use ingather_contract::output::Generation;
use ingather_model::balance::Balance;
use ingather_model::ids::ConnectionId;
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_store::definitions::Defined;
use ingather_store::deliveries;
use ingather_store::documents;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::leases::Lease;
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::{Durability, Store, connections};

use crate::delivery::batch::{Author, Batch, Destination, intent_durability};
use crate::delivery::change::{ChangeKind, Origin, Part, QueuedChange};
use crate::delivery::in_flight::write_answers;
use crate::delivery::opened::Opened;
use crate::delivery::telling::{Desk, ends, note_loss, tell};
use crate::error::{EngineError, Refusal, Result};
use crate::progress::Progress;

/// An output that removals are sent to.
pub(crate) struct Target {
    pub(crate) name: String,
    /// Other documents may claim the same addresses.
    pub(crate) shared: bool,
    pub(crate) opened: Opened,
}

impl Target {
    fn destination(&self, id: ConnectionId) -> Destination {
        let Opened { capabilities, session, .. } = self.opened;
        Destination { id, capabilities, shared: self.shared, session }
    }
}

/// What became of documents that were to be removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Taken out of every output, or never held by one that some other job does not still feed.
    pub deleted: u64,
    /// Never delivered anywhere; their rows are gone.
    pub forgotten: u64,
    /// Some output did not confirm, or was not told; they stay known and are tried again in the next run.
    pub kept: u64,
    /// Those of them whose names the store has lost: nobody can say what an output is to take out.
    pub nameless: u64,
}

impl Removed {
    pub(crate) fn add(&mut self, other: Removed) {
        self.deleted += other.deleted;
        self.forgotten += other.forgotten;
        self.kept += other.kept;
        self.nameless += other.nameless;
    }
}

/// Removes documents of one job.
pub(crate) struct Remover {
    pub(crate) store: Store,
    pub(crate) lease: Lease,
    pub(crate) call: Call,
    pub(crate) author: Author,
    pub(crate) progress: Arc<Progress>,
    pub(crate) targets: HashMap<ConnectionId, Target>,
}

/// Deletions by output.
type Plan = HashMap<ConnectionId, Vec<QueuedChange>>;

/// What an output has answered: the batch, what it was told, where it stands.
struct Sent<'a> {
    output: ConnectionId,
    batch: Batch<'a>,
    told: Vec<Defined>,
    stands: Option<Generation>,
}

impl Remover {
    /// Removes documents from every output, or from one only.
    pub(crate) fn remove(&mut self, ids: &[i64], only: Option<ConnectionId>) -> Result<Removed> {
        let mut all = Removed::default();
        for chunk in ids.chunks(limits::REMOVE_BATCH) {
            if self.call.cancel.cancelled() {
                break;
            }
            let removed = self.chunk(chunk, only)?;
            self.progress.removed(removed.deleted);
            all.add(removed);
        }
        Ok(all)
    }

    fn chunk(&mut self, ids: &[i64], only: Option<ConnectionId>) -> Result<Removed> {
        let (plan, nameless) = self.plan(ids, only)?;
        let held: HashSet<i64> = plan.values().flatten().map(|leaving| leaving.origin.document()).collect();
        let (store, lease, author, now) =
            (self.store.clone(), self.lease.clone(), self.author.clone(), self.call.now());
        let mut batches = Vec::with_capacity(plan.len());
        for (output, leaving) in plan {
            let to = self.target(output)?.destination(output);
            batches.push((output, Batch::new(&author, to, leaving)));
        }
        store.write(intent_durability(), |sql| {
            lease.fence(sql)?;
            for (output, batch) in &mut batches {
                if let Some(target) = self.targets.get_mut(output) {
                    batch.intend(sql, &mut target.opened, now)?;
                }
            }
            Ok(())
        })?;
        let mut sent = Vec::with_capacity(batches.len());
        for (output, batch) in batches {
            sent.push(self.send(output, batch)?);
        }
        self.confirm(ids, &sent, &nameless, &held, only)
    }

    fn target(&mut self, output: ConnectionId) -> Result<&mut Target> {
        self.targets.get_mut(&output).ok_or_else(|| {
            EngineError::refused(
                Refusal::NoSuchOutput,
                format!("output {} of this store is not open", output.0),
            )
        })
    }

    /// What is to go, by output; and documents of which nobody knows any more under which address an output holds them.
    fn plan(&self, ids: &[i64], only: Option<ConnectionId>) -> Result<(Plan, HashSet<i64>)> {
        let (states, names, uris, components) = self.store.reader().read(|sql| {
            let (states, names) = (deliveries::states(sql, ids)?, documents::names(sql, ids)?);
            Ok((states, names, deliveries::uris(sql, ids)?, deliveries::components(sql, ids)?))
        })?;
        let components: HashMap<(i64, i64), Arc<str>> =
            components.into_iter().map(|c| ((c.document, c.id), c.name.into())).collect();
        let names: HashMap<i64, String> = names.into_iter().collect();
        let uris: HashMap<(i64, ConnectionId), String> =
            uris.into_iter().map(|(document, output, uri)| ((document, output), uri)).collect();
        let (mut leaving, mut nameless) = (Plan::new(), HashSet::new());
        for delivery in states.into_iter().filter(|delivery| only.is_none_or(|only| delivery.output == only))
        {
            let name = names.get(&delivery.document);
            let remembered = uris.get(&(delivery.document, delivery.output)).cloned();
            let uri = remembered.or_else(|| name.map(|name| self.author.repository.uri(name)));
            let component = components.get(&(delivery.document, delivery.component)).cloned();
            let part = Part { id: delivery.component, name: component, kept: false };
            let (Some(uri), true) = (uri, part.id == 0 || part.name.is_some()) else {
                nameless.insert(delivery.document);
                continue;
            };
            leaving.entry(delivery.output).or_default().push(QueuedChange {
                origin: Origin::Removal(delivery.document, name.cloned().unwrap_or_default()),
                uri: part.uri(uri),
                part,
                kind: ChangeKind::Delete,
                record: None,
                acl_id: None,
                container: None,
                first: false,
            });
        }
        Ok((leaving, nameless))
    }

    fn send<'a>(&mut self, output: ConnectionId, mut batch: Batch<'a>) -> Result<Sent<'a>> {
        let (store, lease, call) = (self.store.clone(), self.lease.clone(), self.call.clone());
        let Target { name, opened, .. } = self.target(output)?;
        let told = batch.send(&call, opened);
        if failpoint(Failpoint::DeleteBeforeConfirm) {
            batch.in_flight.iter_mut().for_each(|entry| entry.answer = Ok(()));
        }
        let Some(told) = told else { return Ok(Sent { output, batch, told: Vec::new(), stands: None }) };
        let stands = opened.commit(&call);
        if stands.is_err() {
            note_loss(Desk { store: &store, lease: &lease, call: &call }, output, opened)?;
        }
        let stands = stands.map_err(|fault| EngineError::Output { name: name.clone(), fault })?;
        Ok(Sent { output, batch, told, stands })
    }

    fn confirm(
        &self,
        ids: &[i64],
        sent: &[Sent<'_>],
        nameless: &HashSet<i64>,
        held: &HashSet<i64>,
        only: Option<ConnectionId>,
    ) -> Result<Removed> {
        let now = self.call.now();
        let entries = sent.iter().flat_map(|sent| &sent.batch.in_flight);
        let open: HashSet<i64> = entries
            .filter(|entry| entry.answer.is_err())
            .map(|entry| entry.intent.document)
            .chain(nameless.iter().copied())
            .collect();
        let gone: Vec<i64> = ids.iter().copied().filter(|id| !open.contains(id)).collect();
        let job = self.author.job;
        self.store.write(Durability::Synced, |sql| {
            self.lease.fence(sql)?;
            for Sent { output, batch, told, stands } in sent {
                write_answers(sql, *output, now, &batch.in_flight, told)?;
                stands.iter().try_for_each(|s| {
                    connections::record_generation(sql, *output, &s.identity, s.number, s.session)
                })?;
            }
            if only.is_none() {
                documents::forget(sql, job, &gone)?;
            } else {
                // What no run could visit since the job has other outputs is sent to them by the next one.
                let nowhere = documents::held_nowhere(sql, &gone)?;
                let resend = |document| VisitRequest { document, due: now, reason: VisitReason::Resend };
                let wanted: Vec<VisitRequest> = nowhere.into_iter().map(resend).collect();
                queue::enqueue(sql, job, 0, &wanted)?;
            }
            Ok(())
        })?;
        let deleted = gone.iter().filter(|id| held.contains(id)).count() as u64;
        let forgotten = gone.len() as u64 - deleted;
        Ok(Removed { deleted, forgotten, kept: open.len() as u64, nameless: nameless.len() as u64 })
    }

    /// Tells an output that judges by what it is told how what was asked of the job ended.
    pub(crate) fn end(
        &mut self,
        output: ConnectionId,
        run: Option<i64>,
        outcome: RunOutcome,
        balance: Balance,
    ) -> Result<()> {
        let desk = Desk { store: &self.store, lease: &self.lease, call: &self.call };
        if let Some(target) = self.targets.get_mut(&output).filter(|target| target.opened.capabilities.told) {
            let ends = ends(&self.author.job_name, run, outcome, balance);
            tell(desk, output, &mut target.opened, Some(ends))?
                .map_err(|fault| EngineError::Output { name: target.name.clone(), fault })?;
        }
        Ok(())
    }

    /// The same for every output that was opened for it.
    pub(crate) fn end_all(&mut self, run: Option<i64>, removed: Removed) -> Result<()> {
        let outcome = if self.call.cancel.cancelled() { RunOutcome::Stopped } else { RunOutcome::Done };
        let balance = Balance { deleted: removed.deleted, kept: removed.kept, ..Balance::default() };
        let outputs: Vec<ConnectionId> = self.targets.keys().copied().collect();
        outputs.into_iter().try_for_each(|output| self.end(output, run, outcome, balance))
    }

    /// Removes everything that the job has, in key order; what an output does not confirm stays.
    pub(crate) fn remove_all(&mut self) -> Result<Removed> {
        let mut all = Removed::default();
        let mut after = DocumentKey { parent_hash: i64::MIN, key_hash: i64::MIN };
        while !self.call.cancel.cancelled() {
            let rows = self
                .store
                .reader()
                .read(|sql| documents::walk(sql, self.author.job, after, limits::REMOVE_BATCH))?;
            let Some((last, _)) = rows.last() else { break };
            after = *last;
            let ids: Vec<i64> = rows.iter().map(|(_, id)| *id).collect();
            all.add(self.remove(&ids, None)?);
        }
        Ok(all)
    }

    /// Takes everything of the job out of one output.
    pub(crate) fn leave_output(&mut self, output: ConnectionId) -> Result<Removed> {
        let mut all = Removed::default();
        let mut after = 0;
        while !self.call.cancel.cancelled() {
            let ids = self.store.reader().read(|sql| {
                deliveries::of_output(sql, output, self.author.job, after, limits::REMOVE_BATCH)
            })?;
            let Some(last) = ids.last() else { break };
            after = *last;
            all.add(self.remove(&ids, Some(output))?);
        }
        Ok(all)
    }
}
