//! A person erases a document (decision 0032): every output lets go of it, nothing is kept of it, and no run takes it in again. The demand is
//! on disk first; it is met by whoever comes next: who asked, the next run of the job, or a service that looks again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ingather_contract::repository::{Named, Repository};
use ingather_model::ids::ConnectionId;
use ingather_model::key::{DocumentKey, Hasher};
use ingather_model::lifecycle::outcome::{GuardState, VisitReason};
use ingather_model::limits;
use ingather_model::run_counts::number;
use ingather_store::connections::{self, Role};
use ingather_store::erased::{self, Erased, KeptOut};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::{self, Job};
use ingather_store::queue::{self, VisitRequest};
use ingather_store::{Durability, Sql, StoreError, deliveries, documents, extracts, runs, states};

use super::steering::begins_at_once;
use super::under_way::{Met, Work};
use crate::delivery::writer::Writer;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::progress::Progress;
use crate::remove::Remover;
use crate::run::id_set;
use crate::run::tickets;

/// A document that a person wants to erase from a job.
#[derive(Clone, Debug)]
pub struct Erasable {
    /// Its name in the job.
    pub name: String,
    /// Where a person finds it.
    pub uri: String,
    /// Names of the outputs that hold something of it, or may.
    pub outputs: Vec<String>,
    /// It was erased before.
    pub erased: Option<Erased>,
    /// Its address was, for this job or for all.
    pub kept_out: Option<KeptOut>,
    key: DocumentKey,
    document: Option<i64>,
}

impl Erasable {
    /// One that the job does not know.
    pub(super) fn unknown(hasher: &Hasher, source: &dyn Repository, named: Named) -> Erasable {
        Erasable {
            uri: source.uri(&named.key),
            key: hasher.key(&named.key, named.parent_bytes),
            name: named.key,
            outputs: Vec::new(),
            erased: None,
            kept_out: None,
            document: None,
        }
    }

    /// The same, as the job knows it.
    pub(super) fn known_as(self, document: i64) -> Erasable {
        Erasable { document: Some(document), ..self }
    }

    /// No run of the job takes it in.
    pub fn is_erased(&self) -> bool {
        self.erased.is_some() || self.kept_out.is_some()
    }
}

/// How far the erasing of one document has come.
#[derive(Clone, Debug)]
pub struct Erasing {
    /// Its name in the job.
    pub name: String,
    /// Outputs that hold it, or may, each with what hinders its removal; none: it is done.
    pub left: Vec<(String, String)>,
}

/// An output that did not let go, and has not said why.
const UNCONFIRMED: &str = "it has not confirmed the removal";

impl Engine {
    /// What `text` names in a job: a document that it knows, or has erased.
    ///
    /// # Errors
    /// `Key` where it names something in a document; what the store says.
    pub fn erasable(&self, job: &Job, text: &str) -> Result<Option<Erasable>> {
        // A job whose source cannot even be named knows nothing by any name.
        let Ok(source) = self.repository(job) else { return Ok(None) };
        let found = self.known_item(job, source.as_ref(), text)?;
        let named = match found {
            Some(found) if found.component.is_some() => {
                let sentence = format!(
                    "`{text}` is in the document `{}` of job {}, and only whole documents are erased; name that one",
                    found.named.key, job.name
                );
                return Err(EngineError::refused(Refusal::Key, sentence));
            }
            Some(found) => found.named,
            None => match source.named(text) {
                Ok(named) => named,
                Err(_) => return Ok(None),
            },
        };
        let mut erasable = Erasable::unknown(&self.reader.hasher(), source.as_ref(), named);
        let key = erasable.key;
        self.reader.read(|sql| {
            let found = documents::find(sql, job.id, key.parent_hash, &[key.key_hash])?;
            erasable.document = found.first().map(|(_, known)| known.id.0);
            let outputs = erasable.document.map(|id| held_by(sql, id)).transpose()?.unwrap_or_default();
            erasable.outputs = outputs.into_values().collect();
            erasable.erased = erased::find(sql, job.id, key)?;
            erasable.kept_out = self.kept_out(sql, job, source.as_ref())?.remove(&key);
            Ok(())
        })?;
        Ok(Some(erasable).filter(|document| document.document.is_some() || document.is_erased()))
    }

