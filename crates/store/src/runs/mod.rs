//! Runs: one pass of a job, its marks, its blind spots and what it holds back.

pub mod erased;
pub mod history;
pub mod notices;
pub mod reach;

use std::collections::HashMap;

use ingather_model::ids::JobId;
use ingather_model::job::RunKind;
use ingather_model::job::history::{HistoryKind, HistoryOf};
use ingather_model::lifecycle::outcome::{GuardState, RunOutcome};
use ingather_model::limits;
use ingather_model::run_counts::RunCounts;
use ingather_model::scope::BlindSpot;

use crate::db::{Row, Sql, Value};
use crate::error::{Result, StoreError};
use crate::failpoints::{Failpoint, failpoint};
use crate::queries;

/// A run as lists show it; times are milliseconds since 1970 UTC.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its number in the job.
    pub number: i64,
    /// How it looked at its source.
    pub kind: RunKind,
    /// When it began.
    pub started_at: i64,
    /// When its listing ended.
    pub listed_at: Option<i64>,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// How it ended; none while it is under way, or when its process died and no other run has begun since.
    pub outcome: Option<RunOutcome>,
    /// What became of removals that it held.
    pub guard: Option<GuardState>,
    /// Its counters as JSON.
    pub counts: Option<String>,
    /// Why it ended early.
    pub error: Option<String>,
    /// Who or what began it, in words; none when that was not noted.
    pub begun_by: Option<String>,
}

/// A run that begins.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
    /// Its number in the job.
    pub number: i64,
    /// How it looks at its source.
    pub kind: RunKind,
    /// When, milliseconds since 1970 UTC.
    pub at: i64,
    /// Who or what begins it, in words.
    pub by: &'a str,
    /// Which documents it notes.
    pub notes: HistoryOf,
}

fn read(row: &Row<'_>) -> Result<Run> {
    read_from(row, 0)
}

fn read_from(row: &Row<'_>, first: usize) -> Result<Run> {
    Ok(Run {
        number: row.int(first)?,
        kind: row.word(first + 1, RunKind::parse)?,
        started_at: row.int(first + 2)?,
        listed_at: row.opt_int(first + 3)?,
        ended_at: row.opt_int(first + 4)?,
        outcome: row.opt_word(first + 5, RunOutcome::parse)?,
        guard: row.opt_word(first + 6, GuardState::parse)?,
        counts: row.opt_text(first + 7)?,
        error: row.opt_text(first + 8)?,
        begun_by: row.opt_text(first + 9)?,
    })
}

/// Opens a run; one that was left open is closed as interrupted, and marks of earlier runs go.
pub fn open(sql: &mut Sql<'_>, job: JobId, run: Begin<'_>) -> Result<()> {
    let Begin { number, kind, at, by, notes } = run;
    interrupt(sql, job, at)?;
    let values =
        [Value::Int(job.0), Value::Int(number), Value::Text(kind.as_str()), Value::Int(at), Value::Text(by)];
    sql.execute(&queries::RUN_OPEN, &values)?;
    if !failpoint(Failpoint::InterruptedListingContinued) {
        sql.execute(&queries::LISTED_IDS_DROP, &[Value::Int(job.0), Value::Int(number)])?;
    }
    let trimmed =
        sql.execute(&queries::RUN_TRIM, &[Value::Int(job.0), Value::Int(number - limits::RUNS_KEPT)])?;
    if trimmed > 0 {
        history::know_runs_from_oldest(sql, job)?;
    }
    match notes {
        HistoryOf::Documents => history::know_from(sql, job, HistoryKind::Documents, at),
        HistoryOf::Failures => history::know_no_more(sql, job, HistoryKind::Documents),
    }
}

/// Closes a run that was left open as interrupted.
pub fn interrupt(sql: &mut Sql<'_>, job: JobId, now: i64) -> Result<()> {
    sql.execute(&queries::RUN_INTERRUPT, &[Value::Int(job.0), Value::Int(now)])?;
    Ok(())
}

