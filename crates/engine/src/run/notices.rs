//! What notifiers are told of a run, as it is noted with its end.

use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_store::turns::lock;
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
