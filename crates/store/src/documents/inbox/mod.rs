//! What applications have pushed (decision 0051): records by the document that each is, tickets, delta runs, compounds, and channels.

pub mod channels;
pub mod compounds;
pub mod delta_runs;
pub mod prepared;
pub mod reports;
pub mod sinks;
pub mod tickets;

use ingather_model::ids::JobId;
use ingather_model::key::DocumentKey;

use crate::db::{Column, Row, Sql, Value};
use crate::error::Result;
use crate::failpoints::{Failpoint, failpoint};
use crate::queries;

/// A record, but for its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The document that it is.
    pub document: i64,
    /// Whether it is to be there: it was not deleted.
    pub present: bool,
    /// The ticket of what was pushed of it last.
    pub ticket: i64,
    /// What whoever pushes tells versions by.
    pub hash: Option<String>,
    /// Who may see it, JSON; none where that was left out.
    pub acl: Option<String>,
    /// When it changed first since a visit of it was due, milliseconds since 1970 UTC; says something while a later one is buffered.
    pub buffered_since: i64,
    /// What its client counts its versions by.
    pub client_version: Option<i64>,
    /// Whether others may be in it.
    pub is_compound: bool,
    /// What its versions are told by once the delta run that it was pushed in is finished.
    pub pending_hash: Option<String>,
}

/// A record as the inbox hands it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The ticket of what was pushed of it last.
    pub ticket: i64,
    /// Who may see it, JSON.
    pub acl: Option<String>,
    /// What is said of it, JSON.
    pub about: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// A record as it was before a channel pushed over it, while that is not delivered and nobody else has said anything of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// The channel.
    pub channel: i64,
    /// Whether there was a record.
    pub present: bool,
    /// The ticket that it was pushed with.
    pub ticket: i64,
    /// What its versions are told by.
    pub hash: Option<String>,
    /// Who may see it, JSON.
    pub acl: Option<String>,
    /// What is said of it, JSON.
    pub about: String,
    /// Its content.
    pub content: Vec<u8>,
    /// What its client counts its versions by.
    pub client_version: Option<i64>,
}

/// Keeps a record as it is, or that there is none, before a channel pushes over it.
///
/// # Errors
/// What the database says.
pub fn keep_before(sql: &mut Sql<'_>, document: i64, channel: i64, is_there: bool) -> Result<()> {
    let of = [Value::Int(document), Value::Int(channel), Value::OptBytes(Some(&[]))];
    match is_there {
        true => sql.execute(&queries::RECORD_BEFORE_KEEP, &of[..2])?,
        false => sql.execute(&queries::RECORD_BEFORE_KEEP_NONE, &of)?,
    };
    Ok(())
}

/// A record as it was before a channel pushed over it, where that is kept.
///
/// # Errors
/// What the database says.
pub fn before(sql: &mut Sql<'_>, document: i64) -> Result<Option<Before>> {
    sql.one(&queries::RECORD_BEFORE_GET, &[Value::Int(document)], |row| {
        Ok(Before {
            channel: row.int(0)?,
            present: row.int(1)? == 1,
            ticket: row.int(2)?,
            hash: row.opt_text(3)?,
            acl: row.opt_text(4)?,
            about: row.text(5)?,
            content: row.opt_bytes(6)?.unwrap_or_default(),
            client_version: row.opt_int(7)?,
        })
    })
}

/// Somebody says something of records, through a channel or through none: what other channels pushed over them stays, for it was relied on.
///
/// # Errors
/// What the database says.
pub fn leave_before(sql: &mut Sql<'_>, documents: &[i64], channel: Option<i64>) -> Result<()> {
    if documents.is_empty() {
        return Ok(());
    }
    let channel = Value::Int(channel.unwrap_or_default());
    sql.execute(&queries::RECORD_BEFORE_LEAVE, &[Value::Ints(documents), channel])?;
    Ok(())
}

/// Outputs have what was pushed last, or the records are gone.
///
/// # Errors
/// What the database says.
pub fn forget_before(sql: &mut Sql<'_>, documents: &[i64]) -> Result<()> {
    if documents.is_empty() {
        return Ok(());
    }
    sql.execute(&queries::RECORD_BEFORE_REMOVE, &[Value::Ints(documents)])?;
    Ok(())
}

