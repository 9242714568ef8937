//! Interned acls of documents, and the containers above them (design 4.20): one tree for each repository connection and process, and what
//! one run has met of it.

pub(crate) mod acls;
pub(crate) mod lately;
pub(crate) mod looks;
pub(crate) mod openings;
pub(crate) mod pool;
pub(crate) mod tree;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, MutexGuard};

use ingather_contract::repository::ContainerReport;
use ingather_model::ids::{AclId, ContainerId, JobId};
use ingather_model::key::Stamp;
use ingather_model::limits;
use ingather_model::scope::Coverage;
use ingather_store::containers::{self, PendingAcl};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Sql, StoreError, documents};
use roaring::RoaringTreemap;

use self::lately::Lately;
use self::tree::Tree;

type Result<T> = std::result::Result<T, StoreError>;

/// What one run has met of the containers of its connection. Other runs do not change it: what they find shows by the tree alone, and by
/// the next look of this run.
pub(crate) struct ListedContainers {
    /// Those that may open, and those above them: their looks are what proves that they do.
    opening: HashMap<ContainerId, ListedContainer>,
    /// Containers above those that may open; none before they are asked for.
    above: Option<BTreeSet<ContainerId>>,
    /// Others, which count only while documents in them are visited. One whose look is gone has to be looked at again.
    lately: Lately<ContainerId, ListedContainer>,
    met: RoaringTreemap,
    /// The one that rules the root of the job.
    root: Option<ContainerId>,
    /// Numbers of the looks that found something else than the one before.
    looks: u64,
    /// Some looks are gone that were not used lately.
    forgets: bool,
}

impl ListedContainers {
    /// Keeps about `most` of those that do not open.
    pub(crate) fn new(most: usize) -> ListedContainers {
        ListedContainers {
            opening: HashMap::new(),
            above: None,
            lately: Lately::new(most),
            met: RoaringTreemap::new(),
            root: None,
            looks: 0,
            forgets: false,
        }
    }

    fn get(&self, id: ContainerId) -> Option<&ListedContainer> {
        self.opening.get(&id).or_else(|| self.lately.peek(&id))
    }

    fn note(&mut self, id: ContainerId, stays: bool) -> &mut ListedContainer {
        let none = || ListedContainer { folder: None, look: Look::NONE };
        if stays || self.opening.contains_key(&id) {
            let lately = &mut self.lately;
            self.opening.entry(id).or_insert_with(|| lately.remove(&id).unwrap_or_else(none))
        } else {
            self.lately.get_or_insert(id, none)
        }
    }
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

