//! A job whose run does not go on by itself any more is told of, too: no run ends there that could tell.

use ingather_model::job::notify::{self, NotifyEvent};
use ingather_store::Durability;
use ingather_store::jobs::Job;
use ingather_store::runs::notices::{self, NewNotice};
use serde_json::json;

use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// Notes that a job rests because its run was interrupted too often; `why` says so. Whoever was told of this run is not told again.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn tell_interrupted(&self, job: &Job, why: &str) -> Result<()> {
        let of_all = self.process.notifies();
        let events = [NotifyEvent::Interrupted, NotifyEvent::Finished];
        let told = notify::told(job.definition.notify.iter().chain(of_all.iter()), &events);
        if told.is_empty() {
            return Ok(());
        }
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let at = self.clock.now();
        let body = json!({ "job": job.name, "run": job.run, "ended_at": at, "outcome": "interrupted", "error": why }).to_string();
        writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            told.iter().try_for_each(|(notifier, event)| {
                let notice =
                    NewNotice { at, job: job.id, run: job.run, event: *event, notifier, body: &body };
                notices::add(sql, notice)
            })
        })?;
        Ok(())
    }
}
