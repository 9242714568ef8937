//! The containers of one repository connection, as all runs of this process know them: one tree, so that what one run has found narrower,
//! wider or replaced is so for all of them (design 4.20, decision 0019). The tree is in the store; what was used of it lately is here, too.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ingather_contract::repository::ContainerReport;
use ingather_model::ids::{AclId, ConnectionId, ContainerId, JobId};
use ingather_model::limits;
use ingather_store::containers;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Reader, Sql, StoreError};

use super::lately::Lately;

type Result<T> = std::result::Result<T, StoreError>;

/// Containers of one connection that were not replaced, and what may open for the jobs that are under way.
pub(crate) struct Tree {
    pub(super) connection: ConnectionId,
    /// Reads what is not kept. What a transaction has recorded is kept until it is over: nobody else sees it before.
    reader: Reader,
    kept: Lately<ContainerId, Container>,
    /// By name; none: there is no such container.
    ids: Lately<Arc<str>, Option<ContainerId>>,
    most: usize,
    /// All that the store has is kept: what is not here is not there.
    is_whole: bool,
    /// For each job that runs: containers that have opened, or may have, and are not proven for it.
    pending: HashMap<JobId, BTreeSet<ContainerId>>,
    /// A transaction failed: what is here may not be what the store has. It is read again in the next one; until then nothing is
    /// known, nothing stands, and anything may open.
    is_lost: bool,
    pretended: i64,
}

/// A container as it was reported last, by whatever run.
pub(super) struct Container {
    pub(super) id: ContainerId,
    pub(super) parent: Option<ContainerId>,
    pub(super) name: Arc<str>,
    identity: Box<str>,
    pub(super) acl: AclId,
}

impl From<containers::Container> for Container {
    fn from(stored: containers::Container) -> Container {
        let containers::Container { id, parent, name, identity, acl } = stored;
        Container { id, parent, name: name.into(), identity: identity.into(), acl }
    }
}

fn device(identity: &str) -> &str {
    identity.split(':').next().unwrap_or(identity)
}

impl Tree {
    /// Keeps about `most` containers.
    pub(super) fn load(reader: &Reader, connection: ConnectionId, most: usize) -> Result<Tree> {
        let mut tree = Tree {
            connection,
            reader: reader.clone(),
            kept: Lately::new(most),
            ids: Lately::new(most),
            most,
            is_whole: false,
            pending: HashMap::new(),
            is_lost: false,
            pretended: 0,
        };
        reader.read(|sql| tree.load_again(sql))?;
        Ok(tree)
    }

    fn load_again(&mut self, sql: &mut Sql<'_>) -> Result<()> {
        let listed = containers::list(sql, self.connection, self.most + 1)?;
        for (job, pending) in &mut self.pending {
            *pending = pending_of(sql, *job)?;
        }
        // Of more than are kept, those that are met are read when they are.
        self.is_whole = listed.len() <= self.most;
        if self.is_whole {
            listed.into_iter().for_each(|stored| self.keep(stored.into()));
        }
        self.is_lost = false;
        Ok(())
    }

    /// Lets go of what was not used lately; never between the begin and the end of a transaction that records. Where nothing is written,
    /// what was recorded is in no store.
    pub(super) fn turn(&mut self) {
        if self.pretended == 0 {
            let gone = self.kept.turn() | self.ids.turn();
            self.is_whole &= !gone;
        }
    }

    /// A run of a job begins. From now on it learns what other runs find, and nothing is missed in between, since whoever records
    /// holds the tree until it is on disk.
    pub(super) fn join(&mut self, sql: &mut Sql<'_>, job: JobId) -> Result<()> {
        self.pending.insert(job, pending_of(sql, job)?);
        Ok(())
    }

    pub(super) fn leave(&mut self, job: JobId) {
        self.pending.remove(&job);
    }

    /// A transaction in which something was recorded has failed.
    pub(crate) fn lose(&mut self) {
        self.kept.clear();
        self.ids.clear();
        self.is_lost = true;
    }

    /// Reads again what the store has, where that is not known any more.
    pub(crate) fn find_again(&mut self, sql: &mut Sql<'_>) -> Result<()> {
        if self.is_lost { self.load_again(sql) } else { Ok(()) }
    }

    fn keep(&mut self, container: Container) {
        self.ids.insert(container.name.clone(), Some(container.id));
        self.kept.insert(container.id, container);
    }

