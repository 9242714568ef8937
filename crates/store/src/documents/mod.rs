//! Documents: what the inventory knows, by key, by id and in key order.

pub mod dates;
pub mod events;
pub mod handed_down;
pub mod inbox;
pub mod links;
pub mod states;

use std::collections::BTreeMap;

use ingather_model::fault::Reason;
use ingather_model::ids::{AclId, ContainerId, Digest, DocumentId, JobId};
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::{FailureKind, VisitReason};
use ingather_model::merge::Known;

use crate::db::{Column, Row, Sql, Value, once_each};
use crate::error::Result;
use crate::queries::{self, Statement};

/// A document that a listing named for the first time.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// Its id, taken with [`take_ids`].
    pub id: DocumentId,
    /// Its key.
    pub key: DocumentKey,
    /// Its name.
    pub name: String,
    /// Version as listed.
    pub version: Digest,
    /// Access version as listed.
    pub access: Digest,
    /// What stays when it is renamed.
    pub identity: i64,
    /// The container that rules it.
    pub container: Option<ContainerId>,
}

/// What a visit found out about a document.
#[derive(Clone, Copy, Debug)]
pub struct DocumentUpdate {
    /// The document.
    pub id: DocumentId,
    /// Version that was read.
    pub version: Digest,
    /// Access version that was read.
    pub access: Digest,
    /// Settings that it went through.
    pub settings: Digest,
    /// What stays when it is renamed.
    pub identity: i64,
    /// Its own acl.
    pub acl_id: Option<AclId>,
    /// The container that rules it.
    pub container: Option<ContainerId>,
    /// Digest of the bytes that what outputs hold is made of ([`Digest::NONE`]: that cannot be told); none: as before.
    pub raw: Option<Digest>,
}

/// A document with its name.
#[derive(Clone, Debug)]
pub struct Stored {
    /// What the inventory holds.
    pub known: Known,
    /// Its name.
    pub name: String,
    /// What stays when it is renamed.
    pub identity: i64,
}

/// A document as lists for people show it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The document.
    pub id: DocumentId,
    /// Its key.
    pub key: DocumentKey,
    /// Its name.
    pub name: String,
    /// Run that wrote it last.
    pub changed_run: i64,
    /// Why it waits for a visit, and until when.
    pub work: Option<(VisitReason, i64)>,
    /// It waits by a row in the queue; a first visit may wait without one.
    pub is_queued: bool,
    /// What is wrong.
    pub failure: Option<(FailureKind, Reason)>,
}

/// Takes `count` fresh numbers of a sort (`document`, `container`, `acl`, `handle`); the first of them.
///
/// # Errors
/// What the database says.
pub fn take_ids(sql: &mut Sql<'_>, sort: &str, count: usize) -> Result<i64> {
    let values = [Value::Text(sort), Value::Int(count as i64)];
    let end = sql.one(&queries::ID_BLOCK_TAKE, &values, |row| row.int(0))?;
    Ok(end.unwrap_or(1) - count as i64)
}

/// The next number of a sort that nobody was given yet.
///
/// # Errors
/// What the database says.
pub fn next_id(sql: &mut Sql<'_>, sort: &str) -> Result<i64> {
    Ok(sql.one(&queries::ID_BLOCK_NEXT, &[Value::Text(sort)], |row| row.int(0))?.unwrap_or(1))
}

/// A document from its columns, from `first` on.
fn known(row: &Row<'_>, first: usize) -> Result<Known> {
    Ok(Known {
        id: DocumentId(row.int(first)?),
        key_hash: row.int(first + 1)?,
        version: Digest(row.int(first + 2)?),
        access: Digest(row.int(first + 3)?),
        settings: Digest(row.int(first + 4)?),
        acl_id: row.opt_int(first + 5)?.map(AclId),
        container: row.opt_int(first + 6)?.map(ContainerId),
        leaving: false,
    })
}

/// All documents of some parents, each with its parent, in no order.
pub fn scan_parents(sql: &mut Sql<'_>, job: JobId, parents: &[i64]) -> Result<Vec<(i64, Known)>> {
    sql.query_each(&queries::DOCUMENT_SCAN_PARENTS, &[Value::Int(job.0)], parents, |row| {
        Ok((row.int(0)?, known(row, 1)?))
    })
}

