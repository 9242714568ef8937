//! Acls and containers, interned by connection (design 4.20).

pub mod definitions;

use ingather_model::access::Acl;
use ingather_model::ids::{AclId, ConnectionId, ContainerId, Digest, JobId};

use crate::db::{Row, Sql, Value};
use crate::documents::{next_id, take_ids};
use crate::error::Result;
use crate::queries;

/// A container as stored. Equal acls are kept once. A folder that is replaced, moved below another one or put on another device
/// and accepted there is a new container; the old one stays for documents that still refer to it, and its id is never used again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its id.
    pub id: ContainerId,
    /// The container above.
    pub parent: Option<ContainerId>,
    /// Its name in the connection.
    pub name: String,
    /// Device and inode, or what else makes it another one under the same name.
    pub identity: String,
    /// What it was listed with last.
    pub acl: AclId,
}

/// What is needed to judge a container.
#[derive(Clone, Debug)]
pub struct Ruled {
    /// Its id.
    pub id: ContainerId,
    /// The container above.
    pub parent: Option<ContainerId>,
    /// What it was listed with last.
    pub acl: AclId,
}

/// An acl that must admit, too, before documents of a job in a container or below it are shown.
///
/// It is added for every job of the connection when a container is listed with another acl: what it was before rules on,
/// since outputs may hold content that was read under it. It goes for one job when a complete run of that job has looked at
/// all that is below, and for jobs that are gone once other jobs have sent their entries. At rest there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingAcl {
    /// The container.
    pub container: ContainerId,
    /// Handle of the job; 0: entries of jobs that are gone.
    pub job: i64,
    /// The acl.
    pub acl_id: AclId,
}

/// Name of the counter that grows when who may see what lies below a known container becomes narrower or wider.
pub(crate) const ACCESS: &str = "access";

/// Where the store stands with all that [`all`], [`acls_of_connections`] and [`all_pending`] answer: as long as it is the same in one
/// process, they answer the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessStand {
    /// Numbers that no acl, no container, no change of access and no job has yet: a job that goes is a change of access.
    next: [i64; 4],
    /// A database server that crashed may have taken them back.
    connections_made: u64,
}

/// Where the store stands now.
pub fn access_stand(sql: &mut Sql<'_>) -> Result<AccessStand> {
    let next =
        [next_id(sql, "acl")?, next_id(sql, "container")?, next_id(sql, ACCESS)?, next_id(sql, "handle")?];
    Ok(AccessStand { next, connections_made: sql.connections_made() })
}

/// In the transaction of such a change.
pub(crate) fn changed(sql: &mut Sql<'_>) -> Result<()> {
    take_ids(sql, ACCESS, 1).map(|_| ())
}

fn read(row: &Row<'_>) -> Result<Container> {
    Ok(Container {
        id: ContainerId(row.int(0)?),
        parent: row.opt_int(1)?.map(ContainerId),
        name: row.text(2)?,
        identity: row.text(3)?,
        acl: AclId(row.int(4)?),
    })
}

/// Containers of a connection that were not replaced, at most `most`, the oldest ones.
pub fn list(sql: &mut Sql<'_>, connection: ConnectionId, most: usize) -> Result<Vec<Container>> {
    sql.query(&queries::CONTAINER_LIST, &[Value::Int(connection.0), Value::Int(most as i64)], read)
}

/// Containers of a connection by their names; those that were replaced, and those that there are not, are left out.
pub fn named(sql: &mut Sql<'_>, connection: ConnectionId, names: &[&str]) -> Result<Vec<Container>> {
    sql.query(&queries::CONTAINER_NAMED, &[Value::Int(connection.0), Value::Texts(names)], read)
}

/// Some containers; those that were replaced are left out.
pub fn some(sql: &mut Sql<'_>, ids: &[i64]) -> Result<Vec<Container>> {
    sql.query(&queries::CONTAINER_SOME, &[Value::Ints(ids)], read)
}

/// Every container, parents before children, for judging a user.
pub fn all(sql: &mut Sql<'_>) -> Result<Vec<Ruled>> {
    sql.query(&queries::CONTAINER_ALL, &[], |row| {
        let (id, parent) = (ContainerId(row.int(0)?), row.opt_int(1)?.map(ContainerId));
        Ok(Ruled { id, parent, acl: AclId(row.int(2)?) })
    })
}

/// Every container of a connection, replaced ones included: id, container above, and what `of` says of its name, for there may be
/// too many names to be kept.
pub fn tree<T>(
    sql: &mut Sql<'_>,
    connection: ConnectionId,
    of: impl Fn(&str) -> T,
) -> Result<Vec<(ContainerId, Option<ContainerId>, T)>> {
    sql.query(&queries::CONTAINER_NAMES, &[Value::Int(connection.0)], |row| {
        Ok((ContainerId(row.int(0)?), row.opt_int(1)?.map(ContainerId), of(&row.text(2)?)))
    })
}

/// Adds a container; its id.
pub fn add(
    sql: &mut Sql<'_>,
    connection: ConnectionId,
    parent: Option<ContainerId>,
    name: &str,
    identity: &str,
    acl: AclId,
) -> Result<ContainerId> {
    let id = take_ids(sql, "container", 1)?;
    let values = [
        Value::Int(id),
        Value::Int(connection.0),
        Value::OptInt(parent.map(|parent| parent.0)),
        Value::Text(name),
        Value::Text(identity),
        Value::Int(acl.0),
    ];
    sql.execute(&queries::CONTAINER_ADD, &values)?;
    Ok(ContainerId(id))
}

