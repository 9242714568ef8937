//! Who could read what, and when: the kernel is asked after each call that changes the tree.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Instant;

use super::tree::{Member, Tree};
use crate::people::Person;

/// A text in a document, or in something in it (`name#member`), for a user by number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Reading {
    pub(super) user: usize,
    pub(super) name: String,
    pub(super) text: String,
}

/// When a reading was possible: from the call that made it so, until the end of the one that ended it.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: Instant,
    last: Option<Instant>,
}

/// Asks the kernel, as one user.
struct Judge {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Judge {
    fn of(person: &Person) -> Judge {
        const OPEN: &str = r#"while IFS= read -r f; do
            if [ "$f" = . ]; then echo .; else { true <"$f"; } 2>/dev/null && echo "$f"; fi; done; true"#;
        let mut command = person.command(Path::new("sh"));
        command.args(["-c", OPEN]).current_dir("/").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (asks, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Judge { child, asks, answers: BufReader::new(answers) }
    }

    fn opens(&mut self, files: &[PathBuf]) -> HashSet<PathBuf> {
        let list: String = files.iter().map(|path| format!("{}\n", path.display())).collect();
        self.asks.write_all((list + ".\n").as_bytes()).unwrap();
        let lines = self.answers.by_ref().lines().map(|line| line.unwrap());
        lines.take_while(|line| line != ".").map(PathBuf::from).collect()
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All that each user could ever read.
pub(super) struct History {
    judges: Vec<Judge>,
    spans: HashMap<Reading, Span>,
    now: HashSet<Reading>,
    /// Members that could not be read at some time, by name, and until when: what is found of them is of an earlier day.
    unread: HashMap<String, Option<Instant>>,
}

impl History {
    pub(super) fn new(people: &[Person]) -> History {
        let judges = people.iter().map(Judge::of).collect();
        History { judges, spans: HashMap::new(), now: HashSet::new(), unread: HashMap::new() }
    }

    /// Takes down who can read what after a call that began at `since`.
    pub(super) fn note(&mut self, tree: &Tree, since: Instant) {
        let files = tree.files();
        let mut now = HashSet::new();
        let mut unread = HashSet::new();
        let contents: Vec<Vec<Member>> = files.iter().map(|path| tree.texts(path)).collect();
        for (user, judge) in self.judges.iter_mut().enumerate() {
            let open = judge.opens(&files);
            for (path, texts) in files.iter().zip(&contents) {
                let name = tree.name(path);
                for member in texts {
                    let name = format!("{name}{}", member.suffix);
                    match &member.text {
                        None => drop(unread.insert(name)),
                        Some(text) if open.contains(path) => {
                            now.insert(Reading { user, name, text: text.clone() });
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        let ended = Instant::now();
        for (name, until) in &mut self.unread {
            if !unread.contains(name) {
                until.get_or_insert(ended);
            }
        }
        self.unread.extend(unread.into_iter().map(|name| (name, None)));
        for reading in self.now.difference(&now) {
            self.spans.get_mut(reading).unwrap().last = Some(ended);
        }
        for reading in &now {
            self.spans.entry(reading.clone()).or_insert(Span { first: since, last: None }).last = None;
        }
        self.now = now;
    }

    /// Whether this could be read at some time before `end`.
    pub(super) fn ever(&self, reading: &Reading, end: Instant) -> bool {
        self.spans.get(reading).is_some_and(|span| span.first <= end)
    }

    /// Whether this could be read at some time after `begin`.
    pub(super) fn since(&self, reading: &Reading, begin: Instant) -> bool {
        self.spans.get(reading).is_some_and(|span| span.last.is_none_or(|last| last >= begin))
    }

    /// Whether this member cannot be read now.
    pub(super) fn is_unread(&self, name: &str) -> bool {
        self.unread.get(name).is_some_and(Option::is_none)
    }

    /// Whether this member could not be read at some time after `begin`, when a run may have met it.
    pub(super) fn was_unread(&self, name: &str, begin: Instant) -> bool {
        self.unread.get(name).is_some_and(|until| until.is_none_or(|until| until >= begin))
    }

    /// What can be read now.
    pub(super) fn now(&self) -> &HashSet<Reading> {
        &self.now
    }
}
