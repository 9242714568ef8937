//! Events in memory, for visits that no run makes; see `ingather_contract::events`.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use ingather_contract::events::{EventName, Events};
use ingather_model::fault::Fault;

/// Events that are pending.
#[derive(Debug, Default)]
pub struct MemoryEvents {
    pending: Mutex<BTreeSet<EventName>>,
    /// Events that were completed and not pending: whoever did so does not own them.
    misused: Mutex<Vec<EventName>>,
}

impl MemoryEvents {
    /// Whether none of these is pending.
    pub fn are_completed(&self, names: &[EventName]) -> bool {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        names.iter().all(|name| !pending.contains(name))
    }

    /// What owners have left behind: events that are pending still, and those that were completed by who did not own them.
    pub fn left(&self) -> Vec<EventName> {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let misused = self.misused.lock().unwrap_or_else(PoisonError::into_inner);
        pending.iter().chain(misused.iter()).cloned().collect()
    }
}

impl Events for MemoryEvents {
    fn begin(&self, name: &EventName) -> Result<bool, Fault> {
        Ok(self.pending.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone()))
    }

    fn complete(&self, name: &EventName) -> Result<(), Fault> {
        if !self.pending.lock().unwrap_or_else(PoisonError::into_inner).remove(name) {
            self.misused.lock().unwrap_or_else(PoisonError::into_inner).push(name.clone());
        }
        Ok(())
    }
}
