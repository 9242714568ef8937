//! Classes and places: interned levels of access, by connection (design 4.20).

use ingather_model::access::Level;
use ingather_model::ids::{ClassId, ConnectionId, Digest, PlaceId};

use crate::db::{Row, Sql, Value};
use crate::documents::take_ids;
use crate::error::{Result, StoreError};
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
    /// What rules now.
    pub level: ClassId,
    /// What it opens to once its range is proven; until then both must admit.
    pub wider: Option<ClassId>,
    /// Levels of places above that opened before this one was proven again; they must admit too.
    pub also: Vec<ClassId>,
}

/// What is needed to judge a place.
#[derive(Clone, Debug)]
pub struct Ruled {
    /// Its id.
    pub id: PlaceId,
    /// The place above.
    pub parent: Option<PlaceId>,
    /// Classes that must all admit.
    pub classes: Vec<ClassId>,
}

fn also(text: Option<String>) -> Result<Vec<ClassId>> {
    let broken = |e: serde_json::Error| StoreError::Refused(format!("a stored place cannot be read: {e}"));
    Ok(text.map(|text| serde_json::from_str(&text).map_err(broken)).transpose()?.unwrap_or_default())
}

/// All places of a connection that were not replaced.
pub fn list(sql: &mut Sql<'_>, connection: ConnectionId) -> Result<Vec<Place>> {
    sql.query(&queries::PLACE_LIST, &[Value::Int(connection.0)], |row: &Row<'_>| {
        Ok(Place {
            id: PlaceId(row.int(0)?),
            parent: row.opt_int(1)?.map(PlaceId),
            name: row.text(2)?,
            identity: row.text(3)?,
            level: ClassId(row.int(4)?),
            wider: row.opt_int(5)?.map(ClassId),
            also: also(row.opt_text(6)?)?,
        })
    })
}

/// Every place, parents before children, for judging a user.
pub fn all(sql: &mut Sql<'_>) -> Result<Vec<Ruled>> {
    sql.query(&queries::PLACE_ALL, &[], |row| {
        let mut classes = vec![ClassId(row.int(2)?)];
        classes.extend(row.opt_int(3)?.map(ClassId));
        classes.extend(also(row.opt_text(4)?)?);
        Ok(Ruled { id: PlaceId(row.int(0)?), parent: row.opt_int(1)?.map(PlaceId), classes })
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
    let id = take_ids(sql, "place", 1)?;
    let values = [
        Value::Int(id),
        Value::Int(connection.0),
        Value::OptInt(parent.map(|parent| parent.0)),
        Value::Text(name),
        Value::Text(identity),
        Value::Int(level.0),
    ];
    sql.execute(&queries::PLACE_ADD, &values)?;
    Ok(PlaceId(id))
}

/// Writes what rules at a place.
pub fn judge(sql: &mut Sql<'_>, place: &Place) -> Result<()> {
    let also = (!place.also.is_empty()).then(|| serde_json::json!(place.also).to_string());
    let values = [
        Value::Int(place.id.0),
        Value::Int(place.level.0),
        Value::OptInt(place.wider.map(|class| class.0)),
        Value::OptText(also.as_deref()),
    ];
    sql.execute(&queries::PLACE_JUDGE, &values)?;
    Ok(())
}

/// A place was replaced by another under its name: it stays for the documents that still refer to it.
pub fn leave(sql: &mut Sql<'_>, id: PlaceId, now: i64) -> Result<()> {
    sql.execute(&queries::PLACE_LEAVE, &[Value::Int(id.0), Value::Int(now)])?;
    Ok(())
}

/// A place has another place above it.
pub fn move_to(sql: &mut Sql<'_>, id: PlaceId, parent: Option<PlaceId>) -> Result<()> {
    sql.execute(&queries::PLACE_MOVE, &[Value::Int(id.0), Value::OptInt(parent.map(|parent| parent.0))])?;
    Ok(())
}

/// Classes of a connection: id and digest.
pub fn classes(sql: &mut Sql<'_>, connection: ConnectionId) -> Result<Vec<(ClassId, Digest)>> {
    sql.query(&queries::ACCESS_CLASS_LIST, &[Value::Int(connection.0)], |row| {
        Ok((ClassId(row.int(0)?), Digest(row.int(1)?)))
    })
}

/// Every class with its level; one that cannot be read admits nobody and is left out.
pub fn levels(sql: &mut Sql<'_>) -> Result<Vec<(ClassId, Level)>> {
    let rows = sql.query(&queries::ACCESS_CLASS_ALL, &[], |row| Ok((ClassId(row.int(0)?), row.text(1)?)))?;
    Ok(rows.into_iter().filter_map(|(id, text)| Some((id, serde_json::from_str(&text).ok()?))).collect())
}

/// Adds a class; its id.
pub fn add_class(sql: &mut Sql<'_>, connection: ConnectionId, level: &Level) -> Result<ClassId> {
    let id = take_ids(sql, "class", 1)?;
    let values =
        [Value::Int(id), Value::Int(connection.0), Value::Int(level.digest().0), Value::Text(&level.text())];
    sql.execute(&queries::ACCESS_CLASS_ADD, &values)?;
    Ok(ClassId(id))
}
