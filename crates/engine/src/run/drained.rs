//! The end of a source (coverage S4.11): once nothing of a delta run is open any more and outputs have committed, notifiers are told, once for each of them.

use ingather_model::job::notify::{self, Notify, NotifyEvent};
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_store::documents::inbox::delta_runs::{self, DeltaRun};
use ingather_store::documents::inbox::tickets;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::runs::notices::{self, NewNotice};
use ingather_store::{Reader, Sql, StoreError};
use serde_json::json;

use super::state::RunState;

/// A delta run of which nothing is open any more.
pub(super) struct Drained {
    run: DeltaRun,
    /// What is told of it, for programs.
    body: String,
}

impl Drained {
    /// Delta runs of a source that were finished, and of which everything is done at the end of a run.
    pub(super) fn by(
        run: &RunState,
        outcome: RunOutcome,
        reader: &Reader,
        now: i64,
    ) -> Result<Vec<Drained>, StoreError> {
        let (job, mut drained) = (&run.job, Vec::new());
        if !run.author.is_pushed || outcome != RunOutcome::Done {
            return Ok(drained);
        }
        for run in reader.read(|sql| delta_runs::undrained(sql, job.id))? {
            let last = run.last_ticket.unwrap_or(i64::MAX);
            let is_open = reader.read(|sql| tickets::is_open_until(sql, job.id, last))?;
            if is_open && !failpoint(Failpoint::DrainedBeforeItIs) {
                break;
            }
            let failed = reader.read(|sql| tickets::count_failed(sql, job.id, (run.watermark, last)))?;
            let body = json!({
                "job": job.name, "run": run.epoch, "mode": run.mode, "client": run.client, "opened_at": run.opened_at,
                "ended_at": run.ended_at, "drained_at": now, "deleted": run.deleted, "failed": failed, "veto": run.veto,
            });
            drained.push(Drained { run, body: body.to_string() });
        }
        Ok(drained)
    }

    /// Notes it, and who is to be told; of one that was noted before nobody is.
    pub(super) fn note(
        &self,
        sql: &mut Sql<'_>,
        job: &Job,
        (wanted, now): (&[&Notify], i64),
    ) -> Result<(), StoreError> {
        let is_first = delta_runs::drain(sql, job.id, self.run.epoch, now)?;
        for (notifier, event) in notify::told(wanted.iter().copied(), &[NotifyEvent::Drained]) {
            if is_first {
                let notice = NewNotice {
                    at: now,
                    job: job.id,
                    run: self.run.epoch,
                    event,
                    notifier,
                    body: &self.body,
                };
                notices::add(sql, notice)?;
            }
        }
        Ok(())
    }
}