    /// Has what is at an address erased: from here on no run takes it in, and nothing is sent of it, whatever becomes of this process. It is
    /// of one job alone where that is named, which its name stands for, so that a job that is made again has it erased as well. All of it
    /// is on disk, or nothing: of an address that stays out, no job keeps what it has.
    ///
    /// # Errors
    /// `Busy` where as many are erased as may be; `ReadOnly`; what the store says.
    pub fn want_erased(
        &self,
        (place, by): (&str, &str),
        only: Option<&Job>,
        documents: &[(Job, Erasable)],
    ) -> Result<()> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let name = only.map_or("", |job| job.name.as_str());
        let row = self.kept_out_row(place, name, (writer.call.now(), by), false);
        let is_full = self.reader.read(|sql| {
            let is_full = erased::count_addresses(sql, name)? >= limits::ERASED_MAX;
            let is_it = |known: &KeptOut| known.job == row.job && known.address == row.address;
            Ok(is_full && !erased::kept_out(sql, name)?.iter().any(is_it))
        })?;
        if is_full {
            return Err(too_many("there are"));
        }
        for (job, _) in documents {
            if self.reader.read(|sql| erased::count(sql, job.id))? >= limits::ERASED_MAX {
                return Err(too_many(&format!("of job {} there are", job.name)));
            }
        }
        Ok(writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            if name.is_empty() {
                // What was said of single jobs is said of all from here on.
                erased::let_in_of_jobs(sql, row.address)?;
            }
            erased::keep_out(sql, &row)?;
            documents.iter().try_for_each(|(job, document)| begin(sql, job, document, &row))
        })?)
    }

    /// Whether a document is erased, or its job is gone, and no output holds it any more.
    ///
    /// # Errors
    /// What the store says.
    pub fn is_erased(&self, job: &Job, document: &Erasable) -> Result<bool> {
        Ok(self.reader.read(|sql| {
            let found = erased::find(sql, job.id, document.key)?;
            // A job that has gone meanwhile went with all that it had.
            Ok(found.is_some_and(|erased| erased.done_at.is_some()) || jobs::get(sql, job.id)?.is_none())
        })?)
    }

    /// A run of the job that is under way stops at its next safe place, for it may have the document in hands, and begins anew behind the
    /// erasing; a run that is about to begin looks at what is to be erased itself.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn make_way(&self, job: &Job) -> Result<()> {
        // Where something else than a run is under way, it is waited for.
        if let Ok((Met::Run, stop)) = self.process.under_way.meets(job) {
            let writer = self.writing()?;
            let _lease = self.process.keep_lease(&writer)?;
            let last = self.reader.read(|sql| runs::list(sql, job.id, 1))?;
            if let Some(run) = last.first() {
                writer.store.write(Durability::Synced, |sql| {
                    writer.lease.fence(sql)?;
                    jobs::restart_stopped(sql, job.id, run.kind)
                })?;
            }
            stop();
        }
        Ok(())
    }

    /// Does what is still to be done of all that was erased from a job.
    ///
    /// # Errors
    /// `Running` while the job is worked on; `ReadOnly`; what the store says.
    pub fn erase(&self, job: &Job) -> Result<Vec<Erasing>> {
        let work = self.process.begin(job, ERASING, Some(&self.writing()?), &self.cancel)?;
        let erasing = self.erase_waiting(job, &work)?;
        work.check()?;
        Ok(erasing)
    }

    /// The same for a run that begins: what could not be erased is not hers to tell.
    pub(crate) fn erase_first(&self, job: &Job, work: &Work) -> Result<()> {
        if self.writer.is_some() {
            let keeps_out = self.reader.read(|sql| Ok(!erased::kept_out(sql, &job.name)?.is_empty()))?;
            // A source that cannot even be named is told by the run.
            if let (true, Ok(source)) = (keeps_out, self.repository(job)) {
                self.want_known(job, source.as_ref())?;
            }
            // What else hinders it, such as an output that is away, the run meets itself.
            if let Err(error @ EngineError::Store(_)) = self.erase_waiting(job, work) {
                return Err(error);
            }
        }
        Ok(())
    }

    fn want_known(&self, job: &Job, source: &dyn Repository) -> Result<()> {
        let known = self.known_but_kept_out(job, source)?;
        if known.is_empty() {
            return Ok(());
        }
        let writer = self.writing()?;
        Ok(writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            known.iter().try_for_each(|(document, row)| begin(sql, job, document, row))
        })?)
    }

    fn erase_waiting(&self, job: &Job, work: &Work) -> Result<Vec<Erasing>> {
        let mut done = Vec::new();
        if !self.reader.read(erased::waiting)?.contains(&job.id) {
            return Ok(done);
        }
        let writer = Writer { call: self.call_of(work), ..self.writing()? };
        let mut after = (job.id, DocumentKey::BEFORE_ALL);
        loop {
            let page = self.reader.read(|sql| erased::list(sql, after, limits::LIST_PAGE_MAX as usize))?;
            let Some(last) = page.iter().rfind(|one| one.job == job.id) else { break };
            after = (job.id, last.key);
            for one in page.into_iter().filter(|one| one.job == job.id && one.done_at.is_none()) {
                if writer.call.cancel.cancelled() {
                    return Ok(done);
                }
                done.push(self.erase_one(job, &one, &writer)?);
            }
        }
        Ok(done)
    }

    fn erase_one(&self, job: &Job, one: &Erased, writer: &Writer) -> Result<Erasing> {
        let key = one.key;
        let find = |sql: &mut Sql<'_>| {
            let found = documents::find(sql, job.id, key.parent_hash, &[key.key_hash])?;
            let document = found.first().map(|(_, known)| known.id.0);
            Ok((document, document.map(|id| held_by(sql, id)).transpose()?.unwrap_or_default()))
        };
        let mut left = Vec::new();
        if let (Some(id), outputs) = self.reader.read(find)? {
            let mut hindered = self.let_go(job, id, &outputs, writer)?;
            let (still, outputs) = self.reader.read(find)?;
            if still.is_some() {
                let mut why = |id| hindered.remove(id).unwrap_or_else(|| UNCONFIRMED.to_owned());
                left = outputs.iter().map(|(id, name)| (name.clone(), why(id))).collect();
                if left.is_empty() {
                    left.push((String::new(), "its rows are in use; it is tried again".to_owned()));
                }
            }
        }
        if left.is_empty() {
            let noted: Vec<i64> = {
                let all = self.reader.read(|sql| erased::noted(sql, job.id, &one.name))?;
                all.into_iter().collect::<BTreeSet<i64>>().into_iter().collect()
            };
            for noted in noted.chunks(limits::HISTORY_FORGOTTEN_AT_ONCE as usize) {
                writer.store.write(Durability::Relaxed, |sql| {
                    writer.lease.fence(sql)?;
                    erased::forget_noted(sql, job.id, &one.name, noted)
                })?;
            }
            writer.store.write(Durability::Synced, |sql| {
                writer.lease.fence(sql)?;
                erased::done(sql, job.id, key, writer.call.now())
            })?;
        }
        Ok(Erasing { name: one.name.clone(), left })
    }

    /// Takes a document out of every output that can be opened; what hinders the others.
    fn let_go(
        &self,
        job: &Job,
        id: i64,
        outputs: &BTreeMap<ConnectionId, String>,
        writer: &Writer,
    ) -> Result<BTreeMap<ConnectionId, String>> {
        let author = self.author(job, self.repository(job)?)?;
        let progress = Arc::new(Progress::default());
        let mut remover = Remover::new(writer.clone(), author, progress, None).erasing();
        let mut hindered = BTreeMap::new();
        for (output, name) in outputs {
            let connection = self.reader.read(|sql| connections::find(sql, Role::Output, name))?;
            let Some(connection) = connection else { continue };
            if let Err(error) = self.add_target(&mut remover, &connection, None, "erase") {
                hindered.insert(*output, error.to_string());
            }
        }
        match remover.remove(&[id]) {
            Ok(removed) => remover.end_all(None, removed).or_else(|error| match error {
                EngineError::Store(_) => Err(error),
                // It is told with what it is told next.
                EngineError::Output { .. } | EngineError::Refused { .. } => Ok(()),
            })?,
            Err(error @ EngineError::Store(_)) => return Err(error),
            Err(error) => {
                for output in remover.outputs.keys() {
                    hindered.entry(*output).or_insert_with(|| error.to_string());
                }
            }
        }
        Ok(hindered)
    }

    /// Runs of a job take a document in again that was erased; false where it was not. `place`: its address.
    ///
    /// # Errors
    /// `Running` while the job is worked on; `ReadOnly`; what the store says.
    pub fn readmit(&self, job: &Job, document: &Erasable, (place, by): (&str, &str)) -> Result<bool> {
        let writer = self.writing()?;
        let work = self.process.begin(job, "readmission of a document", Some(&writer), &self.cancel)?;
        // Links to what is erased are not kept: pages that have them are read once more, although they are as before.
        let is_found_by_links = self.repository(job)?.refers().is_some();
        let removed = writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            let admitted = self.admit(sql, (place, job), (writer.call.now(), by))?;
            let removed = erased::remove(sql, job.id, document.key)? || admitted;
            // What some outputs have let go of, and others not, is sent to all of them again.
            let again = |id: i64| VisitRequest { document: id, due: 0, reason: VisitReason::Resend };
            let again: Vec<VisitRequest> = document.document.map(again).into_iter().collect();
            if !failpoint(Failpoint::ReadmittedByHalf) {
                queue::enqueue(sql, job.id, 0, &again)?;
            }
            if is_found_by_links {
                jobs::ask_reread(sql, job.id)?;
            }
            begins_at_once(sql, job.id)?;
            Ok(removed)
        })?;
        drop(work);
        Ok(removed)
    }
}

