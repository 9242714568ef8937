//! Scenarios as text: what the source holds, what is asked for, what must follow. One step per line, `#` begins a remark.
//!
//! ```text
//! output one                       also: output one committing | plain
//! job docs to=one                  also: root=d/ guard=off guard=10/2 schedule=every_15m compare=content keep=extracted stage={"decline":"x"}
//! source a.txt v1, sub/b.txt v1    words of files and folders: see `steps`
//! site seeds a, a v1 leads:b       words of pages that lead to each other: see `site`
//! run docs                         also: run docs minimal dry-run guard-off accept-devices
//! together docs, other             runs of several jobs in one process at the same time
//! expect balance: added 2
//! expect output one: a.txt v1, sub/b.txt v1
//! crash after send                 also: before|mid|after PLACE [N] [power K]; the next step dies there, then a new process
//!                                  opens; with the power, what was not synced is lost but for some commits
//! takeover after intent            another process takes the lease there; `standstill`: one of another host, while this one stands still
//!                                  for longer than its lease lasts
//! turns 7                          three workers, and one of many orders in which threads take turns; the first line, else one worker
//! run docs paused                  meanwhile a person pauses the job and lets it go on, three times
//! erase a.txt [from docs]          a person erases a file, from all jobs or from one; `readmit a.txt [into docs]` takes that back
//! run docs erasing a.txt           meanwhile a person erases it from all jobs
//! resend docs [one]                outputs are sent again what they hold of a job; `reset docs`: its next run reads everything again
//! start docs [minimal]             a person has a run begin, which is waited for; also pause, resume, abort, restart docs [minimal]
//! serve                            the service does what it does by itself: goes on with what was cut off, begins what is due
//! meanwhile anna before read 2 pause docs   in the middle of what the service does next, at a place as `crash` has it, a person says so;
//!                                  `meanwhile anna then resume docs`: behind that
//! backup | restore | power K       the store is copied, put back, or loses power between two steps
//! backup one | restore one         the same for an output that commits or is told; `all`: store and outputs together
//! push docs a v1, b gone           clients push into a source: see `pushes`
//! watch                            from here on every step is judged: see `invariants`
//! quiet                            all is put right, runs until nothing changes, and is judged: see `quiet`
//! ```

mod calendar;
mod changes;
mod convergence;
mod dated;
mod erasing;
mod expectations;
mod faults;
mod invariants;
mod ledger;
mod moves;
mod of_sites;
mod oracle;
mod pushes;
mod reader;
mod sight;
mod site;
mod steps;

use ingather_engine::remove::Removed;
use ingather_engine::{EngineError, Report};

use crate::database::{BOTH, Kind};
use crate::together::erasing::ErasedFrom;
use crate::world::World;

const TURNS: &str = "turns ";

/// What the last step answered.
#[derive(Debug, Default)]
pub(crate) enum Answer {
    #[default]
    Nothing,
    Ran(Report),
    Removed(Removed),
    /// So many documents are sent again.
    Resent(u64),
    /// How far the erasing has come in each job.
    Erased(Vec<ErasedFrom>),
    /// What a client was answered.
    Called(String),
    Failed(String),
}

impl Answer {
    fn of<T>(result: Result<T, EngineError>, answer: fn(T) -> Answer) -> Answer {
        result.map_or_else(|error| Answer::Failed(error.to_string()), answer)
    }
}

/// A scenario being played.
pub(crate) struct Play {
    pub(crate) world: World,
    pub(crate) answer: Answer,
    /// Every step is judged.
    watching: bool,
    invariants: invariants::Invariants,
    /// What people have erased, as outputs and readers have to show it.
    erased: erasing::Ledger,
    /// What people have asked of jobs.
    moves: moves::Moves,
    /// What jobs over the site may have reached of it.
    readers: reader::Readers,
    /// What clients have pushed.
    pushes: pushes::Pushes,
    serving: moves::Serving,
    /// Times in the inventory may contradict each other.
    clock_was_set_back: bool,
    /// The source changed in the middle of the last run, which may have looked before.
    changed_meanwhile: bool,
    /// What the judges found, and nobody was told yet.
    found: Vec<String>,
}

/// Plays a text on both databases.
///
/// # Panics
/// When an expectation is not met, or a line cannot be understood, with file, line and both texts.
pub fn play(file: &str, text: &str) {
    for kind in BOTH {
        let found = play_on(kind, text);
        assert!(
            found.is_empty(),
            "on {kind:?}\n{}",
            found.iter().map(|f| format!("{file}:{f}")).collect::<String>()
        );
    }
}

/// Plays a text on one database: what differs, each with its line.
pub fn play_on(kind: Kind, text: &str) -> Vec<String> {
    play_and_tell(kind, text, &mut |_, _| {})
}

/// The same text with another order in which threads take turns.
pub fn with_turns(text: &str, turns: u64) -> String {
    let lines = text.lines().filter(|line| !line.starts_with(TURNS));
    std::iter::once(format!("{TURNS}{turns}").as_str()).chain(lines).map(|line| format!("{line}\n")).collect()
}

/// Plays a text on one database, and tells after each line what it led to.
pub fn play_and_tell(kind: Kind, text: &str, tell: &mut dyn FnMut(&str, &str)) -> Vec<String> {
    let turns = text.lines().next().and_then(|line| line.strip_prefix(TURNS)?.parse().ok());
    let world = || turns.map_or_else(|| World::new(kind), |_| World::with_workers(kind));
    match kind {
        Kind::Sqlite => in_turns(turns.unwrap_or_default(), || play_in(world(), text, tell)),
        // Its server lets threads wait for each other where no seed can see it.
        Kind::Postgres => play_in(world(), text, tell),
    }
}

