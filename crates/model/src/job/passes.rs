//! When the passes of a continuous job begin: what a watch told, what the passes before took, and what is tried again (decision 0027).
//!
//! Times are milliseconds of a clock that is never put back; nothing here outlives a process.

use crate::limits;

/// Changes that no pass has looked for yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Heard {
    first: i64,
    last: i64,
}

/// The last pass that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ended {
    begun: i64,
    at: i64,
    done: bool,
}

/// What is remembered of one job between its passes.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    heard: Option<Heard>,
    /// When the pass began that is under way, and what it takes.
    under_way: Option<(i64, Option<Heard>)>,
    ended: Option<Ended>,
}

/// What else decides when a pass begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Around {
    /// A change shows in versions so long after it was told: what is younger is racy.
    pub grain_ms: i64,
    /// A watch tells of all changes.
    pub is_watched: bool,
    /// When a document falls due that waits for another attempt.
    pub retry: Option<i64>,
}

impl Passes {
    /// Something changed between two times; or may have.
    pub fn hear(&mut self, since: i64, until: i64) {
        let before = self.heard;
        self.heard = Some(Heard {
            first: before.map_or(since, |heard| heard.first.min(since)),
            last: before.map_or(until, |heard| heard.last.max(until)),
        });
    }

    /// Whether changes wait for a pass.
    pub fn has_heard(&self) -> bool {
        self.heard.is_some()
    }

    /// Whether a pass is under way that was begun here.
    pub fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// A pass begins. What was heard within the grain before it is left to the next one as well.
    pub fn begin(&mut self, at: i64, grain_ms: i64) {
        let takes = self.heard;
        self.heard = takes.filter(|heard| heard.last > at.saturating_sub(grain_ms));
        self.under_way = Some((at, takes));
    }

    /// The pass has ended. One that was not done leaves what it had taken.
    pub fn end(&mut self, at: i64, done: bool) {
        let Some((begun, takes)) = self.under_way.take() else { return };
        if !done {
            let left = takes.unwrap_or(Heard { first: begun, last: begun });
            self.hear(left.first, left.last);
        }
        self.ended = Some(Ended { begun, at, done });
    }

    /// When the next pass begins; none while one is under way, and before anything was heard: a watch begins as one that has lost everything,
    /// and a job without one is told so.
    pub fn next(&self, around: Around) -> Option<i64> {
        if self.under_way.is_some() {
            return None;
        }
        let heard = self.heard.map(|heard| heard.first.saturating_add(around.grain_ms));
        let Some(Ended { begun, at, done }) = self.ended else { return heard };
        let rest = match done {
            true => (at - begun).clamp(limits::PASS_REST_MS_MIN, limits::PASS_REST_MS_MAX),
            false => limits::PASS_RETRY_MS,
        };
        let unheard = if around.is_watched { limits::PASS_WATCHED_MS } else { limits::PASS_UNWATCHED_MS };
        // What was due when the last pass began, and still is, is nothing that a pass brings about.
        let retry = around.retry.filter(|retry| *retry > begun);
        let due = [heard, retry, Some(begun.saturating_add(unheard))].into_iter().flatten().min();
        due.map(|due| due.max(at.saturating_add(rest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GRAIN: i64 = 100;
    const WATCHED: Around = Around { grain_ms: GRAIN, is_watched: true, retry: None };

    #[test]
    fn the_first_pass_waits_for_the_watch_and_a_change_for_its_grain() {
        let mut passes = Passes::default();
        assert_eq!(passes.next(WATCHED), None);
        passes.hear(1_000, 1_000);
        passes.hear(1_020, 1_050);
        assert_eq!(passes.next(WATCHED), Some(1_100));
        passes.begin(1_100, GRAIN);
        assert_eq!(passes.next(WATCHED), None, "one is under way");
        assert!(passes.has_heard(), "what was younger than the grain is left to the next one");
        passes.end(1_200, true);
        assert_eq!(passes.next(WATCHED), Some(1_200 + limits::PASS_REST_MS_MIN));
        passes.begin(1_450, GRAIN);
        assert!(!passes.has_heard());
        passes.end(2_450, true);
        assert_eq!(passes.next(WATCHED), Some(1_450 + limits::PASS_WATCHED_MS));
        passes.hear(2_500, 2_500);
        assert_eq!(passes.next(WATCHED), Some(3_450), "it rests as long as it took");
    }

    #[test]
    fn what_cannot_be_watched_is_listed_at_intervals() {
        let mut passes = Passes::default();
        let around = Around { is_watched: false, ..WATCHED };
        passes.hear(0, 0);
        passes.begin(GRAIN, GRAIN);
        passes.end(GRAIN + 10, true);
        assert_eq!(passes.next(around), Some(GRAIN + limits::PASS_UNWATCHED_MS));
    }

    #[test]
    fn a_pass_that_failed_leaves_what_it_took_and_rests_for_longer() {
        let mut passes = Passes::default();
        passes.hear(0, 0);
        passes.begin(500, GRAIN);
        assert!(!passes.has_heard());
        passes.end(600, false);
        assert!(passes.has_heard());
        assert_eq!(passes.next(WATCHED), Some(600 + limits::PASS_RETRY_MS));
    }

    #[test]
    fn a_document_that_waits_begins_a_pass_at_its_date_once() {
        let mut passes = Passes::default();
        passes.hear(0, 0);
        passes.begin(GRAIN, GRAIN);
        passes.end(GRAIN + 10, true);
        let at = |retry: i64| passes.next(Around { retry: Some(retry), ..WATCHED });
        assert_eq!(at(5_000), Some(5_000));
        assert_eq!(at(GRAIN + 5), Some(GRAIN + 10 + limits::PASS_REST_MS_MIN), "it fell due meanwhile");
        assert_eq!(
            at(GRAIN),
            Some(GRAIN + limits::PASS_WATCHED_MS),
            "the pass had it, and it is due all the same"
        );
    }

    proptest! {
        /// However changes come, each is taken by a pass that begins a grain after it or later, soon after, and passes take no more than half
        /// of the time.
        #[test]
        fn no_change_is_left_out_and_none_waits_for_long(
            changes in proptest::collection::vec(0i64..20_000, 1..40),
            length in 1i64..2_000,
        ) {
            let mut changes = changes;
            changes.sort_unstable();
            let mut passes = Passes::default();
            let mut begins = Vec::new();
            let mut busy_until = None;
            for now in 0..40_000 {
                if changes.binary_search(&now).is_ok() {
                    passes.hear(now, now);
                }
                if busy_until == Some(now) {
                    passes.end(now, true);
                    busy_until = None;
                }
                if passes.next(WATCHED).is_some_and(|next| next <= now) {
                    passes.begin(now, GRAIN);
                    begins.push(now);
                    busy_until = Some(now + length);
                }
            }
            let rest = length.max(limits::PASS_REST_MS_MIN);
            for change in changes {
                let taken = begins.iter().find(|begin| **begin >= change + GRAIN);
                // One pass may be under way, and one more begin within the grain.
                let longest = GRAIN + 2 * (length + rest);
                prop_assert!(taken.is_some_and(|begin| begin - change <= longest), "{change}: {taken:?}");
            }
            prop_assert!(begins.windows(2).all(|two| two[1] - two[0] >= length + rest));
        }
    }
}
