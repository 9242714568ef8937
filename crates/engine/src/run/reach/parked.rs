//! Documents that wait for events: an id each in memory, until somebody completes the event. Nobody looks at them meanwhile
//! (`docs/decisions/0038-events.md`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};

use ingather_contract::events::EventName;
use ingather_model::limits;
use ingather_store::documents::names;
use ingather_store::events::{self, Lasts};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Durability, Sql, StoreError};
use roaring::RoaringTreemap;

use super::Reach;
use crate::dispatcher::WorkItem;
use crate::error::Result;
use crate::process::events::Waiter;
use crate::process::throttles::Bin;
use crate::run::Run;

/// What waits for events, and what may have to.
#[derive(Default)]
pub(super) struct Parked {
    /// Documents by the event that is pending, and by their first bin.
    pub(super) by_event: HashMap<String, BTreeMap<Bin, RoaringTreemap>>,
    /// Documents that have prerequisites, pending or not: nobody asks for those of others.
    guarded: RoaringTreemap,
    /// Those of them that wait only once, until their visit is over.
    once: RoaringTreemap,
    /// Documents whose prerequisites are those of references of this run, and not of earlier ones.
    told: RoaringTreemap,
    /// Those that still wait at the end of the run, and what they led to before is reached.
    pub(super) left: RoaringTreemap,
}

impl Parked {
    pub(super) fn ids(&self) -> RoaringTreemap {
        self.by_event.values().flat_map(BTreeMap::values).fold(RoaringTreemap::new(), |all, ids| all | ids)
    }

    /// Which of these documents lose the prerequisites of earlier runs: references of this one tell of them for the first time.
    pub(super) fn retold(&self, told: &[(i64, &[EventName])]) -> RoaringTreemap {
        let is_told = |id: &i64| self.told.contains(*id as u64);
        let counts = |(id, after): &(i64, &[EventName])| {
            !is_told(id) && (!after.is_empty() || self.guarded.contains(*id as u64))
        };
        told.iter().copied().filter(counts).map(|(id, _)| id as u64).collect()
    }

    /// Takes over what is on disk by now.
    pub(super) fn take_over(&mut self, told: Told) {
        self.guarded -= &told.retold - &self.once;
        self.guarded |= told.guarded;
        self.told |= told.retold;
    }
}

/// Documents whose prerequisites references have told.
#[derive(Default)]
pub(super) struct Told {
    retold: RoaringTreemap,
    guarded: RoaringTreemap,
}

impl Reach {
    /// Reads which documents have prerequisites. `goes_on`: this run goes on with another one, whose references have told some of them.
    pub(super) fn guard(&self, run: &Run, goes_on: bool) -> Result<()> {
        if goes_on && failpoint(Failpoint::PrerequisitesForgotten) {
            return Ok(());
        }
        let (mut guarded, mut after) = (RoaringTreemap::new(), i64::MIN);
        loop {
            let read =
                |sql: &mut Sql<'_>| events::with_prerequisites(sql, run.job.id, after, limits::JUDGED_MAX);
            let ids = run.reader.read(read)?;
            let Some(last) = ids.last() else { break };
            after = *last;
            guarded.extend(ids.iter().map(|id| *id as u64));
        }
        let mut state = self.lock();
        // What waits once is not told apart from the rest: a visit that is over forgets what there is.
        state.parked.once = guarded.clone();
        if goes_on {
            state.parked.told = guarded.clone();
        }
        state.parked.guarded = guarded;
        Ok(())
    }

    /// An event is completed: what waits for it is to be visited, or waits for another one.
    pub(crate) fn completed(&self, event: &str) {
        let mut state = self.lock();
        for (bin, ids) in state.parked.by_event.remove(event).unwrap_or_default() {
            state.frontier.add_all(&bin, &ids);
        }
        self.look(&state);
    }

    /// Those of these documents that may have waited once.
    pub(crate) fn waited_once(&self, ids: impl Iterator<Item = i64>) -> Vec<i64> {
        let state = self.lock();
        ids.filter(|id| state.parked.once.contains(*id as u64)).collect()
    }

    fn guarded(&self, ids: impl Iterator<Item = i64>) -> Vec<i64> {
        let state = self.lock();
        ids.filter(|id| state.parked.guarded.contains(*id as u64)).collect()
    }
}

