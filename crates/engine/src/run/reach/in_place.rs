//! Pages that name another one which is found in their place, such as one that is redirected for good, or that names a canonical page
//! (`docs/decisions/0037-reach.md`). What outputs hold of such a page goes at the end of a run in which they hold the other one. While that one
//! cannot be visited it stays; where nobody ever finds that one, or the two name each other, it is read as a page of its own.

use std::collections::{BTreeMap, HashSet};

use ingather_contract::refers::Leads;
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::FailureKind;
use ingather_model::limits;
use ingather_model::run_counts::Counter;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::{self, DUE_NEXT_RUN, Failure};
use ingather_store::turns::lock;
use ingather_store::{Durability, deliveries, documents};
use roaring::RoaringTreemap;

use super::Reach;
use super::named::{name, request};
use crate::error::Result;
use crate::run::Run;

/// Pages whose last visit named another one.
#[derive(Clone, Default)]
pub(super) struct InPlaces {
    named: BTreeMap<i64, Elsewhere>,
    /// Those that were asked for what they have themselves.
    alone: RoaringTreemap,
    /// Pages whose last visit in this process found that they are no entry, and nothing in their place. What an earlier one found of others, nobody
    /// knows any more.
    nothing: RoaringTreemap,
}

/// Where a page is found instead.
#[derive(Clone, Copy)]
pub(crate) struct Elsewhere {
    key: DocumentKey,
    has_content: bool,
}

/// What becomes of a page that names another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The other one is found, or nothing is left of either.
    Goes,
    /// Nobody knows yet whether the other one will be found.
    Stays,
    /// Before anything else this page is read as one of its own: it, or one that it leads to.
    Waits(i64),
}

/// What is known of the page at the end of such a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Some output holds it.
    Held,
    /// It is no entry, for all that its source has said to this process.
    Nothing,
    /// It waits, has failed, or was visited by an earlier process or not at all.
    Unknown,
}

/// Where a page is found instead, by what it leads to; none: nowhere else that is known of this job.
pub(crate) fn elsewhere(run: &Run, leads: &Leads) -> Option<Elsewhere> {
    let in_place = leads.in_place?;
    let other = name(run, leads.references.get(in_place.reference)?, None)?;
    Some(Elsewhere { key: other.key, has_content: in_place.has_content })
}

impl Reach {
    /// The last visit of a page is over: it named another one, or none, and is no entry, or may be one.
    pub(crate) fn found_elsewhere(&self, id: i64, elsewhere: Option<Elsewhere>, is_no_entry: bool) {
        let mut state = self.lock();
        let InPlaces { named, nothing, .. } = &mut state.in_place;
        match elsewhere {
            Some(elsewhere) => drop(named.insert(id, elsewhere)),
            None => drop(named.remove(&id)),
        }
        match is_no_entry && elsewhere.is_none() {
            true => nothing.insert(id as u64),
            false => nothing.remove(id as u64),
        };
    }

    /// Whether a page is asked for what it has itself.
    pub(crate) fn stands_alone(&self, id: i64) -> bool {
        self.lock().in_place.alone.contains(id as u64)
    }
}

/// Pages that are no entries, and stand for nobody.
struct NoEntries {
    /// For their source says so, or they are too far.
    nothing: RoaringTreemap,
    /// For a stage or a condition of the job leaves them out, where no output was sent anything of them.
    skipped: RoaringTreemap,
}

/// The pages of a run that name others, with all that decides about them.
struct Named {
    named: BTreeMap<i64, Elsewhere>,
    alone: RoaringTreemap,
    /// The ids of those that are known.
    others: BTreeMap<DocumentKey, i64>,
    /// What is known of those that name none.
    ends: BTreeMap<i64, End>,
}

/// Decides what becomes of all pages that name others, once nothing else is left to be visited. True where some of them are visited once more.
pub(crate) fn settle(run: &Run, reach: &Reach) -> Result<bool> {
    let (InPlaces { named, alone, nothing }, skipped) = {
        let state = reach.lock();
        (state.in_place.clone(), state.over.get(&Counter::Skipped).cloned().unwrap_or_default())
    };
    if named.is_empty() {
        return Ok(false);
    }
    // A rule of the job leaves out what is too far.
    let nothing = nothing | reach.beyond();
    let named = Named::read(run, named, alone, &NoEntries { nothing, skipped })?;
    let fates: Vec<(i64, Fate)> = named.named.keys().map(|id| (*id, named.fate(*id))).collect();
    let alone: Vec<i64> = fates
        .iter()
        .filter_map(|(id, fate)| (*fate == Fate::Waits(*id)).then_some(*id))
        .filter(|_| !failpoint(Failpoint::CircleFoundNowhere))
        .collect();
    if !alone.is_empty() {
        visit_alone(run, reach, &alone)?;
        return Ok(true);
    }
    let vanished = lock(&run.vanished).clone();
    let stays =
        |(id, fate): &(i64, Fate)| (*fate == Fate::Stays && vanished.contains(*id as u64)).then_some(*id);
    let staying: Vec<i64> = fates.iter().filter_map(stays).collect();
    if !failpoint(Failpoint::GoesBeforeTheOther) {
        keep(run, reach, &staying)?;
    }
    Ok(false)
}

