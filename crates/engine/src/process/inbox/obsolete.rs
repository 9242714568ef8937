//! What a delta run has not met: told, deleted while it goes on, and at its end. And the source that is made to forget what its records were like.

use ingather_model::key::parent_bytes;
use ingather_model::limits;
use ingather_model::run_counts::{counted, number};
use ingather_store::documents;
use ingather_store::documents::inbox::delta_runs::{self, DeltaRun, Mark};
use ingather_store::documents::inbox::{self as records, Known, Record};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::{Reader, Sql, StoreError, states};
use roaring::RoaringTreemap;

use super::InboxOf;
use super::claims::{Claim, DeltaMode, Finished, OPEN, is_locked, locked, not_open};
use super::compounds;
use crate::engine::Engine;
use crate::error::Result;
use crate::run::id_set;

/// What became of records that a delta run has not met.
pub(super) enum Unmet {
    /// They are deleted: so many.
    Deleted(u64),
    /// So many records of so many would be deleted, and somebody has to confirm that.
    Held(u64, u64),
    /// Something speaks against it.
    Vetoed(String),
}

/// Some of what an open delta run has not met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObsoletePage {
    /// Keys of records.
    pub keys: Vec<String>,
    /// What the next page is asked after.
    pub last: i64,
    /// There may be more.
    pub more: bool,
}

/// What a delta run had met at one moment.
#[derive(Default)]
struct Met {
    ids: RoaringTreemap,
    /// Compounds that stand for all that is in them.
    covers: RoaringTreemap,
    /// Number of the last piece.
    last: i64,
}

impl Met {
    fn read(reader: &Reader, job: &Job, run: &DeltaRun) -> Result<Met> {
        let mut met = Met::default();
        let first = if failpoint(Failpoint::MarksOutliveTheirRun) { run.epoch - 1 } else { run.epoch };
        for epoch in first..=run.epoch {
            met.add(reader.read(|sql| delta_runs::marks(sql, job.id, epoch, 0))?)?;
        }
        reader.read(|sql| met.cover(sql))?;
        Ok(met)
    }

    fn add(&mut self, pieces: Vec<(i64, Mark, Vec<u8>)>) -> std::result::Result<(), StoreError> {
        for (number, mark, piece) in pieces {
            match mark {
                Mark::Met => self.ids |= id_set::from_bytes(&piece)?,
                Mark::Covers => self.covers |= id_set::from_bytes(&piece)?,
                Mark::Listed | Mark::Touched => {}
            }
            self.last = number;
        }
        Ok(())
    }

    /// What is in compounds that stand for it is met.
    fn cover(&mut self, sql: &mut Sql<'_>) -> std::result::Result<(), StoreError> {
        if !failpoint(Failpoint::CoveredIsUnmet) {
            self.ids |= compounds::reach(sql, &self.covers)?;
        }
        Ok(())
    }
}

impl Engine {
    /// Keys of records that an open delta run has not met until now, and that were there before it; a page of at most so many, after one. `of`: in one compound
    /// alone.
    ///
    /// # Errors
    /// `NotOpen`; what the store says.
    pub fn list_obsolete(
        &self,
        job: &Job,
        (epoch, of): (i64, Option<&str>),
        (after, most): (i64, usize),
    ) -> Result<ObsoletePage> {
        let run = match self.delta_run(job, Some(epoch))? {
            Some(run) if run.state == OPEN => run,
            Some(run) => return Err(not_open(job, epoch, &run.state)),
            None => return Err(not_open(job, epoch, "never was")),
        };
        let met = Met::read(&self.reader, job, &run)?;
        let (mut found, mut last) = (Vec::new(), after);
        let mut more = true;
        if let Some(key) = of.or(run.compound.as_deref()) {
            found = self.unmet_in(job, (&run, &met), key)?.0;
            found.retain(|id| *id > after);
            found.sort_unstable();
            more = found.len() > most;
            found.truncate(most);
            last = found.last().copied().unwrap_or(after);
        }
        while more && of.is_none() && run.compound.is_none() && found.len() < most {
            let (page_end, obsolete) = self.unmet_after(job, (&run, &met), last)?;
            let room = most - found.len();
            more = page_end.is_some();
            last = page_end.unwrap_or(last);
            if obsolete.len() > room {
                last = obsolete[room - 1].document;
            }
            found.extend(obsolete.into_iter().map(|record| record.document).take(room));
        }
        let names = self.reader.read(|sql| documents::names(sql, &found))?;
        let by_id: std::collections::BTreeMap<i64, String> = names.into_iter().collect();
        Ok(ObsoletePage { keys: by_id.into_values().collect(), last, more })
    }

