//! How a source itself wants its documents to be fetched, bin by bin: a web site by its host, say (coverage S3.128). Beside the rules of a connection,
//! which a person sets; the stricter of both holds.

/// What one bin of a source bears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Documents that are fetched at the same time, at least 1.
    pub at_once: u32,
    /// Between the end of a fetch and the beginning of the next one, milliseconds; of several at once, between any two of them.
    pub every_ms: i64,
}

/// What is under way of one bin, whichever job asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceLane {
    under_way: u32,
    /// When the last fetch began or ended; where nobody knows, when the process began. What is sent in a fetch is sent somewhen between both.
    last_at: i64,
    /// Until when nothing of it may begin by the pace that was asked for last.
    busy_until: i64,
}

impl PaceLane {
    /// One of which nothing is known since `began`.
    pub fn new(began: i64) -> PaceLane {
        PaceLane { under_way: 0, last_at: began, busy_until: began }
    }

    /// Before which time nothing may be fetched, or [`NEVER`](super::NEVER) while others are under way; none where it may be now.
    pub fn waits(&mut self, pace: Pace, now: i64) -> Option<i64> {
        if self.under_way >= pace.at_once.max(1) {
            return Some(super::NEVER);
        }
        self.busy_until = self.last_at.saturating_add(pace.every_ms.max(0));
        (now < self.busy_until).then_some(self.busy_until)
    }

    /// Whether no more fetches are under way than the bin bears.
    pub fn fits(&self, pace: Pace) -> bool {
        self.under_way <= pace.at_once.max(1)
    }

    /// A fetch begins.
    pub fn begin(&mut self, now: i64) {
        self.under_way += 1;
        self.last_at = now;
    }

    /// A fetch is over.
    pub fn end(&mut self, now: i64) {
        self.under_way = self.under_way.saturating_sub(1);
        self.last_at = now;
    }

    /// Whether nothing is lost when it is forgotten.
    pub fn is_idle(&self, now: i64) -> bool {
        self.under_way == 0 && now >= self.busy_until
    }
}

#[cfg(test)]
mod tests {
    use super::super::NEVER;
    use super::*;

    const POLITE: Pace = Pace { at_once: 1, every_ms: 1_000 };

    #[test]
    fn fetches_of_a_bin_begin_no_faster_than_its_pace_and_one_after_the_other() {
        let mut lane = PaceLane::new(500);
        assert_eq!(
            lane.waits(POLITE, 600),
            Some(1_500),
            "what was fetched before the process began, nobody knows"
        );
        assert_eq!(lane.waits(POLITE, 1_500), None);
        lane.begin(1_500);
        assert_eq!(lane.waits(POLITE, 9_000), Some(NEVER), "one is under way");
        assert!(!lane.is_idle(9_000));
        lane.end(1_700);
        assert_eq!(lane.waits(POLITE, 2_600), Some(2_700));
        assert!(!lane.is_idle(2_699) && lane.is_idle(2_700));
    }

    #[test]
    fn a_pace_that_changes_counts_from_the_last_fetch() {
        let mut lane = PaceLane::new(0);
        lane.begin(9_000);
        lane.end(10_000);
        assert_eq!(lane.waits(Pace { every_ms: 60_000, ..POLITE }, 10_001), Some(70_000));
        assert_eq!(lane.waits(Pace { every_ms: 0, ..POLITE }, 10_001), None);
        let two = Pace { at_once: 2, every_ms: 0 };
        lane.begin(10_001);
        assert_eq!(lane.waits(two, 10_001), None);
        lane.begin(10_001);
        assert_eq!(lane.waits(two, 10_001), Some(NEVER));
    }
}
