//! Deliveries of one output: intent, batch, confirmation (design 4.7). One thread per output is its only sender.

pub(crate) mod definitions;
pub(crate) mod inherit;
pub(crate) mod settle;
pub(crate) mod told;
mod witness;

use std::sync::Arc;
use std::time::Duration;

use ingather_connector::model::document::Record;
use ingather_connector::model::fault::Fault;
use ingather_connector::model::ids::{AclId, ContainerId, Digest};
use ingather_connector::model::limits;
use ingather_connector::output::{Change, Generation, Op, OutputCan};
use ingather_store::definitions::Defined;
use ingather_store::deliveries::{self, Answered, Confirmed, Intent, Owner};
use ingather_store::mutations::{Mutation, planted};
use ingather_store::{Durability, StoreError, connections, documents};

use self::definitions::Draft;
use self::inherit::Heir;
use self::settle::{Outcome, Settling, Visit};
use crate::error::{EngineError, Result};
use crate::outputs::OutputSlot;
use crate::run::Run;
use crate::visit;
use crate::visit::parts::Part;

/// Longest wait for more before a small batch is sent, while more is being made.
const LINGER: Duration = Duration::from_millis(20);

/// What is sent to one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Put { version: Digest, access: Digest },
    Access { access: Digest },
    Delete,
}

impl Step {
    /// What it means for the balance when it is confirmed; `first`: nothing was ever confirmed before.
    pub(crate) fn outcome(self, first: bool) -> Outcome {
        match self {
            Step::Put { .. } if first => Outcome::Added,
            Step::Put { .. } => Outcome::Updated,
            Step::Access { .. } => Outcome::Access,
            Step::Delete => Outcome::Unchanged,
        }
    }
}

/// One change that waits for its output.
pub(crate) struct Prepared {
    pub(crate) visit: Arc<Visit>,
    pub(crate) part: Part,
    pub(crate) uri: String,
    pub(crate) step: Step,
    pub(crate) record: Option<Arc<Record>>,
    pub(crate) acl_id: Option<AclId>,
    pub(crate) container: Option<ContainerId>,
    pub(crate) first: bool,
}

impl Prepared {
    pub(crate) fn bytes(&self) -> usize {
        self.record.as_ref().map_or(256, |record| record.bytes())
    }
}

/// Hash of an address and of its parent, which keeps a folder's addresses together.
pub(crate) fn address(run: &Run, uri: &str) -> (i64, i64) {
    let parent = uri.rfind('/').map_or(0, |slash| slash + 1);
    (run.hasher.hash(&uri.as_bytes()[..parent]), run.hasher.hash(uri.as_bytes()))
}

/// One change with its place in the delivery log.
struct Sent {
    prepared: Prepared,
    intent: Intent,
    /// Another owner's entry is already just that, or has to stay: nothing is sent.
    settled: bool,
    /// Who has the entry from now on, when this owner leaves it.
    heir: Option<Heir>,
    answer: std::result::Result<(), Fault>,
}

/// Sends what comes for one output until no more will come.
pub(crate) struct Deliverer<'r> {
    run: &'r Run,
    slot: &'r OutputSlot,
    /// Applied, not committed.
    open: Vec<Sent>,
    /// Told before them, not confirmed.
    told: Vec<Defined>,
    open_since: i64,
}

