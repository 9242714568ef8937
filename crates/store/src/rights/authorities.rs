//! Authorities as they are declared: connections of their role, each with how it is asked.

use ingather_model::access::authority::Asking;
use ingather_model::access::identity::Group;
use ingather_model::ids::ConnectionId;

use crate::connections::{self, Role};
use crate::db::{Sql, Value};
use crate::error::{Result, StoreError};
use crate::people;
use crate::{queries, secrets};

/// An authority.
#[derive(Clone, Debug, PartialEq)]
pub struct Authority {
    /// Its handle.
    pub id: ConnectionId,
    /// Its name, unique among authorities.
    pub name: String,
    /// What it is.
    pub declared: Declared,
    /// Tells what it was declared as before from what it is declared as now.
    pub revision: i64,
}

/// What an authority is declared as.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Kind of its connector; it never changes.
    pub kind: String,
    /// Settings of the connector.
    pub settings: serde_json::Value,
    /// The group that its tokens count in.
    pub group: Group,
    /// How it is asked.
    pub asking: Asking,
}

/// All authorities, by name.
///
/// # Errors
/// What the database says, and what is stored of one and cannot be read.
pub fn list(sql: &mut Sql<'_>) -> Result<Vec<Authority>> {
    let keys = sql.secrets();
    let mut all = sql.query(&queries::AUTHORITY_LIST, &[], |row| {
        let asking = row.opt_text(5)?.map(|text| serde_json::from_str(&text)).transpose();
        let declared = Declared {
            kind: row.text(1)?,
            settings: serde_json::from_str(&row.text(3)?).map_err(unreadable)?,
            group: Group::named(row.text(4)?),
            asking: asking.map_err(unreadable)?.unwrap_or_default(),
        };
        Ok(Authority { id: ConnectionId(row.int(0)?), name: row.text(2)?, declared, revision: row.int(6)? })
    })?;
    for Authority { id, declared, .. } in &mut all {
        let whose = (id.0, Role::Authority, declared.kind.as_str());
        secrets::open_connection(keys.as_ref(), whose, &mut declared.settings);
    }
    Ok(all)
}

fn unreadable(error: serde_json::Error) -> StoreError {
    StoreError::Refused(format!("a stored authority cannot be read: {error}"))
}

/// Which authorities there are, by name, and the revision of each: whoever keeps what [`list`] said learns from it whether it is still so.
///
/// # Errors
/// What the database says.
pub fn revisions(sql: &mut Sql<'_>) -> Result<Vec<(ConnectionId, i64)>> {
    sql.query(&queries::AUTHORITY_REVISIONS, &[], |row| Ok((ConnectionId(row.int(0)?), row.int(1)?)))
}

/// Makes the authority of this name, or another one of it.
///
/// # Errors
/// `Refused` where another kind of authority has the name; what the database says, and where a secret cannot be sealed.
pub fn declare(sql: &mut Sql<'_>, name: &str, declared: &Declared, now: i64) -> Result<()> {
    let Declared { kind, settings, group, asking } = declared;
    let found = connections::find_or_add(sql, Role::Authority, kind, name, settings, now)?;
    if found.kind != *kind {
        let sentence = format!(
            "authority {name} is of the kind `{}` by now, and stays so; look at it again",
            found.kind
        );
        return Err(StoreError::Refused(sentence));
    }
    let id = found.id;
    let sealed = secrets::seal_connection(sql, (id.0, Role::Authority, kind), settings)?.to_string();
    let asking = serde_json::to_string(asking)
        .map_err(|error| StoreError::Refused(format!("an authority cannot be stored: {error}")))?;
    let values = [
        Value::Int(id.0),
        Value::Text(&sealed),
        Value::Text(group.name()),
        Value::Text(&asking),
        Value::Int(now),
    ];
    sql.execute(&queries::AUTHORITY_DECLARE, &values)?;
    Ok(())
}

/// Removes the authority of this name, with whom somebody pushed into it; whether there was one.
///
/// # Errors
/// What the database says.
pub fn remove(sql: &mut Sql<'_>, name: &str) -> Result<bool> {
    let Some(found) = connections::find(sql, Role::Authority, name)? else { return Ok(false) };
    sql.execute(&queries::AUTHORITY_REMOVE, &[Value::Int(found.id.0)])?;
    // Whoever was pushing somebody has committed by now, and nobody comes later (`people::keep_authority`).
    people::drop_all(sql, found.id)?;
    Ok(true)
}
