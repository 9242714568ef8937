//! Delta runs: passes of an application over its whole source. What one has not met is deleted at its end, where the pass was complete and nothing speaks
//! against it; a client that dies, loses its lease or gives up deletes nothing.

use std::collections::HashSet;

use ingather_model::ids::JobId;
use ingather_model::key::parent_bytes;
use ingather_model::lifecycle::outcome::FailureKind;
use ingather_model::limits;
use ingather_store::documents::inbox::delta_runs::{self, DeltaRun, Mark};
use ingather_store::documents::inbox::{self as records, Record};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::queue;
use ingather_store::{Durability, Sql, StoreError, states};
use roaring::RoaringTreemap;

pub use super::claims::{Claim, DeltaMode, EXPIRED, FINISHED, Finished, OPEN, ROLLED_BACK, UNLOCKED};
use super::claims::{is_locked, locked};
use super::compounds::{self, Failing};
use super::documents_of;
use super::obsolete::Unmet;
use crate::engine::Engine;
use crate::error::Result;
use crate::run::id_set;

/// What is asked of a record before it is pushed.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// Its key.
    pub key: &'a str,
    /// What tells its version; none: it counts as changed.
    pub hash: Option<&'a str>,
    /// Compounds that it is in, by their keys: it is in these as well, where it is there so.
    pub parents: &'a [String],
    /// Its hash tells nothing of what is in it.
    pub is_shallow: bool,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// The record is not there.
    New,
    /// It is there with another hash, or its last delivery failed.
    Changed,
    /// It is there so: it was met.
    Unchanged,
}

impl Engine {
    /// Opens a delta run of the source of a job, of which one is open at most; with `compound`, the key of one, over what is in that alone. `client`: who asks, for those who find it open; `token`: digest of what
    /// its client is given. Its number.
    ///
    /// # Errors
    /// `Locked` while another one is open; `Definition` where nothing can be pushed into the source; `Deleting`; `ReadOnly`; what the store says.
    pub fn open_delta_run(
        &self,
        job: &Job,
        (mode, lease_ms, compound): (DeltaMode, i64, Option<&str>),
        (client, token): (&str, &str),
    ) -> Result<i64> {
        let (writer, _) = self.inbox_of(job)?;
        let hasher = self.reader.hasher();
        self.in_source(&writer, job, |sql, now| {
            let last = delta_runs::last(sql, job.id)?;
            if let Some(last) = &last
                && is_locked(sql, job, (last, now))?
                && !failpoint(Failpoint::TwoRunsAtOnce)
            {
                return Ok(Err(locked(job, last)));
            }
            let epoch = last.map_or(1, |last| last.epoch + 1);
            let run = DeltaRun {
                epoch,
                mode: mode.as_str().to_owned(),
                token: token.to_owned(),
                client: client.to_owned(),
                watermark: records::tickets::take(sql, 1)?,
                opened_at: now,
                seen_at: now,
                lease_ms,
                state: OPEN.to_owned(),
                ended_at: None,
                touched: 0,
                veto: None,
                deleted: 0,
                last_ticket: None,
                drained_at: None,
                compound: compound.map(str::to_owned),
            };
            delta_runs::open(sql, job.id, &run)?;
            if let Some(key) = compound {
                compounds::list_anew(sql, (job.id, epoch), hasher.key(key, parent_bytes(key)))?;
            }
            delta_runs::forget(sql, job.id, epoch - limits::DELTA_RUNS_KEPT)?;
            Ok(Ok(epoch))
        })
    }

