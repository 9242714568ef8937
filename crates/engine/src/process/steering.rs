//! What people and schedules say to a job while its run is under way.

use ingather_model::ids::JobId;
use ingather_store::jobs::Job;
use ingather_store::{Durability, jobs, runs};

use super::KeptLease;
use super::under_way::Aborted;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

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
        // While this is announced, no run begins.
        let Ok(_announced) = self.process.announce(job, &self.cancel) else {
            return Ok(if self.stop(job.id) { Aborted::Stopping } else { Aborted::Nothing });
        };
        let rests = writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            let rests = jobs::let_rest(sql, job.id)?;
            if rests {
                runs::interrupt(sql, job.id, writer.call.now())?;
            }
            Ok(rests)
        })?;
        Ok(if rests { Aborted::Rests } else { Aborted::Nothing })
    }

    /// Pauses a job, or ends the pause; whether a run of it hears of that. What a run has claimed is still visited and delivered; then it
    /// visits, judges and removes nothing, and does not end, until the pause ends or it is stopped. No other run begins meanwhile.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn pause(&self, job: JobId, paused: bool) -> Result<bool> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            jobs::pause(sql, job, paused)
        })?;
        // After the store: a run that begins now is refused, or hears it.
        Ok(self.process.under_way.pause(job, paused))
    }
}
