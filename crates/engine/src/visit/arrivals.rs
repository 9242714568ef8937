//! What a visit found for each output, by what arrived there: outputs behind different branches of a pipeline get different things of
//! one document, and some get nothing.

use std::collections::HashSet;
use std::sync::Arc;

use ingather_contract::transform::Verdict;
use ingather_model::decision::Found;
use ingather_model::document::{INSIDE, Parts, Record};
use ingather_model::fault::{Fault, Reason};
use ingather_model::ids::Digest;
use ingather_store::failpoints::{Failpoint, failpoint};

use super::Visitor;
use super::parts::Finding;
use super::pipeline::{Arrival, CONDITION, Passed};
use crate::delivery::change::{ChangeKind, DecidedChange, Part};
use crate::delivery::job_output::JobOutput;
use crate::error::Result;

/// What was found of one document.
pub(super) struct Findings {
    /// Of each part, for each arrival.
    pub(super) findings: Vec<Finding>,
    /// Components that stay as they were.
    pub(super) kept: Vec<i64>,
    /// For each arrival, whether a condition keeps out the document, or something in it.
    pub(super) kept_out: Vec<bool>,
}

impl Passed {
    /// Why no output wants anything of the document; none when one does.
    pub(super) fn declined(&self) -> Option<Reason> {
        let reason = |arrival: &Arrival| match &arrival.verdict {
            Verdict::Decline(reason) => Some(reason.clone()),
            _ => None,
        };
        let reasons: Option<Vec<Reason>> = self.arrivals.iter().map(reason).collect();
        reasons?.into_iter().next()
    }

    /// Why the document could not be read, where that arrives at some output.
    pub(super) fn unread(&self) -> Option<Fault> {
        self.arrivals.iter().find_map(|arrival| match &arrival.verdict {
            Verdict::Unread(fault) => Some(fault.clone()),
            _ => None,
        })
    }
}

/// What arrived somewhere: what is in the document, and what becomes of the document itself.
struct Arrived {
    inside: Vec<Finding>,
    whole: Whole,
}

enum Whole {
    Entry(Arc<Record>),
    /// It may have to be there: what outputs hold stays where it is known to be held.
    Undecided,
    /// Why it is no entry itself.
    None(Reason),
}

