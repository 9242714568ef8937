//! Documents that a person has erased: no run takes them in, and what outputs hold of them is on its way out.

use ingather_model::ids::JobId;
use ingather_model::key::DocumentKey;
use ingather_model::limits;

use crate::db::{Row, Sql, Value};
use crate::error::Result;
use crate::queries;

/// A document that was erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erased {
    /// The job.
    pub job: JobId,
    /// Its key there.
    pub key: DocumentKey,
    /// Its name there.
    pub name: String,
    /// When somebody asked, milliseconds since 1970 UTC.
    pub at: i64,
    /// Who asked.
    pub by: String,
    /// When the last output had let go of it; none: not yet.
    pub done_at: Option<i64>,
}

/// An address that a person has erased, or has let one job take in again that others do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptOut {
    /// Name of the job; empty: every job.
    pub job: String,
    /// Hash of the URI.
    pub address: i64,
    /// Where the document is.
    pub uri: String,
    /// Since when, milliseconds since 1970 UTC.
    pub at: i64,
    /// Who asked.
    pub by: String,
    /// This job takes it in although others do not.
    pub admitted: bool,
}

fn read_kept_out(row: &Row<'_>) -> Result<KeptOut> {
    Ok(KeptOut {
        job: row.text(0)?,
        address: row.int(1)?,
        uri: row.text(2)?,
        at: row.int(3)?,
        by: row.text(4)?,
        admitted: row.int(5)? != 0,
    })
}

fn place(job: JobId, key: DocumentKey) -> [Value<'static>; 3] {
    [Value::Int(job.0), Value::Int(key.parent_hash), Value::Int(key.key_hash)]
}

fn read(row: &Row<'_>) -> Result<Erased> {
    Ok(Erased {
        job: JobId(row.int(0)?),
        key: DocumentKey { parent_hash: row.int(1)?, key_hash: row.int(2)? },
        name: row.text(3)?,
        at: row.int(4)?,
        by: row.text(5)?,
        done_at: row.opt_int(6)?,
    })
}

/// From here on no run takes a document in; what is known of it is to go.
pub fn begin(
    sql: &mut Sql<'_>,
    job: JobId,
    key: DocumentKey,
    (name, address, is_known): (&str, i64, bool),
    (at, by): (i64, &str),
) -> Result<()> {
    let [job, parent, own] = place(job, key);
    let (name, by) = (Value::Text(name), Value::Text(by));
    let (address, is_known) = (Value::Int(address), Value::Int(i64::from(is_known)));
    let values = [job, parent, own, name, Value::Int(at), by, address, is_known];
    sql.execute(&queries::ERASED_BEGIN, &values)?;
    Ok(())
}

/// Documents of a job that are to be erased, and are known still.
pub fn waiting_documents(sql: &mut Sql<'_>, job: JobId) -> Result<Vec<i64>> {
    sql.query(&queries::ERASED_WAITING_DOCUMENTS, &[Value::Int(job.0)], |row| row.int(0))
}

/// From here on no run of the job of this name, or of any job where it is empty, takes an address in; or that job takes it in all the same.
pub fn keep_out(sql: &mut Sql<'_>, row: &KeptOut) -> Result<()> {
    let KeptOut { job, address, uri, at, by, admitted } = row;
    let (address, at, admitted) = (Value::Int(*address), Value::Int(*at), Value::Int(i64::from(*admitted)));
    let values = [Value::Text(job), address, Value::Text(uri), at, Value::Text(by), admitted];
    sql.execute(&queries::ERASED_KEEP_OUT, &values)?;
    Ok(())
}

/// What was said of addresses for all jobs, and for the job of this name, which goes before the others.
pub fn kept_out(sql: &mut Sql<'_>, job: &str) -> Result<Vec<KeptOut>> {
    sql.query(&queries::ERASED_KEPT_OUT, &[Value::Text(job)], read_kept_out)
}

/// What was said of an address for the job of this name, or for all where it is empty, is taken back.
pub fn let_in(sql: &mut Sql<'_>, job: &str, address: i64) -> Result<bool> {
    Ok(sql.execute(&queries::ERASED_LET_IN, &[Value::Text(job), Value::Int(address)])? == 1)
}