impl Named {
    fn read(
        run: &Run,
        named: BTreeMap<i64, Elsewhere>,
        alone: RoaringTreemap,
        none: &NoEntries,
    ) -> Result<Named> {
        let mut keys: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for Elsewhere { key, .. } in named.values() {
            keys.entry(key.parent_hash).or_default().push(key.key_hash);
        }
        let mut others = BTreeMap::new();
        for (parent_hash, mut hashes) in keys {
            hashes.sort_unstable();
            hashes.dedup();
            for hashes in hashes.chunks(limits::JUDGED_MAX) {
                let found = run.reader.read(|sql| documents::find(sql, run.job.id, parent_hash, hashes))?;
                for (_, known) in found {
                    others.insert(DocumentKey { parent_hash, key_hash: known.key_hash }, known.id.0);
                }
            }
        }
        let ends: Vec<i64> = others.values().copied().filter(|id| !named.contains_key(id)).collect();
        Ok(Named { ends: ends_of(run, &ends, none)?, named, alone, others })
    }

    fn fate(&self, page: i64) -> Fate {
        let mut way = vec![page];
        let mut met = HashSet::from([page]);
        loop {
            let last = way.last().copied().unwrap_or(page);
            let other = self.named.get(&last).and_then(|elsewhere| self.others.get(&elsewhere.key).copied());
            // A page that is led to has a row: where it has none, nobody knows why.
            let Some(other) = other else { return Fate::Stays };
            if !met.insert(other) {
                let circle = way.iter().skip_while(|id| **id != other).copied();
                // Each of them finds the same first one, whichever of them leads into the circle.
                return circle.filter(|id| self.may_stand(*id)).min().map_or(Fate::Stays, Fate::Waits);
            }
            if !self.named.contains_key(&other) {
                return match self.ends.get(&other).copied().unwrap_or(End::Unknown) {
                    End::Held => Fate::Goes,
                    End::Unknown => Fate::Stays,
                    End::Nothing => self.by_itself(&way),
                };
            }
            if way.len() >= limits::IN_PLACE_WAY_MAX {
                return Fate::Stays;
            }
            way.push(other);
        }
    }

    /// The last page of a chain without an end that has content stands for all of them.
    fn by_itself(&self, way: &[i64]) -> Fate {
        way.iter().rev().copied().find(|id| self.may_stand(*id)).map_or(Fate::Goes, Fate::Waits)
    }

    /// Whether a page may be read as one of its own, and was not asked for that yet.
    fn may_stand(&self, id: i64) -> bool {
        self.named.get(&id).is_some_and(|elsewhere| elsewhere.has_content) && !self.alone.contains(id as u64)
    }
}

/// What is known of these pages.
fn ends_of(run: &Run, ids: &[i64], none: &NoEntries) -> Result<BTreeMap<i64, End>> {
    let gone = &none.nothing | &*lock(&run.vanished);
    let mut ends = BTreeMap::new();
    for ids in ids.chunks(limits::JUDGED_MAX) {
        let states = run.reader.read(|sql| deliveries::states(sql, ids))?;
        let held: HashSet<i64> =
            states.iter().filter(|one| one.state.is_confirmed()).map(|one| one.document).collect();
        let sent: HashSet<i64> = states.iter().map(|one| one.document).collect();
        let is_skipped = |id: &i64| {
            none.skipped.contains(*id as u64) && !sent.contains(id) && !failpoint(Failpoint::SkippedIsAwaited)
        };
        for id in ids {
            let end = match () {
                () if gone.contains(*id as u64) => End::Nothing,
                () if held.contains(id) => End::Held,
                () if is_skipped(id) => End::Nothing,
                () => End::Unknown,
            };
            ends.insert(*id, end);
        }
    }
    Ok(ends)
}

/// Visits pages once more, as pages of their own.
fn visit_alone(run: &Run, reach: &Reach, ids: &[i64]) -> Result<()> {
    let mut state = reach.lock();
    let Some(store) = &run.store else { return Ok(()) };
    let mut names = Vec::new();
    for ids in ids.chunks(limits::JUDGED_MAX) {
        store.write(Durability::Relaxed, |sql| {
            run.fence(sql)?;
            request(run, sql, ids)
        })?;
        names.extend(run.reader.read(|sql| documents::names(sql, ids))?);
    }
    for (id, name) in names {
        lock(&run.vanished).remove(id as u64);
        state.leaving.remove(&id);
        state.in_place.alone.insert(id as u64);
        state.must_read.insert(id as u64);
        state.add(run.dispatcher.first_bin_of(&name), id);
    }
    reach.look(&state);
    run.dispatcher.stir();
    Ok(())
}

/// Outputs keep what they hold of these pages until a run knows more.
fn keep(run: &Run, reach: &Reach, ids: &[i64]) -> Result<()> {
    let Some(store) = run.store.as_ref().filter(|_| !ids.is_empty()) else { return Ok(()) };
    let mut state = reach.lock();
    for ids in ids.chunks(limits::JUDGED_MAX) {
        let why =
            |id: &i64| state.leaving.get(id).map_or("it is found elsewhere", |why| why.message.as_str());
        let failure = |id: &i64| Failure {
            document: *id,
            kind: FailureKind::Retrying,
            attempts: 0,
            attempts_max: 0,
            code: "elsewhere".to_owned(),
            message: format!("{}, which nobody finds yet; what outputs hold of it stays until then", why(id)),
            give_up_at: None,
        };
        let failures: Vec<Failure> = ids.iter().map(failure).collect();
        let due: Vec<(i64, i64)> = ids.iter().map(|id| (*id, DUE_NEXT_RUN)).collect();
        store.write(Durability::Relaxed, |sql| {
            run.fence(sql)?;
            queue::record_failures(sql, run.job.id, run.call.now(), &failures)?;
            queue::reschedule(sql, &due)
        })?;
    }
    for id in ids {
        lock(&run.vanished).remove(*id as u64);
        state.leaving.remove(id);
    }
    // Whoever counts a visit asks for what was reached.
    drop(state);
    run.count(|counts| counts.waiting += ids.len() as u64);
    Ok(())
}
