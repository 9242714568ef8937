//! `cargo x simulate`: plays seeds; a failing one is shrunk and printed as a trace and as a scenario.
#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ingather_simulator::play::{self, Seeds, trace, wrong, wrong_in_orders};
use ingather_simulator::shrink::shrink;
use ingather_simulator::worlds;
use ingather_testkit::database::Kind;

const USE: &str =
    "use: cargo x simulate [--seeds N] [--from S | --fresh] [--minutes M] [--repeat N] [--postgres] [--walks] [--pushes]
                         [--at-once N]
       cargo x simulate --seed S | --play FILE [--repeat N]

  --seeds N     how many seeds (100); --from S: the first (0)
  --fresh       the first is drawn from the clock, so that nobody has repaired anything against them
  --minutes M   no further world is begun after so long
  --repeat N    each tenth world is played N times, with other orders in which threads take turns. With --seed or --play: that
                world, until it fails. On PostgreSQL no seed decides the turns: there threads wait here and there
  --postgres    on the cluster of INGATHER_TEST_POSTGRES: scripts/postgres.sh cargo x simulate --postgres
  --walks       only those of these worlds whose pages wait for events, are too far, hand something down, are named, or have dates
  --pushes      only those of these worlds in which clients push
  --at-once N   worlds at a time (8)
  --seed S      that one alone, with a trace
  --play FILE   plays the text of a file, with a trace";

/// Plays that shrinking may cost.
const SHRINK_PLAYS: usize = 400;
/// Failures after which no further world is begun.
const FAILURES_MAX: usize = 20;

struct Arguments {
    seeds: Seeds,
    seed: Option<u64>,
    play: Option<String>,
}

fn arguments() -> Option<Arguments> {
    let mut seeds = Seeds { failures_max: FAILURES_MAX, ..Seeds::of(0, 100) };
    let mut given = (None, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--fresh" => {
                // clock: only to draw seeds that were never played.
                seeds.from = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_millis() as u64;
                continue;
            }
            "--postgres" => {
                seeds.kind = Kind::Postgres;
                continue;
            }
            "--walks" => {
                seeds.walks = true;
                continue;
            }
            "--pushes" => {
                seeds.pushes = true;
                continue;
            }
            _ => {}
        }
        let value = words.next()?;
        let number = value.parse::<u64>();
        match word.as_str() {
            "--seeds" => seeds.count = number.ok()?,
            "--from" => seeds.from = number.ok()?,
            "--seed" => given.0 = Some(number.ok()?),
            "--repeat" => seeds.repeat = number.ok()?.max(1),
            "--at-once" => seeds.at_once = usize::try_from(number.ok()?).ok()?,
            // clock: how long worlds are begun; what happens in them goes by their own time.
            "--minutes" => seeds.until = Instant::now().checked_add(Duration::from_secs(60 * number.ok()?)),
            "--play" => given.1 = Some(value),
            _ => return None,
        }
    }
    let (seed, play) = given;
    Some(Arguments { seeds, seed, play })
}

fn main() -> ExitCode {
    let Some(given) = arguments() else {
        eprintln!("{USE}");
        return ExitCode::from(2);
    };
    if let Some(file) = &given.play {
        return match std::fs::read_to_string(file) {
            Ok(text) => one("the text", &text, &given.seeds),
            Err(error) => {
                eprintln!("{file}: {error}");
                ExitCode::from(2)
            }
        };
    }
    match given.seed {
        Some(seed) => one(&format!("seed {seed}"), &worlds::of_seed(seed), &given.seeds),
        None => many(&given.seeds),
    }
}

fn one(name: &str, text: &str, seeds: &Seeds) -> ExitCode {
    let Some((text, found)) = wrong_in_orders(seeds.kind, text, seeds.repeat) else {
        println!("{}\n{name}: nothing is wrong", trace(seeds.kind, text));
        return ExitCode::SUCCESS;
    };
    println!("{name} failed\n{}", found.concat());
    tell(seeds.kind, &text);
    ExitCode::FAILURE
}

fn many(seeds: &Seeds) -> ExitCode {
    println!("seeds from {} on", seeds.from);
    let done = AtomicU64::new(0);
    // A long play may be ended before its end: what has failed by then is known.
    let (played, failures) = play::seeds(seeds, &|seed, found| {
        if !found.is_empty() {
            println!("seed {seed} failed\n{}", found.concat());
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(1_000) {
            println!("{done} seeds");
        }
    });
    if let Some(failure) = failures.first() {
        tell(seeds.kind, &worlds::of_seed(failure.seed));
        println!(
            "{played} seeds from {} on: {} failed: {:?}; repeat one with: cargo x simulate --seed {}",
            seeds.from,
            failures.len(),
            failures.iter().map(|failure| failure.seed).collect::<Vec<u64>>(),
            failure.seed
        );
        return ExitCode::FAILURE;
    }
    println!("{played} seeds from {} on: nothing is wrong", seeds.from);
    ExitCode::SUCCESS
}

/// Prints what is left of a failing world when it is shrunk, and how it goes.
fn tell(kind: Kind, text: &str) {
    let short = shrink(text, SHRINK_PLAYS, &|text| wrong(kind, text));
    println!("what happens:\n{}", trace(kind, &short));
    println!("as a scenario, for crates/engine/tests/scenarios:\n\n{short}");
}
