//! What all jobs of one process share: the outputs that are open, the containers that runs have met, what is under way, the lease, and the
//! threads that visit.

pub(crate) mod lease_keeper;
mod steering;
pub(crate) mod under_way;
pub(crate) mod visitors;

use std::sync::Arc;

use ingather_contract::call::Cancel;

use self::lease_keeper::{LeaseKeeper, LeaseUse};
use self::under_way::{UnderWay, Work};
use self::visitors::Visitors;
use crate::containers::pool::ContainerPool;
use crate::delivery::output_pool::OutputPool;
use crate::delivery::writer::Writer;
use crate::error::{EngineError, Result};
use ingather_model::limits;
use ingather_store::jobs::Job;

/// What all jobs of one process share. It holds nothing while nothing is under way.
pub struct Process {
    pub(crate) outputs: Arc<OutputPool>,
    pub(crate) containers: ContainerPool,
    pub(crate) under_way: Arc<UnderWay>,
    pub(crate) visitors: Arc<Visitors>,
    lease: LeaseKeeper,
}

impl Default for Process {
    fn default() -> Process {
        Process::keeping(limits::CONTAINERS_KEPT_MAX)
    }
}

impl Process {
    /// One that keeps about as many containers of each repository connection in memory.
    pub fn keeping(containers: usize) -> Process {
        Process {
            outputs: Arc::default(),
            containers: ContainerPool::new(containers),
            under_way: Arc::default(),
            visitors: Arc::default(),
            lease: LeaseKeeper::default(),
        }
    }

    /// Begins work on a job, in the name of `doing`; over when the answer is dropped. While work that writes is under way, the lease is
    /// renewed. `writer`: none where nothing is written.
    ///
    /// # Errors
    /// `Busy` while the same job is worked on; what the lease was lost for, until all that worked under it has ended.
    pub(crate) fn begin(
        &self,
        job: &Job,
        doing: &'static str,
        writer: Option<&Writer>,
        whole: &Cancel,
    ) -> Result<Work> {
        let lease = writer.map(|writer| self.keep_lease(writer)).transpose()?;
        UnderWay::begin(&self.under_way, job, doing, whole, lease)
    }

    /// Keeps the lease until the answer is dropped.
    ///
    /// # Errors
    /// What it was lost for, until all that worked under it has ended.
    pub(crate) fn keep_lease(&self, writer: &Writer) -> Result<LeaseUse> {
        let (under_way, outputs) = (self.under_way.clone(), self.outputs.clone());
        self.lease.keep(writer, move |error: &EngineError| {
            // Whoever works hears it before what it has on its way is dropped.
            under_way.fail(error);
            outputs.fail(error);
        })
    }
}
