//! How many threads of a process visit at once, whatever the number of its runs, and whose are first.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use ingather_model::job::Priority;
use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::turns::Monitor;

/// The threads that visit. One of each run may always: no run waits for the source or the outputs of another one. All others share so many
/// permits as the process has threads beside one, so that a run that is alone has all of them, and ten runs have not ten times as many.
///
/// Where runs differ by their priority, nobody takes documents while a better one has some that it could take; unless it takes none for
/// [`limits::PRIORITY_STALL_MS`], for its source may hang.
pub(crate) struct Visitors {
    shared: Monitor<Shared>,
    /// Whether runs differ by their priority: nothing is compared while they do not.
    differ: AtomicBool,
    /// For how long one that takes nothing holds up those behind it.
    stall: Duration,
}

impl Default for Visitors {
    fn default() -> Visitors {
        let stall = Duration::from_millis(limits::PRIORITY_STALL_MS);
        Visitors { shared: Monitor::default(), differ: AtomicBool::default(), stall }
    }
}

#[derive(Default)]
struct Shared {
    busy: usize,
    runs: Vec<Weak<Rank>>,
}

/// The rank of a run among those of its process.
pub(crate) struct Rank {
    priority: Priority,
    /// It has documents that it could take.
    wants: AtomicBool,
    /// Claims that it has taken and handed over.
    moves: AtomicU64,
}

impl Rank {
    /// Whether it has documents that it could take; true when it had and has not.
    pub(crate) fn wants(&self, wants: bool) -> bool {
        self.wants.swap(wants, Ordering::Relaxed) && !wants
    }

    /// It goes on.
    pub(crate) fn moves(&self) {
        self.moves.fetch_add(1, Ordering::Relaxed);
    }

    fn is_before(&self, other: &Rank) -> bool {
        match failpoint(Failpoint::PriorityInverted) {
            true => self.priority > other.priority,
            false => self.priority < other.priority,
        }
    }
}

impl Shared {
    /// How far those have come that go before this one and could go on; none where there are none.
    fn ahead_of(&self, rank: &Rank) -> Option<u64> {
        let before = self.runs.iter().filter_map(Weak::upgrade);
        let before = before.filter(|run| run.wants.load(Ordering::Relaxed) && run.is_before(rank));
        before.map(|run| run.moves.load(Ordering::Relaxed)).reduce(u64::wrapping_add)
    }
}

/// The right to visit; given back when it is dropped, and while [`Permit::rest`] waits.
pub(crate) struct Permit {
    visitors: Arc<Visitors>,
    rank: Arc<Rank>,
    /// How many may share; none for the one of a run that needs no permit.
    most: Option<usize>,
    has: bool,
}

impl Visitors {
    /// A run of this priority is there, as long as the answer lives.
    pub(crate) fn enter(&self, priority: Priority) -> Arc<Rank> {
        let rank = Arc::new(Rank { priority, wants: AtomicBool::new(false), moves: AtomicU64::new(0) });
        let mut shared = self.shared.lock();
        shared.runs.retain(|run| run.strong_count() > 0);
        shared.runs.push(Arc::downgrade(&rank));
        let differ = shared.runs.iter().filter_map(Weak::upgrade).any(|run| run.priority != priority);
        // Set back only when another run comes: until then a look at the list is all that it costs.
        self.differ.store(differ, Ordering::Relaxed);
        rank
    }

    /// Whoever waits for a permit looks whether it is still wanted.
    pub(crate) fn notify(&self) {
        // Whoever is about to wait has looked before this, or sees what has changed.
        drop(self.shared.lock());
        self.shared.notify();
    }
}

impl Permit {
    /// A permit of a run that is not taken yet, one of `most`.
    pub(crate) fn new(visitors: &Arc<Visitors>, rank: &Arc<Rank>, most: Option<usize>) -> Permit {
        Permit { visitors: visitors.clone(), rank: rank.clone(), most, has: false }
    }

    /// That of its run.
    pub(crate) fn priority(&self) -> Priority {
        self.rank.priority
    }

