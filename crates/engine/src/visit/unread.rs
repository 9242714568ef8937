//! A document whose content no stage could read: found by its name and fields, and by the reason.

use ingather_model::fault::Fault;
use ingather_model::ids::Digest;
use ingather_model::limits;
use ingather_store::documents::DocumentUpdate;

use super::outcome::{Outcome, VisitArtifacts};
use crate::error::Result;

use super::Visitor;
use super::arrivals::Findings;
use super::parts;
use super::pipeline::Passed;
use super::steady::Done;
use crate::delivery::change::access_digest;

impl<'r> Visitor<'r> {
    /// A document whose content no stage could read: it is tried again, and at last found by its name and fields. What could
    /// go well another time is asked for again in the next run.
    pub(super) fn unread(self, mut update: DocumentUpdate, passed: Passed, fault: Fault) -> Result<Done<'r>> {
        let passing = matches!(fault, Fault::Passing { .. });
        if passing && self.run.attempts_made(&self.item) + 1 < fault.attempts_max(limits::ATTEMPTS_MAX) {
            return self.fault(fault, None);
        }
        if passing {
            update.version = Digest::NONE;
        }
        // What outputs hold was made of nothing but its name and fields.
        update.raw = Some(Digest::NONE);
        let access = access_digest(update.acl_id, self.item.container);
        let Findings { findings, kept, .. } = self.findings(passed, access)?;
        let (changes, _) = parts::decide_all(&self.run.outputs, &self.deliveries, findings)?;
        let outcome = if passing { Outcome::Again(fault) } else { Outcome::Failed(fault.reason()) };
        self.show(update, changes, outcome, VisitArtifacts { kept: Some(kept), ..VisitArtifacts::default() })
    }
}