    /// Says of records whether they have to be pushed; those that have not are met.
    ///
    /// # Errors
    /// Those of [`Engine::touch`].
    pub fn check(&self, job: &Job, claim: Claim<'_>, checks: &[Check<'_>]) -> Result<Vec<Checked>> {
        let hasher = self.reader.hasher();
        let keys: Vec<_> =
            checks.iter().map(|check| hasher.key(check.key, parent_bytes(check.key))).collect();
        self.within(job, claim, |sql, run, now| {
            let ids = documents_of(sql, job.id, &keys)?;
            let known: Vec<i64> = ids.values().copied().collect();
            let records = records::get(sql, &known)?;
            let find = |id: &i64| records.iter().find(|record| record.document == *id && record.present);
            let failures = queue::failures(sql, &known)?.into_iter();
            let failed: HashSet<i64> = failures
                .filter(|(_, failure)| failure.kind == FailureKind::Failed)
                .map(|(id, _)| id)
                .collect();
            let is_compound = |record: &&Record| record.is_compound;
            let failing = match records.iter().any(|record| is_compound(&record)) {
                true => compounds::failing(sql, job.id)?,
                false => Failing::Are(RoaringTreemap::new()),
            };
            let is_failed = |record: &Record| {
                failed.contains(&record.document) || record.is_compound && failing.has(record.document)
            };
            let (mut met, mut covers) = (RoaringTreemap::new(), RoaringTreemap::new());
            let (mut checked, mut parents) = (Vec::with_capacity(checks.len()), Vec::new());
            for (check, key) in checks.iter().zip(&keys) {
                checked.push(match ids.get(key).and_then(find) {
                    None => Checked::New,
                    Some(record) if is_same(record, check.hash) && !is_failed(record) => {
                        met.insert(record.document as u64);
                        if record.is_compound && !check.is_shallow {
                            covers.insert(record.document as u64);
                        }
                        let is_in =
                            |parent: &String| (record.document, hasher.key(parent, parent_bytes(parent)));
                        parents.extend(check.parents.iter().map(is_in));
                        Checked::Unchanged
                    }
                    Some(_) => Checked::Changed,
                });
            }
            leave_before(sql, &met)?;
            records::compounds::put(sql, job.id, &parents, claim.epoch)?;
            if !failpoint(Failpoint::CheckedIsUnmet) {
                mark(sql, (job.id, claim.epoch), Mark::Met, &met)?;
                mark(sql, (job.id, claim.epoch), Mark::Covers, &covers)?;
            }
            delta_runs::seen(sql, job.id, claim.epoch, (now, 0))?;
            let gone = deleted_meanwhile(sql, (job.id, run), &met)?;
            let is_gone = |key| ids.get(key).is_some_and(|id| gone.contains(*id as u64));
            let gone = checked.iter_mut().zip(&keys).filter(|(_, key)| is_gone(key));
            gone.for_each(|(checked, _)| *checked = Checked::New);
            Ok(checked)
        })
    }

    /// Records are there and cannot be read now: they stay as they are, and so does what is in them. Without keys, a sign of life.
    ///
    /// # Errors
    /// `NotOpen` where the delta run is not open any more, or never was; `WrongToken`; `Deleting`; `ReadOnly`; what the store says.
    pub fn touch(&self, job: &Job, claim: Claim<'_>, keys: &[&str]) -> Result<()> {
        let hasher = self.reader.hasher();
        let keys: Vec<_> = keys.iter().map(|key| hasher.key(key, parent_bytes(key))).collect();
        self.within(job, claim, |sql, _, now| {
            let known: Vec<i64> = documents_of(sql, job.id, &keys)?.into_values().collect();
            if !failpoint(Failpoint::TouchedIsUnmet) {
                meet_whole(sql, (job.id, claim.epoch), &known)?;
            }
            delta_runs::seen(sql, job.id, claim.epoch, (now, 0))?;
            let unread = keys.iter().map(|key| key.key_hash as u64).collect();
            match compounds::note_unread(sql, (job.id, claim.epoch), unread)? {
                0 => Ok(()),
                unread => delta_runs::seen(sql, job.id, claim.epoch, (now, unread)),
            }
        })
    }

    /// Records are there as they are, and so is what is in them, whatever their hashes are; with a hash, that is what they are told by from now on. Whether
    /// each of them is there.
    ///
    /// # Errors
    /// Those of [`Engine::touch`].
    pub fn visit(&self, job: &Job, claim: Claim<'_>, visits: &[Check<'_>]) -> Result<Vec<bool>> {
        let hasher = self.reader.hasher();
        let key = |key: &str| hasher.key(key, parent_bytes(key));
        let keys: Vec<_> = visits.iter().map(|visit| key(visit.key)).collect();
        self.within(job, claim, |sql, _, now| {
            let ids = documents_of(sql, job.id, &keys)?;
            let known = states::hold(sql, &ids.values().copied().collect::<Vec<_>>())?;
            let there = records::present(sql, &known)?;
            meet_whole(sql, (job.id, claim.epoch), &there)?;
            let (mut found, mut parents) = (Vec::with_capacity(visits.len()), Vec::new());
            for (visit, of) in visits.iter().zip(&keys) {
                let id = ids.get(of).copied().filter(|id| there.contains(id));
                found.push(id.is_some());
                let Some(id) = id else { continue };
                parents.extend(visit.parents.iter().map(|parent| (id, key(parent))));
                if let Some(hash) = visit.hash {
                    records::set_hash(sql, id, hash)?;
                }
            }
            records::compounds::put(sql, job.id, &parents, claim.epoch)?;
            delta_runs::seen(sql, job.id, claim.epoch, (now, 0))?;
            Ok(found)
        })
    }

    /// The client gives up: nothing is deleted, and what it pushed stays.
    ///
    /// # Errors
    /// Those of [`Engine::touch`].
    pub fn roll_back(&self, job: &Job, claim: Claim<'_>) -> Result<()> {
        self.within(job, claim, |sql, _, now| delta_runs::end(sql, job.id, claim.epoch, (ROLLED_BACK, now)))
    }

    /// A person takes an open delta run from its client; false where none is open.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn unlock_delta_run(&self, job: &Job) -> Result<bool> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let now = writer.call.now();
        Ok(writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            let open = delta_runs::last(sql, job.id)?.filter(|last| last.state == OPEN);
            open.as_ref().map_or(Ok(()), |last| delta_runs::end(sql, job.id, last.epoch, (UNLOCKED, now)))?;
            Ok(open.is_some())
        })?)
    }

    /// A service begins: no client could give a sign of life before, so that all open delta runs have their leases from now on.
    ///
    /// # Errors
    /// `ReadOnly`; what the store says.
    pub fn renew_delta_runs(&self) -> Result<()> {
        let writer = self.writing()?;
        let _lease = self.process.keep_lease(&writer)?;
        let now = writer.call.now();
        Ok(writer.store.write(Durability::Relaxed, |sql| {
            writer.lease.fence(sql)?;
            if failpoint(Failpoint::LeasesOverWithService) { Ok(()) } else { delta_runs::renew(sql, now) }
        })?)
    }

    /// The client has been over its source: what it did not meet is deleted, where it says that the pass was complete and nothing speaks against it. `confirmed`: also
    /// where that is much of the source. A call that was cut off is made again, and goes on.
    ///
    /// # Errors
    /// Those of [`Engine::touch`].
    pub fn finish_delta_run(
        &self,
        job: &Job,
        claim: Claim<'_>,
        (is_complete, confirmed): (bool, bool),
    ) -> Result<Finished> {
        // Whoever did not hear the answer asks again.
        let before = self.delta_run(job, Some(claim.epoch))?;
        if let Some(run) = before.filter(|run| run.state == FINISHED && run.token == claim.token) {
            let deleted = if failpoint(Failpoint::FinishedTwiceForgets) { 0 } else { run.deleted };
            return Ok(Finished { deleted: deleted as u64, veto: run.veto, held: None });
        }
        let run = self.seen(job, claim)?;
        match self.delete_unmet(job, claim, (&run, run.compound.as_deref()), (is_complete, confirmed))? {
            Unmet::Deleted(_) => {}
            Unmet::Held(would, all) => {
                return Ok(Finished { deleted: 0, veto: None, held: Some((would, all)) });
            }
            Unmet::Vetoed(veto) => {
                self.within(job, claim, |sql, _, now| {
                    let last = records::tickets::take(sql, 1)?;
                    delta_runs::veto(sql, job.id, claim.epoch, &veto)?;
                    delta_runs::finish(sql, job.id, claim.epoch, (last, now))
                })?;
                self.after_run(job)?;
                return Ok(Finished { deleted: run.deleted as u64, veto: Some(veto), held: None });
            }
        }
        self.settle_compounds(job, claim, run.mode == DeltaMode::Full.as_str())?;
        let ended = self.within(job, claim, |sql, run, now| {
            let last = records::tickets::take(sql, 1)?;
            delta_runs::finish(sql, job.id, claim.epoch, (last, now))?;
            Ok(run.deleted)
        })?;
        self.after_run(job)?;
        Ok(Finished { deleted: ended as u64, veto: None, held: None })
    }

    /// A delta run is over: nothing of it is buffered, and a pass looks whether all of it is done.
    fn after_run(&self, job: &Job) -> Result<()> {
        self.release_buffered(job.id)?;
        self.process.pushed(job.id, self.clock.now());
        Ok(())
    }

    /// A delta run of the source of a job; without a number the last one.
    ///
    /// # Errors
    /// What the store says.
    pub fn delta_run(&self, job: &Job, epoch: Option<i64>) -> Result<Option<DeltaRun>> {
        Ok(self.reader.read(|sql| match epoch {
            Some(epoch) => delta_runs::get(sql, job.id, epoch),
            None => delta_runs::last(sql, job.id),
        })?)
    }
}