    /// Waits for it, and for those who go before, unless `is_over` says that it is not wanted any more.
    pub(crate) fn take(&mut self, is_over: impl Fn() -> bool) {
        let most = self.most.filter(|_| !self.has);
        if most.is_none() && !self.visitors.differ.load(Ordering::Relaxed) {
            return;
        }
        let shared = &self.visitors.shared;
        let full = |shared: &Shared| most.is_some_and(|most| shared.busy >= most);
        let mut state = shared.lock();
        // How far those before it had come when they had not moved for long.
        let mut stands = None;
        while !is_over() {
            let ahead = state.ahead_of(&self.rank);
            let waits = ahead.filter(|ahead| stands != Some(*ahead));
            if let Some(moves) = waits {
                let as_before = |state: &mut Shared| !is_over() && state.ahead_of(&self.rank) == Some(moves);
                let over;
                (state, over) = shared.wait_at_most(state, self.visitors.stall, as_before);
                stands = over.then_some(moves);
            } else if full(&state) {
                state = shared.wait_while(state, |state| {
                    full(state) && !is_over() && state.ahead_of(&self.rank) == ahead
                });
            } else {
                break;
            }
        }
        if let Some(most) = most
            && state.busy < most
        {
            state.busy += 1;
            self.has = true;
        }
    }

    /// Gives it back.
    pub(crate) fn give_back(&mut self) {
        if std::mem::take(&mut self.has) {
            self.visitors.shared.lock().busy -= 1;
            self.visitors.shared.notify();
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn so_many_have_a_permit_at_once_as_there_are_and_one_of_each_run_needs_none() {
        let visitors = Arc::new(Visitors::default());
        let run = visitors.enter(Priority::default());
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let mut permit = Permit::new(&visitors, &run, Some(3));
                        permit.take(|| false);
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        now.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 3);
        let all: Vec<Permit> = (0..3)
            .map(|_| {
                let mut permit = Permit::new(&visitors, &run, Some(3));
                permit.take(|| false);
                permit
            })
            .collect();
        let mut another = Permit::new(&visitors, &run, Some(3));
        another.take(|| true);
        assert!(!another.has, "there are three");
        Permit::new(&visitors, &run, None).take(|| false);
        drop(all);
        assert_eq!(visitors.shared.lock().busy, 0);
    }

    /// A better run whose source hangs holds up no other one for good; as long as it goes on it does.
    #[test]
    fn a_run_of_a_better_priority_that_takes_nothing_holds_up_nobody_for_long() {
        let stall = Duration::from_millis(50);
        let visitors = Arc::new(Visitors { stall, ..Visitors::default() });
        let (better, worse) =
            (visitors.enter(Priority::try_from(1).unwrap()), visitors.enter(Priority::default()));
        better.wants(true);
        let begun = std::time::Instant::now(); // clock: how long it took
        Permit::new(&visitors, &worse, None).take(|| false);
        assert!(begun.elapsed() >= stall, "it goes first as long as it may still go on");

        let (moves, taken) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                Permit::new(&visitors, &worse, None).take(|| false);
                taken.store(true, Ordering::SeqCst);
            });
            // For four times as long as it may stand still it moves all the time, as far as this thread gets to it.
            let begun = std::time::Instant::now(); // clock: as above
            let (mut moved, mut longest) = (begun, stall / 50);
            while begun.elapsed() < 4 * stall && !taken.load(Ordering::SeqCst) {
                better.moves();
                visitors.notify();
                moves.fetch_add(1, Ordering::SeqCst);
                longest = longest.max(moved.elapsed());
                moved = std::time::Instant::now(); // clock: as above
                std::thread::yield_now();
            }
            let was_first = taken.load(Ordering::SeqCst);
            assert!(!was_first || longest >= stall / 2, "{moves:?} moves, {longest:?} apart at most");
            better.wants(false);
            visitors.notify();
        });
        assert!(taken.load(Ordering::SeqCst));
    }
}
