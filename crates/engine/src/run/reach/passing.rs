//! Documents that a run reaches and does not visit, for their dates have not come (decision 0039): they lead where they led when they were read
//! last. And those whose dates have come, which a pass visits without asking any seed.

use std::collections::{BTreeMap, HashMap, HashSet};

use ingather_model::job::dates::Action;
use ingather_model::lifecycle::outcome::FailureKind;
use ingather_model::limits;
use ingather_model::run_counts::Counter;
use ingather_store::documents::{self, dates, links};
use ingather_store::{Durability, Sql, StoreError, queue};
use roaring::RoaringTreemap;

use super::found::mark;
use super::hops::{self, Measured};
use super::named::request;
use super::targets::Targets;
use super::{Reach, Reached};
use crate::error::Result;
use crate::run::Run;
use crate::run::dating::{self, Walk};

/// What is reached over links as they were kept.
#[derive(Default)]
struct Passed {
    all: Vec<i64>,
    resting: HashSet<i64>,
    /// To be visited, each with its name.
    visited: Vec<(i64, String)>,
    /// Documents that lead to something that is not known any more: only they have its name.
    stale: Vec<(i64, String)>,
    /// What was found of distances, where hops are counted.
    measured: Measured,
}

/// Follows links of some documents that are not visited, as they were kept; false when there is none left.
pub(super) fn pass_on(run: &Run, reach: &Reach) -> Result<bool> {
    let mut state = reach.lock();
    let batch: Vec<i64> = state.passing.iter().take(limits::JUDGED_MAX).map(|id| id as i64).collect();
    let Some(store) = run.store.as_ref().filter(|_| !batch.is_empty()) else { return Ok(false) };
    let mut passed = Passed::default();
    store.write(Durability::Relaxed, |sql| {
        run.fence(sql)?;
        passed = look(run, sql, &state, (&batch, reach.walk))?;
        let to_visit: Vec<i64> = passed.visited.iter().chain(&passed.stale).map(|(id, _)| *id).collect();
        request(run, sql, &to_visit)?;
        mark(run, sql, &state, &passed.all)
    })?;
    // What the run before has visited counts in that one.
    let rests = |id: &i64| state.rested.contains(*id as u64) && !passed.is_stale(*id);
    let resting: Vec<i64> = batch.iter().copied().filter(rests).collect();
    take_over(run, reach, &mut state, (batch, passed));
    drop(state);
    count(run, reach, &resting)?;
    Ok(true)
}

impl Passed {
    fn is_stale(&self, id: i64) -> bool {
        self.stale.iter().any(|(stale, _)| *stale == id)
    }
}

fn look(
    run: &Run,
    sql: &mut Sql<'_>,
    state: &Reached,
    (batch, walk): (&[i64], Walk),
) -> std::result::Result<Passed, StoreError> {
    let mut led: Vec<(i64, Targets)> = Vec::new();
    for (id, bytes) in links::get(sql, batch)? {
        led.push((id, Targets::from_bytes(&bytes)?));
    }
    let targets = led.iter().fold(RoaringTreemap::new(), |all, (_, to)| all | to.all()) - &state.ids;
    let mut ids: Vec<i64> = targets.iter().map(|id| id as i64).collect();
    let mut passed = Passed::default();
    let mut unknown = RoaringTreemap::new();
    let led_to: Vec<(i64, RoaringTreemap)> = led.iter().map(|(id, targets)| (*id, targets.all())).collect();
    if state.distances.is_some() {
        let mut names: BTreeMap<i64, String> = BTreeMap::new();
        for ids in ids.chunks(limits::JUDGED_MAX) {
            names.extend(documents::names(sql, ids)?);
        }
        unknown.extend(ids.iter().filter(|id| !names.contains_key(id)).map(|id| *id as u64));
        passed.measured = hops::measure(sql, state, led, (&HashMap::new(), &mut names))?;
        ids = names.into_keys().collect();
    }
    for ids in ids.chunks(limits::JUDGED_MAX) {
        let mut resting = dating::resting(sql, walk, ids, &HashSet::new(), run.call.now())?;
        if state.distances.is_some() {
            let rests: Vec<i64> = resting.iter().copied().collect();
            hops::set_aside(sql, &rests)?.iter().for_each(|id| _ = resting.remove(id));
        }
        let others: Vec<i64> = ids.iter().copied().filter(|id| !resting.contains(id)).collect();
        let named: HashMap<i64, String> = documents::names(sql, &others)?.into_iter().collect();
        unknown.extend(others.iter().filter(|id| !named.contains_key(id)).map(|id| *id as u64));
        passed.all.extend(resting.iter().copied().chain(named.keys().copied()));
        passed.resting.extend(resting);
        passed.visited.extend(named);
    }
    let stale = led_to
        .iter()
        .filter(|(id, targets)| !targets.is_disjoint(&unknown) && !state.must_read.contains(*id as u64));
    let stale: Vec<i64> = stale.map(|(id, _)| *id).collect();
    passed.stale = documents::names(sql, &stale)?;
    Ok(passed)
}

