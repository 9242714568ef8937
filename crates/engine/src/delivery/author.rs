//! In whose name changes are sent.

use std::sync::Arc;

use ingather_contract::repository::Repository;
use ingather_model::ids::JobId;
use ingather_model::job::Keep;
use ingather_model::key::Hasher;
use ingather_store::{Sql, StoreError, documents};

use crate::run::tickets;

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
    /// Applications push its documents.
    pub(crate) is_pushed: bool,
    /// Longest time between two commits of a local index while it has changes of this job, milliseconds.
    pub(crate) commit_ms: i64,
}

impl Author {
    /// Forgets documents that no output holds any more, with all their rows; of those that applications push, their tickets are completed.
    pub(crate) fn forget(
        &self,
        sql: &mut Sql<'_>,
        documents: &[i64],
        now: i64,
    ) -> std::result::Result<(), StoreError> {
        let gone = match self.is_pushed {
            true => tickets::gone(sql, documents, now)?,
            false => documents.to_vec(),
        };
        documents::forget(sql, self.job, &gone).map(drop)
    }
}
