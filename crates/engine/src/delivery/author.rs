//! In whose name changes are sent.

use std::sync::Arc;

use ingather_contract::repository::Repository;
use ingather_model::ids::JobId;
use ingather_model::job::Keep;
use ingather_model::key::Hasher;

/// In whose name changes are sent.
pub(crate) struct Author {
    pub(crate) job: JobId,
    pub(crate) job_name: Arc<str>,
    pub(crate) repository: Arc<dyn Repository>,
    pub(crate) hasher: Hasher,
    /// What the job keeps of what it read.
    pub(crate) keep: Keep,
    /// No two documents of the job have one address.
    pub(crate) unique_uris: bool,
    /// Longest time between two commits of a local index while it has changes of this job, milliseconds.
    pub(crate) commit_ms: i64,
}