/// What is under way while documents are erased.
const ERASING: &str = "removal of erased documents";

/// From here on no run of the job takes a document in.
fn begin(
    sql: &mut Sql<'_>,
    job: &Job,
    document: &Erasable,
    row: &KeptOut,
) -> std::result::Result<(), StoreError> {
    let known = (document.name.as_str(), row.address, document.document.is_some());
    erased::begin(sql, job.id, document.key, known, (row.at, &row.by))?;
    let Some(id) = document.document else { return Ok(()) };
    // In the order in which all calls lock.
    states::hold(sql, &[id])?;
    tickets::hold_reports(sql)?;
    // Nothing is sent again from what is kept, and no visit waits.
    extracts::forget(sql, &[id])?;
    queue::give_up(sql, &[id])?;
    tickets::erased(sql, id, row.at)?;
    if failpoint(Failpoint::ErasedIsHeldOn) { Ok(()) } else { no_longer_held(sql, job, id) }
}

fn too_many(there_are: &str) -> EngineError {
    let sentence = format!(
        "{there_are} {} erased documents, which is as many as may be; leave folders out by a rule (--exclude), then let in again what it \
         leaves out (`ingather document readmit`)",
        number(limits::ERASED_MAX)
    );
    EngineError::refused(Refusal::Busy, sentence)
}

/// The outputs that hold something of a document, or may.
fn held_by(
    sql: &mut Sql<'_>,
    document: i64,
) -> std::result::Result<BTreeMap<ConnectionId, String>, StoreError> {
    let mut outputs = BTreeMap::new();
    for delivery in deliveries::states(sql, &[document])? {
        if let Some(connection) = connections::get(sql, delivery.output)? {
            outputs.insert(connection.id, connection.name);
        }
    }
    Ok(outputs)
}

/// A removal that waits for a person waits no more.
fn no_longer_held(sql: &mut Sql<'_>, job: &Job, document: i64) -> std::result::Result<(), StoreError> {
    let Some(job) = jobs::get(sql, job.id)? else { return Ok(()) };
    let Some(bytes) = runs::held(sql, job.id, job.run)? else { return Ok(()) };
    let mut held = id_set::from_bytes(&bytes)?;
    if !held.remove(document as u64) {
        return Ok(());
    }
    if held.is_empty() {
        return runs::release(sql, job.id, job.run, GuardState::Confirmed).map(drop);
    }
    runs::hold_on(sql, job.id, job.run, &bytes, &id_set::to_bytes(&held))
}
