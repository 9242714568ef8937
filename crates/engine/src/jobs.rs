//! Jobs as people ask for them: confirm what is held, delete all that a job brought; and what a run takes out of outputs.

use std::sync::Arc;

use ingather_contract::registry::Registry;
use ingather_contract::repository::Presence;
use ingather_model::job::Definition;
use ingather_model::job::history::HistoryOf;
use ingather_model::job::schedule::Schedule;
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::{GuardState, RunOutcome};
use ingather_model::run_counts::counted;
use ingather_store::connections::{self, Connection, Role};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::{self, Job};
use ingather_store::{Durability, Reader, StoreError, deliveries, documents, queue, runs};

use crate::delivery::removal::Left;
use crate::delivery::writer::Writer;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::process::under_way::Work;
use crate::progress::Progress;
use crate::remove::{Removed, Remover};
use crate::run::id_set;
use crate::run::{Run, paused};
use crate::visit::pipeline::Pipeline;
use ingather_store::turns::lock;

/// A removal that waits for a confirmation.
#[derive(Clone, Debug)]
pub struct Held {
    /// The document.
    pub document: i64,
    /// Its name.
    pub name: String,
}

/// Some of the removals that wait for a confirmation.
#[derive(Clone, Debug, Default)]
pub struct HeldPage {
    /// How many there are in all.
    pub total: u64,
    /// Those of this page, in the order of their ids.
    pub held: Vec<Held>,
    /// The id behind which the next page begins; none when this is the last one.
    pub next: Option<i64>,
}

/// How many documents of a job wait to be sent again because an output lost them; of very many so many are counted. Those whose
/// removal is held are not among them: the source has them no more, and only a person decides about them.
///
/// # Errors
/// What the store says.
pub fn resends(reader: &Reader, job: &Job) -> Result<u64> {
    let (ids, held) = reader
        .read(|sql| Ok::<_, StoreError>((queue::resends(sql, job.id)?, runs::held(sql, job.id, job.run)?)))?;
    let Some(held) = held else { return Ok(ids.len() as u64) };
    let held = id_set::from_bytes(&held)?;
    Ok(ids.into_iter().filter(|id| !held.contains(*id as u64)).count() as u64)
}

/// Opens the pipeline of a definition and lets it go: what a run would be refused for is said before anything is stored.
///
/// # Errors
/// A tree that leads nowhere, a transform that there is not or that refuses its settings, or one in a place where it cannot work.
pub fn check_pipeline(definition: &Definition, registry: &Registry) -> Result<()> {
    Pipeline::open(definition, registry).map(drop)
}

/// Whether the history of a job has every document.
fn notes_documents(job: &Job) -> bool {
    job.definition.history.of == HistoryOf::Documents
}

impl Engine {
    /// The removals that the last run of a job holds, `most` of them after `after`, and how many there are in all.
    ///
    /// # Errors
    /// What the store says.
    pub fn held(&self, job: &Job, after: i64, most: usize) -> Result<HeldPage> {
        let Some(bytes) = self.reader.read(|sql| runs::held(sql, job.id, job.run))? else {
            return Ok(HeldPage::default());
        };
        let set = id_set::from_bytes(&bytes)?;
        let mut left = set.iter().map(|id| id as i64).filter(|id| *id > after);
        let ids: Vec<i64> = left.by_ref().take(most).collect();
        let next = left.next().and(ids.last().copied());
        let mut names = self.reader.read(|sql| documents::names(sql, &ids))?;
        names.sort_unstable();
        let held = names.into_iter().map(|(document, name)| Held { document, name }).collect();
        Ok(HeldPage { total: set.len(), held, next })
    }

