//! What visits and seeds lead to, written down: documents that are new, requests for visits, marks, and the links themselves.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::Ordering;

use ingather_contract::refers::{Leads, Reference};
use ingather_model::ids::{ContainerId, Digest, DocumentId};
use ingather_model::key::DocumentKey;
use ingather_model::limits;
use ingather_store::documents::{self, NewDocument, links};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::{Durability, Sql, StoreError, runs};
use roaring::RoaringTreemap;

use super::{Reach, Reached};
use crate::error::Result;
use crate::run::dating::{self, Walk};
use crate::run::{Run, id_set};

/// What one document leads to, as its visit found it.
#[derive(Debug)]
pub(crate) struct Found {
    /// The document.
    pub(crate) id: i64,
    /// The container that it is in, and what it leads to with it.
    pub(crate) container: Option<ContainerId>,
    /// None: to what it led to before.
    pub(crate) leads: Option<Leads>,
}

/// One document that is named by a seed or a link.
struct Named<'f> {
    key: DocumentKey,
    reference: &'f Reference,
    container: Option<ContainerId>,
}

/// What a transaction wrote, to be taken over once it is on disk.
#[derive(Default)]
struct Written {
    fresh: std::ops::Range<i64>,
    /// By key, what was named.
    ids: HashMap<DocumentKey, i64>,
    /// Reached for the first time, each with its name.
    reached: BTreeMap<i64, String>,
    /// Documents that lead to something that is not known any more.
    stale: Vec<i64>,
    /// Those that this transaction brought.
    brought: HashSet<i64>,
    /// Those that were reached, and are not visited now.
    resting: HashSet<i64>,
}

/// Takes in what seeds name.
pub(crate) fn seed(run: &Run, reach: &Reach, seeds: &[(Reference, Option<ContainerId>)]) -> Result<()> {
    let named: Vec<Named<'_>> =
        seeds.iter().filter_map(|(reference, container)| name(run, reference, *container)).collect();
    // Whoever wants what is new has seeds asked, whenever they are due.
    write(run, reach, &named, (&[], reach.walk == Walk::New)).map(|_| ())
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

/// A document that is named; none where a person has erased it, or its name is no name.
fn name<'f>(run: &Run, reference: &'f Reference, container: Option<ContainerId>) -> Option<Named<'f>> {
    let hasher = run.author.hasher;
    let parent = reference.key.as_bytes().get(..reference.parent_bytes)?;
    let key =
        DocumentKey { parent_hash: hasher.hash(parent), key_hash: hasher.hash(reference.key.as_bytes()) };
    (!run.erased.contains(&key.key_hash)).then_some(Named { key, reference, container })
}

fn write(
    run: &Run,
    reach: &Reach,
    named: &[Named<'_>],
    (found, visits_all): (&[Found], bool),
) -> Result<Vec<i64>> {
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
        let links = keep_links(run, sql, found, &mut written, &state)?;
        links::put(sql, &links)?;
        let reached: Vec<i64> = written.reached.keys().copied().collect();
        if !visits_all {
            written.resting = dating::resting(sql, reach.walk, &reached, &written.brought, run.call.now())?;
        }
        let visited: Vec<i64> = reached.iter().copied().filter(|id| !written.resting.contains(id)).collect();
        request(run, sql, &visited)?;
        mark(run, sql, &state, &reached)
    })?;
    Ok(take_over(run, reach, &mut state, written))
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

fn next_id(sql: &mut Sql<'_>, written: &mut Written) -> std::result::Result<i64, StoreError> {
    if written.fresh.is_empty() {
        let first = documents::take_ids(sql, "document", limits::ID_BLOCK)?;
        written.fresh = first..first + limits::ID_BLOCK as i64;
    }
    Ok(written.fresh.next().unwrap_or_default())
}

/// Links of documents that lead elsewhere than before, as they are to be kept; what the others led to before is reached by that.
fn keep_links(
    run: &Run,
    sql: &mut Sql<'_>,
    found: &[Found],
    written: &mut Written,
    state: &Reached,
) -> std::result::Result<Vec<(i64, Vec<u8>)>, StoreError> {
    let ids: Vec<i64> = found.iter().map(|found| found.id).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let before: HashMap<i64, Vec<u8>> = links::get(sql, &ids)?.into_iter().collect();
    let mut changed = Vec::new();
    let mut led: Vec<(i64, RoaringTreemap)> = Vec::new();
    for Found { id, leads, container } in found {
        let kept = before.get(id).map(|bytes| id_set::from_bytes(bytes)).transpose()?.unwrap_or_default();
        let Some(leads) = leads else {
            led.push((*id, kept));
            continue;
        };
        let named = leads.references.iter().filter_map(|reference| name(run, reference, *container));
        let mut targets: RoaringTreemap =
            named.filter_map(|named| written.ids.get(&named.key)).map(|id| *id as u64).collect();
        if leads.incomplete && !failpoint(Failpoint::CutOffForgets) {
            // Nothing says that what it led to before is gone.
            targets |= &kept;
            led.push((*id, kept.clone()));
        }
        if targets != kept {
            changed.push((*id, id_set::to_bytes(&targets)));
        }
    }
    written.reached_by(sql, &led, state)?;
    Ok(changed)
}

impl Written {
    /// What documents led to before is reached.
    fn reached_by(
        &mut self,
        sql: &mut Sql<'_>,
        led: &[(i64, RoaringTreemap)],
        state: &Reached,
    ) -> std::result::Result<(), StoreError> {
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

/// Asks for visits of what was reached.
pub(super) fn request(run: &Run, sql: &mut Sql<'_>, reached: &[i64]) -> std::result::Result<(), StoreError> {
    let now = run.call.now();
    let of = |id: &i64| VisitRequest { document: *id, due: now, reason: VisitReason::Changed };
    let requests: Vec<VisitRequest> = reached.iter().map(of).collect();
    queue::enqueue(sql, run.job.id, run.number, &requests)
}

/// What is on disk now counts.
fn take_over(run: &Run, reach: &Reach, state: &mut Reached, written: Written) -> Vec<i64> {
    state.fresh = written.fresh;
    if !written.reached.is_empty() {
        state.marked();
    }
    for (key, id) in written.ids {
        state.remember(key, id);
    }
    let count = written.reached.len() as u64;
    for (id, name) in written.reached {
        state.ids.insert(id as u64);
        match written.resting.contains(&id) {
            true => state.rest(id, reach.walk),
            false => state.frontier.add(run.dispatcher.first_bin_of(&name), id),
        }
    }
    // One that was read for that already is not read again.
    let stale = written.stale.into_iter().filter(|id| state.must_read.insert(*id as u64)).collect();
    run.progress.seen(count);
    reach.stirs.store(state.stirs(), Ordering::Release);
    run.dispatcher.stir();
    stale
}
