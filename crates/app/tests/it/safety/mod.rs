//! What the program does with input and surroundings that cannot be trusted (`docs/manual/security.md`).

mod beside;
pub(crate) mod certificates;
mod fuse;
mod fuzz;
mod histories;
mod images;
mod journal;
mod lost_lines;
mod meanwhile;
mod modes;
pub(crate) mod mounts;
mod readers;
pub(crate) mod secrets;
mod servers;
mod terminal;
mod tokens;
mod unlooked;
mod unseen;

use std::sync::atomic::{AtomicBool, Ordering};

/// Ends what another thread goes on with, also when its own thread panics.
struct Over<'o>(&'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
