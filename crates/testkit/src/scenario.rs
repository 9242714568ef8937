//! Scenarios as text: what the source holds, what is asked for, what must follow. One deed per line, `#` begins a remark.
//!
//! ```text
//! output one                       also: output one committing | plain
//! job docs to=one                  also: root=d/ guard=off guard=10/2 compare=content stage={"decline":"x"}
//! source a.txt v1, sub/b.txt v1    words of files and folders: see `deeds`
//! run docs                         also: run docs minimal dry-run guard-off accept-devices
//! expect balance: added 2
//! expect output one: a.txt v1, sub/b.txt v1
//! crash after send                 also: before|mid|after PLACE [N]; the next deed dies there, then a new process opens
//! ```

mod deeds;
mod expectations;

use ingather_engine::remove::Removed;
use ingather_engine::{EngineError, Report};

use crate::database::{BOTH, Kind};
use crate::world::World;

/// What the last deed answered.
#[derive(Debug, Default)]
pub(crate) enum Answer {
    #[default]
    Nothing,
    Ran(Report),
    Removed(Removed),
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
    let mut play = Play { world: World::new(kind), answer: Answer::Nothing };
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
            Err(told) => found.push(format!("{number}: {line}\n  {told}\n")),
        }
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
            self.deed(word, rest.trim())?;
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
