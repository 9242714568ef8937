//! Compounds: records that others are in, such as an archive, a mail with attachments, or a folder. A record may be in several, and a compound in itself:
//! what is in one is found from it, and life does not go round in circles.

use std::collections::BTreeSet;

use ingather_model::ids::JobId;
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::FailureKind;
use ingather_model::limits;
use ingather_store::documents;
use ingather_store::documents::inbox::compounds;
use ingather_store::documents::inbox::delta_runs::{self, Mark};
use ingather_store::documents::inbox::{self as records, Record};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::{Sql, StoreError, queue, states};
use roaring::RoaringTreemap;

use super::claims::Claim;
use super::{Ask, InboxOf, Push, Via, documents_of};
use crate::delivery::writer::Writer;
use crate::engine::Engine;
use crate::error::Result;
use crate::run::id_set;

/// No delta run has this number.
const NO_EPOCH: i64 = -1;

type StoreResult<T> = std::result::Result<T, StoreError>;

/// All that is in compounds, at every depth, without these themselves unless they are in each other.
pub(super) fn reach(sql: &mut Sql<'_>, compounds: &RoaringTreemap) -> StoreResult<RoaringTreemap> {
    let (mut found, mut next) = (RoaringTreemap::new(), compounds.clone());
    while !next.is_empty() {
        let ids: Vec<i64> = next.iter().map(|id| id as i64).collect();
        let mut below = RoaringTreemap::new();
        for ids in ids.chunks(limits::RECORDS_AT_ONCE_MAX) {
            below.extend(compounds::children(sql, ids)?.into_iter().map(|id| id as u64));
        }
        next = &below - &found;
        found |= below;
    }
    Ok(found)
}

/// What is in one compound, by its key: all of it, and what no other compound holds, the deepest first.
pub(super) struct Beneath {
    pub(super) all: RoaringTreemap,
    pub(super) alone: Vec<i64>,
}

/// What is in a compound at every depth, and what of that is in no other compound that is there.
pub(super) fn beneath(sql: &mut Sql<'_>, job: JobId, key: DocumentKey) -> StoreResult<Beneath> {
    let root = documents_of(sql, job, &[key])?.into_values().next();
    let mut all = RoaringTreemap::new();
    let mut levels = vec![direct(sql, job, key)?];
    while let Some(last) = levels.last().filter(|last| !last.is_empty()) {
        let last: RoaringTreemap = last.iter().map(|id| *id as u64).collect();
        all |= &last;
        let mut below = Vec::new();
        for ids in levels.last().map(|last| last.chunks(limits::RECORDS_AT_ONCE_MAX)).into_iter().flatten() {
            below.extend(compounds::children(sql, ids)?);
        }
        let below: BTreeSet<i64> =
            below.into_iter().filter(|id| !all.contains(*id as u64) && Some(*id) != root).collect();
        levels.push(below.into_iter().collect());
    }
    let kept = kept_by_others(sql, (key, root), &all)?;
    let deepest_first = levels.into_iter().rev().flatten();
    let alone = deepest_first.filter(|id| !kept.contains(*id as u64)).collect();
    Ok(Beneath { all, alone })
}

/// What is in a compound, one level deep.
fn direct(sql: &mut Sql<'_>, job: JobId, key: DocumentKey) -> StoreResult<Vec<i64>> {
    let mut found = Vec::new();
    loop {
        let after = found.last().copied().unwrap_or(i64::MIN);
        let page = compounds::children_of(sql, job, key, (after, limits::RECORDS_AT_ONCE_MAX))?;
        match page.is_empty() {
            true => return Ok(found),
            false => found.extend(page),
        }
    }
}

/// Those of records that are in a compound which is not among them, nor the one that they all are in; and what is in those.
fn kept_by_others(
    sql: &mut Sql<'_>,
    (key, root): (DocumentKey, Option<i64>),
    all: &RoaringTreemap,
) -> StoreResult<RoaringTreemap> {
    if failpoint(Failpoint::OtherParentsIgnored) {
        return Ok(RoaringTreemap::new());
    }
    let is_other = |parent: &compounds::Parent| {
        let is_root = parent.key == key || (root.is_some() && parent.compound == root);
        let is_among = parent.compound.is_some_and(|id| all.contains(id as u64));
        !is_root && !is_among && !parent.is_deleted
    };
    let ids: Vec<i64> = all.iter().map(|id| id as i64).collect();
    let mut kept = RoaringTreemap::new();
    for ids in ids.chunks(limits::RECORDS_AT_ONCE_MAX) {
        let held = compounds::parents(sql, ids)?.into_iter().filter(is_other);
        kept.extend(held.map(|parent| parent.document as u64));
    }
    let below = reach(sql, &kept)?;
    Ok(kept | below)
}

