//! What documents hand down to those that they lead to, as texts that only the engine reads.

use std::collections::BTreeSet;

use ingather_model::ids::JobId;
use ingather_model::limits;

use crate::db::{Sql, Value};
use crate::error::Result;
use crate::queries;
use crate::queue::{self, VisitReason, VisitRequest};

/// What one document hands down to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandedDown {
    /// The document that hands it down.
    pub parent: i64,
    /// The one that it leads to.
    pub child: i64,
    /// That.
    pub data: String,
}

/// What these documents of a job hand down.
///
/// # Errors
/// What the database says.
pub fn by(sql: &mut Sql<'_>, job: JobId, parents: &[i64]) -> Result<Vec<HandedDown>> {
    let values = [Value::Int(job.0), Value::Ints(parents)];
    sql.query(&queries::HANDED_DOWN_BY, &values, |row| {
        Ok(HandedDown { parent: row.int(0)?, child: row.int(1)?, data: row.text(2)? })
    })
}

/// What is handed down to a document, by at most [`limits::HANDED_DOWN_PARENTS_MAX`] that lead to it: those that were found first.
///
/// # Errors
/// What the database says.
pub fn to(sql: &mut Sql<'_>, child: i64) -> Result<Vec<String>> {
    let values = [Value::Int(child), Value::Int(limits::HANDED_DOWN_PARENTS_MAX as i64)];
    sql.query(&queries::HANDED_DOWN_TO, &values, |row| row.text(0))
}

/// Documents of a job that hand something down, after one, by id.
///
/// # Errors
/// What the database says.
pub fn parents(sql: &mut Sql<'_>, job: JobId, after: i64, most: usize) -> Result<Vec<i64>> {
    let values = [Value::Int(job.0), Value::Int(after), Value::Int(most as i64)];
    sql.query(&queries::HANDED_DOWN_PARENTS, &values, |row| row.int(0))
}

/// Hands something down, in place of what was handed down before.
///
/// # Errors
/// What the database says.
pub fn put(sql: &mut Sql<'_>, job: JobId, rows: &[HandedDown]) -> Result<()> {
    for HandedDown { parent, child, data } in rows {
        let values = [Value::Int(*child), Value::Int(*parent), Value::Int(job.0), Value::Text(data)];
        sql.execute(&queries::HANDED_DOWN_PUT, &values)?;
    }
    Ok(())
}

/// Hands nothing down any more: `(child, parent)`.
///
/// # Errors
/// What the database says.
pub fn remove(sql: &mut Sql<'_>, rows: &[(i64, i64)]) -> Result<()> {
    for (child, parent) in rows {
        sql.execute(&queries::HANDED_DOWN_REMOVE, &[Value::Int(*child), Value::Int(*parent)])?;
    }
    Ok(())
}

/// These documents of a job hand nothing down any more: those that they handed something to.
///
/// # Errors
/// What the database says.
pub fn remove_by(sql: &mut Sql<'_>, job: JobId, parents: &[i64]) -> Result<BTreeSet<i64>> {
    let children: BTreeSet<i64> = by(sql, job, parents)?.into_iter().map(|row| row.child).collect();
    if !children.is_empty() {
        sql.execute(&queries::HANDED_DOWN_REMOVE_BY, &[Value::Int(job.0), Value::Ints(parents)])?;
    }
    Ok(children)
}

/// Documents are gone: nothing is handed down to them, and those that they handed something to are visited again.
pub(crate) fn forget(sql: &mut Sql<'_>, job: JobId, gone: &[i64]) -> Result<()> {
    let mut children = remove_by(sql, job, gone)?;
    sql.execute(&queries::HANDED_DOWN_REMOVE_TO, &[Value::Ints(gone)])?;
    children.retain(|id| !gone.contains(id));
    let requests: Vec<VisitRequest> = children
        .into_iter()
        .map(|document| VisitRequest { document, due: queue::DUE_NEXT_RUN, reason: VisitReason::Changed })
        .collect();
    if requests.is_empty() { Ok(()) } else { queue::enqueue(sql, job, 0, &requests) }
}
