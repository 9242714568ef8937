//! Sinks of channels: where their reports are sent, and up to which one they have them (decision 0057).

use crate::db::{Sql, Value};
use crate::error::Result;
use crate::queries;

/// Channels whose sinks do not have all reports.
///
/// # Errors
/// What the database says.
pub fn behind(sql: &mut Sql<'_>) -> Result<Vec<i64>> {
    sql.query(&queries::CHANNEL_SINKS, &[], |row| row.int(0))
}

/// Whether a channel sends reports, or may have to.
///
/// # Errors
/// What the database says.
pub fn any(sql: &mut Sql<'_>) -> Result<bool> {
    Ok(sql.one(&queries::CHANNEL_HAS_SINKS, &[], |row| row.int(0))?.is_some())
}

/// The sink of a channel has its reports up to one.
///
/// # Errors
/// What the database says.
pub fn delivered(sql: &mut Sql<'_>, channel: i64, serial: i64) -> Result<()> {
    sql.execute(&queries::CHANNEL_DELIVERED, &[Value::Int(channel), Value::Int(serial)])?;
    Ok(())
}

/// The sink of a channel has taken nothing for too long: it is asked no more.
///
/// # Errors
/// What the database says.
pub fn lose(sql: &mut Sql<'_>, channel: i64) -> Result<()> {
    sql.execute(&queries::CHANNEL_LOSE_SINK, &[Value::Int(channel)])?;
    Ok(())
}
