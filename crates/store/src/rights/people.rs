//! People and groups that somebody pushes into an authority, and who is in which group (decision 0048).
//!
//! On PostgreSQL several write at once. What is changed is locked first ([`to_change`]), then the members that it names ([`present`]), then
//! memberships: whoever deletes somebody waits, or is waited for, so that nobody stays a member who is not there.

use ingather_model::ids::ConnectionId;
use ingather_model::limits;

use crate::db::{Column, Row, Sql, Value};
use crate::error::{Result, StoreError};
use crate::queries::{self, Statement};

/// Whether a person is meant or a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A person.
    Person,
    /// A group.
    Group,
}

/// Which statements are about a kind.
struct Statements {
    by_id: &'static Statement,
    to_change: &'static Statement,
    by_name: &'static Statement,
    by_external: &'static Statement,
    lock: &'static Statement,
    remove: &'static Statement,
}

impl Kind {
    const fn statements(self) -> Statements {
        match self {
            Kind::Person => Statements {
                by_id: &queries::PERSON_BY_ID,
                to_change: &queries::PERSON_TO_CHANGE,
                by_name: &queries::PERSON_BY_NAME,
                by_external: &queries::PERSON_BY_EXTERNAL,
                lock: &queries::PERSON_LOCK,
                remove: &queries::PERSON_REMOVE,
            },
            Kind::Group => Statements {
                by_id: &queries::PERSON_GROUP_BY_ID,
                to_change: &queries::PERSON_GROUP_TO_CHANGE,
                by_name: &queries::PERSON_GROUP_BY_NAME,
                by_external: &queries::PERSON_GROUP_BY_EXTERNAL,
                lock: &queries::PERSON_GROUP_LOCK,
                remove: &queries::PERSON_GROUP_REMOVE,
            },
        }
    }
}

/// A person or a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// What the program calls it: random, so that an id of before a restored backup is not somebody else's.
    pub id: String,
    /// Its name as it was sent.
    pub name: String,
    /// What whoever pushes calls it.
    pub external_id: Option<String>,
    /// Whether a person may enter; of a group it says nothing.
    pub active: bool,
    /// What else was sent, JSON.
    pub body: String,
    /// Tells what it was from what it is.
    pub revision: i64,
    /// When it was made, milliseconds since 1970 UTC.
    pub created_at: i64,
    /// When it was changed last.
    pub changed_at: i64,
}

/// What a group is to a person or to another group that is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What whoever pushes calls it.
    pub external_id: Option<String>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// The id.
    pub id: String,
    /// Whether it is a group.
    pub is_group: bool,
}

/// What becomes of the members of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// All go that there are, before others come.
    pub cleared: bool,
    /// These go.
    pub removed: Vec<String>,
    /// These come.
    pub added: Vec<Member>,
}

/// The form that names are compared in: letter by letter, but for case, of which both directions count. Signs that only look like a letter, or
/// become one in one direction alone, make another name.
pub fn name_key(name: &str) -> String {
    // No name has the character between the two.
    format!("{}\n{}", name.to_lowercase(), name.to_uppercase())
}

fn row(row: &Row<'_>) -> Result<Pushed> {
    Ok(Pushed {
        id: row.text(0)?,
        name: row.text(1)?,
        external_id: row.opt_text(2)?,
        active: row.int(3)? == 1,
        body: row.text(4)?,
        revision: row.int(5)?,
        created_at: row.int(6)?,
        changed_at: row.int(7)?,
    })
}

/// The kind of an authority, which is kept until the transaction ends; none where it is not there. Every change begins with it, so that nobody
/// comes into an authority that goes.
///
/// # Errors
/// What the database says.
pub fn keep_authority(sql: &mut Sql<'_>, authority: ConnectionId) -> Result<Option<String>> {
    sql.one(&queries::AUTHORITY_KEEP, &[Value::Int(authority.0)], |row| row.text(0))
}

/// Adds a person, or a group; false where somebody has the name of the person.
///
/// # Errors
/// What the database says.
pub fn add(sql: &mut Sql<'_>, authority: ConnectionId, kind: Kind, new: &Pushed) -> Result<bool> {
    let key = name_key(&new.name);
    let (id, name, key) = (Value::Text(&new.id), Value::Text(&new.name), Value::Text(&key));
    let (external, body) = (Value::OptText(new.external_id.as_deref()), Value::Text(&new.body));
    let (authority, active, at) =
        (Value::Int(authority.0), Value::Int(i64::from(new.active)), Value::Int(new.created_at));
    let added = match kind {
        Kind::Person => {
            sql.execute(&queries::PERSON_ADD, &[authority, id, name, key, external, active, body, at])?
        }
        Kind::Group => {
            sql.execute(&queries::PERSON_GROUP_ADD, &[authority, id, name, key, external, body, at])?
        }
    };
    Ok(added == 1)
}

