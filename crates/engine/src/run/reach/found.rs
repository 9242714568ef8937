//! What visits and seeds lead to, written down: documents that are new, requests for visits, marks, and the links themselves.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ingather_contract::refers::Reference;
use ingather_model::fault::Reason;
use ingather_model::ids::{ContainerId, Digest, DocumentId};
use ingather_model::key::DocumentKey;
use ingather_model::limits;
use ingather_store::documents::{self, NewDocument, links};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::{self, LeftOut};
use ingather_store::{Durability, Sql, StoreError, runs};
use roaring::RoaringTreemap;

use super::hops::{self, Measured};
use super::named::{Again, Found, Named, name, request};
use super::targets::Targets;
use super::{Reach, Reached, handed, parked, versions};
use crate::error::Result;
use crate::run::dating::{self, Walk};
use crate::run::{Run, id_set};

/// What a transaction wrote, to be taken over once it is on disk.
#[derive(Default)]
struct Written {
    fresh: std::ops::Range<i64>,
    /// By key, what was named.
    ids: HashMap<DocumentKey, i64>,
    /// Reached for the first time, each with its name.
    reached: BTreeMap<i64, String>,
    /// Handed something else now.
    handed: BTreeSet<i64>,
    /// Those of them that were reached before.
    again: Again,
    /// Something led to another document before, and does.
    leads_on: bool,
    /// What was found of distances, where hops are counted.
    measured: Measured,
    /// Documents that lead to something that is not known any more.
    stale: Vec<i64>,
    /// Prerequisites of what was named.
    told: parked::Told,
    /// Those that this transaction brought.
    brought: HashSet<i64>,
    /// Those that were reached, and are not visited now.
    resting: HashSet<i64>,
}

/// Takes in what seeds name.
pub(crate) fn seed(run: &Run, reach: &Reach, seeds: &[(Reference, Option<ContainerId>)]) -> Result<()> {
    let named: Vec<Named<'_>> =
        seeds.iter().filter_map(|(reference, container)| name(run, reference, *container)).collect();
    // A news page may change each hour: what is asked for seeds reads them, whenever they are due.
    write(run, reach, &named, (&[], true)).map(|_| ())
}

/// Takes in what documents lead to. Those that have to be read once more, as they are: what they led to before is not known any more.
pub(crate) fn find(run: &Run, reach: &Reach, found: &[Found]) -> Result<Vec<i64>> {
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let named: Vec<Named<'_>> = found
        .iter()
        .flat_map(|found| {
            let references = found.leads.iter().flat_map(|leads| &leads.references);
            references.filter_map(|reference| name(run, reference, found.container))
        })
        .collect();
    write(run, reach, &named, (found, false))
}

