//! Interned acls of documents, and the containers above them, as one run meets them (design 4.20).

pub(crate) mod looks;
pub(crate) mod openings;

use ingather_model::limits;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ingather_contract::repository::ContainerReport;
use ingather_model::access::Acl;
use ingather_model::ids::{AclId, ConnectionId, ContainerId, Digest, JobId};
use ingather_model::key::Stamp;
use ingather_model::scope::Coverage;
use ingather_store::containers::{self, PendingAcl};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Sql, StoreError, documents};

type Result<T> = std::result::Result<T, StoreError>;

/// Acls of one connection.
pub(crate) struct Acls {
    connection: ConnectionId,
    by_acl: HashMap<Acl, AclId>,
    by_digest: HashMap<Digest, AclId>,
    /// Pairs that were compared.
    within: HashMap<(AclId, AclId), bool>,
    /// Ids for acls of a run that writes nothing.
    pretended: i64,
}

impl Acls {
    pub(crate) fn load(sql: &mut Sql<'_>, connection: ConnectionId) -> Result<Acls> {
        let by_digest =
            containers::acl_ids(sql, connection)?.into_iter().map(|(id, digest)| (digest, id)).collect();
        Ok(Acls { connection, by_acl: HashMap::new(), by_digest, within: HashMap::new(), pretended: 0 })
    }

    /// The id of an acl, if it is known.
    pub(crate) fn find(&mut self, acl: &Acl) -> Option<AclId> {
        if let Some(id) = self.by_acl.get(acl) {
            return Some(*id);
        }
        let id = *self.by_digest.get(&acl.digest())?;
        self.keep(acl, id);
        Some(id)
    }

    /// Whether the one acl surely admits nobody whom the other shuts out, where both were compared before.
    pub(crate) fn compared(&self, one: AclId, other: AclId) -> Option<bool> {
        self.within.get(&(one, other)).copied()
    }

    /// Compares them.
    pub(crate) fn is_within(&mut self, sql: &mut Sql<'_>, one: AclId, other: AclId) -> Result<bool> {
        if let Some(known) = self.compared(one, other) {
            return Ok(known);
        }
        let acls = (containers::acl(sql, one)?, containers::acl(sql, other)?);
        let within = matches!(acls, (Some(one), Some(other)) if one.is_within(&other));
        if self.within.len() >= limits::ACLS_IN_MEMORY_MAX {
            self.within.clear();
        }
        self.within.insert((one, other), within);
        Ok(within)
    }

    /// The id of an acl; a new one is written.
    pub(crate) fn intern(&mut self, sql: &mut Sql<'_>, acl: &Acl) -> Result<AclId> {
        if let Some(id) = self.find(acl) {
            return Ok(id);
        }
        let id = containers::add_acl(sql, self.connection, acl)?;
        self.by_digest.insert(acl.digest(), id);
        self.keep(acl, id);
        Ok(id)
    }

    /// The id of an acl in a run that writes nothing: a new one gets a number that is in no store.
    pub(crate) fn pretend(&mut self, acl: &Acl) -> AclId {
        if let Some(id) = self.find(acl) {
            return id;
        }
        self.pretended -= 1;
        let id = AclId(self.pretended);
        self.by_digest.insert(acl.digest(), id);
        id
    }

    fn keep(&mut self, acl: &Acl, id: AclId) {
        if self.by_acl.len() >= limits::ACLS_IN_MEMORY_MAX {
            self.by_acl.clear();
        }
        self.by_acl.insert(acl.clone(), id);
    }
}

/// Containers of one connection, as the runs of one job meet them.
pub(crate) struct Containers {
    connection: ConnectionId,
    job: JobId,
    by_name: HashMap<Arc<str>, Container>,
    /// Names of those that were not replaced.
    names: HashMap<ContainerId, Arc<str>>,
    /// Folder of keys that a container rules, for those met in this run; none above the source.
    folders: HashMap<ContainerId, Option<String>>,
    /// Containers that have opened, or may have, and are not proven for this job.
    pending: HashSet<ContainerId>,
    /// Numbers of the looks that found something else than the one before.
    looks: u64,
    pretended: i64,
}

