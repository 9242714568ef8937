//! Plays the worlds of many seeds, several at once: they wait more than they work.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ingather_testkit::database::Kind;
use ingather_testkit::scenario::{play_and_tell, play_on};

use crate::worlds;

/// A seed whose world showed something wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What was wrong, each with its line.
    pub found: Vec<String>,
}

/// Plays a text: what was wrong.
pub fn wrong(text: &str) -> Vec<String> {
    catch_unwind(AssertUnwindSafe(|| play_on(Kind::Sqlite, text))).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned()));
        vec![format!("it panicked: {}\n", said.unwrap_or_default())]
    })
}

/// Plays a text: each line with what it led to.
pub fn trace(text: &str) -> String {
    let mut lines = String::new();
    let mut number = 0;
    let played = catch_unwind(AssertUnwindSafe(|| {
        play_and_tell(Kind::Sqlite, text, &mut |line, told| {
            number += 1;
            lines.push_str(&format!("{number:>3} {line}\n"));
            if !told.is_empty() {
                lines.push_str(&format!("    -> {told}\n"));
            }
        })
    }));
    lines + &played.unwrap_or_else(|_| vec!["it panicked\n".to_owned()]).concat()
}

/// Plays seeds from `from` on until `seeds` were played, or one failed: how many were played, and the failures.
pub fn seeds(from: u64, seeds: u64, at_once: usize, played: &(dyn Fn(u64) + Sync)) -> (u64, Vec<Failure>) {
    let next = AtomicU64::new(0);
    let failures: Mutex<Vec<Failure>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while failures.lock().is_ok_and(|failures| failures.is_empty()) {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    if nth >= seeds {
                        return;
                    }
                    let seed = from + nth;
                    let found = wrong(&worlds::of_seed(seed));
                    if !found.is_empty()
                        && let Ok(mut failures) = failures.lock()
                    {
                        failures.push(Failure { seed, found });
                    }
                    played(seed);
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap_or_default();
    failures.sort_by_key(|failure| failure.seed);
    (next.into_inner().min(seeds), failures)
}
