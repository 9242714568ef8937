//! A clock that is moved by hand; whoever waits for a time finds that it has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ingather_contract::call::Clock;

/// Clones show the same time.
#[derive(Clone, Debug)]
pub struct HandClock(Arc<AtomicI64>);

impl HandClock {
    /// A clock that shows `now`, milliseconds since 1970 UTC.
    pub fn at(now: i64) -> HandClock {
        HandClock(Arc::new(AtomicI64::new(now)))
    }

    /// Lets time pass, milliseconds.
    pub fn pass(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn awaited(&self, until: i64) {
        self.0.fetch_max(until, Ordering::SeqCst);
    }
}

/// A runtime whose clock jumps to the next time that somebody waits for, once nobody has anything else to do.
///
/// # Panics
/// When the system gives none.
#[must_use]
pub fn jumping() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().expect("a runtime")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_moves_when_it_is_told_and_when_somebody_waits_and_never_back() {
        let clock = HandClock::at(5);
        clock.pass(3);
        assert_eq!(clock.clone().now(), 8);
        clock.awaited(20);
        clock.awaited(10);
        assert_eq!(clock.now(), 20);
    }
}
