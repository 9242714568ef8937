//! Where an output in memory stands, for whoever compares it with the inventory.

use std::sync::{Arc, Mutex};

use ingather_contract::output::Generation;

use super::{Commit, Shelf};

impl Shelf {
    /// One whose identity no other output of its world has, however often they are replaced.
    pub(super) fn of_name(name: &str) -> Arc<Mutex<Shelf>> {
        let number = name.bytes().fold(1_u64, |sum, byte| sum.wrapping_mul(257).wrapping_add(byte.into()));
        let mut shelf = Shelf::default();
        for commit in [&mut shelf.committed, &mut shelf.earlier] {
            commit.identity = (number % (1 << 32)) << 24;
        }
        Arc::new(Mutex::new(shelf))
    }

    /// Where it stands; `told`: it has no commits, and judges by what it was told.
    pub fn generation(&self, told: bool) -> Generation {
        let Commit { identity, number, seq, session, .. } = self.committed;
        let (number, seq) = if told { (self.seq, self.seq) } else { (number, seq) };
        let identity = if told && seq == 0 { String::new() } else { format!("shelf {identity}") };
        Generation { identity, number, seq, session }
    }
}