impl<'r> Deliverer<'r> {
    pub(crate) fn new(run: &'r Run, slot: &'r OutputSlot) -> Deliverer<'r> {
        Deliverer { run, slot, open: Vec::new(), told: Vec::new(), open_since: 0 }
    }

    pub(crate) fn work(mut self) -> Result<()> {
        self.refer()?;
        while let Some(batch) = self.take() {
            if batch.is_empty() {
                self.tell()?;
            } else {
                let (draft, sent) = self.intend(batch)?;
                self.apply(&draft, sent);
            }
            let full = self.open.len() >= limits::INDEX_COMMIT_DOCUMENTS
                || self.run.call.now() - self.open_since >= limits::INDEX_COMMIT_MS;
            if !self.open.is_empty() && (!self.slot.can.commits || full || self.idle()) {
                self.confirm()?;
            }
        }
        self.confirm()
    }

    /// Nothing waits for this output, and nothing is being made for it.
    fn idle(&self) -> bool {
        let queue = self.slot.lock();
        queue.waiting.is_empty() && (queue.closed || self.run.board.nothing_comes())
    }

    /// The next batch: empty when there is at most something to commit, none at the end.
    fn take(&self) -> Option<Vec<Prepared>> {
        let mut queue = self.slot.lock();
        if self.open.is_empty() {
            queue =
                self.slot.wait_while(queue, LINGER * 10, |queue| queue.waiting.is_empty() && !queue.closed);
        }
        queue = self.slot.wait_while(queue, LINGER, |queue| {
            !(queue.is_enough() || queue.closed || self.run.board.nothing_comes())
        });
        if queue.waiting.is_empty() && queue.closed {
            return None;
        }
        let mut batch = Vec::with_capacity(queue.waiting.len().min(limits::DELIVERY_BATCH_MAX));
        let mut bytes = 0;
        while batch.len() < limits::DELIVERY_BATCH_MAX && bytes < limits::DELIVERY_BYTES_MAX {
            let Some(prepared) = queue.waiting.pop_front() else { break };
            bytes += prepared.bytes();
            batch.push(prepared);
        }
        queue.bytes = queue.bytes.saturating_sub(bytes);
        drop(queue);
        self.slot.notify();
        Some(batch)
    }

    /// Writes what is about to be sent, and what has to be told before; on disk before it is sent.
    fn intend(&self, batch: Vec<Prepared>) -> Result<(Draft, Vec<Sent>)> {
        let (run, slot) = (self.run, self.slot);
        let Some(store) = &run.store else { return Ok((Draft::default(), Vec::new())) };
        let mut sent: Vec<Sent> = batch.into_iter().map(|prepared| self.entry(prepared)).collect();
        let draft = store.write(intent_durability(), |sql| {
            run.fence(sql)?;
            if slot.shared {
                // One after the other: what an earlier change of this batch does to other owners, the later one has to see.
                for entry in &mut sent {
                    let owners =
                        deliveries::owners(sql, slot.id, entry.intent.address_parent, entry.intent.address)?;
                    settle_among(sql, slot.can, entry, &owners)?;
                    entry
                        .heir
                        .iter()
                        .try_for_each(|heir| heir.intend(sql, slot.id, &entry.intent, run.call.now()))?;
                    if !planted(Mutation::BatchUnaware) {
                        overwrite(sql, slot, entry)?;
                    }
                }
            }
            if slot.shared && planted(Mutation::BatchUnaware) {
                sent.iter().try_for_each(|entry| overwrite(sql, slot, entry))?;
            }
            let draft = self.draft(sql, &sent)?;
            let first = connections::take_numbers(sql, slot.id, slot.session, sent.len())?;
            for (entry, seq) in sent.iter_mut().zip(first..) {
                entry.intent.seq = if planted(Mutation::OlderSeqWins) { -seq } else { seq };
            }
            let now = run.call.now();
            // In order, so that the later of two changes of one document stands.
            let is_access = |entry: &Sent| matches!(entry.prepared.step, Step::Access { .. });
            for like in sent.chunk_by(|a, b| is_access(a) == is_access(b)) {
                let intents: Vec<Intent> = like.iter().map(|entry| entry.intent).collect();
                deliveries::intend(sql, slot.id, now, is_access(&like[0]), &intents)?;
            }
            deliveries::remember_components(sql, &named(&sent))?;
            documents::set_access(sql, &narrowed(&sent))?;
            let uris: Vec<(i64, &str)> = sent
                .iter()
                .filter(|entry| entry.prepared.part.id == 0)
                .filter(|entry| entry.prepared.uri != run.repository.uri(&entry.prepared.visit.task.name))
                .map(|entry| (entry.intent.document, entry.prepared.uri.as_str()))
                .collect();
            deliveries::remember_uris(sql, slot.id, &uris)?;
            let is_put = |entry: &&Sent| entry.settled && matches!(entry.prepared.step, Step::Put { .. });
            let settled: Vec<Answered> =
                sent.iter().filter(is_put).map(|entry| Answered::from(&entry.intent)).collect();
            deliveries::confirm(sql, slot.id, now, Confirmed::Record, &settled)?;
            if planted(Mutation::IntentAfterSend) {
                self.ask(&draft, &mut sent);
            }
            Ok(draft)
        })?;
        Ok((draft, sent))
    }

    fn entry(&self, prepared: Prepared) -> Sent {
        let (address_parent, address) = address(self.run, &prepared.uri);
        let (intended, intended_acl) = match prepared.step {
            Step::Put { version, access } => (version, access),
            // The record's digest stays as it stands; see `deliveries::intend`.
            Step::Access { access } => (Digest::NONE, access),
            Step::Delete => (Digest::NONE, Digest::NONE),
        };
        let document = prepared.visit.task.id;
        let component = prepared.part.id;
        let intent = Intent { document, component, address_parent, address, seq: 0, intended, intended_acl };
        Sent { prepared, intent, settled: false, heir: None, answer: Ok(()) }
    }

    fn apply(&mut self, draft: &Draft, mut sent: Vec<Sent>) {
        if self.open.is_empty() {
            self.open_since = self.run.call.now();
        }
        if planted(Mutation::IntentAfterSend) || self.ask(draft, &mut sent) {
            self.told.extend(&draft.defined);
        }
        self.open.append(&mut sent);
    }

    /// Tells what is to be told, then sends what is to be sent, and keeps the answers. Whether it was told.
    fn ask(&self, draft: &Draft, sent: &mut [Sent]) -> bool {
        let changes: Vec<Change> = sent.iter().filter(|e| !e.settled).map(|e| self.change(e)).collect();
        let mut is_told = false;
        if let Some(output) = self.slot.output().as_mut() {
            let ahead = planted(Mutation::EntryAheadOfItsContainer);
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
            for entry in sent.iter_mut().filter(|entry| !entry.settled) {
                entry.answer = answers.next().unwrap_or_else(|| Err(missing.clone()));
                if let Some(heir) = &mut entry.heir {
                    entry.answer = heir.answered(std::mem::replace(&mut entry.answer, Ok(())));
                }
            }
        }
        is_told
    }

    fn change(&self, entry: &Sent) -> Change {
        let Prepared { acl_id, container, .. } = entry.prepared;
        let op = match (entry.prepared.step, &entry.prepared.record) {
            (Step::Put { version, .. }, Some(record)) => {
                Op::Put { record: record.clone(), version, acl_id, container }
            }
            (Step::Access { .. }, _) => Op::Access { acl_id, container },
            (Step::Delete | Step::Put { .. }, _) => Op::Delete,
        };
        let change = Change {
            id: entry.prepared.uri.clone(),
            address: entry.intent.address,
            job: self.run.job.id.0,
            job_name: self.run.job_name.clone(),
            document: entry.prepared.visit.task.name.clone(),
            seq: entry.intent.seq,
            op,
        };
        match &entry.heir {
            Some(heir) => heir.change(self.slot.can, change),
            None => change,
        }
    }

    /// Makes durable what was applied, where the output has commits; `later`: for a planted fault, not yet.
    fn commit(&self, later: bool) -> Result<Option<Generation>> {
        let mut output = self.slot.output();
        let Some(output) = output.as_mut() else { return Ok(None) };
        if later && output.can.commits {
            return Ok(Some(output.output.generation()));
        }
        let done = output.commit(&self.run.call);
        done.map_err(|fault| EngineError::Output { name: self.slot.name.clone(), fault })
    }

    /// Commits, then writes what the output said, and settles the documents that waited for it last.
    fn confirm(&mut self) -> Result<()> {
        let (sent, told) = (std::mem::take(&mut self.open), std::mem::take(&mut self.told));
        let (run, slot) = (self.run, self.slot);
        let Some(store) = &run.store else { return Ok(()) };
        if sent.is_empty() {
            return Ok(());
        }
        let generation = self.commit(planted(Mutation::ConfirmationBeforeCommit))?;
        sent.iter().for_each(note);
        // A document is settled when all its outputs have confirmed: with the last confirmation, or after it when two
        // outputs confirm at the same time. Neither may rely on what the other has not committed.
        let (last, not_alone): (Vec<_>, Vec<_>) =
            by_visit(&sent).into_iter().partition(|(visit, answers)| visit.waits_for(*answers));
        let (last, not_alone) = match planted(Mutation::SettledByTheFirstOutput) {
            true => {
                let closed = |(visit, answers): &(&Visit, usize)| visit.close(*answers);
                (last.into_iter().chain(not_alone).filter(closed).collect(), Vec::new())
            }
            false => (last, not_alone),
        };
        let settling = Settling::new(run, last.into_iter().map(|(visit, _)| visit));
        store.write(Durability::Synced, |sql| {
            run.fence(sql)?;
            let now = run.call.now();
            let rows = |wanted: fn(&Sent) -> bool| -> Vec<Answered> {
                sent.iter().filter(|entry| wanted(entry)).map(|entry| (&entry.intent).into()).collect()
            };
            deliveries::confirm(
                sql,
                slot.id,
                now,
                Confirmed::Record,
                &rows(|e| e.answer.is_ok() && !e.settled && matches!(e.prepared.step, Step::Put { .. })),
            )?;
            deliveries::confirm(
                sql,
                slot.id,
                now,
                Confirmed::Access,
                &rows(|e| e.answer.is_ok() && matches!(e.prepared.step, Step::Access { .. })),
            )?;
            deliveries::remove(sql, slot.id, &rows(|e| e.answer.is_ok() && e.prepared.step == Step::Delete))?;
            for entry in sent.iter().filter(|entry| entry.answer.is_ok()) {
                entry.heir.iter().try_for_each(|heir| heir.settle(sql, slot.id, &entry.intent, now))?;
            }
            ingather_store::definitions::confirm(sql, slot.id, &told)?;
            let refused = |e: &Sent| matches!(e.answer, Err(Fault::Refused(_) | Fault::Broken(_)));
            deliveries::refuse(sql, slot.id, "refused", &rows(refused))?;
            for entry in sent.iter().filter(|e| e.answer == Err(Fault::Gone)) {
                deliveries::reset_one(sql, slot.id, (&entry.intent).into())?;
            }
            if let Some(generation) = &generation {
                connections::settle(
                    sql,
                    slot.id,
                    &generation.identity,
                    generation.number,
                    generation.session,
                )?;
            }
            settling.write(run, sql)
        })?;
        run.progress.delivered(sent.iter().filter(|e| e.answer.is_ok() && !e.settled).count() as u64);
        settling.counted(run);
        if planted(Mutation::ConfirmationBeforeCommit) {
            self.commit(false)?;
        }
        let over = not_alone.into_iter().filter(|(visit, answers)| visit.close(*answers));
        visit::settle(run, over.map(|(visit, _)| visit).collect())
    }
}

