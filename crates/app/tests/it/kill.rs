//! A sync that is killed at any moment loses nothing: the next one brings every output to what the tree holds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::dice::Dice;
use crate::sandbox::{Answer, Counts, Kept, Sandbox};

/// The journal beside the index: what it tells must add up to the tree, too.
const JOURNAL: &str = "changes.jsonl";

#[test]
fn twenty_kills_on_sqlite_lose_nothing() {
    rounds(Kept::Sqlite, 20, 7);
}

#[test]
fn five_kills_on_postgres_lose_nothing() {
    rounds(Kept::Postgres, 5, 11);
}

fn rounds(kept: Kept, rounds: u64, seed: u64) {
    let mut world = World::new(kept, seed);
    let begun = Instant::now();
    world.whole(&format!("{kept:?}, seed {seed}, at first"));
    let longest = begun.elapsed();
    for round in 1..=rounds {
        let at = format!("{kept:?}, seed {seed}, round {round}");
        world.change();
        let micros = 1 + world.dice.below(longest.as_micros() as usize) as u64;
        let killed = world.killed_after(Duration::from_micros(micros));
        if world.dice.once_in(3) {
            world.change();
        }
        world.whole(&format!("{at}, killed after {micros} µs: {killed}"));
    }
}

struct World {
    sandbox: Sandbox,
    dice: Dice,
    /// Content by name below the root.
    files: BTreeMap<String, String>,
    written: usize,
}

impl World {
    fn new(kept: Kept, seed: u64) -> World {
        let mut world =
            World { sandbox: Sandbox::new(kept), dice: Dice::new(seed), files: BTreeMap::new(), written: 0 };
        for n in 0..250 {
            world.write(&format!("d{}/e{}/f{n}.txt", n % 7, n % 3));
        }
        world
    }

    fn write(&mut self, name: &str) {
        self.written += 1;
        let text = format!("content{} of a file", self.written);
        self.sandbox.write(name, &text);
        self.files.insert(name.to_owned(), text);
    }

    /// Files written, removed, renamed and closed, folders renamed and removed.
    fn change(&mut self) {
        for _ in 0..10 + self.dice.below(60) {
            let names: Vec<String> = self.files.keys().cloned().collect();
            let name = self.dice.pick(&names).clone();
            let path = self.sandbox.root().join(&name);
            match self.dice.below(12) {
                0..4 => self.write(&name),
                4..7 => {
                    let new =
                        format!("d{}/n{}/g{}.txt", self.dice.below(9), self.dice.below(3), self.written);
                    self.write(&new);
                }
                7 => {
                    std::fs::remove_file(path).unwrap();
                    self.files.remove(&name);
                }
                8 => {
                    self.written += 1;
                    let new = format!("moved{}.txt", self.written);
                    std::fs::rename(path, self.sandbox.root().join(&new)).unwrap();
                    let text = self.files.remove(&name).unwrap();
                    self.files.insert(new, text);
                }
                9 => {
                    let mode = *self.dice.pick(&[0o600, 0o644, 0o640]);
                    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
                        .unwrap();
                }
                10 => self.rename_folder(&name),
                _ if self.files.len() > 200 && self.dice.once_in(3) => self.remove_folder(&name),
                _ => {}
            }
        }
    }

    fn rename_folder(&mut self, name: &str) {
        let Some((folder, _)) = name.split_once('/') else { return };
        self.written += 1;
        let new = format!("folder{}", self.written);
        std::fs::rename(self.sandbox.root().join(folder), self.sandbox.root().join(&new)).unwrap();
        let files = std::mem::take(&mut self.files);
        let below = format!("{folder}/");
        let renamed = |name: String| match name.strip_prefix(&below) {
            Some(rest) => format!("{new}/{rest}"),
            None => name,
        };
        self.files = files.into_iter().map(|(name, text)| (renamed(name), text)).collect();
    }

    fn remove_folder(&mut self, name: &str) {
        let Some((folder, _)) = name.rsplit_once('/') else { return };
        std::fs::remove_dir_all(self.sandbox.root().join(folder)).unwrap();
        let below = format!("{folder}/");
        self.files.retain(|name, _| !name.starts_with(&below));
    }

