//! How long transactions that write have taken, for whoever watches a service: while one is under way, all others wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ingather_model::limits;

/// Counters of one store, from its opening on.
#[derive(Default)]
pub(crate) struct WriteTimes {
    all: AtomicU64,
    slow: AtomicU64,
    longest_us: AtomicU64,
}

/// What they say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// Transactions that have ended, in whatever way.
    pub all: u64,
    /// Those of them that took longer than [`limits::STORE_WRITE_SLOW_MS`].
    pub slow: u64,
    /// The longest of them.
    pub longest: Duration,
}

/// A transaction under way; counted when it is dropped.
pub(super) struct Timed<'t> {
    times: &'t WriteTimes,
    begun: Instant,
}

impl WriteTimes {
    /// One begins now, after it has waited for those before it.
    pub(super) fn begin(&self) -> Timed<'_> {
        // clock: nothing is decided by it.
        Timed { times: self, begun: Instant::now() }
    }

    pub(super) fn read(&self) -> Writes {
        Writes {
            all: self.all.load(Ordering::Relaxed),
            slow: self.slow.load(Ordering::Relaxed),
            longest: Duration::from_micros(self.longest_us.load(Ordering::Relaxed)),
        }
    }

    fn note(&self, took: Duration) {
        self.all.fetch_add(1, Ordering::Relaxed);
        if took > Duration::from_millis(limits::STORE_WRITE_SLOW_MS) {
            self.slow.fetch_add(1, Ordering::Relaxed);
        }
        self.longest_us.fetch_max(took.as_micros() as u64, Ordering::Relaxed);
    }
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        self.times.note(self.begun.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_beyond_the_bound_is_slow_and_the_longest_is_kept() {
        let times = WriteTimes::default();
        let bound = Duration::from_millis(limits::STORE_WRITE_SLOW_MS);
        for took in [bound, bound * 3, bound / 2] {
            times.note(took);
        }
        assert_eq!(times.read(), Writes { all: 3, slow: 1, longest: bound * 3 });
    }
}
