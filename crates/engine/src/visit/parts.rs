//! What outputs hold of a document and of what is in it, and what follows from what a visit found.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use ingather_model::decision::{Decision, DeliveryState, Found, NOBODY, decide};
use ingather_model::document::Record;
use ingather_model::ids::{ConnectionId, Digest};
use ingather_model::lifecycle::outcome::DeliveryOutcome;
use ingather_store::deliveries::{self, Component, Delivery};
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::{Reader, StoreError};

use super::outcome::Outcome;
use crate::delivery::change::{ChangeKind, DecidedChange, Part};
use crate::delivery::job_output::JobOutput;
use crate::error::Result;

/// What one output holds of each part.
type ByOutput = BTreeMap<ConnectionId, Delivery>;

/// What outputs hold of one document and of what is in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deliveries {
    own: ByOutput,
    /// By component, with its name; none when the delivery log has lost it.
    inside: BTreeMap<i64, (Option<Part>, ByOutput)>,
}

/// Reads them for documents; what nothing is held of is not in the answer.
pub(crate) fn read(reader: &Reader, ids: &[i64]) -> Result<HashMap<i64, Deliveries>> {
    let mut by_document: HashMap<i64, Deliveries> = HashMap::new();
    if ids.is_empty() {
        return Ok(by_document);
    }
    let mut some_inside = false;
    for delivery in reader.read(|sql| deliveries::states(sql, ids))? {
        let deliveries = by_document.entry(delivery.document).or_default();
        some_inside |= delivery.component != 0;
        let deliveries = match delivery.component {
            0 => &mut deliveries.own,
            component => &mut deliveries.inside.entry(component).or_default().1,
        };
        deliveries.insert(delivery.output, delivery);
    }
    if some_inside {
        for Component { document, id, name, kept } in reader.read(|sql| deliveries::components(sql, ids))? {
            let deliveries = by_document.get_mut(&document);
            if let Some((part, _)) = deliveries.and_then(|deliveries| deliveries.inside.get_mut(&id)) {
                *part = Some(Part { id, name: Some(Arc::from(name)), kept });
            }
        }
    }
    Ok(by_document)
}

impl Deliveries {
    /// Everything that some output was sent, whatever it is of.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Delivery> {
        self.own.values().chain(self.inside.values().flat_map(|(_, deliveries)| deliveries.values()))
    }

    /// Whether an output holds something of it.
    pub(crate) fn is_delivered(&self) -> bool {
        self.all().any(|delivery| delivery.state.confirmed.is_some_and(Digest::is_some))
    }

    /// Whether no output ever confirmed anything of it, or all of them have let it go since.
    pub(crate) fn is_first(&self) -> bool {
        let was_delivered = |delivery: &Delivery| {
            matches!(delivery.outcome, Some(DeliveryOutcome::Superseded | DeliveryOutcome::Lost))
        };
        !self.is_delivered() && !self.all().any(was_delivered)
    }

    /// Whether an output is known to hold just what it was sent last, of everything.
    pub(crate) fn is_confirmed(&self, output: ConnectionId) -> bool {
        let mut sent = self.all().filter(|delivery| delivery.output == output).peekable();
        sent.peek().is_some() && sent.all(|delivery| delivery.state.is_confirmed())
    }

    /// Whether all outputs have answered what they were sent last, access included.
    pub(crate) fn is_settled(&self) -> bool {
        self.all().all(|Delivery { state, outcome, .. }| {
            let is_answered = state.is_confirmed() && state.confirmed_acl == Some(state.intended_acl);
            is_answered || !state.intended.is_some() || outcome.is_some_and(|o| o != DeliveryOutcome::Lost)
        })
    }

    /// What there is of it by now: the document itself, and what it was last seen to hold. What has no name any more is
    /// left to `doctor`: nobody knows its address.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        std::iter::once(Part::whole()).chain(self.inside.values().filter_map(|(part, _)| part.clone()))
    }

    /// Whether the delivery log knows the name of all that is in it.
    pub(crate) fn is_named(&self) -> bool {
        self.inside.values().all(|(part, _)| part.is_some())
    }

    /// Whether something in it has deliveries.
    pub(crate) fn has_inside(&self) -> bool {
        !self.inside.is_empty()
    }

    /// Takes note of access that was sent, and is not confirmed.
    pub(crate) fn told(&mut self, part: &Part, output: ConnectionId, access: Digest) {
        let deliveries =
            if part.id == 0 { Some(&mut self.own) } else { self.inside.get_mut(&part.id).map(|(_, h)| h) };
        if let Some(delivery) = deliveries.and_then(|deliveries| deliveries.get_mut(&output)) {
            (delivery.state.intended_acl, delivery.state.confirmed_acl) = (access, None);
        }
    }

    /// What an output was sent of a part, and what it holds.
    pub(crate) fn of(&self, part: &Part, output: ConnectionId) -> Option<DeliveryState> {
        let deliveries =
            if part.id == 0 { Some(&self.own) } else { self.inside.get(&part.id).map(|(_, h)| h) };
        deliveries.and_then(|deliveries| deliveries.get(&output)).map(|delivery| delivery.state)
    }
}

