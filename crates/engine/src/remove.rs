//! Taking entries out: removal intents, deletions, and forgetting what no output holds any more.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ingather_connector::call::Call;
use ingather_connector::model::balance::Balance;
use ingather_connector::model::ids::{ConnectionId, Digest, JobId};
use ingather_connector::model::key::{DocumentKey, Hasher};
use ingather_connector::model::lifecycle::outcome::RunOutcome;
use ingather_connector::model::limits;
use ingather_connector::output::{Change, Generation, Op, OutputCapabilities};
use ingather_connector::repository::Repository;
use ingather_store::definitions::{self, Defined};
use ingather_store::deliveries::{self, Answered, Delivery, Intent, Owner};
use ingather_store::documents;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::leases::Lease;
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::{Durability, Sql, Store, StoreError, connections};

use crate::delivery::change::Part;
use crate::delivery::definitions::{Draft, Reference, reference};
use crate::delivery::in_flight::intent_durability;
use crate::delivery::next_owner::NextOwner;
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
    pub(crate) hasher: Hasher,
    pub(crate) job: JobId,
    pub(crate) job_name: Arc<str>,
    pub(crate) repository: Arc<dyn Repository>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) targets: HashMap<ConnectionId, Target>,
}

/// Deletions by output.
type Plan = HashMap<ConnectionId, Vec<Leaving>>;

/// What an output has confirmed: where it stands, and what it was told.
type Done = (ConnectionId, Option<Generation>, Vec<Defined>);

/// One deletion at one output.
struct Leaving {
    document: i64,
    change: Change,
    intent: Intent,
    /// Who has the entry from now on, when somebody else claims the address.
    next_owner: Option<NextOwner>,
    done: bool,
}

