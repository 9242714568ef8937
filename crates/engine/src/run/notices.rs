//! What notifiers are told of a run, as it is noted with its end.

use ingather_model::job::notify::{self, Notify, NotifyEvent};
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_store::jobs::Job;
use ingather_store::runs::notices::{self, NewNotice};
use ingather_store::turns::lock;
use ingather_store::{Sql, StoreError, runs};
use serde_json::json;

use super::state::RunState;

/// What is told of the end of a run, for programs.
pub(crate) fn body(
    run: &RunState,
    begun_by: &str,
    (outcome, error): (RunOutcome, Option<&str>),
    now: i64,
) -> String {
    let error = error.map(|error| error.chars().take(limits::NOTICE_ERROR_MAX).collect::<String>());
    let kind = if run.is_full { "full" } else { "minimal" };
    json!({
        "job": run.job.name,
        "run": run.number,
        "kind": kind,
        "begun_by": begun_by,
        "ended_at": now,
        "outcome": outcome,
        "counts": *lock(&run.counts),
        "error": error,
    })
    .to_string()
}

/// Notes that the last run of a job was interrupted, where it is still open; before it is closed, in the same transaction. Whoever was told that it
/// does not go on is not told again.
pub(crate) fn note_interrupted(
    sql: &mut Sql<'_>,
    job: &Job,
    of_all: &[Notify],
    at: i64,
) -> std::result::Result<(), StoreError> {
    let told = notify::told(job.definition.notify.iter().chain(of_all), &[NotifyEvent::Finished]);
    if told.is_empty() {
        return Ok(());
    }
    let last = runs::list(sql, job.id, 1)?.into_iter().next();
    let Some(run) = last.filter(|run| run.outcome.is_none()) else { return Ok(()) };
    let error = "its process ended before it did";
    let body = json!({
        "job": job.name, "run": run.number, "kind": run.kind, "begun_by": run.begun_by, "ended_at": at, "outcome": "interrupted",
        "error": error,
    });
    let body = body.to_string();
    told.iter().try_for_each(|(notifier, event)| {
        let notice = NewNotice { at, job: job.id, run: run.number, event: *event, notifier, body: &body };
        notices::add(sql, notice)
    })
}