/// Which compounds have something in them that could not be delivered, so that nobody passes over them.
pub(super) enum Failing {
    /// These.
    Are(RoaringTreemap),
    /// More than are looked up.
    All,
}

impl Failing {
    pub(super) fn has(&self, compound: i64) -> bool {
        match self {
            Failing::Are(ids) => ids.contains(compound as u64) && !failpoint(Failpoint::FailedIsCovered),
            Failing::All => true,
        }
    }
}

/// The compounds, at every height, that records are in which failed for good.
pub(super) fn failing(sql: &mut Sql<'_>, job: JobId) -> StoreResult<Failing> {
    let failed = queue::failures_of(sql, job, FailureKind::Failed, limits::FAILED_LOOKED_UP_MAX + 1)?;
    if failed.len() > limits::FAILED_LOOKED_UP_MAX {
        return Ok(Failing::All);
    }
    let (mut found, mut next) = (RoaringTreemap::new(), failed);
    while !next.is_empty() {
        let mut above = RoaringTreemap::new();
        for ids in next.chunks(limits::RECORDS_AT_ONCE_MAX) {
            let parents = compounds::parents(sql, ids)?.into_iter();
            above.extend(parents.filter_map(|parent| parent.compound).map(|id| id as u64));
        }
        next = (&above - &found).iter().map(|id| id as i64).collect();
        found |= above;
    }
    Ok(Failing::Are(found))
}

/// A delta run that goes over one compound lists what is in it anew.
pub(super) fn list_anew(sql: &mut Sql<'_>, (job, epoch): (JobId, i64), key: DocumentKey) -> StoreResult<()> {
    let root: RoaringTreemap = documents_of(sql, job, &[key])?.into_values().map(|id| id as u64).collect();
    match root.is_empty() {
        true => Ok(()),
        false => delta_runs::mark(sql, job, epoch, (Mark::Listed, &id_set::to_bytes(&root))),
    }
}

fn marked(sql: &mut Sql<'_>, (job, epoch): (JobId, i64), mark: Mark) -> StoreResult<RoaringTreemap> {
    let mut marked = RoaringTreemap::new();
    for piece in delta_runs::marks_of(sql, job, epoch, mark)? {
        marked |= id_set::from_bytes(&piece)?;
    }
    Ok(marked)
}

/// Those of hashes of keys which a delta run has not noted as unreadable yet: how many. They are noted.
pub(super) fn note_unread(
    sql: &mut Sql<'_>,
    (job, epoch): (JobId, i64),
    hashes: RoaringTreemap,
) -> StoreResult<i64> {
    if hashes.is_empty() {
        return Ok(0);
    }
    let new = hashes - marked(sql, (job, epoch), Mark::Touched)?;
    if !new.is_empty() {
        delta_runs::mark(sql, job, epoch, (Mark::Touched, &id_set::to_bytes(&new)))?;
    }
    Ok(new.len() as i64)
}

impl Engine {
    /// A delta run is complete: what is not in compounds any more that were met anew is in them no more, and what their versions are told by counts.
    pub(super) fn settle_compounds(&self, job: &Job, claim: Claim<'_>, is_full: bool) -> Result<()> {
        let of = (job.id, claim.epoch);
        let (listed, met) = self.reader.read(|sql| {
            let listed = marked(sql, of, Mark::Listed)? - marked(sql, of, Mark::Covers)?;
            let met = if listed.is_empty() { RoaringTreemap::new() } else { marked(sql, of, Mark::Met)? };
            Ok::<_, StoreError>((listed, met))
        })?;
        let listed: Vec<i64> = listed.iter().map(|id| id as i64).collect();
        for ids in listed.chunks(limits::RECORDS_AT_ONCE_MAX) {
            self.within(job, claim, |sql, _, _| {
                // What is in them is held as well: its pushes write what it is in.
                let mut held = compounds::children(sql, ids)?;
                held.extend(ids);
                states::hold(sql, &held)?;
                if is_full {
                    compounds::prune(sql, ids, claim.epoch, |id| met.contains(id as u64))?;
                }
                compounds::settle_hashes(sql, ids)
            })?;
        }
        Ok(())
    }

