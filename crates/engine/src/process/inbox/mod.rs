//! What applications push (decision 0051): each record is a document of the job of its source, kept until it is deleted. Accepting one writes the record, a
//! ticket and the request for a visit in one transaction; the end of that visit completes the ticket, once.
//!
//! Reading order: here records are accepted · `run::tickets` completes what was asked · `delta_runs` opens, checks and ends passes of applications over their whole
//! sources · `reading` hands records to the connector.

pub mod delta_runs;
mod reading;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ingather_contract::inbox::{About, Inbox};
use ingather_contract::repository::Repository;
use ingather_model::access::Acl;
use ingather_model::fault::Reason;
use ingather_model::ids::{ContainerId, Digest, DocumentId, JobId};
use ingather_model::key::{DocumentKey, parent_bytes};
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::FailureKind;
use ingather_model::limits;
use ingather_store::documents::inbox::tickets::{NewTicket, Outcome};
use ingather_store::documents::inbox::{self as records, Record};
use ingather_store::documents::{self, NewDocument};
use ingather_store::erased;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::{self, Job};
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::turns::lock;
use ingather_store::{Durability, Sql, StoreError, containers, states};

use self::reading::Records;
use crate::delivery::writer::Writer;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::process::Process;

/// What is asked of one record.
#[derive(Clone, Debug)]
pub struct Push<'a> {
    /// Its key.
    pub key: &'a str,
    /// What it is from now on; none: it is deleted.
    pub put: Option<Put<'a>>,
}

/// A record from now on, in place of all that was pushed of it before.
#[derive(Clone, Debug)]
pub struct Put<'a> {
    /// What whoever pushes tells versions by.
    pub hash: Option<&'a str>,
    /// Who may see it; none: as the source says.
    pub acl: Option<&'a Acl>,
    /// What is said of it.
    pub about: &'a About,
    /// Its content.
    pub content: &'a [u8],
    /// Nothing is asked where the record is there with this hash already.
    pub if_changed: bool,
}

/// What became of one push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It is on disk, and is done; the ticket is completed when it was.
    Pending {
        /// Number of the ticket.
        ticket: i64,
        /// Whether the record was there before.
        was_there: bool,
    },
    /// The record is there with this hash: nothing is asked.
    Unchanged,
    /// It is not accepted, and nothing was written of it.
    Refused(Reason),
}

/// What takes in what is pushed into the source of a job.
struct InboxOf<'j> {
    job: &'j Job,
    repository: Arc<dyn Repository>,
    container: Option<ContainerId>,
}

/// The pushes of one call, and what is known of their records as they are accepted one after the other.
struct Acceptance<'a> {
    job: &'a Job,
    container: Option<ContainerId>,
    now: i64,
    by: &'a str,
    keys: Vec<DocumentKey>,
    ids: HashMap<DocumentKey, i64>,
    records: HashMap<i64, Record>,
    failed: BTreeSet<i64>,
    erased: BTreeSet<i64>,
    /// The next of the numbers of new documents.
    fresh: i64,
    ticket: i64,
}

/// What follows of one call for documents: tickets that are open, in the order of their pushes.
#[derive(Default)]
struct Asked<'p> {
    fresh: Vec<NewDocument>,
    tickets: Vec<(NewTicket<'p>, Option<Outcome<'static>>)>,
}

impl Engine {
    /// What applications have pushed into the source of a job.
    pub(crate) fn records(&self, job: &Job) -> Arc<dyn Inbox> {
        Arc::new(Records { reader: self.reader.clone(), job: job.id, hasher: self.reader.hasher() })
    }

