//! Random changes of a tree, one system call at a time, also while it is read; and what searches show of it meanwhile.
//!
//! The kernel says after each call who can read what. Three rules (design 4.20):
//! - never: what a user finds, this user could read at some time before;
//! - narrowing: after a run nothing of its job is found that was last readable before the run began, but for documents that it
//!   names as failed, waiting or kept;
//! - nothing hidden: after a quiet run that ends well, what is found is what can be read.

mod history;
mod tree;

use std::collections::{BTreeSet, HashSet};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde_json::Value;

use self::history::{History, Reading};
use self::tree::Tree;
use super::Over;
use crate::dice::Dice;
use crate::files;
use crate::people::{Accounts, Person};
use crate::sandbox::{Kept, Sandbox, finish};

/// Rounds of a world, each with up to thirty calls.
const ROUNDS: u64 = 10;
const WORLDS: u64 = 5;
/// The groups that each user is a member of.
const USERS: [&[usize]; 3] = [&[0], &[0, 1], &[]];

/// Jobs over the same tree: name, folder below the source, flags.
const JOBS: [(&str, &str, &[&str]); 4] = [
    ("whole", "", &[]),
    ("deep", "d0", &[]),
    ("texts", "", &["--include", "*.txt"]),
    ("others", "", &["--exclude", "*.txt"]),
];

/// What one search found.
struct Found {
    ended: Instant,
    /// With the job that the entry is of.
    readings: Vec<(String, Reading)>,
}

#[test]
fn nobody_ever_finds_what_was_never_theirs() {
    ingather_testkit::needs!(Users);
    let day = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() / 86_400;
    let number = |name: &str| std::env::var(name).ok().map(|number| number.parse::<u64>().expect("a number"));
    let first = number("INGATHER_TEST_FUZZ_SEED").unwrap_or(day * 1_000);
    let worlds = number("INGATHER_TEST_FUZZ_WORLDS").unwrap_or(WORLDS);
    println!("INGATHER_TEST_FUZZ_SEED={first} INGATHER_TEST_FUZZ_WORLDS={worlds}");
    let accounts = Accounts::make(2, &USERS);
    let people = accounts.people();
    for seed in first..first + worlds {
        World::new(seed, &people, accounts.groups()).live();
    }
}

struct World<'p> {
    seed: u64,
    dice: Dice,
    sandbox: Sandbox,
    people: &'p [Person],
    tree: Tree<'p>,
    history: History,
    /// Jobs that there are, by their place in [`JOBS`].
    jobs: BTreeSet<usize>,
}

