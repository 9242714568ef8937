//! One pass over an output and what the inventory says of it, each address met once on either side.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ingather_contract::output::{Change, Generation, Op, OutputSnapshot};
use ingather_contract::repository::Repository;
use ingather_model::document::{INSIDE, component_uri};
use ingather_model::fault::Fault;
use ingather_model::ids::{ConnectionId, JobId};
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_model::run_counts::RunCounts;
use ingather_store::connections::{self, Connection};
use ingather_store::deliveries::{self, LogRow};
use ingather_store::jobs::{self, Job};
use ingather_store::leases::Lease;
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::{Durability, Sql, Store, doctor, documents, runs};
use roaring::RoaringTreemap;

use super::log::{DeliveryLog, is_as_confirmed, is_confirmed, is_lost};
use super::{Difference, Kind, Verified};
use crate::delivery::opened::Opened;
use crate::delivery::telling::{ends, tell};
use crate::delivery::writer::Desk;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::inspect::external_sort::{Entry, ExternalSort};
use crate::outputs::{Misfit, UNDER_REPAIR, misfit};
use crate::run::id_set;

/// Whose changes a repair makes, in the place of a job.
pub(super) const AUTHOR: &str = "verify";

/// The output under a pass.
pub(super) enum Side {
    /// Not there.
    Nothing,
    /// Opened for looking.
    Looking(Box<dyn OutputSnapshot>),
    /// Opened for a repair.
    Writing(Opened),
}

impl Side {
    pub(super) fn generation(&self) -> Option<Generation> {
        match self {
            Side::Nothing => None,
            Side::Looking(snapshot) => Some(snapshot.generation()),
            Side::Writing(opened) => Some(opened.output.generation()),
        }
    }
}

/// One pass under way.
pub(super) struct Pass<'e, 't> {
    engine: &'e Engine,
    pub(super) side: Side,
    pub(super) connection: Connection,
    /// The output keeps what it commits, and says where it stands.
    commits: bool,
    /// For a repair.
    writer: Option<(Store, Lease)>,
    tell: &'t mut dyn FnMut(&Difference),
    pub(super) found: Verified,
    /// Addresses of entries that are not this store's.
    foreign: HashSet<i64>,
    /// Addresses of entries that a repair removes, and no book knows (true) or another entry was to be at (false).
    leaving: BTreeMap<i64, bool>,
    jobs: BTreeMap<i64, Job>,
    /// By job, once asked: documents whose removal its last run holds.
    held: BTreeMap<i64, RoaringTreemap>,
    repositories: HashMap<i64, Arc<dyn Repository>>,
    to_send: BTreeSet<i64>,
    /// Documents with something in them whose name is lost: read again once its entry is out, they tell it.
    to_read: BTreeSet<i64>,
}

impl<'e, 't> Pass<'e, 't> {
    pub(super) fn new(
        engine: &'e Engine,
        sql: &mut Sql<'_>,
        side: Side,
        connection: Connection,
        writer: Option<(Store, Lease)>,
        found: Verified,
        tell: &'t mut dyn FnMut(&Difference),
    ) -> Result<Pass<'e, 't>> {
        let commits = engine.registry.output(&connection.kind).is_some_and(|kind| kind.capabilities.commits);
        Ok(Pass {
            engine,
            side,
            commits,
            connection,
            writer,
            tell,
            found,
            foreign: HashSet::new(),
            leaving: BTreeMap::new(),
            jobs: jobs::list(sql)?.into_iter().map(|job| (job.id.0, job)).collect(),
            held: BTreeMap::new(),
            repositories: HashMap::new(),
            to_send: BTreeSet::new(),
            to_read: BTreeSet::new(),
        })
    }

    fn id(&self) -> ConnectionId {
        self.connection.id
    }

    fn repairs(&self) -> bool {
        self.writer.is_some()
    }

