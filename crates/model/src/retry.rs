//! What follows a fault: again at a time, given up, or the job stops (design 4.14). N attempts means N.

use crate::fault::{Exhausted, Fault};
use crate::limits;

/// What was tried so far with one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempts {
    /// Attempts made, this one included; pausing, windows and aborts never count.
    pub made: u32,
    /// How many may be made.
    pub most: u32,
    /// When the first of them was made that failed for the same reason, milliseconds since 1970 UTC.
    pub since: i64,
    /// The last one is made by then, as the faults of the document have asked for; none: their number alone counts.
    pub give_up_at: Option<i64>,
}

/// What happens to the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another attempt, not before this time (milliseconds since 1970 UTC).
    Again {
        /// Earliest time of the attempt.
        at: i64,
    },
    /// It counts as failed until it changes.
    Fail,
    /// It counts as failed for this run; what outputs hold stays, the next run looks again.
    Keep,
    /// The source no longer has it.
    Vanish,
    /// The run ends with this error.
    AbortJob,
}

/// Judges a fault after an attempt at `now` (milliseconds since 1970 UTC).
///
/// Waits double from one second to five minutes unless the fault names a time of its own.
pub fn after(fault: &Fault, attempts: Attempts, now: i64) -> Next {
    match fault {
        Fault::Gone => Next::Vanish,
        Fault::Refused(_) | Fault::Unreadable(_) | Fault::Broken(_) => Next::Fail,
        Fault::Passing { retry_in_ms, when_exhausted: Exhausted::Vanish, .. } => {
            let believed_at = attempts.since.saturating_add(retry_in_ms.unwrap_or_default().max(0));
            // The first look alone proves nothing, also where no time is asked for.
            if attempts.made > 1 && now >= believed_at {
                Next::Vanish
            } else {
                Next::Again { at: believed_at.max(now) }
            }
        }
        Fault::Passing { retry_in_ms, when_exhausted, .. } => {
            let is_late = attempts.give_up_at.is_some_and(|at| now >= at);
            if is_late || attempts.made >= fault.attempts_max(attempts.most) {
                return match when_exhausted {
                    Exhausted::Skip => Next::Fail,
                    Exhausted::Keep => Next::Keep,
                    Exhausted::AbortJob => Next::AbortJob,
                    Exhausted::Vanish => Next::Vanish,
                };
            }
            let doubled =
                limits::RETRY_WAIT_MS_MIN.saturating_mul(1 << attempts.made.saturating_sub(1).min(20));
            let wait = retry_in_ms.unwrap_or(doubled.min(limits::RETRY_WAIT_MS_MAX)).max(0);
            let at = now.saturating_add(wait);
            // The last attempt is made when the time is over, and not given up before.
            Next::Again { at: attempts.give_up_at.map_or(at, |last| at.min(last)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Reason;
    use proptest::prelude::*;

    #[test]
    fn lasting_faults_are_never_tried_again() {
        let attempts = Attempts { made: 1, most: 9, since: 0, give_up_at: None };
        assert_eq!(after(&Fault::refused("x", "x"), attempts, 0), Next::Fail);
        assert_eq!(after(&Fault::broken("x", "x"), attempts, 0), Next::Fail);
        assert_eq!(after(&Fault::Gone, attempts, 0), Next::Vanish);
    }

    /// One after the other: drawn at random, almost all attempts wait as long as may be.
    #[test]
    fn waits_double_up_to_their_bound() {
        let wait = |made, now| {
            let fault = Fault::passing("net", "away");
            let Next::Again { at } =
                after(&fault, Attempts { made, most: u32::MAX, since: now, give_up_at: None }, now)
            else {
                panic!()
            };
            at - now
        };
        let mut expected = limits::RETRY_WAIT_MS_MIN;
        for made in 1..1000 {
            assert_eq!([0, 1 << 50].map(|now| wait(made, now)), [expected; 2], "attempt {made}");
            expected = (expected * 2).min(limits::RETRY_WAIT_MS_MAX);
        }
        assert_eq!(wait(u32::MAX - 1, 0), limits::RETRY_WAIT_MS_MAX);
        assert_eq!(wait(1, i64::MAX), 0, "there is no later time");
    }

    #[test]
    fn a_fault_says_what_follows_its_last_attempt() {
        let table = [
            (Exhausted::Skip, Next::Fail),
            (Exhausted::Keep, Next::Keep),
            (Exhausted::AbortJob, Next::AbortJob),
        ];
        for ((when_exhausted, last), most) in
            table.into_iter().flat_map(|row| [1, 2, 5].map(|most| (row, most)))
        {
            let fault = Fault::Passing {
                reason: Reason::new("net", "away"),
                retry_in_ms: Some(0),
                attempts_max: None,
                give_up_at: None,
                when_exhausted,
            };
            for made in 1..=most + 1 {
                let expected = if made < most { Next::Again { at: 7 } } else { last };
                assert_eq!(
                    after(&fault, Attempts { made, most, since: 0, give_up_at: None }, 7),
                    expected,
                    "{when_exhausted:?} {made}/{most}"
                );
            }
        }
    }

    #[test]
    fn what_is_missing_is_gone_when_it_is_missing_again_after_its_time_and_not_before() {
        let wait = limits::MISSING_BELIEVED_MS;
        let after = |made, since, now| {
            after(&Fault::missing(), Attempts { made, most: 2, since, give_up_at: None }, now)
        };
        assert_eq!(after(1, 7, 7), Next::Again { at: 7 + wait });
        // Several looks within the time are one.
        assert_eq!(after(40, 7, 6 + wait), Next::Again { at: 7 + wait });
        assert_eq!(after(2, 7, 7 + wait), Next::Vanish);
        assert_eq!(after(1, 7, 7 + wait), Next::Again { at: 7 + wait }, "one look is no proof, however late");
    }

    proptest! {
        #[test]
        fn n_attempts_means_n(most in 1u32..50) {
            let fault = Fault::passing("net", "away");
            let mut made = 0;
            loop {
                made += 1;
                match after(&fault, Attempts { made, most, since: 0, give_up_at: None }, 0) {
                    Next::Again { .. } => prop_assert!(made < most),
                    next => { prop_assert_eq!(next, Next::Fail); break }
                }
            }
            prop_assert_eq!(made, most);
        }

        /// However long it waits between attempts: one at the cut-off, and none after it.
        #[test]
        fn a_fault_may_ask_for_an_end(wait in 1i64..5_000, lasts in 0i64..20_000, takes in 0i64..3_000) {
            let fault = Fault::Passing {
                reason: Reason::new("net", "away"),
                retry_in_ms: Some(wait),
                attempts_max: None,
                give_up_at: Some(lasts),
                when_exhausted: Exhausted::Skip,
            };
            let (mut made, mut now) = (0, 0);
            let begun = loop {
                made += 1;
                let begun = now;
                now += takes;
                let attempts = Attempts { made, most: u32::MAX, since: 0, give_up_at: fault.give_up_at() };
                match after(&fault, attempts, now) {
                    Next::Again { at } => {
                        prop_assert!(now < lasts && at <= lasts && at <= now + wait);
                        now = at;
                    }
                    next => {
                        prop_assert_eq!(next, Next::Fail);
                        break begun;
                    }
                }
            };
            prop_assert!(begun <= lasts && now >= lasts, "{begun} {now}");
        }

        #[test]
        fn a_fault_may_ask_for_fewer(most in 1u32..50, fewer in 1u32..50) {
            let fault = Fault::passing_soon("reader", "ended", fewer);
            let made = (1..=50).find(|made| after(&fault, Attempts { made: *made, most, since: 0, give_up_at: None }, 0) == Next::Fail);
            prop_assert_eq!(made, Some(most.min(fewer)));
        }

        #[test]
        fn a_fault_may_name_the_time_of_the_next_attempt(made in 1u32..8, wait in -5i64..1 << 40, now in 0i64..1 << 50) {
            let fault = Fault::Passing {
                reason: Reason::new("busy", "too many requests"),
                retry_in_ms: Some(wait),
                attempts_max: None,
                give_up_at: None,
                when_exhausted: Exhausted::Skip,
            };
            let next = after(&fault, Attempts { made, most: 9, since: now, give_up_at: None }, now);
            prop_assert_eq!(next, Next::Again { at: now + wait.max(0) });
        }
    }
}
