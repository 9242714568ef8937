//! Bounds the bytes of text that wait for the indexing threads, whatever the size of a document.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longest wait for room; the indexing threads are stuck or dead when it passes.
const WAIT_MAX: Duration = Duration::from_secs(120);

/// How many bytes are on their way.
#[derive(Clone)]
pub(crate) struct ByteBudget(Arc<Inner>);

struct Inner {
    max: usize,
    bytes: Mutex<usize>,
    freed: Condvar,
}

/// A share of the bytes; given back when dropped.
pub(crate) struct Load {
    byte_budget: ByteBudget,
    bytes: usize,
}

impl ByteBudget {
    /// Lets at most `max` bytes wait; one larger document passes alone.
    pub(crate) fn new(max: usize) -> ByteBudget {
        ByteBudget(Arc::new(Inner { max, bytes: Mutex::new(0), freed: Condvar::new() }))
    }

    fn bytes(&self) -> MutexGuard<'_, usize> {
        self.0.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for room; none when there was none for very long.
    pub(crate) fn load(&self, bytes: usize) -> Option<Load> {
        let full = |used: &mut usize| *used > 0 && used.saturating_add(bytes) > self.0.max;
        let (mut used, waited) = self
            .0
            .freed
            .wait_timeout_while(self.bytes(), WAIT_MAX, full)
            .unwrap_or_else(PoisonError::into_inner);
        if waited.timed_out() {
            return None;
        }
        *used += bytes;
        Some(Load { byte_budget: self.clone(), bytes })
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        *self.byte_budget.bytes() -= self.bytes;
        self.byte_budget.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_waits_until_there_is_room() {
        let byte_budget = ByteBudget::new(10);
        let first = byte_budget.load(25).unwrap();
        let waiting = byte_budget.clone();
        let second = std::thread::spawn(move || waiting.load(5).map(|load| load.bytes));
        drop(first);
        assert_eq!(second.join().unwrap(), Some(5));
        assert_eq!(*byte_budget.bytes(), 0, "everything was given back");
    }
}