    /// Until a repair of an output of another day has ended, no reader and no run takes the output for today's: it is
    /// written to under a session and a ceiling that the inventory notes, so that it would fit after half a repair.
    pub(super) fn distrust(&self) -> Result<()> {
        let (Side::Writing(_), Some((store, lease))) = (&self.side, &self.writer) else { return Ok(()) };
        if self.found.mismatch.is_none() || !self.commits {
            return Ok(());
        }
        let known = &self.connection;
        store.write(Durability::Synced, |sql| {
            lease.fence(sql)?;
            connections::record_generation(sql, known.id, UNDER_REPAIR, known.generation, known.session)
        })?;
        Ok(())
    }

    pub(super) fn over(mut self, sql: &mut Sql<'_>) -> Result<Verified> {
        let listed = self.list();
        let mut sorted = match listed {
            // What cannot be read to its end cannot be compared.
            Err(EngineError::Output { fault: Fault::Broken(reason), .. }) if !self.repairs() => {
                self.found.damage.push(reason.message);
                return Ok(self.found);
            }
            listed => listed?,
        };
        self.compare(sql, &mut sorted)?;
        drop(sorted);
        self.unknown()?;
        self.complete()?;
        self.found.to_send = self.to_send.into_iter().map(JobId).collect();
        Ok(self.found)
    }

    /// Whether the output is the one that the inventory speaks of; true when it is only further than that.
    pub(super) fn whole(&mut self) -> bool {
        let known = &self.connection;
        let Some(stands) = self.side.generation() else {
            let lost = known.identity.is_some() && self.found.damage.is_empty();
            self.found.mismatch = lost.then(|| {
                "it is not there any more; the next `ingather sync` makes a new one and sends everything again".to_owned()
            });
            return false;
        };
        let misfit = if self.commits { misfit(known, &stands) } else { None };
        self.found.mismatch = misfit.map(|misfit| misfit.sentence(known, &stands));
        matches!(misfit, Some(Misfit::Newer | Misfit::Parted)) && stands.seq <= limits::SEQ_MAX
    }

    fn list(&mut self) -> Result<ExternalSort> {
        let mut sorted = ExternalSort::new(&self.engine.data);
        let hasher = self.engine.reader.hasher();
        let mut after: Option<String> = None;
        loop {
            let page = self.page(after.as_deref())?;
            let Some(last) = page.last() else { return Ok(sorted) };
            after = Some(last.id.clone());
            self.found.entries += page.len() as u64;
            for held in page {
                let address = hasher.address(&held.id);
                sorted.add(Entry {
                    address,
                    version: held.version.0,
                    acl_id: held.acl_id.map_or(0, |acl_id| acl_id.0),
                    container: held.container.map_or(0, |container| container.0),
                    job: held.job,
                    ours: held.address == address.1,
                })?;
            }
        }
    }

    fn page(&mut self, after: Option<&str>) -> Result<Vec<ingather_contract::output::OutputEntry>> {
        let call = self.engine.call();
        if call.cancel.cancelled() {
            return Err(EngineError::refused(Refusal::Stopped, "stopped; nothing more was looked at"));
        }
        let page = match &mut self.side {
            Side::Nothing => Ok(Vec::new()),
            Side::Looking(snapshot) => snapshot.list(&call, after, limits::VERIFY_PAGE),
            Side::Writing(opened) => opened.output.list(&call, after, limits::VERIFY_PAGE),
        };
        page.map_err(|fault| EngineError::Output { name: self.connection.name.clone(), fault })
    }

