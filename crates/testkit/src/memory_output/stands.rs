//! Where an output in memory stands, for whoever compares it with the inventory.

use ingather_contract::output::Generation;

use super::{Commit, Shelf};

impl Shelf {
    /// Where it stands; `told`: it has no commits, and judges by what it was told.
    pub fn generation(&self, told: bool) -> Generation {
        let Commit { identity, number, seq, session, .. } = self.committed;
        let (number, seq) = if told { (self.seq, self.seq) } else { (number, seq) };
        let identity = if told && seq == 0 { String::new() } else { format!("shelf {identity}") };
        Generation { identity, number, seq, session }
    }
}
