//! The delete guard: many removals at once are held until a person confirms them (design 4.11).

use serde::{Deserialize, Serialize};

use crate::limits;

/// What a job allows to go without being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// Nothing is held.
    Off,
    /// Held when more than `percent` of the documents and more than `documents` would go.
    Limits {
        /// Share of the job's documents, per cent.
        percent: u64,
        /// Number of documents.
        documents: u64,
    },
}

impl Default for Guard {
    fn default() -> Guard {
        Guard::Limits { percent: limits::GUARD_PERCENT, documents: limits::GUARD_DOCUMENTS }
    }
}

impl Guard {
    /// Whether `removals` of a job that knows `documents` are held.
    ///
    /// `suddenly_empty` is a root without any entry that had some before: always held, unless the guard is off.
    pub fn holds(&self, removals: u64, documents: u64, suddenly_empty: bool) -> bool {
        match *self {
            Guard::Off => false,
            Guard::Limits { percent, documents: least } => {
                removals > 0
                    && (suddenly_empty
                        || (removals > least
                            && u128::from(removals) * 100 > u128::from(percent) * u128::from(documents)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_figures_must_be_passed() {
        let guard = Guard::default();
        assert!(!guard.holds(20, 20, false), "twenty always go");
        assert!(guard.holds(21, 200, false));
        assert!(!guard.holds(21, 210, false), "ten per cent exactly go");
        assert!(guard.holds(22, 210, false));
        assert!(!Guard::Off.holds(1_000, 1_000, true));
    }

    #[test]
    fn each_figure_counts_from_the_first_document_above_it() {
        for (percent, least) in
            [0, 1, 10, 50, 100].into_iter().flat_map(|p| [0, 1, 5].map(|least| (p, least)))
        {
            let guard = Guard::Limits { percent, documents: least };
            for (documents, removals) in
                (0..25).flat_map(|documents| (0..=documents).map(move |r| (documents, r)))
            {
                // The largest numbers that go without being asked for.
                let may_go = least.max(percent * documents / 100);
                let told = format!("{removals} of {documents}, {guard:?}");
                assert_eq!(guard.holds(removals, documents, false), removals > may_go, "{told}");
                assert_eq!(guard.holds(removals, documents, true), removals > 0, "{told}");
            }
        }
        assert!(!Guard::default().holds(u64::MAX / 10, u64::MAX, false), "no figure is too large");
    }

    #[test]
    fn a_root_that_is_suddenly_empty_holds_even_one() {
        assert!(Guard::default().holds(1, 1, true));
        assert!(!Guard::default().holds(0, 1, true));
    }
}
