//! What applications push (decision 0051): each record is a document of the job of its source, kept until it is deleted. Accepting one writes the record, a
//! ticket and the request for a visit in one transaction; the end of that visit completes the ticket, once.
//!
//! Reading order: here is what can be pushed · `accepting` writes it, `group_commit` what many clients push at once, `quotas` says how much may be pushed · `run::tickets` completes what was asked · `claims` says to whom a delta run belongs, `delta_runs` opens, checks and ends passes of applications
//! over their whole sources, `obsolete` deletes what these have not met, `compounds` knows what is in what · `buffering` says how long what changes is buffered · `channels` are what applications push through that want a report of everything, `ill_outputs` ends those whose outputs are away or damaged · `reporting` sends reports to webhooks in the turns of `sinks`, `prepared` tells these of what is pushed before it is taken · `reading` hands records to the connector.

mod accepting;
mod buffering;
pub mod channels;
mod claims;
mod compounds;
pub mod delta_runs;
pub(crate) mod group_commit;
mod ill_outputs;
mod obsolete;
mod prepared;
pub(crate) mod quotas;
mod reading;
pub mod reporting;
pub(crate) mod sinks;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ingather_contract::inbox::{About, Files, Inbox};
use ingather_contract::repository::{Buffering, Quotas, Receives, Repository};
use ingather_contract::sink::Allowed;
use ingather_model::access::Acl;
use ingather_model::fault::Reason;
use ingather_model::ids::{ContainerId, JobId};
use ingather_model::key::{DocumentKey, parent_bytes};
use ingather_model::lifecycle::job::State;
use ingather_model::limits;
use ingather_store::documents;
use ingather_store::documents::inbox::delta_runs::{Mark, seen};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::{self, Job};
use ingather_store::turns::lock;
use ingather_store::{Durability, Sql, StoreError, containers};
use roaring::RoaringTreemap;

use self::accepting::Taken;
use self::claims::Claim;
use self::group_commit::Shared;
pub use self::obsolete::ObsoletePage;
use self::reading::Records;
use crate::delivery::writer::Writer;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::process::Process;

/// What is asked of one record.
#[derive(Clone, Debug)]
pub struct Push {
    /// Its key.
    pub key: String,
    /// What becomes of it.
    pub ask: Ask,
    /// What its client wants back with each report.
    pub user_ref: Option<String>,
    /// What its client counts versions of the record by: what has a lower number than what was taken before is stale.
    pub version: Option<i64>,
}

/// What becomes of a record.
#[derive(Clone, Debug)]
pub enum Ask {
    /// It is this from now on.
    Put(Box<Put>),
    /// It is deleted.
    Delete,
    /// Nothing, for a reason: what was sent means nothing. It stays as it is, and is there.
    Wrong(Reason),
}

impl Ask {
    /// What the record is from now on, where it is.
    fn put(&self) -> Option<&Put> {
        match self {
            Ask::Put(put) => Some(put),
            Ask::Delete | Ask::Wrong(_) => None,
        }
    }
}

/// By what way pushes come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Through<'a> {
    /// A delta run, which meets what is pushed.
    pub run: Option<Claim<'a>>,
    /// A channel, which reports everything.
    pub channel: Option<i64>,
}

/// A record from now on, in place of all that was pushed of it before.
#[derive(Clone, Debug)]
pub struct Put {
    /// What whoever pushes tells versions by.
    pub hash: Option<String>,
    /// Who may see it; none: as the source says.
    pub acl: Option<Acl>,
    /// What is said of it.
    pub about: About,
    /// Its content.
    pub content: Vec<u8>,
    /// A file that has its content, as the source has files.
    pub file: Option<String>,
    /// Nothing is asked where the record is there with this hash already.
    pub if_changed: bool,
    /// Others may be in it.
    pub is_compound: bool,
    /// The compounds that it is in, by their keys. In a delta run these are added to those that it was in.
    pub parents: Vec<String>,
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
    /// It is not accepted, and nothing was written of it. Through a channel, that is a ticket which failed.
    Refused(Reason),
}

/// What takes in what is pushed into the source of a job.
struct InboxOf<'j> {
    job: &'j Job,
    repository: Arc<dyn Repository>,
    container: Option<ContainerId>,
    quotas: Quotas,
    buffering: Buffering,
    files: Option<Arc<dyn Files>>,
    sinks: Arc<dyn Allowed>,
}

/// By what way pushes are written.
#[derive(Clone, Copy, Debug, Default)]
struct Via {
    /// Through which channel.
    channel: Option<i64>,
    /// In which delta run.
    epoch: Option<i64>,
    /// The first of their tickets, where the sink of the channel was told of these.
    told: Option<i64>,
}

impl Engine {
    /// What applications have pushed into the source of a job.
    pub(crate) fn records(&self, job: &Job) -> Arc<dyn Inbox> {
        Arc::new(Records { reader: self.reader.clone(), job: job.id, hasher: self.reader.hasher() })
    }