/// The person or group of this id.
///
/// # Errors
/// What the database says.
pub fn get(sql: &mut Sql<'_>, authority: ConnectionId, kind: Kind, id: &str) -> Result<Option<Pushed>> {
    sql.one(kind.statements().by_id, &[Value::Int(authority.0), Value::Text(id)], row)
}

/// The same, which nobody else changes until the transaction ends.
///
/// # Errors
/// What the database says.
pub fn to_change(sql: &mut Sql<'_>, authority: ConnectionId, kind: Kind, id: &str) -> Result<Option<Pushed>> {
    sql.one(kind.statements().to_change, &[Value::Int(authority.0), Value::Text(id)], row)
}

/// Those of this name, however its letters are written.
///
/// # Errors
/// What the database says.
pub fn by_name(
    sql: &mut Sql<'_>,
    authority: ConnectionId,
    (kind, name): (Kind, &str),
    most: usize,
) -> Result<Vec<Pushed>> {
    let key = name_key(name);
    let values = [Value::Int(authority.0), Value::Text(&key), Value::Int(most as i64)];
    sql.query(kind.statements().by_name, &values, row)
}

/// Those that whoever pushes calls so.
///
/// # Errors
/// What the database says.
pub fn by_external(
    sql: &mut Sql<'_>,
    authority: ConnectionId,
    (kind, external): (Kind, &str),
    most: usize,
) -> Result<Vec<Pushed>> {
    let values = [Value::Int(authority.0), Value::Text(external), Value::Int(most as i64)];
    sql.query(kind.statements().by_external, &values, row)
}

/// So many of a kind after the first ones, in one order; people who may enter, or may not, where that is said.
///
/// # Errors
/// What the database says.
pub fn page(
    sql: &mut Sql<'_>,
    authority: ConnectionId,
    (kind, active): (Kind, Option<bool>),
    (first, most): (i64, i64),
) -> Result<Vec<Pushed>> {
    let (authority, first, most) = (Value::Int(authority.0), Value::Int(first), Value::Int(most));
    match kind {
        Kind::Person => {
            let active = Value::OptInt(active.map(i64::from));
            sql.query(&queries::PERSON_PAGE, &[authority, active, most, first], row)
        }
        Kind::Group => sql.query(&queries::PERSON_GROUP_PAGE, &[authority, most, first], row),
    }
}

/// How many of a kind there are, as [`page`] has them.
///
/// # Errors
/// What the database says.
pub fn count(sql: &mut Sql<'_>, authority: ConnectionId, kind: Kind, active: Option<bool>) -> Result<i64> {
    let authority = Value::Int(authority.0);
    let counted = match kind {
        Kind::Person => {
            let values = [authority, Value::OptInt(active.map(i64::from))];
            sql.one(&queries::PERSON_COUNT, &values, |row| row.int(0))?
        }
        Kind::Group => sql.one(&queries::PERSON_GROUP_COUNT, &[authority], |row| row.int(0))?,
    };
    Ok(counted.unwrap_or_default())
}

/// Puts what somebody is now in place of what they were, as [`to_change`] told it in this transaction; false where another one has the name.
///
/// # Errors
/// `Conflict` where it was changed since it was looked at; what the database says.
pub fn replace(sql: &mut Sql<'_>, authority: ConnectionId, kind: Kind, now: &Pushed) -> Result<bool> {
    if kind == Kind::Person
        && by_name(sql, authority, (kind, &now.name), 2)?.iter().any(|other| other.id != now.id)
    {
        return Ok(false);
    }
    let key = name_key(&now.name);
    let (of, id) = (Value::Int(authority.0), Value::Text(&now.id));
    let (name, key) = (Value::Text(&now.name), Value::Text(&key));
    let (external, body) = (Value::OptText(now.external_id.as_deref()), Value::Text(&now.body));
    let (active, at, revision) =
        (Value::Int(i64::from(now.active)), Value::Int(now.changed_at), Value::Int(now.revision));
    let changed = match kind {
        // One who takes the name in the same moment makes this a conflict: the next attempt finds them above.
        Kind::Person => {
            sql.execute(&queries::PERSON_REPLACE, &[of, id, name, key, external, active, body, at, revision])?
        }
        Kind::Group => {
            sql.execute(&queries::PERSON_GROUP_REPLACE, &[of, id, name, key, external, body, at, revision])?
        }
    };
    unchanged(changed).map(|()| true)
}

/// That a statement found what was looked at.
fn unchanged(rows: u64) -> Result<()> {
    match rows {
        1 => Ok(()),
        _ => Err(StoreError::Conflict("somebody was changed since they were looked at".to_owned())),
    }
}