/// Those of records that their own delta run has deleted since it was read: on PostgreSQL another call of it may have, and has ended before this transaction
/// wrote the row of the run.
fn deleted_meanwhile(
    sql: &mut Sql<'_>,
    (job, run): (JobId, &DeltaRun),
    met: &RoaringTreemap,
) -> std::result::Result<RoaringTreemap, StoreError> {
    let deleted = delta_runs::get(sql, job, run.epoch)?.map(|run| run.deleted);
    if deleted == Some(run.deleted) {
        return Ok(RoaringTreemap::new());
    }
    let ids: Vec<i64> = met.iter().map(|id| id as i64).collect();
    let there: RoaringTreemap = records::present(sql, &ids)?.into_iter().map(|id| id as u64).collect();
    Ok(met - there)
}

fn is_same(record: &Record, hash: Option<&str>) -> bool {
    hash.is_some() && record.hash.as_deref() == hash
}

/// Documents are there, as somebody says beside the delta run that is open.
pub(super) fn mark_open(
    sql: &mut Sql<'_>,
    job: JobId,
    documents: impl Iterator<Item = i64>,
) -> std::result::Result<(), StoreError> {
    let met: RoaringTreemap = documents.map(|id| id as u64).collect();
    if met.is_empty() {
        return Ok(());
    }
    match delta_runs::last(sql, job)?.filter(|last| last.state == OPEN) {
        Some(open) => mark(sql, (job, open.epoch), Mark::Met, &met),
        None => Ok(()),
    }
}

