//! Who may see what: a user's tokens become sets of acls and containers that an output filters by (design 4.20). Acls of a
//! repository connection are judged by the tokens of its authority group alone.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use ingather_contract::access_filter::{AccessFilter, Admitting, IdSet, PendingContainers, Reference};
use ingather_model::access::Acl;
use ingather_model::access::identity::{Group, Identity};
use ingather_model::ids::{AclId, ConnectionId, ContainerId};
use ingather_model::limits;
use ingather_store::containers::AccessStand;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::turns::lock;
use ingather_store::{Reader, Sql, StoreError, connections, containers, deliveries, jobs};

use crate::error::{EngineError, Refusal, Result};

/// What the last users may see, for their next searches: all acls and containers are judged again only when one of them, or what the
/// user holds, has changed. Whether anything has is read from the store each time, in the transaction of the search.
#[derive(Default)]
pub struct AccessFilters {
    kept: Mutex<VecDeque<Kept>>,
}

/// What one user may see.
struct Kept {
    judged: Judged,
    admitting: Arc<Admitting>,
    /// The last filter of each output.
    filters: HashMap<Option<ConnectionId>, Arc<AccessFilter>>,
}

/// All that acls and containers are judged by.
#[derive(PartialEq, Eq)]
struct Judged {
    identity: Identity,
    groups: HashMap<ConnectionId, Group>,
    stand: AccessStand,
}

impl AccessFilters {
    /// The filter of a user, inside a read that asks for more: what an output was told by then. `output` names the entries whose access may
    /// be on its way. It is the one of before where that says the same. None where [`too_many`] changes are on their way.
    ///
    /// # Errors
    /// What the store says.
    pub fn of(
        &self,
        sql: &mut Sql<'_>,
        output: Option<ConnectionId>,
        identity: &Identity,
    ) -> std::result::Result<Option<Arc<AccessFilter>>, StoreError> {
        let Some(pending) = pending(sql, output)? else { return Ok(None) };
        let (groups, stand) = (connections::groups(sql)?, containers::access_stand(sql)?);
        let known = lock(&self.kept).iter().find(|kept| kept.is_of(identity, &groups, &stand)).map(|kept| {
            let last = kept.filters.get(&output).filter(|last| last.pending() == Some(&pending));
            (kept.admitting.clone(), last.cloned())
        });
        let admitting = match known {
            Some((_, Some(last))) => return Ok(Some(last)),
            Some((admitting, None)) => admitting,
            None => Arc::new(judge(sql, &groups, identity)?),
        };
        let filter = Arc::new(AccessFilter::Only { admitting: admitting.clone(), pending });
        // Somebody may hold many thousands of tokens: they are copied where something is kept alone.
        let judged = Judged { identity: identity.clone(), groups, stand };
        self.keep(judged, admitting, output, filter.clone());
        Ok(Some(filter))
    }

    /// In place of what was kept of this user. Nobody is kept twice, and no more than so many.
    fn keep(
        &self,
        judged: Judged,
        admitting: Arc<Admitting>,
        output: Option<ConnectionId>,
        filter: Arc<AccessFilter>,
    ) {
        let mut kept = lock(&self.kept);
        let of = kept.iter().position(|kept| kept.judged.identity == judged.identity);
        let before = of.and_then(|at| kept.remove(at)).filter(|before| before.judged == judged);
        let mut filters = before.map(|before| before.filters).unwrap_or_default();
        filters.insert(output, filter);
        kept.push_back(Kept { judged, admitting, filters });
        if kept.len() > limits::SEARCH_USERS_KEPT {
            kept.pop_front();
        }
    }
}

impl Kept {
    fn is_of(&self, who: &Identity, of: &HashMap<ConnectionId, Group>, at: &AccessStand) -> bool {
        let Judged { identity, groups, stand } = &self.judged;
        identity == who && (groups == of && stand == at || failpoint(Failpoint::FilterOutlivesAccess))
    }
}

/// Judges every acl and every container once; `output` names the entries whose access may be on its way.
///
/// # Errors
/// When more access changes are on their way than can be taken into account: nothing is answered then.
pub fn for_identity(
    reader: &Reader,
    output: Option<ConnectionId>,
    identity: &Identity,
) -> Result<Arc<AccessFilter>> {
    let filters = AccessFilters::default();
    reader.read(|sql| filters.of(sql, output, identity))?.ok_or_else(too_many)
}

/// What is on its way to entries of an output, by their addresses; none where that is too much.
fn pending(
    sql: &mut Sql<'_>,
    output: Option<ConnectionId>,
) -> std::result::Result<Option<HashMap<i64, Vec<Reference>>>, StoreError> {
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
    Ok(Some(pending))
}

fn judge(
    sql: &mut Sql<'_>,
    groups: &HashMap<ConnectionId, Group>,
    identity: &Identity,
) -> std::result::Result<Admitting, StoreError> {
    let passes = |connection: &ConnectionId, acl: &Acl| match groups.get(connection) {
        Some(_) if failpoint(Failpoint::GroupsCross) => identity.passes(&Group::default(), acl),
        Some(group) => identity.passes(group, acl),
        None => false,
    };
    let acls = containers::acls_of_connections(sql)?.into_iter();
    let admits: HashSet<AclId> =
        acls.filter(|(_, connection, acl)| passes(connection, acl)).map(|(id, ..)| id).collect();
    let mut chains = Chains::new();
    for container in containers::all(sql)? {
        chains.insert(container.id, (admits.contains(&container.acl), container.parent));
    }
    let open = chains.keys().filter(|id| open(&chains, **id)).map(|id| id.0).collect::<IdSet>();
    let pending_containers = pending_containers(sql, &admits, &chains)?;
    let acl_ids = admits.into_iter().map(|id| id.0).collect::<IdSet>();
    Ok(Admitting { acl_ids, containers: open, pending_containers })
}

/// More access changes are on their way than can be taken into account.
pub fn too_many() -> EngineError {
    EngineError::refused(
        Refusal::Busy,
        "more access changes are on their way than a search can take into account; let `ingather sync` finish",
    )
}

/// Containers: whether each admits by itself, and the container above it.
type Chains = HashMap<ContainerId, (bool, Option<ContainerId>)>;

/// What opened and was not looked at since by some jobs.
fn pending_containers(
    sql: &mut Sql<'_>,
    admits: &HashSet<AclId>,
    chains: &Chains,
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
        let above: Chains = chains.iter().map(|(id, (_, p))| (*id, (!shut.contains(id), *p))).collect();
        (job, above.keys().filter(|id| !open(&above, **id)).map(|id| id.0).collect::<IdSet>())
    });
    Ok(PendingContainers { jobs, closed: closed.collect() })
}

/// Whether a container and every container above it admit; a chain that is broken or longer than any path does not.
fn open(chains: &Chains, container: ContainerId) -> bool {
    let mut at = Some(container);
    for _ in 0..limits::CONTAINER_CHAIN_MAX {
        let Some(id) = at else { return true };
        match chains.get(&id) {
            Some((true, parent)) => at = *parent,
            _ => return false,
        }
    }
    false
}