fn write(
    run: &Run,
    reach: &Reach,
    named: &[Named<'_>],
    (found, visits_all): (&[Found], bool),
) -> Result<Vec<i64>> {
    let versions = versions::of(run, named);
    let mut state = reach.lock();
    // One that writes nothing is refused before it begins.
    let Some(store) = &run.store else { return Ok(Vec::new()) };
    let mut written = Written::default();
    store.write(Durability::Relaxed, |sql| {
        run.fence(sql)?;
        // Once more where the database took it back, to let another transaction pass.
        written = Written { fresh: state.fresh.clone(), ..Written::default() };
        let fresh = look_up(run, sql, &state, named, &mut written)?;
        documents::add(sql, run.job.id, run.number, &fresh)?;
        let led = keep_links(run, sql, found, &mut written, &state)?;
        if state.hands_down || found.iter().any(Found::hands_down) {
            let children = |found: &Found| handed::children(run, found, &|key| written.ids.get(key).copied());
            written.handed = handed::hand_down(run, sql, found, &children)?;
            written.again = handed::visit_again(run, sql, &written.handed, &state)?;
        }
        if visits_all {
            // One that was reached over a link before, and was not due, is visited all the same.
            let rests = |id: &i64| state.rested.contains(*id as u64);
            let rested: BTreeSet<i64> = written.ids.values().copied().filter(rests).collect();
            let rested: Vec<i64> = rested.into_iter().filter(|_| !failpoint(Failpoint::SeedRests)).collect();
            request(run, sql, &rested)?;
            written.again.extend(documents::names(sql, &rested)?);
        }
        let Written { ids, reached, measured, .. } = &mut written;
        *measured = hops::measure(sql, &state, led, (ids, reached))?;
        let nearer = set_aside(run, sql, &fresh, (&written, reach.walk), &state)?;
        // A seed says nothing of them.
        if !found.is_empty() {
            let told = named.iter().filter_map(|of| Some((*written.ids.get(&of.key)?, &*of.reference.after)));
            written.told = parked::write(sql, run, &state.parked, &told.collect::<Vec<_>>())?;
        }
        let reached: Vec<i64> = written.reached.keys().copied().collect();
        if !visits_all {
            written.resting = dating::resting(sql, reach.walk, &reached, &written.brought, run.call.now())?;
        }
        if !versions.is_empty() {
            let (ids, reached) = (&written.ids, &written.reached);
            let as_named = versions::as_named(run, sql, &versions, (ids, reached))?;
            let handed = &written.handed;
            written.resting.extend(as_named.into_iter().filter(|id| !handed.contains(id)));
        }
        if !failpoint(Failpoint::NearerRests) {
            nearer.iter().for_each(|id| _ = written.resting.remove(id));
        }
        let visited: Vec<i64> = reached.iter().copied().filter(|id| !written.resting.contains(id)).collect();
        request(run, sql, &visited)?;
        mark(run, sql, &state, &reached)
    })?;
    let handed = found.iter().any(Found::hands_down);
    let leads_on = !found.is_empty() && !written.ids.is_empty() || written.leads_on;
    Ok(take_over(run, reach, &mut state, (written, handed, leads_on)))
}

/// Marks documents as reached, for the run that goes on with this one.
pub(super) fn mark(
    run: &Run,
    sql: &mut Sql<'_>,
    state: &Reached,
    reached: &[i64],
) -> std::result::Result<(), StoreError> {
    if reached.is_empty() || failpoint(Failpoint::ReachedWithoutMark) {
        return Ok(());
    }
    let marks: RoaringTreemap = reached.iter().map(|id| *id as u64).collect();
    if state.pieces < limits::REACH_PIECES_MAX {
        return runs::add_listed_ids(sql, run.job.id, run.number, state.pieces, &id_set::to_bytes(&marks));
    }
    runs::reach::rewrite_marks(sql, run.job.id, run.number, &id_set::to_bytes(&(marks | &state.ids)))
}

/// Ids of what is named; those that are not in the inventory yet get one.
fn look_up(
    run: &Run,
    sql: &mut Sql<'_>,
    state: &Reached,
    named: &[Named<'_>],
    written: &mut Written,
) -> std::result::Result<Vec<NewDocument>, StoreError> {
    let mut unknown: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for Named { key, .. } in named {
        match state.keys.get(key) {
            Some(id) => drop(written.ids.insert(*key, *id)),
            None => unknown.entry(key.parent_hash).or_default().push(key.key_hash),
        }
    }
    for (parent, mut keys) in unknown {
        keys.sort_unstable();
        keys.dedup();
        for (_, known) in documents::find(sql, run.job.id, parent, &keys)? {
            written.ids.insert(DocumentKey { parent_hash: parent, key_hash: known.key_hash }, known.id.0);
        }
    }
    let mut fresh = Vec::new();
    for Named { key, reference, container } in named {
        let id = match written.ids.get(key) {
            Some(id) => *id,
            None => {
                let id = next_id(sql, written)?;
                written.ids.insert(*key, id);
                written.brought.insert(id);
                fresh.push(NewDocument {
                    id: DocumentId(id),
                    key: *key,
                    name: reference.key.clone(),
                    version: Digest::NONE,
                    access: Digest::NONE,
                    identity: 0,
                    container: *container,
                });
                id
            }
        };
        if !state.ids.contains(id as u64) {
            written.reached.entry(id).or_insert_with(|| reference.key.clone());
        }
    }
    Ok(fresh)
}

/// What is new and too far is known as such at once. What was too far and is reached now is so no more; it is returned, to be visited.
fn set_aside(
    run: &Run,
    sql: &mut Sql<'_>,
    fresh: &[NewDocument],
    (written, walk): (&Written, Walk),
    state: &Reached,
) -> std::result::Result<Vec<i64>, StoreError> {
    let Some(distances) = &state.distances else { return Ok(Vec::new()) };
    let is_far = |id: &i64| written.measured.beyond.contains(*id as u64);
    let far: Vec<i64> = fresh.iter().map(|document| document.id.0).filter(is_far).collect();
    if !far.is_empty() {
        let why = LeftOut::TooFar.reason();
        let whys: Vec<(i64, &Reason)> = far.into_iter().map(|id| (id, &why)).collect();
        queue::set_aside(sql, run.job.id, run.call.now(), &whys)?;
    }
    // A walk that visits everything visits what earlier runs have set aside in any case.
    let may_be_noted = |id: &i64| walk != Walk::Everything || distances.beyond.contains(*id as u64);
    let candidates: Vec<i64> = written
        .reached
        .keys()
        .copied()
        .filter(|id| !written.brought.contains(id) && may_be_noted(id))
        .collect();
    let nearer = hops::set_aside(sql, &candidates)?;
    if !nearer.is_empty() {
        queue::give_up(sql, &nearer)?;
    }
    Ok(nearer)
}

fn next_id(sql: &mut Sql<'_>, written: &mut Written) -> std::result::Result<i64, StoreError> {
    if written.fresh.is_empty() {
        let first = documents::take_ids(sql, "document", limits::ID_BLOCK)?;
        written.fresh = first..first + limits::ID_BLOCK as i64;
    }
    Ok(written.fresh.next().unwrap_or_default())
}

/// Keeps links of documents that lead elsewhere than before; what the others led to before is reached by that. Where each leads now.
fn keep_links(
    run: &Run,
    sql: &mut Sql<'_>,
    found: &[Found],
    written: &mut Written,
    state: &Reached,
) -> std::result::Result<Vec<(i64, Targets)>, StoreError> {
    let ids: Vec<i64> = found.iter().map(|found| found.id).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let before: HashMap<i64, Vec<u8>> = links::get(sql, &ids)?.into_iter().collect();
    let mut changed = Vec::new();
    let mut led: Vec<(i64, RoaringTreemap)> = Vec::new();
    let mut now = Vec::with_capacity(found.len());
    for Found { id, leads, container } in found {
        let kept = before.get(id).map(|bytes| Targets::from_bytes(bytes)).transpose()?.unwrap_or_default();
        let Some(leads) = leads else {
            led.push((*id, kept.all()));
            now.push((*id, kept));
            continue;
        };
        let mut targets = Targets::default();
        for reference in &leads.references {
            let named = name(run, reference, *container);
            if let Some(target) = named.and_then(|named| written.ids.get(&named.key)) {
                targets.insert(reference.relation, *target);
            }
        }
        if leads.incomplete && !failpoint(Failpoint::CutOffForgets) {
            // Nothing says that what it led to before is gone.
            targets.add(&kept);
            led.push((*id, kept.all()));
        }
        if targets != kept {
            changed.push((*id, targets.to_bytes()));
        }
        now.push((*id, targets));
    }
    links::put(sql, &changed)?;
    written.reached_by(sql, &led, state)?;
    Ok(now)
}

impl Written {
    /// What documents led to before is reached.
    fn reached_by(
        &mut self,
        sql: &mut Sql<'_>,
        led: &[(i64, RoaringTreemap)],
        state: &Reached,
    ) -> std::result::Result<(), StoreError> {
        self.leads_on |= led.iter().any(|(_, targets)| !targets.is_empty());
        let all = led.iter().fold(RoaringTreemap::new(), |all, (_, targets)| all | targets) - &state.ids;
        let ids: Vec<i64> =
            all.iter().map(|id| id as i64).filter(|id| !self.reached.contains_key(id)).collect();
        let mut unknown: RoaringTreemap = ids.iter().map(|id| *id as u64).collect();
        for ids in ids.chunks(limits::JUDGED_MAX) {
            for (id, name) in documents::names(sql, ids)? {
                unknown.remove(id as u64);
                self.reached.insert(id, name);
            }
        }
        let stale = led.iter().filter(|(_, targets)| !targets.is_disjoint(&unknown));
        self.stale.extend(stale.map(|(id, _)| *id));
        Ok(())
    }
}

/// What is on disk now counts.
fn take_over(
    run: &Run,
    reach: &Reach,
    state: &mut Reached,
    (written, handed, leads_on): (Written, bool, bool),
) -> Vec<i64> {
    state.fresh = written.fresh;
    state.parked.take_over(written.told);
    if !written.reached.is_empty() {
        state.marked();
    }
    for (key, id) in written.ids {
        state.remember(key, id);
    }
    state.hands_down |= handed;
    state.leads_on |= leads_on;
    let count = written.reached.len() as u64;
    for (id, name) in written.reached {
        state.ids.insert(id as u64);
        match written.resting.contains(&id) {
            true => state.rest(id, reach.walk),
            false => state.add(run.dispatcher.first_bin_of(&name), id),
        }
    }
    if let Some(distances) = &mut state.distances {
        distances.take(written.measured);
    }
    state.take_again(run, written.again);
    // One that was read for that already is not read again.
    let stale = written.stale.into_iter().filter(|id| state.must_read.insert(*id as u64)).collect();
    run.progress.seen(count);
    reach.look(state);
    run.dispatcher.stir();
    stale
}