impl<'p> World<'p> {
    fn new(seed: u64, people: &'p [Person], groups: &'p [String]) -> World<'p> {
        let sandbox = Sandbox::new(if seed.is_multiple_of(5) { Kept::Postgres } else { Kept::Sqlite });
        let tree = Tree::new(seed, &sandbox.root(), people, groups);
        let mut history = History::new(people);
        history.note(&tree, Instant::now());
        World { seed, dice: Dice::new(!seed), sandbox, people, tree, history, jobs: BTreeSet::new() }
    }

    fn live(mut self) {
        for round in 0..ROUNDS {
            self.tree.script.push(format!("round {round}"));
            let changes = 4 + self.dice.below(26);
            let job = self.dice.below(JOBS.len());
            match self.dice.below(5) {
                0 => self.quietly(changes, job),
                1 => self.beside_a_run(changes, job, true),
                2 if self.jobs.len() > 1 => {
                    self.delete_a_job();
                    self.beside_a_run(changes, job, false);
                }
                _ => self.beside_a_run(changes, job, false),
            }
            if self.dice.once_in(2) {
                self.come_to_rest();
            }
        }
        self.come_to_rest();
    }

    fn change(&mut self, changes: usize) {
        for _ in 0..changes {
            self.change_once();
        }
    }

    fn change_once(&mut self) {
        let began = Instant::now();
        self.tree.change();
        self.history.note(&self.tree, began);
    }

    fn quietly(&mut self, changes: usize, job: usize) {
        self.change(changes);
        let began = Instant::now();
        let Some(child) = self.start(job) else { return };
        let run = self.ended(child);
        self.judge_run(job, began, &run);
    }

    /// Changes the tree while a job runs and all users search; `kill`: the run is killed in the middle.
    fn beside_a_run(&mut self, changes: usize, job: usize, kill: bool) {
        self.change(changes / 3);
        let (over, found) = (AtomicBool::new(false), Mutex::new(Vec::new()));
        let began = Instant::now();
        let Some(child) = self.start(job) else { return };
        let kill = kill.then(|| began + Duration::from_micros(self.dice.below(120_000) as u64));
        let ask: Vec<_> = (0..self.people.len()).map(|user| self.asking(user)).collect();
        let run = std::thread::scope(|scope| {
            scope.spawn(|| {
                for user in (0..ask.len()).cycle() {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    found.lock().unwrap().push(ask[user]());
                    std::thread::park_timeout(Duration::from_millis(10));
                }
            });
            let _over = Over(&over);
            let mut child = Some(child);
            for _ in 0..changes {
                self.change_once();
                std::thread::park_timeout(Duration::from_micros(self.dice.below(3_000) as u64));
                if kill.is_some_and(|kill| Instant::now() >= kill)
                    && let Some(mut child) = child.take()
                {
                    // It may have ended by itself.
                    let _ = child.kill();
                    child.wait().unwrap();
                    self.tree.script.push("killed".to_owned());
                }
            }
            child.map(|child| self.ended(child))
        });
        for found in found.into_inner().unwrap() {
            self.judge_never(&found);
        }
        match run {
            Some(run) => self.judge_run(job, began, &run),
            None => {
                (0..self.people.len()).for_each(|user| self.judge_never(&self.asking(user)()));
                self.forget_unmade(job);
            }
        }
    }

    /// A run that was killed early has made no job.
    fn forget_unmade(&mut self, job: usize) {
        let list = self.sandbox.run(&["job", "list", "--json"]);
        if list.code != 0 || !list.json().iter().any(|line| line["job"] == JOBS[job].0) {
            self.jobs.remove(&job);
        }
    }

    fn delete_a_job(&mut self) {
        let jobs: Vec<usize> = self.jobs.iter().copied().collect();
        let job = *self.dice.pick(&jobs);
        self.jobs.remove(&job);
        self.sandbox.run(&["job", "delete", JOBS[job].0, "-q"]).exits(0);
        self.tree.script.push(format!("job delete {}", JOBS[job].0));
        (0..self.people.len()).for_each(|user| self.judge_never(&self.asking(user)()));
    }

    /// Begins a run of a job; none where its folder is not there.
    fn start(&mut self, job: usize) -> Option<Child> {
        let (name, folder, flags) = JOBS[job];
        let source = self.tree.source.join(folder);
        if !self.jobs.contains(&job) && !source.is_dir() {
            return None;
        }
        let source = source.to_str().unwrap().to_owned();
        let mut command = self.sandbox.command(&["sync", &source, "--name", name, "--json"]);
        command.args(["--delete-guard", "off", "--update"]).args(flags);
        self.jobs.insert(job);
        self.tree.script.push(format!("sync {name}"));
        Some(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// What a run says in the end, with its exit code.
    fn ended(&mut self, child: Child) -> (Value, i32) {
        let output = child.wait_with_output().unwrap();
        let code = output.status.code().unwrap_or(-1);
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(
            code == 0 || code == 1,
            "{}\n{told}{}",
            self.shown(),
            String::from_utf8_lossy(&output.stderr)
        );
        self.tree.script.push(format!("ended {code}: {}", told.trim()));
        (serde_json::from_str(told.lines().last().unwrap()).unwrap(), code)
    }

    /// A search of everything, as a user.
    fn asking(&self, user: usize) -> impl Fn() -> Found + Send + use<> {
        let mut all = vec!["search", "*", "--json", "--limit", "10000", "--as"];
        let name = self.people[user].name.clone();
        all.push(&name);
        let command: Vec<std::ffi::OsString> = {
            let command = self.sandbox.command(&all);
            std::iter::once(command.get_program()).chain(command.get_args()).map(ToOwned::to_owned).collect()
        };
        let source = format!("file://{}/", self.tree.source.display());
        move || {
            let mut again = std::process::Command::new(&command[0]);
            again.args(&command[1..]).env_remove("INGATHER_DATA").env_remove("INGATHER_STORE");
            let answer = finish(again, None);
            // Where there is no index yet, nothing is answered.
            let lines = if answer.code == 0 { answer.json() } else { Vec::new() };
            assert!(answer.code == 0 || answer.err.contains("there is no"), "{answer:?}");
            let readings = lines.iter().map(|hit| reading(hit, &source, user)).collect();
            Found { ended: Instant::now(), readings }
        }
    }

    fn judge_never(&self, found: &Found) {
        for (job, reading) in &found.readings {
            let empty = reading.text.is_empty();
            assert!(
                empty || self.history.ever(reading, found.ended),
                "{}\nnever readable, and found in job {job}: {reading:?}",
                self.shown()
            );
        }
    }

    /// What is found after a run of a job that began then.
    fn judge_run(&mut self, job: usize, began: Instant, (told, _): &(Value, i32)) {
        let name = JOBS[job].0;
        let kept = told["kept"] != 0 || told["blind"].as_array().is_some_and(|blind| !blind.is_empty());
        let below = if JOBS[job].1.is_empty() { String::new() } else { format!("{}/", JOBS[job].1) };
        let listed = self.sandbox.run(&["document", "list", name, "--json"]).exits(0).json();
        let unsettled: HashSet<String> = listed
            .iter()
            .filter(|line| line["state"] != "settled")
            .map(|line| format!("{below}{}", line["document"].as_str().unwrap()))
            .collect();
        for user in 0..self.people.len() {
            let found = self.asking(user)();
            self.judge_never(&found);
            for (_, reading) in found.readings.iter().filter(|(of, _)| of == name) {
                let document = reading.name.split('#').next().unwrap();
                let exempt = kept
                    || reading.text.is_empty()
                    || unsettled.contains(document)
                    || self.history.was_unread(&reading.name, began);
                assert!(
                    exempt || self.history.since(reading, began),
                    "{}\nlast readable before the run of {name}, and found after it: {reading:?}",
                    self.shown()
                );
            }
        }
    }

    /// Runs all jobs until they end well: then what is found is what can be read.
    fn come_to_rest(&mut self) {
        const RUNS_MAX: usize = 6;
        if self.jobs.is_empty() {
            return;
        }
        // What is closed to its owner, too, is read all the same: by root.
        let jobs: Vec<usize> = self.jobs.iter().copied().collect();
        let rests = (0..RUNS_MAX).any(|_| {
            files::settle(&self.sandbox.root());
            let codes: Vec<i32> = jobs.iter().map(|job| self.quiet_run(*job)).collect();
            codes.iter().all(|code| *code == 0)
        });
        if !rests {
            // A job whose folder was renamed is never quiet again: what it holds is kept.
            let lost = jobs.iter().any(|job| !self.tree.source.join(JOBS[*job].1).is_dir());
            assert!(lost, "{}\nthe jobs do not come to rest", self.shown());
            return;
        }
        for user in 0..self.people.len() {
            let found: BTreeSet<Reading> = self.asking(user)()
                .readings
                .into_iter()
                .map(|(_, reading)| reading)
                .filter(|reading| !reading.text.is_empty() && !self.history.is_unread(&reading.name))
                .collect();
            let is_mine = |reading: &&Reading| {
                reading.user == user && !reading.text.is_empty() && self.is_listed(&jobs, &reading.name)
            };
            let readable: BTreeSet<Reading> = self.history.now().iter().filter(is_mine).cloned().collect();
            let shown: Vec<_> = found.difference(&readable).collect();
            let hidden: Vec<_> = readable.difference(&found).collect();
            assert!(
                shown.is_empty() && hidden.is_empty(),
                "{}\nat rest, as {:?}:\nmay not read, but finds {shown:?}\nmay read, but does not find {hidden:?}",
                self.shown(),
                self.people[user]
            );
        }
    }

    fn quiet_run(&mut self, job: usize) -> i32 {
        let child = self.start(job).expect("a job that there is");
        self.ended(child).1
    }

    fn is_listed(&self, jobs: &[usize], name: &str) -> bool {
        let text = name.split('#').next().unwrap().ends_with(".txt");
        jobs.iter().any(|job| match JOBS[*job].0 {
            "whole" => true,
            "deep" => name.starts_with("d0/"),
            "texts" => text,
            _ => !text,
        })
    }

    /// The world so far.
    fn shown(&self) -> String {
        let last = self.tree.script.len().saturating_sub(150);
        format!("world {}:\n{}", self.seed, self.tree.script[last..].join("\n"))
    }
}

fn reading(hit: &Value, source: &str, user: usize) -> (String, Reading) {
    let word = |key: &str| hit[key].as_str().unwrap().to_owned();
    let uri = word("uri");
    let document = uri.strip_prefix(source).unwrap_or_else(|| panic!("{hit}"));
    let name = match word("component") {
        component if component.is_empty() => document.to_owned(),
        component => format!("{document}#{component}"),
    };
    (word("job"), Reading { user, name, text: word("snippet").trim().to_owned() })
}