/// The scopes that a run could not read, also where it read nothing.
pub fn blind(sql: &mut Sql<'_>, job: JobId, number: i64, blind: &[BlindSpot]) -> Result<()> {
    sql.execute(&queries::BLIND_SPOT_DROP, &[Value::Int(job.0), Value::Int(number)])?;
    for (position, spot) in blind.iter().enumerate() {
        let values = [
            Value::Int(job.0),
            Value::Int(number),
            Value::Int(position as i64),
            Value::Text(&spot.scope.label()),
            Value::Text(&spot.cause),
            Value::Text(&spot.message),
        ];
        sql.execute(&queries::BLIND_SPOT_ADD, &values)?;
    }
    Ok(())
}

/// Notes that the listing of a run is over, with what it could not read.
pub fn listed(sql: &mut Sql<'_>, job: JobId, number: i64, now: i64, spots: &[BlindSpot]) -> Result<()> {
    blind(sql, job, number, spots)?;
    sql.execute(&queries::RUN_LISTED, &[Value::Int(job.0), Value::Int(number), Value::Int(now)])?;
    Ok(())
}

/// A scope that a run could not read, as it was written down.
#[derive(Clone, Debug)]
pub struct KnownBlindSpot {
    /// As [`Scope::label`](ingather_model::scope::Scope::label) has it.
    pub scope: String,
    /// Stable word.
    pub cause: String,
    /// Sentence for a person.
    pub message: String,
}

/// Scopes that a run could not read.
pub fn blind_spots(sql: &mut Sql<'_>, job: JobId, number: i64) -> Result<Vec<KnownBlindSpot>> {
    sql.query(&queries::BLIND_SPOT_LIST, &[Value::Int(job.0), Value::Int(number)], |row| {
        Ok(KnownBlindSpot { scope: row.text(0)?, cause: row.text(1)?, message: row.text(2)? })
    })
}

/// Writes ids that a page met, as bytes of a bitmap.
pub fn add_listed_ids(sql: &mut Sql<'_>, job: JobId, number: i64, page: i64, ids: &[u8]) -> Result<()> {
    let values = [Value::Int(job.0), Value::Int(number), Value::Int(page), Value::OptBytes(Some(ids))];
    sql.execute(&queries::LISTED_IDS_ADD, &values)?;
    Ok(())
}

/// Bitmaps of a run, as they were written.
pub fn listed_ids(sql: &mut Sql<'_>, job: JobId, number: i64) -> Result<Vec<Vec<u8>>> {
    sql.query(&queries::LISTED_IDS_LIST, &[Value::Int(job.0), Value::Int(number)], |row| {
        Ok(row.opt_bytes(0)?.unwrap_or_default())
    })
}

/// Keeps the ids whose removal is held, as bytes of a bitmap.
pub fn hold(sql: &mut Sql<'_>, job: JobId, number: i64, ids: &[u8]) -> Result<()> {
    sql.execute(&queries::RUN_HOLD, &[Value::Int(job.0), Value::Int(number), Value::OptBytes(Some(ids))])?;
    Ok(())
}

/// Fewer removals stay held than `seen`, which was read in this transaction.
///
/// # Errors
/// `Conflict` where another transaction has changed since what is held; what the database says.
pub fn hold_on(sql: &mut Sql<'_>, job: JobId, number: i64, seen: &[u8], left: &[u8]) -> Result<()> {
    let (seen, left) = (Value::OptBytes(Some(seen)), Value::OptBytes(Some(left)));
    match sql.execute(&queries::RUN_HOLD_ON, &[Value::Int(job.0), Value::Int(number), seen, left])? {
        0 => Err(StoreError::Conflict(format!("what run {number} holds was changed meanwhile"))),
        _ => Ok(()),
    }
}

/// The held set of a run, if it still holds one.
pub fn held(sql: &mut Sql<'_>, job: JobId, number: i64) -> Result<Option<Vec<u8>>> {
    let found =
        sql.one(&queries::RUN_HELD, &[Value::Int(job.0), Value::Int(number)], |row| row.opt_bytes(0))?;
    Ok(found.flatten())
}

/// The held set of a run is not held any more; false when it was not.
pub fn release(sql: &mut Sql<'_>, job: JobId, number: i64, how: GuardState) -> Result<bool> {
    Ok(sql.execute(
        &queries::RUN_RELEASE,
        &[Value::Int(job.0), Value::Int(number), Value::Text(how.as_str())],
    )? == 1)
}