    /// Carries out the removals that run `number` holds: those that a single look still finds absent, or left
    /// out by a rule of the job. Where documents are found by links, all of them: what nothing leads to may well answer, so that a look
    /// proves nothing, and the next run finds again what is led to by then.
    ///
    /// # Errors
    /// `Refused` when a later run has listed again, nothing is held, or the job is worked on.
    pub fn confirm(&self, job: &Job, number: i64, progress: Arc<Progress>) -> Result<Removed> {
        if job.run != number && !failpoint(Failpoint::OlderRemovalCarriedOut) {
            return Err(EngineError::refused(
                Refusal::NothingHeld,
                format!(
                    "run {number} of {} is not its last one; run {} has looked again: see `ingather job held {}`",
                    job.name, job.run, job.name
                ),
            ));
        }
        let held = || {
            self.reader.read(|sql| runs::held(sql, job.id, number))?.ok_or_else(|| {
                EngineError::refused(
                    Refusal::NothingHeld,
                    format!(
                        "no removals of run {number} of job {} are held; see `ingather job runs {}`",
                        job.name, job.name
                    ),
                )
            })
        };
        held()?;
        let work = self.process.begin(job, "confirmation", Some(&self.writing()?), &self.cancel)?;
        // Once more: until it was begun another run may have come, which makes void what was held, or an erasure.
        let bytes = held()?;
        // Asked once it is begun, as a run does: a pause that comes before is seen. Of a continuous job only a pause keeps the next pass from
        // making void what is held.
        let holds = |job: Job| job.paused && job.definition.schedule != Some(Schedule::Continuous);
        if self.reader.read(|sql| jobs::get(sql, job.id))?.is_some_and(holds) {
            return Err(paused(&job.name));
        }
        let mut remover = self.remover_for(job, progress, Some(number), &work)?;
        let is_found_by_links = remover.author.repository.refers().is_some();
        let mut ids: Vec<i64> = id_set::from_bytes(&bytes)?.iter().map(|id| id as i64).collect();
        if failpoint(Failpoint::ConfirmationByNumber) {
            let all =
                self.reader.read(|sql| documents::list(sql, job.id, DocumentKey::BEFORE_ALL, 100_000))?;
            ids = all.into_iter().map(|listed| listed.id.0).collect();
        }
        let mut removed = Removed::default();
        for ids in ids.chunks(1_024) {
            let names = self.reader.read(|sql| documents::names(sql, ids))?;
            let absent: Vec<i64> = names
                .iter()
                .filter(|(_, name)| {
                    let probe = || remover.author.repository.probe(&remover.writer.call, name);
                    is_found_by_links || matches!(probe(), Presence::Absent | Presence::Excluded)
                })
                .map(|(id, _)| *id)
                .collect();
            let done = remover.remove(&absent)?;
            removed.add(done);
            removed.kept += (ids.len() - absent.len()) as u64;
        }
        work.check()?;
        if !remover.stops() {
            remover.writer.store.write(Durability::Synced, |sql| {
                remover.writer.lease.fence(sql)?;
                runs::count_removed(sql, job.id, number, removed.deleted)?;
                runs::forget_removed(sql, job.id)?;
                runs::release(sql, job.id, number, GuardState::Confirmed)
            })?;
        }
        remover.end_all(Some(number), removed)?;
        removed.stopped = remover.stops();
        Ok(removed)
    }

    /// Deletes a job with everything that outputs hold because of it. Safe to stop: the next call goes on.
    ///
    /// # Errors
    /// When an output that holds something cannot be opened; `Running` when the job is worked on.
    pub fn delete(&self, job: &Job, progress: Arc<Progress>) -> Result<Removed> {
        let work = self.process.begin(job, "deletion", Some(&self.writing()?), &self.cancel)?;
        let mut remover = self.remover_for(job, progress, None, &work)?;
        remover.writer.store.write(Durability::Synced, |sql| {
            remover.writer.lease.fence(sql)?;
            if !failpoint(Failpoint::RecordsOutliveTheirJob) {
                documents::inbox::drop(sql, job.id, remover.writer.call.now())?;
            }
            jobs::delete(sql, job.id)
        })?;
        let mut removed = remover.remove_all()?;
        work.check()?;
        if removed.kept == 0 && !remover.stops() && !failpoint(Failpoint::DeletionNeverEnds) {
            self.forget_in_steps(job, i64::MAX)?;
            remover.writer.store.write(Durability::Synced, |sql| {
                remover.writer.lease.fence(sql)?;
                jobs::forget(sql, job.id)
            })?;
            self.process.note_begun(job.id);
        }
        remover.end_all(None, removed)?;
        removed.stopped = remover.stops();
        Ok(removed)
    }