/// What is on disk now counts.
fn take_over(run: &Run, reach: &Reach, state: &mut Reached, (batch, passed): (Vec<i64>, Passed)) {
    if !passed.all.is_empty() {
        state.marked();
    }
    for id in batch {
        state.passing.remove(id as u64);
    }
    state.ids.extend(passed.all.iter().map(|id| *id as u64));
    if let Some(distances) = &mut state.distances {
        distances.take(passed.measured);
    }
    for id in passed.resting {
        state.rest(id, reach.walk);
    }
    for (id, _) in &passed.stale {
        state.must_read.insert(*id as u64);
        state.rested.remove(*id as u64);
    }
    for (id, name) in passed.visited.into_iter().chain(passed.stale) {
        state.add(run.dispatcher.first_bin_of(&name), id);
    }
    run.progress.seen(passed.all.len() as u64);
    reach.look(state);
    run.dispatcher.stir();
}

/// Counts what is not visited as it stands.
fn count(run: &Run, reach: &Reach, ids: &[i64]) -> Result<()> {
    let noted = run.reader.read(|sql| run.attention.noted(sql, ids))?;
    let counter = |id: &i64| match noted.get(id).and_then(|noted| noted.failure).map(|failure| failure.kind) {
        Some(FailureKind::Failed) => Some(Counter::Failed),
        Some(FailureKind::Skipped) => Some(Counter::Skipped),
        Some(FailureKind::Retrying) => None,
        None => Some(Counter::Unchanged),
    };
    for counted in [Counter::Failed, Counter::Skipped, Counter::Unchanged] {
        let ids: Vec<i64> = ids.iter().copied().filter(|id| counter(id) == Some(counted)).collect();
        reach.stand(&ids, counted);
        run.count(|counts| *counts.counter(counted) += ids.len() as u64);
    }
    let waiting = ids.iter().filter(|id| counter(id).is_none()).count() as u64;
    run.count(|counts| counts.waiting += waiting);
    Ok(())
}

/// Has those visited whose dates have come, and what was asked for; seeds are not asked.
pub(crate) fn take_due(run: &Run, reach: &Reach) -> Result<()> {
    let now = run.call.now();
    let mut after = i64::MIN;
    while !run.stops() {
        let ids = run.reader.read(|sql| queue::due(sql, run.job.id, (after, now), limits::JUDGED_MAX))?;
        let Some(last) = ids.last() else { break };
        after = *last;
        visit(run, reach, &ids)?;
    }
    if reach.walk != Walk::Due {
        return Ok(());
    }
    let mut after = (i64::MIN, i64::MIN);
    while !run.stops() {
        let due = run.reader.read(|sql| dates::due(sql, run.job.id, (after, now), limits::JUDGED_MAX))?;
        let Some((at, last, _)) = due.last() else { break };
        after = (*at, *last);
        let is_looked_at = |(.., action): &&(i64, i64, Action)| *action == Action::Recrawl;
        let ids: Vec<i64> = due.iter().filter(is_looked_at).map(|(_, id, _)| *id).collect();
        visit(run, reach, &ids)?;
    }
    Ok(())
}

fn visit(run: &Run, reach: &Reach, ids: &[i64]) -> Result<()> {
    let mut state = reach.lock();
    let ids: Vec<i64> = ids.iter().copied().filter(|id| !state.ids.contains(*id as u64)).collect();
    let Some(store) = run.store.as_ref().filter(|_| !ids.is_empty()) else { return Ok(()) };
    let mut named = Vec::new();
    store.write(Durability::Relaxed, |sql| {
        run.fence(sql)?;
        named = documents::names(sql, &ids)?;
        let ids: Vec<i64> = named.iter().map(|(id, _)| *id).collect();
        request(run, sql, &ids)?;
        mark(run, sql, &state, &ids)
    })?;
    let passed =
        Passed { all: named.iter().map(|(id, _)| *id).collect(), visited: named, ..Passed::default() };
    take_over(run, reach, &mut state, (Vec::new(), passed));
    Ok(())
}
