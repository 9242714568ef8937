//! Classes and places: interned levels of access, by connection (design 4.20).

pub mod definitions;

use ingather_model::access::Level;
use ingather_model::ids::{ClassId, ConnectionId, Digest, JobId, PlaceId};

use crate::db::{Row, Sql, Value};
use crate::documents::take_ids;
use crate::error::Result;
use crate::queries;

/// A place as stored. Levels are classes: equal levels are kept once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its id.
    pub id: PlaceId,
    /// The place above.
    pub parent: Option<PlaceId>,
    /// Its name in the connection.
    pub name: String,
    /// Device and inode, or what else makes it another one under the same name.
    pub identity: String,
    /// What it was listed with last.
    pub level: ClassId,
}

/// What is needed to judge a place.
#[derive(Clone, Debug)]
pub struct Ruled {
    /// Its id.
    pub id: PlaceId,
    /// The place above.
    pub parent: Option<PlaceId>,
    /// What it was listed with last.
    pub level: ClassId,
}

/// A class that has to admit, too, before documents of a job at a place or below it are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Narrow {
    /// The place.
    pub place: PlaceId,
    /// Handle of the job; 0: entries of jobs that are gone.
    pub job: i64,
    /// The class.
    pub class: ClassId,
}

/// Name of the counter that grows when who may see what lies below a known place becomes narrower or wider.
pub(crate) const ACCESS: &str = "access";

/// In the transaction of such a change.
pub(crate) fn changed(sql: &mut Sql<'_>) -> Result<()> {
    take_ids(sql, ACCESS, 1).map(|_| ())
}

/// All places of a connection that were not replaced.
pub fn list(sql: &mut Sql<'_>, connection: ConnectionId) -> Result<Vec<Place>> {
    sql.query(&queries::CONTAINER_LIST, &[Value::Int(connection.0)], |row: &Row<'_>| {
        Ok(Place {
            id: PlaceId(row.int(0)?),
            parent: row.opt_int(1)?.map(PlaceId),
            name: row.text(2)?,
            identity: row.text(3)?,
            level: ClassId(row.int(4)?),
        })
    })
}

/// Every place, parents before children, for judging a user.
pub fn all(sql: &mut Sql<'_>) -> Result<Vec<Ruled>> {
    sql.query(&queries::CONTAINER_ALL, &[], |row| {
        let (id, parent) = (PlaceId(row.int(0)?), row.opt_int(1)?.map(PlaceId));
        Ok(Ruled { id, parent, level: ClassId(row.int(2)?) })
    })
}

/// Every place of a connection, replaced ones included: id, place above, name.
pub fn names(sql: &mut Sql<'_>, connection: ConnectionId) -> Result<Vec<(PlaceId, Option<PlaceId>, String)>> {
    sql.query(&queries::CONTAINER_NAMES, &[Value::Int(connection.0)], |row| {
        Ok((PlaceId(row.int(0)?), row.opt_int(1)?.map(PlaceId), row.text(2)?))
    })
}

/// Adds a place; its id.
pub fn add(
    sql: &mut Sql<'_>,
    connection: ConnectionId,
    parent: Option<PlaceId>,
    name: &str,
    identity: &str,
    level: ClassId,
) -> Result<PlaceId> {
    let id = take_ids(sql, "container", 1)?;
    let values = [
        Value::Int(id),
        Value::Int(connection.0),
        Value::OptInt(parent.map(|parent| parent.0)),
        Value::Text(name),
        Value::Text(identity),
        Value::Int(level.0),
    ];
    sql.execute(&queries::CONTAINER_ADD, &values)?;
    Ok(PlaceId(id))
}

/// A place was listed with another level. What it was before rules on for the documents of every job of its connection,
/// until a run of that job proves what is below.
pub fn judge(
    sql: &mut Sql<'_>,
    connection: ConnectionId,
    place: PlaceId,
    level: ClassId,
    before: ClassId,
) -> Result<()> {
    sql.execute(&queries::CONTAINER_JUDGE, &[Value::Int(place.0), Value::Int(level.0)])?;
    let values = [Value::Int(place.0), Value::Int(connection.0), Value::Int(before.0)];
    sql.execute(&queries::CONTAINER_PENDING_ADD_FOR_ALL, &values)?;
    changed(sql)
}

