//! A place where threads wait until a test lets them pass, so that two runs meet in one order and no other.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A gate; clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Shared>);

/// See [`Gate::opens_at_the_end`].
pub struct OpensAtTheEnd(Gate);

impl Drop for OpensAtTheEnd {
    fn drop(&mut self) {
        self.0.open();
    }
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    arrived: usize,
}

impl Gate {
    /// Waits until it is open.
    pub fn pass(&self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.arrived += 1;
        self.0.changed.notify_all();
        drop(self.0.changed.wait_while(state, |state| !state.open));
    }

    /// Waits until somebody has come to it.
    pub fn wait_for_somebody(&self) {
        let state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.0.changed.wait_while(state, |state| state.arrived == 0));
    }

    /// Opens it when the answer is dropped: a test that fails before must not leave threads waiting.
    pub fn opens_at_the_end(&self) -> OpensAtTheEnd {
        OpensAtTheEnd(self.clone())
    }

    /// Lets everybody pass from now on.
    pub fn open(&self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).open = true;
        self.0.changed.notify_all();
    }
}