    /// Deletes what an open delta run has not met until now, with `of` in one compound alone, the deepest first; it goes on. `confirmed`: also where that is
    /// much of the source.
    ///
    /// # Errors
    /// Those of [`Engine::touch`].
    pub fn delete_obsolete(
        &self,
        job: &Job,
        (claim, of): (Claim<'_>, Option<&str>),
        confirmed: bool,
    ) -> Result<Finished> {
        let run = self.seen(job, claim)?;
        if run.mode != DeltaMode::Full.as_str() {
            let veto = format!("it was opened as `{}`, which deletes nothing", run.mode);
            return Ok(Finished { deleted: 0, veto: Some(veto), held: None });
        }
        Ok(
            match self.delete_unmet(job, claim, (&run, of.or(run.compound.as_deref())), (true, confirmed))? {
                Unmet::Deleted(deleted) => Finished { deleted, veto: None, held: None },
                Unmet::Held(would, all) => Finished { deleted: 0, veto: None, held: Some((would, all)) },
                Unmet::Vetoed(veto) => Finished { deleted: 0, veto: Some(veto), held: None },
            },
        )
    }

    /// Forgets by what versions of the records of a source are told: to the next delta run each of them has changed. Outputs keep what they have. How many
    /// had a hash. A call that was cut off is made again.
    ///
    /// # Errors
    /// `Locked` while a delta run is open, which would tell its client that records are unchanged; `Deleting`; `ReadOnly`; what the store says.
    pub fn clear_source(&self, job: &Job) -> Result<u64> {
        let writer = self.writing()?;
        let (mut after, mut cleared) = (i64::MIN, 0);
        loop {
            let page =
                self.reader.read(|sql| records::known(sql, job.id, after, limits::RECORDS_AT_ONCE_MAX))?;
            let documents: Vec<i64> = page.iter().map(|record| record.document).collect();
            cleared += self.in_source(&writer, job, |sql, now| {
                if let Some(last) = delta_runs::last(sql, job.id)?
                    && is_locked(sql, job, (&last, now))?
                    && !failpoint(Failpoint::ClearedUnderARun)
                {
                    return Ok(Err(locked(job, &last)));
                }
                let known = states::hold(sql, &documents)?;
                Ok(Ok(records::forget_hashes(sql, &known)?))
            })?;
            match documents.last() {
                Some(last) => after = *last,
                None => return Ok(cleared),
            }
        }
    }

    /// Deletes what a delta run has not met, unless something speaks against it or that is too much.
    pub(super) fn delete_unmet(
        &self,
        job: &Job,
        claim: Claim<'_>,
        (run, of): (&DeltaRun, Option<&str>),
        (is_complete, confirmed): (bool, bool),
    ) -> Result<Unmet> {
        let mut met = Met::read(&self.reader, job, run)?;
        let (obsolete, total) = match of {
            Some(key) => self.unmet_in(job, (run, &met), key)?,
            None => self.unmet(job, (run, &met))?,
        };
        if let Some(veto) = veto(run, is_complete, total) {
            return Ok(Unmet::Vetoed(veto));
        }
        if run.mode != DeltaMode::Full.as_str() && !failpoint(Failpoint::AdditiveDeletes) {
            return Ok(Unmet::Deleted(0));
        }
        let would = obsolete.len() as u64 + run.deleted as u64;
        let all = total + run.deleted as u64;
        let is_much = !obsolete.is_empty() && would * 100 > all * limits::DELTA_GUARD_PERCENT;
        let is_guarded = all >= limits::DELTA_GUARD_RECORDS_MIN && !failpoint(Failpoint::ObsoleteUnguarded);
        if is_much && is_guarded && !confirmed {
            return Ok(Unmet::Held(would, all));
        }
        let (writer, inbox) = self.inbox_of(job)?;
        let mut deleted = 0;
        for ids in obsolete.chunks(limits::RECORDS_AT_ONCE_MAX) {
            deleted += self.delete_some(&inbox, claim, (ids, run.watermark), &mut met)?;
            self.process.pushed(job.id, writer.call.now());
        }
        Ok(Unmet::Deleted(deleted))
    }

    /// Records of a source that were there before a delta run and that it has not met, and how many records there are. Compounds come behind what may be in
    /// them: little is in one by then that has to be taken out of it.
    fn unmet(&self, job: &Job, (run, met): (&DeltaRun, &Met)) -> Result<(Vec<i64>, u64)> {
        let total = self.reader.read(|sql| records::count(sql, job.id))?;
        let (mut obsolete, mut compounds, mut after) = (Vec::new(), Vec::new(), i64::MIN);
        loop {
            let (last, unmet) = self.unmet_after(job, (run, met), after)?;
            for record in unmet {
                if record.is_compound { &mut compounds } else { &mut obsolete }.push(record.document);
            }
            let Some(last) = last else { break };
            after = last;
        }
        obsolete.append(&mut compounds);
        Ok((obsolete, total))
    }

    /// The same of what is in one compound, the deepest first. What another compound holds stays.
    fn unmet_in(&self, job: &Job, (run, met): (&DeltaRun, &Met), key: &str) -> Result<(Vec<i64>, u64)> {
        let key = self.reader.hasher().key(key, parent_bytes(key));
        let (found, mut alone) = self.reader.read(|sql| {
            let found = compounds::beneath(sql, job.id, key)?;
            let all: Vec<i64> = found.all.iter().map(|id| id as i64).collect();
            let mut there = RoaringTreemap::new();
            let (mut total, is_blind) = (0, failpoint(Failpoint::WatermarkIgnored));
            for ids in all.chunks(limits::RECORDS_AT_ONCE_MAX) {
                let known = records::get(sql, ids)?.into_iter().filter(|record| record.present);
                for record in known {
                    total += 1;
                    if record.ticket <= run.watermark || is_blind {
                        there.insert(record.document as u64);
                    }
                }
            }
            Ok::<_, StoreError>(((there, total), found.alone))
        })?;
        alone.retain(|id| found.0.contains(*id as u64) && !met.ids.contains(*id as u64));
        Ok((alone, found.1))
    }

    /// A page of the records of a source after one, by document: the last of them, and those that were there before a delta run and that it has not met.
    fn unmet_after(
        &self,
        job: &Job,
        (run, met): (&DeltaRun, &Met),
        after: i64,
    ) -> Result<(Option<i64>, Vec<Known>)> {
        let mut page = self.reader.read(|sql| records::known(sql, job.id, after, limits::JUDGED_MAX))?;
        let last = page.last().map(|record| record.document);
        page.retain(|record| record.ticket <= run.watermark && !met.ids.contains(record.document as u64));
        Ok((last, page))
    }

    /// Deletes records that a delta run has not met; those stay that were pushed since it began, or met since `met` was read.
    fn delete_some(
        &self,
        inbox: &InboxOf<'_>,
        claim: Claim<'_>,
        (ids, watermark): (&[i64], i64),
        met: &mut Met,
    ) -> Result<u64> {
        let job = inbox.job;
        let (deleted, since) = self.within(job, claim, |sql, run, now| {
            // On PostgreSQL one of them may be pushed again between the look and the deletion.
            let known = states::hold(sql, ids)?;
            let is_obsolete = |record: &Record| {
                let is_since = record.ticket > watermark && !failpoint(Failpoint::ObsoleteOfBefore);
                record.present && !is_since && !met.ids.contains(record.document as u64)
            };
            let obsolete = records::get(sql, &known)?.into_iter().filter(is_obsolete);
            let mut still: Vec<i64> = obsolete.map(|record| record.document).collect();
            // In the order in which all calls lock: records, what they were before, the run.
            records::leave_before(sql, &still, None)?;
            delta_runs::seen(sql, job.id, run.epoch, (now, 0))?;
            // Calls of its client have marked what they met before that, or see what is deleted here.
            let mut since = Met { last: met.last, ..Met::default() };
            since.add(delta_runs::marks(sql, job.id, run.epoch, met.last)?)?;
            since.cover(sql)?;
            still.retain(|id| !since.ids.contains(*id as u64));
            self.delete_held(sql, (inbox, now), &still, (watermark, run.epoch))?;
            delta_runs::deleted(sql, job.id, claim.epoch, (still.len() as i64, now))?;
            Ok((still.len() as u64, since))
        })?;
        met.ids |= since.ids;
        met.last = since.last;
        Ok(deleted)
    }
}

/// Why a delta run deletes nothing, where something speaks against it.
fn veto(run: &DeltaRun, is_complete: bool, total: u64) -> Option<String> {
    let touched = run.touched as u64;
    let is_much =
        touched >= limits::DELTA_TOUCHED_MIN && touched * 100 > total * limits::DELTA_TOUCHED_PERCENT;
    match () {
        () if !is_complete && !failpoint(Failpoint::IncompleteDeletes) => {
            Some("its client says that it is not complete".to_owned())
        }
        () if is_much && !failpoint(Failpoint::UnreadNotCounted) => {
            Some(format!("its client could not read {} of {}", number(touched), counted(total, "record")))
        }
        () => None,
    }
}
