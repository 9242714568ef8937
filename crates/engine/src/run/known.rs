//! What the store knows about the documents of a job that need attention, as a run begins.

use std::collections::HashMap;

use ingather_model::lifecycle::outcome::{FailureCode, FailureKind};
use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::queue::{self, FailedDocument};
use ingather_store::{Sql, StoreError};
use roaring::RoaringTreemap;

use crate::run::id_set;

/// What the store knows about a job's documents that need attention.
pub(crate) struct Known {
    pub(crate) pending: RoaringTreemap,
    pub(crate) leaving: RoaringTreemap,
    pub(crate) failed: RoaringTreemap,
    pub(crate) skipped: RoaringTreemap,
    pub(crate) unreadable: RoaringTreemap,
    /// Attempts made by earlier runs at what waits for another.
    pub(crate) attempts: HashMap<i64, u32>,
}

impl Known {
    pub(crate) fn load(sql: &mut Sql<'_>, job: &Job) -> std::result::Result<Known, StoreError> {
        let mut known = Known {
            pending: id_set::of(queue::waiting(sql, job.id)?),
            leaving: id_set::of(queue::leaving(sql, job.id)?),
            failed: RoaringTreemap::new(),
            skipped: RoaringTreemap::new(),
            unreadable: RoaringTreemap::new(),
            attempts: HashMap::new(),
        };
        for kind in [FailureKind::Failed, FailureKind::Skipped, FailureKind::Retrying] {
            let mut after = 0;
            loop {
                let rows = queue::failures(sql, job.id, kind, after, limits::SWEEP_ROWS)?;
                let Some(last) = rows.last() else { break };
                after = last.document;
                for FailedDocument { document: id, attempts, code } in rows {
                    match kind {
                        FailureKind::Failed => known.failed.insert(id as u64),
                        FailureKind::Skipped => known.skipped.insert(id as u64),
                        // What changes all the time has all its attempts in each run.
                        FailureKind::Retrying if code == Some(FailureCode::Unsteady) => false,
                        FailureKind::Retrying => {
                            let rested = i64::from(failpoint(Failpoint::RetryCountedWhilePaused));
                            let made = u32::try_from(attempts + rested).unwrap_or(u32::MAX);
                            known.attempts.insert(id, made).is_none()
                        }
                    };
                    if code == Some(FailureCode::Unreadable) {
                        known.unreadable.insert(id as u64);
                    }
                }
            }
        }
        Ok(known)
    }
}