/// A container as it was looked at last.
struct Container {
    id: ContainerId,
    parent: Option<ContainerId>,
    identity: Box<str>,
    acl: AclId,
    look: Look,
}

/// One look at a container: what was read in it later, and before another look found the same, was read under its acl.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// As in [`ContainerReport::stamp`].
    pub(crate) stamp: Stamp,
    /// Number of the first of all looks in a row that found just this.
    pub(crate) number: u64,
    /// The listing that has shown what is in it since, counted from 1; 0: none.
    pub(crate) listing: u32,
}

impl Look {
    const NONE: Look = Look { stamp: Stamp::NONE, number: 0, listing: 0 };
}

fn device(identity: &str) -> &str {
    identity.split(':').next().unwrap_or(identity)
}

impl Containers {
    pub(crate) fn load(sql: &mut Sql<'_>, connection: ConnectionId, job: JobId) -> Result<Containers> {
        let pending = containers::pending_of(sql, job)?.into_iter().map(|(container, _)| container).collect();
        let mut loaded = Containers {
            connection,
            job,
            by_name: HashMap::new(),
            names: HashMap::new(),
            folders: HashMap::new(),
            pending,
            looks: 0,
            pretended: 0,
        };
        for containers::Container { id, parent, name, identity, acl } in containers::list(sql, connection)? {
            loaded.keep(&name, Container { id, parent, identity: identity.into(), acl, look: Look::NONE });
        }
        Ok(loaded)
    }

    fn keep(&mut self, name: &str, container: Container) {
        let name: Arc<str> = name.into();
        self.names.insert(container.id, name.clone());
        self.by_name.insert(name, container);
    }

    /// The number of the last look.
    pub(crate) fn looks(&self) -> u64 {
        self.looks
    }

    /// The container itself and those above it, to the top; none when one of them was replaced.
    pub(crate) fn chain(&self, container: ContainerId) -> Option<Vec<ContainerId>> {
        let mut chain = Vec::new();
        let mut at = Some(container);
        while let Some(id) = at {
            chain.push(id);
            at = self.by_name.get(self.names.get(&id)?)?.parent;
        }
        Some(chain)
    }

    /// Name and last look of a container that was not replaced.
    pub(crate) fn look(&self, container: ContainerId) -> Option<(Arc<str>, Look)> {
        let name = self.names.get(&container)?;
        Some((name.clone(), self.by_name.get(name)?.look))
    }

    /// Containers that a listing has proven, and that open for this job or are below one that does.
    pub(crate) fn opening(&self, coverage: &Coverage) -> HashSet<ContainerId> {
        if self.pending.is_empty() {
            return HashSet::new();
        }
        let met = self
            .folders
            .iter()
            .filter(|(_, folder)| coverage.folder_proven(folder.as_deref().unwrap_or_default()));
        met.map(|(id, _)| *id).filter(|id| self.names.contains_key(id) && self.may_open(Some(*id))).collect()
    }

    /// The folder of keys of a container that was met in this run.
    pub(crate) fn folder(&self, container: ContainerId) -> Option<&str> {
        self.folders.get(&container)?.as_deref()
    }

    /// True if this run has looked at the container: it is in the tree of its job, or above its root.
    pub(crate) fn was_met(&self, container: ContainerId) -> bool {
        self.folders.contains_key(&container)
    }

    /// The container of that name, as met last.
    pub(crate) fn id(&self, name: &str) -> Option<ContainerId> {
        self.by_name.get(name).map(|container| container.id)
    }

    /// The container of that name and its acl, as met last.
    pub(crate) fn acl(&self, name: &str) -> Option<(ContainerId, AclId)> {
        self.by_name.get(name).map(|container| (container.id, container.acl))
    }

