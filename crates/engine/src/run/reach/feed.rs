//! What is still to be visited of a run that follows links, handed to its dispatcher in turns of bins: of each bin so much that its
//! visitors never wait, and never so much that one bin keeps the others out.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::Ordering;
use std::time::Duration;

use ingather_model::limits;
use roaring::RoaringTreemap;

use super::Reach;
use super::passing::pass_on;
use crate::error::Result;
use crate::process::throttles::Bin;
use crate::run::Run;
use crate::run::recall::recall;

/// Documents that were reached and not handed over yet, by their first bin: an id each, however many they are.
#[derive(Default)]
pub(super) struct Frontier {
    /// All documents are in one bin, which keeps nobody out.
    is_of_one_bin: bool,
    bins: HashMap<Bin, Waiting>,
    /// Bins that have documents, and few of them with the dispatcher.
    hungry: VecDeque<Bin>,
    is_hungry: HashSet<Bin>,
    /// Which bin counts a document that the dispatcher has.
    handed: HashMap<i64, Bin>,
}

#[derive(Default)]
struct Waiting {
    ids: RoaringTreemap,
    /// How many the dispatcher has, and no visitor has taken.
    handed: usize,
}

impl Frontier {
    pub(super) fn new(is_of_one_bin: bool) -> Frontier {
        Frontier { is_of_one_bin, ..Frontier::default() }
    }

    /// A document is to be visited.
    pub(super) fn add(&mut self, bin: Bin, id: i64) {
        self.bins.entry(bin.clone()).or_default().ids.insert(id as u64);
        self.look(&bin);
    }

    /// Whether a document waits here.
    pub(super) fn has(&self, id: i64) -> bool {
        self.bins.values().any(|waiting| waiting.ids.contains(id as u64))
    }

    /// Documents of one bin are to be visited.
    pub(super) fn add_all(&mut self, bin: &Bin, ids: &RoaringTreemap) {
        self.bins.entry(bin.clone()).or_default().ids |= ids;
        self.look(bin);
    }

    /// How many documents of one bin the dispatcher has at most.
    fn quota(&self) -> usize {
        let share = limits::READY_MAX / 2 / self.bins.len().max(1);
        if self.is_of_one_bin { share } else { share.clamp(2, limits::CLAIM_MAX) }
    }

    fn look(&mut self, bin: &Bin) {
        let quota = self.quota();
        let wants =
            self.bins.get(bin).is_some_and(|waiting| waiting.handed * 2 <= quota && !waiting.ids.is_empty());
        if wants && self.is_hungry.insert(bin.clone()) {
            self.hungry.push_back(bin.clone());
        }
    }

    /// Whether something could be handed over.
    pub(super) fn stirs(&self) -> bool {
        !self.hungry.is_empty()
    }

    /// Documents to hand over, at most so many, some of each bin.
    fn next(&mut self, most: usize) -> Vec<i64> {
        let (mut ids, quota) = (Vec::new(), self.quota());
        while ids.len() < most {
            let Some(bin) = self.hungry.pop_front() else { break };
            self.is_hungry.remove(&bin);
            let Some(waiting) = self.bins.get_mut(&bin) else { continue };
            let count = quota.saturating_sub(waiting.handed).min(most - ids.len());
            let of_bin: Vec<u64> = waiting.ids.iter().take(count).collect();
            waiting.handed += of_bin.len();
            for id in of_bin {
                waiting.ids.remove(id);
                self.handed.insert(id as i64, bin.clone());
                ids.push(id as i64);
            }
            self.look(&bin);
        }
        ids
    }

    /// A visitor has taken a document, or nobody wants it any more.
    pub(super) fn taken(&mut self, id: i64) {
        let Some(bin) = self.handed.remove(&id) else { return };
        if let Some(waiting) = self.bins.get_mut(&bin) {
            waiting.handed -= 1;
        }
        self.look(&bin);
    }
}

impl Reach {
    fn next(&self, most: usize) -> Vec<i64> {
        let mut state = self.lock();
        let ids = state.frontier.next(most);
        self.look(&state);
        ids
    }

    /// Nobody wants them any more.
    fn given_up(&self, ids: impl Iterator<Item = i64>) {
        let mut state = self.lock();
        ids.for_each(|id| {
            state.frontier.taken(id);
            state.outstanding.remove(id as u64);
        });
        self.look(&state);
    }

    pub(crate) fn stirs(&self) -> bool {
        self.stirs.load(Ordering::Acquire)
    }

    /// Whether something could be handed over, whatever links are still to be followed as they were kept.
    fn hands_over(&self) -> bool {
        self.hands_over.load(Ordering::Acquire)
    }
}

/// Hands over what was reached. `to_the_end`: until nothing is left to visit, and nothing is being visited that could lead to more.
pub(crate) fn feed(run: &Run, reach: &Reach, to_the_end: bool) -> Result<()> {
    let longest = Duration::from_millis(limits::DRAIN_LOOK_MS);
    while !run.stops() {
        let ids = reach.next(limits::CLAIM_MAX);
        if !ids.is_empty() {
            let handed: HashSet<i64> = recall(run, &ids)?.into_iter().collect();
            reach.given_up(ids.into_iter().filter(|id| !handed.contains(id)));
            continue;
        }
        if to_the_end {
            run.notify_outputs();
        }
        // Whoever visits something tells what it led to before its claim is over. Then what rests leads on: before, others may name what it leads
        // to with their versions.
        let is_idle = !to_the_end || run.dispatcher.wait_fed(longest, || reach.hands_over());
        if is_idle && !reach.hands_over() && !pass_on(run, reach)? {
            break;
        }
    }
    Ok(())
}
