//! How threads of the service hear that something has changed.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::{locked, refuse_stopped};

/// Tells whoever looks at schedules that they or jobs may have changed.
#[derive(Default)]
pub(crate) struct Changes {
    changed: Mutex<bool>,
    told: Condvar,
}

impl Changes {
    /// Something has changed.
    pub(crate) fn tell(&self) {
        *locked(&self.changed) = true;
        self.told.notify_all();
    }

    /// Waits so long, whatever changes meanwhile, but for the end of the program.
    pub(super) fn rest(&self, time: Duration) {
        let goes_on = |_: &mut bool| refuse_stopped().is_ok();
        let rested = self.told.wait_timeout_while(locked(&self.changed), time, goes_on);
        drop(rested.unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits for a change, at most `longest`.
    pub(crate) fn wait(&self, longest: Duration) {
        let changed = self.told.wait_timeout_while(locked(&self.changed), longest, |changed| !*changed);
        *changed.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}