/// Whatever the output does, the intent is on disk before it: a loss of power must not forget what was sent.
pub(crate) fn intent_durability() -> Durability {
    if planted(Mutation::IntentNotDurable) { Durability::Relaxed } else { Durability::Synced }
}

/// Known documents that other people may see from now on.
fn narrowed(sent: &[Sent]) -> Vec<(i64, Option<AclId>, Option<ContainerId>)> {
    let known = sent
        .iter()
        .filter(|entry| entry.prepared.step != Step::Delete)
        .map(|entry| (&entry.prepared, entry.intent.document))
        .filter(|(prepared, _)| {
            let known = prepared.visit.task.known.as_ref();
            known
                .is_some_and(|known| known.acl_id != prepared.acl_id || known.container != prepared.container)
        })
        .map(|(prepared, document)| (document, prepared.acl_id, prepared.container));
    let mut rows: Vec<_> = known.collect();
    // What is in one document has its access.
    rows.dedup();
    rows
}

/// Visits with the number of their answers, which stand side by side.
fn by_visit(sent: &[Sent]) -> Vec<(&Visit, usize)> {
    let visit = |entry: &Sent| Arc::as_ptr(&entry.prepared.visit);
    let groups = sent.chunk_by(|one, next| visit(one) == visit(next));
    groups.map(|group| (&*group[0].prepared.visit, group.len())).collect()
}

