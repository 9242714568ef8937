//! Taking documents out of outputs: what is to go is planned here, and sent by the outputs' senders.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Weak};

use ingather_model::fault::Reason;
use ingather_model::ids::ConnectionId;
use ingather_model::job::history::HistoryOutcome;
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_model::run_counts::RunCounts;
use ingather_store::runs::history::{self, Noted};
use ingather_store::{Durability, deliveries, documents, queue};

use crate::delivery::author::Author;
use crate::delivery::change::{ChangeKind, Origin, Part, QueuedChange};
use crate::delivery::output_pool::OutputUse;
use crate::delivery::output_user::OutputUser;
pub use crate::delivery::removal::Removed;
use crate::delivery::removal::{Left, PendingRemoval, RemovalTicket};
use crate::delivery::telling::{ends, tell};
use crate::delivery::writer::Writer;
use crate::error::{EngineError, Refusal, Result};
use crate::progress::Progress;

/// Removes documents of one job.
pub(crate) struct Remover {
    pub(crate) writer: Writer,
    pub(crate) author: Arc<Author>,
    pub(crate) outputs: BTreeMap<ConnectionId, OutputUse>,
    ticket: Arc<RemovalTicket>,
    /// A person has erased what it removes. What an output holds that is not open stays there for now, and its document known.
    erases: bool,
    /// Of what it removes that which stays known, since something leads to it, each with the reason why it is none of the job.
    left_out: BTreeMap<i64, Reason>,
}

/// What one output is to let go of a document.
struct Leaving {
    output: ConnectionId,
    part: Part,
    uri: String,
}

/// What is to go, by document; and documents of which nobody knows any more under which address an output holds them.
#[derive(Default)]
struct Plan {
    leaving: HashMap<i64, Vec<Leaving>>,
    names: HashMap<i64, String>,
    unaddressable: HashSet<i64>,
}

impl Remover {
    /// `noted_by`: the run in whose name removals are noted in the history of the job, where that has every document.
    pub(crate) fn new(
        writer: Writer,
        author: Arc<Author>,
        progress: Arc<Progress>,
        noted_by: Option<i64>,
    ) -> Remover {
        let ticket = RemovalTicket::new(author.clone(), progress, noted_by);
        let (erases, left_out) = (false, BTreeMap::new());
        Remover { writer, author, outputs: BTreeMap::new(), ticket, erases, left_out }
    }

    /// One that takes documents that were erased out of the outputs that it was given, whatever others hold of them.
    pub(crate) fn erasing(self) -> Remover {
        Remover { erases: true, ..self }
    }

    /// Sends removals to an output as well.
    pub(crate) fn add(&mut self, output: OutputUse) {
        let user: Weak<dyn OutputUser> = Arc::downgrade(&self.ticket) as Weak<dyn OutputUser>;
        output.join(user);
        self.outputs.insert(output.id, output);
    }

    pub(crate) fn stops(&self) -> bool {
        self.writer.call.cancel.cancelled()
    }

    /// Removes documents from every output; over when the outputs have answered.
    pub(crate) fn remove(&mut self, ids: &[i64]) -> Result<Removed> {
        let mut all = Removed::default();
        for remove_batch in ids.chunks(limits::REMOVE_BATCH) {
            if self.stops() {
                break;
            }
            all.add(self.hand_over(remove_batch, None)?);
        }
        all.add(self.ticket.wait()?);
        Ok(all)
    }

    /// The same for documents that something leads to: they stay known as documents that are left out.
    pub(crate) fn set_aside(&mut self, whys: BTreeMap<i64, Reason>) -> Result<Removed> {
        let ids: Vec<i64> = whys.keys().copied().collect();
        self.left_out = whys;
        let removed = self.remove(&ids);
        self.left_out.clear();
        removed
    }

    /// Removes everything that the job has, in key order; what an output does not confirm stays.
    pub(crate) fn remove_all(&mut self) -> Result<Removed> {
        let mut all = Removed::default();
        let mut after = DocumentKey { parent_hash: i64::MIN, key_hash: i64::MIN };
        while !self.stops() {
            let reader = self.writer.store.reader();
            let rows =
                reader.read(|sql| documents::walk(sql, self.author.job, after, limits::REMOVE_BATCH))?;
            let Some((last, _)) = rows.last() else { break };
            after = *last;
            let ids: Vec<i64> = rows.iter().map(|(_, id)| *id).collect();
            all.add(self.hand_over(&ids, None)?);
        }
        all.add(self.ticket.wait()?);
        Ok(all)
    }

    /// Takes everything of the job out of one output.
    pub(crate) fn leave_output(&mut self, left: Left) -> Result<Removed> {
        let mut all = Removed::default();
        let mut after = 0;
        while !self.stops() {
            let (reader, job) = (self.writer.store.reader(), self.author.job);
            let mut ids = reader
                .read(|sql| deliveries::of_output(sql, left.output, job, after, limits::REMOVE_BATCH))?;
            let Some(last) = ids.last() else { break };
            after = *last;
            ids.dedup();
            all.add(self.hand_over(&ids, Some(left))?);
        }
        all.add(self.ticket.wait()?);
        Ok(all)
    }

