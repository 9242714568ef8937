//! What opens at the end of a run: folders that stood, with all above them, from their judging to the end, and whose documents were
//! looked at meanwhile (design 4.20, decisions 0012 and 0013). What changed is listed again, a few times.

use std::collections::{BTreeSet, HashSet};

use ingather_model::ids::ContainerId;
use ingather_model::key::DocumentKey;
use ingather_model::limits;
use ingather_model::scope::{BlindSpot, Coverage, Scope};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::{Sql, Store, StoreError};
use ingather_store::{deliveries, documents};
use roaring::RoaringTreemap;

use crate::containers::{Containers, looks};
use crate::error::Result;
use crate::lister::{Lister, ListingResult};
use crate::run::Run;

/// Opens what this run has proven, but for what outputs hold of earlier readings; `unmet` are the documents that its listing did not
/// meet. What does not open because it never stood still.
pub(crate) fn open(
    run: &Run,
    store: &Store,
    result: &ListingResult,
    unmet: &RoaringTreemap,
) -> Result<Vec<BlindSpot>> {
    let mut stays_closed = BTreeSet::new();
    let mut unmet_is_known = false;
    let mut again: Option<ListingResult> = None;
    let mut listing = 1;
    let moving = loop {
        // Asked each time: another run may have found a container that opens.
        if !unmet_is_known && run.containers().some_may_open() && !failpoint(Failpoint::UnmetOpens) {
            // What is left and was not met was not looked at, whatever keeps it: told by what is left, so that no reason is forgotten.
            stays_closed.extend(containers_of(run, unmet)?);
            unmet_is_known = true;
        }
        let coverage = again.as_ref().map_or(&result.coverage, |result| &result.coverage);
        let moving = moving(run, coverage, listing)?;
        if moving.is_empty() || listing > limits::LIST_ATTEMPTS_MAX || run.sweep_stops() {
            break moving;
        }
        listing += 1;
        let mut lister = Lister::again(run, listing);
        lister.list()?;
        if !lister.result.complete {
            break moving;
        }
        // What this run has met and the later listing did not find as it is known.
        stays_closed.extend(containers_of(run, &(&result.listed - &lister.result.listed))?);
        again = Some(lister.result);
    };
    let named = named(run, &moving)?;
    stays_closed.extend(moving);
    let coverage = again.as_ref().map_or(&result.coverage, |result| &result.coverage);
    let now = run.call.now();
    // Held until it is on disk, so that what opens is what was proven.
    let mut containers = run.containers();
    // Without a proof of what was not met nothing opens: the container that may open was found just now.
    let opens = unmet_is_known || failpoint(Failpoint::UnmetOpens);
    run.shared.write(store, |sql| {
        run.fence(sql)?;
        if containers.some_may_open() && !failpoint(Failpoint::OldTextOpens) {
            let unproven = documents::unproven(sql, run.job.id, span(&result.listed, unmet))?;
            debug_assert_eq!(unproven, documents::unproven(sql, run.job.id, None)?);
            // The next run looks at them, and masks what it cannot send again.
            let look = |document| VisitRequest { document, due: now, reason: VisitReason::Access };
            let mut requests: Vec<VisitRequest> = Vec::new();
            for (document, container) in &unproven {
                if containers.may_open(Some(*container))? {
                    requests.push(look(*document));
                }
            }
            queue::enqueue(sql, run.job.id, run.number, &requests)?;
            stays_closed.extend(unproven.into_values());
        }
        let closed = ingather_store::containers::pending_of(sql, run.job.id)?;
        if opens {
            containers.prove(sql, coverage, &stays_closed)?;
        }
        take_over(run, sql, &mut containers, &closed.into_iter().map(|(container, _)| container).collect())?;
        containers.forget(sql)?;
        ingather_store::containers::sent_again(sql)
    })?;
    Ok(named)
}