/// Those of these documents that wait for no event; the others are parked until it is completed.
pub(crate) fn ready(run: &Run, reach: &Reach, ids: &[i64]) -> Result<Vec<i64>> {
    let waiting = waiting(run, reach, ids.iter().copied())?;
    park(run, reach, &waiting)?;
    Ok(ids.iter().copied().filter(|id| !waiting.contains_key(id)).collect())
}

/// The same for documents that a visitor has claimed: an event may have begun since they were handed over.
pub(crate) fn still_ready(run: &Run, mut items: Vec<WorkItem>) -> Result<Vec<WorkItem>> {
    let Some(reach) = &run.reach else { return Ok(items) };
    reach.claimed(&items);
    let waiting = waiting(run, reach, items.iter().map(|item| item.id))?;
    park(run, reach, &waiting)?;
    items.retain(|item| !waiting.contains_key(&item.id));
    Ok(items)
}

/// Whether a document that a visitor is about to visit waits for an event, which may have begun since it was claimed; it is parked then.
pub(crate) fn has_to_wait(run: &Run, reach: &Reach, id: i64) -> Result<bool> {
    let waiting = waiting(run, reach, std::iter::once(id))?;
    park(run, reach, &waiting)?;
    Ok(!waiting.is_empty())
}

/// Which of these documents wait, each with an event that is pending.
fn waiting(run: &Run, reach: &Reach, ids: impl Iterator<Item = i64>) -> Result<BTreeMap<i64, String>> {
    let guarded = reach.guarded(ids);
    if guarded.is_empty() {
        return Ok(BTreeMap::new());
    }
    Ok(run.reader.read(|sql| events::waiting(sql, &guarded))?.into_iter().collect())
}

/// Parks documents until these events are completed.
fn park(run: &Run, reach: &Reach, waiting: &BTreeMap<i64, String>) -> Result<()> {
    if waiting.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = waiting.keys().copied().collect();
    let named = run.reader.read(|sql| names(sql, &ids))?;
    // One that is tried again is not looked at when its time has come: it is visited when the event is completed.
    let retried = ids.iter().filter(|id| run.gives_up(**id)).count() as u64;
    run.count(|counts| counts.waiting -= retried);
    let mut state = reach.lock();
    for (id, name) in named {
        let Some(event) = waiting.get(&id) else { continue };
        let bin = run.dispatcher.first_bin_of(&name);
        state.parked.by_event.entry(event.clone()).or_default().entry(bin).or_default().insert(id as u64);
    }
    drop(state);
    let events: BTreeSet<&String> = waiting.values().collect();
    for event in events {
        let waiter: Weak<dyn Waiter> = Arc::downgrade(&run.state) as Weak<dyn Waiter>;
        // Whoever completes it from now on finds them parked.
        if !reach.events.wait(&run.reader, waiter, event)? {
            reach.completed(event);
        }
    }
    Ok(())
}

/// A visit asks for its document again, once none of these events is pending; whether it has to wait for one of them, or for one of its own.
pub(crate) fn put_off(run: &Run, reach: &Reach, id: i64, after: &[EventName]) -> Result<bool> {
    let Some(store) = &run.store else { return Ok(false) };
    let mut pending = Vec::new();
    for event in after {
        if run.reader.read(|sql| events::holder(sql, event.as_str()))?.is_some() {
            pending.push((id, event.as_str()));
        }
    }
    if !pending.is_empty() {
        store.write(Durability::Relaxed, |sql| {
            run.fence(sql)?;
            events::require(sql, run.job.id, &pending, Lasts::Once)
        })?;
        let mut state = reach.lock();
        state.parked.once.insert(id as u64);
        state.parked.guarded.insert(id as u64);
    }
    has_to_wait(run, reach, id)
}

/// Writes the prerequisites that references tell, by document.
pub(super) fn write(
    sql: &mut Sql<'_>,
    run: &Run,
    parked: &Parked,
    told: &[(i64, &[EventName])],
) -> std::result::Result<Told, StoreError> {
    let retold = parked.retold(told);
    let rows: Vec<(i64, &str)> =
        told.iter().flat_map(|(id, after)| after.iter().map(|event| (*id, event.as_str()))).collect();
    let guarded = rows.iter().map(|(id, _)| *id as u64).collect();
    let ids: Vec<i64> = retold.iter().map(|id| id as i64).collect();
    events::drop_prerequisites(sql, &ids, Lasts::Always)?;
    events::require(sql, run.job.id, &rows, Lasts::Always)?;
    Ok(Told { retold, guarded })
}