/// Records of documents; those that are none are left out.
///
/// # Errors
/// What the database says.
pub fn get(sql: &mut Sql<'_>, documents: &[i64]) -> Result<Vec<Record>> {
    sql.query(&queries::RECORD_GET, &[Value::Ints(documents)], |row| {
        Ok(Record {
            document: row.int(0)?,
            present: row.int(1)? == 1,
            ticket: row.int(2)?,
            hash: row.opt_text(3)?,
            acl: row.opt_text(4)?,
            buffered_since: row.int(5)?,
            client_version: row.opt_int(6)?,
            is_compound: row.int(7)? == 1,
            pending_hash: row.opt_text(8)?,
        })
    })
}

/// A record as it is from now on, and what is said of it, JSON, with its content; without where it is deleted.
pub type NewRecord<'p> = (Record, Option<(String, &'p [u8])>);

/// Keeps records in place of what was pushed of them before, each once.
///
/// # Errors
/// What the database says.
pub fn put(sql: &mut Sql<'_>, job: JobId, records: &[NewRecord<'_>]) -> Result<()> {
    let ints =
        |field: fn(&Record) -> i64| records.iter().map(|(record, _)| field(record)).collect::<Vec<i64>>();
    let hashes: Vec<Option<&str>> = records.iter().map(|(record, _)| record.hash.as_deref()).collect();
    let acls: Vec<Option<&str>> = records.iter().map(|(record, _)| record.acl.as_deref()).collect();
    let versions: Vec<Option<i64>> = records.iter().map(|(record, _)| record.client_version).collect();
    let pending: Vec<Option<&str>> =
        records.iter().map(|(record, _)| record.pending_hash.as_deref()).collect();
    let columns = [
        Column::Ints(&ints(|record| record.document)),
        Column::Same(job.0),
        Column::Ints(&ints(|record| i64::from(record.present))),
        Column::Ints(&ints(|record| record.ticket)),
        Column::OptTexts(&hashes),
        Column::OptTexts(&acls),
        Column::Ints(&ints(|record| record.buffered_since)),
        Column::OptInts(&versions),
        Column::Ints(&ints(|record| i64::from(record.is_compound))),
        Column::OptTexts(&pending),
    ];
    sql.execute_many(&queries::RECORD_PUT, &columns)?;
    let (mut ids, mut abouts, mut contents, mut gone) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (record, content) in records {
        match content {
            Some(_) if failpoint(Failpoint::PushedContentStays) && read(sql, record.document)?.is_some() => {}
            Some((about, content)) => {
                ids.push(record.document);
                abouts.push(about.as_str());
                contents.push(*content);
            }
            None => gone.push(record.document),
        }
    }
    let columns = [Column::Ints(&ids), Column::Texts(&abouts), Column::Bytes(&contents)];
    if !ids.is_empty() {
        sql.execute_many(&queries::RECORD_PUT_CONTENT, &columns)?;
    }
    if !gone.is_empty() {
        sql.execute(&queries::RECORD_REMOVE_CONTENT, &[Value::Ints(&gone)])?;
    }
    Ok(())
}

/// Records of a job that are to be there, after a document, by document: `(document, key, ticket, acl)`.
///
/// # Errors
/// What the database says.
pub fn page(
    sql: &mut Sql<'_>,
    job: JobId,
    after: i64,
    most: usize,
) -> Result<Vec<(i64, String, i64, Option<String>)>> {
    let values = [Value::Int(job.0), Value::Int(after), Value::Int(most as i64)];
    sql.query(&queries::RECORD_PAGE, &values, |row| {
        Ok((row.int(0)?, row.text(1)?, row.int(2)?, row.opt_text(3)?))
    })
}

/// One record that is to be there, with its content.
///
/// # Errors
/// What the database says.
pub fn read(sql: &mut Sql<'_>, document: i64) -> Result<Option<Read>> {
    sql.one(&queries::RECORD_READ, &[Value::Int(document)], whole)
}