    /// Accepts pushes into the source of a job, in their order; what became of each. When this returns they are on disk: whatever becomes of the process, each
    /// ticket is completed once.
    ///
    /// # Errors
    /// `Definition` where nothing can be pushed into the source; `Deleting`; `ReadOnly`; what the store says.
    pub fn accept(&self, job: &Job, pushes: &[Push<'_>]) -> Result<Vec<Accepted>> {
        let (writer, inbox) = self.inbox_of(job)?;
        let _lease = self.process.keep_lease(&writer)?;
        let now = writer.call.now();
        let is_late = failpoint(Failpoint::AcceptanceNotDurable);
        let durability = if is_late { Durability::Relaxed } else { Durability::Synced };
        let accepted = writer.store.write(durability, |sql| {
            writer.lease.fence(sql)?;
            if !takes_records(sql, job.id)? {
                return Ok(None);
            }
            let (accepted, documents) = self.accept_in(sql, (&inbox, now), pushes)?;
            // What is as it was, or stays so, has no new ticket to tell a delta run of somebody else that it is there.
            let stays = accepted
                .iter()
                .zip(documents)
                .filter(|(accepted, _)| !matches!(accepted, Accepted::Pending { .. }));
            if !failpoint(Failpoint::SaidElsewhereIsUnmet) {
                delta_runs::mark_open(sql, job.id, stays.filter_map(|(_, document)| document))?;
            }
            Ok(Some(accepted))
        })?;
        self.process.pushed(job.id);
        accepted.ok_or_else(|| deleting(&job.name))
    }

    /// Who may write, and what takes in what is pushed.
    fn inbox_of<'j>(&self, job: &'j Job) -> Result<(Writer, InboxOf<'j>)> {
        let writer = self.writing()?;
        let repository = self.repository(job)?;
        let Some(report) = repository.pushed() else {
            let sentence = format!(
                "job {} reads its source by itself; what is pushed goes into a source `push:NAME`, such as one of `ingather push`",
                job.name
            );
            return Err(EngineError::refused(Refusal::Definition, sentence));
        };
        // Not by what runs share, which reads all acls of the connection where none is under way.
        let named = |sql: &mut Sql<'_>| containers::named(sql, job.repository, &[&report.name]);
        let known = self.reader.read(named)?.into_iter().find(|known| known.identity == report.identity);
        let container = match known {
            Some(known) => Some(known.id),
            None => {
                let _lease = self.process.keep_lease(&writer)?;
                let shared = self.process.containers.get(&self.reader, job.repository, job.id)?.shared();
                let fence = |sql: &mut Sql<'_>| writer.lease.fence(sql);
                shared.record(&writer.store, &report, (&fence, writer.call.now()))?
            }
        };
        Ok((writer, InboxOf { job, repository, container }))
    }

