//! Delta runs: passes of applications over their whole sources. What a run has not met is deleted at its end, where nothing speaks against it.

use ingather_model::ids::JobId;

use crate::db::{Row, Sql, Value};
use crate::error::{Result, StoreError};
use crate::failpoints::{Failpoint, failpoint};
use crate::queries;

/// A delta run as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeltaRun {
    /// Its number: those of a source grow by one.
    pub epoch: i64,
    /// `full` or `additive`.
    pub mode: String,
    /// Digest of what proves that a call belongs to it.
    pub token: String,
    /// Who opened it.
    pub client: String,
    /// The last ticket before it: what was pushed since is none of its obsolete records.
    pub watermark: i64,
    /// When it was opened, milliseconds since 1970 UTC.
    pub opened_at: i64,
    /// The last sign of life of its client.
    pub seen_at: i64,
    /// How long after that it is still its client's.
    pub lease_ms: i64,
    /// Stable word: `open`, or how it ended.
    pub state: String,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// Records that its client could not read.
    pub touched: i64,
    /// Why it deletes nothing; none where it may.
    pub veto: Option<String>,
    /// Records that it deleted.
    pub deleted: i64,
    /// The last ticket at its end, where it was finished.
    pub last_ticket: Option<i64>,
    /// When no ticket up to that one was open any more, and outputs had committed.
    pub drained_at: Option<i64>,
    /// The key of the compound that it goes over; none: over the whole source.
    pub compound: Option<String>,
}

/// What a delta run notes of what it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Documents of records that are there.
    Met,
    /// Documents of compounds that stand for all that is in them, at every depth.
    Covers,
    /// Documents of compounds that were met anew: what is in them was met one by one.
    Listed,
    /// Hashes of keys that its client could not read.
    Touched,
}

impl Mark {
    const ALL: [Mark; 4] = [Mark::Met, Mark::Covers, Mark::Listed, Mark::Touched];
}

impl DeltaRun {
    /// Whether its client gave no sign of life for as long as its lease.
    pub fn is_lapsed(&self, now: i64) -> bool {
        now >= self.seen_at.saturating_add(self.lease_ms)
    }
}

fn read(row: &Row<'_>) -> Result<DeltaRun> {
    Ok(DeltaRun {
        epoch: row.int(0)?,
        mode: row.text(1)?,
        token: row.text(2)?,
        client: row.text(3)?,
        watermark: row.int(4)?,
        opened_at: row.int(5)?,
        seen_at: row.int(6)?,
        lease_ms: row.int(7)?,
        state: row.text(8)?,
        ended_at: row.opt_int(9)?,
        touched: row.int(10)?,
        veto: row.opt_text(11)?,
        deleted: row.int(12)?,
        last_ticket: row.opt_int(13)?,
        drained_at: row.opt_int(14)?,
        compound: row.opt_text(15)?,
    })
}

/// The last delta run of a job.
///
/// # Errors
/// What the database says.
pub fn last(sql: &mut Sql<'_>, job: JobId) -> Result<Option<DeltaRun>> {
    sql.one(&queries::DELTA_RUN_LAST, &[Value::Int(job.0)], read)
}

/// One delta run of a job.
///
/// # Errors
/// What the database says.
pub fn get(sql: &mut Sql<'_>, job: JobId, epoch: i64) -> Result<Option<DeltaRun>> {
    sql.one(&queries::DELTA_RUN_GET, &[Value::Int(job.0), Value::Int(epoch)], read)
}

/// Opens a delta run.
///
/// # Errors
/// What the database says.
pub fn open(sql: &mut Sql<'_>, job: JobId, run: &DeltaRun) -> Result<()> {
    let values = [
        Value::Int(job.0),
        Value::Int(run.epoch),
        Value::Text(&run.mode),
        Value::Text(&run.token),
        Value::Text(&run.client),
        Value::Int(run.watermark),
        Value::Int(run.opened_at),
        Value::Int(run.lease_ms),
        Value::OptText(run.compound.as_deref()),
    ];
    sql.execute(&queries::DELTA_RUN_OPEN, &values)?;
    Ok(())
}

/// Its client gave a sign of life, and could not read so many records more.
///
/// # Errors
/// What the database says.
pub fn seen(sql: &mut Sql<'_>, job: JobId, epoch: i64, (now, touched): (i64, i64)) -> Result<()> {
    let values = [Value::Int(job.0), Value::Int(epoch), Value::Int(now), Value::Int(touched)];
    if failpoint(Failpoint::LeaseNotRenewed) {
        return Ok(());
    }
    sql.execute(&queries::DELTA_RUN_SEEN, &values)?;
    Ok(())
}

/// It deletes nothing; the first reason counts.
///
/// # Errors
/// What the database says.
pub fn veto(sql: &mut Sql<'_>, job: JobId, epoch: i64, why: &str) -> Result<()> {
    sql.execute(&queries::DELTA_RUN_VETO, &[Value::Int(job.0), Value::Int(epoch), Value::Text(why)])?;
    Ok(())
}

