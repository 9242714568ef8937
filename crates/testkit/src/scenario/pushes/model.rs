//! The model of a source: what was accepted, in the order of tickets, and its delta runs.

use std::collections::{BTreeMap, BTreeSet};

use ingather_engine::inbox::delta_runs::{FINISHED, Finished, OPEN};
use ingather_model::access::Acl;

use crate::together::pushing::{Ask, Is, Pushed, Request, Version};

/// One version of a record, or its end.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) ticket: i64,
    /// None: it is deleted.
    pub(super) is: Option<Version>,
    /// What its client counts its versions by.
    pub(super) version: Option<i64>,
    /// The delta run that deleted it at its end.
    pub(super) by: Option<i64>,
    /// Number and outcome of the report.
    pub(super) report: Option<(i64, String)>,
}

/// A source that clients push into.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    /// The id of its job: one that is made again knows nothing.
    pub(super) job: i64,
    /// By key, in the order of tickets.
    pub(super) records: BTreeMap<String, Vec<Known>>,
    /// What a person has erased: up to which ticket.
    pub(super) erased: BTreeMap<String, i64>,
    pub(super) runs: BTreeMap<i64, Delta>,
    pub(super) tickets: BTreeSet<i64>,
    /// The largest number of a report.
    pub(super) reported: i64,
    /// Up to this ticket it was noted who may see what.
    pub(super) noted: i64,
    /// Hashes may be forgotten: nobody heard of it.
    pub(super) perhaps_cleared: bool,
    /// Who may see records that do not say it, as it was said one time after the other.
    pub(super) defaults: Vec<Acl>,
}

/// A delta run.
#[derive(Clone, Debug)]
pub(super) struct Delta {
    pub(super) token: String,
    pub(super) is_additive: bool,
    pub(super) lease_ms: i64,
    /// The last ticket before it.
    pub(super) watermark: i64,
    /// How it stands.
    pub(super) state: String,
    /// When its client gave a sign of life last: at the earliest, and at the latest.
    pub(super) seen: (i64, i64),
    /// What it has met, for sure and perhaps.
    pub(super) met: BTreeSet<String>,
    pub(super) perhaps: BTreeSet<String>,
    /// What its client could not read: at least, and at most.
    pub(super) touched: (u64, u64),
    /// Records that it had deleted before the step.
    pub(super) deleted: u64,
    /// How it ended, as its client was told.
    pub(super) finished: Option<Finished>,
}

/// Whether a delta run is its client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lives {
    Surely,
    Perhaps,
    No,
}

impl Source {
    /// The version of a record that holds before a ticket; none where nothing is there.
    pub(super) fn before(&self, key: &str, ticket: i64) -> Option<&Known> {
        let last = self.records.get(key)?.iter().rev().find(|known| known.ticket < ticket)?;
        let is_erased = self.erased.get(key).is_some_and(|erased| last.ticket <= *erased);
        Some(last).filter(|last| last.is.is_some() && !is_erased)
    }

    /// The version of a record that was accepted last; none where nothing is there.
    pub(super) fn last(&self, key: &str) -> Option<&Known> {
        self.before(key, i64::MAX)
    }

    /// How many records are there.
    pub(super) fn count(&self) -> u64 {
        self.records.keys().filter(|key| self.last(key).is_some()).count() as u64
    }

    /// The largest number by which clients count versions of a record; none where it was deleted since.
    pub(super) fn newest(&self, key: &str) -> Option<i64> {
        let all = self.records.get(key)?;
        let is_over = |known: &Known| known.is.is_none() && known.report.is_some();
        all[all.iter().rposition(is_over).map_or(0, |at| at + 1)..]
            .iter()
            .filter_map(|known| known.version)
            .max()
    }

    pub(super) fn add(&mut self, key: &str, known: Known) -> bool {
        let is_new = self.tickets.insert(known.ticket);
        let all = self.records.entry(key.to_owned()).or_default();
        all.push(known);
        all.sort_by_key(|known| known.ticket);
        is_new
    }

    /// Who may see a version: as it says, or as the source does now.
    pub(super) fn acl<'s>(&'s self, version: &'s Version) -> Option<&'s Acl> {
        version.acl.as_ref().or(self.defaults.last())
    }

    /// Clients have to push again what they told the versions of; how many records that is.
    pub(super) fn forget_hashes(&mut self, is_of: impl Fn(&str) -> bool) -> u64 {
        let there: Vec<String> =
            self.records.keys().filter(|key| is_of(key) && self.last(key).is_some()).cloned().collect();
        let mut forgotten = 0;
        for key in &there {
            let last = self.records.get_mut(key).and_then(|all| all.last_mut()?.is.as_mut());
            forgotten += u64::from(last.is_some_and(|version| version.hash.take().is_some()));
        }
        forgotten
    }

    /// The delta run that is open.
    pub(super) fn open(&mut self) -> Option<(&i64, &mut Delta)> {
        self.runs.iter_mut().next_back().filter(|(_, run)| run.state == OPEN)
    }

    /// Records that a delta run has to delete at its end, or may: `surely` those that it did not meet for sure.
    pub(super) fn obsolete(&self, run: &Delta, surely: bool) -> Vec<&String> {
        let is_met = |key: &str| run.met.contains(key) || (surely && run.perhaps.contains(key));
        let keys = self.records.keys().filter(|key| !is_met(key));
        keys.filter(|key| self.last(key).is_some_and(|last| last.ticket <= run.watermark)).collect()
    }

    /// How many records a delta run has deleted.
    pub(super) fn deleted_by(&self, epoch: i64) -> u64 {
        let all = self.records.values().flatten();
        all.filter(|known| known.by == Some(epoch)).count() as u64
    }
}

impl Delta {
    /// Whether it is its client's in this time.
    pub(super) fn lives(&self, (from, to): (i64, i64)) -> Lives {
        match () {
            () if self.state != OPEN => Lives::No,
            () if to < self.seen.0 + self.lease_ms => Lives::Surely,
            () if from >= self.seen.1 + self.lease_ms => Lives::No,
            () => Lives::Perhaps,
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        self.state == FINISHED
    }
}

/// The records of a call that are taken or refused one by one.
pub(super) fn taken(call: &Request) -> impl Iterator<Item = &Pushed> {
    records(call).iter().filter(|record| record.is != Is::Bad)
}

/// All records of a call.
pub(super) fn records(call: &Request) -> &[Pushed] {
    match &call.ask {
        Ask::Push(records) | Ask::PushWithin(_, records) => records,
        _ => &[],
    }
}

/// `put` or `delete`.
pub(super) fn op(record: &Pushed) -> &'static str {
    if matches!(record.is, Is::There(_)) { "put" } else { "delete" }
}

impl Known {
    /// What a call asked of a record, accepted under a ticket.
    pub(super) fn of(record: &Pushed, ticket: i64) -> Known {
        let is = match &record.is {
            Is::There(version) => Some(version.clone()),
            Is::Gone | Is::Bad => None,
        };
        Known { ticket, is, version: record.version, by: None, report: None }
    }
}