    /// Deletes what is in compounds that a call has deleted, and in no other one: the deepest first, as a client would, each with a ticket of its own. What was
    /// pushed since stays. `deletions`: their keys, and their tickets. A call that was cut off is made again, also where the compound is gone already.
    pub(super) fn delete_beneath(
        &self,
        source: &(Writer, InboxOf<'_>),
        deletions: &[(DocumentKey, i64)],
    ) -> Result<()> {
        if deletions.is_empty() || failpoint(Failpoint::CompoundGoesAlone) {
            return Ok(());
        }
        let job = source.1.job;
        let keys: Vec<DocumentKey> = deletions.iter().map(|(key, _)| *key).collect();
        let emptied = self.reader.read(|sql| {
            let mut emptied = compounds::with_children(sql, job.id, &keys)?;
            let known = documents_of(sql, job.id, &emptied)?;
            let ids: Vec<i64> = known.values().copied().collect();
            // A deletion that came late has deleted nothing.
            let there = if ids.is_empty() { Vec::new() } else { records::present(sql, &ids)? };
            emptied.retain(|key| known.get(key).is_none_or(|id| !there.contains(id)));
            Ok::<_, StoreError>(emptied)
        })?;
        for (key, ticket) in deletions.iter().filter(|(key, _)| emptied.contains(key)) {
            let going = self.reader.read(|sql| beneath(sql, job.id, *key))?.alone;
            for ids in going.chunks(limits::RECORDS_AT_ONCE_MAX) {
                self.delete_older(source, ids, *ticket)?;
            }
            self.leave_to_others(source, *key, *ticket)?;
        }
        Ok(())
    }

    /// Deletes records that are there and are held, each with a ticket of its own. What is in them, and stays, is in them no more: a compound that was forgotten
    /// would look like one that nobody has pushed yet, which holds what is in it. `(ticket, epoch)`: what was pushed behind that ticket, or that delta run was told
    /// to be in them, is.
    pub(super) fn delete_held(
        &self,
        sql: &mut Sql<'_>,
        (inbox, now): (&InboxOf<'_>, i64),
        going: &[i64],
        since: (i64, i64),
    ) -> StoreResult<()> {
        let names = documents::names(sql, going)?;
        let delete = |(_, key)| Push { key, ask: Ask::Delete, user_ref: None, version: None };
        let pushes: Vec<Push> = names.into_iter().map(delete).collect();
        self.accept_in(sql, (inbox, Via::default(), now), &pushes.iter().collect::<Vec<_>>())?;
        // Behind the tickets, whose numbers all calls of pushes lock before they say what is in what.
        if failpoint(Failpoint::DeletedStillHolds) { Ok(()) } else { compounds::leave(sql, going, since) }
    }

    /// Deletes records that were not pushed behind a ticket.
    fn delete_older(&self, (writer, inbox): &(Writer, InboxOf<'_>), ids: &[i64], ticket: i64) -> Result<()> {
        self.in_source(writer, inbox.job, |sql, now| {
            let going = older(sql, ids, ticket)?;
            records::leave_before(sql, &going, None)?;
            self.delete_held(sql, (inbox, now), &going, (ticket, NO_EPOCH))?;
            Ok(Ok(()))
        })?;
        self.process.pushed(inbox.job.id, writer.call.now());
        Ok(())
    }

    /// What is left of what was in a deleted compound, since it is in another one as well, is in that no more.
    fn leave_to_others(
        &self,
        (writer, inbox): &(Writer, InboxOf<'_>),
        key: DocumentKey,
        ticket: i64,
    ) -> Result<()> {
        let left = self.reader.read(|sql| direct(sql, inbox.job.id, key))?;
        for ids in left.chunks(limits::RECORDS_AT_ONCE_MAX) {
            self.in_source(writer, inbox.job, |sql, _| {
                let older = older(sql, ids, ticket)?;
                Ok(Ok(compounds::let_go(sql, key, &older)?))
            })?;
        }
        Ok(())
    }
}

/// Those of records that are there, and were not pushed behind a ticket; they are held.
fn older(sql: &mut Sql<'_>, ids: &[i64], ticket: i64) -> StoreResult<Vec<i64>> {
    let known = states::hold(sql, ids)?;
    let is_older = |record: &Record| record.present && record.ticket <= ticket;
    let older = records::get(sql, &known)?.into_iter().filter(is_older);
    Ok(older.map(|record| record.document).collect())
}
