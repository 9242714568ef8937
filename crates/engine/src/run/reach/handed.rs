//! What documents hand down to those that they lead to (coverage S3.152–S3.159): kept by parent and child. Whoever is handed something else
//! than when it was visited last is visited once more, also where its visit is over or under way.

use std::collections::{BTreeMap, BTreeSet};

use ingather_contract::refers::HandedDown;
use ingather_model::ids::Digest;
use ingather_model::limits;
use ingather_store::documents::{self, handed_down};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Durability, Sql, StoreError};

use super::named::{Again, Found, name, request};
use super::{Reach, Reached};
use crate::error::Result;
use crate::run::Run;

/// What all documents that lead to one hand down, each value once; and its digest.
pub(crate) fn to(sql: &mut Sql<'_>, id: i64) -> std::result::Result<(HandedDown, Digest), StoreError> {
    let mut all = HandedDown::new();
    for data in handed_down::to(sql, id)? {
        merge(&mut all, read(&data)?);
    }
    let digest = if all.is_empty() { Digest::NONE } else { Digest::of(write(&all).as_bytes()) };
    Ok((all, digest))
}

fn merge(into: &mut HandedDown, other: HandedDown) {
    for (name, values) in other {
        into.entry(name).or_default().extend(values);
    }
}

fn write(data: &HandedDown) -> String {
    serde_json::to_string(data).expect("maps of texts are JSON")
}

fn read(data: &str) -> std::result::Result<HandedDown, StoreError> {
    serde_json::from_str(data).map_err(|error| {
        StoreError::Damaged(format!("what is handed down to a document cannot be read ({error})"))
    })
}

/// Whether a document may hand this down: it is not too much.
pub(crate) fn is_small(data: &HandedDown) -> bool {
    data.is_empty() || write(data).len() <= limits::HANDED_DOWN_BYTES_MAX
}

/// Writes down what documents hand down now, of those whose links were found: those that are handed something else.
pub(super) fn hand_down(
    run: &Run,
    sql: &mut Sql<'_>,
    found: &[Found],
    ids: &dyn Fn(&Found) -> Vec<(i64, HandedDown)>,
) -> std::result::Result<BTreeSet<i64>, StoreError> {
    let parents: Vec<i64> =
        found.iter().filter(|found| found.leads.is_some()).map(|found| found.id).collect();
    if parents.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut before: BTreeMap<(i64, i64), String> = BTreeMap::new();
    for row in handed_down::by(sql, run.job.id, &parents)? {
        before.insert((row.child, row.parent), row.data);
    }
    let (mut put, mut changed) = (Vec::new(), BTreeSet::new());
    for of in found.iter().filter(|found| found.leads.is_some()) {
        let mut now: BTreeMap<i64, HandedDown> = BTreeMap::new();
        for (child, data) in ids(of).into_iter().filter(|(_, data)| !data.is_empty()) {
            merge(now.entry(child).or_default(), data);
        }
        for (child, data) in now.into_iter().map(|(child, data)| (child, write(&data))) {
            if before.remove(&(child, of.id)).as_ref() != Some(&data) {
                changed.insert(child);
                put.push(handed_down::HandedDown { parent: of.id, child, data });
            }
        }
        if of.leads.as_ref().is_some_and(|leads| leads.incomplete) {
            // Nothing says that what it handed down before is withdrawn.
            before.retain(|(_, parent), _| *parent != of.id);
        }
    }
    handed_down::put(sql, run.job.id, &put)?;
    let withdrawn: Vec<(i64, i64)> = before.into_keys().collect();
    handed_down::remove(sql, &withdrawn)?;
    if !failpoint(Failpoint::WithdrawnUnnoticed) {
        changed.extend(withdrawn.into_iter().map(|(child, _)| child));
    }
    Ok(changed)
}

/// Asks for one more visit of those that are handed something else: those that were reached before. The others are visited when they are
/// reached, whenever they are due.
pub(super) fn visit_again(
    run: &Run,
    sql: &mut Sql<'_>,
    changed: &BTreeSet<i64>,
    state: &Reached,
) -> std::result::Result<Again, StoreError> {
    if changed.is_empty() || failpoint(Failpoint::HandedDownUnnoticed) {
        return Ok(Vec::new());
    }
    let changed: Vec<i64> = changed.iter().copied().collect();
    request(run, sql, &changed)?;
    let reached: Vec<i64> = changed.into_iter().filter(|id| state.ids.contains(*id as u64)).collect();
    documents::names(sql, &reached)
}

/// What was not reached hands nothing down any more; whether somebody is visited once more for that. Asked when all seeds were named and
/// nothing is left to visit, before what was not reached is removed.
pub(crate) fn withdraw(run: &Run, reach: &Reach) -> Result<bool> {
    let Some(store) = run.store.as_ref().filter(|_| !failpoint(Failpoint::UnreachedHandsDown)) else {
        return Ok(false);
    };
    let mut after = i64::MIN;
    let mut is_any = false;
    loop {
        let parents =
            run.reader.read(|sql| handed_down::parents(sql, run.job.id, after, limits::JUDGED_MAX))?;
        let Some(last) = parents.last() else { return Ok(is_any) };
        after = *last;
        let mut state = reach.lock();
        let unreached: Vec<i64> = parents.into_iter().filter(|id| !state.ids.contains(*id as u64)).collect();
        if unreached.is_empty() || run.stops() {
            continue;
        }
        let mut again = Vec::new();
        store.write(Durability::Relaxed, |sql| {
            run.fence(sql)?;
            let children = handed_down::remove_by(sql, run.job.id, &unreached)?;
            again = visit_again(run, sql, &children, &state)?;
            Ok(())
        })?;
        is_any |= !again.is_empty();
        state.take_again(run, again);
        reach.look(&state);
    }
}

/// The documents that one leads to, with what each is handed.
pub(super) fn children(
    run: &Run,
    found: &Found,
    id_of: &dyn Fn(&ingather_model::key::DocumentKey) -> Option<i64>,
) -> Vec<(i64, HandedDown)> {
    let references = found.leads.iter().flat_map(|leads| &leads.references);
    references
        .filter(|reference| !reference.hands_down.is_empty())
        .filter_map(|reference| {
            let named = name(run, reference, found.container)?;
            Some((id_of(&named.key)?, reference.hands_down.clone()))
        })
        .collect()
}
