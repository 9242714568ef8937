//! How many changes a batch has: whoever stops a run waits for the one that is under way, so it has fewer where the store takes its time for them.

use ingather_model::limits;

/// How many changes the next batch has at most.
pub(super) struct Pace(usize);

impl Default for Pace {
    fn default() -> Pace {
        Pace(limits::DELIVERY_BATCH_MAX)
    }
}

impl Pace {
    pub(super) fn most(&self) -> usize {
        self.0
    }

    /// The intents of so many changes took so long, milliseconds. Those of a few say nothing of many.
    pub(super) fn took(&mut self, changes: usize, ms: i64) {
        if changes < limits::DELIVERY_BATCH_MIN / 2 {
            return;
        }
        let within = changes * limits::DELIVERY_INTENT_MS / usize::try_from(ms).unwrap_or_default().max(1);
        self.0 = within.clamp(limits::DELIVERY_BATCH_MIN, limits::DELIVERY_BATCH_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_smaller_where_the_store_takes_its_time_and_large_again_where_it_does_not() {
        let (least, most) = (limits::DELIVERY_BATCH_MIN, limits::DELIVERY_BATCH_MAX);
        let after = |took: &[(usize, i64)]| {
            let mut pace = Pace::default();
            took.iter().for_each(|(changes, ms)| pace.took(*changes, *ms));
            pace.most()
        };
        let within = limits::DELIVERY_INTENT_MS as i64;
        assert_eq!(after(&[]), most);
        assert_eq!(after(&[(most, 0)]), most);
        assert_eq!(after(&[(most, within)]), most);
        assert_eq!(after(&[(most, 10 * within)]), least);
        assert_eq!(after(&[(1_500, within)]), 1_500);
        assert_eq!(after(&[(most, 10 * within), (10, 10 * within)]), least, "a few say nothing");
        assert_eq!(after(&[(most, 10 * within), (least, within / 2)]), most);
        assert_eq!(after(&[(most, -7)]), most, "a clock that goes wrong");
    }
}
