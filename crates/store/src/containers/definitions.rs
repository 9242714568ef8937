//! What outputs that judge access by what they were told have been told of who may see (design 4.20, decision 0015).

use ingather_model::access::Acl;
use ingather_model::access::identity::Group;
use ingather_model::ids::{AclId, ConnectionId, ContainerId, Digest, JobId};

use crate::containers::{ACCESS, PendingAcl, Ruled};
use crate::db::{Column, Row, Sql, Value};
use crate::documents::next_id;
use crate::error::{Result, StoreError};
use crate::queries;

/// What one definition is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Subject {
    /// An acl.
    Acl(AclId),
    /// A container, for documents of the job with this handle.
    Container(ContainerId, i64),
    /// All entries of a job: they refer to acls and containers.
    Entries(JobId),
    /// What else has to admit to the entry at an address.
    Also(i64),
}

impl Subject {
    fn columns(self) -> (&'static str, i64, i64) {
        match self {
            Subject::Acl(acl_id) => ("acl", acl_id.0, 0),
            Subject::Container(container, job) => ("container", container.0, job),
            Subject::Entries(job) => ("entries", 0, job.0),
            Subject::Also(address) => ("also", address, 0),
        }
    }

    fn read(kind: &str, id: i64, job: i64) -> Result<Subject> {
        match kind {
            "acl" => Ok(Subject::Acl(AclId(id))),
            "container" => Ok(Subject::Container(ContainerId(id), job)),
            "entries" => Ok(Subject::Entries(JobId(job))),
            "also" => Ok(Subject::Also(id)),
            _ => Err(StoreError::Refused(format!("there is no definition of the kind `{kind}`"))),
        }
    }
}

/// A definition that is about to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defined {
    /// Of what.
    pub subject: Subject,
    /// Number of the change.
    pub seq: i64,
    /// Digest of what is said.
    pub intended: Digest,
}

/// All that an output was told of, with the digests of what was said last and of what was confirmed last.
pub fn list(sql: &mut Sql<'_>, output: ConnectionId) -> Result<Vec<(Subject, Digest, Option<Digest>)>> {
    sql.query(&queries::DEFINITION_LIST, &[Value::Int(output.0)], |row| {
        let subject = Subject::read(&row.text(0)?, row.int(1)?, row.int(2)?)?;
        Ok((subject, Digest(row.int(3)?), row.opt_int(4)?.map(Digest)))
    })
}

/// Writes what is about to be told; must be synced before it is.
pub fn intend(sql: &mut Sql<'_>, output: ConnectionId, defined: &[Defined]) -> Result<()> {
    with_columns(defined, |kinds, ids, jobs, seqs| {
        let intended: Vec<i64> = defined.iter().map(|one| one.intended.0).collect();
        let columns = [
            Column::Same(output.0),
            Column::Texts(kinds),
            Column::Ints(ids),
            Column::Ints(jobs),
            Column::Ints(seqs),
            Column::Ints(&intended),
        ];
        sql.execute_many(&queries::DEFINITION_INTEND, &columns)
    })
}

/// The output was told.
pub fn confirm(sql: &mut Sql<'_>, output: ConnectionId, defined: &[Defined]) -> Result<()> {
    with_columns(defined, |kinds, ids, jobs, seqs| {
        let columns = [
            Column::Same(output.0),
            Column::Texts(kinds),
            Column::Ints(ids),
            Column::Ints(jobs),
            Column::Ints(seqs),
        ];
        sql.execute_many(&queries::DEFINITION_CONFIRM, &columns)
    })
}

