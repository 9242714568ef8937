//! What a follower of an output lacks: lines that it missed, until it takes them.

use std::mem;

use ingather_contract::output::Says;

use super::Shelf;

impl Shelf {
    /// Whoever follows it takes all that was missed, in its order.
    pub(super) fn take_missed(&mut self) {
        for change in mem::take(&mut self.missed).into_values().flatten() {
            // Nobody waits for this answer any more.
            let _ = self.take(&change);
        }
    }

    /// What was missed is shown by no folder that opens: nothing is written behind lines that were lost in a run, and the next
    /// run says what it follows (decision 0015). An `access` line that comes before has the version alone to go by.
    fn hide_missed(&mut self) {
        for id in self.missed.keys() {
            if let Some(entry) = self.entries.get_mut(id) {
                (entry.acl_id, entry.container) = (None, None);
            }
        }
    }

    /// A statement comes in.
    pub(super) fn hear(&mut self, says: &Says) {
        if matches!(says, Says::Container { .. }) {
            self.hide_missed();
        }
        match self.rules.hear(says) {
            Ok(false) => {}
            Ok(true) => {
                self.entries.clear();
                self.missed.clear();
                self.emptied += 1;
            }
            Err(violation) => self.violations.push(violation),
        }
    }
}
