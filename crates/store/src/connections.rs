//! Connections: a connector with its settings, by role and name.

use std::collections::HashMap;
use std::sync::Arc;

use ingather_model::access::identity::Group;
use ingather_model::ids::ConnectionId;
pub use ingather_model::job::Role;
use ingather_model::lifecycle::outcome::OutputHealth;

use crate::db::{Row, Sql, Value};
use crate::documents::{next_id, take_ids};
use crate::error::{Result, StoreError};
use crate::queries;
use crate::secrets::{self, Secrets};

/// A connection as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Its handle.
    pub id: ConnectionId,
    /// Kind of its connector.
    pub kind: String,
    /// Name, unique in its role.
    pub name: String,
    /// Settings of the connector.
    pub settings: serde_json::Value,
    /// Of a repository: whose tokens judge what it rules. It does not change while a job uses it.
    pub group: Group,
    /// Identity of the output that the delivery log speaks of, once there was a commit.
    pub identity: Option<String>,
    /// Number of the last commit that the delivery log knows of.
    pub generation: i64,
    /// The opening of the output that made it.
    pub session: i64,
    /// The opening that made what was committed after it, if anything was.
    pub next_session: i64,
    /// Largest number of a change that may have been sent to it.
    pub ceiling: i64,
    /// Of an output: whether it takes what it is sent.
    pub health: Health,
}

/// Whether an output takes what it is sent, as was found last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// Whether it does.
    pub state: OutputHealth,
    /// Since when it is so, milliseconds since 1970 UTC; 0: always.
    pub since: i64,
    /// Why it does not, for a person; empty where it does.
    pub why: String,
}

impl Default for Health {
    fn default() -> Health {
        Health { state: OutputHealth::Healthy, since: 0, why: String::new() }
    }
}

/// An output that does not take what it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ill {
    /// Its handle.
    pub id: ConnectionId,
    /// Its name.
    pub name: String,
    /// How it is.
    pub health: Health,
}

fn settings(text: &str) -> Result<serde_json::Value> {
    serde_json::from_str(text)
        .map_err(|e| StoreError::Refused(format!("stored settings cannot be read: {e}")))
}

fn read(id: i64, row: &Row<'_>, from: usize) -> Result<Connection> {
    Ok(Connection {
        id: ConnectionId(id),
        kind: row.text(from)?,
        name: row.text(from + 1)?,
        settings: settings(&row.text(from + 2)?)?,
        identity: row.opt_text(from + 3)?,
        generation: row.int(from + 4)?,
        session: row.int(from + 5)?,
        next_session: row.int(from + 6)?,
        ceiling: row.int(from + 7)?,
        group: Group::named(row.text(from + 8)?),
        health: read_health(row, from + 9)?,
    })
}

fn read_health(row: &Row<'_>, from: usize) -> Result<Health> {
    let state = row.word(from, OutputHealth::parse)?;
    Ok(Health { state, since: row.int(from + 1)?, why: row.text(from + 2)? })
}

/// The connection of that role and name.
pub fn find(sql: &mut Sql<'_>, role: Role, name: &str) -> Result<Option<Connection>> {
    let values = [Value::Text(role.as_str()), Value::Text(name)];
    let secrets = sql.secrets();
    let found = sql.one(&queries::CONNECTION_FIND, &values, |row| read(row.int(0)?, row, 1))?;
    Ok(found.map(|connection| opened(secrets.as_ref(), role, connection)))
}

fn opened(secrets: Option<&Arc<Secrets>>, role: Role, mut connection: Connection) -> Connection {
    let whose = (connection.id.0, role, connection.kind.as_str());
    secrets::open_connection(secrets, whose, &mut connection.settings);
    connection
}

/// One connection by handle.
pub fn get(sql: &mut Sql<'_>, id: ConnectionId) -> Result<Option<Connection>> {
    Ok(get_with_role(sql, id)?.map(|(_, connection)| connection))
}

