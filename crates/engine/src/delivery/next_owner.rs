//! What becomes of an entry that one owner leaves while others claim its address (design 4.7).
//!
//! It never stays as the one who leaves has sent it: it names whose reading it is, and by that job's runs it would open and
//! close. An owner that holds just the same takes it over as its own; otherwise nobody finds it until an owner has sent its own.

use std::sync::Arc;

use ingather_contract::output::{Change, Op, OutputCapabilities};
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ConnectionId, ContainerId, Digest, JobId};
use ingather_store::deliveries::{self, Intent, Owner};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::{self, VisitReason, VisitRequest};
use ingather_store::{Sql, StoreError, documents, jobs};

use super::change::access_digest;

type Result<T> = std::result::Result<T, StoreError>;

/// Who owns the entry of an address once its owner has left it.
#[derive(Clone, Debug)]
pub(crate) struct NextOwner {
    /// All who claim the address, with their jobs.
    others: Vec<(i64, JobId)>,
    /// As whose the entry stays; none: the first one to come sends its own.
    adopts: Option<Adopter>,
    /// Until then it is masked; else it is taken out.
    masks: bool,
    /// There was nothing to take over.
    is_gone: bool,
}

/// What the entry says from now on.
#[derive(Clone, Debug)]
struct Adopter {
    job: JobId,
    job_name: Arc<str>,
    name: String,
    version: Option<Digest>,
    acl_id: Option<AclId>,
    container: Option<ContainerId>,
}

impl NextOwner {
    /// The next owner of an address that `document` leaves; none when nobody else claims it. `masks`: an entry that nobody takes over is masked
    /// until somebody sends its own, not taken out.
    pub(crate) fn of(
        sql: &mut Sql<'_>,
        (capabilities, masks): (OutputCapabilities, bool),
        owners: &[Owner],
        document: i64,
    ) -> Result<Option<NextOwner>> {
        let others = || owners.iter().filter(|owner| owner.document != document);
        if others().next().is_none() {
            return Ok(None);
        }
        let adopts = match others().find(|other| capabilities.access && other.holds_its_own()) {
            Some(same) => adopter(sql, same)?,
            None => None,
        };
        let others = others().map(|other| (other.document, other.job)).collect();
        Ok(Some(NextOwner { others, adopts, masks, is_gone: false }))
    }

    /// What is sent in place of a removal.
    pub(crate) fn change(&self, removal: Change) -> Change {
        match &self.adopts {
            Some(Adopter { job, job_name, name, version, acl_id, container }) => Change {
                job: job.0,
                job_name: job_name.clone(),
                document: name.clone(),
                op: Op::Access { version: *version, acl_id: *acl_id, container: *container },
                ..removal
            },
            None if self.masks => {
                Change { op: Op::Access { version: None, acl_id: None, container: None }, ..removal }
            }
            None => removal,
        }
    }

    /// Writes beside the intent what masking the entry does to all who claim it, whether the output ever answers or not.
    pub(crate) fn intend(
        &self,
        sql: &mut Sql<'_>,
        output: ConnectionId,
        left: &Intent,
        now: i64,
    ) -> Result<()> {
        if self.adopts.is_some() || failpoint(Failpoint::LeftEntryStays) {
            return Ok(());
        }
        deliveries::supersede(sql, output, false, left)?;
        self.enqueue(sql, now)
    }

    fn enqueue(&self, sql: &mut Sql<'_>, now: i64) -> Result<()> {
        self.others.iter().try_for_each(|(document, job)| {
            queue::enqueue(
                sql,
                *job,
                0,
                &[VisitRequest { document: *document, due: now, reason: VisitReason::Resend }],
            )
        })
    }

    /// The answer to [`NextOwner::change`].
    pub(crate) fn answered(
        &mut self,
        answer: std::result::Result<(), Fault>,
    ) -> std::result::Result<(), Fault> {
        match answer {
            // There is nothing to take over, or to mask.
            Err(Fault::Gone) => {
                self.is_gone = true;
                Ok(())
            }
            answer => answer,
        }
    }

    /// Writes what follows from the answer.
    pub(crate) fn complete(
        &self,
        sql: &mut Sql<'_>,
        output: ConnectionId,
        left: &Intent,
        now: i64,
    ) -> Result<()> {
        if !self.is_gone {
            return Ok(());
        }
        deliveries::supersede(sql, output, false, left)?;
        self.enqueue(sql, now)
    }
}

fn adopter(sql: &mut Sql<'_>, next_owner: &Owner) -> Result<Option<Adopter>> {
    let Some(stored) = documents::get(sql, &[next_owner.document])?.into_iter().next() else {
        return Ok(None);
    };
    let Some(job) = jobs::get(sql, next_owner.job)? else { return Ok(None) };
    let (acl_id, container) = (stored.known.acl_id, stored.known.container);
    // A document whose visit is not settled does not know yet what its entry says.
    let is_sent = access_digest(acl_id, container) == next_owner.state.intended_acl;
    let (job_name, version) = (job.name.as_str().into(), next_owner.state.known());
    let adopter = Adopter { job: job.id, job_name, name: stored.name, version, acl_id, container };
    Ok(Some(adopter).filter(|_| is_sent))
}
