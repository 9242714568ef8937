//! Compounds: records that others are in. A record is in as many of them as its client says; they are known by their keys, whether they were pushed or not.

use ingather_model::ids::JobId;
use ingather_model::key::DocumentKey;

use crate::db::{Column, Sql, Value};
use crate::error::Result;
use crate::queries;

/// Records are in compounds, as a delta run says, or somebody outside of one, 0: `(document, key of the compound)`.
///
/// # Errors
/// What the database says.
pub fn put(sql: &mut Sql<'_>, job: JobId, parents: &[(i64, DocumentKey)], epoch: i64) -> Result<()> {
    if parents.is_empty() {
        return Ok(());
    }
    let ints = |field: fn(&(i64, DocumentKey)) -> i64| parents.iter().map(field).collect::<Vec<i64>>();
    let columns = [
        Column::Ints(&ints(|(document, _)| *document)),
        Column::Same(job.0),
        Column::Ints(&ints(|(_, key)| key.parent_hash)),
        Column::Ints(&ints(|(_, key)| key.key_hash)),
        Column::Same(epoch),
    ];
    sql.execute_many(&queries::RECORD_PARENT_PUT, &columns)?;
    Ok(())
}

/// Records are in no compound any more.
///
/// # Errors
/// What the database says.
pub fn remove(sql: &mut Sql<'_>, documents: &[i64]) -> Result<()> {
    if !documents.is_empty() {
        sql.execute(&queries::RECORD_PARENT_REMOVE, &[Value::Ints(documents)])?;
    }
    Ok(())
}

/// What is in compounds, by their documents, one level deep.
///
/// # Errors
/// What the database says.
pub fn children(sql: &mut Sql<'_>, compounds: &[i64]) -> Result<Vec<i64>> {
    sql.query(&queries::RECORD_PARENT_CHILDREN, &[Value::Ints(compounds)], |row| row.int(0))
}

/// What is in one compound, by its key, one level deep: a page of it, after a document.
///
/// # Errors
/// What the database says.
pub fn children_of(
    sql: &mut Sql<'_>,
    job: JobId,
    key: DocumentKey,
    (after, most): (i64, usize),
) -> Result<Vec<i64>> {
    let values = [
        Value::Int(job.0),
        Value::Int(key.parent_hash),
        Value::Int(key.key_hash),
        Value::Int(after),
        Value::Int(most as i64),
    ];
    sql.query(&queries::RECORD_PARENT_CHILDREN_OF, &values, |row| row.int(0))
}

/// Those of keys in which something is.
///
/// # Errors
/// What the database says.
pub fn with_children(sql: &mut Sql<'_>, job: JobId, keys: &[DocumentKey]) -> Result<Vec<DocumentKey>> {
    let hashes: Vec<i64> = keys.iter().map(|key| key.key_hash).collect();
    let values = [Value::Int(job.0), Value::Ints(&hashes)];
    let mut found = sql.query(&queries::RECORD_PARENT_WITH_CHILDREN, &values, |row| {
        Ok(DocumentKey { parent_hash: row.int(0)?, key_hash: row.int(1)? })
    })?;
    found.retain(|key| keys.contains(key));
    Ok(found)
}

/// Records are in a compound no more.
///
/// # Errors
/// What the database says.
pub fn let_go(sql: &mut Sql<'_>, key: DocumentKey, documents: &[i64]) -> Result<()> {
    let values = [Value::Ints(documents), Value::Int(key.parent_hash), Value::Int(key.key_hash)];
    sql.execute(&queries::RECORD_PARENT_LET_GO, &values)?;
    Ok(())
}

/// Compounds were deleted: what is in them is in them no more, unless it was pushed behind a ticket, or a delta run was told that it is.
///
/// # Errors
/// What the database says.
pub fn leave(sql: &mut Sql<'_>, compounds: &[i64], (ticket, epoch): (i64, i64)) -> Result<()> {
    let values = [Value::Ints(compounds), Value::Int(ticket), Value::Int(epoch)];
    sql.execute(&queries::RECORD_PARENT_LEAVE, &values)?;
    Ok(())
}

/// A record in a compound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The record.
    pub document: i64,
    /// The key of the compound.
    pub key: DocumentKey,
    /// The compound; none where it is no document.
    pub compound: Option<i64>,
    /// It was deleted.
    pub is_deleted: bool,
}

/// The compounds that records are in.
///
/// # Errors
/// What the database says.
pub fn parents(sql: &mut Sql<'_>, documents: &[i64]) -> Result<Vec<Parent>> {
    sql.query(&queries::RECORD_PARENT_PARENTS, &[Value::Ints(documents)], |row| {
        Ok(Parent {
            document: row.int(0)?,
            key: DocumentKey { parent_hash: row.int(1)?, key_hash: row.int(2)? },
            compound: row.opt_int(3)?,
            is_deleted: row.int(4)? == 0,
        })
    })
}

/// A delta run has met compounds anew, and what is in them: of their children those that it has not met are in them no more, nor those that it was told to be
/// elsewhere. `is_met`: whether it has met a document.
///
/// # Errors
/// What the database says.
pub fn prune(sql: &mut Sql<'_>, compounds: &[i64], epoch: i64, is_met: impl Fn(i64) -> bool) -> Result<()> {
    let (met, mut going): (Vec<i64>, Vec<i64>) =
        children(sql, compounds)?.into_iter().partition(|child| is_met(*child));
    if !met.is_empty() {
        let values = [Value::Ints(&met), Value::Int(epoch)];
        going.extend(sql.query(&queries::RECORD_PARENT_TOLD, &values, |row| row.int(0))?);
    }
    if !going.is_empty() {
        let values = [Value::Ints(compounds), Value::Int(epoch), Value::Ints(&going)];
        sql.execute(&queries::RECORD_PARENT_PRUNE, &values)?;
    }
    Ok(())
}

/// A delta run in which compounds were pushed is finished: their hashes count.
///
/// # Errors
/// What the database says.
pub fn settle_hashes(sql: &mut Sql<'_>, compounds: &[i64]) -> Result<()> {
    sql.execute(&queries::RECORD_SETTLE_HASHES, &[Value::Ints(compounds)])?;
    Ok(())
}
