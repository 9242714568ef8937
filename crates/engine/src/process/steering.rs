//! What people and schedules say to a job while its run is under way.

use ingather_model::ids::JobId;
use ingather_model::job::RunKind;
use ingather_model::job::notify::Notify;
use ingather_model::job::schedule::Schedule;
use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::turns::lock;
use ingather_store::{Durability, Sql, StoreError, jobs, runs};

use super::KeptLease;
use super::under_way::{Aborted, Met, Stopped};
use crate::delivery::writer::Writer;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::run::{notices, paused};

impl Engine {
    /// Keeps the lease until the answer is dropped, also while nothing is under way. `lost` is called when it cannot be kept any more,
    /// by the thread that kept it, unless something kept it before.
    ///
    /// # Errors
    /// When there is no right to write, or the thread cannot be started.
    pub fn keep_lease(&self, lost: impl FnOnce(&EngineError) + Send + 'static) -> Result<KeptLease> {
        self.process.keep_lease_or(&self.writing()?, lost).map(KeptLease::of)
    }

    /// Asks what is under way for a job to stop at its next safe place, and nothing else; false when there is nothing.
    pub fn stop(&self, job: JobId) -> bool {
        self.process.stop(job)
    }

    /// Stops what is under way for a job as [`Engine::stop`] does. Where nothing is, a run that was interrupted or put down goes on by itself
    /// no more.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn abort(&self, job: &Job) -> Result<Aborted> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let notifies = self.process.notifies();
        for _ in 0..limits::ABORT_LOOKS_MAX {
            // While this is announced, no run begins.
            let Ok(_announced) = self.process.announce(job, &self.cancel) else {
                // No other one is wanted any more, either; before the stop, for whoever ends by it looks there. With it on record that the run was
                // stopped: where it ends now, nobody takes it for one that goes on by itself.
                let is_wanted = self.reader.read(|sql| jobs::get(sql, job.id))?;
                if is_wanted.is_some_and(|job| job.restart.is_some())
                    && !failpoint(Failpoint::AbortKeepsTheNextRun)
                {
                    self.write_fact(&writer, |sql| want_none(sql, job.id))?;
                }
                if let Some(stopped) = self.process.under_way.stop(job.id) {
                    // After it: a store that takes its time keeps nothing from stopping.
                    self.write_fact(&writer, |sql| stop_on_record(sql, job.id, &stopped))?;
                    return Ok(Aborted::Stopping);
                }
                continue;
            };
            let rests = self.write_fact(&writer, |sql| no_more(sql, job.id, &notifies, writer.call.now()))?;
            return Ok(if rests { Aborted::Rests } else { Aborted::Nothing });
        }
        let sentence = format!("runs of job {} begin and end all the time; pause it first", job.name);
        Err(EngineError::refused(Refusal::Running, sentence))
    }

    /// Stops a run that is just about to begin, and is wanted no more, also should this process die; false where there is none.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn abort_beginning(&self, job: JobId) -> Result<bool> {
        let writer = self.writing()?;
        let Some(stopped) = self.process.under_way.stop_beginning(job) else { return Ok(false) };
        // After it: a store that takes its time keeps nothing from stopping.
        let _lease = self.process.keep_lease(&writer)?;
        self.write_fact(&writer, |sql| {
            want_none(sql, job)?;
            stop_on_record(sql, job, &stopped)
        })?;
        // Whoever has looked before that was written may begin what was wanted then.
        let _meanwhile = self.process.stop(job);
        Ok(true)
    }

    /// A run of that kind is wanted, which is on disk before whoever asked is answered: where this process ends or a pause comes before the
    /// run has begun, it begins later, by whoever asks [`crate::scheduler`].
    ///
    /// # Errors
    /// `Paused`; `ReadOnly`; what the store says.
    pub fn want_run(&self, job: &Job, kind: RunKind, rereads: bool) -> Result<()> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let is_wanted = self.write_fact(&writer, |sql| {
            if jobs::get(sql, job.id)?.is_some_and(|job| job.paused) {
                return Ok(false);
            }
            if rereads {
                jobs::ask_reread(sql, job.id)?;
            }
            if failpoint(Failpoint::StartNotOnDisk) {
                return Ok(true);
            }
            jobs::ask_restart(sql, job.id, Some(kind)).map(|()| true)
        })?;
        is_wanted.then_some(()).ok_or_else(|| paused(&job.name))
    }

    /// The run that was wanted of a job cannot begin, and whoever looks is told why: it is not tried again. `rests`: a person has stopped it,
    /// and what was to go on with it does so no more.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn want_no_run(&self, job: JobId, rests: bool) -> Result<()> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        self.write_fact(&writer, |sql| match rests {
            true => no_more(sql, job, &self.process.notifies(), writer.call.now()).map(drop),
            false if failpoint(Failpoint::RefusedTriedAgain) => Ok(()),
            false => jobs::ask_restart(sql, job, None),
        })
    }

    /// Stops the run of a job that is under way, after which another one of that kind begins: by whoever asks [`crate::scheduler`]. What was found
    /// is answered; where it is nothing, nothing is done.
    ///
    /// # Errors
    /// `Paused`; `Running` where something else than a run is under way; `ReadOnly`; what the store says.
    pub fn restart(&self, job: &Job, kind: RunKind) -> Result<Met> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let (met, stop) = self.process.under_way.meets(job)?;
        if met == Met::Run {
            self.write_fact(&writer, |sql| match jobs::get(sql, job.id)? {
                Some(job) if job.paused => Ok(false),
                Some(job) if job.restart.is_some() && failpoint(Failpoint::RestartOfTheFirstKind) => Ok(true),
                _ if failpoint(Failpoint::RestartNotOnDisk) => Ok(true),
                _ => jobs::ask_restart(sql, job.id, Some(kind)).map(|()| true),
            })?
            .then_some(())
            .ok_or_else(|| paused(&job.name))?;
            // After the store: a run that ends now begins the other one as well.
            stop();
        }
        Ok(met)
    }

    /// The next run of a job reads everything again. One that is under way goes on as it was begun.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn reset_seeding(&self, job: JobId) -> Result<()> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        self.write_fact(&writer, |sql| {
            jobs::ask_reread(sql, job)?;
            begins_at_once(sql, job)
        })
    }

    fn write_fact<T>(
        &self,
        writer: &Writer,
        work: impl Fn(&mut Sql<'_>) -> std::result::Result<T, StoreError>,
    ) -> Result<T> {
        Ok(writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            work(sql)
        })?)
    }

    /// Pauses a job, or ends the pause; whether a run of it hears of that. What a run has claimed is still visited and delivered; then it
    /// visits, judges and removes nothing, and does not end, until the pause ends or it is stopped. No other run begins meanwhile.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn pause(&self, job: JobId, paused: bool) -> Result<bool> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let _in_turn = lock(&self.process.pausing);
        let unsaid = if paused { Failpoint::PauseOnlyHeard } else { Failpoint::PauseNeverEnds };
        if !failpoint(unsaid) {
            self.write_fact(&writer, |sql| jobs::pause(sql, job, paused))?;
        }
        // After the store: a run that begins now is refused, or hears it.
        Ok(self.process.under_way.pause(job, paused))
    }
}