/// Documents of one parent by key, in no order.
pub fn find(sql: &mut Sql<'_>, job: JobId, parent: i64, key_hash: &[i64]) -> Result<Vec<(i64, Known)>> {
    let values = [Value::Int(job.0), Value::Int(parent), Value::Ints(key_hash)];
    sql.query(&queries::DOCUMENT_FIND, &values, |row| Ok((row.int(0)?, known(row, 1)?)))
}

/// Documents by id, in no order; ids that are gone are left out.
pub fn get(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<Stored>> {
    sql.query(&queries::DOCUMENT_GET, &[Value::Ints(ids)], |row| {
        Ok(Stored { known: known(row, 0)?, name: row.text(7)?, identity: row.int(8)? })
    })
}

/// Digests of the bytes that what outputs hold of documents was made of, by document. Read apart from the rest: most documents
/// are listed as they were, and nobody asks.
pub fn raws(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<(i64, Digest)>> {
    sql.query(&queries::DOCUMENT_RAWS, &[Value::Ints(ids)], |row| Ok((row.int(0)?, Digest(row.int(1)?))))
}

/// Adds documents that a listing named for the first time, and counts them. Each waits for its first visit: no settings
/// are said of it until [`settle`] does.
pub fn add(sql: &mut Sql<'_>, job: JobId, run: i64, documents: &[NewDocument]) -> Result<()> {
    let ints = |field: fn(&NewDocument) -> i64| documents.iter().map(field).collect::<Vec<i64>>();
    let ids = ints(|d| d.id.0);
    let containers: Vec<Option<i64>> =
        documents.iter().map(|d| d.container.map(|container| container.0)).collect();
    let names: Vec<&str> = documents.iter().map(|d| d.name.as_str()).collect();
    sql.execute_many(
        &queries::DOCUMENT_ADD,
        &[
            Column::Ints(&ids),
            Column::Same(job.0),
            Column::Ints(&ints(|d| d.key.parent_hash)),
            Column::Ints(&ints(|d| d.key.key_hash)),
            Column::Ints(&ints(|d| d.version.0)),
            Column::Ints(&ints(|d| d.access.0)),
            Column::Same(Digest::NONE.0),
            Column::Ints(&ints(|d| d.identity)),
            Column::OptInts(&containers),
            Column::Same(run),
        ],
    )?;
    sql.execute_many(&queries::DOCUMENT_TEXT_ADD, &[Column::Ints(&ids), Column::Texts(&names)])?;
    states::count(sql, job, documents.len() as i64)
}

/// Writes what visits found.
pub fn complete(sql: &mut Sql<'_>, run: i64, update: &[DocumentUpdate]) -> Result<()> {
    let ids: Vec<i64> = update.iter().map(|update| update.id.0).collect();
    states::counted(sql, &ids, |sql| write_updates(sql, run, update))
}

/// The same, uncounted.
pub(crate) fn write_updates(sql: &mut Sql<'_>, run: i64, update: &[DocumentUpdate]) -> Result<()> {
    write_by(sql, &queries::DOCUMENT_COMPLETE, run, update).map(|_| ())
}

/// The same for those that no visit has completed before; how many were so.
pub(crate) fn complete_first(sql: &mut Sql<'_>, run: i64, update: &[DocumentUpdate]) -> Result<u64> {
    write_by(sql, &queries::DOCUMENT_COMPLETE_FIRST, run, update)
}

fn write_by(
    sql: &mut Sql<'_>,
    statement: &'static Statement,
    run: i64,
    update: &[DocumentUpdate],
) -> Result<u64> {
    let ints = |field: fn(&DocumentUpdate) -> i64| update.iter().map(field).collect::<Vec<i64>>();
    let acl_ids: Vec<Option<i64>> = update.iter().map(|v| v.acl_id.map(|acl_id| acl_id.0)).collect();
    let containers: Vec<Option<i64>> =
        update.iter().map(|v| v.container.map(|container| container.0)).collect();
    let raws: Vec<Option<i64>> = update.iter().map(|v| v.raw.map(|raw| raw.0)).collect();
    let columns = [
        Column::Ints(&ints(|v| v.id.0)),
        Column::Ints(&ints(|v| v.version.0)),
        Column::Ints(&ints(|v| v.access.0)),
        Column::Ints(&ints(|v| v.settings.0)),
        Column::Ints(&ints(|v| v.identity)),
        Column::OptInts(&acl_ids),
        Column::OptInts(&containers),
        Column::OptInts(&raws),
        Column::Same(run),
    ];
    sql.execute_many(statement, &columns)
}

/// Writes who may see documents, with the intent that tells an output: until it is confirmed, a search asks both. Of two
/// rows for one document the later one stands.
pub fn set_access(sql: &mut Sql<'_>, rows: &[(i64, Option<AclId>, Option<ContainerId>)]) -> Result<()> {
    once_each(rows, |(id, ..)| *id).try_for_each(|rows| {
        let ids: Vec<i64> = rows.iter().map(|(id, ..)| *id).collect();
        let acl_ids: Vec<Option<i64>> =
            rows.iter().map(|(_, acl_id, _)| acl_id.map(|acl_id| acl_id.0)).collect();
        let containers: Vec<Option<i64>> =
            rows.iter().map(|(.., container)| container.map(|container| container.0)).collect();
        let columns = [Column::Ints(&ids), Column::OptInts(&acl_ids), Column::OptInts(&containers)];
        sql.execute_many(&queries::DOCUMENT_ACCESS, &columns).map(|_| ())
    })
}

/// Documents of a job after a key, in key order: key and id.
pub fn walk(
    sql: &mut Sql<'_>,
    job: JobId,
    after: DocumentKey,
    most: usize,
) -> Result<Vec<(DocumentKey, i64)>> {
    let values = [
        Value::Int(job.0),
        Value::Int(after.parent_hash),
        Value::Int(after.key_hash),
        Value::Int(most as i64),
    ];
    sql.query(&queries::DOCUMENT_WALK, &values, |row| {
        Ok((DocumentKey { parent_hash: row.int(0)?, key_hash: row.int(1)? }, row.int(2)?))
    })
}

impl Listed {
    fn read(row: &Row<'_>) -> Result<Listed> {
        let failure = match (row.opt_word(7, FailureKind::parse)?, row.opt_text(8)?, row.opt_text(9)?) {
            (Some(kind), Some(code), Some(message)) => Some((kind, Reason { code, message })),
            _ => None,
        };
        Ok(Listed {
            id: DocumentId(row.int(0)?),
            key: DocumentKey { parent_hash: row.int(1)?, key_hash: row.int(2)? },
            name: row.text(3)?,
            changed_run: row.int(4)?,
            work: row.opt_word(5, VisitReason::parse)?.zip(row.opt_int(6)?),
            failure,
            is_queued: row.opt_int(10)?.is_some(),
        })
    }
}

/// Documents of a job after a key with what is known of them, in key order.
pub fn list(sql: &mut Sql<'_>, job: JobId, after: DocumentKey, most: usize) -> Result<Vec<Listed>> {
    let values = [
        Value::Int(job.0),
        Value::Int(after.parent_hash),
        Value::Int(after.key_hash),
        Value::Int(most as i64),
    ];
    sql.query(&queries::DOCUMENT_LIST, &values, Listed::read)
}

/// Documents of a job after an id whose last visit ended in one way, with what is known of them, in the order of their ids; they may
/// wait for their next visit.
pub fn list_failures(
    sql: &mut Sql<'_>,
    job: JobId,
    kind: FailureKind,
    after: i64,
    most: usize,
) -> Result<Vec<Listed>> {
    let values = [Value::Int(job.0), Value::Text(kind.as_str()), Value::Int(after), Value::Int(most as i64)];
    sql.query(&queries::DOCUMENT_LIST_FAILURES, &values, Listed::read)
}

/// Documents of a job after an id that have a row in the queue, with what is known of them, in the order of their ids. First visits
/// may wait without one.
pub fn list_queued(sql: &mut Sql<'_>, job: JobId, after: i64, most: usize) -> Result<Vec<Listed>> {
    let values = [Value::Int(job.0), Value::Int(after), Value::Int(most as i64)];
    sql.query(&queries::DOCUMENT_LIST_QUEUED, &values, Listed::read)
}

/// Names by id, in no order.
pub fn names(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<(i64, String)>> {
    sql.query(&queries::DOCUMENT_NAMES, &[Value::Ints(ids)], |row| Ok((row.int(0)?, row.text(1)?)))
}

/// What stays of documents when they are renamed, by id.
pub fn identities(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<(i64, i64)>> {
    sql.query(&queries::DOCUMENT_IDENTITIES, &[Value::Ints(ids)], |row| Ok((row.int(0)?, row.int(1)?)))
}

/// Forgets those of `ids` that no output holds any more, with all their rows; how many.
pub fn forget(sql: &mut Sql<'_>, job: JobId, ids: &[i64]) -> Result<u64> {
    let gone = held_nowhere(sql, ids)?;
    let removed = states::counted(sql, &gone, |sql| {
        let values = [Value::Ints(&gone)];
        sql.execute(&queries::QUEUE_REMOVE, &values)?;
        sql.execute(&queries::FAILURE_OVER, &values)?;
        sql.execute(&queries::DELIVERY_URI_REMOVE, &values)?;
        sql.execute(&queries::COMPONENT_REMOVE, &values)?;
        crate::extracts::forget(sql, &gone)?;
        sql.execute(&queries::LINK_REMOVE, &values)?;
        handed_down::forget(sql, job, &gone)?;
        sql.execute(&queries::PREREQUISITE_REMOVE, &values)?;
        sql.execute(&queries::NEXT_LOOK_REMOVE, &values)?;
        sql.execute(&queries::DOCUMENT_TEXT_REMOVE, &values)?;
        sql.execute(&queries::DOCUMENT_REMOVE, &values)
    })?;
    states::count(sql, job, -(removed as i64))?;
    Ok(removed)
}

/// Those of `ids` that no output holds.
fn held_nowhere(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<i64>> {
    let left = sql.query(&queries::DELIVERY_LEFT, &[Value::Ints(ids)], |row| row.int(0))?;
    if left.is_empty() {
        return Ok(ids.to_vec());
    }
    let left: std::collections::HashSet<i64> = left.into_iter().collect();
    Ok(ids.iter().copied().filter(|id| !left.contains(id)).collect())
}

/// How many documents a job has.
pub fn total(sql: &mut Sql<'_>, job: JobId) -> Result<u64> {
    let n = sql.one(&queries::TALLY_GET, &[Value::Int(job.0), Value::Text("documents")], |row| row.int(0))?;
    Ok(n.unwrap_or(0).max(0) as u64)
}

/// Documents of a job, each with its container, of which some output holds, or may hold, something else than the source was seen to
/// hold: their containers must not open. With the first and the last id of the job's documents they are found by a walk over all that
/// is between them; without, by a look at each document of the job.
pub fn unproven(
    sql: &mut Sql<'_>,
    job: JobId,
    span: Option<(i64, i64)>,
) -> Result<BTreeMap<i64, ContainerId>> {
    let read = |row: &Row<'_>| Ok((row.int(0)?, ContainerId(row.int(1)?)));
    let found = match span {
        Some((first, last)) => {
            let values = [Value::Int(job.0), Value::Int(first), Value::Int(last)];
            sql.query(&queries::DOCUMENT_UNPROVEN_SPAN, &values, read)?
        }
        None => sql.query(&queries::DOCUMENT_UNPROVEN, &[Value::Int(job.0)], read)?,
    };
    Ok(found.into_iter().collect())
}

/// Containers that documents of a job are in.
pub fn containers(sql: &mut Sql<'_>, job: JobId) -> Result<Vec<ContainerId>> {
    sql.query(&queries::DOCUMENT_CONTAINERS, &[Value::Int(job.0)], |row| Ok(ContainerId(row.int(0)?)))
}

/// Whether an output may hold a document of a job with other access than it was told last.
pub fn is_access_unconfirmed(sql: &mut Sql<'_>, job: JobId) -> Result<bool> {
    let found = sql.one(&queries::DELIVERY_ACCESS_UNCONFIRMED, &[Value::Int(job.0)], |row| row.int(0))?;
    Ok(found.is_some())
}