    /// Accepts pushes into the source of a job, in their order; what became of each. When this returns they are on disk: whatever becomes of the process, each
    /// ticket is completed once. Within a delta run what is pushed is met; beside one that is open, what stays as it is is there all the same.
    ///
    /// Calls without a run and a channel that come at once share transactions.
    ///
    /// # Errors
    /// `Definition` where nothing can be pushed into the source; `Deleting`; `ReadOnly`; within a delta run those of [`Engine::touch`]; through a channel
    /// `Ended`, `Throttled`, `NoSuchChannel`; what the store says.
    pub fn accept(&self, job: &Job, through: Through<'_>, pushes: Vec<Push>) -> Result<Vec<Accepted>> {
        let source = self.inbox_of(job)?;
        let ((writer, inbox), hasher) = (&source, self.reader.hasher());
        let asked = (pushes.len(), writer.call.now());
        self.process.usages.take((job.id, &job.name), inbox.quotas, asked)?;
        let pushes = inbox.with_files(pushes);
        let key = |push: &Push| hasher.key(&push.key, parent_bytes(&push.key));
        let deletions = pushes.iter().enumerate().filter(|(_, push)| matches!(push.ask, Ask::Delete));
        let deletions: Vec<(usize, DocumentKey)> = deletions.map(|(at, push)| (at, key(push))).collect();
        let accepted = match through {
            Through { run: None, channel: None } => {
                let shared = Shared { job: job.id, seen: (job.run, job.revision), by: self.asked_by.clone() };
                let write = |pushes: &[&Push]| self.accept_through(&source, through, pushes);
                self.process.group_commits.accept(&shared, pushes, write)?
            }
            _ => {
                let pushes: Vec<&Push> = pushes.iter().collect();
                let channel = through.channel.map(|channel| self.channel(channel)).transpose()?.flatten();
                match channel.filter(|channel| channel.sink.is_some() && !pushes.is_empty()) {
                    Some(channel) => self.accept_told(&source, (through, &channel), &pushes)?,
                    None => self.accept_through(&source, through, &pushes)?,
                }
            }
        };
        self.process.pushed(job.id, asked.1 + inbox.buffering.ms);
        let deleted = deletions.into_iter().filter_map(|(at, key)| match accepted[at] {
            Accepted::Pending { ticket, .. } => Some((key, ticket)),
            Accepted::Unchanged | Accepted::Refused(_) => None,
        });
        self.delete_beneath(&source, &deleted.collect::<Vec<_>>())?;
        Ok(accepted)
    }