/// A person wants something of the next run. Of a continuous job no run comes by itself before something changes at its source, so that one is
/// wanted as by a start; of another one it is the person who says when, or its schedule.
pub(super) fn begins_at_once(sql: &mut Sql<'_>, job: JobId) -> std::result::Result<(), StoreError> {
    let found = jobs::get(sql, job)?;
    match found.is_some_and(|job| job.definition.schedule == Some(Schedule::Continuous)) {
        true => jobs::ask_restart(sql, job, Some(RunKind::Full)),
        false => Ok(()),
    }
}

/// No run is wanted behind the last one, and that one was stopped.
fn want_none(sql: &mut Sql<'_>, job: JobId) -> std::result::Result<(), StoreError> {
    jobs::ask_restart(sql, job, None)?;
    let last = jobs::get(sql, job)?.filter(|_| !failpoint(Failpoint::AbortedGoesOn));
    last.map_or(Ok(()), |job| jobs::stop(sql, job.id, job.run).map(drop))
}

/// Should the process die before all is put down, a run that was stopped goes on no more.
fn stop_on_record(sql: &mut Sql<'_>, job: JobId, stopped: &Stopped) -> std::result::Result<(), StoreError> {
    let run = stopped.run().filter(|_| !failpoint(Failpoint::AbortNotOnRecord));
    run.map_or(Ok(()), |run| jobs::stop(sql, job, run).map(drop))
}

/// No run of a job that rests begins for what was asked, interrupted or put down before; false where none would have.
fn no_more(
    sql: &mut Sql<'_>,
    job: JobId,
    notifies: &[Notify],
    now: i64,
) -> std::result::Result<bool, StoreError> {
    let found = jobs::get(sql, job)?;
    let was_wanted = found.as_ref().is_some_and(|job| job.restart.is_some());
    jobs::ask_restart(sql, job, None)?;
    let rests = !failpoint(Failpoint::AbortAtRestForgotten) && jobs::let_rest(sql, job)?;
    if rests {
        found.iter().try_for_each(|job| notices::note_interrupted(sql, job, notifies, now))?;
        runs::interrupt(sql, job, now)?;
    }
    Ok(rests || was_wanted)
}