    fn arguments(&self) -> [&'static str; 8] {
        ["sync", "root", "--json", "--delete-guard", "off", "--to", "index", "-q"]
    }

    fn start(&self) -> Child {
        let mut command = self.sandbox.command(&self.arguments());
        command.args(["--to", "journal:changes.jsonl"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Starts a sync and kills it; whether it had not ended by itself.
    fn killed_after(&self, time: Duration) -> bool {
        let mut child = self.start();
        let end = Instant::now() + time;
        while Instant::now() < end {
            if child.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::park_timeout(Duration::from_micros(200));
        }
        child.kill().unwrap();
        child.wait().unwrap().code().is_none()
    }

    fn sync(&self, at: &str) -> Counts {
        let output = self.start().wait_with_output().unwrap();
        let answer = Answer {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        assert_eq!(answer.code, 0, "{at}: {answer:#?}");
        Counts::of(&answer.json()[0])
    }

    /// Runs to the end; then everything is as the tree is, and another run changes nothing.
    fn whole(&mut self, at: &str) {
        self.sync(at);
        let hits = self.sandbox.run(&["search", "*", "--all", "--limit", "10000", "--json"]).exits(0).json();
        let text = |hit: &Value| hit["snippet"].as_str().unwrap().to_owned();
        let name = |hit: &Value| hit["document"].as_str().unwrap().to_owned();
        let found: Vec<(String, String)> = hits.iter().map(|hit| (name(hit), text(hit))).collect();
        self.equals(found, &format!("{at}: the index"));
        self.equals(self.journal(), &format!("{at}: the journal"));
        let listed = self.sandbox.run(&["document", "list", "root", "--json"]).exits(0).json();
        assert_eq!(listed.len(), self.files.len(), "{at}: the inventory");
        assert!(listed.iter().all(|line| line["state"] == "settled"), "{at}: {listed:?}");
        let names: Vec<String> = self.files.keys().cloned().collect();
        let text = self.files[self.dice.pick(&names)].clone();
        let word = text.split(' ').next().unwrap();
        assert_eq!(self.sandbox.find(word).len(), 1, "{at}: a search for {word}");
        let before = self.sandbox.path().join(JOURNAL).metadata().unwrap().len();
        let again = self.sync(at);
        let unchanged = BTreeMap::from([("unchanged".to_owned(), self.files.len() as u64)]);
        assert_eq!(again.0, unchanged, "{at}: another run");
        assert_eq!(
            self.sandbox.path().join(JOURNAL).metadata().unwrap().len(),
            before,
            "{at}: nothing is sent again"
        );
    }

    fn equals(&self, mut found: Vec<(String, String)>, at: &str) {
        found.sort();
        let wanted: Vec<(String, String)> = self.files.clone().into_iter().collect();
        let lost: Vec<_> = wanted.iter().filter(|file| !found.contains(file)).collect();
        let left: Vec<_> = found.iter().filter(|file| !wanted.contains(file)).collect();
        assert!(lost.is_empty() && left.is_empty(), "{at}: lost {lost:?}, left over {left:?}");
        assert_eq!(found.len(), wanted.len(), "{at}: told twice");
    }

    /// What the journal adds up to.
    fn journal(&self) -> Vec<(String, String)> {
        let path: PathBuf = self.sandbox.path().join(JOURNAL);
        let mut held = BTreeMap::new();
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("a torn line: {line}"));
            let id = line["id"].as_str().unwrap().to_owned();
            match line["op"].as_str().unwrap() {
                "put" => drop(held.insert(id, line["fields"]["body"].as_str().unwrap().to_owned())),
                "delete" => drop(held.remove(&id)),
                op => assert_eq!(op, "access"),
            }
        }
        let root = format!("file://{}/", self.sandbox.root().display());
        held.into_iter().map(|(id, text)| (id.strip_prefix(&root).unwrap().to_owned(), text)).collect()
    }
}
