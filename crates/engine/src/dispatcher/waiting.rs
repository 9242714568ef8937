//! The documents of one run that wait for its visitors, in the order in which they are taken.

use std::collections::VecDeque;

use ingather_model::fairness::{Answer, Full, Limits, NEVER, Queue};
use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::queue::VisitReason;

use super::WorkItem;
use crate::process::throttles::Bin;

/// Documents of a run differ by their bins alone; between jobs it is their priority that decides, where their visitors wait.
const EQUAL: u8 = 5;
/// For a failpoint.
const AHEAD: u8 = 0;

/// Where the documents of a source come that names bins.
const BINNED: Limits = Limits { items: usize::MAX, bins: limits::READY_MAX * limits::BINS_OF_A_DOCUMENT_MAX };

/// What waits. Documents of a source without bins are one line, which costs no more than that.
#[derive(Default)]
pub(super) struct Waiting {
    /// Changes of access, ahead of all else.
    urgent: VecDeque<WorkItem>,
    ready: VecDeque<WorkItem>,
    binned: Option<Queue<Bin, WorkItem>>,
    /// Nothing but what is urgent is fetched before this time; [`NEVER`]: before another fetch is over.
    parked_until: i64,
}

/// Why a document is not taken now: until when its bin is parked, or all of them; or nobody takes it with what he has taken.
pub(super) enum Refused {
    Bin(Bin, i64),
    All(i64),
    ForNow,
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.urgent.len() + self.ready.len() + self.binned.as_ref().map_or(0, Queue::len)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts a document at the end of its line; `bins`: none where the source names none.
    pub(super) fn push(&mut self, item: WorkItem, bins: Option<Vec<Bin>>) {
        if item.reason == VisitReason::Access {
            self.urgent.push_back(item);
            return;
        }
        let Some(bins) = bins else {
            self.ready.push_back(item);
            return;
        };
        let binned = self.binned.get_or_insert_with(|| Queue::new(BINNED));
        let is_late = failpoint(Failpoint::LateBinGetsCredit)
            && !(binned.is_empty() || bins.iter().any(|bin| binned.has(EQUAL, bin)));
        if let Err(Full(item)) = binned.push(if is_late { AHEAD } else { EQUAL }, &bins, item) {
            // More names of bins than there can be documents: this one waits with those that have none.
            self.ready.push_back(item);
        }
    }

    /// Takes changes of access, at most so many.
    pub(super) fn take_urgent(&mut self, most: usize) -> Vec<WorkItem> {
        let count = self.urgent.len().min(most);
        self.urgent.drain(..count).collect()
    }

    /// Takes the document that is next; `refuses` says of one, by its bins, that it is not taken now.
    pub(super) fn take(
        &mut self,
        now: i64,
        mut refuses: impl FnMut(&[Bin], &mut WorkItem) -> Option<Refused>,
    ) -> Option<WorkItem> {
        if now < self.parked_until {
            return None;
        }
        self.parked_until = 0;
        if let Some(item) = self.ready.front_mut() {
            match refuses(&[], item) {
                None => return self.ready.pop_front(),
                Some(Refused::Bin(_, until) | Refused::All(until)) => self.parked_until = until,
                Some(Refused::ForNow) => {}
            }
            return None;
        }
        let (binned, parked_until) = (self.binned.as_mut()?, &mut self.parked_until);
        let taken = binned.pop_when(now, |bins, item| match refuses(bins, item) {
            None => Answer::Takes,
            Some(Refused::Bin(bin, until)) if !failpoint(Failpoint::ParkedBinBlocks) => {
                Answer::Parks(bin, until)
            }
            Some(Refused::ForNow) => Answer::Stops,
            Some(Refused::Bin(_, until) | Refused::All(until)) => {
                *parked_until = until;
                Answer::Stops
            }
        });
        taken.map(|taken| taken.item)
    }

    /// A fetch of these bins is over.
    pub(super) fn freed(&mut self, bins: &[Bin]) {
        self.parked_until = 0;
        let binned = self.binned.as_mut();
        binned.into_iter().for_each(|binned| bins.iter().for_each(|bin| _ = binned.park(bin, 0)));
    }

    /// Whether something may be taken at this time.
    pub(super) fn stirs(&self, now: i64) -> bool {
        let fetches =
            || !self.ready.is_empty() || self.binned.as_ref().is_some_and(|binned| binned.stirs(now));
        !self.urgent.is_empty() || (now >= self.parked_until && fetches())
    }

    /// When something may be taken next that is parked: [`NEVER`] before another fetch is over; none where nothing waits, or not for that.
    pub(super) fn wakes_at(&self, now: i64) -> Option<i64> {
        if self.is_empty() || self.stirs(now) {
            return None;
        }
        let wake = self.binned.as_ref().and_then(Queue::next_wake).unwrap_or(NEVER);
        Some(if now < self.parked_until { self.parked_until } else { wake })
    }

    /// Whether the source names bins.
    pub(super) fn is_binned(&self) -> bool {
        self.binned.is_some()
    }
}
