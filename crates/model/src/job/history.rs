//! What is kept of what the runs of a job did, and whom the job tells of their ends.

use serde::{Deserialize, Serialize};

use crate::lifecycle::words;
use crate::limits;

words! {
    /// Which single documents the history of a job has.
    pub enum HistoryOf {
        /// Those that failed or were left out.
        Failures = "failures",
        /// Every document that a run visited or removed, with the bytes that were read of it.
        Documents = "documents",
    }
}

words! {
    /// What became of a document in a history.
    pub enum HistoryOutcome {
        /// It is new, or is again, in an output.
        Added = "added",
        /// Its content was sent again.
        Updated = "updated",
        /// Only who may see it was sent.
        Access = "access",
        /// It was looked at, and nothing had to be sent.
        Unchanged = "unchanged",
        /// It was left out, with a reason.
        Skipped = "skipped",
        /// It could not be read, understood or delivered.
        Failed = "failed",
        /// It could not be done now, and is tried again.
        Waiting = "waiting",
        /// It was taken out of every output.
        Removed = "removed",
    }
}

words! {
    /// What of a job is noted from some time on.
    pub enum HistoryKind {
        /// Its runs.
        Runs = "runs",
        /// Documents that failed or were left out.
        Failures = "failures",
        /// All documents.
        Documents = "documents",
    }
}

/// What is kept of what the runs of a job did. No digest has it, for nothing that outputs hold depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// Which single documents are kept.
    pub of: HistoryOf,
    /// For how many days; none: as long as whoever runs the program keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<u32>,
}

impl Default for History {
    fn default() -> History {
        History { of: HistoryOf::Failures, days: None }
    }
}

impl History {
    /// Whether nobody said anything of it.
    pub fn is_default(&self) -> bool {
        *self == History::default()
    }

    /// Refuses a time that cannot be kept.
    ///
    /// # Errors
    /// A sentence with the bounds.
    pub fn check(self) -> Result<(), String> {
        match self.days {
            Some(days) if !(1..=limits::HISTORY_DAYS_MAX).contains(&days) => Err(format!(
                "history cannot be kept for {days} days; give 1 to {}, or leave it to the program (`default`)",
                limits::HISTORY_DAYS_MAX
            )),
            _ => Ok(()),
        }
    }

    /// What began before this time is not kept, where the program keeps history for `days` unless a job says otherwise.
    pub fn kept_from(self, days: u32, now: i64) -> i64 {
        now.saturating_sub(i64::from(self.days.unwrap_or(days)) * limits::DAY_MS)
    }

    /// In words, as lists for people show it.
    pub fn describe(self) -> String {
        match self.days {
            Some(days) => format!("{}, {days} days", self.of),
            None => self.of.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_says_nothing_keeps_failures_as_long_as_the_program_does() {
        let plain = History::default();
        assert!(plain.is_default() && plain.check().is_ok());
        assert_eq!(plain.kept_from(90, 100 * limits::DAY_MS), 10 * limits::DAY_MS);
        let own = History { of: HistoryOf::Documents, days: Some(7) };
        assert_eq!(own.kept_from(90, 100 * limits::DAY_MS), 93 * limits::DAY_MS);
        assert_eq!(own.describe(), "documents, 7 days");
        assert!(!own.is_default());
        // However far the clock is back.
        assert_eq!(plain.kept_from(limits::HISTORY_DAYS_MAX, i64::MIN), i64::MIN);
    }

    #[test]
    fn a_time_that_cannot_be_kept_is_refused_with_the_bounds() {
        for days in [0, limits::HISTORY_DAYS_MAX + 1] {
            let refused = History { days: Some(days), ..History::default() }.check().unwrap_err();
            assert!(refused.contains("1 to 3650"), "{refused}");
        }
        assert_eq!(History { days: Some(limits::HISTORY_DAYS_MAX), ..History::default() }.check(), Ok(()));
    }
}
