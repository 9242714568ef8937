//! When documents of continuous jobs are looked at again, and when they expire (decision 0039). A row that is lost costs a look: what has none is
//! looked at by the next pass that proves what is there.

use std::collections::HashMap;

use ingather_model::ids::{Digest, JobId};
use ingather_model::job::dates::{Action, Seen};

use crate::db::{Column, Row, Sql, Value};
use crate::error::Result;
use crate::queries;

/// An origin that nobody knows, and an expiration that never comes.
const NEVER: i64 = i64::MAX;

/// What is to be done next with a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextLook {
    /// The document.
    pub document: i64,
    /// When, milliseconds since 1970 UTC.
    pub due: i64,
    /// What.
    pub action: Action,
    /// What was seen of it.
    pub seen: Seen,
}

/// Keeps the dates of documents of a job, in place of those of before.
///
/// # Errors
/// What the database says.
pub fn put(sql: &mut Sql<'_>, job: JobId, rows: &[NextLook]) -> Result<()> {
    let ints = |field: fn(&NextLook) -> i64| rows.iter().map(field).collect::<Vec<i64>>();
    let actions: Vec<&str> = rows.iter().map(|row| row.action.as_str()).collect();
    let columns = [
        Column::Ints(&ints(|row| row.document)),
        Column::Same(job.0),
        Column::Ints(&ints(|row| row.due)),
        Column::Texts(&actions),
        Column::Ints(&ints(|row| row.seen.since)),
        Column::Ints(&ints(|row| row.seen.changes)),
        Column::Ints(&ints(|row| row.seen.origin.unwrap_or(NEVER))),
        Column::Ints(&ints(|row| row.seen.expires.unwrap_or(NEVER))),
    ];
    sql.execute_many(&queries::NEXT_LOOK_PUT, &columns)?;
    Ok(())
}

/// What was seen of documents; those that have no date are left out.
///
/// # Errors
/// What the database says.
pub fn seen(sql: &mut Sql<'_>, ids: &[i64]) -> Result<HashMap<i64, Seen>> {
    let read = |row: &Row<'_>| {
        let (origin, expires) = (Some(row.int(3)?), Some(row.int(4)?));
        let [origin, expires] = [origin, expires].map(|at| at.filter(|at| *at != NEVER));
        Ok((row.int(0)?, Seen { since: row.int(1)?, changes: row.int(2)?, origin, expires }))
    };
    Ok(sql.query(&queries::NEXT_LOOK_GET, &[Value::Ints(ids)], read)?.into_iter().collect())
}

/// When a document is looked at next, milliseconds since 1970 UTC; none where nothing says so.
///
/// # Errors
/// What the database says.
pub fn next_look(sql: &mut Sql<'_>, document: i64) -> Result<Option<i64>> {
    let due = sql.one(&queries::NEXT_LOOK_OF, &[Value::Int(document)], |row| row.int(0))?;
    Ok(due.filter(|due| *due != NEVER))
}

/// These documents have no date any more.
///
/// # Errors
/// What the database says.
pub fn remove(sql: &mut Sql<'_>, ids: &[i64]) -> Result<()> {
    sql.execute(&queries::NEXT_LOOK_REMOVE, &[Value::Ints(ids)])?;
    Ok(())
}

/// No document of a job has one: it is not continuous any more.
///
/// # Errors
/// What the database says.
pub fn leave(sql: &mut Sql<'_>, job: JobId) -> Result<()> {
    sql.execute(&queries::NEXT_LOOK_LEAVE, &[Value::Int(job.0)])?;
    Ok(())
}

/// Documents of a job whose dates have come `by` a time: `(due, document, action)`, in this order, behind the pair `after`.
///
/// # Errors
/// What the database says.
pub fn due(
    sql: &mut Sql<'_>,
    job: JobId,
    (after, by): ((i64, i64), i64),
    most: usize,
) -> Result<Vec<(i64, i64, Action)>> {
    let values = [
        Value::Int(job.0),
        Value::Int(after.0),
        Value::Int(after.1),
        Value::Int(by),
        Value::Int(most as i64),
    ];
    sql.query(&queries::NEXT_LOOK_DUE, &values, |row| {
        Ok((row.int(0)?, row.int(1)?, row.word(2, Action::parse)?))
    })
}

/// When the first date of a job comes beyond a time.
///
/// # Errors
/// What the database says.
pub fn first(sql: &mut Sql<'_>, job: JobId, after: i64) -> Result<Option<i64>> {
    let values = [Value::Int(job.0), Value::Int(after)];
    Ok(sql.one(&queries::NEXT_LOOK_FIRST, &values, |row| row.opt_int(0))?.flatten())
}

/// Those of these documents that nobody looks at now: their date comes after `now`, or they expire, or have expired.
///
/// # Errors
/// What the database says.
pub fn resting(sql: &mut Sql<'_>, ids: &[i64], now: i64) -> Result<Vec<i64>> {
    let mut resting =
        sql.query(&queries::NEXT_LOOK_RESTING, &[Value::Ints(ids), Value::Int(now)], |row| row.int(0))?;
    resting.extend(sql.query(&queries::FAILURE_EXPIRED, &[Value::Ints(ids)], |row| row.int(0))?);
    Ok(resting)
}

/// By what everything of a job was looked at last; none: it never was, or by nothing that is known.
///
/// # Errors
/// What the database says.
pub fn looked(sql: &mut Sql<'_>, job: JobId) -> Result<Option<Digest>> {
    Ok(sql.one(&queries::JOB_LOOKED, &[Value::Int(job.0)], |row| row.opt_int(0))?.flatten().map(Digest))
}

/// Everything of a job was looked at by this.
///
/// # Errors
/// What the database says.
pub fn note_looked(sql: &mut Sql<'_>, job: JobId, by: Digest) -> Result<()> {
    sql.execute(&queries::JOB_NOTE_LOOKED, &[Value::Int(job.0), Value::Int(by.0)])?;
    Ok(())
}
