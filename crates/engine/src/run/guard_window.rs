//! What passes of a continuous job removed lately: its delete guard judges them together, or ten passes would remove what one may not
//! (decision 0027).

use ingather_model::lifecycle::outcome::{GuardState, RunOutcome};
use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Durability, Store, runs};

use super::Run;
use crate::error::Result;

/// Runs before this one that are looked at for the last that was done.
const RUNS_LOOKED_AT: usize = 100;

/// How many documents passes before this one have removed, as far as they count.
pub(crate) fn removed_before(run: &Run) -> Result<u64> {
    if failpoint(Failpoint::GuardForgetsPasses) {
        return Ok(0);
    }
    let last = run.reader.read(|sql| runs::list(sql, run.job.id, RUNS_LOOKED_AT))?;
    let done =
        last.iter().find(|before| before.number < run.number && before.outcome == Some(RunOutcome::Done));
    // Time confirms nothing: while removals are held, what led to that goes on to count. Nobody knows of more runs that failed.
    let is_held = match done {
        Some(done) => matches!(done.guard, Some(GuardState::Held | GuardState::Void)),
        None => last.len() == RUNS_LOOKED_AT,
    };
    let since = if is_held { 0 } else { run.call.now() - limits::GUARD_WINDOW_MS };
    Ok(run.reader.read(|sql| runs::removed_since(sql, run.job.id, since))?)
}

/// Takes note of what a run is about to remove; none: it holds that.
pub(crate) fn note(run: &Run, store: &Store, removes: Option<u64>) -> Result<()> {
    let documents = removes.filter(|documents| *documents > 0 && (run.is_pass || run.guard_off));
    let Some(documents) = documents else { return Ok(()) };
    store.write(Durability::Synced, |sql| {
        run.fence(sql)?;
        match run.guard_off {
            true => runs::forget_removed(sql, run.job.id),
            false => runs::note_removed(sql, run.job.id, run.call.now(), documents),
        }
    })?;
    Ok(())
}
