//! A sync that is killed at any moment loses nothing: the next one brings every output to what the tree holds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::dice::Dice;
use crate::sandbox::{Counts, Kept, Sandbox, finish};

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
    world.whole(&format!("{kept:?}, seed {seed}, at first"));
    // How long a run of some changes takes; the first one takes longer.
    world.change();
    let mut usual = world.whole(&format!("{kept:?}, seed {seed}, after changes"));
    let mut killed_ones = 0;
    while killed_ones < rounds {
        let at = format!("{kept:?}, seed {seed}, kill {}", killed_ones + 1);
        world.change();
        let micros = 1 + world.dice.below(usual.as_micros() as usize) as u64;
        let killed = killed_after(world.command(), Duration::from_micros(micros));
        // What was confirmed is there for readers, before anybody puts anything right.
        world.sandbox.run(&["job", "list"]).exits(0);
        assert!(!world.sandbox.everything().is_empty(), "{at}");
        if world.dice.once_in(3) {
            world.change();
        }
        let took = world.whole(&format!("{at}, killed after {micros} µs: {killed}"));
        // A run that ended by itself does not count; the next one gets half the time, so that this comes to an end.
        killed_ones += u64::from(killed);
        usual = if killed { took } else { (usual / 2).max(Duration::from_micros(1)) };
    }
}

#[test]
fn a_killed_deletion_of_a_job_goes_on() {
    let mut world = World::new(Kept::Sqlite, 13);
    for round in 0..5 {
        world.sync("before the deletion");
        let micros = 1 + world.dice.below(150_000) as u64;
        let delete = ["job", "delete", "root", "-q"];
        let killed = killed_after(world.sandbox.command(&delete), Duration::from_micros(micros));
        let left = world.sandbox.run(&["job", "list", "--json"]).exits(0).json();
        let at = format!("round {round}, killed after {micros} µs: {killed}, left {left:?}");
        if left.first().is_some_and(|job| job["state"] != "resting") {
            world
                .sandbox
                .run(&["sync", "root"])
                .refuses(2, &["is being deleted", "ingather job delete root"]);
        }
        if !left.is_empty() {
            world.sandbox.run(&delete).exits(0);
        }
        assert_eq!(world.sandbox.everything(), [""; 0], "{at}");
        assert_eq!(world.sandbox.run(&["job", "list", "--json"]).exits(0).out, "", "{at}");
    }
}

/// Starts a command and kills it; whether it had not ended by itself.
fn killed_after(mut command: Command, time: Duration) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
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

    fn command(&self) -> Command {
        let flags = ["sync", "root", "--json", "-q", "--delete-guard", "off", "--to", "index"];
        let mut command = self.sandbox.command(&flags);
        command.args(["--to", "journal:changes.jsonl"]);
        command
    }

    fn sync(&self, at: &str) -> Counts {
        let answer = finish(self.command(), None);
        assert_eq!(answer.code, 0, "{at}: {answer:#?}");
        Counts::of(&answer.json()[0])
    }

    /// Runs to the end, and tells how long that took; then everything is as the tree is, and another run changes nothing.
    fn whole(&mut self, at: &str) -> Duration {
        let begun = Instant::now();
        self.sync(at);
        let took = begun.elapsed();
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
        took
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