/// Adds what has to admit before documents of a job are shown.
pub fn narrow(sql: &mut Sql<'_>, narrow: Narrow) -> Result<()> {
    let values = [Value::Int(narrow.place.0), Value::Int(narrow.job), Value::Int(narrow.class.0)];
    sql.execute(&queries::CONTAINER_PENDING_ADD, &values)?;
    changed(sql)
}

/// What rules beside the levels of places, for all jobs.
pub fn all_narrow(sql: &mut Sql<'_>) -> Result<Vec<Narrow>> {
    sql.query(&queries::CONTAINER_PENDING_ALL, &[], |row| {
        Ok(Narrow { place: PlaceId(row.int(0)?), job: row.int(1)?, class: ClassId(row.int(2)?) })
    })
}

/// What rules beside the levels of places for the documents of one job.
pub fn narrow_of(sql: &mut Sql<'_>, job: JobId) -> Result<Vec<(PlaceId, ClassId)>> {
    sql.query(&queries::CONTAINER_PENDING_OF_JOB, &[Value::Int(job.0)], |row| {
        Ok((PlaceId(row.int(0)?), ClassId(row.int(1)?)))
    })
}

/// A run of the job has looked at everything below the place.
pub fn open(sql: &mut Sql<'_>, place: PlaceId, job: JobId) -> Result<()> {
    sql.execute(&queries::CONTAINER_PENDING_OPEN, &[Value::Int(place.0), Value::Int(job.0)])?;
    changed(sql)
}

/// What rules entries of jobs that are gone ends once other jobs have sent all of them.
pub fn sent_again(sql: &mut Sql<'_>) -> Result<()> {
    if narrow_of(sql, JobId(0))?.is_empty() {
        return Ok(());
    }
    sql.execute(&queries::CONTAINER_PENDING_SENT_AGAIN, &[])?;
    changed(sql)
}

/// A place was replaced by another under its name: it stays for the documents that still refer to it.
pub fn leave(sql: &mut Sql<'_>, id: PlaceId, now: i64) -> Result<()> {
    sql.execute(&queries::CONTAINER_LEAVE, &[Value::Int(id.0), Value::Int(now)])?;
    Ok(())
}

/// Classes of a connection: id and digest.
pub fn classes(sql: &mut Sql<'_>, connection: ConnectionId) -> Result<Vec<(ClassId, Digest)>> {
    sql.query(&queries::ACL_LIST, &[Value::Int(connection.0)], |row| {
        Ok((ClassId(row.int(0)?), Digest(row.int(1)?)))
    })
}

/// Every class with its level; one that cannot be read admits nobody and is left out.
pub fn levels(sql: &mut Sql<'_>) -> Result<Vec<(ClassId, Level)>> {
    let rows = sql.query(&queries::ACL_ALL, &[], |row| Ok((ClassId(row.int(0)?), row.text(1)?)))?;
    Ok(rows.into_iter().filter_map(|(id, text)| Some((id, serde_json::from_str(&text).ok()?))).collect())
}

/// Classes whose level cannot be read: they admit nobody.
pub fn unreadable_levels(sql: &mut Sql<'_>) -> Result<u64> {
    let rows = sql.query(&queries::ACL_ALL, &[], |row| row.text(1))?;
    Ok(rows.iter().filter(|text| serde_json::from_str::<Level>(text).is_err()).count() as u64)
}

/// The level of a class; none when it is not there, or cannot be read.
pub fn level(sql: &mut Sql<'_>, id: ClassId) -> Result<Option<Level>> {
    let text = sql.one(&queries::ACL_GET, &[Value::Int(id.0)], |row| row.text(0))?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Adds a class; its id.
pub fn add_class(sql: &mut Sql<'_>, connection: ConnectionId, level: &Level) -> Result<ClassId> {
    let id = take_ids(sql, "acl", 1)?;
    let values =
        [Value::Int(id), Value::Int(connection.0), Value::Int(level.digest().0), Value::Text(&level.text())];
    sql.execute(&queries::ACL_ADD, &values)?;
    Ok(ClassId(id))
}
