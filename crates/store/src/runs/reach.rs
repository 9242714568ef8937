//! Runs that follow links: what one goes by, and what the next one takes over from it (service P6).

use ingather_model::ids::{Digest, JobId};
use ingather_model::job::RunKind;
use ingather_model::lifecycle::outcome::RunOutcome;

use crate::db::{Sql, Value};
use crate::error::Result;
use crate::queries;

/// How far a run has come that another one may go on with.
#[derive(Clone, Copy, Debug)]
pub struct Unfinished {
    /// Digest of all that it goes by; none where no other run goes on with it.
    pub basis: Option<Digest>,
    /// When all its seeds had been named, milliseconds since 1970 UTC.
    pub seeded_at: Option<i64>,
    /// When it began.
    pub started_at: i64,
    /// How it ended; none where its process died.
    pub outcome: Option<RunOutcome>,
    /// How it looked at its source.
    pub kind: RunKind,
}

/// What a run goes by. None: no other run goes on with it.
///
/// # Errors
/// What the database says.
pub fn go_by(sql: &mut Sql<'_>, job: JobId, number: i64, basis: Option<Digest>) -> Result<()> {
    let values = [Value::Int(job.0), Value::Int(number), Value::OptInt(basis.map(|basis| basis.0))];
    sql.execute(&queries::RUN_GO_BY, &values)?;
    Ok(())
}

/// All seeds of a run have been named.
///
/// # Errors
/// What the database says.
pub fn seeded(sql: &mut Sql<'_>, job: JobId, number: i64, at: i64) -> Result<()> {
    sql.execute(&queries::RUN_SEEDED, &[Value::Int(job.0), Value::Int(number), Value::Int(at)])?;
    Ok(())
}

/// How far a run has come.
///
/// # Errors
/// What the database says.
pub fn find(sql: &mut Sql<'_>, job: JobId, number: i64) -> Result<Option<Unfinished>> {
    sql.one(&queries::RUN_BASIS, &[Value::Int(job.0), Value::Int(number)], |row| {
        Ok(Unfinished {
            basis: row.opt_int(0)?.map(Digest),
            seeded_at: row.opt_int(1)?,
            started_at: row.int(2)?,
            outcome: row.opt_word(3, RunOutcome::parse)?,
            kind: row.word(4, RunKind::parse)?,
        })
    })
}

/// What one run has met counts as met by the one that goes on with it. Before that one is opened: marks of earlier runs go then.
///
/// # Errors
/// What the database says.
pub fn take_over(sql: &mut Sql<'_>, job: JobId, from: i64, by: i64) -> Result<()> {
    let values = [Value::Int(job.0), Value::Int(from), Value::Int(by)];
    sql.execute(&queries::LISTED_IDS_TAKE_OVER, &values)?;
    Ok(())
}

/// What a run has met is written anew, all of it in one.
///
/// # Errors
/// What the database says.
pub fn rewrite_marks(sql: &mut Sql<'_>, job: JobId, number: i64, ids: &[u8]) -> Result<()> {
    sql.execute(&queries::LISTED_IDS_CLEAR, &[Value::Int(job.0), Value::Int(number)])?;
    super::add_listed_ids(sql, job, number, 0, ids)
}