/// Adds removals that were confirmed to the counters of the run that had held them.
pub fn count_removed(sql: &mut Sql<'_>, job: JobId, number: i64, removed: u64) -> Result<()> {
    let of_run = [Value::Int(job.0), Value::Int(number)];
    let counts = sql.one(&queries::RUN_COUNTS, &of_run, |row| row.opt_text(0))?.flatten();
    let mut counts: RunCounts =
        counts.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    counts.deleted += removed;
    let text = serde_json::to_string(&counts).unwrap_or_default();
    sql.execute(&queries::RUN_COUNT, &[Value::Int(job.0), Value::Int(number), Value::Text(&text)])?;
    Ok(())
}

/// Ends a run with its counters as JSON.
pub fn end(
    sql: &mut Sql<'_>,
    job: JobId,
    number: i64,
    now: i64,
    outcome: RunOutcome,
    counts: &str,
    error: Option<&str>,
) -> Result<()> {
    let values = [
        Value::Int(job.0),
        Value::Int(number),
        Value::Int(now),
        Value::Text(outcome.as_str()),
        Value::Text(counts),
        Value::OptText(error),
    ];
    sql.execute(&queries::RUN_END, &values)?;
    Ok(())
}

/// Jobs none of whose runs has ended well yet: what outputs hold of them is not whole.
pub fn unfinished(sql: &mut Sql<'_>) -> Result<Vec<JobId>> {
    sql.query(&queries::RUN_UNFINISHED, &[], |row| Ok(JobId(row.int(0)?)))
}

/// The latest run of each of these jobs that has had one.
pub fn last(sql: &mut Sql<'_>, jobs: &[i64]) -> Result<HashMap<JobId, Run>> {
    let row = |row: &Row<'_>| Ok((JobId(row.int(0)?), read_from(row, 1)?));
    Ok(sql.query(&queries::RUN_LAST, &[Value::Ints(jobs)], row)?.into_iter().collect())
}

/// The latest run that ended well, of those that are kept.
pub fn last_good(sql: &mut Sql<'_>, job: JobId) -> Result<Option<Run>> {
    sql.one(&queries::RUN_LAST_GOOD, &[Value::Int(job.0)], read)
}

/// The latest runs, newest first.
pub fn list(sql: &mut Sql<'_>, job: JobId, most: usize) -> Result<Vec<Run>> {
    sql.query(&queries::RUN_LIST, &[Value::Int(job.0), Value::Int(most as i64)], read)
}

/// A run that found the same as the one after it is not kept beside that.
pub fn fold(sql: &mut Sql<'_>, job: JobId, number: i64) -> Result<()> {
    sql.execute(&queries::RUN_FOLD, &[Value::Int(job.0), Value::Int(number)])?;
    Ok(())
}

/// A pass is about to remove so many documents at a time; what is older than the window of the guard is forgotten.
pub fn note_removed(sql: &mut Sql<'_>, job: JobId, now: i64, documents: u64) -> Result<()> {
    let old = Value::Int(minute(now - limits::GUARD_WINDOW_MS));
    sql.execute(&queries::REMOVED_DROP, &[Value::Int(job.0), old])?;
    if documents > 0 {
        let documents = i64::try_from(documents).unwrap_or(i64::MAX);
        let values = [Value::Int(job.0), Value::Int(minute(now)), Value::Int(documents)];
        sql.execute(&queries::REMOVED_NOTE, &values)?;
    }
    Ok(())
}

/// How many documents passes of a job have removed since a time.
pub fn removed_since(sql: &mut Sql<'_>, job: JobId, since: i64) -> Result<u64> {
    let sum =
        sql.one(&queries::REMOVED_SUM, &[Value::Int(job.0), Value::Int(minute(since))], |row| row.int(0))?;
    Ok(u64::try_from(sum.unwrap_or_default()).unwrap_or_default())
}

/// A person has said that what passes remove may go: it is counted from nothing.
pub fn forget_removed(sql: &mut Sql<'_>, job: JobId) -> Result<()> {
    sql.execute(&queries::REMOVED_DROP, &[Value::Int(job.0), Value::Int(i64::MAX)])?;
    Ok(())
}

fn minute(at: i64) -> i64 {
    at.div_euclid(60_000)
}
