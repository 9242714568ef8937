//! To whom a delta run belongs: by its token, while it is open and its lease is not over.

use ingather_store::documents::inbox::delta_runs::{self, DeltaRun};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::{Sql, StoreError};

use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

/// A delta run that is open.
pub const OPEN: &str = "open";
/// One that its client ended as complete.
pub const FINISHED: &str = "finished";
/// One that its client gave up.
pub const ROLLED_BACK: &str = "rolled_back";
/// One whose client gave no sign of life for as long as its lease.
pub const EXPIRED: &str = "expired";
/// One that a person took from its client.
pub const UNLOCKED: &str = "unlocked";

/// How a delta run goes over its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaMode {
    /// What it has not met is deleted at its end.
    Full,
    /// Nothing is deleted.
    Additive,
}

impl DeltaMode {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            DeltaMode::Full => "full",
            DeltaMode::Additive => "additive",
        }
    }
}

/// What proves that a call belongs to a delta run.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// Its number.
    pub epoch: i64,
    /// Digest of what its client was given.
    pub token: &'a str,
}

/// How a delta run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Records that it did not meet, and that are deleted now.
    pub deleted: u64,
    /// Why nothing was deleted, where something speaks against it.
    pub veto: Option<String>,
    /// It goes on: so many records of so many would be deleted, and somebody has to confirm that.
    pub held: Option<(u64, u64)>,
}

impl Engine {
    /// A sign of life of the client; the delta run that it claims.
    pub(super) fn seen(&self, job: &Job, claim: Claim<'_>) -> Result<DeltaRun> {
        self.within(job, claim, |sql, run, now| {
            delta_runs::seen(sql, job.id, claim.epoch, (now, 0))?;
            let is_blind = failpoint(Failpoint::WatermarkIgnored);
            Ok(DeltaRun { watermark: if is_blind { i64::MAX } else { run.watermark }, ..run.clone() })
        })
    }

    /// Does something of a delta run, in a transaction that finds it open and its caller's.
    pub(super) fn within<T>(
        &self,
        job: &Job,
        claim: Claim<'_>,
        work: impl Fn(&mut Sql<'_>, &DeltaRun, i64) -> std::result::Result<T, StoreError>,
    ) -> Result<T> {
        self.in_source(&self.writing()?, job, |sql, now| {
            Ok(match claimed(sql, job, claim, now)? {
                Ok(run) => Ok(work(sql, &run, now)?),
                Err(error) => Err(error),
            })
        })
    }
}

/// The delta run that somebody claims, where it is open and theirs. One whose lease is over is ended.
pub(super) fn claimed(
    sql: &mut Sql<'_>,
    job: &Job,
    claim: Claim<'_>,
    now: i64,
) -> std::result::Result<Result<DeltaRun>, StoreError> {
    let Some(run) = delta_runs::get(sql, job.id, claim.epoch)? else {
        return Ok(Err(not_open(job, claim.epoch, "never was")));
    };
    if run.token != claim.token && !failpoint(Failpoint::TokenIgnored) {
        let sentence = format!("this is not the token that run {} was opened with", run.epoch);
        return Ok(Err(EngineError::refused(Refusal::WrongToken, sentence)));
    }
    if run.state != OPEN && !failpoint(Failpoint::EndedRunGoesOn) {
        return Ok(Err(not_open(job, run.epoch, &run.state)));
    }
    if run.is_lapsed(now) && !failpoint(Failpoint::LeaseOfRunIgnored) {
        delta_runs::end(sql, job.id, run.epoch, (EXPIRED, now))?;
        return Ok(Err(not_open(job, run.epoch, EXPIRED)));
    }
    Ok(Ok(run))
}

/// Whether the last delta run of a source is open and its client's. One whose lease is over is ended.
pub(super) fn is_locked(
    sql: &mut Sql<'_>,
    job: &Job,
    (last, now): (&DeltaRun, i64),
) -> std::result::Result<bool, StoreError> {
    if last.state != OPEN {
        return Ok(false);
    }
    if last.is_lapsed(now) && !failpoint(Failpoint::LeaseOfRunForEver) {
        delta_runs::end(sql, job.id, last.epoch, (EXPIRED, now))?;
        return Ok(false);
    }
    Ok(true)
}

pub(super) fn locked(job: &Job, run: &DeltaRun) -> EngineError {
    let sentence = format!(
        "run {} of source {} is open: `{}` has it until it finishes, or gives no sign of life for {} s; `ingather source unlock {}` takes it away",
        run.epoch,
        job.name,
        run.client,
        run.lease_ms / 1_000,
        job.name
    );
    EngineError::refused(Refusal::Locked, sentence)
}

pub(super) fn not_open(job: &Job, epoch: i64, state: &str) -> EngineError {
    let sentence = format!("run {epoch} of source {} is not open ({state}); open another one", job.name);
    EngineError::refused(Refusal::NotOpen, sentence)
}