fn get_with_role(sql: &mut Sql<'_>, id: ConnectionId) -> Result<Option<(Role, Connection)>> {
    let secrets = sql.secrets();
    sql.one(&queries::CONNECTION_BY_HANDLE, &[Value::Int(id.0)], |row| {
        let role = row.word(12, Role::parse)?;
        Ok((role, opened(secrets.as_ref(), role, read(id.0, row, 0)?)))
    })
}

/// A connection as a declaration has it.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its handle.
    pub id: ConnectionId,
    /// Its role.
    pub role: Role,
    /// Kind of its connector.
    pub kind: String,
    /// Name, unique in its role.
    pub name: String,
    /// Settings of its connector.
    pub settings: serde_json::Value,
    /// As in [`Connection::group`].
    pub group: Group,
}

/// Whose tokens judge what repository connections rule.
pub fn groups(sql: &mut Sql<'_>) -> Result<HashMap<ConnectionId, Group>> {
    let row = |row: &Row<'_>| Ok((ConnectionId(row.int(0)?), Group::named(row.text(1)?)));
    Ok(sql.query(&queries::CONNECTION_GROUPS, &[], row)?.into_iter().collect())
}

/// All connections.
pub fn list(sql: &mut Sql<'_>) -> Result<Vec<Declared>> {
    let (secrets, mut all) = (sql.secrets(), list_as_stored(sql)?);
    for one in &mut all {
        secrets::open_connection(secrets.as_ref(), (one.id.0, one.role, &one.kind), &mut one.settings);
    }
    Ok(all)
}

/// All connections, with their secrets as they are stored.
pub(crate) fn list_as_stored(sql: &mut Sql<'_>) -> Result<Vec<Declared>> {
    sql.query(&queries::CONNECTION_LIST, &[], |row| {
        Ok(Declared {
            id: ConnectionId(row.int(0)?),
            role: row.word(1, Role::parse)?,
            kind: row.text(2)?,
            name: row.text(3)?,
            settings: settings(&row.text(4)?)?,
            group: Group::named(row.text(5)?),
        })
    })
}

/// Adds a repository connection whose acls are judged by the tokens of this group.
pub fn add_in_group(
    sql: &mut Sql<'_>,
    (kind, name): (&str, &str),
    settings: &serde_json::Value,
    group: &Group,
    now: i64,
) -> Result<Connection> {
    let id = take_ids(sql, "handle", 1)?;
    insert(sql, (id, Role::Repository), (kind, name, settings), group, now)
}

/// The connection of a role that has this name, added where there is none; a repository belongs to the group without a name then. Whoever else adds it at the same time waits.
pub fn find_or_add(
    sql: &mut Sql<'_>,
    role: Role,
    kind: &str,
    name: &str,
    settings: &serde_json::Value,
    now: i64,
) -> Result<Connection> {
    // Changes the counter of handles first, which nobody else changes before this transaction ends.
    let id = take_ids(sql, "handle", 1)?;
    match find(sql, role, name)? {
        Some(found) => Ok(found),
        None => insert(sql, (id, role), (kind, name, settings), &Group::default(), now),
    }
}

fn insert(
    sql: &mut Sql<'_>,
    (id, role): (i64, Role),
    (kind, name, settings): (&str, &str, &serde_json::Value),
    group: &Group,
    now: i64,
) -> Result<Connection> {
    let sealed = secrets::seal_connection(sql, (id, role, kind), settings)?.to_string();
    let values = [
        Value::Int(id),
        Value::Text(role.as_str()),
        Value::Text(kind),
        Value::Text(name),
        Value::Text(&sealed),
        Value::Int(now),
        Value::Text(group.name()),
    ];
    sql.execute(&queries::CONNECTION_ADD, &values)?;
    Ok(Connection {
        id: ConnectionId(id),
        kind: kind.to_owned(),
        name: name.to_owned(),
        settings: settings.clone(),
        group: group.clone(),
        identity: None,
        generation: 0,
        session: 0,
        next_session: 0,
        ceiling: 0,
        health: Health::default(),
    })
}

