//! When the passes of a continuous job begin: what a watch told, what the passes before took, and what is tried again (decision 0027).
//!
//! Times are milliseconds of a clock that is never put back; nothing here outlives a process.

use crate::job::RunKind;
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
    kind: RunKind,
    /// What hindered it may be over.
    is_retried: bool,
}

/// What is remembered of one job between its passes.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    heard: Option<Heard>,
    /// When the pass began that is under way, what it takes, and how it looks.
    under_way: Option<(i64, Option<Heard>, RunKind)>,
    ended: Option<Ended>,
    /// When the last pass began that looked at everything.
    full: i64,
}

/// What else decides when a pass begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Around {
    /// A change shows in versions so long after it was told: what is younger is racy.
    pub grain_ms: i64,
    /// A watch tells of all changes.
    pub is_watched: bool,
    /// When a document falls due: it waits for another attempt, is to be looked at again, or expires.
    pub due: Option<i64>,
    /// Of a source that is found by following links, how often its seeds are asked. Passes between them look at what is due alone.
    pub reseed_ms: Option<i64>,
    /// Shortest and longest rest after a pass; between them it is as long as the pass took.
    pub rest_ms: (i64, i64),
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

    /// A pass begins. What was heard within the grain before it is left to the next one as well; all of it, where it looks at what is due alone.
    pub fn begin(&mut self, at: i64, grain_ms: i64, kind: RunKind) {
        let takes = self.heard.filter(|_| kind == RunKind::Full);
        if kind == RunKind::Full {
            self.heard = takes.filter(|heard| heard.last > at.saturating_sub(grain_ms));
            self.full = at;
        }
        self.under_way = Some((at, takes, kind));
    }

    /// The pass has ended. One that was not done leaves what it had taken.
    pub fn end(&mut self, at: i64, done: bool) {
        let Some((begun, takes, kind)) = self.under_way.take() else { return };
        if !done && kind == RunKind::Full {
            let left = takes.unwrap_or(Heard { first: begun, last: begun });
            self.hear(left.first, left.last);
        }
        self.ended = Some(Ended { begun, at, done, kind, is_retried: false });
    }

    /// What hindered the last pass may be over: where it was not done, the next one does not wait.
    pub fn retry_now(&mut self) {
        if let Some(ended) = &mut self.ended {
            ended.is_retried = true;
        }
    }

    /// The pass that was to begin has to wait for somebody who pauses, stops or runs the job: it is as if it had never been due.
    pub fn put_off(&mut self) {
        let Some((begun, takes, kind)) = self.under_way.take() else { return };
        if kind == RunKind::Full {
            let left = takes.unwrap_or(Heard { first: begun, last: begun });
            self.hear(left.first, left.last);
        }
    }

    /// When the next pass begins, and how it looks; none while one is under way, and before anything was heard: a watch begins as one that
    /// has lost everything, and a job without one is told so.
    pub fn next(&self, around: Around) -> Option<(i64, RunKind)> {
        if self.under_way.is_some() {
            return None;
        }
        let heard = self.heard.map(|heard| heard.first.saturating_add(around.grain_ms));
        let Some(Ended { begun, at, done, kind, is_retried }) = self.ended else {
            return heard.map(|heard| (heard, RunKind::Full));
        };
        let rest = match done {
            true => (at - begun).clamp(around.rest_ms.0, around.rest_ms.1),
            false if is_retried => around.rest_ms.0,
            false => limits::PASS_RETRY_MS,
        };
        let unwatched = around.reseed_ms.unwrap_or(limits::PASS_UNWATCHED_MS);
        let unheard = if around.is_watched { limits::PASS_WATCHED_MS } else { unwatched };
        let full = self.full.saturating_add(unheard);
        let full = heard.map_or(full, |heard| heard.min(full));
        // What was due when the last pass began, and still is, is nothing that a pass brings about.
        let due = around.due.filter(|due| *due > begun);
        // Unless that pass was not done, which had what was due alone.
        let owed = (!done && kind == RunKind::Minimal).then_some(at);
        let begins = [Some(full), due, owed].into_iter().flatten().min().unwrap_or(full);
        let begins = begins.max(at.saturating_add(rest));
        let looks_at_due = around.reseed_ms.is_some() && full > begins;
        Some((begins, if looks_at_due { RunKind::Minimal } else { RunKind::Full }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GRAIN: i64 = 100;
    const REST: (i64, i64) = (limits::PASS_REST_MS_MIN, limits::PASS_REST_MS_MAX);
    const WATCHED: Around =
        Around { grain_ms: GRAIN, is_watched: true, due: None, reseed_ms: None, rest_ms: REST };

    /// When the next pass begins, which looks at everything.
    fn next(passes: &Passes, around: Around) -> Option<i64> {
        let (at, kind) = passes.next(around)?;
        assert_eq!(kind, RunKind::Full);
        Some(at)
    }

    #[test]
    fn the_first_pass_waits_for_the_watch_and_a_change_for_its_grain() {
        let mut passes = Passes::default();
        assert_eq!(next(&passes, WATCHED), None);
        passes.hear(1_000, 1_000);
        passes.hear(1_020, 1_050);
        assert_eq!(next(&passes, WATCHED), Some(1_100));
        passes.begin(1_100, GRAIN, RunKind::Full);
        assert_eq!(next(&passes, WATCHED), None, "one is under way");
        assert!(passes.has_heard(), "what was younger than the grain is left to the next one");
        passes.end(1_200, true);
        assert_eq!(next(&passes, WATCHED), Some(1_200 + limits::PASS_REST_MS_MIN));
        passes.begin(1_450, GRAIN, RunKind::Full);
        assert!(!passes.has_heard());
        passes.end(2_450, true);
        assert_eq!(next(&passes, WATCHED), Some(1_450 + limits::PASS_WATCHED_MS));
        passes.hear(2_500, 2_500);
        assert_eq!(next(&passes, WATCHED), Some(3_450), "it rests as long as it took");
    }

    #[test]
    fn what_cannot_be_watched_is_listed_at_intervals() {
        let mut passes = Passes::default();
        let around = Around { is_watched: false, ..WATCHED };
        passes.hear(0, 0);
        passes.begin(GRAIN, GRAIN, RunKind::Full);
        passes.end(GRAIN + 10, true);
        assert_eq!(next(&passes, around), Some(GRAIN + limits::PASS_UNWATCHED_MS));
    }

    #[test]
    fn a_pass_that_failed_leaves_what_it_took_and_rests_for_longer() {
        let mut passes = Passes::default();
        passes.hear(0, 0);
        passes.begin(500, GRAIN, RunKind::Full);
        assert!(!passes.has_heard());
        passes.end(600, false);
        assert!(passes.has_heard());
        assert_eq!(next(&passes, WATCHED), Some(600 + limits::PASS_RETRY_MS));
    }

    #[test]
    fn a_pass_that_failed_is_made_again_at_once_when_what_hindered_it_is_over() {
        let mut passes = Passes::default();
        passes.retry_now();
        assert_eq!(next(&passes, WATCHED), None);
        passes.hear(0, 0);
        for kind in [RunKind::Full, RunKind::Minimal] {
            passes.begin(500, GRAIN, kind);
            passes.retry_now();
            passes.end(600, false);
            let at = |passes: &Passes| {
                passes.next(Around { is_watched: false, reseed_ms: Some(3_600_000), ..WATCHED })
            };
            assert_eq!(at(&passes), Some((600 + limits::PASS_RETRY_MS, kind)), "it had not ended yet");
            passes.retry_now();
            assert_eq!(at(&passes), Some((600 + limits::PASS_REST_MS_MIN, kind)));
            // One that fails again waits again.
            passes.begin(900, GRAIN, kind);
            passes.end(1_000, false);
            assert_eq!(at(&passes), Some((1_000 + limits::PASS_RETRY_MS, kind)));
            passes.begin(70_000, GRAIN, RunKind::Full);
            passes.end(70_100, true);
            passes.retry_now();
            assert_eq!(at(&passes), Some((3_670_000, RunKind::Full)), "nothing hindered it");
        }
    }

    #[test]
    fn a_pass_that_is_put_off_is_due_as_before() {
        let mut passes = Passes::default();
        passes.hear(0, 0);
        let due = next(&passes, WATCHED);
        passes.begin(500, GRAIN, RunKind::Full);
        passes.put_off();
        assert_eq!(next(&passes, WATCHED), due);
        passes.begin(500, GRAIN, RunKind::Full);
        passes.end(600, true);
        let due = Around { due: Some(2_000), reseed_ms: Some(3_600_000), ..WATCHED };
        assert_eq!(passes.next(due), Some((2_000, RunKind::Minimal)));
        passes.begin(2_000, GRAIN, RunKind::Minimal);
        passes.put_off();
        assert_eq!(passes.next(due), Some((2_000, RunKind::Minimal)));
    }

    #[test]
    fn a_document_that_waits_begins_a_pass_at_its_date_once() {
        let mut passes = Passes::default();
        passes.hear(0, 0);
        passes.begin(GRAIN, GRAIN, RunKind::Full);
        passes.end(GRAIN + 10, true);
        let at = |retry: i64| next(&passes, Around { due: Some(retry), ..WATCHED });
        assert_eq!(at(5_000), Some(5_000));
        assert_eq!(at(GRAIN + 5), Some(GRAIN + 10 + limits::PASS_REST_MS_MIN), "it fell due meanwhile");
        assert_eq!(
            at(GRAIN),
            Some(GRAIN + limits::PASS_WATCHED_MS),
            "the pass had it, and it is due all the same"
        );
    }

    #[test]
    fn a_source_of_links_is_looked_at_as_documents_fall_due_between_two_times_at_which_its_seeds_are_asked() {
        const RESEED: i64 = 3_600_000;
        let around =
            |due| Around { grain_ms: 0, is_watched: false, due, reseed_ms: Some(RESEED), rest_ms: REST };
        let mut passes = Passes::default();
        passes.hear(0, 0);
        assert_eq!(passes.next(around(Some(0))), Some((0, RunKind::Full)));
        passes.begin(0, 0, RunKind::Full);
        passes.end(1_000, true);
        assert_eq!(passes.next(around(None)), Some((RESEED, RunKind::Full)), "nothing falls due before");
        assert_eq!(passes.next(around(Some(60_000))), Some((60_000, RunKind::Minimal)));
        assert_eq!(
            passes.next(around(Some(1_500))),
            Some((2_000, RunKind::Minimal)),
            "it rests as long as it took"
        );
        passes.begin(60_000, 0, RunKind::Minimal);
        passes.end(60_500, true);
        assert_eq!(
            passes.next(around(Some(60_000))),
            Some((RESEED, RunKind::Full)),
            "it had that, and seeds keep their time"
        );
        // One that fails is made again, and asks no seed for that.
        passes.begin(90_000, 0, RunKind::Minimal);
        passes.end(90_500, false);
        assert_eq!(passes.next(around(None)), Some((90_500 + limits::PASS_RETRY_MS, RunKind::Minimal)));
        assert_eq!(
            passes.next(around(Some(RESEED + 5))),
            Some((90_500 + limits::PASS_RETRY_MS, RunKind::Minimal))
        );
        // What is due when seeds are is looked at with them.
        passes.begin(RESEED - 600, 0, RunKind::Minimal);
        passes.end(RESEED - 100, true);
        assert_eq!(passes.next(around(Some(RESEED - 90))), Some((RESEED + 400, RunKind::Full)));
        // And a pass over all of it that fails is made again as such.
        passes.begin(RESEED + 400, 0, RunKind::Full);
        passes.end(RESEED + 500, false);
        assert_eq!(passes.next(around(None)), Some((RESEED + 500 + limits::PASS_RETRY_MS, RunKind::Full)));
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
                if next(&passes, WATCHED).is_some_and(|next| next <= now) {
                    passes.begin(now, GRAIN, RunKind::Full);
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