    /// Hands over what outputs have to let go; forgets at once what none of them holds.
    fn hand_over(&mut self, ids: &[i64], left: Option<Left>) -> Result<Removed> {
        let Plan { mut leaving, names, unaddressable } = self.plan(ids, left.map(|left| left.output))?;
        let mut removed = Removed { unaddressable: unaddressable.len() as u64, ..Removed::default() };
        let mut unheld = Vec::new();
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        for id in &ids {
            let is_unaddressable = unaddressable.contains(id);
            let Some(mut parts) = leaving.remove(id) else {
                removed.kept += u64::from(is_unaddressable);
                unheld.extend((!is_unaddressable).then_some(*id));
                continue;
            };
            let name = names.get(id).map(String::as_str).unwrap_or_default();
            let all = parts.len();
            parts.retain(|part| !self.erases || self.outputs.contains_key(&part.output));
            let removal =
                self.ticket.open(*id, name, parts.len(), (left, self.erases, self.left_out.get(id).cloned()));
            // Nobody knows where all of it is, or it is not all taken out.
            removal.note(!is_unaddressable && parts.len() == all);
            // Before any of it is handed over: an output that hangs keeps nothing from the others.
            for output in parts.iter().filter_map(|part| self.outputs.get(&part.output)) {
                output.wait_while_full(self.ticket.as_ref());
            }
            for part in parts {
                self.push(&removal, part)?;
            }
        }
        if !unheld.is_empty() && left.is_none() {
            let now = self.writer.call.now();
            let removed = |id: &i64| {
                Noted::of(*id, names.get(id).map(String::as_str).unwrap_or_default(), HistoryOutcome::Removed)
            };
            self.writer.store.write(Durability::Synced, |sql| {
                self.writer.lease.fence(sql)?;
                if let Some(run) = self.ticket.noted_by {
                    history::note(
                        sql,
                        self.author.job,
                        run,
                        now,
                        &unheld.iter().map(removed).collect::<Vec<_>>(),
                    )?;
                }
                let is_left_out = |id: &i64| Some((*id, self.left_out.get(id)?));
                let left_out: Vec<(i64, &Reason)> = unheld.iter().filter_map(is_left_out).collect();
                if !left_out.is_empty() {
                    return queue::set_aside(sql, self.author.job, now, &left_out);
                }
                self.author.forget(sql, &unheld, now)
            })?;
        }
        removed.forgotten = unheld.len() as u64;
        Ok(removed)
    }

    fn push(&self, removal: &Arc<PendingRemoval>, Leaving { output, part, uri }: Leaving) -> Result<()> {
        let Some(queue) = self.outputs.get(&output) else {
            let sentence = format!("output {} of this store is not open", output.0);
            return Err(EngineError::refused(Refusal::NoSuchOutput, sentence));
        };
        let queued = QueuedChange {
            origin: Origin::Removal(removal.clone()),
            uri: part.uri(uri),
            part,
            kind: ChangeKind::Delete,
            record: None,
            acl_id: None,
            container: None,
            first: false,
            was_held: true,
        };
        queue.push(queued);
        Ok(())
    }

    fn plan(&self, ids: &[i64], only: Option<ConnectionId>) -> Result<Plan> {
        let (states, names, uris, components) = self.writer.store.reader().read(|sql| {
            let (states, names) = (deliveries::states(sql, ids)?, documents::names(sql, ids)?);
            Ok((states, names, deliveries::uris(sql, ids)?, deliveries::components(sql, ids)?))
        })?;
        let components: HashMap<(i64, i64), Arc<str>> =
            components.into_iter().map(|c| ((c.document, c.id), c.name.into())).collect();
        let uris: HashMap<(i64, ConnectionId), String> =
            uris.into_iter().map(|(document, output, uri)| ((document, output), uri)).collect();
        let mut plan = Plan { names: names.into_iter().collect(), ..Plan::default() };
        for delivery in states.into_iter().filter(|delivery| only.is_none_or(|only| delivery.output == only))
        {
            let name = plan.names.get(&delivery.document);
            let remembered = uris.get(&(delivery.document, delivery.output)).cloned();
            let uri = remembered.or_else(|| name.map(|name| self.author.repository.uri(name)));
            let component = components.get(&(delivery.document, delivery.component)).cloned();
            let part = Part { id: delivery.component, name: component, kept: false };
            let (Some(uri), true) = (uri, part.id == 0 || part.name.is_some()) else {
                plan.unaddressable.insert(delivery.document);
                continue;
            };
            let leaving = Leaving { output: delivery.output, part, uri };
            plan.leaving.entry(delivery.document).or_default().push(leaving);
        }
        Ok(plan)
    }

    /// Tells an output that judges by what it is told how what was asked of the job ended.
    pub(crate) fn end(
        &mut self,
        output: ConnectionId,
        run: Option<i64>,
        outcome: RunOutcome,
        counts: RunCounts,
    ) -> Result<()> {
        let Some(queue) = self.outputs.get(&output).filter(|queue| queue.capabilities.told) else {
            return Ok(());
        };
        if let Some(opened) = queue.opened().as_mut() {
            let ends = ends(&self.author.job_name, run, outcome, counts);
            tell(self.writer.desk(), output, opened, Some(ends))?
                .map_err(|fault| EngineError::Output { name: queue.name.clone(), fault })?;
        }
        Ok(())
    }

    /// The same for every output that was opened for it.
    pub(crate) fn end_all(&mut self, run: Option<i64>, removed: Removed) -> Result<()> {
        let outcome = if self.stops() { RunOutcome::Stopped } else { RunOutcome::Done };
        let counts = RunCounts { deleted: removed.deleted, kept: removed.kept, ..RunCounts::default() };
        let outputs: Vec<ConnectionId> = self.outputs.keys().copied().collect();
        outputs.into_iter().try_for_each(|output| self.end(output, run, outcome, counts))
    }
}
