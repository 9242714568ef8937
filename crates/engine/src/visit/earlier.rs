//! What outputs hold of an earlier reading while the document cannot be read, or was not read yet: who may find that.

use std::collections::HashSet;
use std::sync::Arc;

use ingather_contract::repository::Observed;
use ingather_model::decision::{Decision, NOBODY, decide};
use ingather_model::fault::Fault;
use ingather_model::ids::{AclId, ContainerId, Digest};
use ingather_store::documents::DocumentUpdate;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::Noted;
use ingather_store::{Sql, StoreError, deliveries};

use super::extracts;
use super::outcome::{Outcome, PendingVisit, VisitArtifacts};
use super::steady::Done;
use super::{Visitor, holds_access, is_steady};
use crate::delivery::change::ChangeKind;
use crate::delivery::change::DecidedChange;
use crate::delivery::change::access_digest;
use crate::delivery::job_output::JobOutput;
use crate::error::Result;
use crate::run::Run;

/// Documents of a page that have something in them which was not looked at when they were visited last, once a folder may open.
#[derive(Default)]
pub(crate) struct Older(HashSet<i64>);

impl Older {
    /// Asks for those among the documents of a page when the run has met a folder that may open.
    pub(crate) fn note(
        &mut self,
        sql: &mut Sql<'_>,
        may_open: bool,
        ids: &[i64],
    ) -> std::result::Result<(), StoreError> {
        self.0.clear();
        if may_open && !failpoint(Failpoint::KeptNotLookedAtBelowAnOpening) {
            self.0.extend(deliveries::with_kept_components(sql, ids)?);
        }
        Ok(())
    }

    /// Whether a folder opens over what outputs hold of an unchanged document: its visit masks that, so that the folder opens
    /// for all else at the end of this run.
    pub(crate) fn opens_over(
        &self,
        run: &Run,
        id: i64,
        noted: Noted,
        container: Option<ContainerId>,
    ) -> Result<bool> {
        let is_older = self.0.contains(&id)
            || (noted.has_failed() && !failpoint(Failpoint::KeptNotLookedAtBelowAnOpening));
        Ok(is_older && run.containers().may_open(container)?)
    }
}