/// Asks for a visit of documents whose entries another job has sent, and still keeps closed, although they were open for this job before
/// this run, too: a job that is not run any more must not keep them closed. The visit sends their access in this job's name. Jobs that
/// run in turn open their own entries before that.
fn take_over(
    run: &Run,
    sql: &mut Sql<'_>,
    containers: &mut Containers<'_>,
    closed: &BTreeSet<ContainerId>,
) -> std::result::Result<(), StoreError> {
    let others: HashSet<(ContainerId, i64)> = ingather_store::containers::all_pending(sql)?
        .into_iter()
        .filter(|pending| pending.job != run.job.id.0 && pending.job != 0)
        // Only in this job's own tree, as this run has met it: all its documents are looked up then, at each of its runs.
        .filter(|pending| containers.was_met(pending.container))
        .map(|pending| (pending.container, pending.job))
        .collect();
    if others.is_empty() || failpoint(Failpoint::SilentJobKeepsClosed) {
        return Ok(());
    }
    let mut after = DocumentKey { parent_hash: i64::MIN, key_hash: i64::MIN };
    loop {
        let page = documents::walk(sql, run.job.id, after, limits::SWEEP_ROWS)?;
        let Some((last, _)) = page.last() else { return Ok(()) };
        after = *last;
        let ids: Vec<i64> = page.into_iter().map(|(_, id)| id).collect();
        for ids in ids.chunks(limits::CLAIM_MAX) {
            containers.turn();
            let mut rows = Vec::new();
            for row in deliveries::sent_by_others(sql, run.job.id, ids)? {
                let chain = containers.chain(row.container)?.unwrap_or_default();
                if chain.iter().any(|container| others.contains(&(*container, row.other)))
                    && !chain.iter().any(|container| closed.contains(container))
                {
                    rows.push(row);
                }
            }
            deliveries::take_over(sql, &rows)?;
            let documents: BTreeSet<i64> = rows.iter().map(|row| row.document).collect();
            let again =
                |document| VisitRequest { document, due: run.call.now(), reason: VisitReason::Resend };
            let requests: Vec<VisitRequest> = documents.into_iter().map(again).collect();
            queue::enqueue(sql, run.job.id, run.number, &requests)?;
        }
    }
}

/// Containers that would open, or are below one that would, and did not stand since they were judged by that listing.
fn moving(run: &Run, coverage: &Coverage, listing: u32) -> Result<BTreeSet<ContainerId>> {
    if !run.looks || failpoint(Failpoint::ChangedFolderOpens) {
        return Ok(BTreeSet::new());
    }
    let mut asked: BTreeSet<ContainerId> = run.containers().opening(coverage)?;
    if asked.is_empty() {
        return Ok(asked);
    }
    let stood = looks::standing_since(run, &asked, listing)?;
    let mut containers = run.containers();
    for id in stood {
        containers.turn();
        if containers.is_as_met(id)? {
            asked.remove(&id);
        }
    }
    Ok(asked)
}

/// Containers of those of these documents that there are still.
fn containers_of(run: &Run, documents: &RoaringTreemap) -> Result<BTreeSet<ContainerId>> {
    let mut containers = BTreeSet::new();
    let ids: Vec<i64> = documents.iter().map(|id| id as i64).collect();
    for ids in ids.chunks(limits::CLAIM_MAX) {
        let stored = run.reader.read(|sql| documents::get(sql, ids))?;
        containers.extend(stored.iter().filter_map(|stored| stored.known.container));
    }
    Ok(containers)
}

/// The first and the last id of the job's documents, where most ids between them are theirs: all that the run has met, and all others.
fn span(met: &RoaringTreemap, unmet: &RoaringTreemap) -> Option<(i64, i64)> {
    let first = met.min().into_iter().chain(unmet.min()).min()? as i64;
    let last = met.max().into_iter().chain(unmet.max()).max()? as i64;
    let documents = (met.len() + unmet.len()) as i64;
    (last - first < documents * limits::SPAN_FACTOR).then_some((first, last))
}

/// What does not open, for people.
fn named(run: &Run, moving: &BTreeSet<ContainerId>) -> Result<Vec<BlindSpot>> {
    let mut containers = run.containers();
    let mut told: Vec<BlindSpot> = Vec::new();
    for id in moving {
        containers.turn();
        let Some((name, _)) = containers.look(*id)? else { continue };
        let Some(folder) = containers.folder(*id) else { continue };
        told.push(BlindSpot {
            scope: Scope::Folder(folder.to_owned()),
            cause: "unsteady".to_owned(),
            message: format!(
                "folder `{name}`: it, or a folder above it, changed each time that it was looked at, so that those whom it lets in \
                 now do not find what is in it yet; the next run looks again"
            ),
        });
    }
    told.sort_by(|a, b| a.message.cmp(&b.message));
    told.truncate(limits::BLIND_SPOTS_MAX);
    Ok(told)
}
