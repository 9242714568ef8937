//! What every call is given: a clock that can be moved by hand, and a flag that asks it to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Time, handed in so that tests and the simulator move it by hand.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970 UTC.
    fn now(&self) -> i64;

    /// Somebody is about to wait for this time; a clock that is moved by hand may go there at once.
    fn awaited(&self, _until: i64) {}
}

/// A flag that asks long calls to stop; shared by all clones.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks everybody who holds this flag to stop at the next safe place.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether to stop.
    pub fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The surroundings of a call.
#[derive(Clone)]
pub struct Call {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Whether to stop.
    pub cancel: Cancel,
}

impl Call {
    /// The time, milliseconds since 1970 UTC.
    pub fn now(&self) -> i64 {
        self.clock.now()
    }
}