impl Leaving {
    /// What is sent.
    fn change(&self, capabilities: OutputCapabilities) -> Change {
        match &self.next_owner {
            Some(next_owner) => next_owner.change(capabilities, self.change.clone()),
            None => self.change.clone(),
        }
    }
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
        let (mut leaving, nameless) = self.plan(ids, only)?;
        let held: HashSet<i64> = leaving.values().flatten().map(|leaving| leaving.document).collect();
        let now = self.call.now();
        let mut drafts: HashMap<ConnectionId, Draft> = HashMap::new();
        let (store, lease) = (self.store.clone(), self.lease.clone());
        store.write(intent_durability(), |sql| {
            lease.fence(sql)?;
            for (output, leaving) in &mut leaving {
                if let Some(capabilities) =
                    self.targets.get(output).filter(|t| t.shared).map(|t| t.opened.capabilities)
                {
                    for one in leaving.iter_mut() {
                        let owners =
                            deliveries::owners(sql, *output, one.intent.address_parent, one.intent.address)?;
                        let owners = self.known_owners(sql, owners, one)?;
                        one.next_owner = NextOwner::of(sql, capabilities, &owners, one.document)?;
                        one.next_owner
                            .iter()
                            .try_for_each(|next_owner| next_owner.intend(sql, *output, &one.intent, now))?;
                    }
                }
                let session = match self.targets.get_mut(output) {
                    Some(target) => {
                        let capabilities = target.opened.capabilities;
                        let refers: Vec<Reference> =
                            leaving.iter().filter_map(|one| reference(&one.change(capabilities))).collect();
                        drafts.insert(*output, target.opened.draft(sql, *output, &refers, None)?);
                        target.opened.session
                    }
                    None => None,
                };
                let first = connections::take_numbers(sql, *output, session, leaving.len())?;
                for (one, seq) in leaving.iter_mut().zip(first..) {
                    one.intent.seq = seq;
                    one.change.seq = seq;
                }
                let intents: Vec<Intent> = leaving.iter().map(|one| one.intent).collect();
                deliveries::intend(sql, *output, now, false, &intents)?;
            }
            Ok(())
        })?;
        let mut generations = Vec::new();
        for (output, leaving) in &mut leaving {
            let draft = drafts.remove(output).unwrap_or_default();
            generations.extend(self.send(*output, leaving, &draft)?);
        }
        self.confirm(ids, (&leaving, &nameless), &generations, &held, only)
    }

    /// The owners that a removal heeds: all, but for planted faults.
    fn known_owners(
        &self,
        sql: &mut Sql<'_>,
        owners: Vec<Owner>,
        one: &Leaving,
    ) -> std::result::Result<Vec<Owner>, StoreError> {
        if failpoint(Failpoint::ExclusionByDocument) {
            return Ok(Vec::new());
        }
        if !failpoint(Failpoint::LastOwnerOfAnotherOutput) {
            return Ok(owners);
        }
        let mut anywhere = owners;
        for output in self.targets.keys() {
            anywhere.extend(deliveries::owners(sql, *output, one.intent.address_parent, one.intent.address)?);
        }
        Ok(anywhere)
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
            let uri = remembered.or_else(|| name.map(|name| self.repository.uri(name)));
            let component = components.get(&(delivery.document, delivery.component)).cloned();
            let part = Part { id: delivery.component, name: component, kept: false };
            let (Some(uri), true) = (uri, part.id == 0 || part.name.is_some()) else {
                nameless.insert(delivery.document);
                continue;
            };
            let name = name.cloned().unwrap_or_default();
            leaving.entry(delivery.output).or_default().push(self.leaving(&delivery, name, part, uri));
        }
        Ok((leaving, nameless))
    }

    fn leaving(&self, delivery: &Delivery, name: String, part: Part, uri: String) -> Leaving {
        let uri = part.uri(uri);
        let (address_parent, address) = self.hasher.address(&uri);
        let intent = Intent {
            document: delivery.document,
            component: part.id,
            address_parent,
            address,
            seq: 0,
            intended: Digest::NONE,
            intended_acl: Digest::NONE,
        };
        let change = Change {
            id: uri,
            address: intent.address,
            job: self.job.0,
            job_name: self.job_name.clone(),
            document: name,
            seq: intent.seq,
            op: Op::Delete,
        };
        Leaving { document: delivery.document, change, intent, next_owner: None, done: false }
    }

    fn send(&mut self, output: ConnectionId, leaving: &mut [Leaving], draft: &Draft) -> Result<Option<Done>> {
        let Some(target) = self.targets.get_mut(&output) else {
            return Err(EngineError::refused(
                Refusal::NoSuchOutput,
                format!("output {} of this store is not open", output.0),
            ));
        };
        let capabilities = target.opened.capabilities;
        let stays = |one: &Leaving| one.next_owner.is_some() && failpoint(Failpoint::LeftEntryStays);
        let changes: Vec<Change> =
            leaving.iter().filter(|one| !stays(one)).map(|one| one.change(capabilities)).collect();
        if let Err(fault) = target.opened.tell(&self.call, draft) {
            tracing::warn!("{}: {fault}", target.name);
            return Ok(None);
        }
        let mut answers = target.opened.output.apply(&self.call, &changes).into_iter();
        for one in leaving.iter_mut() {
            one.done = stays(one)
                || answers.next().is_some_and(|answer| match &mut one.next_owner {
                    Some(next_owner) => next_owner.answered(answer).is_ok(),
                    None => answer.is_ok(),
                });
            one.done |= failpoint(Failpoint::DeleteBeforeConfirm);
        }
        let done = target.opened.commit(&self.call);
        if done.is_err() {
            let desk = Desk { store: &self.store, lease: &self.lease, call: &self.call };
            note_loss(desk, output, &target.opened)?;
        }
        let done = done.map_err(|fault| EngineError::Output { name: target.name.clone(), fault })?;
        Ok(Some((output, done, draft.defined.clone())))
    }

    fn confirm(
        &self,
        ids: &[i64],
        (leaving, nameless): (&Plan, &HashSet<i64>),
        answered: &[Done],
        held: &HashSet<i64>,
        only: Option<ConnectionId>,
    ) -> Result<Removed> {
        let now = self.call.now();
        let open: HashSet<i64> = leaving
            .values()
            .flatten()
            .filter(|one| !one.done)
            .map(|one| one.document)
            .chain(nameless.iter().copied())
            .collect();
        let gone: Vec<i64> = ids.iter().copied().filter(|id| !open.contains(id)).collect();
        self.store.write(Durability::Synced, |sql| {
            self.lease.fence(sql)?;
            for (output, leaving) in leaving {
                let rows: Vec<Answered> =
                    leaving.iter().filter(|one| one.done).map(|one| (&one.intent).into()).collect();
                deliveries::remove(sql, *output, &rows)?;
                for one in leaving.iter().filter(|one| one.done) {
                    one.next_owner
                        .iter()
                        .try_for_each(|next_owner| next_owner.complete(sql, *output, &one.intent, now))?;
                }
            }
            for (output, done, defined) in answered {
                definitions::confirm(sql, *output, defined)?;
                done.iter().try_for_each(|s| {
                    connections::record_generation(sql, *output, &s.identity, s.number, s.session)
                })?;
            }
            if only.is_none() {
                documents::forget(sql, self.job, &gone)?;
            } else {
                // What no run could visit since the job has other outputs is sent to them by the next one.
                let nowhere = documents::held_nowhere(sql, &gone)?;
                let resend = |document| VisitRequest { document, due: now, reason: VisitReason::Resend };
                let wanted: Vec<VisitRequest> = nowhere.into_iter().map(resend).collect();
                queue::enqueue(sql, self.job, 0, &wanted)?;
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
            let ends = ends(&self.job_name, run, outcome, balance);
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
                .read(|sql| documents::walk(sql, self.job, after, limits::REMOVE_BATCH))?;
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
            let ids = self
                .store
                .reader()
                .read(|sql| deliveries::of_output(sql, output, self.job, after, limits::REMOVE_BATCH))?;
            let Some(last) = ids.last() else { break };
            after = *last;
            all.add(self.remove(&ids, Some(output))?);
        }
        Ok(all)
    }
}
