//! What became of single documents, run by run; and from when on all of it is known.

use ingather_model::ids::JobId;
use ingather_model::job::history::{HistoryKind, HistoryOutcome};

use super::Run;
use crate::db::{Column, Row, Sql, Value};
use crate::error::Result;
use crate::queries;

/// What became of a document, to be noted.
#[derive(Clone, Copy, Debug)]
pub struct Noted<'a> {
    /// The document.
    pub document: i64,
    /// What became of it.
    pub outcome: HistoryOutcome,
    /// Stable word for why; empty where all went well.
    pub code: &'a str,
    /// Its name in the job.
    pub name: &'a str,
    /// The same as `code`, as a sentence.
    pub message: &'a str,
    /// Bytes that were read of it.
    pub bytes: i64,
}

impl<'a> Noted<'a> {
    /// What needs no reason, and read nothing.
    pub fn of(document: i64, name: &'a str, outcome: HistoryOutcome) -> Noted<'a> {
        Noted { document, outcome, code: "", name, message: "", bytes: 0 }
    }
}

/// What became of a document, as it was noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastDocument {
    /// The job.
    pub job: JobId,
    /// When, milliseconds since 1970 UTC.
    pub at: i64,
    /// The document.
    pub document: i64,
    /// What became of it.
    pub outcome: HistoryOutcome,
    /// Number of the run in the job.
    pub run: i64,
    /// Stable word for why; empty where all went well.
    pub code: String,
    /// Its name in the job.
    pub name: String,
    /// Why, as a sentence.
    pub message: String,
    /// Bytes that were read of it.
    pub bytes: i64,
}

impl PastDocument {
    /// The place of this one: what comes next in a list is before it.
    pub fn place(&self) -> Place {
        Place {
            at: self.at,
            job: self.job.0,
            document: self.document,
            outcome: self.outcome.as_str().to_owned(),
        }
    }
}

/// A place between what is noted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// When.
    pub at: i64,
    /// The job.
    pub job: i64,
    /// The document.
    pub document: i64,
    /// The word of its outcome.
    pub outcome: String,
}

impl Place {
    /// The place behind all that was noted before a time.
    pub fn before(at: i64) -> Place {
        Place { at, job: i64::MIN, document: i64::MIN, outcome: String::new() }
    }
}

/// Notes what became of documents in a run of a job.
pub fn note(sql: &mut Sql<'_>, job: JobId, run: i64, at: i64, rows: &[Noted<'_>]) -> Result<()> {
    let ints = |field: fn(&Noted<'_>) -> i64| rows.iter().map(field).collect::<Vec<i64>>();
    let texts = |field: for<'n> fn(&Noted<'n>) -> &'n str| rows.iter().map(field).collect::<Vec<&str>>();
    sql.execute_many(
        &queries::HISTORY_ADD,
        &[
            Column::Same(job.0),
            Column::Same(at),
            Column::Ints(&ints(|row| row.document)),
            Column::Texts(&texts(|row| row.outcome.as_str())),
            Column::Same(run),
            Column::Texts(&texts(|row| row.code)),
            Column::Texts(&texts(|row| row.name)),
            Column::Texts(&texts(|row| row.message)),
            Column::Ints(&ints(|row| row.bytes)),
        ],
    )?;
    Ok(())
}

/// What became of documents of a job, or of all, since a time and before a place, the latest first.
pub fn list(
    sql: &mut Sql<'_>,
    job: Option<JobId>,
    from: i64,
    before: &Place,
    most: usize,
) -> Result<Vec<PastDocument>> {
    let most = Value::Int(i64::try_from(most).unwrap_or(i64::MAX));
    let (at, document, outcome) =
        (Value::Int(before.at), Value::Int(before.document), Value::Text(&before.outcome));
    match job {
        Some(job) => {
            let values = [Value::Int(job.0), Value::Int(from), at, document, outcome, most];
            sql.query(&queries::HISTORY_LIST, &values, read)
        }
        None => {
            let values = [Value::Int(from), at, Value::Int(before.job), document, outcome, most];
            sql.query(&queries::HISTORY_LIST_ALL, &values, read)
        }
    }
}

fn read(row: &Row<'_>) -> Result<PastDocument> {
    Ok(PastDocument {
        job: JobId(row.int(0)?),
        at: row.int(1)?,
        document: row.int(2)?,
        outcome: row.word(3, HistoryOutcome::parse)?,
        run: row.int(4)?,
        code: row.text(5)?,
        name: row.text(6)?,
        message: row.text(7)?,
        bytes: row.int(8)?,
    })
}

/// A run with its job.
#[derive(Clone, Debug)]
pub struct PastRun {
    /// The job.
    pub job: JobId,
    /// The run.
    pub run: Run,
}