    /// Whether there was one, and it is not gone.
    fn is_made(&self) -> bool {
        self.number > 0
    }
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
        let mut containers = Containers { job, listed, tree };
        containers.turn();
        containers
    }

    /// Lets go of what was not used lately: never between the begin and the end of a transaction that records.
    pub(crate) fn turn(&mut self) {
        self.listed.forgets |= self.listed.lately.turn();
        self.tree.turn();
    }

    /// Reads containers that are asked for next, at once.
    pub(crate) fn read_named<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Result<()> {
        self.tree.read_named(names)
    }

    /// The same by their ids.
    pub(crate) fn read_some(&mut self, ids: &[ContainerId]) -> Result<()> {
        self.tree.read_some(ids)
    }

    /// Whether some looks of this run are gone, because there were others since.
    pub(crate) fn forgets(&self) -> bool {
        self.listed.forgets
    }

    /// The number of the last look.
    pub(crate) fn looks(&self) -> u64 {
        self.listed.looks
    }

    /// The container itself and those above it, to the top; none when one of them was replaced.
    pub(crate) fn chain(&mut self, container: ContainerId) -> Result<Option<Vec<ContainerId>>> {
        let mut chain = Vec::new();
        let mut at = Some(container);
        while let Some(id) = at {
            chain.push(id);
            let Some(container) = self.tree.get(id)? else { return Ok(None) };
            at = container.parent;
        }
        Ok(Some(chain))
    }

    /// Name and last look of a container that was not replaced.
    pub(crate) fn look(&mut self, container: ContainerId) -> Result<Option<(Arc<str>, Look)>> {
        let look = self.listed.get(container).map_or(Look::NONE, |listed| listed.look);
        Ok(self.tree.name(container)?.map(|name| (name, look)))
    }

    /// Containers that a listing has proven, and that open for this job or are below one that does.
    pub(crate) fn opening(&mut self, coverage: &Coverage) -> Result<BTreeSet<ContainerId>> {
        let mut opening = BTreeSet::new();
        if !self.some_may_open() {
            return Ok(opening);
        }
        let listed = self.listed.opening.iter().chain(self.listed.lately.iter());
        let proven = listed
            .filter(|(_, listed)| coverage.folder_proven(listed.folder.as_deref().unwrap_or_default()))
            .map(|(id, _)| *id);
        let mut proven: Vec<ContainerId> = proven.collect();
        proven.sort_unstable();
        for some in proven.chunks(limits::LOOKS_AT_ONCE) {
            self.turn();
            self.tree.read_some(some)?;
            for id in some {
                if self.tree.get(*id)?.is_some() && self.may_open(Some(*id))? {
                    opening.insert(*id);
                }
            }
        }
        Ok(opening)
    }

    /// Whether a container is now what this run has found at its last look. Another run may have recorded something else, be it of a
    /// later look or of an earlier one: what this run has proven does not speak of that.
    pub(crate) fn is_as_met(&mut self, container: ContainerId) -> Result<bool> {
        let listed = self.listed.get(container).and_then(|listed| listed.look.acl);
        let now = self.tree.get(container)?.map(|container| container.acl);
        Ok((listed.is_some() && listed == now) || failpoint(Failpoint::OpensAsAnotherRunFound))
    }

    /// The folder of keys of a container that may open and was met in this run.
    pub(crate) fn folder(&self, container: ContainerId) -> Option<&str> {
        self.listed.get(container)?.folder.as_deref()
    }

    /// True if this run has looked at the container: it is in the tree of its job, or above its root.
    pub(crate) fn was_met(&self, container: ContainerId) -> bool {
        self.listed.met.contains(container.0 as u64)
    }

    /// The container of that name, as met last.
    pub(crate) fn id(&mut self, name: &str) -> Result<Option<ContainerId>> {
        Ok(self.tree.named(name)?.map(|container| container.id))
    }

    /// The container of that name and its acl, as met last.
    pub(crate) fn acl(&mut self, name: &str) -> Result<Option<(ContainerId, AclId)>> {
        Ok(self.tree.named(name)?.map(|container| (container.id, container.acl)))
    }

    /// Notes that a container was met by a listing (0: by a single look), if its report changes nothing: a quiet run must not write.
    pub(crate) fn stands(
        &mut self,
        report: &ContainerReport,
        acl: Option<AclId>,
        listing: u32,
    ) -> Result<bool> {
        let same = self.tree.stands(report, acl)?;
        if same {
            self.note(report, acl, listing)?;
        }
        Ok(same)
    }

    /// Notes that a container was met, and what the look at it found.
    pub(crate) fn note(&mut self, report: &ContainerReport, acl: Option<AclId>, listing: u32) -> Result<()> {
        let Some(id) = self.id(&report.name)? else { return Ok(()) };
        let stays = self.some_may_open() && self.counts_for_an_opening(id)?;
        self.listed.met.insert(id.0 as u64);
        if report.folder.as_deref() == Some("") {
            self.listed.root = Some(id);
        }
        let number = self.listed.looks + 1;
        let listed = self.listed.note(id, stays);
        listed.folder.clone_from(&report.folder);
        let look = &mut listed.look;
        look.acl = acl;
        let is_other = look.stamp != report.stamp || report.stamp == Stamp::NONE;
        if is_other {
            *look = Look { stamp: report.stamp, number, listing, acl };
        } else if listing > 0 {
            look.listing = listing;
        }
        self.listed.looks += u64::from(is_other);
        Ok(())
    }

    /// Whether a container may open, or one below it may: the looks at both prove that it does.
    fn counts_for_an_opening(&mut self, id: ContainerId) -> Result<bool> {
        if self.listed.above.is_none() {
            let pending = self.tree.pending(self.job);
            self.tree.read_some(&pending)?;
            self.listed.above = Some(BTreeSet::new());
            for pending in pending {
                self.keep_above(pending)?;
            }
        }
        let may_open = self.may_open(Some(id))?;
        if may_open {
            self.keep_above(id)?;
        }
        let is_above = self.listed.above.as_ref().is_some_and(|above| above.contains(&id));
        Ok(may_open || is_above && !failpoint(Failpoint::LooksAboveLost))
    }

    /// Keeps the looks at all that is above a container that may open.
    fn keep_above(&mut self, id: ContainerId) -> Result<()> {
        let mut at = self.tree.get(id)?.and_then(|container| container.parent);
        while let Some(id) = at {
            let ListedContainers { above, opening, lately, .. } = &mut *self.listed;
            if !above.get_or_insert_default().insert(id) {
                break;
            }
            if let Some(listed) = lately.remove(&id).filter(|_| !failpoint(Failpoint::LooksAboveLost)) {
                opening.insert(id, listed);
            }
            at = self.tree.get(id)?.and_then(|container| container.parent);
        }
        Ok(())
    }

    /// Whether any container may open for this job.
    pub(crate) fn some_may_open(&self) -> bool {
        self.tree.some_may_open(self.job)
    }

    /// Whether a container, or one above it, may open for this job at the end of the run: what outputs hold of an earlier reading
    /// was never meant for whom it opens to. A container that was replaced may.
    pub(crate) fn may_open(&mut self, container: Option<ContainerId>) -> Result<bool> {
        self.tree.may_open(self.job, container)
    }

    /// Opens the containers that became wider, for the documents of this run's job, where it has looked at all of them (design
    /// 4.20). What other jobs have below them stays as it is.
    ///
    /// `unproven` are containers that rule documents of which an output holds something else than was looked at: they stay as they
    /// are; so do those that other runs have found otherwise than this one. Containers below that were not proven carry on what opens
    /// above them.
    pub(crate) fn prove(
        &mut self,
        sql: &mut Sql<'_>,
        coverage: &Coverage,
        unproven: &BTreeSet<ContainerId>,
    ) -> Result<()> {
        let mut opening: BTreeMap<ContainerId, Vec<AclId>> = BTreeMap::new();
        for (container, acl_id) in containers::pending_of(sql, self.job)? {
            if self.is_proven(container, coverage, unproven)? {
                opening.entry(container).or_default().push(acl_id);
            }
        }
        if opening.is_empty() {
            return Ok(());
        }
        let root = self.root()?;
        let tree = containers::tree(sql, self.tree.connection, |name| is_below(root.as_deref(), name))?;
        let above: HashMap<ContainerId, Option<ContainerId>> =
            tree.iter().map(|(id, parent, _)| (*id, *parent)).collect();
        let below: Vec<ContainerId> =
            tree.into_iter().filter(|(.., is_below)| *is_below).map(|(id, ..)| id).collect();
        let mut unproven_below: BTreeSet<ContainerId> = BTreeSet::new();
        for some in below.chunks(limits::LOOKS_AT_ONCE) {
            self.turn();
            self.tree.read_some(some)?;
            for id in some {
                if !self.is_proven(*id, coverage, unproven)? {
                    unproven_below.insert(*id);
                }
            }
        }
        for id in &unproven_below {
            let mut at = above.get(id).copied().flatten();
            // Up to the next one that carries it on itself. A folder above the root may have been replaced, and proves nothing.
            while let Some(container) = at.filter(|container| !unproven_below.contains(container)) {
                if failpoint(Failpoint::ReplacedFolderCarriesNothing)
                    && !self.is_proven(container, coverage, unproven)?
                {
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
    pub(crate) fn forget(&mut self, sql: &mut Sql<'_>) -> Result<()> {
        let mut left: BTreeSet<ContainerId> =
            containers::pending_of(sql, self.job)?.into_iter().map(|(container, _)| container).collect();
        for container in left.clone() {
            if self.was_met(container) && self.tree.get(container)?.is_some() {
                left.remove(&container);
            }
        }
        if left.is_empty() {
            return Ok(());
        }
        let tree = containers::tree(sql, self.tree.connection, |_| ())?;
        let above: HashMap<ContainerId, Option<ContainerId>> =
            tree.into_iter().map(|(id, parent, ())| (id, parent)).collect();
        let mut ruled = HashSet::new();
        for container in documents::containers(sql, self.job)? {
            let mut at = Some(container);
            while let Some(id) = at.filter(|id| ruled.insert(*id)) {
                at = above.get(&id).copied().flatten();
            }
        }
        left.retain(|container| !ruled.contains(container));
        // Until it is told elsewhere, an entry may be where its document was before.
        let is_known =
            failpoint(Failpoint::UnremovedForgotten) || !documents::is_access_unconfirmed(sql, self.job)?;
        if left.is_empty() || !is_known {
            return Ok(());
        }
        left.into_iter().try_for_each(|container| containers::open(sql, container, self.job))
    }

    /// Whether this run has looked at a container, found it as it is now, and its folder was proven with all that is in it.
    fn is_proven(
        &mut self,
        id: ContainerId,
        coverage: &Coverage,
        unproven: &BTreeSet<ContainerId>,
    ) -> Result<bool> {
        let Some(listed) = self.listed.get(id).filter(|_| !unproven.contains(&id)) else { return Ok(false) };
        let is_proven = coverage.folder_proven(listed.folder.as_deref().unwrap_or_default());
        Ok(is_proven && self.is_as_met(id)?)
    }

    /// Name of the container that rules the root of the job, where that was not replaced.
    fn root(&mut self) -> Result<Option<Arc<str>>> {
        let Some(root) = self.listed.root else { return Ok(None) };
        self.tree.name(root)
    }
}

/// Whether documents of a job with that root may be below a container.
fn is_below(root: Option<&str>, name: &str) -> bool {
    root.is_none_or(|root| name.starts_with(root.trim_end_matches('/')))
}