impl<'r> Visitor<'r> {
    /// A known document that cannot be read now keeps its content and gets its new access at once; an output that lacks the
    /// content is sent what is kept of it.
    ///
    /// It has failed only when every output has the access: otherwise nothing would ask for it any more.
    pub(super) fn unreadable(mut self, fault: Fault) -> Result<Done<'r>> {
        let observed = match self.run.author.repository.look(&self.run.call, &self.item.name) {
            Ok(observed) => observed,
            Err(Fault::Gone) => return self.fault(Fault::Gone, None),
            Err(_) => return self.fault(fault, None),
        };
        self.steady = is_steady(&observed);
        let acl_id = self.acl_id(&observed)?;
        let mut update = self.update(&observed, acl_id);
        // What is kept was read before its change time moved: it may be of other bytes. It fills outputs, and nobody finds it there.
        let is_moved = self.has_moved(&observed) && !failpoint(Failpoint::KeptTextUnlookedAt);
        if self.item.known.is_some()
            && (!is_moved || self.by_reference())
            && !self.holds_old_content(&update)
            && let Some(passed) = extracts::kept(self.run, self.item.id, update.version)?
        {
            if is_moved {
                update = DocumentUpdate { acl_id: None, ..self.as_read(update) };
            }
            return self.made_as(update, passed, Some(Outcome::Failed(fault.reason())));
        }
        if !self.deliveries.is_delivered() {
            let same = !self.holds_old_content(&update);
            let listed = self.listed().map(|listed| if same { self.as_read(listed) } else { listed });
            return self.fault(fault, listed);
        }
        // To whom it opens before it was read, nothing is shown of before.
        let access = self.access_until_read(&observed, acl_id)?.unwrap_or(NOBODY);
        update = self.as_read(update);
        // The row is of what was read before: what is kept of that must not be sent to whom nobody has opened it.
        let is_masked = access == NOBODY && !failpoint(Failpoint::KeptTextUnlookedAt);
        if is_masked && !failpoint(Failpoint::HiddenRowKeepsAccess) {
            update.acl_id = None;
        }
        let changes = self.access_changes(access, |output, access| {
            // Without the record such an output cannot be told: it must not show it to the wrong people.
            Some(if output.capabilities.access { ChangeKind::Access { access } } else { ChangeKind::Delete })
        })?;
        self.show(update, changes, Outcome::Failed(fault.reason()), VisitArtifacts::default())
    }

    /// What the row says of a document that could not be read: the change time of what was read last, and its version. So it is
    /// asked for again in the next run, and nothing takes for read what was not.
    fn as_read(&self, update: DocumentUpdate) -> DocumentUpdate {
        match &self.item.known {
            Some(known) if self.holds_old_content(&update) => {
                DocumentUpdate { version: known.version, access: known.access, ..update }
            }
            Some(known) => DocumentUpdate { access: known.access, ..update },
            None => update,
        }
    }

    /// What outputs that hold the document or something in it with other access have to be told.
    pub(super) fn access_changes(
        &self,
        access: Digest,
        kind: impl Fn(&JobOutput, Digest) -> Option<ChangeKind>,
    ) -> Result<Vec<DecidedChange>> {
        let mut changes = Vec::new();
        let kept_access = self.access_of_kept(access)?;
        for part in self.deliveries.parts() {
            for (output_index, output) in self.run.outputs.iter().enumerate() {
                let state = self.deliveries.of(&part, output.id);
                let looked = part.looked(access, kept_access);
                let access = match decide(state.as_ref(), &looked) {
                    Decision::DeliverAccess => access,
                    Decision::Mask => NOBODY,
                    _ => continue,
                };
                if let Some(kind) = kind(output, access)
                    && !holds_access(state, kind)
                {
                    changes.push(DecidedChange { output_index, part: part.clone(), record: None, kind });
                }
            }
        }
        Ok(changes)
    }

    /// Whether a folder above the document may open at the end of this run.
    pub(super) fn may_open(&self) -> Result<bool> {
        let mut containers = self.run.containers();
        let before = self.item.known.as_ref().and_then(|known| known.container);
        Ok(containers.may_open(self.item.container)? || containers.may_open(before)?)
    }

    /// Access of what could not be read this time and outputs hold of an earlier reading: as the document has it now, where
    /// they hold just that; nobody's where a folder opens.
    pub(super) fn access_of_kept(&self, access: Digest) -> Result<Digest> {
        let is_older = self.deliveries.has_inside() && self.may_open()?;
        Ok(if is_older && !failpoint(Failpoint::OldTextOpens) { Digest::NONE } else { access })
    }

    /// What outputs hold of a document that cannot be read is masked, since a folder above it opens: so that it opens for all
    /// others.
    pub(super) fn masks(&self) -> Vec<DecidedChange> {
        let mut changes = Vec::new();
        for part in self.deliveries.parts() {
            for (output_index, output) in self.run.outputs.iter().enumerate() {
                let state = self.deliveries.of(&part, output.id);
                let kind = if output.capabilities.access {
                    ChangeKind::Access { access: NOBODY }
                } else {
                    ChangeKind::Delete
                };
                let is_there =
                    state.is_some_and(|h| h.confirmed != Some(Digest::NONE) || h.intended.is_some());
                if is_there && !holds_access(state, kind) {
                    changes.push(DecidedChange { output_index, part: part.clone(), record: None, kind });
                }
            }
        }
        changes
    }

    /// Sends the access ahead of the content, so that a revocation never waits for a read (design 4.18).
    pub(super) fn send_access_ahead(&mut self, observed: &Observed, acl_id: AclId) -> Result<()> {
        if self.run.store.is_none() {
            return Ok(());
        }
        self.is_ahead = true;
        let update = self.update(observed, acl_id);
        let Some(access) = self.access_ahead(observed, acl_id)? else { return Ok(()) };
        let now = access_digest(Some(acl_id), self.item.container);
        let changes = self.access_changes(now, |output, told| {
            // What is not for the old content is for nobody.
            let access = if told == now { access } else { told };
            output.capabilities.access.then_some(ChangeKind::Access { access })
        })?;
        // A visit of its own: it settles nothing, the one that follows does.
        let visit = Arc::new(PendingVisit::ahead(&self.run.state, self.item.clone()));
        for change in changes {
            let output = &self.run.outputs[change.output_index];
            // What follows is decided by what is on its way now.
            if let ChangeKind::Access { access } = change.kind {
                self.deliveries.told(&change.part, output.id, access);
            }
            self.run.push(change.output_index, self.queued(&visit, change, &update));
        }
        Ok(())
    }

    pub(super) fn holds_old_content(&self, update: &DocumentUpdate) -> bool {
        // What failed has the version of what was not sent, unless it could only not be read.
        let unsent = self.item.noted.has_failed() && !self.item.noted.is_unreadable();
        unsent || !self.item.known.as_ref().is_some_and(|known| update.version.same(known.version))
    }
}
