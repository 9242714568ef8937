//! What an output really holds, beside what the books say that it holds (design 4.17): one pass over both.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use ingather_connector::model::document::{INSIDE, component_uri};
use ingather_connector::model::fault::Fault;
use ingather_connector::model::ids::{ConnectionId, Digest, JobId};
use ingather_connector::model::limits;
use ingather_connector::output::{Change, Op};
use ingather_connector::repository::Repository;
use ingather_store::connections::{self, Connection};
use ingather_store::deliveries::{self, Booked};
use ingather_store::jobs::{self, Job};
use ingather_store::leases::Lease;
use ingather_store::work::{self, Cause, Wanted};
use ingather_store::{Durability, Store, doctor, documents};

use super::sorted::{Entry, Sorted};
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::outputs;
use crate::outputs::{Misfit, Opened, misfit};
use crate::visit::access_digest;

/// How an entry and the books differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The books say that it is there, and it is not.
    Missing,
    /// It is there with another version or another access than was confirmed.
    Stale,
    /// It is ours, and no job has it.
    Orphaned,
    /// It is not ours.
    Foreign,
}

impl Kind {
    /// The word in answers.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Missing => "missing",
            Kind::Stale => "stale",
            Kind::Orphaned => "orphaned",
            Kind::Foreign => "foreign",
        }
    }
}

/// One difference.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Which.
    pub kind: Kind,
    /// Address of the entry.
    pub id: String,
    /// Job and name of the document, when the books know it.
    pub document: Option<(String, String)>,
}

/// What was found in one output.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Entries that the output holds.
    pub entries: u64,
    /// Deliveries in the books.
    pub deliveries: u64,
    /// See [`Kind::Missing`].
    pub missing: u64,
    /// See [`Kind::Stale`].
    pub stale: u64,
    /// See [`Kind::Orphaned`].
    pub orphaned: u64,
    /// See [`Kind::Foreign`].
    pub foreign: u64,
    /// Addresses for which something is on its way: the next run settles them, and nothing is said about them now.
    pub on_their_way: u64,
    /// The output as a whole is not the one that the books speak of, and how.
    pub mismatch: Option<String>,
    /// Jobs that have something to send again, after a repair.
    pub to_send: Vec<JobId>,
    /// Entries that were taken out, by a repair.
    pub removed: u64,
}

impl Verified {
    /// Whether output and books agree.
    pub fn agrees(&self) -> bool {
        self.missing + self.stale + self.orphaned + self.foreign == 0
    }
}

/// One pass under way.
struct Pass<'e, 't> {
    engine: &'e Engine,
    store: Store,
    lease: Lease,
    opened: Opened,
    connection: Connection,
    repair: bool,
    tell: &'t mut dyn FnMut(&Difference),
    found: Verified,
    /// Addresses that no book knows: whether they are ours.
    unknown: HashMap<i64, bool>,
    jobs: BTreeMap<i64, Job>,
    repositories: HashMap<i64, Arc<dyn Repository>>,
    to_send: HashSet<i64>,
    /// Documents with something in them whose name is lost: read again once its entry is out, they tell it.
    to_read: HashSet<i64>,
}

impl Engine {
    /// Compares what an output holds with the books, and tells each difference. `repair` marks what is missing or stale
    /// as not held, so that the jobs in [`Verified::to_send`] send it again, and takes out what is orphaned; what is not
    /// ours is only told.
    ///
    /// # Errors
    /// `Refused` when the output cannot list what it holds; what the store or the output says.
    pub fn verify(
        &self,
        connection: &Connection,
        repair: bool,
        tell: &mut dyn FnMut(&Difference),
    ) -> Result<Verified> {
        let (store, lease) = self
            .writer
            .clone()
            .ok_or_else(|| EngineError::Refused("the store is open for reading only".to_owned()))?;
        let opened = outputs::open_as_it_is(&store, &self.registry, &self.data, connection)?;
        let jobs = self.reader.read(jobs::list)?.into_iter().map(|job| (job.id.0, job)).collect();
        let mut pass = Pass {
            engine: self,
            store,
            lease,
            opened,
            connection: connection.clone(),
            repair,
            tell,
            found: Verified::default(),
            unknown: HashMap::new(),
            jobs,
            repositories: HashMap::new(),
            to_send: HashSet::new(),
            to_read: HashSet::new(),
        };
        pass.whole();
        // A newer number cannot be had: whatever a repair sent would count as older.
        if let (true, Some(why)) =
            (repair && pass.opened.output.generation().seq > limits::SEQ_MAX, &pass.found.mismatch)
        {
            let fault = Fault::refused("seq", format!("{why}; nothing was repaired"));
            return Err(EngineError::Output { name: connection.name.clone(), fault });
        }
        let mut sorted = pass.list()?;
        pass.compare(&mut sorted)?;
        drop(sorted);
        pass.unknown()?;
        if repair {
            pass.settle()?;
        }
        pass.found.to_send = pass.to_send.into_iter().map(JobId).collect();
        Ok(pass.found)
    }
}

