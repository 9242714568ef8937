//! What pipelines made of documents, kept so that an output is filled anew without the source (design 4.19).

use ingather_model::ids::{Digest, JobId};

use crate::db::{Sql, Value};
use crate::error::Result;
use crate::queries;

/// What a pipeline made of one document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extract {
    /// Version of the document that it was made of.
    pub version: Digest,
    /// Digest of the stages that made it.
    pub stages: Digest,
    /// All but the text, as the engine wrote it.
    pub head: Vec<u8>,
    /// The text as the engine wrote it, with a keyed digest that stands for it; none when there is no text.
    pub text: Option<(i64, Vec<u8>)>,
}

/// Keeps what was made of a document, in place of what was kept before.
pub fn put(sql: &mut Sql<'_>, document: i64, extract: &Extract) -> Result<()> {
    let before = digests(sql, &[document])?;
    if let Some((digest, bytes)) = &extract.text {
        sql.execute(&queries::EXTRACT_TEXT_PUT, &[Value::Int(*digest), Value::OptBytes(Some(bytes))])?;
    }
    let values = [
        Value::Int(document),
        Value::Int(extract.version.0),
        Value::Int(extract.stages.0),
        Value::OptInt(extract.text.as_ref().map(|(digest, _)| *digest)),
        Value::OptBytes(Some(&extract.head)),
    ];
    sql.execute(&queries::EXTRACT_PUT, &values)?;
    drop_texts(sql, &before)
}

/// What is kept of a document; none also when its text was lost.
pub fn get(sql: &mut Sql<'_>, document: i64) -> Result<Option<Extract>> {
    let found = sql.one(&queries::EXTRACT_GET, &[Value::Int(document)], |row| {
        let (bytes, digest) = (row.opt_bytes(3)?, row.opt_int(4)?);
        let is_whole = digest.is_some() == bytes.is_some();
        let extract = Extract {
            version: Digest(row.int(0)?),
            stages: Digest(row.int(1)?),
            head: row.opt_bytes(2)?.unwrap_or_default(),
            text: digest.zip(bytes),
        };
        Ok(is_whole.then_some(extract))
    })?;
    Ok(found.flatten())
}

/// Forgets what was made of documents.
pub fn forget(sql: &mut Sql<'_>, ids: &[i64]) -> Result<()> {
    // Asked by what removes them: what another transaction has put since would stay without its document.
    let before = sql.query(&queries::EXTRACT_REMOVE, &[Value::Ints(ids)], |row| row.opt_int(0))?;
    drop_texts(sql, &before.into_iter().flatten().collect::<Vec<i64>>())
}

/// Documents of a job of which something is kept, after `after`, at most `most`; costs nothing when nothing is kept at all.
pub fn of_job(sql: &mut Sql<'_>, job: JobId, after: i64, most: usize) -> Result<Vec<i64>> {
    if sql.one(&queries::EXTRACT_ANY, &[], |row| row.opt_int(0))?.flatten().is_none() {
        return Ok(Vec::new());
    }
    let values = [Value::Int(job.0), Value::Int(after), Value::Int(most as i64)];
    sql.query(&queries::EXTRACT_OF_JOB, &values, |row| row.int(0))
}

/// Those of documents of which something is kept that was made of the known version, by these stages.
pub fn kept(sql: &mut Sql<'_>, ids: &[i64], stages: Digest) -> Result<Vec<i64>> {
    sql.query(&queries::EXTRACT_KEPT, &[Value::Ints(ids), Value::Int(stages.0)], |row| row.int(0))
}

fn digests(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<i64>> {
    sql.query(&queries::EXTRACT_DIGESTS, &[Value::Ints(ids)], |row| row.int(0))
}

/// Drops those of these texts that no document has any more.
fn drop_texts(sql: &mut Sql<'_>, digests: &[i64]) -> Result<()> {
    if digests.is_empty() {
        return Ok(());
    }
    if !sql.is_sqlite() {
        // Of two transactions that let go of a text at once each would see the other one's document, and leave the text to it.
        sql.query(&queries::EXTRACT_TEXT_LOCK, &[Value::Ints(digests)], |row| row.int(0))?;
    }
    sql.execute(&queries::EXTRACT_TEXT_DROP, &[Value::Ints(digests)])?;
    Ok(())
}