/// What was said of an address for single jobs is taken back; false where nothing was.
pub fn let_in_of_jobs(sql: &mut Sql<'_>, address: i64) -> Result<bool> {
    Ok(sql.execute(&queries::ERASED_LET_IN_OF_JOBS, &[Value::Int(address)])? > 0)
}

/// How many addresses were erased for all jobs, or for the job of this name.
pub fn count_addresses(sql: &mut Sql<'_>, job: &str) -> Result<u64> {
    let count = sql.one(&queries::ERASED_COUNT_ADDRESSES, &[Value::Text(job)], |row| row.int(0))?;
    Ok(count.unwrap_or_default().max(0) as u64)
}

/// Addresses that stay erased although no job that is there has erased them, behind a place.
pub fn of_no_job(sql: &mut Sql<'_>, after: (&str, i64), most: usize) -> Result<Vec<KeptOut>> {
    let most = Value::Int(i64::try_from(most).unwrap_or(i64::MAX));
    sql.query(&queries::ERASED_OF_NO_JOB, &[Value::Text(after.0), Value::Int(after.1), most], read_kept_out)
}

/// No output holds anything of a document that was to be erased, and nothing else is known of it.
pub fn done(sql: &mut Sql<'_>, job: JobId, key: DocumentKey, at: i64) -> Result<()> {
    let [job, parent, own] = place(job, key);
    sql.execute(&queries::ERASED_DONE, &[job, parent, own, Value::Int(at)])?;
    Ok(())
}

/// What no run of a job takes in.
pub fn keys(sql: &mut Sql<'_>, job: JobId) -> Result<Vec<DocumentKey>> {
    sql.query(&queries::ERASED_KEYS, &[Value::Int(job.0)], |row| {
        Ok(DocumentKey { parent_hash: row.int(0)?, key_hash: row.int(1)? })
    })
}

/// Whether a document was erased.
pub fn find(sql: &mut Sql<'_>, job: JobId, key: DocumentKey) -> Result<Option<Erased>> {
    sql.one(&queries::ERASED_FIND, &place(job, key), read)
}

/// Some of all that were erased, behind a place.
pub fn list(sql: &mut Sql<'_>, after: (JobId, DocumentKey), most: usize) -> Result<Vec<Erased>> {
    let [job, parent, own] = place(after.0, after.1);
    let most = Value::Int(i64::try_from(most).unwrap_or(i64::MAX));
    sql.query(&queries::ERASED_LIST, &[job, parent, own, most], read)
}

/// Jobs of which something is still to be erased.
pub fn waiting(sql: &mut Sql<'_>) -> Result<Vec<JobId>> {
    sql.query(&queries::ERASED_WAITING, &[], |row| Ok(JobId(row.int(0)?)))
}

/// How many documents of a job were erased.
pub fn count(sql: &mut Sql<'_>, job: JobId) -> Result<u64> {
    let count = sql.one(&queries::ERASED_COUNT, &[Value::Int(job.0)], |row| row.int(0))?;
    Ok(count.unwrap_or_default().max(0) as u64)
}

/// Runs of the job take a document in again; false where it was not erased.
pub fn remove(sql: &mut Sql<'_>, job: JobId, key: DocumentKey) -> Result<bool> {
    Ok(sql.execute(&queries::ERASED_REMOVE, &place(job, key))? == 1)
}

/// When something was noted in the history of a document of that name.
pub fn noted(sql: &mut Sql<'_>, job: JobId, name: &str) -> Result<Vec<i64>> {
    sql.query(&queries::HISTORY_OF_NAME, &[Value::Int(job.0), Value::Text(name)], |row| row.int(0))
}

/// Forgets what was noted of it at these times.
pub fn forget_noted(sql: &mut Sql<'_>, job: JobId, name: &str, at: &[i64]) -> Result<u64> {
    let mut forgotten = 0;
    for at in at.chunks(limits::HISTORY_FORGOTTEN_AT_ONCE as usize) {
        let values = [Value::Int(job.0), Value::Text(name), Value::Ints(at)];
        forgotten += sql.execute(&queries::HISTORY_ERASE, &values)?;
    }
    Ok(forgotten)
}
