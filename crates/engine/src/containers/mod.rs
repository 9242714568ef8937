//! Interned acls of documents, and the containers above them (design 4.20): one tree for each repository connection and process, and what
//! one run has met of it.

pub(crate) mod acls;
pub(crate) mod looks;
pub(crate) mod openings;
pub(crate) mod pool;
pub(crate) mod tree;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, MutexGuard};

use ingather_contract::repository::ContainerReport;
use ingather_model::ids::{AclId, ContainerId, JobId};
use ingather_model::key::Stamp;
use ingather_model::scope::Coverage;
use ingather_store::containers::{self, PendingAcl};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Sql, StoreError, documents};

use self::tree::Tree;

type Result<T> = std::result::Result<T, StoreError>;

/// What one run has met of the containers of its connection. Other runs do not change it: what they find shows by the tree alone, and by
/// the next look of this run.
#[derive(Default)]
pub(crate) struct ListedContainers {
    by_id: HashMap<ContainerId, ListedContainer>,
    /// Numbers of the looks that found something else than the one before.
    looks: u64,
}

struct ListedContainer {
    /// Folder of keys that it rules; none above the source.
    folder: Option<String>,
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
    /// The acl that it found. Another run may have found another one since, or before.
    acl: Option<AclId>,
}

impl Look {
    const NONE: Look = Look { stamp: Stamp::NONE, number: 0, listing: 0, acl: None };
}

/// The containers of a connection, as one run sees them: locked for as long as this is held, in the order of
/// [`SharedContainers`](pool::SharedContainers).
pub(crate) struct Containers<'r> {
    job: JobId,
    listed: MutexGuard<'r, ListedContainers>,
    pub(crate) tree: MutexGuard<'r, Tree>,
}

