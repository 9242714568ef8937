//! Plays the worlds of many seeds, several at once: they wait more than they work.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ingather_testkit::database::Kind;
use ingather_testkit::scenario::{play_and_tell, play_on, with_turns};

use crate::worlds;

/// A seed whose world showed something wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What was wrong, each with its line.
    pub found: Vec<String>,
}

/// Which seeds are played, and how.
#[derive(Clone, Copy, Debug)]
pub struct Seeds {
    /// The first one.
    pub from: u64,
    /// How many.
    pub count: u64,
    /// Worlds at a time.
    pub at_once: usize,
    /// Each tenth world is played so often, in other orders of threads; 1: once, as all others.
    pub repeat: u64,
    /// Only those whose worlds have a site, and what pages do besides.
    pub walks: bool,
    /// Only those in whose worlds clients push.
    pub pushes: bool,
    /// The database.
    pub kind: Kind,
    /// Failures after which no further world is begun.
    pub failures_max: usize,
    /// Time after which no further world is begun.
    pub until: Option<Instant>,
}

impl Seeds {
    /// So many seeds, once, on SQLite, until one fails.
    pub fn of(from: u64, count: u64) -> Seeds {
        Seeds {
            from,
            count,
            at_once: 8,
            repeat: 1,
            walks: false,
            pushes: false,
            kind: Kind::Sqlite,
            failures_max: 1,
            until: None,
        }
    }

    fn wrong(&self, seed: u64) -> Vec<String> {
        let text = worlds::of_seed(seed);
        let repeats = seed.is_multiple_of(10) && self.repeat > 1;
        let most = if repeats { self.repeat } else { 1 };
        wrong_in_orders(self.kind, &text, most).map_or_else(Vec::new, |(_, found)| found)
    }
}

/// Plays a text: what was wrong.
pub fn wrong(kind: Kind, text: &str) -> Vec<String> {
    wrong_in(|| play_on(kind, text))
}

/// Plays a text as it is, and in other orders of threads, at most so often: the text of the first one in which something was wrong, and
/// what.
pub fn wrong_in_orders(kind: Kind, text: &str, most: u64) -> Option<(String, Vec<String>)> {
    let others = (1..most).map(|turns| with_turns(text, turns));
    let mut all = std::iter::once(text.to_owned()).chain(others);
    all.find_map(|text| {
        let found = wrong(kind, &text);
        (!found.is_empty()).then_some((text, found))
    })
}

fn wrong_in(play: impl FnOnce() -> Vec<String>) -> Vec<String> {
    catch_unwind(AssertUnwindSafe(play)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|said| (*said).to_owned()));
        vec![format!("it panicked: {}\n", said.unwrap_or_default())]
    })
}

/// Plays a text: each line with what it led to.
pub fn trace(kind: Kind, text: &str) -> String {
    let mut lines = String::new();
    let mut number = 0;
    let played = catch_unwind(AssertUnwindSafe(|| {
        play_and_tell(kind, text, &mut |line, told| {
            number += 1;
            lines.push_str(&format!("{number:>3} {line}\n"));
            if !told.is_empty() {
                lines.push_str(&format!("    -> {told}\n"));
            }
        })
    }));
    lines + &played.unwrap_or_else(|_| vec!["it panicked\n".to_owned()]).concat()
}

/// Plays seeds, several at a time: how many were played, and the failures. `played` is told of each, and what is wrong with it.
pub fn seeds(seeds: &Seeds, played: &(dyn Fn(u64, &[String]) + Sync)) -> (u64, Vec<Failure>) {
    let (next, begun) = (AtomicU64::new(0), AtomicU64::new(0));
    let fits =
        |seed: &u64| (!seeds.walks || worlds::walks(*seed)) && (!seeds.pushes || worlds::has_pushes(*seed));
    let done = AtomicU64::new(0);
    let failures: Mutex<Vec<Failure>> = Mutex::default();
    // clock: how long worlds are begun; what happens in them goes by their own time.
    let in_time = || seeds.until.is_none_or(|until| Instant::now() < until);
    let goes_on = || failures.lock().is_ok_and(|failures| failures.len() < seeds.failures_max) && in_time();
    std::thread::scope(|scope| {
        for _ in 0..seeds.at_once {
            scope.spawn(|| {
                while goes_on() {
                    if begun.fetch_add(1, Ordering::Relaxed) >= seeds.count {
                        return;
                    }
                    let tried = || seeds.from + next.fetch_add(1, Ordering::Relaxed);
                    let Some(seed) = std::iter::repeat_with(tried).find(fits) else { return };
                    let found = seeds.wrong(seed);
                    done.fetch_add(1, Ordering::Relaxed);
                    played(seed, &found);
                    if !found.is_empty()
                        && let Ok(mut failures) = failures.lock()
                    {
                        failures.push(Failure { seed, found });
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap_or_default();
    failures.sort_by_key(|failure| failure.seed);
    (done.into_inner(), failures)
}
