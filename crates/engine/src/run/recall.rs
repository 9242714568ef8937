//! Documents that wait, handed to the visitors as the inventory knows them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ingather_store::documents::{Stored, inbox};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::VisitReason;
use ingather_store::{documents, queue};

use crate::dispatcher::WorkItem;
use crate::error::Result;
use crate::run::Run;
use crate::run::reach::parked;

/// Hands documents that wait to the workers, as the inventory knows them, but for those that wait for events; those that were handed over.
pub(crate) fn recall(run: &Run, ids: &[i64]) -> Result<Vec<i64>> {
    let ready = match &run.reach {
        Some(reach) => Cow::Owned(parked::ready(run, reach, ids)?),
        None => Cow::Borrowed(ids),
    };
    let ids = &*ready;
    // One that is visited once more in a run is known by what this run has noted of it.
    let attention = if run.reach.is_some() { run.attention.with_failures() } else { run.attention };
    let (mut stored, wanted, noted, present) = run.reader.read(|sql| {
        let noted = attention.noted(sql, ids)?;
        let present = run.author.is_pushed.then(|| inbox::present(sql, ids)).transpose()?;
        let present = present.map(HashSet::<i64>::from_iter);
        Ok((documents::get(sql, ids)?, queue::request_counts(sql, ids)?, noted, present))
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
    if let Some(present) = present {
        let is_gone = |id: i64| by_id.contains_key(&id) && !present.contains(&id);
        let (gone, there) = stored.into_iter().partition(|stored| is_gone(stored.known.id.0));
        stored = there;
        vanish(run, gone);
    }
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
    let items: Vec<WorkItem> = items.collect();
    let handed: Vec<i64> = items.iter().map(|item| item.id).collect();
    if let Some(reach) = &run.reach {
        reach.handed(handed.iter().copied());
    }
    run.dispatcher.push(items);
    Ok(handed)
}

/// What was pushed and is deleted needs no visit to be known as gone: the sweep takes it out, unless it is pushed again until then.
fn vanish(run: &Run, gone: Vec<Stored>) {
    for stored in gone {
        let id = stored.known.id.0;
        if run.gives_up(id) {
            run.count(|counts| counts.waiting -= 1);
        }
        run.note_vanished(id);
    }
}
