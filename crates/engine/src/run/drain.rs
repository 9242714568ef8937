//! The end of the visits: retries that fall due soon.

use std::time::Duration;

use crate::error::Result;
use crate::progress::RETRY;
use crate::run::Run;
use crate::run::reach::left::{goes_on, leave};
use crate::run::reach::{Reach, feed, in_place};
use crate::run::recall::recall;
use ingather_model::limits;

/// What a run waits for whose job a person has paused, or whose window is closed.
pub(crate) const PAUSED: &str = "the end of the pause, or its next window";

/// Waits until nothing is due or held; retries that fall due soon are waited for (design 5.1), and events that
/// other runs are to complete, and what they lead to is visited.
pub(crate) fn drain(run: &Run) -> Result<()> {
    // The date of a document that waits begins the next pass: what changes meanwhile is found without it.
    let longest = if run.is_pass { 0 } else { limits::SYNC_WAIT_MS_MAX };
    let deadline = run.call.now() + longest;
    loop {
        if let Some(reach) = &run.reach {
            feed(run, reach, true)?;
        }
        while !run.dispatcher.wait_drained(Duration::from_millis(limits::DRAIN_LOOK_MS)) {
            if run.call.cancel.cancelled() {
                return Ok(());
            }
            let paused = run.dispatcher.is_paused(Duration::ZERO);
            run.progress.waits_for(if paused { PAUSED } else { "reading and delivering" });
        }
        if run.stops() || run.store.is_none() {
            return Ok(());
        }
        if run.reach.as_ref().is_some_and(Reach::stirs) {
            continue;
        }
        let now = run.call.now();
        let (again, soonest) = run.due_again(now);
        if !again.is_empty() {
            recall(run, &again)?;
            continue;
        }
        let stirs = || run.reach.as_ref().is_some_and(Reach::stirs);
        if soonest > deadline || now >= deadline {
            let Some(reach) = &run.reach else { return Ok(()) };
            if !stirs() && !goes_on(run, reach)? && !in_place::settle(run, reach)? && leave(run, reach)? {
                return Ok(());
            }
            continue;
        }
        run.progress.waits_for(RETRY);
        run.call.clock.awaited(soonest);
        let longest = (soonest - run.call.now()).clamp(1, limits::DRAIN_LOOK_MS as i64) as u64;
        run.dispatcher.rest_until(Duration::from_millis(longest), stirs);
    }
}
