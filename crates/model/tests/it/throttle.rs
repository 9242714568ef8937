//! What throttles promise: never more than the rate in any time plus what one bucket holds, nothing lost to rounding, and an honest
//! answer to clocks that jump.

use proptest::prelude::*;

use ingather_model::fairness::NEVER;
use ingather_model::fairness::throttle::*;
use ingather_model::limits;

fn of_fetches(per_minute: u32) -> Allowance {
    Allowance { fetches_per_minute: Some(per_minute), ..Allowance::default() }
}

#[test]
fn fetches_begin_at_even_distances_the_first_one_included() {
    let mut lane = Lane::new(of_fetches(7), 1_000);
    let (mut begun, mut now) = (Vec::new(), 1_000);
    while begun.len() < 8 {
        match lane.waits(now) {
            Some(Wait::Until(at)) => now = at,
            Some(Wait::Place) => unreachable!("places are not limited"),
            None => {
                lane.begin(now);
                begun.push(now - 1_000);
            }
        }
    }
    // A seventh of a minute is no whole number of milliseconds: none of it is lost.
    assert_eq!(begun, [8_572, 17_143, 25_715, 34_286, 42_858, 51_429, 60_000, 68_572]);
}

#[test]
fn what_was_not_used_is_there_again_and_a_second_fetch_delays_the_next_one() {
    let mut lane = Lane::new(of_fetches(60), 0);
    assert_eq!(lane.waits(1_000), None);
    lane.begin(1_000);
    assert_eq!(lane.waits(1_000), Some(Wait::Until(2_000)));
    lane.end(false, 1_000);
    assert_eq!(lane.waits(1_000), None);
    lane.begin(1_000);
    lane.again(1_000);
    lane.end(true, 1_500);
    assert_eq!(lane.waits(2_000), Some(Wait::Until(3_000)));
}

#[test]
fn places_are_free_again_when_a_fetch_ends_and_zero_is_never() {
    let mut lane = Lane::new(Allowance { fetches_at_once: Some(2), ..Allowance::default() }, 0);
    lane.begin(0);
    lane.begin(0);
    assert_eq!(lane.waits(0), Some(Wait::Place));
    lane.end(true, 0);
    assert_eq!(lane.waits(0), None);
    for none in [
        Allowance { fetches_at_once: Some(0), ..Allowance::default() },
        of_fetches(0),
        Allowance { bytes_per_second: Some(0), ..Allowance::default() },
    ] {
        assert_eq!(Lane::new(none, 0).waits(i64::MAX / 2), Some(Wait::Until(NEVER)), "{none:?}");
    }
}

#[test]
fn the_strictest_of_several_rules_holds_in_each_respect() {
    let one = Allowance { fetches_at_once: Some(3), fetches_per_minute: Some(10), bytes_per_second: None };
    let two = Allowance { fetches_at_once: Some(2), fetches_per_minute: None, bytes_per_second: Some(9) };
    let both =
        Allowance { fetches_at_once: Some(2), fetches_per_minute: Some(10), bytes_per_second: Some(9) };
    assert_eq!((one.strictest(two), two.strictest(one)), (both, both));
    assert!(Allowance::default().is_unlimited() && one.strictest(Allowance::default()) == one);
}

#[test]
fn a_rule_that_limits_nothing_or_is_out_of_bounds_is_refused() {
    assert!(Rule::default().check().unwrap_err().contains("limits nothing"));
    let fast = Rule { bytes_per_second: Some(u64::MAX), ..Rule::default() };
    assert!(fast.check().unwrap_err().contains("is more than"));
    assert_eq!(Rule { fetches_at_once: Some(1), ..Rule::default() }.check(), Ok(()));
}

#[test]
fn a_clock_that_is_put_back_gives_nothing_and_is_counted_on_from_there() {
    let mut lane = Lane::new(of_fetches(60), 10_000);
    assert_eq!(lane.waits(10_500), Some(Wait::Until(11_000)));
    assert_eq!(
        lane.waits(2_000),
        Some(Wait::Until(2_500)),
        "what has come stays, and the rest takes its time"
    );
    assert_eq!(lane.waits(2_500), None);
    lane.begin(2_500);
    assert_eq!(lane.waits(i64::MAX / 4), None, "however long nobody asked");
    lane.begin(i64::MAX / 4);
    assert!(lane.waits(i64::MAX / 4).is_some(), "one, and no more");
}

#[test]
fn what_is_being_fetched_counts_when_the_rule_changes_and_the_new_bucket_begins_empty() {
    let mut lane = Lane::new(Allowance { fetches_at_once: Some(1), ..Allowance::default() }, 0);
    lane.begin(0);
    let mut lane = lane.changed(Allowance { fetches_at_once: Some(2), ..of_fetches(60) }, 5_000);
    assert!(lane.is_busy());
    assert_eq!(lane.waits(5_000), Some(Wait::Until(6_000)));
    lane.begin(6_000);
    assert_eq!(lane.waits(9_000), Some(Wait::Place));
}