    /// Merges the delivery log, in its order, with the entries in the same order.
    fn compare(&mut self, sql: &mut Sql<'_>, sorted: &mut ExternalSort) -> Result<()> {
        let mut log = DeliveryLog::default();
        let mut group = log.next(sql, self.id())?;
        for part in 0..sorted.parts()? {
            let mut differing = Vec::new();
            for entry in sorted.part(part)? {
                while let Some(rows) = group.take_if(|rows| rows[0].address < entry.address) {
                    self.booked(sql, rows, None, &mut differing)?;
                    group = log.next(sql, self.id())?;
                }
                match group.take_if(|rows| rows[0].address == entry.address) {
                    Some(rows) => {
                        self.booked(sql, rows, Some(entry), &mut differing)?;
                        group = log.next(sql, self.id())?;
                    }
                    None => self.unbooked(entry),
                }
            }
            self.differ(sql, &mut differing)?;
        }
        let mut differing = Vec::new();
        while let Some(rows) = group {
            self.booked(sql, rows, None, &mut differing)?;
            group = log.next(sql, self.id())?;
        }
        self.differ(sql, &mut differing)
    }

    /// The owners of one address, and the entry that is there.
    fn booked(
        &mut self,
        sql: &mut Sql<'_>,
        rows: Vec<LogRow>,
        entry: Option<Entry>,
        differing: &mut Vec<(Kind, Vec<LogRow>)>,
    ) -> Result<()> {
        self.found.deliveries += rows.len() as u64;
        let (known, lost): (Vec<LogRow>, Vec<LogRow>) = rows.into_iter().partition(|row| row.job.is_some());
        let parts = lost.iter().filter(|row| row.component != 0).map(|row| row.document);
        self.to_read.extend(parts.take(limits::VERIFY_UNKNOWN_MAX.saturating_sub(self.to_read.len())));
        if known.is_empty() {
            entry.into_iter().for_each(|entry| self.unbooked(entry));
            return Ok(());
        }
        let confirmed: Vec<&LogRow> = known.iter().filter(|row| is_confirmed(row)).collect();
        let parted = self.found.mismatch.is_some();
        // What an output of another day holds at an address is of that day, whatever is on its way there.
        let unknown = parted || known.iter().all(is_lost);
        let kind = match entry {
            Some(entry) if confirmed.iter().any(|row| is_as_confirmed(row, &entry, parted)) => return Ok(()),
            Some(entry) if unknown || !confirmed.is_empty() => {
                if self.repairs() {
                    self.leaves(entry.address.1, false);
                }
                Kind::Stale
            }
            None if !confirmed.is_empty() => Kind::Missing,
            _ if entry.is_none() && self.is_held(sql, &known)? => {
                self.found.held_and_lost += 1;
                return Ok(());
            }
            _ => {
                self.found.on_their_way += 1;
                return Ok(());
            }
        };
        *(if kind == Kind::Missing { &mut self.found.missing } else { &mut self.found.stale }) += 1;
        differing.push((kind, known));
        if differing.len() >= limits::VERIFY_PAGE { self.differ(sql, differing) } else { Ok(()) }
    }