    /// Writes pushes; what became of each, and the documents of those that are there now or were asked for.
    fn accept_in(
        &self,
        sql: &mut Sql<'_>,
        (inbox, now): (&InboxOf<'_>, i64),
        pushes: &[Push<'_>],
    ) -> std::result::Result<(Vec<Accepted>, Vec<Option<i64>>), StoreError> {
        let hasher = self.reader.hasher();
        let keys = pushes.iter().map(|push| hasher.key(push.key, parent_bytes(push.key))).collect();
        let by = self.asked_by.as_str();
        let mut acceptance = Acceptance::read(sql, (inbox, now, by), keys)?;
        let kept_out = self.kept_out(sql, inbox.job, inbox.repository.as_ref())?;
        acceptance.erased.extend(kept_out.into_keys().map(|key| key.key_hash));
        let mut asked = Asked::default();
        let mut accepted = Vec::with_capacity(pushes.len());
        for (at, push) in pushes.iter().enumerate() {
            accepted.push(acceptance.take(sql, (at, push), &mut asked)?);
        }
        let documents = acceptance.keys.iter().map(|key| acceptance.ids.get(key).copied()).collect();
        acceptance.write(sql, asked)?;
        Ok((accepted, documents))
    }
}

impl<'a> Acceptance<'a> {
    fn read(
        sql: &mut Sql<'_>,
        (inbox, now, by): (&InboxOf<'a>, i64, &'a str),
        keys: Vec<DocumentKey>,
    ) -> std::result::Result<Acceptance<'a>, StoreError> {
        let (job, container) = (inbox.job, inbox.container);
        let mut ids = documents_of(sql, job.id, &keys)?;
        let known: Vec<i64> = ids.values().copied().collect();
        // On PostgreSQL one of them may be forgotten meanwhile: it is a new one then.
        let known = states::hold(sql, &known)?;
        let there: BTreeSet<i64> = known.iter().copied().collect();
        ids.retain(|_, id| there.contains(id));
        let records =
            records::get(sql, &known)?.into_iter().map(|record| (record.document, record)).collect();
        let failed = queue::failures(sql, &known)?.into_iter();
        let failed = failed.filter(|(_, failure)| failure.kind == FailureKind::Failed);
        let failed = failed.map(|(id, _)| id).collect();
        let erased = erased::keys(sql, job.id)?.into_iter().map(|key| key.key_hash).collect();
        let fresh = documents::take_ids(sql, "document", keys.len().max(1))?;
        let ticket = records::tickets::take(sql, keys.len().max(1))?;
        Ok(Acceptance { job, container, now, by, keys, ids, records, failed, erased, fresh, ticket })
    }

    /// Accepts one push. What was pushed of its record before is superseded.
    fn take<'p>(
        &mut self,
        sql: &mut Sql<'_>,
        (at, push): (usize, &Push<'p>),
        asked: &mut Asked<'p>,
    ) -> std::result::Result<Accepted, StoreError> {
        let key = self.keys[at];
        if let Err(reason) = self.check(push, key) {
            return Ok(Accepted::Refused(reason));
        }
        let known = self.ids.get(&key).copied();
        let before = known.and_then(|id| self.records.get(&id).cloned());
        let was_there = before.as_ref().is_some_and(|record| record.present);
        if let (Some(put), Some(before)) = (&push.put, &before)
            && put.if_changed
            && self.is_as_before(before, put)
        {
            return Ok(Accepted::Unchanged);
        }
        let ticket = self.ticket;
        self.ticket += 1;
        let op = if push.put.is_some() { "put" } else { "delete" };
        let new = NewTicket { number: ticket, document: known, key: push.key, op, requests: 0 };
        if push.put.is_none() && !was_there && !failpoint(Failpoint::NoopIsDeleted) {
            // A removal that is under way goes on, and has a ticket of its own.
            asked.tickets.push((NewTicket { document: None, ..new }, Some(Outcome::plain("noop"))));
            return Ok(Accepted::Pending { ticket, was_there });
        }
        let id = known.unwrap_or_else(|| self.bring(push.key, key, asked));
        let hash = push.put.as_ref().and_then(|put| put.hash.map(str::to_owned));
        let mut acl = push.put.as_ref().and_then(|put| put.acl).map(as_json);
        if failpoint(Failpoint::PushedAccessStays) {
            acl = before.as_ref().map_or(acl, |before| before.acl.clone());
        }
        let record = Record { document: id, present: push.put.is_some(), ticket, hash, acl };
        let about = push.put.as_ref().map(|put| (as_json(put.about), put.content));
        let content = about.as_ref().map(|(about, content)| (about.as_str(), *content));
        records::put(sql, self.job.id, &record, content)?;
        self.records.insert(id, record);
        self.failed.remove(&id);
        asked.tickets.push((NewTicket { document: Some(id), ..new }, None));
        Ok(Accepted::Pending { ticket, was_there })
    }

    /// Why a push cannot be accepted, if it cannot.
    fn check(&self, push: &Push<'_>, key: DocumentKey) -> std::result::Result<(), Reason> {
        let refused = |code: &str, sentence: String| Err(Reason::new(code, sentence));
        if push.key.is_empty() || push.key.len() > limits::RECORD_KEY_BYTES_MAX {
            let sentence = format!("a key has from 1 to {} bytes", limits::RECORD_KEY_BYTES_MAX);
            return refused("invalid_record", sentence);
        }
        if push.key.contains('\0') {
            return refused("invalid_record", "a key has no character with the number 0".to_owned());
        }
        if self.erased.contains(&key.key_hash) {
            let sentence = format!(
                "a person has erased it; `ingather document readmit {}` lets it in again",
                self.job.name
            );
            return refused("erased", sentence);
        }
        Ok(())
    }

    /// Whether a record is there with this hash, for the same people, and nothing is wrong with it.
    fn is_as_before(&self, before: &Record, put: &Put<'_>) -> bool {
        let is_same = put.hash.is_some_and(|hash| before.hash.as_deref() == Some(hash));
        let is_for_same = before.acl == put.acl.map(as_json) || failpoint(Failpoint::UnchangedForOthers);
        let has_failed = self.failed.contains(&before.document) && !failpoint(Failpoint::FailedIsUnchanged);
        before.present && is_same && is_for_same && !has_failed
    }

    fn bring(&mut self, name: &str, key: DocumentKey, asked: &mut Asked<'_>) -> i64 {
        let id = self.fresh;
        self.fresh += 1;
        self.ids.insert(key, id);
        asked.fresh.push(NewDocument {
            id: DocumentId(id),
            key,
            name: name.to_owned(),
            version: Digest::NONE,
            access: Digest::NONE,
            identity: 0,
            container: self.container,
        });
        id
    }

    /// Writes new documents, requests for visits and tickets. Of several tickets of one record only the last one is open.
    fn write(&self, sql: &mut Sql<'_>, asked: Asked<'_>) -> std::result::Result<(), StoreError> {
        let Asked { fresh, tickets } = asked;
        documents::add(sql, self.job.id, self.job.run, &fresh)?;
        let last: BTreeMap<i64, i64> =
            tickets.iter().filter_map(|(ticket, _)| Some((ticket.document?, ticket.number))).collect();
        let ids: Vec<i64> = last.keys().copied().collect();
        let superseded = Outcome::plain("superseded");
        let mut ended: Vec<(i64, Outcome<'_>)> = Vec::new();
        let before = if failpoint(Failpoint::SupersededStaysOpen) { &[] } else { &ids[..] };
        for (number, ..) in records::tickets::open(sql, before)? {
            ended.push((number, superseded.clone()));
        }
        let request = |id: &i64| VisitRequest { document: *id, due: self.now, reason: VisitReason::Changed };
        if !failpoint(Failpoint::PushedWithoutVisit) {
            queue::enqueue(sql, self.job.id, self.job.run, &ids.iter().map(request).collect::<Vec<_>>())?;
        }
        let counts = queue::request_counts(sql, &ids)?;
        let requests: HashMap<i64, i64> = counts.into_iter().map(|(id, count, _)| (id, count)).collect();
        let mut new = Vec::with_capacity(tickets.len());
        for (ticket, outcome) in tickets {
            let is_last = ticket.document.is_none_or(|id| last.get(&id) == Some(&ticket.number));
            let outcome = outcome.or_else(|| (!is_last).then(|| superseded.clone()));
            ended.extend(outcome.map(|outcome| (ticket.number, outcome)));
            let asked = ticket.document.and_then(|id| requests.get(&id)).copied().unwrap_or_default();
            new.push(NewTicket { requests: asked, ..ticket });
        }
        records::tickets::add(sql, self.job.id, &new, (self.now, self.by))?;
        records::tickets::complete(sql, &ended, self.now)?;
        // A report has no larger number than its ticket. Now and then is enough.
        let first = self.ticket - new.len() as i64;
        match first / limits::REPORTS_FORGOTTEN_EACH == self.ticket / limits::REPORTS_FORGOTTEN_EACH {
            true => Ok(()),
            false => records::tickets::forget(sql, self.job.id, self.ticket - limits::REPORTS_KEPT),
        }
    }
}

/// The ids of documents of a job by their keys; those that are not known are left out.
fn documents_of(
    sql: &mut Sql<'_>,
    job: JobId,
    keys: &[DocumentKey],
) -> std::result::Result<HashMap<DocumentKey, i64>, StoreError> {
    let mut by_parent: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for key in keys {
        by_parent.entry(key.parent_hash).or_default().insert(key.key_hash);
    }
    let mut ids = HashMap::new();
    for (parent_hash, hashes) in by_parent {
        let hashes: Vec<i64> = hashes.into_iter().collect();
        for (_, known) in documents::find(sql, job, parent_hash, &hashes)? {
            ids.insert(DocumentKey { parent_hash, key_hash: known.key_hash }, known.id.0);
        }
    }
    Ok(ids)
}

/// Whether a job is there, and is not being deleted.
fn takes_records(sql: &mut Sql<'_>, job: JobId) -> std::result::Result<bool, StoreError> {
    Ok(jobs::get(sql, job)?.is_some_and(|job| job.state != State::Deleting))
}

fn deleting(job: &str) -> EngineError {
    let sentence = format!("job {job} is being deleted; `ingather job delete {job}` goes on with it");
    EngineError::refused(Refusal::Deleting, sentence)
}

fn as_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("records are JSON")
}

impl Process {
    /// Something was pushed into the source of a job: a pass is due.
    pub(crate) fn pushed(&self, job: JobId) {
        lock(&self.pushed_into).insert(job);
    }

    /// Whether something was pushed into the source of a job since this was asked last.
    pub(crate) fn take_pushed(&self, job: JobId) -> bool {
        lock(&self.pushed_into).remove(&job)
    }
}