#[cfg(feature = "crash-points")]
fn in_turns<T>(seed: u64, play: impl FnOnce() -> T) -> T {
    ingather_store::turns::seeded::play(seed, play)
}

#[cfg(not(feature = "crash-points"))]
fn in_turns<T>(_seed: u64, play: impl FnOnce() -> T) -> T {
    play()
}

fn play_in(world: World, text: &str, tell: &mut dyn FnMut(&str, &str)) -> Vec<String> {
    let mut play = Play {
        world,
        answer: Answer::Nothing,
        watching: false,
        invariants: invariants::Invariants::default(),
        erased: erasing::Ledger::default(),
        moves: moves::Moves::default(),
        readers: reader::Readers::default(),
        pushes: pushes::Pushes::default(),
        serving: moves::Serving::default(),
        clock_was_set_back: false,
        changed_meanwhile: false,
        found: Vec::new(),
    };
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split(" # ").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let number = number + 1;
        match play.line(line) {
            Ok(None) => {}
            Ok(Some((expected, actual))) => {
                found.push(format!("{number}: {line}\n  expected: {expected}\n  actual:   {actual}\n"));
            }
            Err(told) => found.push(format!("{number}: {line}\n  mistake: {told}\n")),
        }
        tell(line, &play.told(line));
        found.extend(play.found.drain(..).map(|told| format!("{number}: {line}\n  {told}\n")));
        for violation in play.violations() {
            found.push(format!("{number}: {line}\n  an output was promised otherwise: {violation}\n"));
        }
    }
    found
}

impl Play {
    /// Plays one line; expected and actual text when they differ.
    fn line(&mut self, line: &str) -> Result<Option<(String, String)>, String> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        if word != "expect" {
            self.watched(word, rest.trim())?;
            return Ok(None);
        }
        let (what, expected) = rest.split_once(':').ok_or("an expectation has a colon")?;
        let actual = self.actual(what.trim())?;
        let expected = expected.trim();
        let met = match what.trim() {
            "error" => actual.contains(expected) && (expected.is_empty() == actual.is_empty()),
            _ => actual == if expected.is_empty() { "nothing" } else { expected },
        };
        Ok((!met).then(|| (expected.to_owned(), actual)))
    }

    /// Does a step and judges it, once that was asked for.
    fn watched(&mut self, word: &str, rest: &str) -> Result<(), String> {
        self.watching |= word == "watch";
        let asks = matches!(
            word,
            "run" | "delete" | "confirm" | "erase" | "readmit" | "start" | "restart" | "serve"
        );
        self.note_outputs();
        let before = (self.watching && asks).then(|| self.before(rest));
        let reading = self.before_reading();
        let was_sound = self.begin_pushes();
        self.step(word, rest)?;
        self.read(reading, (word, rest));
        self.note_source();
        self.note_outputs();
        self.learn_pushes(was_sound);
        if self.watching
            && !matches!(word, "output" | "job" | "source" | "site" | "meanwhile" | "fault" | "quiet")
        {
            self.judge(before.as_ref(), word, rest);
        }
        Ok(())
    }

    fn note_source(&mut self) {
        self.invariants.note(&crate::script_repository::locked(&self.world.source));
        crate::together::site::site(&self.world, |site| self.invariants.note_site(site));
    }

    /// What a line led to, for a person.
    fn told(&self, line: &str) -> String {
        let word = line.split(' ').next().unwrap_or_default();
        let asks = [
            "run", "together", "delete", "confirm", "erase", "readmit", "quiet", "start", "restart", "serve",
            "push", "delta",
        ];
        if !asks.contains(&word) {
            return String::new();
        }
        let mut told = match &self.answer {
            Answer::Nothing => String::new(),
            Answer::Ran(report) => {
                let error = report.error.as_deref().map_or(String::new(), |error| format!("; {error}"));
                format!("{}{error}", expectations::run_counts(&report.counts))
            }
            Answer::Removed(removed) => format!("{removed:?}"),
            Answer::Resent(documents) => format!("{documents} to be sent again"),
            Answer::Erased(jobs) => erasing::told(jobs),
            Answer::Called(told) => told.clone(),
            Answer::Failed(error) => error.clone(),
        };
        for output in self.world.shelves.keys() {
            let entries = self.world.entries(output);
            let held: Vec<String> =
                entries.iter().map(|(name, entry)| format!("{name} {}", entry.text)).collect();
            told.push_str(&format!("\n    {output}: {}", held.join(", ")));
        }
        told
    }

    fn violations(&self) -> Vec<String> {
        let shelves = self.world.shelves.values();
        shelves
            .flat_map(|shelf| std::mem::take(&mut crate::memory_output::locked(shelf).violations))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_told_with_its_line_and_both_texts() {
        let text =
            "output one\njob docs to=one\nsource a.txt v1\nrun docs\n# remark\nexpect output one: a.txt v2\n";
        let found = play_on(Kind::Sqlite, text);
        assert_eq!(found, ["6: expect output one: a.txt v2\n  expected: a.txt v2\n  actual:   a.txt v1\n"]);
    }

    #[test]
    fn a_line_that_nobody_understands_is_no_success() {
        for line in [
            "dance",
            "source a.txt purple",
            "expect weather: fine",
            "run nobody\nexpect error:",
            "output x y",
        ] {
            assert!(!play_on(Kind::Sqlite, line).is_empty(), "{line}");
        }
    }
}