/// What a visit found of one part.
pub(crate) struct Finding {
    pub(crate) part: Part,
    pub(crate) record: Option<Arc<Record>>,
    /// One for all outputs, or one for each.
    pub(crate) found: Vec<Found>,
    /// For the outputs that this is what arrives at; none where it is so for all.
    pub(crate) arrival: Option<usize>,
}

impl Finding {
    /// A part that was not read, and to whom its document is open now; see [`Part::looked`].
    pub(crate) fn looked(part: Part, access: Digest, kept: Digest) -> Finding {
        let found = part.looked(access, kept);
        Finding::same(part, found)
    }

    /// Whether some output keeps an entry of a part that was not read.
    pub(crate) fn stays(&self, deliveries: &Deliveries, outputs: &[JobOutput]) -> bool {
        outputs.iter().filter(|output| self.is_for(output)).any(|output| {
            let Some(state) = deliveries.of(&self.part, output.id) else { return false };
            match decide(Some(&state), &self.found[0]) {
                Decision::Skip => state.is_confirmed(),
                // What takes no access alone cannot mask it, and gives it up.
                Decision::DeliverAccess | Decision::Mask => output.capabilities.access,
                _ => false,
            }
        })
    }

    /// The same for every output, without a record.
    pub(crate) fn same(part: Part, found: Found) -> Finding {
        Finding { part, record: None, found: vec![found], arrival: None }
    }

    /// The same for the outputs of one arrival.
    pub(crate) fn at(self, arrival: usize) -> Finding {
        Finding { arrival: Some(arrival), ..self }
    }

    fn is_for(&self, output: &JobOutput) -> bool {
        self.arrival.is_none_or(|arrival| arrival == output.arrival)
    }
}

/// Decides the changes for every output, and the outcome that does not depend on their answers.
pub(crate) fn decide_all(
    outputs: &[JobOutput],
    deliveries: &Deliveries,
    findings: Vec<Finding>,
) -> Result<(Vec<DecidedChange>, Outcome)> {
    let mut changes = Vec::new();
    let mut outcome = Outcome::Unchanged;
    for finding in findings {
        for (output_index, output) in outputs.iter().enumerate().filter(|(_, output)| finding.is_for(output))
        {
            let Finding { part, record, found, .. } = &finding;
            let found = &found[output_index.min(found.len() - 1)];
            let kind = match (decide(deliveries.of(part, output.id).as_ref(), found), found) {
                (Decision::Skip, _) => continue,
                (Decision::Deliver, Found::Made { record, access }) => {
                    ChangeKind::Put { version: *record, access: *access }
                }
                (Decision::DeliverAccess, Found::Made { record, access }) if !output.capabilities.access => {
                    ChangeKind::Put { version: *record, access: *access }
                }
                // Without the record it cannot be told: it must not show it to the wrong people.
                (Decision::DeliverAccess, Found::Looked { .. }) if !output.capabilities.access => {
                    ChangeKind::Delete
                }
                (Decision::DeliverAccess, Found::Made { access, .. } | Found::Looked { access }) => {
                    ChangeKind::Access { access: *access }
                }
                (Decision::Mask, _) if !output.capabilities.access => ChangeKind::Delete,
                (Decision::Mask, _) => ChangeKind::Access { access: NOBODY },
                (Decision::Record(reason), _) => {
                    outcome = outcome.or(Outcome::Skipped(reason));
                    continue;
                }
                (Decision::Remove, Found::Declined(reason)) => {
                    outcome = outcome.or(Outcome::Skipped(reason.clone()));
                    ChangeKind::Delete
                }
                (Decision::Remove, Found::Unread { .. }) if failpoint(Failpoint::UncertainComponentStays) => {
                    continue;
                }
                (Decision::Remove, Found::Absent | Found::Unread { .. }) => {
                    // Something in it is gone, or it is no entry itself any more: it was changed.
                    outcome = outcome.or(Outcome::Updated);
                    ChangeKind::Delete
                }
                (decision, found) => {
                    let told = format!("undecidable: {decision:?} for {found:?}");
                    return Err(StoreError::Refused(told).into());
                }
            };
            changes.push(DecidedChange { output_index, part: part.clone(), record: record.clone(), kind });
        }
    }
    Ok((changes, outcome))
}
