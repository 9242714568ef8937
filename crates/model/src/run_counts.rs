//! The counts of a run: every document seen is counted once (design 5.1).

use serde::{Deserialize, Serialize};

/// Counters of one run. `seen` is the sum of the seven outcomes; `deleted`, `kept` and `held` are never in it,
/// and `partial` counts some of it once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunCounts {
    /// Delivered for the first time.
    pub added: u64,
    /// Delivered again with other content or fields.
    pub updated: u64,
    /// Delivered with other access alone.
    pub access: u64,
    /// Nothing had to be sent.
    pub unchanged: u64,
    /// Not wanted by a rule or an output: kind, size, declined.
    pub skipped: u64,
    /// Could not be read, understood or delivered.
    pub failed: u64,
    /// Will be tried again later.
    pub waiting: u64,
    /// Removed from every output.
    pub deleted: u64,
    /// Not seen, kept: under a blind spot, or nothing was proven about them.
    pub kept: u64,
    /// Not seen, held by the delete guard until confirmed.
    pub held: u64,
    /// Of those seen and sent through the stages: not all that is in them could be read, so they are found by less.
    pub partial: u64,
}

/// As what a document counts whose visit is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    /// [`RunCounts::added`]
    Added,
    /// [`RunCounts::updated`]
    Updated,
    /// [`RunCounts::access`]
    Access,
    /// [`RunCounts::unchanged`]
    Unchanged,
    /// [`RunCounts::skipped`]
    Skipped,
    /// [`RunCounts::failed`]
    Failed,
}

impl RunCounts {
    /// The counter of that name.
    pub fn counter(&mut self, of: Counter) -> &mut u64 {
        match of {
            Counter::Added => &mut self.added,
            Counter::Updated => &mut self.updated,
            Counter::Access => &mut self.access,
            Counter::Unchanged => &mut self.unchanged,
            Counter::Skipped => &mut self.skipped,
            Counter::Failed => &mut self.failed,
        }
    }

    /// Documents that the source named in this run.
    pub fn seen(&self) -> u64 {
        self.added + self.updated + self.access + self.unchanged + self.skipped + self.failed + self.waiting
    }

    /// Whether a run with these counts left outputs as they were.
    pub fn is_quiet(&self) -> bool {
        self.added + self.updated + self.access + self.deleted + self.held == 0
    }

    /// Whether anything is left to look at: the run then ends with exit code 1. What is kept was not met by a listing, and
    /// yet is not known to be gone: the source contradicts itself, could not be read, or an output did not remove it.
    pub fn has_failures(&self) -> bool {
        self.failed + self.waiting + self.held + self.kept > 0
    }
}

/// A number with thousands set apart.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// So many of something, whose name is given for one: "1 entry", "2,000 documents".
pub fn counted(n: u64, what: &str) -> String {
    match (n, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{} {stem}ies", number(n)),
        _ => format!("{} {what}s", number(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_something_is_not_several() {
        assert_eq!(counted(1, "document"), "1 document");
        assert_eq!(counted(0, "document"), "0 documents");
        assert_eq!(counted(1_234_567, "entry"), "1,234,567 entries");
        assert_eq!(counted(2, "key"), "2 keys");
    }
}
