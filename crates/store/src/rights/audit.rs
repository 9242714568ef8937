//! Changes that a service was asked for, the last ones: who asked for what, and what became of it.

use ingather_model::limits;

use crate::db::{Sql, Value};
use crate::documents::take_ids;
use crate::error::Result;
use crate::queries;

/// A change is on record before it is done.
pub const BEGUN: &str = "begun";

/// One change.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its number; later ones have larger numbers.
    pub number: i64,
    /// When it was asked for, milliseconds since 1970 UTC.
    pub at: i64,
    /// Who asked.
    pub caller: String,
    /// For what.
    pub operation: String,
    /// Of which job or API key; empty where it is about none. The column is called `job`.
    pub about: String,
    /// [`BEGUN`], `done`, or the code of a problem.
    pub outcome: String,
}

/// Notes that a change is about to be done, and forgets those that are too old; its number.
pub fn begin(sql: &mut Sql<'_>, at: i64, caller: &str, operation: &str, about: &str) -> Result<i64> {
    let number = take_ids(sql, "audit", 1)?;
    let values = [
        Value::Int(number),
        Value::Int(at),
        Value::Text(caller),
        Value::Text(operation),
        Value::Text(about),
        Value::Text(BEGUN),
    ];
    sql.execute(&queries::AUDIT_BEGIN, &values)?;
    sql.execute(&queries::AUDIT_FORGET, &[Value::Int(number - limits::AUDIT_KEPT)])?;
    Ok(number)
}

/// Notes what became of a change.
pub fn end(sql: &mut Sql<'_>, number: i64, outcome: &str) -> Result<()> {
    sql.execute(&queries::AUDIT_END, &[Value::Int(number), Value::Text(outcome)]).map(drop)
}

/// So many changes before a number, the latest first.
pub fn list(sql: &mut Sql<'_>, before: i64, limit: usize) -> Result<Vec<Change>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    sql.query(&queries::AUDIT_LIST, &[Value::Int(before), Value::Int(limit)], |row| {
        Ok(Change {
            number: row.int(0)?,
            at: row.int(1)?,
            caller: row.text(2)?,
            operation: row.text(3)?,
            about: row.text(4)?,
            outcome: row.text(5)?,
        })
    })
}