    /// Notes that a container was met by a listing (0: by a single look), if its report changes nothing: a quiet run must not write.
    pub(crate) fn stands(&mut self, report: &ContainerReport, acl: Option<AclId>, listing: u32) -> bool {
        let parent = report.parent.as_deref().map(|name| self.id(name));
        let same = self.by_name.get(report.name.as_str()).is_some_and(|container| {
            *container.identity == *report.identity
                && Some(container.acl) == acl
                && parent.is_none_or(|parent| parent == container.parent)
        });
        if same {
            self.note(report, listing);
        }
        same
    }

    /// Notes that a container was met, and what the look at it found.
    pub(crate) fn note(&mut self, report: &ContainerReport, listing: u32) {
        let Some(container) = self.by_name.get_mut(report.name.as_str()) else { return };
        self.folders.insert(container.id, report.folder.clone());
        let look = &mut container.look;
        if look.stamp != report.stamp || report.stamp == Stamp::NONE {
            self.looks += 1;
            *look = Look { stamp: report.stamp, number: self.looks, listing };
        } else if listing > 0 {
            look.listing = listing;
        }
    }

    /// Takes a report in: what is narrower rules at once and for all jobs, what is wider waits for [`Containers::prove`].
    ///
    /// A folder of another identity, or below a folder of another identity, is another container: each document below it is looked
    /// at before it belongs there. True when the folder is on another device than at its last complete listing (design 4.5);
    /// `accept` takes that for granted. `sql` is none in a run that writes nothing.
    pub(crate) fn record(
        &mut self,
        mut sql: Option<&mut Sql<'_>>,
        report: &ContainerReport,
        acl: AclId,
        accept: bool,
        now: i64,
    ) -> Result<bool> {
        let parent = report.parent.as_deref().and_then(|name| self.id(name));
        let mut other_device = false;
        if let Some(container) = self.by_name.get_mut(report.name.as_str()) {
            let same = *container.identity == *report.identity
                && (container.parent == parent || failpoint(Failpoint::MovedPlaceStays));
            other_device = *container.identity != *report.identity
                && !accept
                && device(&container.identity) != device(&report.identity);
            // On another device, the old container stays the one that was listed completely last; both must admit.
            if same || other_device {
                if container.acl != acl {
                    let before = std::mem::replace(&mut container.acl, acl);
                    self.pending.insert(container.id);
                    if let Some(sql) = sql {
                        let before =
                            if failpoint(Failpoint::PlaceWidenedBeforeItIsProven) { acl } else { before };
                        containers::judge(sql, self.connection, container.id, acl, before)?;
                    }
                }
                self.folders.insert(container.id, report.folder.clone());
                return Ok(other_device);
            }
            let replaced = container.id;
            self.names.remove(&replaced);
            if let Some(sql) = sql.as_deref_mut() {
                containers::leave(sql, replaced, now)?;
            }
        }
        let id = match sql {
            Some(sql) => containers::add(sql, self.connection, parent, &report.name, &report.identity, acl)?,
            None => {
                self.pretended -= 1;
                ContainerId(self.pretended)
            }
        };
        let identity = report.identity.as_str().into();
        self.keep(&report.name, Container { id, parent, identity, acl, look: Look::NONE });
        self.folders.insert(id, report.folder.clone());
        Ok(other_device)
    }

    /// Whether any container may open for this job.
    pub(crate) fn some_may_open(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Whether a container, or one above it, may open for this job at the end of the run: what outputs hold of an earlier reading
    /// was never meant for whom it opens to. A container that was replaced may.
    pub(crate) fn may_open(&self, container: Option<ContainerId>) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let mut at = container;
        while let Some(id) = at {
            let container = self.names.get(&id).and_then(|name| self.by_name.get(name));
            let Some(container) = container else { return true };
            if self.pending.contains(&id) {
                return true;
            }
            at = container.parent;
        }
        false
    }

