//! The end of the visits: retries that fall due soon.

use std::collections::HashMap;
use std::time::Duration;

use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::VisitReason;
use ingather_store::{documents, queue};

use crate::dispatcher::WorkItem;
use crate::error::Result;
use crate::progress::RETRY;
use crate::run::Run;

/// What a run waits for whose job a person has paused, or whose window is closed.
pub(crate) const PAUSED: &str = "the end of the pause, or its next window";

/// Waits until nothing is due or held; retries that fall due soon are waited for (design 5.1).
pub(crate) fn drain(run: &Run) -> Result<()> {
    // The date of a document that waits begins the next pass: what changes meanwhile is found without it.
    let longest = if run.is_pass { 0 } else { limits::SYNC_WAIT_MS_MAX };
    let deadline = run.call.now() + longest;
    loop {
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
        let now = run.call.now();
        let (again, soonest) = run.due_again(now);
        if again.is_empty() {
            if soonest > deadline || now >= deadline {
                return Ok(());
            }
            run.progress.waits_for(RETRY);
            run.call.clock.awaited(soonest);
            run.dispatcher.rest(Duration::from_millis(
                (soonest - run.call.now()).clamp(1, limits::DRAIN_LOOK_MS as i64) as u64,
            ));
            continue;
        }
        retry(run, &again)?;
    }
}

/// Hands documents that wait to the workers once more, as the inventory knows them.
pub(crate) fn retry(run: &Run, ids: &[i64]) -> Result<()> {
    let (mut stored, wanted, noted) = run.reader.read(|sql| {
        let noted = run.attention.noted(sql, ids)?;
        Ok((documents::get(sql, ids)?, queue::request_counts(sql, ids)?, noted))
    })?;
    let by_id: HashMap<i64, (i64, VisitReason)> =
        wanted.into_iter().map(|(id, n, reason)| (id, (n, reason))).collect();
    // What nobody wants any more is not waited for.
    for id in ids.iter().filter(|id| !by_id.contains_key(id)) {
        run.gives_up(*id);
    }
    // What an output holds still of a document that was erased is not sent to the others again.
    stored.retain(|stored| {
        let is_erased =
            run.erased.contains(&stored.known.key_hash) && !failpoint(Failpoint::ErasedIsSentAgain);
        if is_erased {
            run.gives_up(stored.known.id.0);
        }
        !is_erased
    });
    let items = stored.into_iter().filter_map(|stored| {
        let id = stored.known.id.0;
        let (request_count, reason) = *by_id.get(&id)?;
        let waiting = run.waiting(id);
        let noted_now = || noted.get(&id).copied().unwrap_or_default();
        Some(WorkItem {
            id,
            name: stored.name,
            key_hash: stored.known.key_hash,
            container: waiting.and_then(|waiting| waiting.container).or(stored.known.container),
            reason,
            request_count: Some(request_count),
            version: stored.known.version,
            access: stored.known.access,
            identity: stored.identity,
            noted: waiting.map_or_else(noted_now, |waiting| waiting.noted),
            is_listed: false,
            claim: None,
            admission: None,
            begun: None,
            known: Some(stored.known),
        })
    });
    run.dispatcher.push(items.collect());
    Ok(())
}