impl Pass<'_, '_> {
    fn id(&self) -> ConnectionId {
        self.connection.id
    }

    /// Whether the output is the one that the books speak of.
    fn whole(&mut self) {
        if !self.opened.can.commits {
            return;
        }
        let stands = self.opened.output.generation();
        let known = &self.connection;
        self.found.mismatch = match misfit(known, &stands) {
            Some(Misfit::Replaced) => Some(
                "it is not the output that the books speak of: it was made anew or put in its place"
                    .to_owned(),
            ),
            Some(Misfit::Newer) if stands.seq > limits::SEQ_MAX => Some(format!(
                "somebody else wrote into it a change with the number {}, which no store gives out; the next `ingather sync` \
                 empties it and sends everything again",
                stands.seq
            )),
            Some(Misfit::Older) => Some(format!(
                "it is of an earlier day: it stands at commit {}, and the books at {}",
                stands.number, known.generation
            )),
            Some(Misfit::Newer) => {
                Some("the store is of an earlier day: it does not know the last changes".to_owned())
            }
            Some(Misfit::Parted) => {
                Some("it and the store were put back, and went different ways since".to_owned())
            }
            None => None,
        };
    }

    fn list(&mut self) -> Result<Sorted> {
        let mut sorted = Sorted::new(&self.engine.data);
        let hasher = self.engine.reader.hasher();
        let mut after: Option<String> = None;
        loop {
            let page = self.page(after.as_deref())?;
            let Some(last) = page.last() else { return Ok(sorted) };
            after = Some(last.id.clone());
            self.found.entries += page.len() as u64;
            for held in page {
                let parent = held.id.rfind('/').map_or(0, |slash| slash + 1);
                let own = hasher.hash(held.id.as_bytes());
                sorted.add(Entry {
                    address: (hasher.hash(&held.id.as_bytes()[..parent]), own),
                    version: held.version.0,
                    class: held.class.map_or(0, |class| class.0),
                    place: held.place.map_or(0, |place| place.0),
                    ours: held.address == own,
                })?;
            }
        }
    }

    fn page(&mut self, after: Option<&str>) -> Result<Vec<ingather_connector::output::Held>> {
        let call = self.engine.call();
        if call.cancel.cancelled() {
            return Err(EngineError::Refused("stopped; nothing more was looked at".to_owned()));
        }
        let page = self.opened.output.list(&call, after, limits::VERIFY_PAGE);
        page.map_err(|fault| EngineError::Output { name: self.connection.name.clone(), fault })
    }

    /// Merges the books, in their order, with the entries in the same order.
    fn compare(&mut self, sorted: &mut Sorted) -> Result<()> {
        let mut books = Books { after: (i64::MIN, i64::MIN), rows: Vec::new().into_iter(), ended: false };
        let mut group = books.next(&self.store, self.id())?;
        for part in 0..sorted.parts()? {
            let mut differing = Vec::new();
            for entry in sorted.part(part)? {
                while let Some(rows) = group.take_if(|rows| rows[0].address < entry.address) {
                    self.booked(rows, None, &mut differing)?;
                    group = books.next(&self.store, self.id())?;
                }
                match group.take_if(|rows| rows[0].address == entry.address) {
                    Some(rows) => {
                        self.booked(rows, Some(entry), &mut differing)?;
                        group = books.next(&self.store, self.id())?;
                    }
                    None => self.unbooked(entry),
                }
            }
            self.differ(&mut differing)?;
        }
        let mut differing = Vec::new();
        while let Some(rows) = group {
            self.booked(rows, None, &mut differing)?;
            group = books.next(&self.store, self.id())?;
        }
        self.differ(&mut differing)
    }

