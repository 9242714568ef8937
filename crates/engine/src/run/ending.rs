//! The end of a run, in one transaction: its state, its row, and what the history of its job knows from now on.

use ingather_model::job::history::{HistoryKind, HistoryOf};
use ingather_model::job::notify;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_store::runs::notices::{self, NewNotice};
use ingather_store::turns::lock;
use ingather_store::{Durability, jobs, runs};

use super::{Run, fold, history, notices as notice};
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
        let events = notify::events(outcome, &lock(&run.counts), run.is_pass);
        let of_all = self.process.notifies();
        // As it is stored now: who is told may have changed since the run began.
        let stored = self.reader.read(|sql| jobs::get(sql, run.job.id))?;
        let of_job = stored.as_ref().map_or(&run.definition.notify, |job| &job.definition.notify);
        let told = notify::told(of_job.iter().chain(of_all.iter()), &events);
        let body = match told.is_empty() {
            true => String::new(),
            false => notice::body(run, &self.asked_by, (outcome, error), now),
        };
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
                // Of this very time some may be missing.
                runs::history::raise(sql, run.job.id, HistoryKind::Failures, now + 1)?;
                runs::history::raise(sql, run.job.id, HistoryKind::Documents, now + 1)?;
            }
            for (notifier, event) in &told {
                let notice = NewNotice {
                    at: now,
                    job: run.job.id,
                    run: run.number,
                    event: *event,
                    notifier,
                    body: &body,
                };
                notices::add(sql, notice)?;
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
