//! The containers and acls of each repository connection, once in a process, whatever the number of runs over it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use ingather_contract::repository::ContainerReport;
use ingather_model::ids::{ConnectionId, ContainerId, JobId};
use ingather_store::{Durability, Reader, Sql, Store, StoreError};

use super::acls::Acls;
use super::tree::Tree;
use ingather_store::turns::lock;

type Result<T> = std::result::Result<T, StoreError>;

/// Containers of all connections over which something runs. They are read for the first run and dropped after the last one.
pub(crate) struct ContainerPool {
    slots: Mutex<HashMap<ConnectionId, Arc<Mutex<Weak<SharedContainers>>>>>,
    /// As in [`SharedContainers`].
    writes: Arc<Mutex<()>>,
    /// How many containers of each connection are kept in memory.
    most: usize,
}

/// Containers and acls of one connection, shared by its runs.
///
/// Locks are taken in this order, and any of them may be left out: the acls; what a run has met; the tree; then a transaction of the store.
/// None of them is taken inside a transaction: whoever records holds them while it waits for the store, and would be waited for by
/// whoever holds the store. Whoever records holds the tree until it is on disk: the tree is never ahead of what others may read.
pub(crate) struct SharedContainers {
    acls: Mutex<Acls>,
    tree: Mutex<Tree>,
    /// Transactions that record, of whatever connection, one after the other: PostgreSQL locks the counters of ids in the order in which
    /// they are asked for, which is that of what was found.
    writes: Arc<Mutex<()>>,
    /// As in [`ContainerPool`].
    pub(crate) most: usize,
}

/// The use of the containers by a run; it learns of what other runs find until this is dropped.
pub(crate) struct ContainersUse {
    shared: Arc<SharedContainers>,
    job: JobId,
}

impl ContainerPool {
    pub(crate) fn new(most: usize) -> ContainerPool {
        ContainerPool { slots: Mutex::default(), writes: Arc::default(), most }
    }

    /// The containers of a connection, for a run of a job that writes.
    pub(crate) fn get(&self, reader: &Reader, connection: ConnectionId, job: JobId) -> Result<ContainersUse> {
        let slot = lock(&self.slots).entry(connection).or_default().clone();
        let mut held = lock(&slot);
        let shared = match held.upgrade() {
            Some(shared) => shared,
            None => {
                let shared = SharedContainers::load(reader, connection, self.writes.clone(), self.most)?;
                *held = Arc::downgrade(&shared);
                shared
            }
        };
        drop(held);
        ContainersUse::new(reader, shared, job)
    }
}

impl SharedContainers {
    fn load(
        reader: &Reader,
        connection: ConnectionId,
        writes: Arc<Mutex<()>>,
        most: usize,
    ) -> Result<Arc<SharedContainers>> {
        let acls = reader.read(|sql| Acls::load(sql, connection))?;
        let tree = Tree::load(reader, connection, most)?;
        Ok(Arc::new(SharedContainers { acls: Mutex::new(acls), tree: Mutex::new(tree), writes, most }))
    }

    pub(crate) fn acls(&self) -> MutexGuard<'_, Acls> {
        lock(&self.acls)
    }

    pub(crate) fn tree(&self) -> MutexGuard<'_, Tree> {
        lock(&self.tree)
    }

    /// Takes in a report of a container beside all runs; its id. Nothing is on another device that is in no file system.
    pub(crate) fn record(
        &self,
        store: &Store,
        report: &ContainerReport,
        (fence, now): (&dyn Fn(&mut Sql<'_>) -> Result<()>, i64),
    ) -> Result<Option<ContainerId>> {
        let (mut acls, mut tree) = (self.acls(), self.tree());
        let acl = acls.find(&report.acl);
        if tree.stands(report, acl)? {
            return Ok(tree.named(&report.name)?.map(|container| container.id));
        }
        let recorded = self.write(store, |sql| {
            fence(sql)?;
            // Once more where the database took it back, to let another transaction pass.
            acls.lose();
            tree.lose();
            tree.find_again(sql)?;
            let acl = acls.intern(sql, &report.acl)?;
            tree.record(Some(sql), report, acl, true, now)
        });
        if recorded.is_err() {
            acls.lose();
            tree.lose();
        }
        recorded?;
        Ok(tree.named(&report.name)?.map(|container| container.id))
    }

    /// A transaction that changes what is known of containers; whoever calls this holds the tree.
    pub(crate) fn write<T>(&self, store: &Store, work: impl FnMut(&mut Sql<'_>) -> Result<T>) -> Result<T> {
        let _one = lock(&self.writes);
        store.write(Durability::Relaxed, work)
    }
}

impl ContainersUse {
    /// Containers of a run's own: one that writes nothing pretends what it would write, and keeps all that it pretends.
    pub(crate) fn alone(
        pool: &ContainerPool,
        reader: &Reader,
        connection: ConnectionId,
        job: JobId,
    ) -> Result<ContainersUse> {
        ContainersUse::new(
            reader,
            SharedContainers::load(reader, connection, Arc::default(), pool.most)?,
            job,
        )
    }

    fn new(reader: &Reader, shared: Arc<SharedContainers>, job: JobId) -> Result<ContainersUse> {
        let mut tree = shared.tree();
        reader.read(|sql| tree.join(sql, job))?;
        drop(tree);
        Ok(ContainersUse { shared, job })
    }

    pub(crate) fn shared(&self) -> Arc<SharedContainers> {
        self.shared.clone()
    }
}

impl Drop for ContainersUse {
    fn drop(&mut self) {
        self.shared.tree().leave(self.job);
    }
}
