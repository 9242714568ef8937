//! The seeds that are played before every change is taken.

use std::process::Command;

use ingather_simulator::play::{self, Seeds};

/// Seeds that are the same at every commit.
const FIXED: u64 = 200;
/// Seeds that are new at each commit, and the same for everybody who tests it.
const OF_THE_COMMIT: u64 = 300;

fn show_nothing_wrong(seeds: &Seeds) {
    let (played, failures) = play::seeds(seeds, &|_, _| {});
    for failure in &failures {
        eprintln!(
            "seed {}: see `cargo x simulate --seed {}`\n{}",
            failure.seed,
            failure.seed,
            failure.found.concat()
        );
    }
    assert!(failures.is_empty());
    assert_eq!(played, seeds.count);
}

/// The first seed of the commit that is checked out; of no commit where there is no repository.
fn first_of_the_commit() -> u64 {
    let told = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let commit = told.map(|told| String::from_utf8_lossy(&told.stdout).trim().to_owned());
    commit.ok().and_then(|commit| u64::from_str_radix(&commit, 16).ok()).unwrap_or(FIXED)
}

#[test]
fn two_hundred_worlds_show_nothing_wrong() {
    show_nothing_wrong(&Seeds::of(0, FIXED));
}

#[test]
fn three_hundred_worlds_of_this_commit_show_nothing_wrong() {
    let first = first_of_the_commit();
    eprintln!("{OF_THE_COMMIT} seeds from {first} on");
    show_nothing_wrong(&Seeds::of(first, OF_THE_COMMIT));
}