    fn accept_through(
        &self,
        (writer, inbox): &(Writer, InboxOf<'_>),
        through: Through<'_>,
        pushes: &[&Push],
    ) -> Result<Vec<Accepted>> {
        self.accept_as((writer, inbox), (through, None), pushes)
    }

    /// Writes pushes in one transaction. `told`: the first of their tickets, where a sink was told of these.
    fn accept_as(
        &self,
        (writer, inbox): (&Writer, &InboxOf<'_>),
        (through, told): (Through<'_>, Option<i64>),
        pushes: &[&Push],
    ) -> Result<Vec<Accepted>> {
        let job = inbox.job;
        let accept = |sql: &mut Sql<'_>, now: i64| {
            let run = match through.run {
                Some(claim) => Some(match claims::claimed(sql, job, claim, now)? {
                    Ok(run) => run.epoch,
                    Err(error) => return Ok(Err(error)),
                }),
                None => None,
            };
            if let Some(channel) = through.channel
                && let Err(error) = channels::takes(sql, job, (channel, told.is_some()))?
            {
                return Ok(Err(error));
            }
            let via = Via { channel: through.channel, epoch: run, told };
            let taken = self.accept_in(sql, (inbox, via, now), pushes)?;
            match run {
                Some(epoch) => meet(sql, (job.id, epoch, now), &taken, pushes)?,
                None => {
                    // What stays has no new ticket of its document to tell a delta run of somebody else that it is there.
                    // Nor has one whose number was taken before that run began.
                    let stays = taken.iter().filter(|taken| taken.stays || told.is_some());
                    if !failpoint(Failpoint::SaidElsewhereIsUnmet) {
                        delta_runs::mark_open(sql, job.id, stays.filter_map(|taken| taken.document))?;
                    }
                }
            }
            let accepted: Vec<Accepted> = taken.into_iter().map(|taken| taken.accepted).collect();
            Ok(Ok(accepted))
        };
        let mut accepted = self.in_source(writer, job, accept);
        for _ in 1..limits::CHANNEL_ATTEMPTS {
            // Its channel ended or was throttled meanwhile: the next look sees that.
            let is_late = through.channel.is_some()
                && matches!(&accepted, Err(EngineError::Store(StoreError::Conflict(_))));
            if !is_late {
                break;
            }
            accepted = self.in_source(writer, job, accept);
        }
        let accepted = accepted?;
        self.process.usages.note(job.id, pushes, &accepted);
        Ok(accepted)
    }

    /// Does something of the source of a job in one transaction, on disk when this returns, where it takes records.
    fn in_source<T>(
        &self,
        writer: &Writer,
        job: &Job,
        work: impl Fn(&mut Sql<'_>, i64) -> std::result::Result<Result<T>, StoreError>,
    ) -> Result<T> {
        let _lease = self.process.keep_lease(writer)?;
        let now = writer.call.now();
        let is_late = failpoint(Failpoint::AcceptanceNotDurable);
        let durability = if is_late { Durability::Relaxed } else { Durability::Synced };
        writer.store.write(durability, |sql| {
            writer.lease.fence(sql)?;
            match takes_records(sql, job.id)? {
                true => work(sql, now),
                false => Ok(Err(deleting(&job.name))),
            }
        })?
    }

    /// Who may write, and what takes in what is pushed.
    fn inbox_of<'j>(&self, job: &'j Job) -> Result<(Writer, InboxOf<'j>)> {
        let writer = self.writing()?;
        let repository = self.repository(job)?;
        let Some(Receives { container: report, quotas, buffering, files, sinks }) = repository.pushed()
        else {
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
        Ok((writer, InboxOf { job, repository, container, quotas, buffering, files, sinks }))
    }
}

impl InboxOf<'_> {
    /// Pushes with the content of the files that they name; what cannot be read is wrong.
    fn with_files(&self, mut pushes: Vec<Push>) -> Vec<Push> {
        let mut left = limits::RECORD_FILES_BYTES_MAX;
        for push in &mut pushes {
            let Ask::Put(put) = &mut push.ask else { continue };
            let Some(path) = put.file.take() else { continue };
            let read = match &self.files {
                _ if left == 0 => Err(Reason::new(
                    "too_large",
                    "the files of this call have too many bytes together; push this record in another one",
                )),
                Some(files) => files.read(&path, limits::RECORD_CONTENT_BYTES_MAX as u64),
                None => Err(Reason::new(
                    "path_forbidden",
                    format!(
                        "source {} takes no files; its setting `files` names their folder",
                        self.job.name
                    ),
                )),
            };
            match read {
                Ok(content) => {
                    left = left.saturating_sub(content.len());
                    put.content = content;
                }
                Err(reason) => push.ask = Ask::Wrong(reason),
            }
        }
        pushes
    }
}

/// What was pushed within a delta run is met by it. A compound that stays as it is stands for all that is in it; one that was pushed does not.
fn meet(
    sql: &mut Sql<'_>,
    (job, epoch, now): (JobId, i64, i64),
    taken: &[Taken],
    pushes: &[&Push],
) -> std::result::Result<(), StoreError> {
    let is_met = |taken: &Taken, push: &Push| {
        let is_lost = failpoint(Failpoint::PushedIsUnmet) && taken.stays && !taken.is_refused;
        (taken.stays || !matches!(push.ask, Ask::Delete)) && !is_lost
    };
    let met = taken.iter().zip(pushes).filter(|(taken, push)| is_met(taken, push));
    let met: Vec<&Taken> = met.map(|(taken, _)| taken).collect();
    let ids = |is_of: fn(&Taken) -> bool| -> RoaringTreemap {
        let of = met.iter().filter(|taken| is_of(taken));
        of.filter_map(|taken| taken.document).map(|id| id as u64).collect()
    };
    delta_runs::mark(sql, (job, epoch), Mark::Met, &ids(|_| true))?;
    delta_runs::mark(sql, (job, epoch), Mark::Covers, &ids(|taken| taken.is_compound && taken.stays))?;
    delta_runs::mark(sql, (job, epoch), Mark::Listed, &ids(|taken| taken.is_compound && !taken.stays))?;
    seen(sql, job, epoch, (now, 0))?;
    let unread = taken.iter().filter(|taken| taken.is_refused).map(|taken| taken.key.key_hash as u64);
    match compounds::note_unread(sql, (job, epoch), unread.collect())? {
        0 => Ok(()),
        unread => seen(sql, job, epoch, (now, unread)),
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
    /// Something was pushed into the source of a job: a pass is due by then, milliseconds since 1970 UTC.
    pub(crate) fn pushed(&self, job: JobId, due: i64) {
        let mut pushed_into = lock(&self.pushed_into);
        let first = pushed_into.entry(job).or_insert(due);
        *first = due.min(*first);
    }

    /// When a pass is due over what was pushed into the source of a job since this was asked last, if anything was.
    pub(crate) fn take_pushed(&self, job: JobId) -> Option<i64> {
        lock(&self.pushed_into).remove(&job)
    }
}
