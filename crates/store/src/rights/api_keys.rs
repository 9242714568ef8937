//! Who may ask a service: keys by name, of which only a digest is kept.

use crate::db::{Row, Sql, Value};
use crate::error::Result;
use crate::queries;

/// A key. Its secret is nowhere.
#[derive(Clone, Debug)]
pub struct ApiKey {
    /// Its public part, by which it is found.
    pub id: String,
    /// Its name, as people say it.
    pub name: String,
    /// Of its secret.
    pub digest: String,
    /// Words of roles, with spaces between them.
    pub roles: String,
    /// Whose access tokens count.
    pub account: Option<Account>,
    /// Milliseconds since 1970 UTC.
    pub created_at: i64,
    /// From then on it is none, milliseconds since 1970 UTC.
    pub expires_at: Option<i64>,
    /// A list of names, JSON: into these sources alone it may push; none: into all.
    pub sources: Option<String>,
}

/// Somebody at a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The authority that knows them.
    pub system: String,
    /// A part of that system; may be empty.
    pub domain: String,
    /// Their name there.
    pub name: String,
}

fn key(row: &Row<'_>) -> Result<ApiKey> {
    let account = Account { system: row.text(4)?, domain: row.text(5)?, name: row.text(6)? };
    Ok(ApiKey {
        id: row.text(0)?,
        name: row.text(1)?,
        digest: row.text(2)?,
        roles: row.text(3)?,
        account: (!account.name.is_empty()).then_some(account),
        created_at: row.int(7)?,
        expires_at: row.opt_int(8)?,
        sources: row.opt_text(9)?,
    })
}

/// All keys, by name.
pub fn list(sql: &mut Sql<'_>) -> Result<Vec<ApiKey>> {
    sql.query(&queries::API_KEY_LIST, &[], key)
}

/// The key of that public part.
pub fn by_id(sql: &mut Sql<'_>, id: &str) -> Result<Option<ApiKey>> {
    sql.one(&queries::API_KEY_BY_ID, &[Value::Text(id)], key)
}

/// Adds a key. Its name is of no other one.
pub fn add(sql: &mut Sql<'_>, key: &ApiKey) -> Result<()> {
    let (system, domain, name) = match &key.account {
        Some(account) => (account.system.as_str(), account.domain.as_str(), account.name.as_str()),
        None => ("", "", ""),
    };
    let values = [
        Value::Text(&key.id),
        Value::Text(&key.name),
        Value::Text(&key.digest),
        Value::Text(&key.roles),
        Value::Text(system),
        Value::Text(domain),
        Value::Text(name),
        Value::Int(key.created_at),
        Value::OptInt(key.expires_at),
        Value::OptText(key.sources.as_deref()),
    ];
    sql.execute(&queries::API_KEY_ADD, &values).map(drop)
}

/// Takes a key back; false when there is none of that name.
pub fn remove(sql: &mut Sql<'_>, name: &str) -> Result<bool> {
    Ok(sql.execute(&queries::API_KEY_REMOVE, &[Value::Text(name)])? == 1)
}