/// A container was listed with another acl. What it was before rules on for the documents of every job of its connection,
/// until a run of that job proves what is below.
pub fn judge(
    sql: &mut Sql<'_>,
    connection: ConnectionId,
    container: ContainerId,
    acl: AclId,
    before: AclId,
) -> Result<()> {
    sql.execute(&queries::CONTAINER_JUDGE, &[Value::Int(container.0), Value::Int(acl.0)])?;
    let values = [Value::Int(container.0), Value::Int(connection.0), Value::Int(before.0)];
    sql.execute(&queries::CONTAINER_PENDING_ADD_FOR_ALL, &values)?;
    changed(sql)
}

/// Adds what has to admit before documents of a job are shown.
pub fn add_pending(sql: &mut Sql<'_>, pending: PendingAcl) -> Result<()> {
    let values = [Value::Int(pending.container.0), Value::Int(pending.job), Value::Int(pending.acl_id.0)];
    sql.execute(&queries::CONTAINER_PENDING_ADD, &values)?;
    changed(sql)
}

/// What rules beside the acls of containers, for all jobs.
pub fn all_pending(sql: &mut Sql<'_>) -> Result<Vec<PendingAcl>> {
    sql.query(&queries::CONTAINER_PENDING_ALL, &[], |row| {
        Ok(PendingAcl { container: ContainerId(row.int(0)?), job: row.int(1)?, acl_id: AclId(row.int(2)?) })
    })
}

/// What rules beside the acls of containers for the documents of one job.
pub fn pending_of(sql: &mut Sql<'_>, job: JobId) -> Result<Vec<(ContainerId, AclId)>> {
    sql.query(&queries::CONTAINER_PENDING_OF_JOB, &[Value::Int(job.0)], |row| {
        Ok((ContainerId(row.int(0)?), AclId(row.int(1)?)))
    })
}

/// A run of the job has looked at everything below the container.
pub fn open(sql: &mut Sql<'_>, container: ContainerId, job: JobId) -> Result<()> {
    sql.execute(&queries::CONTAINER_PENDING_OPEN, &[Value::Int(container.0), Value::Int(job.0)])?;
    changed(sql)
}

/// What rules entries of jobs that are gone ends once other jobs have sent all of them.
pub fn sent_again(sql: &mut Sql<'_>) -> Result<()> {
    if pending_of(sql, JobId(0))?.is_empty() {
        return Ok(());
    }
    sql.execute(&queries::CONTAINER_PENDING_SENT_AGAIN, &[])?;
    changed(sql)
}

/// A container was replaced by another under its name: it stays for the documents that still refer to it.
pub fn leave(sql: &mut Sql<'_>, id: ContainerId, now: i64) -> Result<()> {
    sql.execute(&queries::CONTAINER_LEAVE, &[Value::Int(id.0), Value::Int(now)])?;
    Ok(())
}

/// Acls of a connection: id and digest.
pub fn acl_ids(sql: &mut Sql<'_>, connection: ConnectionId) -> Result<Vec<(AclId, Digest)>> {
    sql.query(&queries::ACL_LIST, &[Value::Int(connection.0)], |row| {
        Ok((AclId(row.int(0)?), Digest(row.int(1)?)))
    })
}

/// Every acl by its id; one that cannot be read admits nobody and is left out.
pub fn acls(sql: &mut Sql<'_>) -> Result<Vec<(AclId, Acl)>> {
    let rows = sql.query(&queries::ACL_ALL, &[], |row| Ok((AclId(row.int(0)?), row.text(1)?)))?;
    Ok(rows.into_iter().filter_map(|(id, text)| Some((id, serde_json::from_str(&text).ok()?))).collect())
}

/// The same with the connection that each belongs to.
pub fn acls_of_connections(sql: &mut Sql<'_>) -> Result<Vec<(AclId, ConnectionId, Acl)>> {
    let row = |row: &Row<'_>| Ok((AclId(row.int(0)?), ConnectionId(row.int(2)?), row.text(1)?));
    let rows = sql.query(&queries::ACL_ALL, &[], row)?;
    let read = |(id, connection, text): (AclId, ConnectionId, String)| {
        Some((id, connection, serde_json::from_str(&text).ok()?))
    };
    Ok(rows.into_iter().filter_map(read).collect())
}

/// How many acls cannot be read: they admit nobody.
pub fn unreadable_acls(sql: &mut Sql<'_>) -> Result<u64> {
    let rows = sql.query(&queries::ACL_ALL, &[], |row| row.text(1))?;
    Ok(rows.iter().filter(|text| serde_json::from_str::<Acl>(text).is_err()).count() as u64)
}

/// The acl of an id; none when it is not there, or cannot be read.
pub fn acl(sql: &mut Sql<'_>, id: AclId) -> Result<Option<Acl>> {
    let text = sql.one(&queries::ACL_GET, &[Value::Int(id.0)], |row| row.text(0))?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Adds an acl; its id.
pub fn add_acl(sql: &mut Sql<'_>, connection: ConnectionId, acl: &Acl) -> Result<AclId> {
    let id = take_ids(sql, "acl", 1)?;
    let values =
        [Value::Int(id), Value::Int(connection.0), Value::Int(acl.digest().0), Value::Text(&acl.text())];
    sql.execute(&queries::ACL_ADD, &values)?;
    Ok(AclId(id))
}
