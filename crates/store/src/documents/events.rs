//! Events: names by which visits wait for each other, and the documents that wait (`docs/decisions/0038-events.md`).
//!
//! A row stands for an event that is pending; without one it counts as completed. They are freed when a process takes over the work, and by nothing else
//! but their owners and a person: no row has a time at which it ends.

use ingather_model::ids::JobId;

use crate::db::{Row, Sql, Value};
use crate::error::Result;
use crate::failpoints::{Failpoint, failpoint};
use crate::queries;

/// Who begins an event.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    /// The job.
    pub job: JobId,
    /// Its document.
    pub document: i64,
    /// The process, as its lease names it.
    pub process: &'a str,
}

/// An event that is pending, for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Its name.
    pub name: String,
    /// Name of the job that began it; empty where that is gone.
    pub job: String,
    /// Name of the document whose visit did; empty where that is gone.
    pub document: String,
    /// When, milliseconds since 1970 UTC.
    pub taken_at: i64,
    /// How many documents wait for it.
    pub waiting: u64,
}

/// Begins an event; false where it is pending.
///
/// # Errors
/// What the database says.
pub fn begin(sql: &mut Sql<'_>, name: &str, holder: Holder<'_>, now: i64) -> Result<bool> {
    let values = [
        Value::Text(name),
        Value::Int(holder.job.0),
        Value::Int(holder.document),
        Value::Text(holder.process),
        Value::Int(now),
    ];
    let is_mine = sql.execute(&queries::EVENT_BEGIN, &values)? == 1;
    Ok(is_mine || failpoint(Failpoint::EventOfTwoOwners))
}

/// Completes an event; false where it was not pending.
///
/// # Errors
/// What the database says.
pub fn complete(sql: &mut Sql<'_>, name: &str) -> Result<bool> {
    Ok(sql.execute(&queries::EVENT_COMPLETE, &[Value::Text(name)])? == 1)
}

/// The job that holds an event; none where it is not pending.
///
/// # Errors
/// What the database says.
pub fn holder(sql: &mut Sql<'_>, name: &str) -> Result<Option<JobId>> {
    Ok(sql.one(&queries::EVENT_HOLDER, &[Value::Text(name)], |row| row.int(0))?.map(JobId))
}

/// Completes all events: a process takes over the work, so whoever began them is dead.
pub(crate) fn free_all(sql: &mut Sql<'_>) -> Result<()> {
    if !failpoint(Failpoint::EventsOutliveTheirProcess) {
        sql.execute(&queries::EVENT_FREE_ALL, &[])?;
    }
    Ok(())
}

/// Completes the events of a process that ends.
pub(crate) fn leave(sql: &mut Sql<'_>, process: &str) -> Result<()> {
    sql.execute(&queries::EVENT_LEAVE, &[Value::Text(process)])?;
    Ok(())
}

fn pending(row: &Row<'_>) -> Result<Pending> {
    Ok(Pending {
        name: row.text(0)?,
        job: row.text(1)?,
        document: row.text(2)?,
        taken_at: row.int(3)?,
        waiting: row.int(4)? as u64,
    })
}

/// Events that are pending, the oldest first, at most so many.
///
/// # Errors
/// What the database says.
pub fn list(sql: &mut Sql<'_>, most: usize) -> Result<Vec<Pending>> {
    sql.query(&queries::EVENT_LIST, &[Value::Int(most as i64)], pending)
}

/// Events that documents of a job wait for, with how many of its own do; the oldest first, at most so many.
///
/// # Errors
/// What the database says.
pub fn awaited(sql: &mut Sql<'_>, job: JobId, most: usize) -> Result<Vec<Pending>> {
    sql.query(&queries::EVENT_AWAITED, &[Value::Int(job.0), Value::Int(most as i64)], pending)
}

/// Until when a document has a prerequisite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasts {
    /// As long as references say so.
    Always,
    /// Until its next visit is over, which puts itself off by that.
    Once,
}

impl Lasts {
    fn once(self) -> i64 {
        i64::from(self == Lasts::Once)
    }
}

/// Documents of a job are not visited while an event is pending: `(document, event)`.
///
/// # Errors
/// What the database says.
pub fn require(sql: &mut Sql<'_>, job: JobId, rows: &[(i64, &str)], lasts: Lasts) -> Result<()> {
    for (document, event) in rows {
        let values = [Value::Int(*document), Value::Text(event), Value::Int(job.0), Value::Int(lasts.once())];
        sql.execute(&queries::PREREQUISITE_PUT, &values)?;
    }
    Ok(())
}

/// These documents have no prerequisites of that kind any more.
///
/// # Errors
/// What the database says.
pub fn drop_prerequisites(sql: &mut Sql<'_>, ids: &[i64], lasts: Lasts) -> Result<()> {
    if !ids.is_empty() {
        sql.execute(&queries::PREREQUISITE_DROP, &[Value::Ints(ids), Value::Int(lasts.once())])?;
    }
    Ok(())
}

/// Documents of a job that have prerequisites, pending or not, after `after`, by id.
///
/// # Errors
/// What the database says.
pub fn with_prerequisites(sql: &mut Sql<'_>, job: JobId, after: i64, most: usize) -> Result<Vec<i64>> {
    let values = [Value::Int(job.0), Value::Int(after), Value::Int(most as i64)];
    sql.query(&queries::PREREQUISITE_OF_JOB, &values, |row| row.int(0))
}

/// Which of these documents wait for an event that is pending: `(document, event)`.
///
/// # Errors
/// What the database says.
pub fn waiting(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<(i64, String)>> {
    sql.query(&queries::PREREQUISITE_PENDING, &[Value::Ints(ids)], |row| Ok((row.int(0)?, row.text(1)?)))
}
