//! Who may see what: a user's tokens become sets of acls and containers that an output filters by (design 4.20). Acls of a
//! repository connection are judged by the tokens of its authority group alone.

use std::collections::{HashMap, HashSet};

use ingather_contract::access_filter::{AccessFilter, IdSet, PendingContainers, Reference};
use ingather_model::access::Acl;
use ingather_model::access::identity::{Group, Identity};
use ingather_model::ids::{AclId, ConnectionId, ContainerId};
use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Reader, Sql, StoreError, connections, containers, deliveries, jobs};

use crate::error::{EngineError, Refusal, Result};

/// Judges every acl and every container once; `output` names the entries whose access may be on its way.
///
/// # Errors
/// When more access changes are on their way than can be taken into account: nothing is answered then.
pub fn for_identity(
    reader: &Reader,
    output: Option<ConnectionId>,
    identity: &Identity,
) -> Result<AccessFilter> {
    reader.read(|sql| for_identity_in(sql, output, identity))?.ok_or_else(too_many)
}

/// The same inside a read that asks for more: what an output was told by then. None where [`too_many`] changes are on their way.
///
/// # Errors
/// What the store says.
pub fn for_identity_in(
    sql: &mut Sql<'_>,
    output: Option<ConnectionId>,
    identity: &Identity,
) -> std::result::Result<Option<AccessFilter>, StoreError> {
    let groups = connections::groups(sql)?;
    let passes = |connection: &ConnectionId, acl: &Acl| match groups.get(connection) {
        Some(_) if failpoint(Failpoint::GroupsCross) => identity.passes(&Group::default(), acl),
        Some(group) => identity.passes(group, acl),
        None => false,
    };
    let acls = containers::acls_of_connections(sql)?.into_iter();
    let admits: HashSet<AclId> =
        acls.filter(|(_, connection, acl)| passes(connection, acl)).map(|(id, ..)| id).collect();
    let mut judged = Judged::new();
    for container in containers::all(sql)? {
        judged.insert(container.id, (admits.contains(&container.acl), container.parent));
    }
    let containers = judged.keys().filter(|id| open(&judged, **id)).map(|id| id.0).collect::<IdSet>();
    let pending_containers = pending_containers(sql, &admits, &judged)?;
    let rows = match output {
        Some(output) => deliveries::pending_access(sql, output, limits::PENDING_ACCESS_MAX + 1)?,
        None => Vec::new(),
    };
    if rows.len() > limits::PENDING_ACCESS_MAX {
        return Ok(None);
    }
    let mut pending: HashMap<i64, Vec<Reference>> = HashMap::new();
    for (address, job, acl_id, container) in rows {
        pending.entry(address).or_default().push(Reference { job: Some(job), acl_id, container });
    }
    let acl_ids = admits.into_iter().map(|id| id.0).collect::<IdSet>();
    Ok(Some(AccessFilter::Only { acl_ids, containers, pending_containers, pending }))
}

/// More access changes are on their way than can be taken into account.
pub fn too_many() -> EngineError {
    EngineError::refused(
        Refusal::Busy,
        "more access changes are on their way than a search can take into account; let `ingather sync` finish",
    )
}

/// Containers: whether each admits by itself, and the container above it.
type Judged = HashMap<ContainerId, (bool, Option<ContainerId>)>;

/// What opened and was not looked at since by some jobs.
fn pending_containers(
    sql: &mut Sql<'_>,
    admits: &HashSet<AclId>,
    judged: &Judged,
) -> std::result::Result<PendingContainers, StoreError> {
    let mut shut: HashMap<i64, HashSet<ContainerId>> = HashMap::new();
    for one in containers::all_pending(sql)?.into_iter().filter(|one| !admits.contains(&one.acl_id)) {
        shut.entry(one.job).or_default().insert(one.container);
    }
    if shut.is_empty() {
        return Ok(PendingContainers::default());
    }
    let jobs = jobs::names(sql)?.into_iter().map(|(job, _)| job.0).collect();
    let closed = shut.into_iter().map(|(job, shut)| {
        let above: Judged = judged.iter().map(|(id, (_, p))| (*id, (!shut.contains(id), *p))).collect();
        (job, above.keys().filter(|id| !open(&above, **id)).map(|id| id.0).collect::<IdSet>())
    });
    Ok(PendingContainers { jobs, closed: closed.collect() })
}

/// Whether a container and every container above it admit; a chain that is broken or longer than any path does not.
fn open(judged: &Judged, container: ContainerId) -> bool {
    let mut at = Some(container);
    for _ in 0..limits::CONTAINER_CHAIN_MAX {
        let Some(id) = at else { return true };
        match judged.get(&id) {
            Some((true, parent)) => at = *parent,
            _ => return false,
        }
    }
    false
}
