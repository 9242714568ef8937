//! What goes wrong with single changes of an output in memory.

use ingather_model::fault::Fault;

use super::Shelf;

/// What goes wrong with changes whose id contains `name`.
#[derive(Clone, Debug)]
pub struct InjectedFault {
    /// Part of the id; empty for every one.
    pub name: String,
    /// The answer.
    pub fault: Fault,
    /// How often.
    pub times: u32,
    /// What happens to the change all the same.
    pub effect: Effect,
}

/// What a change that was not acknowledged does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// It takes effect.
    AtOnce,
    /// It takes effect before the next batch, unless a newer one came for its address.
    Late,
    /// It is answered as taken, and whoever follows the output lacks it, until all is put right.
    Missed,
}

impl Shelf {
    /// It does all that it is asked for, at once.
    pub(crate) fn is_sound(&self) -> bool {
        let is_calm = self.short_answers == 0 && self.failing_commits == 0 && self.forgets_after.is_none();
        let is_there = !self.is_away && !self.is_damaged;
        is_calm && self.late.is_empty() && is_there && self.faults.iter().all(|fault| fault.times == 0)
    }
}
