//! What opens at the end of a run: folders that stood, with all above them, from their judging to the end, and whose documents were
//! looked at meanwhile (design 4.20, decisions 0012 and 0013). What changed is listed again, a few times.

use std::collections::{BTreeSet, HashSet};

use ingather_connector::model::ids::PlaceId;
use ingather_connector::model::key::DocumentKey;
use ingather_connector::model::limits;
use ingather_connector::model::scope::{BlindSpot, Coverage, Scope};
use ingather_store::mutations::{Mutation, planted};
use ingather_store::work::{self, Cause, Wanted};
use ingather_store::{Durability, Sql, Store, StoreError};
use ingather_store::{deliveries, documents};

use crate::error::Result;
use crate::lister::{Lister, Shown};
use crate::places::{Places, looks};
use crate::run::Run;

/// Opens what this run has proven, but for what outputs hold of earlier readings. What does not open because it never stood still.
pub(crate) fn open(run: &Run, store: &Store, shown: &Shown) -> Result<Vec<BlindSpot>> {
    let mut narrow = match run.places().some_may_open() && !planted(Mutation::UnmetOpens) {
        // What is left and was not met was not looked at, whatever keeps it: told by what is left, so that no reason is forgotten.
        true => places_of(run, |id| !shown.seen.contains(id))?,
        false => HashSet::new(),
    };
    let mut again: Option<Shown> = None;
    let mut listing = 1;
    let moving = loop {
        let coverage = again.as_ref().map_or(&shown.coverage, |shown| &shown.coverage);
        let moving = moving(run, coverage, listing);
        if moving.is_empty() || listing > limits::LIST_ATTEMPTS_MAX || run.sweep_stops() {
            break moving;
        }
        listing += 1;
        let mut lister = Lister::again(run, listing);
        lister.list()?;
        if !lister.shown.complete {
            break moving;
        }
        // What this run has met and the later listing did not find as it is known.
        narrow.extend(places_of(run, |id| shown.seen.contains(id) && !lister.shown.seen.contains(id))?);
        again = Some(lister.shown);
    };
    let named = named(run, &moving);
    narrow.extend(moving);
    let coverage = again.as_ref().map_or(&shown.coverage, |shown| &shown.coverage);
    let now = run.call.now();
    store.write(Durability::Relaxed, |sql| {
        run.fence(sql)?;
        let places = run.places();
        if places.some_may_open() && !planted(Mutation::OldTextOpens) {
            let unproven = documents::unproven(sql, run.job.id)?;
            // The next run looks at them, and hides what it cannot send again.
            let look = |document| Wanted { document, due: now, cause: Cause::Access };
            let closed = unproven.iter().filter(|(_, place)| places.may_open(Some(*place)));
            let wanted: Vec<Wanted> = closed.map(|(document, _)| look(*document)).collect();
            work::want(sql, run.job.id, run.number, &wanted)?;
            narrow.extend(unproven.into_iter().map(|(_, place)| place));
        }
        let closed = ingather_store::places::narrow_of(sql, run.job.id)?;
        places.prove(sql, coverage, &narrow)?;
        take_over(run, sql, &places, &closed.into_iter().map(|(place, _)| place).collect())?;
        places.forget(sql)?;
        ingather_store::places::sent_again(sql)
    })?;
    Ok(named)
}

/// Asks for a visit of documents whose entries another job has sent, and still keeps closed, although they were open for this job before
/// this run, too: a job that is not run any more must not keep them closed. The visit sends their access in this job's name. Jobs that
/// run in turn open their own entries before that.
fn take_over(
    run: &Run,
    sql: &mut Sql<'_>,
    places: &Places,
    closed: &HashSet<PlaceId>,
) -> std::result::Result<(), StoreError> {
    let others: HashSet<(PlaceId, i64)> = ingather_store::places::all_narrow(sql)?
        .into_iter()
        .filter(|narrow| narrow.job != run.job.id.0 && narrow.job != 0)
        .map(|narrow| (narrow.place, narrow.job))
        .collect();
    if others.is_empty() || planted(Mutation::SilentJobKeepsClosed) {
        return Ok(());
    }
    let mut after = DocumentKey { parent: i64::MIN, own: i64::MIN };
    loop {
        let page = documents::walk(sql, run.job.id, after, limits::SWEEP_ROWS)?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = *last;
        let ids: Vec<i64> = page.into_iter().map(|(_, id)| id).collect();
        for ids in ids.chunks(limits::CLAIM_MAX) {
            let mut rows = deliveries::sent_by_others(sql, run.job.id, ids)?;
            rows.retain(|row| {
                let chain = places.chain(row.place).unwrap_or_default();
                chain.iter().any(|place| others.contains(&(*place, row.other)))
                    && !chain.iter().any(|place| closed.contains(place))
            });
            deliveries::take_over(sql, &rows)?;
            let documents: BTreeSet<i64> = rows.iter().map(|row| row.document).collect();
            let again = |document| Wanted { document, due: run.call.now(), cause: Cause::Resend };
            let wanted: Vec<Wanted> = documents.into_iter().map(again).collect();
            work::want(sql, run.job.id, run.number, &wanted)?;
        }
    }
}

/// Places that would open, or are below one that would, and did not stand since they were judged by that listing.
fn moving(run: &Run, coverage: &Coverage, listing: u32) -> HashSet<PlaceId> {
    if !run.looks || planted(Mutation::ChangedFolderOpens) {
        return HashSet::new();
    }
    let asked: HashSet<PlaceId> = run.places().opening(coverage);
    if asked.is_empty() {
        return asked;
    }
    let stood = looks::standing_since(run, &asked, listing);
    &asked - &stood
}

/// Places of those documents of the job that there are.
fn places_of(run: &Run, those: impl Fn(u64) -> bool) -> Result<HashSet<PlaceId>> {
    let mut places = HashSet::new();
    let mut after = DocumentKey { parent: i64::MIN, own: i64::MIN };
    loop {
        let rows = run.reader.read(|sql| documents::walk(sql, run.job.id, after, limits::SWEEP_ROWS))?;
        let Some((last, _)) = rows.last() else { return Ok(places) };
        after = *last;
        let ids: Vec<i64> = rows.iter().map(|(_, id)| *id).filter(|id| those(*id as u64)).collect();
        for ids in ids.chunks(limits::CLAIM_MAX) {
            let stored = run.reader.read(|sql| documents::get(sql, ids))?;
            places.extend(stored.iter().filter_map(|stored| stored.known.place));
        }
    }
}

/// What does not open, for people.
fn named(run: &Run, moving: &HashSet<PlaceId>) -> Vec<BlindSpot> {
    let places = run.places();
    let told = moving.iter().filter_map(|id| {
        let (name, _) = places.look(*id)?;
        let folder = places.folder(*id)?.to_owned();
        Some(BlindSpot {
            scope: Scope::Folder(folder),
            cause: "unsteady".to_owned(),
            message: format!(
                "folder `{name}`: it, or a folder above it, changed each time that it was looked at, so that those whom it lets in \
                 now do not find what is in it yet; the next run looks again"
            ),
        })
    });
    let mut told: Vec<BlindSpot> = told.collect();
    told.sort_by(|a, b| a.message.cmp(&b.message));
    told.truncate(limits::BLIND_SPOTS_MAX);
    told
}
