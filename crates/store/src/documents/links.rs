//! What documents of sources that are found by following links lead to, and what their repository keeps with them.

use crate::db::{Sql, Value};
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

/// What the repository of a document wants to know at its next visit.
///
/// # Errors
/// What the database says.
pub fn memo(sql: &mut Sql<'_>, document: i64) -> Result<Option<Vec<u8>>> {
    Ok(sql.one(&queries::DOCUMENT_TEXT_MEMO, &[Value::Int(document)], |row| row.opt_bytes(0))?.flatten())
}

/// Keeps that, in place of what was kept before.
///
/// # Errors
/// What the database says.
pub fn keep_memo(sql: &mut Sql<'_>, document: i64, memo: Option<&[u8]>) -> Result<()> {
    sql.execute(&queries::DOCUMENT_TEXT_KEEP_MEMO, &[Value::Int(document), Value::OptBytes(memo)])?;
    Ok(())
}
