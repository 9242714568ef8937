//! The end of a run that has nothing left but documents that wait for events: whether it waits for somebody else, and what it leaves to the next one.

use std::time::Duration;

use ingather_model::blocked::AwaitedEvent;
use ingather_model::limits;
use ingather_store::Durability;
use ingather_store::events::{self, Pending};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::{self, DUE_NEXT_RUN};
use ingather_store::turns::lock;

use super::{Found, Reach, find};
use crate::error::Result;
use crate::progress::EVENT;
use crate::run::Run;

/// Whether a run that has nothing left to do but what waits for events goes on: since somebody may complete one or has, or since what waits leads to
/// something that nothing else led to.
pub(crate) fn goes_on(run: &Run, reach: &Reach) -> Result<bool> {
    let awaited: Vec<String> = reach.lock().parked.by_event.keys().cloned().collect();
    if awaited.is_empty() {
        return Ok(false);
    }
    // Whoever completes one wakes the run. It looks once more all the same: a wake that is lost must not cost more than time.
    let is_pending =
        |event: &String| run.reader.read(|sql| events::holder(sql, event)).map(|job| job.is_some());
    let mut goes_on = false;
    for event in &awaited {
        if !is_pending(event)? {
            reach.completed(event);
            goes_on = true;
        }
    }
    if goes_on {
        return Ok(true);
    }
    if reach.events.may_come(&run.reader, run.job.id, awaited)? {
        run.progress.waits_for(EVENT);
        let longest = Duration::from_millis(limits::DRAIN_LOOK_MS);
        run.dispatcher.rest_until(longest, || reach.stirs());
        reach.events.moves(run.job.id);
        return Ok(true);
    }
    reach.events.moves(run.job.id);
    // Like a page that could not be visited, it leads to what it led to before.
    let left: Vec<i64> = {
        let mut state = reach.lock();
        let left = state.parked.ids() - &state.parked.left;
        state.parked.left |= &left;
        left.iter().map(|id| id as i64).collect()
    };
    if failpoint(Failpoint::ParkedLeadsNowhere) {
        return Ok(false);
    }
    for ids in left.chunks(limits::JUDGED_MAX) {
        let found = |id: &i64| Found { id: *id, container: None, leads: None };
        find(run, reach, &ids.iter().map(found).collect::<Vec<Found>>())?;
    }
    Ok(!left.is_empty())
}

/// At the end of a run: what still waits for events is for the next one, however long that is. False where something is to be visited all the same.
pub(crate) fn leave(run: &Run, reach: &Reach) -> Result<bool> {
    let left = {
        let mut state = reach.lock();
        if state.frontier.stirs() {
            return Ok(false);
        }
        // Whoever completes an event from now on finds nothing that this run could visit.
        let left = state.parked.ids();
        state.parked.by_event.clear();
        left
    };
    run.count(|counts| counts.waiting += left.len());
    let Some(store) = run.store.as_ref().filter(|_| !left.is_empty()) else { return Ok(true) };
    let rows: Vec<(i64, i64)> = left.iter().map(|id| (id as i64, DUE_NEXT_RUN)).collect();
    for rows in rows.chunks(limits::JUDGED_MAX) {
        store.write(Durability::Relaxed, |sql| {
            run.fence(sql)?;
            queue::reschedule(sql, rows)
        })?;
    }
    Ok(true)
}

/// What a person should know of documents that a run leaves to the next one.
pub(crate) fn notes(run: &Run) -> Result<Vec<String>> {
    if run.reach.is_none() || lock(&run.counts).waiting == 0 {
        return Ok(Vec::new());
    }
    let awaited = run.reader.read(|sql| events::awaited(sql, run.job.id, limits::EVENTS_TOLD_MAX))?;
    let note = |event: &Pending| {
        let Pending { name, job, document, taken_at, waiting } = event;
        AwaitedEvent { name, documents: *waiting, job, document, since: *taken_at }.note()
    };
    Ok(awaited.iter().map(note).collect())
}