/// Removes somebody, and whatever membership they have part in.
///
/// # Errors
/// As [`replace`].
pub fn remove(sql: &mut Sql<'_>, authority: ConnectionId, kind: Kind, gone: &Pushed, now: i64) -> Result<()> {
    let (of, id) = (Value::Int(authority.0), Value::Text(&gone.id));
    sql.execute(&queries::PERSON_GROUP_TOUCH, &[of, id, Value::Int(now)])?;
    unchanged(sql.execute(kind.statements().remove, &[of, id, Value::Int(gone.revision)])?)?;
    // Whoever was adding them has committed by now, so that this finds it; whoever comes later finds them gone.
    sql.execute(&queries::MEMBERSHIP_LEAVE, &[of, id])?;
    if kind == Kind::Group {
        sql.execute(&queries::MEMBERSHIP_CLEAR, &[of, id])?;
    }
    Ok(())
}

/// Which of these there are, as people or as groups; none of them goes until the transaction ends.
///
/// # Errors
/// What the database says.
pub fn present(sql: &mut Sql<'_>, authority: ConnectionId, ids: &[&str]) -> Result<Vec<Member>> {
    let mut found = Vec::with_capacity(ids.len());
    if ids.is_empty() {
        return Ok(found);
    }
    for kind in [Kind::Person, Kind::Group] {
        let values = [Value::Int(authority.0), Value::Texts(ids)];
        let is_group = kind == Kind::Group;
        found.extend(
            sql.query(kind.statements().lock, &values, |row| Ok(Member { id: row.text(0)?, is_group }))?,
        );
    }
    Ok(found)
}

/// Members come to a group, and go; those who come are [`present`]. False where it has too many then.
///
/// # Errors
/// What the database says.
pub fn change_members(
    sql: &mut Sql<'_>,
    authority: ConnectionId,
    group: &str,
    members: &Members,
) -> Result<bool> {
    let (of, id) = (Value::Int(authority.0), Value::Text(group));
    if members.cleared {
        sql.execute(&queries::MEMBERSHIP_CLEAR, &[of, id])?;
    } else if !members.removed.is_empty() {
        let removed: Vec<&str> = members.removed.iter().map(String::as_str).collect();
        sql.execute(&queries::MEMBERSHIP_REMOVE, &[of, id, Value::Texts(&removed)])?;
    }
    let added: Vec<&str> = members.added.iter().map(|member| member.id.as_str()).collect();
    let are_groups: Vec<i64> = members.added.iter().map(|member| i64::from(member.is_group)).collect();
    sql.execute_many(
        &queries::MEMBERSHIP_ADD,
        &[
            Column::Same(authority.0),
            Column::SameText(group),
            Column::Texts(&added),
            Column::Ints(&are_groups),
        ],
    )?;
    let count = sql.one(&queries::MEMBERSHIP_COUNT, &[of, id], |row| row.int(0))?.unwrap_or_default();
    Ok(count <= limits::PUSHED_MEMBERS_MAX as i64)
}

/// The first members of a group.
///
/// # Errors
/// What the database says.
pub fn members(sql: &mut Sql<'_>, authority: ConnectionId, group: &str, most: usize) -> Result<Vec<Member>> {
    let values = [Value::Int(authority.0), Value::Text(group), Value::Int(most as i64)];
    sql.query(&queries::MEMBERSHIP_OF_GROUP, &values, |row| {
        Ok(Member { id: row.text(0)?, is_group: row.int(1)? == 1 })
    })
}

/// Groups that somebody is in, directly or by other groups, each once, and whether these are all: not where there are more than `most`.
///
/// # Errors
/// What the database says.
pub fn groups_of(
    sql: &mut Sql<'_>,
    authority: ConnectionId,
    member: &str,
    most: usize,
) -> Result<(Vec<Held>, bool)> {
    let (mut all, mut met) = (Vec::new(), std::collections::HashSet::new());
    let mut next = vec![member.to_owned()];
    while !next.is_empty() {
        let of: Vec<&str> = next.iter().map(String::as_str).collect();
        // Those that are known may be among them again: groups may be in each other.
        let rows = (2 * most).saturating_add(2) as i64;
        let values = [Value::Int(authority.0), Value::Texts(&of), Value::Int(rows)];
        let found = sql.query(&queries::MEMBERSHIP_GROUPS_OF, &values, |row| {
            Ok(Held { id: row.text(0)?, name: row.text(1)?, external_id: row.opt_text(2)? })
        })?;
        next.clear();
        for group in found.into_iter().filter(|group| met.insert(group.id.clone())) {
            if all.len() == most {
                return Ok((all, false));
            }
            next.push(group.id.clone());
            all.push(group);
        }
    }
    Ok((all, true))
}

/// Removes all people and groups of an authority.
///
/// # Errors
/// What the database says.
pub(super) fn drop_all(sql: &mut Sql<'_>, authority: ConnectionId) -> Result<()> {
    for statement in [&queries::MEMBERSHIP_DROP, &queries::PERSON_GROUP_DROP, &queries::PERSON_DROP] {
        sql.execute(statement, &[Value::Int(authority.0)])?;
    }
    Ok(())
}
