//! What documents of sources that are found by following links lead to, and what their repository keeps with them.

use ingather_model::ids::Digest;

use crate::db::{Row, Sql, Value};
use crate::error::Result;
use crate::queries;

/// Keeps what documents lead to, as bytes of bitmaps of ids: `(document, targets)`.
///
/// # Errors
/// What the database says.
pub fn put(sql: &mut Sql<'_>, links: &[(i64, Vec<u8>)]) -> Result<()> {
    for (document, targets) in links {
        sql.execute(&queries::LINK_PUT, &[Value::Int(*document), Value::OptBytes(Some(targets))])?;
    }
    Ok(())
}

/// What documents lead to, as it was kept; those of which nothing is kept are left out.
///
/// # Errors
/// What the database says.
pub fn get(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<(i64, Vec<u8>)>> {
    sql.query(&queries::LINK_GET, &[Value::Ints(ids)], |row| {
        Ok((row.int(0)?, row.opt_bytes(1)?.unwrap_or_default()))
    })
}

/// What is kept with a document for its next visit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memo {
    /// What its repository wants to know then.
    pub memo: Option<Vec<u8>>,
    /// Digest of what was handed down to it when it was visited to the end last; [`Digest::NONE`]: nothing.
    pub handed: Digest,
}

impl Default for Memo {
    fn default() -> Memo {
        Memo { memo: None, handed: Digest::NONE }
    }
}

/// What is kept with a document for its next visit.
///
/// # Errors
/// What the database says.
pub fn memo(sql: &mut Sql<'_>, document: i64) -> Result<Memo> {
    let read = |row: &Row<'_>| Ok(Memo { memo: row.opt_bytes(0)?, handed: Digest(row.int(1)?) });
    Ok(sql.one(&queries::DOCUMENT_TEXT_MEMO, &[Value::Int(document)], read)?.unwrap_or_default())
}

/// Keeps that, in place of what was kept before.
///
/// # Errors
/// What the database says.
pub fn keep_memo(sql: &mut Sql<'_>, document: i64, Memo { memo, handed }: &Memo) -> Result<()> {
    let values = [Value::Int(document), Value::OptBytes(memo.as_deref()), Value::Int(handed.0)];
    sql.execute(&queries::DOCUMENT_TEXT_KEEP_MEMO, &values)?;
    Ok(())
}
