//! The seeds that are played before every change is taken.

use ingather_simulator::play::{self, Seeds};

/// Seeds of one check.
const SEEDS: u64 = 200;

#[test]
fn two_hundred_worlds_show_nothing_wrong() {
    let (played, failures) = play::seeds(&Seeds::of(0, SEEDS), &|_| {});
    for failure in &failures {
        eprintln!(
            "seed {}: see `cargo x simulate --seed {}`\n{}",
            failure.seed,
            failure.seed,
            failure.found.concat()
        );
    }
    assert!(failures.is_empty());
    assert_eq!(played, SEEDS);
}