/// Gives a connection other settings.
pub fn declare(sql: &mut Sql<'_>, id: ConnectionId, settings: &serde_json::Value, now: i64) -> Result<()> {
    let Some((role, found)) = get_with_role(sql, id)? else { return Ok(()) };
    let sealed = secrets::seal_connection(sql, (id.0, role, &found.kind), settings)?.to_string();
    let values = [Value::Int(id.0), Value::Text(&sealed), Value::Int(now)];
    sql.execute(&queries::CONNECTION_DECLARE, &values)?;
    Ok(())
}

/// Puts a repository connection into a group. What its jobs have taken in is judged by the tokens of that from now on.
pub fn join(sql: &mut Sql<'_>, id: ConnectionId, group: &Group) -> Result<()> {
    sql.execute(&queries::CONNECTION_JOIN, &[Value::Int(id.0), Value::Text(group.name())])?;
    Ok(())
}

/// Seals what is plain in settings that were read as they are stored.
pub(crate) fn seal(sql: &mut Sql<'_>, one: &Declared) -> Result<()> {
    let sealed = secrets::seal_connection(sql, (one.id.0, one.role, &one.kind), &one.settings)?.to_string();
    sql.execute(&queries::CONNECTION_SEAL, &[Value::Int(one.id.0), Value::Text(&sealed)])?;
    Ok(())
}

/// Notes where an output stands, in the transaction that confirms what its commit holds.
pub fn record_generation(
    sql: &mut Sql<'_>,
    id: ConnectionId,
    identity: &str,
    generation: i64,
    session: i64,
) -> Result<()> {
    let values = [Value::Int(id.0), Value::Text(identity), Value::Int(generation), Value::Int(session)];
    sql.execute(&queries::CONNECTION_RECORD_GENERATION, &values)?;
    Ok(())
}

/// Takes note of whether an output takes what it is sent, and why it does not; whether that was not known.
///
/// # Errors
/// What the database says.
pub fn note_health(
    sql: &mut Sql<'_>,
    id: ConnectionId,
    (state, why): (OutputHealth, &str),
    now: i64,
) -> Result<bool> {
    let values = [Value::Int(id.0), Value::Text(state.as_str()), Value::Text(why), Value::Int(now)];
    Ok(sql.execute(&queries::CONNECTION_NOTE_HEALTH, &values)? > 0)
}

/// Outputs that do not take what they are sent.
///
/// # Errors
/// What the database says.
pub fn ill(sql: &mut Sql<'_>) -> Result<Vec<Ill>> {
    sql.query(&queries::CONNECTION_ILL, &[], |row| {
        Ok(Ill { id: ConnectionId(row.int(0)?), name: row.text(1)?, health: read_health(row, 2)? })
    })
}

/// How each output is, by its name.
///
/// # Errors
/// What the database says.
pub fn healths(sql: &mut Sql<'_>) -> Result<Vec<(String, OutputHealth)>> {
    let row = |row: &Row<'_>| Ok((row.text(0)?, row.word(1, OutputHealth::parse)?));
    sql.query(&queries::CONNECTION_HEALTHS, &[], row)
}

/// Name of the counter of changes. One for all outputs: whoever sent to an address before, even if nothing is left of it, had
/// a smaller number.
pub const SEQ: &str = "seq";

/// Takes numbers for changes that are about to be sent to an output: the first one. Must be synced before they are.
///
/// `session` is the opening that sends them, where the output commits: it and the last number are noted, so that an output
/// which holds more than was ever noted tells of a store from an earlier day (design 4.7).
pub fn take_numbers(sql: &mut Sql<'_>, id: ConnectionId, session: Option<i64>, count: usize) -> Result<i64> {
    let first = take_ids(sql, SEQ, count)?;
    if let Some(session) = session {
        let last = first + count as i64 - 1;
        sql.execute(&queries::CONNECTION_SEND, &[Value::Int(id.0), Value::Int(last), Value::Int(session)])?;
    }
    Ok(first)
}

/// Numbers that are given out from now on are larger than `seen`, which an output knows and this store may not.
pub fn pass_number(sql: &mut Sql<'_>, seen: i64) -> Result<()> {
    let given = next_id(sql, SEQ)?;
    if seen >= given {
        take_ids(sql, SEQ, usize::try_from(seen - given + 1).unwrap_or_default())?;
    }
    Ok(())
}