    /// A remover with every output that may hold something of the job. `run`: what is confirmed; none: the job is deleted.
    fn remover_for(
        &self,
        job: &Job,
        progress: Arc<Progress>,
        run: Option<i64>,
        work: &Work,
    ) -> Result<Remover> {
        let author = self.author(job, self.repository(job)?)?;
        let writer = Writer { call: self.call_of(work), ..self.writing()? };
        let mut remover = Remover::new(writer, author, progress, run.filter(|_| notes_documents(job)));
        for name in job.definition.outputs.iter().chain(&job.definition.retired) {
            let connection = self.reader.read(|sql| connections::find(sql, Role::Output, name))?;
            let Some(connection) = connection else { continue };
            let held = self.reader.read(|sql| deliveries::of_output(sql, connection.id, job.id, 0, 1))?;
            let work = if run.is_some() { "confirm" } else { "delete" };
            match self.add_target(&mut remover, &connection, run, work) {
                // An output that holds nothing of the job need not be there. When it is, opening it tells whether it
                // fits the delivery log: it may hold what an inventory of an earlier day does not know.
                Err(EngineError::Output { .. } | EngineError::Refused { .. }) if held.is_empty() => {}
                added => added?,
            }
        }
        Ok(remover)
    }

    /// What removes documents once the visits of a run are over.
    pub(crate) fn remover(&self, run: &Run) -> Result<Option<Remover>> {
        if run.store.is_none() {
            return Ok(None);
        }
        let writer = Writer { call: run.call.clone(), ..self.writing()? };
        let noted_by = notes_documents(&run.job).then_some(run.number);
        let mut remover = Remover::new(writer, run.author.clone(), run.progress.clone(), noted_by);
        for output in &run.outputs {
            if let Some(connection) = self.reader.read(|sql| connections::get(sql, output.id))? {
                remover.add(self.open_output(&connection)?);
            }
        }
        self.leave_retired(run, &mut remover)?;
        Ok(Some(remover))
    }

    /// Outputs that were taken out of the job lose what they hold of it.
    fn leave_retired(&self, run: &Run, remover: &mut Remover) -> Result<()> {
        if run.definition.retired.is_empty() {
            return Ok(());
        }
        let mut over = Vec::new();
        for name in run.definition.retired.clone() {
            let Some(connection) = self.reader.read(|sql| connections::find(sql, Role::Output, &name))?
            else {
                over.push(name);
                continue;
            };
            self.add_target(remover, &connection, Some(run.number), "full")?;
            let left = remover.leave_output(Left { output: connection.id, settings: run.settings })?;
            if left.unaddressable > 0 {
                run.complain(&format!(
                    "output {name} was removed from the job and still holds {} of lost name; \
                     `ingather verify {name} --repair` removes what it holds of them",
                    counted(left.unaddressable, "document")
                ));
            }
            if left.kept > 0 {
                run.complain(&format!(
                    "output {name} was removed from the job and still holds {}, whose removal it did not confirm; the next run \
                     tries again",
                    counted(left.kept, "document")
                ));
            }
            if left.kept == 0 && !remover.stops() {
                over.push(name);
            }
            remover.end(connection.id, Some(run.number), RunOutcome::Done, *lock(&run.counts))?;
        }
        remover.writer.store.write(Durability::Synced, |sql| {
            run.fence(sql)?;
            // As it is now: its schedule may have changed since this run began.
            let Some(job) = jobs::get(sql, run.job.id)? else { return Ok(()) };
            let mut definition = job.definition.clone();
            definition.retired.retain(|name| !over.contains(name));
            jobs::define(sql, &job, &definition, run.call.now())
        })?;
        Ok(())
    }

    pub(crate) fn add_target(
        &self,
        remover: &mut Remover,
        connection: &Connection,
        run: Option<i64>,
        work: &'static str,
    ) -> Result<()> {
        if remover.outputs.contains_key(&connection.id) {
            return Ok(());
        }
        let output = self.open_output(connection)?;
        output.opened().iter_mut().for_each(|opened| opened.begin(&remover.author.job_name, run, work));
        remover.add(output);
        Ok(())
    }
}