impl<'r> Containers<'r> {
    pub(crate) fn new(
        job: JobId,
        listed: MutexGuard<'r, ListedContainers>,
        tree: MutexGuard<'r, Tree>,
    ) -> Containers<'r> {
        Containers { job, listed, tree }
    }

    /// The number of the last look.
    pub(crate) fn looks(&self) -> u64 {
        self.listed.looks
    }

    /// The container itself and those above it, to the top; none when one of them was replaced.
    pub(crate) fn chain(&self, container: ContainerId) -> Option<Vec<ContainerId>> {
        let mut chain = Vec::new();
        let mut at = Some(container);
        while let Some(id) = at {
            chain.push(id);
            at = self.tree.get(id)?.parent;
        }
        Some(chain)
    }

    /// Name and last look of a container that was not replaced.
    pub(crate) fn look(&self, container: ContainerId) -> Option<(Arc<str>, Look)> {
        let name = self.tree.name(container)?;
        let look = self.listed.by_id.get(&container).map_or(Look::NONE, |listed| listed.look);
        Some((name.clone(), look))
    }

    /// Containers that a listing has proven, and that open for this job or are below one that does.
    pub(crate) fn opening(&self, coverage: &Coverage) -> HashSet<ContainerId> {
        if !self.some_may_open() {
            return HashSet::new();
        }
        let listed = self
            .listed
            .by_id
            .iter()
            .filter(|(_, listed)| coverage.folder_proven(listed.folder.as_deref().unwrap_or_default()));
        listed
            .map(|(id, _)| *id)
            .filter(|id| self.tree.name(*id).is_some() && self.may_open(Some(*id)))
            .collect()
    }

    /// Whether a container is now what this run has found at its last look. Another run may have recorded something else, be it of a
    /// later look or of an earlier one: what this run has proven does not speak of that.
    pub(crate) fn is_as_met(&self, container: ContainerId) -> bool {
        let listed = self.listed.by_id.get(&container).and_then(|listed| listed.look.acl);
        let now = self.tree.get(container).map(|container| container.acl);
        (listed.is_some() && listed == now) || failpoint(Failpoint::OpensAsAnotherRunFound)
    }

    /// The folder of keys of a container that was met in this run.
    pub(crate) fn folder(&self, container: ContainerId) -> Option<&str> {
        self.listed.by_id.get(&container)?.folder.as_deref()
    }

    /// True if this run has looked at the container: it is in the tree of its job, or above its root.
    pub(crate) fn was_met(&self, container: ContainerId) -> bool {
        self.listed.by_id.contains_key(&container)
    }

    /// The container of that name, as met last.
    pub(crate) fn id(&self, name: &str) -> Option<ContainerId> {
        self.tree.named(name).map(|container| container.id)
    }

    /// The container of that name and its acl, as met last.
    pub(crate) fn acl(&self, name: &str) -> Option<(ContainerId, AclId)> {
        self.tree.named(name).map(|container| (container.id, container.acl))
    }

    /// Notes that a container was met by a listing (0: by a single look), if its report changes nothing: a quiet run must not write.
    pub(crate) fn stands(&mut self, report: &ContainerReport, acl: Option<AclId>, listing: u32) -> bool {
        let same = self.tree.stands(report, acl);
        if same {
            self.note(report, acl, listing);
        }
        same
    }

    /// Notes that a container was met, and what the look at it found.
    pub(crate) fn note(&mut self, report: &ContainerReport, acl: Option<AclId>, listing: u32) {
        let Some(id) = self.id(&report.name) else { return };
        let ListedContainers { by_id, looks } = &mut *self.listed;
        let listed = by_id.entry(id).or_insert(ListedContainer { folder: None, look: Look::NONE });
        listed.folder.clone_from(&report.folder);
        let look = &mut listed.look;
        look.acl = acl;
        if look.stamp != report.stamp || report.stamp == Stamp::NONE {
            *looks += 1;
            *look = Look { stamp: report.stamp, number: *looks, listing, acl };
        } else if listing > 0 {
            look.listing = listing;
        }
    }

    /// Whether any container may open for this job.
    pub(crate) fn some_may_open(&self) -> bool {
        self.tree.some_may_open(self.job)
    }

    /// Whether a container, or one above it, may open for this job at the end of the run: what outputs hold of an earlier reading
    /// was never meant for whom it opens to. A container that was replaced may.
    pub(crate) fn may_open(&self, container: Option<ContainerId>) -> bool {
        self.tree.may_open(self.job, container)
    }

    /// Opens the containers that became wider, for the documents of this run's job, where it has looked at all of them (design
    /// 4.20). What other jobs have below them stays as it is.
    ///
    /// `unproven` are containers that rule documents of which an output holds something else than was looked at: they stay as they
    /// are; so do those that other runs have found otherwise than this one. Containers below that were not proven carry on what opens
    /// above them.
    pub(crate) fn prove(
        &self,
        sql: &mut Sql<'_>,
        coverage: &Coverage,
        unproven: &HashSet<ContainerId>,
    ) -> Result<()> {
        let root_proven = coverage.folder_proven("");
        let is_proven = |id: ContainerId| {
            !unproven.contains(&id)
                && self.is_as_met(id)
                && self.listed.by_id.get(&id).is_some_and(|listed| {
                    listed.folder.as_deref().map_or(root_proven, |name| coverage.folder_proven(name))
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
        let names = containers::names(sql, self.tree.connection)?;
        let above: HashMap<ContainerId, Option<ContainerId>> =
            names.iter().map(|(id, p, _)| (*id, *p)).collect();
        let unproven_below: HashSet<ContainerId> = names
            .iter()
            .filter(|(id, _, name)| !is_proven(*id) && self.is_below_root(name))
            .map(|(id, ..)| *id)
            .collect();
        for id in &unproven_below {
            let mut at = above.get(id).copied().flatten();
            // Up to the next one that carries it on itself. A folder above the root may have been replaced, and proves nothing.
            while let Some(container) = at.filter(|container| !unproven_below.contains(container)) {
                if failpoint(Failpoint::ReplacedFolderCarriesNothing) && !is_proven(container) {
                    break;
                }
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
        left.retain(|container| !self.was_met(*container) || self.tree.name(*container).is_none());
        if left.is_empty() {
            return Ok(());
        }
        let names = containers::names(sql, self.tree.connection)?;
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
        let is_root = |listed: &ListedContainer| listed.folder.as_deref() == Some("");
        let roots = self.listed.by_id.iter().filter(|(_, listed)| is_root(listed));
        let root = roots.filter_map(|(id, _)| self.tree.name(*id)).next();
        root.is_none_or(|root| name.starts_with(root.trim_end_matches('/')))
    }
}