/// A place between runs: when one began, of which job, with which number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunPlace {
    /// When it began.
    pub at: i64,
    /// The job.
    pub job: i64,
    /// Its number.
    pub number: i64,
}

/// Runs of all jobs that began since a time and before a place, the latest first.
pub fn runs(sql: &mut Sql<'_>, from: i64, before: RunPlace, most: usize) -> Result<Vec<PastRun>> {
    let values = [
        Value::Int(from),
        Value::Int(before.at),
        Value::Int(before.job),
        Value::Int(before.number),
        Value::Int(i64::try_from(most).unwrap_or(i64::MAX)),
    ];
    sql.query(&queries::RUN_PAST, &values, read_run)
}

/// Runs of one job that began since a time, before one with this number, the latest first.
pub fn runs_of_job(
    sql: &mut Sql<'_>,
    job: JobId,
    from: i64,
    before: i64,
    most: usize,
) -> Result<Vec<PastRun>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let values = [Value::Int(job.0), Value::Int(from), Value::Int(before), Value::Int(most)];
    sql.query(&queries::RUN_PAST_OF_JOB, &values, read_run)
}

fn read_run(row: &Row<'_>) -> Result<PastRun> {
    Ok(PastRun { job: JobId(row.int(10)?), run: super::read(row)? })
}

/// Forgets so many of the oldest documents in the history of a job from before a time; how many.
pub fn forget(sql: &mut Sql<'_>, job: JobId, before: i64, most: i64) -> Result<u64> {
    sql.execute(&queries::HISTORY_FORGET, &[Value::Int(job.0), Value::Int(before), Value::Int(most)])
}

/// When the document was noted that has so many later ones in the history of its job; none with fewer.
pub fn nth(sql: &mut Sql<'_>, job: JobId, later: i64) -> Result<Option<i64>> {
    sql.one(&queries::HISTORY_NTH, &[Value::Int(job.0), Value::Int(later)], |row| row.int(0))
}

/// When the oldest document was noted of a job, and when its oldest run began, of those that are on record.
pub fn oldest(sql: &mut Sql<'_>, job: JobId) -> Result<(Option<i64>, Option<i64>)> {
    let of = [Value::Int(job.0)];
    let document = sql.one(&queries::HISTORY_OLDEST, &of, |row| row.int(0))?;
    Ok((document, sql.one(&queries::RUN_OLDEST, &of, |row| row.int(1))?))
}

/// Forgets runs of a job that began before a time, but for the last one that was done and what came after it; how many.
pub fn forget_runs(sql: &mut Sql<'_>, job: JobId, before: i64) -> Result<u64> {
    let forgotten = sql.execute(&queries::RUN_FORGET, &[Value::Int(job.0), Value::Int(before)])?;
    if forgotten > 0 {
        raise(sql, job, HistoryKind::Runs, before)?;
    }
    Ok(forgotten)
}

/// Older runs than those that are on record were forgotten.
pub(super) fn know_runs_from_oldest(sql: &mut Sql<'_>, job: JobId) -> Result<()> {
    let oldest = sql.one(&queries::RUN_OLDEST, &[Value::Int(job.0)], |row| row.int(1))?;
    oldest.map_or(Ok(()), |at| raise(sql, job, HistoryKind::Runs, at))
}

/// From now on it is noted, where it was not before.
pub fn know_from(sql: &mut Sql<'_>, job: JobId, kind: HistoryKind, at: i64) -> Result<()> {
    let values = [Value::Int(job.0), Value::Text(kind.as_str()), Value::Int(at)];
    sql.execute(&queries::HISTORY_FROM_BEGIN, &values).map(drop)
}

/// It is noted no more.
pub(super) fn know_no_more(sql: &mut Sql<'_>, job: JobId, kind: HistoryKind) -> Result<()> {
    sql.execute(&queries::HISTORY_FROM_DROP, &[Value::Int(job.0), Value::Text(kind.as_str())]).map(drop)
}

/// What was before this time is not whole any more.
pub fn raise(sql: &mut Sql<'_>, job: JobId, kind: HistoryKind, at: i64) -> Result<()> {
    let values = [Value::Int(job.0), Value::Text(kind.as_str()), Value::Int(at)];
    let statement = match kind {
        // Only where it is noted at all.
        HistoryKind::Documents => &queries::HISTORY_FROM_RAISE_NOTED,
        HistoryKind::Runs | HistoryKind::Failures => &queries::HISTORY_FROM_RAISE,
    };
    sql.execute(statement, &values).map(drop)
}

/// From when on the histories of jobs are whole.
pub fn known_from(sql: &mut Sql<'_>) -> Result<Vec<(JobId, HistoryKind, i64)>> {
    sql.query(&queries::HISTORY_FROM_LIST, &[], |row| {
        Ok((JobId(row.int(0)?), row.word(1, HistoryKind::parse)?, row.int(2)?))
    })
}