    /// The owners of one address, and the entry that is there.
    fn booked(
        &mut self,
        rows: Vec<Booked>,
        entry: Option<Entry>,
        differing: &mut Vec<(Kind, Vec<Booked>)>,
    ) -> Result<()> {
        self.found.deliveries += rows.len() as u64;
        let (known, lost): (Vec<Booked>, Vec<Booked>) = rows.into_iter().partition(|row| row.job.is_some());
        let parts = lost.iter().filter(|row| row.component != 0).map(|row| row.document);
        self.to_read.extend(parts.take(limits::VERIFY_UNKNOWN_MAX.saturating_sub(self.to_read.len())));
        if known.is_empty() {
            entry.into_iter().for_each(|entry| self.unbooked(entry));
            return Ok(());
        }
        let confirmed: Vec<&Booked> = known.iter().filter(|row| is_confirmed(row)).collect();
        let kind = match entry {
            _ if confirmed.is_empty() => {
                self.found.on_their_way += 1;
                return Ok(());
            }
            None => Kind::Missing,
            Some(entry) if confirmed.iter().any(|row| is_held(row, &entry)) => return Ok(()),
            Some(_) => Kind::Stale,
        };
        *(if kind == Kind::Missing { &mut self.found.missing } else { &mut self.found.stale }) += 1;
        differing.push((kind, known));
        if differing.len() >= limits::VERIFY_PAGE { self.differ(differing) } else { Ok(()) }
    }

    fn unbooked(&mut self, entry: Entry) {
        *(if entry.ours { &mut self.found.orphaned } else { &mut self.found.foreign }) += 1;
        if self.unknown.len() < limits::VERIFY_UNKNOWN_MAX {
            self.unknown.insert(entry.address.1, entry.ours);
        }
    }

    /// Tells what is missing or stale by its name, and marks it as not held.
    fn differ(&mut self, differing: &mut Vec<(Kind, Vec<Booked>)>) -> Result<()> {
        let ids: Vec<i64> = differing.iter().map(|(_, rows)| rows[0].document).collect();
        let (names, uris, components) = self.store.reader().read(|sql| {
            let (names, uris) = (documents::names(sql, &ids)?, deliveries::uris(sql, &ids)?);
            Ok((names, uris, deliveries::components(sql, &ids)?))
        })?;
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
        if self.repair {
            self.resend(differing)?;
        }
        differing.clear();
        Ok(())
    }

    fn uri(&mut self, row: &Booked, name: &str) -> String {
        let job = row.job.and_then(|id| self.jobs.get(&id.0));
        let Some(job) = job else { return name.to_owned() };
        if !self.repositories.contains_key(&job.id.0) {
            let connection = self.store.reader().read(|sql| connections::get(sql, job.repository));
            let kind = connection.ok().flatten().map(|connection| connection.kind).unwrap_or_default();
            // A source that cannot even be named leaves the document's own name to tell.
            if let Ok(repository) = self.engine.repository(&kind, &job.definition) {
                self.repositories.insert(job.id.0, repository);
            }
        }
        self.repositories.get(&job.id.0).map_or_else(|| name.to_owned(), |repository| repository.uri(name))
    }

    fn resend(&mut self, differing: &[(Kind, Vec<Booked>)]) -> Result<()> {
        let output = self.id().0;
        let rows: Vec<&Booked> =
            differing.iter().flat_map(|(_, rows)| rows).filter(|row| is_confirmed(row)).collect();
        let lost: Vec<(i64, i64)> = rows.iter().map(|row| (row.document, output)).collect();
        let mut by_job: BTreeMap<i64, Vec<Wanted>> = BTreeMap::new();
        for row in rows {
            let Some(job) = row.job else { continue };
            let wanted = Wanted { document: row.document, due: 0, cause: Cause::Resend };
            by_job.entry(job.0).or_default().push(wanted);
        }
        self.store.write(Durability::Synced, |sql| {
            self.lease.fence(sql)?;
            deliveries::lose(sql, &lost)?;
            by_job.iter().try_for_each(|(job, wanted)| work::want(sql, JobId(*job), 0, wanted))
        })?;
        self.to_send.extend(by_job.into_keys());
        Ok(())
    }