/// It deleted so many records more.
///
/// # Errors
/// What the database says.
pub fn deleted(sql: &mut Sql<'_>, job: JobId, epoch: i64, (records, now): (i64, i64)) -> Result<()> {
    let values = [Value::Int(job.0), Value::Int(epoch), Value::Int(records), Value::Int(now)];
    sql.execute(&queries::DELTA_RUN_DELETED, &values)?;
    Ok(())
}

/// Its client has finished it: once no ticket up to `last` is open, it is drained. Its marks go; of those before it as well.
///
/// # Errors
/// What the database says.
pub fn finish(sql: &mut Sql<'_>, job: JobId, epoch: i64, (last, now): (i64, i64)) -> Result<()> {
    let values = [Value::Int(job.0), Value::Int(epoch), Value::Int(now), Value::Int(last)];
    sql.execute(&queries::DELTA_RUN_FINISH, &values)?;
    drop_marks(sql, job, epoch)
}

/// Delta runs of a job that were finished, and of which something may be open, one after the other.
///
/// # Errors
/// What the database says.
pub fn undrained(sql: &mut Sql<'_>, job: JobId) -> Result<Vec<DeltaRun>> {
    sql.query(&queries::DELTA_RUN_UNDRAINED, &[Value::Int(job.0)], read)
}

/// Nothing of a delta run is open any more; whether that was not known before.
///
/// # Errors
/// What the database says.
pub fn drain(sql: &mut Sql<'_>, job: JobId, epoch: i64, now: i64) -> Result<bool> {
    let values = [Value::Int(job.0), Value::Int(epoch), Value::Int(now)];
    Ok(sql.execute(&queries::DELTA_RUN_DRAIN, &values)? == 1)
}

/// It is over without an end of its client, and its marks go; of those before it as well.
///
/// # Errors
/// What the database says.
pub fn end(sql: &mut Sql<'_>, job: JobId, epoch: i64, (state, now): (&str, i64)) -> Result<()> {
    let values = [Value::Int(job.0), Value::Int(epoch), Value::Text(state), Value::Int(now)];
    sql.execute(&queries::DELTA_RUN_END, &values)?;
    drop_marks(sql, job, epoch)
}

fn drop_marks(sql: &mut Sql<'_>, job: JobId, epoch: i64) -> Result<()> {
    if !failpoint(Failpoint::MarksOutliveTheirRun) {
        sql.execute(&queries::DELTA_MARK_DROP, &[Value::Int(job.0), Value::Int(epoch)])?;
    }
    Ok(())
}

/// Forgets delta runs up to one.
///
/// # Errors
/// What the database says.
pub fn forget(sql: &mut Sql<'_>, job: JobId, epoch: i64) -> Result<()> {
    sql.execute(&queries::DELTA_RUN_FORGET, &[Value::Int(job.0), Value::Int(epoch)])?;
    Ok(())
}

/// A service begins: all open delta runs have their leases from now on, for no client could give a sign of life before.
///
/// # Errors
/// What the database says.
pub fn renew(sql: &mut Sql<'_>, now: i64) -> Result<()> {
    sql.execute(&queries::DELTA_RUN_RENEW, &[Value::Int(now)])?;
    Ok(())
}

/// Something that a delta run has met, as bytes of a bitmap.
///
/// # Errors
/// What the database says.
pub fn mark(sql: &mut Sql<'_>, job: JobId, epoch: i64, (mark, ids): (Mark, &[u8])) -> Result<()> {
    let kind = Value::Int(mark as i64);
    let values = [Value::Int(job.0), Value::Int(epoch), kind, Value::OptBytes(Some(ids))];
    sql.execute(&queries::DELTA_MARK_ADD, &values)?;
    Ok(())
}

/// What a delta run has met, in pieces, each with its number; those after one.
///
/// # Errors
/// What the database says.
pub fn marks(sql: &mut Sql<'_>, job: JobId, epoch: i64, after: i64) -> Result<Vec<(i64, Mark, Vec<u8>)>> {
    let values = [Value::Int(job.0), Value::Int(epoch), Value::Int(after)];
    sql.query(&queries::DELTA_MARK_LIST, &values, |row| {
        let kind = row.int(1)?;
        let mark = Mark::ALL.into_iter().find(|mark| *mark as i64 == kind);
        let mark =
            mark.ok_or_else(|| StoreError::Damaged(format!("a delta run has marks of kind {kind}")))?;
        Ok((row.int(0)?, mark, row.opt_bytes(2)?.unwrap_or_default()))
    })
}

/// The same of one kind.
///
/// # Errors
/// What the database says.
pub fn marks_of(sql: &mut Sql<'_>, job: JobId, epoch: i64, mark: Mark) -> Result<Vec<Vec<u8>>> {
    let values = [Value::Int(job.0), Value::Int(epoch), Value::Int(mark as i64)];
    sql.query(&queries::DELTA_MARK_OF_KIND, &values, |row| Ok(row.opt_bytes(0)?.unwrap_or_default()))
}