#[test]
fn a_lane_that_is_forgotten_at_rest_is_the_same_when_it_is_begun_again() {
    let allowance =
        Allowance { fetches_at_once: Some(1), fetches_per_minute: Some(60), bytes_per_second: Some(1_000) };
    let mut lane = Lane::new(allowance, 0);
    assert!(!lane.is_idle(500), "its buckets are not full");
    assert!(lane.is_idle(1_001));
    lane.begin(1_001);
    assert!(!lane.is_idle(9_000), "something is under way");
    lane.end(true, 9_000);
    assert!(lane.is_idle(9_000) && Lane::new(allowance, 0).waits(9_000) == lane.waits(9_000));
}

/// How much is asked for, and how much later the next one asks.
fn asks() -> impl Strategy<Value = Vec<(u64, i64)>> {
    proptest::collection::vec((1u64..400, prop_oneof![Just(0i64), 0i64..30, 0i64..5_000]), 1..80)
}

proptest! {
    /// In any time: no more than the rate and what a bucket holds. And no less while somebody always waits: nothing is lost to rounding.
    #[test]
    fn in_any_time_no_more_is_read_than_the_rate_and_what_a_bucket_holds(
        rate in 1u64..20_000, asks in asks(), began in -1_000_000i64..1_000_000,
    ) {
        let mut bucket = Bucket::of_bytes(rate, began);
        let held = (rate * limits::THROTTLE_BURST_MS as u64).max(1_000 + rate - 1);
        let (mut now, mut read) = (began, Vec::new());
        let mut waited_always = true;
        for (bytes, later) in asks {
            let bytes = bytes.min(bucket.most());
            let at = bucket.promise(bytes, now);
            waited_always &= at > now;
            read.push((at, bytes));
            // The next one may ask before these bytes are there.
            now += later;
        }
        for first in 0..read.len() {
            let mut sum = 0;
            for (at, bytes) in &read[first..] {
                sum += bytes;
                // Times are whole milliseconds: what comes in the one in which the first of them was complete is one more.
                let allowed = i128::from(rate) * i128::from(at - read[first].0 + 1) + i128::from(held);
                prop_assert!(i128::from(sum) * 1_000 <= allowed, "{sum} bytes in {} ms", at - read[first].0);
            }
        }
        if waited_always {
            let sum: u64 = read.iter().map(|(_, bytes)| bytes).sum();
            let due = (i128::from(sum) * 1_000).div_ceil_of(i128::from(rate));
            prop_assert_eq!(i128::from(read.last().unwrap().0 - began), due, "no drift");
        }
    }

    /// The same for fetches that several threads begin, with clocks that jump to and fro: time that did not pass gives nothing.
    #[test]
    fn jumps_of_the_clock_give_no_more_than_one_bucket(
        per_minute in 1u32..10_000, jumps in proptest::collection::vec(-100_000i64..100_000, 1..100),
    ) {
        let mut lane = Lane::new(of_fetches(per_minute), 0);
        let (mut now, mut forward, mut begun) = (0i64, 0i64, 0i64);
        for jump in jumps {
            now += jump;
            forward += jump.max(0);
            while lane.waits(now).is_none() {
                lane.begin(now);
                begun += 1;
            }
            prop_assert!((begun - 1) * 60_000 <= (forward + 1) * i64::from(per_minute), "{begun} in {forward} ms");
        }
    }

    /// Bytes that were promised and given back were never there; whoever waits is told no time that lies behind.
    #[test]
    fn what_is_given_back_can_be_promised_again_and_no_more(rate in 1u64..5_000, asks in asks()) {
        let (mut with, mut without) = (Bucket::of_bytes(rate, 0), Bucket::of_bytes(rate, 0));
        let mut now = 10 * limits::THROTTLE_BURST_MS;
        for (bytes, later) in asks {
            let bytes = bytes.min(with.most());
            let before = with;
            with.promise(bytes, now);
            with.give_back(bytes, now);
            prop_assert!(with == before || with.free_at(now) == without.free_at(now));
            let at = with.promise(bytes, now);
            prop_assert_eq!(at, without.promise(bytes, now));
            prop_assert!(at >= now);
            now += later;
        }
    }
}

trait DivCeil {
    fn div_ceil_of(self, by: Self) -> Self;
}

impl DivCeil for i128 {
    fn div_ceil_of(self, by: i128) -> i128 {
        (self + by - 1).div_euclid(by)
    }
}