    /// True if the last run of every owner holds the removal of its document.
    fn is_held(&mut self, sql: &mut Sql<'_>, known: &[LogRow]) -> Result<bool> {
        for row in known {
            let Some(job) = row.job.and_then(|job| self.jobs.get(&job.0)) else { return Ok(false) };
            let held = match self.held.entry(job.id.0) {
                Slot::Occupied(held) => held.into_mut(),
                Slot::Vacant(slot) => slot.insert(match runs::held(sql, job.id, job.run)? {
                    Some(bytes) => id_set::from_bytes(&bytes)?,
                    None => RoaringTreemap::new(),
                }),
            };
            if !held.contains(row.document as u64) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn unbooked(&mut self, entry: Entry) {
        if entry.ours {
            self.found.orphaned += 1;
            return self.leaves(entry.address.1, true);
        }
        self.found.foreign += 1;
        if self.foreign.len() < limits::VERIFY_UNKNOWN_MAX {
            self.foreign.insert(entry.address.1);
        }
    }

    /// What differs does not stay until something better is sent: acls, containers and jobs that it names may be given out
    /// again for others meanwhile, and its source may be away for long.
    fn leaves(&mut self, address: i64, orphaned: bool) {
        self.found.left_over += 1;
        if self.leaving.len() < limits::VERIFY_UNKNOWN_MAX {
            self.leaving.insert(address, orphaned);
        }
    }

    /// Tells what is missing or stale by its name, and marks it as not held.
    fn differ(&mut self, sql: &mut Sql<'_>, differing: &mut Vec<(Kind, Vec<LogRow>)>) -> Result<()> {
        let ids: Vec<i64> = differing.iter().map(|(_, rows)| rows[0].document).collect();
        let (names, uris) = (documents::names(sql, &ids)?, deliveries::uris(sql, &ids)?);
        let components = deliveries::components(sql, &ids)?;
        let components: HashMap<(i64, i64), String> =
            components.into_iter().map(|c| ((c.document, c.id), c.name)).collect();
        let names: HashMap<i64, String> = names.into_iter().collect();
        for (kind, rows) in differing.iter() {
            let row = &rows[0];
            let name = names.get(&row.document).cloned().unwrap_or_default();
            let kept =
                uris.iter().find(|(document, output, _)| *document == row.document && *output == self.id());
            let mut id = match kept {
                Some((.., uri)) => uri.clone(),
                None => self.uri(row, &name),
            };
            let mut name = name;
            if let Some(component) = components.get(&(row.document, row.component)) {
                id = component_uri(&id, component);
                name = format!("{name}{INSIDE}{component}");
            }
            let job =
                row.job.and_then(|job| self.jobs.get(&job.0)).map(|job| job.name.clone()).unwrap_or_default();
            (self.tell)(&Difference { kind: *kind, id, document: Some((job, name)) });
        }
        if let Some((store, lease)) = self.writer.clone() {
            self.resend(&store, &lease, differing)?;
        }
        differing.clear();
        Ok(())
    }

    fn uri(&mut self, row: &LogRow, name: &str) -> String {
        let job = row.job.and_then(|id| self.jobs.get(&id.0));
        let Some(job) = job else { return name.to_owned() };
        if !self.repositories.contains_key(&job.id.0) {
            // A source that cannot even be named leaves the document's own name to tell.
            if let Ok(repository) = self.engine.repository(job) {
                self.repositories.insert(job.id.0, repository);
            }
        }
        self.repositories.get(&job.id.0).map_or_else(|| name.to_owned(), |repository| repository.uri(name))
    }

    fn resend(&mut self, store: &Store, lease: &Lease, differing: &[(Kind, Vec<LogRow>)]) -> Result<()> {
        let output = self.id().0;
        // Where none is confirmed, what is there is removed, and all who claim the address send anew.
        let counts = |rows: &[LogRow], row: &LogRow| is_confirmed(row) || !rows.iter().any(is_confirmed);
        let rows: Vec<&LogRow> =
            differing.iter().flat_map(|(_, rows)| rows.iter().filter(|row| counts(rows, row))).collect();
        let lost: Vec<(i64, i64)> = rows.iter().map(|row| (row.document, output)).collect();
        let mut by_job: BTreeMap<i64, Vec<VisitRequest>> = BTreeMap::new();
        for row in rows {
            let Some(job) = row.job else { continue };
            let wanted = VisitRequest { document: row.document, due: 0, reason: VisitReason::Resend };
            by_job.entry(job.0).or_default().push(wanted);
        }
        store.write(Durability::Synced, |sql| {
            lease.fence(sql)?;
            deliveries::unconfirm(sql, &lost)?;
            by_job.iter().try_for_each(|(job, wanted)| queue::enqueue(sql, JobId(*job), 0, wanted))
        })?;
        self.to_send.extend(by_job.into_keys());
        Ok(())
    }

    /// Finds the ids of what no book knows and of what leaves, tells the former, and removes the latter.
    fn unknown(&mut self) -> Result<()> {
        if self.foreign.is_empty() && self.leaving.is_empty() {
            return Ok(());
        }
        let hasher = self.engine.reader.hasher();
        let mut after: Option<String> = None;
        loop {
            let page = self.page(after.as_deref())?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id.clone());
            let mut leaving = Vec::new();
            for held in page {
                let address = hasher.hash(held.id.as_bytes());
                let leaves = self.leaving.get(&address).copied();
                let unknown = match leaves {
                    Some(orphaned) => orphaned.then_some(Kind::Orphaned),
                    None => self.foreign.contains(&address).then_some(Kind::Foreign),
                };
                if let Some(kind) = unknown {
                    (self.tell)(&Difference { kind, id: held.id.clone(), document: None });
                }
                if leaves.is_some() {
                    leaving.push((held.id, address));
                }
            }
            if self.repairs() && !leaving.is_empty() {
                self.take_out(leaving)?;
            }
        }
    }

    fn take_out(&mut self, leaving: Vec<(String, i64)>) -> Result<()> {
        let id = self.connection.id;
        let (Side::Writing(opened), Some((store, lease))) = (&mut self.side, &self.writer) else {
            return Ok(());
        };
        let desk = Desk { store, lease, call: &self.engine.call() };
        tell(desk, id, opened, None)?
            .map_err(|fault| EngineError::Output { name: self.connection.name.clone(), fault })?;
        let stands = opened.output.generation();
        let first = store.write(Durability::Synced, |sql| {
            lease.fence(sql)?;
            // Newest wins: a store of an earlier day must not lag behind what its output has seen.
            connections::pass_number(sql, stands.seq)?;
            connections::take_numbers(sql, id, opened.session, leaving.len())
        })?;
        let orphaned = leaving.iter().filter(|(_, address)| self.leaving.get(address) == Some(&true)).count();
        let changes: Vec<Change> = leaving
            .into_iter()
            .zip(first..)
            .map(|((id, address), seq)| Change {
                document: id.clone(),
                id,
                address,
                job: 0,
                job_name: AUTHOR.into(),
                seq,
                op: Op::Delete,
            })
            .collect();
        let answers = opened.output.apply(&self.engine.call(), &changes);
        let removed = answers.len() as u64;
        if let Some(fault) = answers.into_iter().find_map(std::result::Result::err) {
            return Err(EngineError::Output { name: self.connection.name.clone(), fault });
        }
        self.found.removed += orphaned as u64;
        self.found.left_over = self.found.left_over.saturating_sub(removed);
        Ok(())
    }

    /// Makes the repair last: the output fits the delivery log from now on, and what hung in the air is dropped.
    fn complete(&mut self) -> Result<()> {
        let failed = |fault| EngineError::Output { name: self.connection.name.clone(), fault };
        let id = self.connection.id;
        let (Side::Writing(opened), Some((store, lease))) = (&mut self.side, &self.writer) else {
            return Ok(());
        };
        let call = self.engine.call();
        let removed = RunCounts { deleted: self.found.removed, ..RunCounts::default() };
        let over = ends(&AUTHOR.into(), None, RunOutcome::Done, removed);
        tell(Desk { store, lease, call: &call }, id, opened, Some(over))?.map_err(failed)?;
        let done = opened.commit(&call).map_err(failed)?;
        let (all_known, parted) = (self.found.left_over == 0, self.found.mismatch.is_some());
        store.write(Durability::Synced, |sql| {
            lease.fence(sql)?;
            if all_known {
                deliveries::drop_dangling(sql, id)?;
                doctor::queue(sql, self.to_read.iter().copied())?;
            }
            let Some(done) = &done else { return Ok(()) };
            connections::pass_number(sql, done.seq)?;
            connections::take_numbers(sql, id, opened.session, 1)?;
            // What is left of another day would be taken for today's: the next repair goes on.
            if parted && !all_known {
                return Ok(());
            }
            connections::record_generation(sql, id, &done.identity, done.number, done.session)
        })?;
        Ok(())
    }
}
