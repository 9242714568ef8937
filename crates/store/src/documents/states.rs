//! How many documents of a job are in which state: counters that change in the transaction of the rows that they count, so that nobody
//! counts rows to show them, and no kill lets them differ (decision 0034).
//!
//! Stored are those that settled, failed or were left out. What is in none of these states waits, so that documents that a listing finds
//! cost no further counter.

use std::collections::{BTreeMap, HashMap, HashSet};

use ingather_model::ids::JobId;
use ingather_model::lifecycle::outcome::FailureKind;

use crate::db::{Row, Sql, Value};
use crate::documents::{self, DocumentUpdate};
use crate::error::Result;
use crate::queries;
use crate::queue::{self, Failure, VisitRequest};

/// The counter of all documents of a job.
const DOCUMENTS: &str = "documents";
/// The counter of those that settled.
const SETTLED: &str = "settled";

/// How many documents of a job are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct States {
    /// All of its inventory.
    pub documents: u64,
    /// Those that wait for a visit.
    pub waiting: u64,
    /// Those that are up to date.
    pub settled: u64,
    /// Those that could not be read, understood or delivered.
    pub failed: u64,
    /// Those of the inventory that were left out.
    pub skipped: u64,
}

/// What the counters of a job say.
///
/// # Errors
/// What the database says.
pub fn of(sql: &mut Sql<'_>, job: JobId) -> Result<States> {
    Ok(of_all(sql, &[job.0])?.remove(&job).unwrap_or_default())
}

/// What the counters of each of these jobs say; one that has no documents may be left out.
///
/// # Errors
/// What the database says.
pub fn of_all(sql: &mut Sql<'_>, jobs: &[i64]) -> Result<HashMap<JobId, States>> {
    let counter = |row: &Row<'_>| Ok((JobId(row.int(0)?), row.text(1)?, row.int(2)?.max(0) as u64));
    let mut all: HashMap<JobId, States> = HashMap::new();
    for (job, name, n) in sql.query(&queries::TALLY_OF_JOBS, &[Value::Ints(jobs)], counter)? {
        let states = all.entry(job).or_default();
        match name.as_str() {
            DOCUMENTS => states.documents = n,
            SETTLED => states.settled = n,
            _ if name == FailureKind::Failed.as_str() => states.failed = n,
            _ if name == FailureKind::Skipped.as_str() => states.skipped = n,
            _ => {}
        }
    }
    for states in all.values_mut() {
        let rest = [states.settled, states.failed, states.skipped].iter().sum();
        states.waiting = states.documents.saturating_sub(rest);
    }
    Ok(all)
}

