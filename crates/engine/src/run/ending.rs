//! The end of a run, in one transaction: its state, its row, and what the history of its job knows from now on.

use ingather_model::job::history::{HistoryKind, HistoryOf};
use ingather_model::job::notify::{self, Notify};
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_store::runs::notices::{self, NewNotice};
use ingather_store::turns::lock;
use ingather_store::{Durability, jobs, runs};

use super::drained::Drained;
use super::{Run, fold, history, notices as notice};
use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// Ends a run. `goes_on`: another one goes on with it, where it was stopped. `is_for_good`: a person has stopped it, and what follows begins anew.
    pub(crate) fn end(
        &self,
        run: &Run,
        outcome: RunOutcome,
        error: Option<&str>,
        (goes_on, is_for_good): (bool, bool),
    ) -> Result<()> {
        let Some(store) = &run.store else { return Ok(()) };
        if outcome == RunOutcome::Done {
            run.wait_while_paused();
        }
        let now = self.clock.now();
        let counts = serde_json::to_string(&*lock(&run.counts)).unwrap_or_default();
        let is_cut = history::is_cut(run);
        let unlisted = self.tells_of_its_source(run)?;
        let events = notify::events(outcome, &lock(&run.counts), run.is_pass, unlisted.is_some());
        let of_all = self.process.notifies();
        // As it is stored now: who is told may have changed since the run began.
        let stored = self.reader.read(|sql| jobs::get(sql, run.job.id))?;
        let of_job = stored.as_ref().map_or(&run.definition.notify, |job| &job.definition.notify);
        let wanted: Vec<&Notify> = of_job.iter().chain(of_all.iter()).collect();
        let told = notify::told(wanted.iter().copied(), &events);
        let drained = Drained::by(run, outcome, &self.reader, now)?;
        let body = match told.is_empty() {
            true => String::new(),
            false => notice::body(run, &self.asked_by, (outcome, error.or(unlisted.as_deref())), now),
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
            if is_for_good && run.reach.is_some() {
                runs::reach::go_by(sql, run.job.id, run.number, None)?;
            }
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
            drained.iter().try_for_each(|drained| drained.note(sql, &run.job, (&wanted, now)))?;
            if run.is_pass { fold(sql, run.job.id) } else { Ok(()) }
        })?;
        // A run that notes every document makes room itself; all others leave that to whoever looks from time to time.
        if run.definition.history.of == HistoryOf::Documents && history::is_much(run) {
            self.forget_history(&run.job)?;
        }
        Ok(())
    }

    /// Why the source could not be listed, where notifiers are to be told: of passes, which follow each other by themselves, of the first one.
    fn tells_of_its_source(&self, run: &Run) -> Result<Option<String>> {
        let unlisted = lock(&run.unlisted).clone();
        if unlisted.is_none() || !run.is_pass {
            return Ok(unlisted);
        }
        let last = self.reader.read(|sql| runs::list(sql, run.job.id, 2))?;
        let before = last.iter().find(|before| before.number != run.number);
        let is_first = before.is_none_or(|before| before.listed_at.is_some());
        Ok(unlisted.filter(|_| is_first))
    }
}
