//! A place where threads wait until a test lets them pass, so that two runs meet in one order and no other.

use std::sync::Arc;

use ingather_store::turns::Monitor;

/// A gate; clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<Monitor<State>>);

/// See [`Gate::opens_at_the_end`].
pub struct OpensAtTheEnd(Gate);

impl Drop for OpensAtTheEnd {
    fn drop(&mut self) {
        self.0.open();
    }
}

#[derive(Debug, Default)]
struct State {
    open: bool,
    arrived: usize,
}

impl Gate {
    /// Waits until it is open.
    pub fn pass(&self) {
        let mut state = self.0.lock();
        state.arrived += 1;
        self.0.notify();
        drop(self.0.wait_while(state, |state| !state.open));
    }

    /// Waits until somebody has come to it.
    pub fn wait_for_somebody(&self) {
        self.wait_for(1);
    }

    /// Waits until so many have come to it.
    pub fn wait_for(&self, count: usize) {
        drop(self.0.wait_while(self.0.lock(), |state| state.arrived < count));
    }

    /// How many have come to it.
    pub fn arrived(&self) -> usize {
        self.0.lock().arrived
    }

    /// Opens it when the answer is dropped: a test that fails before must not leave threads waiting.
    pub fn opens_at_the_end(&self) -> OpensAtTheEnd {
        OpensAtTheEnd(self.clone())
    }

    /// Lets everybody pass from now on.
    pub fn open(&self) {
        self.0.lock().open = true;
        self.0.notify();
    }
}
