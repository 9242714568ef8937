//! The containers of one repository connection, as all runs of this process know them: one tree, so that what one run has found narrower,
//! wider or replaced is so for all of them (design 4.20, decision 0019).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ingather_contract::repository::ContainerReport;
use ingather_model::ids::{AclId, ConnectionId, ContainerId, JobId};
use ingather_store::containers;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Sql, StoreError};

type Result<T> = std::result::Result<T, StoreError>;

/// Containers of one connection that were not replaced, and what may open for the jobs that are under way.
pub(crate) struct Tree {
    pub(super) connection: ConnectionId,
    by_name: HashMap<Arc<str>, Container>,
    names: HashMap<ContainerId, Arc<str>>,
    /// For each job that runs: containers that have opened, or may have, and are not proven for it.
    pending: HashMap<JobId, HashSet<ContainerId>>,
    /// A transaction failed: what is here may not be what the store has. It is read again in the next one; until then nothing is
    /// known, nothing stands, and anything may open.
    is_lost: bool,
    pretended: i64,
}

/// A container as it was reported last, by whatever run.
pub(super) struct Container {
    pub(super) id: ContainerId,
    pub(super) parent: Option<ContainerId>,
    identity: Box<str>,
    pub(super) acl: AclId,
}

fn device(identity: &str) -> &str {
    identity.split(':').next().unwrap_or(identity)
}

impl Tree {
    pub(super) fn load(sql: &mut Sql<'_>, connection: ConnectionId) -> Result<Tree> {
        let mut tree = Tree {
            connection,
            by_name: HashMap::new(),
            names: HashMap::new(),
            pending: HashMap::new(),
            is_lost: false,
            pretended: 0,
        };
        tree.load_again(sql)?;
        Ok(tree)
    }

    fn load_again(&mut self, sql: &mut Sql<'_>) -> Result<()> {
        let listed = containers::list(sql, self.connection)?;
        for (job, pending) in &mut self.pending {
            *pending = pending_of(sql, *job)?;
        }
        for containers::Container { id, parent, name, identity, acl } in listed {
            self.keep(&name, Container { id, parent, identity: identity.into(), acl });
        }
        self.is_lost = false;
        Ok(())
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
        self.by_name.clear();
        self.names.clear();
        self.is_lost = true;
    }

    /// Reads again what the store has, where that is not known any more.
    pub(crate) fn find_again(&mut self, sql: &mut Sql<'_>) -> Result<()> {
        if self.is_lost { self.load_again(sql) } else { Ok(()) }
    }

    fn keep(&mut self, name: &str, container: Container) {
        let name: Arc<str> = name.into();
        self.names.insert(container.id, name.clone());
        self.by_name.insert(name, container);
    }

    /// The container of that name.
    pub(super) fn named(&self, name: &str) -> Option<&Container> {
        self.by_name.get(name)
    }

    /// Name of a container that was not replaced.
    pub(super) fn name(&self, id: ContainerId) -> Option<&Arc<str>> {
        self.names.get(&id)
    }

    /// A container that was not replaced.
    pub(super) fn get(&self, id: ContainerId) -> Option<&Container> {
        self.by_name.get(self.names.get(&id)?)
    }

    /// Whether any container may open for a job.
    pub(super) fn some_may_open(&self, job: JobId) -> bool {
        self.is_lost || self.pending.get(&job).is_none_or(|pending| !pending.is_empty())
    }

    /// Whether a container, or one above it, may open for a job. One that was replaced may.
    pub(super) fn may_open(&self, job: JobId, container: Option<ContainerId>) -> bool {
        if !self.some_may_open(job) {
            return false;
        }
        let mut at = container;
        while let Some(id) = at {
            let Some(container) = self.get(id) else { return true };
            if self.pending.get(&job).is_none_or(|pending| pending.contains(&id)) {
                return true;
            }
            at = container.parent;
        }
        self.is_lost
    }

    /// Whether a report says nothing else than what is known.
    pub(super) fn stands(&self, report: &ContainerReport, acl: Option<AclId>) -> bool {
        let parent = report.parent.as_deref().map(|name| self.named(name).map(|parent| parent.id));
        self.named(&report.name).is_some_and(|container| {
            *container.identity == *report.identity
                && Some(container.acl) == acl
                && parent.is_none_or(|parent| parent == container.parent)
        })
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
        let parent = report.parent.as_deref().and_then(|name| self.named(name)).map(|parent| parent.id);
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
        self.keep(&report.name, Container { id, parent, identity: report.identity.as_str().into(), acl });
        Ok(other_device)
    }
}

fn pending_of(sql: &mut Sql<'_>, job: JobId) -> Result<HashSet<ContainerId>> {
    Ok(containers::pending_of(sql, job)?.into_iter().map(|(container, _)| container).collect())
}