/// Documents by job and counter.
type Counts = BTreeMap<(i64, &'static str), i64>;

/// Documents by job and state, but for those that wait; nobody else changes any of them before this transaction ends.
fn look(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Counts> {
    let mut counts = Counts::new();
    let read = |row: &Row<'_>| Ok((row.int(0)?, row.opt_word(1, FailureKind::parse)?));
    for (job, kind) in sql.query(&queries::DOCUMENT_STATES, &[Value::Ints(ids)], read)? {
        let name = match kind {
            Some(kind @ (FailureKind::Failed | FailureKind::Skipped)) => kind.as_str(),
            Some(FailureKind::Retrying) | None => SETTLED,
        };
        *counts.entry((job, name)).or_default() += 1;
    }
    Ok(counts)
}

/// On PostgreSQL another transaction may bring rows of these documents between the look and the change.
fn lock(sql: &mut Sql<'_>, ids: &[i64]) -> Result<()> {
    hold(sql, ids).map(drop)
}

/// Keeps other transactions off these documents until this one ends; those that are still there.
///
/// # Errors
/// What the database says.
pub fn hold(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<i64>> {
    match sql.is_sqlite() || ids.is_empty() {
        // Who writes is alone.
        true => Ok(ids.to_vec()),
        false => sql.query(&queries::DOCUMENT_LOCK, &[Value::Ints(ids)], |row| row.int(0)),
    }
}

/// Adds to counters, in one order, so that no two transactions wait for each other.
fn add(sql: &mut Sql<'_>, counts: Counts) -> Result<()> {
    for ((job, name), n) in counts.into_iter().filter(|(_, n)| *n != 0) {
        sql.execute(&queries::TALLY_ADD, &[Value::Int(job), Value::Text(name), Value::Int(n)])?;
    }
    Ok(())
}

/// So many documents are new to the inventory of a job, or gone from it.
pub(crate) fn count(sql: &mut Sql<'_>, job: JobId, documents: i64) -> Result<()> {
    add(sql, Counts::from([((job.0, DOCUMENTS), documents)]))
}

/// Makes a change to rows of these documents, and counts what it does to their states.
pub(crate) fn counted<T>(
    sql: &mut Sql<'_>,
    ids: &[i64],
    change: impl FnOnce(&mut Sql<'_>) -> Result<T>,
) -> Result<T> {
    if ids.is_empty() {
        return change(sql);
    }
    lock(sql, ids)?;
    let before = look(sql, ids)?;
    let done = change(sql)?;
    let mut counts = look(sql, ids)?;
    for (counter, n) in before {
        *counts.entry(counter).or_default() -= n;
    }
    add(sql, counts)?;
    Ok(done)
}

/// One visit that is over, by the rows that follow from it.
#[derive(Debug, Default)]
pub struct EndedVisit {
    /// The document.
    pub document: i64,
    /// How often its visit was requested when it was claimed; that is done.
    pub done: Option<i64>,
    /// What the inventory will hold of it.
    pub update: Option<DocumentUpdate>,
    /// It is tried again then; it has a row in the queue.
    pub again: Option<i64>,
    /// The same of one that has none.
    pub request: Option<VisitRequest>,
    /// What is wrong with it.
    pub failure: Option<Failure>,
    /// What was wrong with it is over.
    pub is_mended: bool,
    /// This run brought it.
    pub is_new: bool,
}

impl EndedVisit {
    /// Whether anything is written of it.
    fn has_rows(&self) -> bool {
        let EndedVisit { document: _, done, update, again, request, failure, is_mended, is_new: _ } = self;
        let has_request = done.is_some() || again.is_some() || request.is_some();
        has_request || update.is_some() || failure.is_some() || *is_mended
    }

    /// The first visit of a document, and all went well.
    fn is_plain(&self) -> bool {
        let EndedVisit { document: _, done, update, again, request, failure, is_mended, is_new } = self;
        let is_settled = update.is_some_and(|update| update.settings.is_some());
        let is_quiet = done.is_none() && again.is_none() && request.is_none() && failure.is_none();
        *is_new && is_settled && is_quiet && !is_mended
    }
}

/// Writes the ends of visits of a job, and counts. A first visit that went well is all that most of a first run consists of: whether it was the
/// first one is what its own statement answers, and nothing is looked up for it but whether anything else is noted.
///
/// # Errors
/// What the database says.
pub fn end(sql: &mut Sql<'_>, job: JobId, run: i64, now: i64, ended: &[EndedVisit]) -> Result<()> {
    let (plain, others): (Vec<&EndedVisit>, Vec<&EndedVisit>) =
        ended.iter().partition(|visit| visit.is_plain());
    let ids = |visits: &[&EndedVisit]| visits.iter().map(|visit| visit.document).collect::<Vec<i64>>();
    let mut plain_ids = ids(&plain);
    plain_ids.sort_unstable();
    lock(sql, &plain_ids)?;
    let noted: HashSet<i64> = queue::noted_at_all(sql, &plain_ids)?.into_iter().collect();
    let (noted, plain): (Vec<&EndedVisit>, Vec<&EndedVisit>) =
        plain.into_iter().partition(|visit| noted.contains(&visit.document));
    let mut others = [others, noted].concat();
    // Such as of what vanished: what becomes of it is decided later.
    others.retain(|visit| visit.has_rows());
    counted(sql, &ids(&others), |sql| write(sql, job, run, now, &others))?;
    let updates: Vec<DocumentUpdate> = plain.iter().filter_map(|visit| visit.update).collect();
    let first = documents::complete_first(sql, run, &updates)?;
    if first < updates.len() as u64 {
        // Settled before: they are so as well now.
        documents::write_updates(sql, run, &updates)?;
    }
    add(sql, Counts::from([((job.0, SETTLED), first as i64)]))
}

fn write(sql: &mut Sql<'_>, job: JobId, run: i64, now: i64, ended: &[&EndedVisit]) -> Result<()> {
    let done = ended.iter().filter_map(|visit| Some((visit.document, visit.done?))).collect::<Vec<_>>();
    let again = ended.iter().filter_map(|visit| Some((visit.document, visit.again?))).collect::<Vec<_>>();
    let requests = ended.iter().filter_map(|visit| visit.request).collect::<Vec<_>>();
    let updates = ended.iter().filter_map(|visit| visit.update).collect::<Vec<_>>();
    let failures = ended.iter().filter_map(|visit| visit.failure.clone()).collect::<Vec<_>>();
    let mended = ended.iter().filter(|visit| visit.is_mended).map(|visit| visit.document).collect::<Vec<_>>();
    queue::write_completions(sql, &done)?;
    queue::reschedule(sql, &again)?;
    queue::write_requests(sql, job, run, &requests)?;
    documents::write_updates(sql, run, &updates)?;
    queue::write_failures(sql, job, now, &failures)?;
    if mended.is_empty() { Ok(()) } else { queue::remove_failures(sql, &mended) }
}
