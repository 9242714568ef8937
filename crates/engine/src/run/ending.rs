//! The end of a run, in one transaction: its state, its row, and what the history of its job knows from now on.

use ingather_model::job::history::{HistoryKind, HistoryOf};
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_store::turns::lock;
use ingather_store::{Durability, jobs, runs};

use super::{Run, fold, history};
use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// Ends a run. `goes_on`: another one goes on with it, where it was stopped.
    pub(crate) fn end(
        &self,
        run: &Run,
        outcome: RunOutcome,
        error: Option<&str>,
        goes_on: bool,
    ) -> Result<()> {
        let Some(store) = &run.store else { return Ok(()) };
        if outcome == RunOutcome::Done {
            run.wait_while_paused();
        }
        let now = self.clock.now();
        let counts = serde_json::to_string(&*lock(&run.counts)).unwrap_or_default();
        let is_cut = history::is_cut(run);
        store.write(Durability::Synced, |sql| {
            run.fence(sql)?;
            // Also at its end: else nothing would go on with it.
            if outcome == RunOutcome::Stopped || !jobs::sweep(sql, run.job.id, run.number)? {
                jobs::stop(sql, run.job.id, run.number)?;
            }
            jobs::rest(sql, run.job.id, run.number, error, goes_on && outcome == RunOutcome::Stopped)?;
            if outcome == RunOutcome::Done && run.rereads && run.is_full {
                jobs::reread(sql, run.job.id, run.job.rereads)?;
            }
            runs::end(sql, run.job.id, run.number, now, outcome, &counts, error)?;
            if is_cut {
                runs::history::raise(sql, run.job.id, HistoryKind::Failures, now)?;
                runs::history::raise(sql, run.job.id, HistoryKind::Documents, now)?;
            }
            if run.is_pass { fold(sql, run.job.id) } else { Ok(()) }
        })?;
        // A run that notes every document makes room itself; all others leave that to whoever looks from time to time.
        if run.definition.history.of == HistoryOf::Documents && history::is_much(run) {
            self.forget_history(&run.job)?;
        }
        Ok(())
    }
}
