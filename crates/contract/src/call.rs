//! What every call is given: a clock that can be moved by hand, and a flag that asks it to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Time, handed in so that tests and the simulator move it by hand.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970 UTC.
    fn now(&self) -> i64;

    /// Milliseconds of a clock that is never put back, and that goes on while the machine sleeps: for how long ago something was.
    fn steady(&self) -> i64 {
        self.now()
    }

    /// Somebody is about to wait for this time; a clock that is moved by hand may go there at once.
    fn awaited(&self, _until: i64) {}
}

/// A flag that asks long calls to stop; shared by all clones.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    asked: Arc<AtomicBool>,
    /// The whole that this is a part of.
    whole: Option<Arc<Cancel>>,
}

impl Cancel {
    /// A flag for a part of the work: asked to stop, the part stops alone; when the whole is asked, it stops as well.
    pub fn part(&self) -> Cancel {
        Cancel { asked: Arc::default(), whole: Some(Arc::new(self.clone())) }
    }

    /// Asks everybody who holds this flag, or one of a part, to stop at the next safe place.
    pub fn cancel(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    pub fn cancelled(&self) -> bool {
        self.asked.load(Ordering::Relaxed) || self.whole.as_ref().is_some_and(|whole| whole.cancelled())
    }
}

/// What a call is made in: the time, and whether to stop.
#[derive(Clone)]
pub struct CallContext {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Whether to stop.
    pub cancel: Cancel,
}

impl CallContext {
    /// The time, milliseconds since 1970 UTC.
    pub fn now(&self) -> i64 {
        self.clock.now()
    }

    /// As in [`Clock::steady`].
    pub fn steady(&self) -> i64 {
        self.clock.steady()
    }
}

#[cfg(test)]
mod tests {
    use super::Cancel;

    #[test]
    fn a_part_stops_alone_and_with_the_whole() {
        let whole = Cancel::default();
        let (one, other) = (whole.part(), whole.part());
        one.clone().cancel();
        assert_eq!([&whole, &one, &other].map(Cancel::cancelled), [false, true, false]);
        whole.cancel();
        assert_eq!([&whole, &one, &other].map(Cancel::cancelled), [true; 3]);
    }
}
