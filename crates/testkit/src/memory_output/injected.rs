//! What goes wrong with single changes of an output in memory.

use ingather_model::fault::Fault;
use ingather_model::lifecycle::outcome::FaultCode;

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
    /// Nothing goes wrong from now on; what was late has arrived.
    pub fn heal(&mut self) {
        if self.commits {
            // Nobody has it open, and what was not committed is lost.
            self.late.clear();
        }
        self.take_late();
        self.take_missed();
        self.faults.clear();
        (self.short_answers, self.double_answers, self.failing_commits, self.slow_ms) = (0, 0, 0, 0);
        (self.forgets_after, self.is_away, self.is_damaged) = (None, false, false);
    }

    /// Why it cannot be opened, if it cannot.
    pub(super) fn opening_fault(&self) -> Option<Fault> {
        match (self.is_away, self.is_damaged) {
            (true, _) => Some(Fault::passing("away", "it is not there")),
            (_, true) => Some(Fault::broken(FaultCode::IndexDamaged.as_str(), "its files are damaged")),
            _ => None,
        }
    }

    /// It does all that it is asked for, at once.
    pub(crate) fn is_sound(&self) -> bool {
        let is_calm = self.short_answers == 0 && self.failing_commits == 0 && self.forgets_after.is_none();
        let is_there = !self.is_away && !self.is_damaged;
        is_calm && self.late.is_empty() && is_there && self.faults.iter().all(|fault| fault.times == 0)
    }
}
