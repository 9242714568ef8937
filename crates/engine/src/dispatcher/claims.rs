//! How visitors take documents: some at once, and where a throttle or the pace of a source limits what is fetched, with the right to fetch them.

use std::sync::{Arc, Weak};

use ingather_model::limits;

use super::waiting::Refused;
use super::{Claim, Dispatcher, WorkItem};
use crate::process::throttles::{Admitted, Bin, Waits};

impl Dispatcher {
    /// How many documents a claim takes at most, of so many that wait.
    pub(super) fn claims_most(&self, waiting: usize) -> usize {
        waiting.min(if self.feed.gate.is_on() { limits::CLAIM_OF_BINS_MAX } else { limits::CLAIM_MAX })
    }

    /// Takes at most so many documents to visit; none when there is nothing any more, or the run is over or stops.
    pub(crate) fn claim(&self, most: usize) -> Option<Vec<WorkItem>> {
        let waits: Weak<dyn Waits> = Arc::downgrade(&self.state) as Weak<dyn Waits>;
        let mut state = self.lock();
        if state.closed || state.paused {
            return None;
        }
        let now = self.feed.call.steady();
        let is_on = self.feed.gate.is_on();
        let mut items = state.waiting.take_urgent(if is_on { most.min(1) } else { most });
        let all = match (is_on, state.waiting.is_binned()) {
            // Who waits for a place must not hold another one.
            (true, _) => usize::from(items.is_empty()).min(most),
            (false, true) => most.min(limits::CLAIM_OF_BINS_MAX),
            (false, false) => most,
        };
        let mut refuses = |bins: &[Bin], item: &mut WorkItem| {
            if !is_on {
                return None;
            }
            let bins = if bins.is_empty() { std::slice::from_ref(&self.feed.job) } else { bins };
            // Those that wait together are in an order of their own.
            match self.feed.gate.admit((bins, &self.first_bin_of(&item.name)), &self.feed.call, &waits) {
                Admitted::Free => None,
                Admitted::Yes(admission) => {
                    item.admission = Some(admission);
                    None
                }
                Admitted::No { bin: Some(bin), until } => Some(Refused::Bin(bin, until)),
                Admitted::No { bin: None, until } => Some(Refused::All(until)),
            }
        };
        while items.len() < all
            && let Some(item) = state.waiting.take(now, &mut refuses)
        {
            items.push(item);
        }
        // Where a host bears no more than some fetches at once, those of a claim follow each other in the place of the first one: what a claim
        // costs is not paid for each page. Those of another host are left to the next claim, so that hosts are read in turns.
        let first =
            items.first().and_then(|item| item.admission.clone()).filter(|admission| admission.goes_on());
        if let Some(admission) = first {
            let behind = |item: &WorkItem| !admission.is_of(&self.first_bin_of(&item.name));
            // Nobody takes what could be fetched in other places of the host meanwhile.
            let most = most.min(1 + state.waiting.len() / admission.at_once());
            while items.len() < most
                && let Some(mut item) =
                    state.waiting.take(now, |_, item| behind(item).then_some(Refused::ForNow))
            {
                item.admission = Some(admission.clone());
                items.push(item);
            }
        }
        if items.is_empty() {
            self.tell(state);
            return None;
        }
        self.rank.moves();
        state.claims += 1;
        state.visiting += items.len();
        let claim = Arc::new(Claim(self.state.clone()));
        items.iter_mut().for_each(|item| item.claim = Some(claim.clone()));
        self.state.notify();
        // Its last item may be dropped by whoever takes them, which locks the state.
        self.tell(state);
        Some(items)
    }

    /// Whether a document that was claimed may be fetched now; asks for the right where it has none. One that follows others in their place may
    /// not where the job rests, the place was taken long ago, or more limits its host by now.
    pub(crate) fn admits(&self, item: &mut WorkItem) -> bool {
        if let Some(admission) = &item.admission {
            return admission.is_fresh() || (!self.rests() && admission.goes_on());
        }
        if !self.feed.gate.is_on() {
            return true;
        }
        let bins = self.feed.bins_of(&item.name).unwrap_or_else(|| vec![self.feed.job.clone()]);
        let waits: Weak<dyn Waits> = Arc::downgrade(&self.state) as Weak<dyn Waits>;
        match self.feed.gate.admit((&bins, &bins[0]), &self.feed.call, &waits) {
            Admitted::Free => true,
            Admitted::Yes(admission) => {
                item.admission = Some(admission);
                true
            }
            Admitted::No { .. } => false,
        }
    }

    /// Whether anything may limit what is fetched.
    pub(crate) fn is_throttled(&self) -> bool {
        self.feed.gate.is_on()
    }
}