impl Visitor<'_> {
    /// What there is to decide for the outputs behind each arrival. What one of them gets nothing of and another one does is absent
    /// there, and not declined: the document is wanted.
    pub(super) fn findings(&self, passed: Passed, access: Digest) -> Result<Findings> {
        let content = passed.content;
        let (mut kept, mut kept_out) = (HashSet::new(), Vec::with_capacity(passed.arrivals.len()));
        let mut arrived = Vec::with_capacity(passed.arrivals.len());
        let mut is_wanted = false;
        for (at, arrival) in passed.arrivals.into_iter().enumerate() {
            let Arrival { verdict, record, parts, left, is_refused, is_undecided } = arrival;
            kept_out.push(is_refused || !left.is_empty());
            let (inside, kept_here) = self.inside(at, parts, &left, access)?;
            let is_entry =
                |finding: &Finding| finding.record.is_some() || kept_here.contains(&finding.part.id);
            let whole = match verdict {
                _ if is_undecided => Whole::Undecided,
                Verdict::Pass | Verdict::Unread(_) => Whole::Entry(Arc::new(record)),
                Verdict::Decline(reason) => Whole::None(reason),
                Verdict::PartsOnly => {
                    Whole::None(Reason::new("no_entry", "neither it nor anything in it can be an entry"))
                }
            };
            is_wanted |= !matches!(whole, Whole::None(_)) || inside.iter().any(is_entry);
            kept.extend(kept_here);
            arrived.push(Arrived { inside, whole });
        }
        let mut findings = Vec::new();
        for (at, Arrived { inside, whole }) in arrived.into_iter().enumerate() {
            if matches!(&whole, Whole::None(reason) if reason.code == CONDITION)
                && failpoint(Failpoint::KeptOutStays)
            {
                continue;
            }
            findings.extend(inside);
            let found = match whole {
                Whole::Entry(record) => {
                    findings.push(self.finding(at, Part::whole(), record, content, access));
                    continue;
                }
                Whole::Undecided => Found::Unread { access: self.access_of_kept(access)? },
                Whole::None(_) if is_wanted => Found::Absent,
                Whole::None(reason) => Found::Declined(reason),
            };
            findings.push(Finding::same(Part::whole(), found).at(at));
        }
        Ok(Findings { findings, kept: kept.into_iter().collect(), kept_out })
    }

    /// Counts a document that conditions take out of an output.
    pub(super) fn note_kept_out(&self, changes: &[DecidedChange], kept_out: &[bool]) {
        let is_kept_out = |output: &JobOutput| kept_out.get(output.arrival).copied().unwrap_or_default();
        let leaves = |change: &DecidedChange| {
            matches!(change.kind, ChangeKind::Delete) && is_kept_out(&self.run.outputs[change.output_index])
        };
        if changes.iter().any(leaves) {
            self.run.note_kept_out();
        }
    }

    fn finding(
        &self,
        arrival: usize,
        part: Part,
        record: Arc<Record>,
        content: Digest,
        access: Digest,
    ) -> Finding {
        let without_times = self.run.definition.compare_content;
        let digest = |output: &JobOutput| record.digest(content, output.settings, without_times);
        let made = |output| Found::Made { record: digest(output), access };
        let found = self.run.outputs.iter().map(made).collect();
        Finding { part, found, record: Some(record), arrival: Some(arrival) }
    }

    /// What was found in a document, and what became of that which was in it before (design parts CMP-2): what could not
    /// be read this time stays where it is known to be held, and is told beside; what is not there any more goes. What is kept for one
    /// branch counts as kept for all of them: nobody is let in to any of it before it is read again.
    fn inside(
        &self,
        arrival: usize,
        parts: Parts,
        left: &[String],
        access: Digest,
    ) -> Result<(Vec<Finding>, Vec<i64>)> {
        let mut kept = Vec::new();
        let mut findings = Vec::with_capacity(parts.list.len() + 1);
        let (mut made, mut unread) = (HashSet::with_capacity(parts.list.len()), HashSet::new());
        for component in parts.list {
            let part = Part::inside(&self.run.author.hasher, &component.name);
            match component.record {
                Ok(record) => {
                    made.insert(part.id);
                    findings.push(self.finding(arrival, part, Arc::new(record), Digest::NONE, access));
                }
                Err(_) => drop(unread.insert(component.name)),
            }
        }
        for part in self.deliveries.parts().filter(|part| part.id != 0 && !made.contains(&part.id)) {
            let named = |is: &dyn Fn(&str) -> bool| part.name.as_deref().is_some_and(is);
            // What was found, and is not wanted there, was read.
            let is_left =
                named(&|name| left.iter().any(|left| left == name)) && !failpoint(Failpoint::LeftPartUnread);
            let unread = !is_left && (parts.incomplete || named(&|name| is_unread(&unread, name)));
            if (unread && !failpoint(Failpoint::UnreadComponentGoes))
                || failpoint(Failpoint::VanishedComponentStays)
            {
                let kept_access = self.access_of_kept(access)?;
                let finding = Finding::looked(Part { kept: true, ..part }, access, kept_access).at(arrival);
                if finding.stays(&self.deliveries, &self.run.outputs) {
                    kept.push(finding.part.id);
                }
                findings.push(finding);
            } else {
                findings.push(Finding::same(part, Found::Absent).at(arrival));
            }
        }
        Ok((findings, kept))
    }
}

/// Whether a part is one that could not be read, or is in one that could not be opened.
fn is_unread(unread: &HashSet<String>, name: &str) -> bool {
    let around = name.match_indices(INSIDE).map(|(end, _)| &name[..end]);
    around.chain([name]).any(|name| unread.contains(name))
}
