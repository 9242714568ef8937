//! What the opening before has left in a stream behind what was confirmed: entries that are in it, and that nobody needs to send again.

use std::collections::HashMap;

use super::message::{Item, Noted, Told};

/// What the last of these messages at each address did.
#[derive(Default)]
pub(super) struct Tail {
    last: HashMap<i64, Told>,
}

impl Tail {
    /// Takes a message in that is older than all that were taken in before.
    pub(super) fn take_older(&mut self, noted: Noted) {
        if let Some(address) = noted.told.address {
            self.last.entry(address).or_insert(noted.told);
        }
    }

    /// Takes a message in that is newer than all that were taken in before.
    pub(super) fn take_newer(&mut self, noted: Noted) {
        if let Some(address) = noted.told.address {
            self.last.insert(address, noted.told);
        }
    }

    /// Whether just this was done last at its address, so that it is in the stream.
    pub(super) fn has(&self, item: &Item) -> bool {
        item.told.address.is_some_and(|address| self.last.get(&address) == Some(&item.told))
    }

    /// Something else is done at its address now; or it is known to be done, and is done anew when it comes once more.
    pub(super) fn forget(&mut self, item: &Item) {
        if let Some(address) = item.told.address {
            self.last.remove(&address);
        }
    }
}