    /// Finds the entries that no book knows by their ids, tells them, and takes out those that are ours.
    fn unknown(&mut self) -> Result<()> {
        if self.unknown.is_empty() {
            return Ok(());
        }
        let hasher = self.engine.reader.hasher();
        let mut after: Option<String> = None;
        loop {
            let page = self.page(after.as_deref())?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id.clone());
            let mut orphaned = Vec::new();
            for held in page {
                let address = hasher.hash(held.id.as_bytes());
                let Some(ours) = self.unknown.get(&address) else { continue };
                let kind = if *ours { Kind::Orphaned } else { Kind::Foreign };
                (self.tell)(&Difference { kind, id: held.id.clone(), document: None });
                if *ours {
                    orphaned.push((held.id, address));
                }
            }
            if self.repair && !orphaned.is_empty() {
                self.take_out(orphaned)?;
            }
        }
    }

    fn take_out(&mut self, orphaned: Vec<(String, i64)>) -> Result<()> {
        let stands = self.opened.output.generation();
        let first = self.store.write(Durability::Synced, |sql| {
            self.lease.fence(sql)?;
            // Newest wins: a store of an earlier day must not lag behind what its output has seen.
            connections::pass_number(sql, stands.seq)?;
            connections::take_numbers(sql, self.id(), self.opened.session, orphaned.len())
        })?;
        let changes: Vec<Change> = orphaned
            .into_iter()
            .zip(first..)
            .map(|((id, address), seq)| Change {
                document: id.clone(),
                id,
                address,
                job: 0,
                job_name: "verify".into(),
                seq,
                op: Op::Delete,
            })
            .collect();
        let answers = self.opened.output.apply(&self.engine.call(), &changes);
        self.found.removed += answers.iter().filter(|answer| answer.is_ok()).count() as u64;
        match answers.into_iter().find_map(std::result::Result::err) {
            Some(fault) => Err(EngineError::Output { name: self.connection.name.clone(), fault }),
            None => Ok(()),
        }
    }

    /// Makes the repair last: the output fits the books from now on, and what hung in the air is dropped.
    fn settle(&mut self) -> Result<()> {
        let failed = |fault| EngineError::Output { name: self.connection.name.clone(), fault };
        let done = self.opened.commit(&self.engine.call()).map_err(failed)?;
        let all_known = self.found.removed == self.found.orphaned;
        let id = self.id();
        self.store.write(Durability::Synced, |sql| {
            self.lease.fence(sql)?;
            if all_known {
                deliveries::drop_dangling(sql, id)?;
                doctor::queue(sql, self.to_read.iter().copied())?;
            }
            let Some(done) = done else { return Ok(()) };
            connections::pass_number(sql, done.seq)?;
            connections::take_numbers(sql, id, self.opened.session, 1)?;
            connections::settle(sql, id, &done.identity, done.number, done.session)
        })?;
        Ok(())
    }
}

/// The books of an output by address, all owners of one address at a time.
struct Books {
    after: (i64, i64),
    rows: std::vec::IntoIter<Booked>,
    ended: bool,
}

impl Books {
    fn next(&mut self, store: &Store, output: ConnectionId) -> Result<Option<Vec<Booked>>> {
        if self.rows.len() == 0 && !self.ended {
            let mut most = limits::VERIFY_PAGE;
            let mut page = store.reader().read(|sql| deliveries::books(sql, output, self.after, most))?;
            // The owners of one address are never cut apart.
            while page.len() == most
                && page.first().map(|row| row.address) == page.last().map(|row| row.address)
            {
                most *= 2;
                page = store.reader().read(|sql| deliveries::books(sql, output, self.after, most))?;
            }
            self.ended = page.len() < most;
            if let (false, Some(last)) = (self.ended, page.last().map(|row| row.address)) {
                page.retain(|row| row.address != last);
            }
            self.after = page.last().map_or(self.after, |row| row.address);
            self.rows = page.into_iter();
        }
        let Some(first) = self.rows.next() else { return Ok(None) };
        let address = first.address;
        let mut group = vec![first];
        while self.rows.as_slice().first().is_some_and(|row| row.address == address) {
            group.extend(self.rows.next());
        }
        Ok(Some(group))
    }
}

fn is_confirmed(row: &Booked) -> bool {
    row.holding.sent.is_some() && row.holding.held == Some(row.holding.sent)
}

/// Whether the entry is what this owner had confirmed; access that is on its way is not asked for.
fn is_held(row: &Booked, entry: &Entry) -> bool {
    let digest = access_digest(row.class, row.place);
    let settled = row.holding.held_access == Some(digest) && row.holding.sent_access == digest;
    let access = row.class.map_or(0, |class| class.0) == entry.class
        && row.place.map_or(0, |place| place.0) == entry.place;
    Digest(entry.version) == row.holding.sent && (access || !settled)
}
