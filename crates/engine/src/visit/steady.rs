//! What a visit is about to show, held back for the second look at the folders that it was read in (design 4.20, decision 0013).

use std::collections::{BTreeSet, HashMap};

use ingather_model::fault::{Exhausted, Fault, Reason};
use ingather_model::ids::ContainerId;
use ingather_model::lifecycle::outcome::FailureCode;
use ingather_model::limits;
use ingather_store::documents::DocumentUpdate;
use ingather_store::failpoints::{Failpoint, failpoint};

use super::Visitor;
use super::outcome::{Outcome, PendingVisit, VisitArtifacts};
use crate::containers::looks::{self, KeptLooks};
use crate::delivery::change::DecidedChange;
use crate::dispatcher::WorkItem;
use crate::error::Result;
use crate::run::Run;

/// What a visit came to.
pub(crate) enum Done<'r> {
    /// No output has to hear of it: it is complete with others.
    Quiet(Box<PendingVisit>),
    /// Outputs hear of it, or nothing has to be settled.
    Handed,
    /// It is shown once the folders above it have stood.
    Ready(Box<Ready<'r>>),
}

/// One visit that is held back.
pub(crate) struct Ready<'r> {
    visitor: Visitor<'r>,
    update: DocumentUpdate,
    changes: Vec<DecidedChange>,
    outcome: Outcome,
    artifacts: VisitArtifacts,
}

/// Visits of one claim that are held back, and those that are over.
pub(crate) struct SecondLook<'r> {
    run: &'r Run,
    ready: Vec<Ready<'r>>,
    bytes: usize,
    /// The number of the last look before the first of them was read.
    since: u64,
    /// Looks from before they were read, where the run may let go of them meanwhile.
    kept: KeptLooks,
    pub(crate) quiet: Vec<PendingVisit>,
}

impl<'r> SecondLook<'r> {
    /// For visits of these documents, of which nothing was read.
    pub(crate) fn new(run: &'r Run, items: &[WorkItem]) -> Result<SecondLook<'r>> {
        let named = items.iter().filter_map(|item| Some((item.container?, item.name.as_str())));
        let kept = looks::kept(run, named)?;
        let since = run.containers().looks();
        Ok(SecondLook { run, ready: Vec::new(), bytes: 0, since, kept, quiet: Vec::new() })
    }

    pub(crate) fn take(&mut self, done: Done<'r>) -> Result<()> {
        match done {
            Done::Quiet(visit) => self.quiet.push(*visit),
            Done::Handed => {}
            Done::Ready(ready) => {
                self.bytes += ready
                    .changes
                    .iter()
                    .filter_map(|change| Some(change.record.as_ref()?.bytes()))
                    .sum::<usize>();
                self.ready.push(*ready);
                if self.bytes >= limits::LOOKS_BYTES_MAX {
                    return self.look();
                }
            }
        }
        Ok(())
    }

    /// The second look: once for all that is held back.
    pub(crate) fn look(&mut self) -> Result<()> {
        let containers: BTreeSet<ContainerId> =
            self.ready.iter().filter_map(|ready| ready.visitor.item.container).collect();
        let stood = match containers.is_empty() {
            true => BTreeSet::new(),
            false => looks::standing(self.run, &containers, self.since, &self.kept)?,
        };
        let mut now: HashMap<ContainerId, Option<ContainerId>> = HashMap::new();
        for mut ready in std::mem::take(&mut self.ready) {
            let container = ready.visitor.item.container;
            let stands = container.is_none_or(|container| stood.contains(&container));
            if stands && (ready.visitor.steady || failpoint(Failpoint::NoOneVersion)) {
                self.hand_over(ready.hand_over()?);
                continue;
            }
            // Whoever is shut out now is shut out at once.
            if let Some(container) = container.filter(|_| !stands) {
                let after = match now.get(&container) {
                    Some(after) => *after,
                    None => match looks::again(self.run, &ready.visitor.item.name)? {
                        Ok(after) => *now.entry(container).or_insert(after),
                        Err(fault) => {
                            let done = ready.visitor.fault(fault, None)?;
                            self.hand_over(done);
                            continue;
                        }
                    },
                };
                ready.visitor.item.container = after.or(ready.visitor.item.container);
            }
            let done = ready.visitor.unsteady()?;
            self.hand_over(done);
        }
        self.bytes = 0;
        self.since = self.run.containers().looks();
        Ok(())
    }

    fn hand_over(&mut self, done: Done<'r>) {
        if let Done::Quiet(visit) = done {
            self.quiet.push(*visit);
        }
    }
}

impl<'r> Ready<'r> {
    fn hand_over(self) -> Result<Done<'r>> {
        self.visitor.hand_over(self.update, self.changes, self.outcome, self.artifacts)
    }
}

impl<'r> Visitor<'r> {
    /// Shows what was read, or looked at, once the folders above have stood; at once where nobody could tell.
    pub(super) fn show(
        self,
        update: DocumentUpdate,
        changes: Vec<DecidedChange>,
        outcome: Outcome,
        artifacts: VisitArtifacts,
    ) -> Result<Done<'r>> {
        // What is sent as it was read once is not looked at now.
        let looks = self.run.looks && self.run.store.is_some() && !self.run.was_refilled(self.item.id);
        if !looks {
            return self.hand_over(update, changes, outcome, artifacts);
        }
        Ok(Done::Ready(Box::new(Ready { visitor: self, update, changes, outcome, artifacts })))
    }

    /// A document that changed while it was read, or a folder above it did: it is looked at again. At last, and where other people
    /// may see it now, what outputs hold of it goes to nobody.
    fn unsteady(self) -> Result<Done<'r>> {
        let made = self.run.attempts_made(&self.item) + 1;
        let wait =
            self.run.author.repository.grain_ms().max(1).saturating_mul(5_i64.saturating_pow(made - 1));
        let fault = Fault::Passing {
            reason: Reason::new(
                FailureCode::Unsteady.as_str(),
                "it, or a folder above it, changed each time that it was looked at, so that nobody is shown it; \
                 the next run looks again",
            ),
            retry_in_ms: Some(wait.min(limits::SYNC_WAIT_MS_MAX)),
            attempts_max: Some(limits::LOOKS_MAX),
            give_up_at: None,
            when_exhausted: Exhausted::Keep,
        };
        let known = self.item.known.as_ref();
        let moved = known.is_some_and(|known| {
            !self.item.access.same(known.access) || self.item.container != known.container
        });
        let must_mask = (moved && !self.is_ahead) || made >= limits::LOOKS_MAX || self.may_open()?;
        match self.listed() {
            Some(update) if must_mask => {
                let masks = self.masks();
                self.hand_over(update, masks, Outcome::Again(fault), VisitArtifacts::default())
            }
            update => Ok(Done::Quiet(Box::new(PendingVisit::new(
                &self.run.state,
                self.item,
                update,
                Outcome::Again(fault),
                0,
            )))),
        }
    }
}