    /// Reads containers that are asked for next, at once, where they are not kept.
    pub(super) fn read_named<'n>(&mut self, names: impl Iterator<Item = &'n str>) -> Result<()> {
        if self.is_whole || self.is_lost {
            return Ok(());
        }
        let missing: BTreeSet<&str> = names.filter(|name| self.ids.peek(*name).is_none()).collect();
        let missing: Vec<&str> = missing.into_iter().collect();
        for some in missing.chunks(limits::CLAIM_MAX) {
            let connection = self.connection;
            let read = self.reader.read(|sql| containers::named(sql, connection, some))?;
            some.iter().for_each(|name| self.ids.insert(Arc::from(*name), None));
            read.into_iter().for_each(|stored| self.keep(stored.into()));
        }
        Ok(())
    }

    /// The same by their ids.
    pub(super) fn read_some(&mut self, ids: &[ContainerId]) -> Result<()> {
        if self.is_whole || self.is_lost {
            return Ok(());
        }
        let missing = ids.iter().filter(|id| self.kept.peek(id).is_none());
        let missing: Vec<i64> = missing.map(|id| id.0).collect();
        for some in missing.chunks(limits::CLAIM_MAX) {
            let read = self.reader.read(|sql| containers::some(sql, some))?;
            read.into_iter().for_each(|stored| self.keep(stored.into()));
        }
        Ok(())
    }

    /// The container of that name.
    pub(super) fn named(&mut self, name: &str) -> Result<Option<&Container>> {
        let known = match self.ids.get(name) {
            Some(known) => *known,
            None if self.is_whole => None,
            None => {
                self.read_named(std::iter::once(name))?;
                self.ids.get(name).copied().flatten()
            }
        };
        match known {
            Some(id) => self.get(id),
            None => Ok(None),
        }
    }

    /// Name of a container that was not replaced.
    pub(super) fn name(&mut self, id: ContainerId) -> Result<Option<Arc<str>>> {
        Ok(self.get(id)?.map(|container| container.name.clone()))
    }

    /// A container that was not replaced.
    pub(super) fn get(&mut self, id: ContainerId) -> Result<Option<&Container>> {
        if !self.is_whole {
            self.read_some(&[id])?;
        }
        Ok(self.kept.get(&id).map(|container| &*container))
    }

    /// Whether any container may open for a job.
    pub(super) fn some_may_open(&self, job: JobId) -> bool {
        self.is_lost || self.pending.get(&job).is_none_or(|pending| !pending.is_empty())
    }

    /// Containers that have opened for a job, or may have, and are not proven.
    pub(super) fn pending(&self, job: JobId) -> Vec<ContainerId> {
        self.pending.get(&job).into_iter().flatten().copied().collect()
    }

    /// Whether a container, or one above it, may open for a job. One that was replaced may.
    pub(super) fn may_open(&mut self, job: JobId, container: Option<ContainerId>) -> Result<bool> {
        if !self.some_may_open(job) {
            return Ok(false);
        }
        let mut at = container;
        while let Some(id) = at {
            let Some(container) = self.get(id)? else { return Ok(true) };
            let parent = container.parent;
            if self.pending.get(&job).is_none_or(|pending| pending.contains(&id)) {
                return Ok(true);
            }
            at = parent;
        }
        Ok(self.is_lost)
    }

    /// Whether a report says nothing else than what is known.
    pub(super) fn stands(&mut self, report: &ContainerReport, acl: Option<AclId>) -> Result<bool> {
        let parent = match &report.parent {
            Some(name) => Some(self.named(name)?.map(|parent| parent.id)),
            None => None,
        };
        Ok(self.named(&report.name)?.is_some_and(|container| {
            *container.identity == *report.identity
                && Some(container.acl) == acl
                && parent.is_none_or(|parent| parent == container.parent)
        }))
    }

    /// Takes a report in: what is narrower rules at once and for all jobs, what is wider waits for the proof of each.
    ///
    /// A folder of another identity, or below a folder of another identity, is another container: each document below it is looked
    /// at before it belongs there. True when the folder is on another device than at its last complete listing (design 4.5);
    /// `accept` takes that for granted. `sql` is none in a run that writes nothing.
    pub(super) fn record(
        &mut self,
        mut sql: Option<&mut Sql<'_>>,
        report: &ContainerReport,
        acl: AclId,
        accept: bool,
        now: i64,
    ) -> Result<bool> {
        let parent = match &report.parent {
            Some(name) => self.named(name)?.map(|parent| parent.id),
            None => None,
        };
        let mut other_device = false;
        let known = self.named(&report.name)?.map(|container| container.id);
        if let Some(container) = known.and_then(|id| self.kept.get(&id)) {
            let same = *container.identity == *report.identity
                && (container.parent == parent || failpoint(Failpoint::MovedPlaceStays));
            other_device = *container.identity != *report.identity
                && !accept
                && device(&container.identity) != device(&report.identity);
            // On another device, the old container stays the one that was listed completely last; both must admit.
            if same || other_device {
                if container.acl != acl {
                    let before = std::mem::replace(&mut container.acl, acl);
                    for pending in self.pending.values_mut() {
                        pending.insert(container.id);
                    }
                    if let Some(sql) = sql {
                        let before =
                            if failpoint(Failpoint::PlaceWidenedBeforeItIsProven) { acl } else { before };
                        containers::judge(sql, self.connection, container.id, acl, before)?;
                    }
                }
                return Ok(other_device);
            }
            let replaced = container.id;
            self.kept.remove(&replaced);
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
        let (name, identity) = (report.name.as_str().into(), report.identity.as_str().into());
        self.keep(Container { id, parent, name, identity, acl });
        Ok(other_device)
    }
}

fn pending_of(sql: &mut Sql<'_>, job: JobId) -> Result<BTreeSet<ContainerId>> {
    Ok(containers::pending_of(sql, job)?.into_iter().map(|(container, _)| container).collect())
}