/// Components that are about to be sent, with their names.
fn named(sent: &[Sent]) -> Vec<(i64, i64, &str)> {
    sent.iter()
        .filter(|entry| entry.prepared.step != Step::Delete)
        .filter_map(|entry| {
            let name = entry.prepared.part.name.as_deref()?;
            Some((entry.intent.document, entry.intent.component, name))
        })
        .collect()
}

/// Takes note of an answer.
fn note(entry: &Sent) {
    entry.prepared.visit.note(match &entry.answer {
        Ok(()) => entry.prepared.step.outcome(entry.prepared.first),
        Err(Fault::Refused(reason) | Fault::Broken(reason)) => Outcome::Failed(reason.clone()),
        Err(fault @ Fault::Passing { .. }) => Outcome::Again(fault.clone()),
        // The output holds no such entry: it gets the record.
        Err(Fault::Gone) => {
            Outcome::Again(Fault::passing("forgotten", "the output does not hold the entry any more"))
        }
    });
}

/// Finds whether nothing has to be sent because of the other owners of an address, and who has it from now on.
fn settle_among(
    sql: &mut ingather_store::Sql<'_>,
    can: OutputCan,
    entry: &mut Sent,
    owners: &[Owner],
) -> std::result::Result<(), StoreError> {
    let owners = if planted(Mutation::ExclusionByDocument) { &[] } else { owners };
    let mut others = owners.iter().filter(|owner| owner.document != entry.intent.document);
    match entry.prepared.step {
        Step::Put { version, access } => {
            entry.settled = others.any(|owner| {
                owner.state.confirmed == Some(version)
                    && owner.state.intended == version
                    && (owner.state.confirmed_acl == Some(access) && owner.state.intended_acl == access
                        || planted(Mutation::SecondOwnerOnContentAlone))
            });
        }
        Step::Access { .. } => {}
        // What one owner does not want any more belongs to the others still.
        Step::Delete => {
            entry.heir = Heir::of(sql, can, owners, entry.intent.document)?;
            entry.settled = entry.heir.is_some() && planted(Mutation::LeftEntryStays);
        }
    }
    Ok(())
}

/// What is about to be sent may replace what other owners sent, whether it is confirmed or not.
fn overwrite(
    sql: &mut ingather_store::Sql<'_>,
    slot: &OutputSlot,
    entry: &Sent,
) -> std::result::Result<(), StoreError> {
    match entry.prepared.step {
        _ if entry.settled => 0,
        Step::Put { .. } => deliveries::supersede(sql, slot.id, false, &entry.intent)?,
        Step::Access { .. } if planted(Mutation::AccessLeavesOtherOwners) => 0,
        Step::Access { .. } => deliveries::supersede(sql, slot.id, true, &entry.intent)?,
        Step::Delete => 0,
    };
    Ok(())
}