    /// Opens the containers that became wider, for the documents of this run's job, where it has looked at all of them (design
    /// 4.20). What other jobs have below them stays as it is.
    ///
    /// `unproven` are containers that rule documents of which an output holds something else than was looked at: they stay as they
    /// are. Containers below that were not proven carry on what opens above them.
    pub(crate) fn prove(
        &self,
        sql: &mut Sql<'_>,
        coverage: &Coverage,
        unproven: &HashSet<ContainerId>,
    ) -> Result<()> {
        let root_proven = coverage.folder_proven("");
        let is_proven = |id: ContainerId| {
            !unproven.contains(&id)
                && self.folders.get(&id).is_some_and(|folder| {
                    folder.as_deref().map_or(root_proven, |name| coverage.folder_proven(name))
                })
        };
        let mut opening: HashMap<ContainerId, Vec<AclId>> = HashMap::new();
        for (container, acl_id) in
            containers::pending_of(sql, self.job)?.into_iter().filter(|(container, _)| is_proven(*container))
        {
            opening.entry(container).or_default().push(acl_id);
        }
        if opening.is_empty() {
            return Ok(());
        }
        let names = containers::names(sql, self.connection)?;
        let above: HashMap<ContainerId, Option<ContainerId>> =
            names.iter().map(|(id, p, _)| (*id, *p)).collect();
        for (id, parent, _) in
            names.iter().filter(|(id, _, name)| !is_proven(*id) && self.is_below_root(name))
        {
            let mut at = *parent;
            while let Some(container) = at.filter(|container| is_proven(*container)) {
                for acl_id in opening.get(&container).into_iter().flatten() {
                    containers::add_pending(
                        sql,
                        PendingAcl { container: *id, job: self.job.0, acl_id: *acl_id },
                    )?;
                }
                at = above.get(&container).copied().flatten();
            }
        }
        if failpoint(Failpoint::PlaceOpenForAllJobs) {
            for pending in containers::all_pending(sql)? {
                containers::open(sql, pending.container, JobId(pending.job))?;
            }
        }
        opening.keys().try_for_each(|container| containers::open(sql, *container, self.job))
    }

    /// Forgets what is kept narrow for this job where it has nothing: folders that are not there any more, were replaced, or never had
    /// a document of it. What it reads there from now on, it reads by what they are then.
    pub(crate) fn forget(&self, sql: &mut Sql<'_>) -> Result<()> {
        let mut left: HashSet<ContainerId> =
            containers::pending_of(sql, self.job)?.into_iter().map(|(container, _)| container).collect();
        left.retain(|container| !self.folders.contains_key(container));
        if left.is_empty() {
            return Ok(());
        }
        let names = containers::names(sql, self.connection)?;
        let above: HashMap<ContainerId, Option<ContainerId>> =
            names.iter().map(|(id, p, _)| (*id, *p)).collect();
        let mut ruled = HashSet::new();
        for container in documents::containers(sql, self.job)? {
            let mut at = Some(container);
            while let Some(id) = at.filter(|id| ruled.insert(*id)) {
                at = above.get(&id).copied().flatten();
            }
        }
        left.retain(|container| !ruled.contains(container));
        // Until it is told elsewhere, an entry may be where its document was before.
        if left.is_empty() || documents::is_access_unconfirmed(sql, self.job)? {
            return Ok(());
        }
        left.into_iter().try_for_each(|container| containers::open(sql, container, self.job))
    }

    /// Whether documents of this job may be below a container.
    fn is_below_root(&self, name: &str) -> bool {
        let is_root =
            |container: &Container| self.folders.get(&container.id).is_some_and(|f| f.as_deref() == Some(""));
        let root = self.by_name.iter().find(|(_, container)| is_root(container));
        root.is_none_or(|(root, _)| name.starts_with(root.trim_end_matches('/')))
    }
}
