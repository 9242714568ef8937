//! Two looks at places: what was read between them was read under the access that was judged; whatever was not goes to nobody, and
//! opens nothing (design 4.20, decision 0013).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ingather_connector::model::fault::Fault;
use ingather_connector::model::ids::PlaceId;
use ingather_connector::model::key::Stamp;
use ingather_connector::model::limits;
use ingather_connector::repository::PlaceReport;
use ingather_store::mutations::{Mutation, planted};
use ingather_store::{Durability, Sql, StoreError};

use crate::error::Result;
use crate::places::Look;
use crate::run::Run;

/// Takes reports of places in, from a listing (counted from 1) or from a single look (0). Those that are on another device than at
/// their last complete listing.
pub(crate) fn meet<'p>(run: &Run, reports: &'p [PlaceReport], listing: u32) -> Result<Vec<&'p PlaceReport>> {
    let mut classes = run.classes();
    let mut places = run.places();
    let mut changed = Vec::new();
    for report in reports {
        let level = classes.find(&report.level);
        if !changed.is_empty() || !places.stands(report, level, listing) {
            changed.push(report);
        }
    }
    let accept = run.accepts_devices;
    let now = run.call.now();
    let mut foreign = Vec::new();
    let mut meet_all = |mut sql: Option<&mut Sql<'_>>| -> std::result::Result<(), StoreError> {
        for report in &changed {
            let level = match sql.as_deref_mut() {
                Some(sql) => classes.intern(sql, &report.level)?,
                None => classes.pretend(&report.level),
            };
            if places.meet(sql.as_deref_mut(), report, level, accept, now)? {
                foreign.push(*report);
            }
            places.note(report, listing);
        }
        Ok(())
    };
    if !changed.is_empty() {
        match &run.store {
            Some(store) => store.write(Durability::Relaxed, |sql| {
                run.fence(sql)?;
                meet_all(Some(sql))
            })?,
            None => meet_all(None)?,
        }
    }
    run.audiences.note(reports, |name| places.level(name));
    Ok(foreign)
}

/// Those of `places` that stood, with all above them, from a look whose number is at most `since` until now.
pub(crate) fn standing(run: &Run, places: &HashSet<PlaceId>, since: u64) -> HashSet<PlaceId> {
    stood(run, places, |look| look.number <= since || planted(Mutation::JudgedAfterReading))
}

/// The same for places whose content the listing of that number has shown since they were looked at.
pub(crate) fn standing_since(run: &Run, places: &HashSet<PlaceId>, listing: u32) -> HashSet<PlaceId> {
    stood(run, places, |look| look.listing == listing || planted(Mutation::JudgedAfterListing))
}

fn stood(run: &Run, asked: &HashSet<PlaceId>, counts: impl Fn(&Look) -> bool) -> HashSet<PlaceId> {
    if planted(Mutation::OneLook) {
        return asked.clone();
    }
    // In their order, so that those below one place are looked at together; some at once, for there may be as many as the source has.
    let mut sorted: Vec<PlaceId> = asked.iter().copied().collect();
    sorted.sort_unstable();
    sorted.chunks(limits::LOOKS_AT_ONCE).flat_map(|some| stood_at_once(run, some, &counts)).collect()
}

fn stood_at_once(run: &Run, asked: &[PlaceId], counts: impl Fn(&Look) -> bool) -> Vec<PlaceId> {
    let mut looked: HashMap<PlaceId, (Arc<str>, Stamp)> = HashMap::new();
    let mut chains: Vec<(PlaceId, Vec<PlaceId>)> = Vec::with_capacity(asked.len());
    let places = run.places();
    for place in asked {
        let Some(chain) = places.chain(*place) else { continue };
        for id in &chain {
            if let Some((name, look)) = places.look(*id)
                && counts(&look)
                && look.stamp != Stamp::NONE
            {
                looked.entry(*id).or_insert((name, look.stamp));
            }
        }
        chains.push((*place, chain));
    }
    drop(places);
    let looked: Vec<(PlaceId, (Arc<str>, Stamp))> = looked.into_iter().collect();
    let mut stood: HashSet<PlaceId> = HashSet::with_capacity(looked.len());
    for some in looked.chunks(limits::LOOKS_AT_ONCE) {
        let names: Vec<&str> = some.iter().map(|(_, (name, _))| &**name).collect();
        let stamps = run.repository.stamps(&run.call, &names);
        let same = some.iter().zip(stamps).filter(|((_, (_, before)), now)| before == now);
        stood.extend(same.map(|((id, _), _)| *id));
    }
    chains
        .into_iter()
        .filter(|(_, chain)| chain.iter().all(|id| stood.contains(id)))
        .map(|(id, _)| id)
        .collect()
}

/// Looks again at all places above a document: the place that it is in now.
pub(crate) fn again(run: &Run, key: &str) -> Result<std::result::Result<Option<PlaceId>, Fault>> {
    let reports = match run.repository.places_of(&run.call, key) {
        Ok(reports) => reports,
        Err(fault) => return Ok(Err(fault)),
    };
    meet(run, &reports, 0)?;
    Ok(Ok(reports.last().and_then(|report| run.places().id(&report.name))))
}
