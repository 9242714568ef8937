//! `cargo x simulate`: plays seeds; a failing one is shrunk and printed as a trace and as a scenario.
#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use ingather_simulator::play::{self, trace, wrong};
use ingather_simulator::shrink::shrink;
use ingather_simulator::worlds;

const USE: &str =
    "use: cargo x simulate [--seeds N] [--from S] [--seed S] [--repeat N] [--at-once N] [--play FILE]

  --seeds N     how many seeds (100); --from S: the first (0)
  --seed S      that one alone, with a trace
  --repeat N    a seed decides the deeds, not how threads take turns: plays it up to N times until it fails
  --at-once N   worlds at a time (8)
  --play FILE   plays the text of a file, with a trace";

/// Plays that shrinking may cost.
const SHRINK_PLAYS: usize = 400;

struct Arguments {
    from: u64,
    seeds: u64,
    seed: Option<u64>,
    repeat: u64,
    at_once: usize,
    play: Option<String>,
}

fn arguments() -> Option<Arguments> {
    let mut given = Arguments { from: 0, seeds: 100, seed: None, repeat: 1, at_once: 8, play: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        let number = value.parse::<u64>();
        match word.as_str() {
            "--seeds" => given.seeds = number.ok()?,
            "--from" => given.from = number.ok()?,
            "--seed" => given.seed = Some(number.ok()?),
            "--repeat" => given.repeat = number.ok()?,
            "--at-once" => given.at_once = usize::try_from(number.ok()?).ok()?,
            "--play" => given.play = Some(value),
            _ => return None,
        }
    }
    Some(given)
}

fn main() -> ExitCode {
    let Some(given) = arguments() else {
        eprintln!("{USE}");
        return ExitCode::from(2);
    };
    if let Some(file) = &given.play {
        return match std::fs::read_to_string(file) {
            Ok(text) => one("the text", &text, given.repeat),
            Err(error) => {
                eprintln!("{file}: {error}");
                ExitCode::from(2)
            }
        };
    }
    match given.seed {
        Some(seed) => one(&format!("seed {seed}"), &worlds::of_seed(seed), given.repeat),
        None => many(&given),
    }
}

fn one(name: &str, text: &str, repeat: u64) -> ExitCode {
    for _ in 0..repeat.max(1) {
        let found = wrong(text);
        if !found.is_empty() {
            println!("{name} failed\n{}", found.concat());
            tell(text);
            return ExitCode::FAILURE;
        }
    }
    println!("{}\n{name}: nothing is wrong", trace(text));
    ExitCode::SUCCESS
}

fn many(given: &Arguments) -> ExitCode {
    let done = AtomicU64::new(0);
    let (played, failures) = play::seeds(given.from, given.seeds, given.at_once, &|_| {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(100) {
            println!("{done} seeds");
        }
    });
    for failure in &failures {
        println!("seed {} failed\n{}", failure.seed, failure.found.concat());
    }
    if let Some(failure) = failures.first() {
        tell(&worlds::of_seed(failure.seed));
        println!("repeat it with: cargo x simulate --seed {}", failure.seed);
        return ExitCode::FAILURE;
    }
    println!("{played} seeds from {} on: nothing is wrong", given.from);
    ExitCode::SUCCESS
}

/// Prints what is left of a failing world when it is shrunk, and how it goes.
fn tell(text: &str) {
    let short = shrink(text, SHRINK_PLAYS, &wrong);
    println!("what happens:\n{}", trace(&short));
    println!("as a scenario, for crates/engine/tests/scenarios:\n\n{short}");
}