/// A client was told that records are there: no channel takes back what it pushed of them.
fn leave_before(sql: &mut Sql<'_>, met: &RoaringTreemap) -> std::result::Result<(), StoreError> {
    let met: Vec<i64> = met.iter().map(|id| id as i64).collect();
    records::leave_before(sql, &met, None)
}

/// Records are there, with all that is in them.
fn meet_whole(sql: &mut Sql<'_>, of: (JobId, i64), documents: &[i64]) -> std::result::Result<(), StoreError> {
    let met = documents.iter().map(|id| *id as u64).collect();
    leave_before(sql, &met)?;
    let compounds = records::get(sql, documents)?.into_iter().filter(|record| record.is_compound);
    let covers = compounds.map(|record| record.document as u64).collect();
    mark(sql, of, Mark::Met, &met)?;
    mark(sql, of, Mark::Covers, &covers)
}

/// A delta run has met documents.
pub(super) fn mark(
    sql: &mut Sql<'_>,
    (job, epoch): (JobId, i64),
    mark: Mark,
    met: &RoaringTreemap,
) -> std::result::Result<(), StoreError> {
    match met.is_empty() {
        true => Ok(()),
        false => delta_runs::mark(sql, job, epoch, (mark, &id_set::to_bytes(met))),
    }
}
