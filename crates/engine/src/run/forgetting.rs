//! History that is too old, or too much, is forgotten, a little in each transaction, so that no other writer waits for it (decision 0030).

use ingather_model::job::history::HistoryKind;
use ingather_model::limits;
use ingather_store::Durability;
use ingather_store::jobs::Job;
use ingather_store::runs::history;

use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// Forgets what is too old in the history of a job, or too much, a little in each transaction; how many documents and runs.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn forget_history(&self, job: &Job) -> Result<u64> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let old = job.definition.history.kept_from(self.process.history_days(), self.clock.now());
        let nth = self.reader.read(|sql| history::nth(sql, job.id, limits::HISTORY_ROWS_MAX))?;
        let before = nth.map_or(old, |at| old.max(at + 1));
        // Most of the time nothing is too old, and no other writer should wait for that.
        let (document, run) = self.reader.read(|sql| history::oldest(sql, job.id))?;
        let mut forgotten = 0;
        if document.is_some_and(|at| at < before) {
            forgotten += self.forget_in_steps(job, before)?;
        }
        if run.is_some_and(|at| at < old) {
            forgotten += writer.store.write(Durability::Relaxed, |sql| {
                writer.lease.fence(sql)?;
                history::forget_runs(sql, job.id, old)
            })?;
        }
        Ok(forgotten)
    }

    /// Forgets what was noted of documents of a job before a time.
    pub(crate) fn forget_in_steps(&self, job: &Job, before: i64) -> Result<u64> {
        let writer = self.writing()?;
        let mut all = 0;
        while !self.cancel.cancelled() {
            let most = limits::HISTORY_FORGOTTEN_AT_ONCE;
            let forgotten = writer.store.write(Durability::Relaxed, |sql| {
                writer.lease.fence(sql)?;
                let forgotten = history::forget(sql, job.id, before, most)?;
                if forgotten > 0 {
                    history::raise(sql, job.id, HistoryKind::Failures, before)?;
                    history::raise(sql, job.id, HistoryKind::Documents, before)?;
                }
                Ok(forgotten)
            })?;
            all += forgotten;
            if forgotten < most as u64 {
                break;
            }
        }
        Ok(all)
    }
}