/// The same by its key.
///
/// # Errors
/// What the database says.
pub fn find(sql: &mut Sql<'_>, job: JobId, key: DocumentKey) -> Result<Option<Read>> {
    let values = [Value::Int(job.0), Value::Int(key.parent_hash), Value::Int(key.key_hash)];
    sql.one(&queries::RECORD_FIND, &values, whole)
}

fn whole(row: &Row<'_>) -> Result<Read> {
    Ok(Read {
        ticket: row.int(0)?,
        acl: row.opt_text(1)?,
        about: row.text(2)?,
        content: row.opt_bytes(3)?.unwrap_or_default(),
    })
}

/// A record that is to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// The record.
    pub document: i64,
    /// The ticket of what was pushed last.
    pub ticket: i64,
    /// Others may be in it.
    pub is_compound: bool,
}

/// Records of a job that are to be there, after a document, by document.
///
/// # Errors
/// What the database says.
pub fn known(sql: &mut Sql<'_>, job: JobId, after: i64, most: usize) -> Result<Vec<Known>> {
    let values = [Value::Int(job.0), Value::Int(after), Value::Int(most as i64)];
    sql.query(&queries::RECORD_KNOWN, &values, |row| {
        Ok(Known { document: row.int(0)?, ticket: row.int(1)?, is_compound: row.int(2)? != 0 })
    })
}

/// Forgets what versions of records are told by: they count as changed.
///
/// # Errors
/// What the database says.
pub fn forget_hashes(sql: &mut Sql<'_>, documents: &[i64]) -> Result<u64> {
    if failpoint(Failpoint::ClearedHashStays) {
        return Ok(0);
    }
    let forgotten = sql.execute(&queries::RECORD_FORGET_HASHES, &[Value::Ints(documents)])?;
    sql.execute(&queries::RECORD_BEFORE_FORGET_HASHES, &[Value::Ints(documents)])?;
    Ok(forgotten)
}

/// What versions of a record are told by from now on, where it is there.
///
/// # Errors
/// What the database says.
pub fn set_hash(sql: &mut Sql<'_>, document: i64, hash: &str) -> Result<()> {
    sql.execute(&queries::RECORD_SET_HASH, &[Value::Int(document), Value::Text(hash)])?;
    Ok(())
}

/// How many records of a job are to be there.
///
/// # Errors
/// What the database says.
pub fn count(sql: &mut Sql<'_>, job: JobId) -> Result<u64> {
    Ok(sql.one(&queries::RECORD_COUNT, &[Value::Int(job.0)], |row| row.int(0))?.unwrap_or_default() as u64)
}

/// Those of documents whose records are to be there: what was pushed while they were on their way out.
///
/// # Errors
/// What the database says.
pub fn present(sql: &mut Sql<'_>, documents: &[i64]) -> Result<Vec<i64>> {
    sql.query(&queries::RECORD_PRESENT, &[Value::Ints(documents)], |row| row.int(0))
}

/// Forgets records of documents that are gone. Their tickets are completed before.
///
/// # Errors
/// What the database says.
pub fn remove(sql: &mut Sql<'_>, documents: &[i64]) -> Result<()> {
    sql.execute(&queries::RECORD_REMOVE, &[Value::Ints(documents)])?;
    sql.execute(&queries::RECORD_REMOVE_CONTENT, &[Value::Ints(documents)])?;
    compounds::remove(sql, documents)?;
    forget_before(sql, documents)
}

/// Forgets all that was pushed into a job; what is open of its channels was aborted, and they end.
///
/// # Errors
/// What the database says.
pub fn drop(sql: &mut Sql<'_>, job: JobId, now: i64) -> Result<()> {
    channels::source_deleted(sql, job, now)?;
    for statement in [
        &queries::RECORD_DROP_BEFORE,
        &queries::RECORD_DROP_CONTENT,
        &queries::RECORD_DROP,
        &queries::RECORD_PARENT_DROP,
        &queries::TICKET_DROP,
        &queries::DELTA_RUN_DROP,
    ] {
        sql.execute(statement, &[Value::Int(job.0)])?;
    }
    sql.execute(&queries::DELTA_MARK_DROP, &[Value::Int(job.0), Value::Int(i64::MAX)])?;
    Ok(())
}