fn with_columns(
    defined: &[Defined],
    run: impl FnOnce(&[&str], &[i64], &[i64], &[i64]) -> Result<u64>,
) -> Result<()> {
    let (mut kinds, mut ids, mut jobs, mut seqs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for one in defined {
        let (kind, id, job) = one.subject.columns();
        kinds.push(kind);
        ids.push(id);
        jobs.push(job);
        seqs.push(one.seq);
    }
    run(&kinds, &ids, &jobs, &seqs).map(|_| ())
}

/// Nothing is known to be defined in an output any more.
pub fn reset(sql: &mut Sql<'_>, output: ConnectionId) -> Result<()> {
    sql.execute(&queries::DEFINITION_RESET, &[Value::Int(output.0)]).map(|_| ())
}

/// An output was cut: what it was told of acls and containers is not confirmed any more.
pub fn unconfirm(sql: &mut Sql<'_>, output: ConnectionId) -> Result<()> {
    sql.execute(&queries::DEFINITION_UNCONFIRM, &[Value::Int(output.0)]).map(|_| ())
}

/// References that entries of an output have, or may have: acl, container, handle of the job.
pub fn in_use(
    sql: &mut Sql<'_>,
    output: ConnectionId,
) -> Result<Vec<(Option<AclId>, Option<ContainerId>, i64)>> {
    sql.query(&queries::DEFINITION_IN_USE, &[Value::Int(output.0)], |row| {
        Ok((row.opt_int(0)?.map(AclId), row.opt_int(1)?.map(ContainerId), row.int(2)?))
    })
}

/// Access that is known, and may not be what an output holds at an address.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// The address.
    pub address: i64,
    /// Acl, container, handle of the job.
    pub reference: (Option<AclId>, Option<ContainerId>, i64),
    /// The access that the output was sent last, where it holds just that, and nobody else may have sent it: the entry refers to this
    /// owner's job.
    pub confirmed: Option<Digest>,
}

/// At most `most` of them.
pub fn pending(sql: &mut Sql<'_>, output: ConnectionId, most: usize) -> Result<Vec<Pending>> {
    sql.query(&queries::DEFINITION_PENDING, &[Value::Int(output.0), Value::Int(most as i64)], |row| {
        let reference = (row.opt_int(2)?.map(AclId), row.opt_int(3)?.map(ContainerId), row.int(1)?);
        let intended = Some(row.int(4)?);
        let is_confirmed =
            row.opt_int(5)? == intended && row.opt_text(6)?.is_none() && row.opt_int(7)?.is_none();
        Ok(Pending {
            address: row.int(0)?,
            reference,
            confirmed: intended.filter(|_| is_confirmed).map(Digest),
        })
    })
}

/// Forgets addresses at which nothing else has to admit any more; `nothing` is the digest of that.
pub fn drop_unneeded(sql: &mut Sql<'_>, output: ConnectionId, nothing: Digest) -> Result<()> {
    sql.execute(&queries::DEFINITION_DROP, &[Value::Int(output.0), Value::Int(nothing.0)]).map(|_| ())
}

/// Grows with every change of a container that is known, or of what it has opened to.
pub fn access_generation(sql: &mut Sql<'_>) -> Result<i64> {
    next_id(sql, ACCESS)
}

/// Containers with all that are above them, in no order.
pub fn above(sql: &mut Sql<'_>, containers: &[i64]) -> Result<Vec<Ruled>> {
    sql.query(&queries::CONTAINER_ABOVE, &[Value::Ints(containers)], |row| {
        let (id, acl) = (ContainerId(row.int(0)?), AclId(row.int(1)?));
        Ok(Ruled { id, acl, parent: row.opt_int(2)?.map(ContainerId) })
    })
}

/// What rules beside the acls of some containers.
pub fn pending_at(sql: &mut Sql<'_>, containers: &[i64]) -> Result<Vec<PendingAcl>> {
    sql.query(&queries::CONTAINER_PENDING_AT, &[Value::Ints(containers)], |row| {
        Ok(PendingAcl { container: ContainerId(row.int(0)?), job: row.int(1)?, acl_id: AclId(row.int(2)?) })
    })
}

/// Some acls by their ids; one that cannot be read admits nobody and is left out.
pub fn acls(sql: &mut Sql<'_>, acl_ids: &[i64]) -> Result<Vec<(AclId, Acl, Group)>> {
    let row = |row: &Row<'_>| Ok((AclId(row.int(0)?), row.text(1)?, Group::named(row.text(2)?)));
    let rows = sql.query(&queries::ACL_SOME, &[Value::Ints(acl_ids)], row)?;
    let read =
        |(id, text, group): (AclId, String, Group)| Some((id, serde_json::from_str(&text).ok()?, group));
    Ok(rows.into_iter().filter_map(read).collect())
}
