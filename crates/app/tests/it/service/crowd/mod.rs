//! Sixty-four clients who move jobs at random, all at once, while people work in the folders: no answer is one that is not described, no run is
//! lost, and afterwards all is as after any other day.
//!
//! `INGATHER_TEST_CROWD_SEED` repeats a day as far as threads allow, `INGATHER_TEST_CROWD_SECONDS` makes it longer.

mod contract;
mod described;
mod kills;
mod ledger;
mod moves;
mod repeats;
mod tree;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::{Value, json};

use self::contract::Contract;
use self::ledger::Ledger;
use self::tree::Tree;
use super::{Service, key};
use crate::dice::Dice;
use crate::sandbox::{Kept, Sandbox};
use crate::stops::upgrade::comes;

const CLIENTS: usize = 64;
/// How long they are busy, unless somebody wants it otherwise. They go on until each of `MOVES` was done.
const SECONDS: u64 = 50;
/// How much longer at most.
const LONGER: Duration = Duration::from_secs(150);
/// Lines of the log that are kept.
const LINES: usize = 2_000;
/// Moves that each day sees done at least once, however slow the machine is.
const MOVES: [&str; 10] =
    ["start", "abort", "restart", "pause", "resume", "define", "delete", "reset_seeding", "resend", "show"];
/// Longest rest of a client between two moves.
const REST_MS: usize = 100;
/// What the service may grow to, MiB: this is an unoptimised build, and its history and answers that are kept grow to their bounds.
const MEMORY_MIB_MAX: u64 = 400;

/// What is done with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nobody pauses or ends its runs.
    Steady,
    /// Anybody does anything.
    Moved,
    /// The same, and it follows the changes of its folder by itself.
    Followed,
    /// The same as `Moved`, and it is deleted and made anew.
    Deleted,
}

/// The jobs, each with its folder.
pub(super) const JOBS: &[(&str, &str, Kind)] = &[
    ("steady", "steady", Kind::Steady),
    ("still", "still", Kind::Steady),
    ("moved", "moved", Kind::Moved),
    // Its files are the other one's, too.
    ("inner", "moved/inner", Kind::Moved),
    ("other", "other", Kind::Moved),
    ("followed", "followed", Kind::Followed),
    ("deleted", "deleted", Kind::Deleted),
    ("anew", "anew", Kind::Deleted),
];

/// What all clients know.
pub(super) struct Crowd<'s> {
    pub(super) service: &'s Service<'s>,
    root: String,
    contract: Contract,
    ledger: Ledger,
    /// Set at the end, and when one of them has found something wrong.
    over: AtomicBool,
    /// Answers by operation and status or code.
    answers: Mutex<BTreeMap<String, u64>>,
    /// The last run of each job that somebody has asked about.
    held: Mutex<BTreeMap<String, i64>>,
}

/// Whoever fails ends it for all.
struct Watched<'c>(&'c AtomicBool);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl Crowd<'_> {
    /// What makes a job.
    pub(super) fn definition(&self, job: &str) -> Value {
        let (name, folder, kind) = JOBS.iter().find(|(name, ..)| *name == job).unwrap();
        let mut body = json!({ "root": format!("{}/{folder}", self.root), "name": name });
        match kind {
            Kind::Followed => body["schedule"] = json!("continuous"),
            Kind::Deleted => body["outputs"] = json!(["index", "null"]),
            Kind::Steady | Kind::Moved => {}
        }
        body
    }

    #[track_caller]
    fn answer(&self, verb: &str, path: &str, body: Option<&Value>) -> Value {
        let request = self.service.request(verb, &format!("/api/v1{path}"));
        let request = body.map_or(request.clone(), |body| request.body(body));
        let reply = request.send(self.service.address);
        assert_eq!(reply.status, 200, "{verb} {path}: {reply:#?}");
        reply.json()
    }

    /// The run that holds removals of a job, as far as somebody has heard.
    pub(super) fn last_held(&self, job: &str) -> i64 {
        self.held.lock().unwrap().get(job).copied().unwrap_or_default()
    }

    /// One of them, until it is over.
    fn client(&self, seed: u64) {
        let _watched = Watched(&self.over);
        let mut dice = Dice::new(seed);
        while !self.over.load(Ordering::Relaxed) {
            let (job, one) = moves::any(self, &mut dice);
            let (asked, reply) = moves::ask(self, &one, &mut dice);
            let code = self.contract.judge(one.operation, &reply);
            let code = code.unwrap_or_else(|wrong| panic!("{one:?}: {wrong}: {reply:#?}"));
            if let (Some(job), None) = (job, &code) {
                let answer = reply.json();
                moves::note(&self.ledger, job, asked, &one, &answer);
                if one.operation == "jobs.held" {
                    let run = answer["run"].as_i64().unwrap();
                    self.held.lock().unwrap().insert(job.to_owned(), run);
                }
            }
            let code = code.unwrap_or_else(|| "200".to_owned());
            *self.answers.lock().unwrap().entry(format!("{} {code}", one.operation)).or_default() += 1;
            std::thread::park_timeout(Duration::from_millis(dice.below(REST_MS) as u64));
        }
    }

    /// A move that nobody has been able to make so far.
    fn never_done(&self) -> Option<&'static str> {
        let answers = self.answers.lock().unwrap();
        MOVES.into_iter().find(|name| !answers.contains_key(&format!("jobs.{name} 200")))
    }

    /// Waits until nothing is under way and nothing is wanted.
    fn at_rest(&self) {
        let mut jobs = Value::Null;
        let rests = comes(|| {
            jobs = self.answer("GET", "/jobs?limit=100", None);
            jobs["jobs"].as_array().unwrap().iter().all(|job| {
                let shown = self.answer("GET", &format!("/jobs/{}", job["job"].as_str().unwrap()), None);
                shown["works"] == false && shown["state"] == "resting" && shown.get("restart").is_none()
            })
        });
        assert!(rests, "something hangs: {jobs:#}");
    }

    fn runs(&self, job: &str) -> Vec<Value> {
        let runs = self.answer("GET", &format!("/jobs/{job}/runs?limit=10000"), None);
        runs["runs"].as_array().unwrap().clone()
    }

    /// After the last move: what was promised is done.
    fn judge_runs(&self) {
        for (job, _, _) in JOBS {
            let resume = self.service.ask("POST", &format!("/api/v1/jobs/{job}/resume"));
            assert!([200, 404, 409].contains(&resume.status), "{resume:#?}");
            // A deletion that somebody has aborted goes on when somebody asks for it.
            let path = format!("/api/v1/jobs/{job}");
            let is_left = || self.service.ask("GET", &path).body.contains("\"state\":\"deleting\"");
            assert!(
                comes(|| !is_left() || self.service.ask("DELETE", &path).status == 200),
                "{job} cannot be deleted"
            );
        }
        self.at_rest();
        for (job, _, kind) in JOBS {
            if self.service.ask("GET", &format!("/api/v1/jobs/{job}")).status == 200 {
                self.ledger.judge(job, &self.runs(job), *kind == Kind::Steady);
            }
        }
    }

    /// One quiet run of each job, as nobody has changed it, and what outputs hold is what the folders hold.
    fn judge_outputs(&self, tree: &Tree) {
        for (job, _, _) in JOBS {
            let mut body = self.definition(job);
            body["source"] = json!({ "exclude": null });
            (body["update"], body["guard_off"]) = (json!(true), json!(true));
            self.answer("POST", "/jobs", Some(&body));
            let defined = comes(|| {
                let start = self.service.request("POST", &format!("/api/v1/jobs/{job}/start"));
                // A pass of the one that follows its folder may be under way.
                start.body(&json!({ "guard_off": true })).send(self.service.address).status == 200
            });
            assert!(defined, "{job} cannot be started");
        }
        self.at_rest();
        let texts = tree.texts();
        for (job, folder, _) in JOBS {
            let last = &self.runs(job)[0];
            assert_eq!(last["outcome"], "done", "{job}: {last:#}");
            let listed = self.answer("GET", &format!("/jobs/{job}/documents?limit=10000"), None);
            let mut listed: Vec<&str> = names(&listed["documents"]);
            listed.sort_unstable();
            let below = format!("{folder}/");
            let wanted: Vec<&str> = texts.keys().filter_map(|name| name.strip_prefix(&below)).collect();
            assert_eq!(listed, wanted, "the documents of {job}");
        }
        let prefix = format!("file://{}/", self.root);
        let search = |query: &str| {
            let found = self.answer("GET", &format!("/search?query={query}&limit=10000&all=true"), None);
            let hits = found["hits"].as_array().unwrap().iter();
            let mut found: Vec<String> = hits
                .map(|hit| hit["uri"].as_str().unwrap().strip_prefix(&prefix).unwrap().to_owned())
                .collect();
            found.sort();
            found
        };
        assert_eq!(search("*"), texts.keys().cloned().collect::<Vec<_>>(), "what the index holds");
        for (name, text) in &texts {
            let word = text.split(' ').nth(1).unwrap();
            assert_eq!(search(word), std::slice::from_ref(name), "who has the word {word}");
        }
        let looked = self.answer("POST", "/system/doctor", Some(&json!({})));
        let wrong: Vec<&Value> =
            looked["items"].as_array().unwrap().iter().filter(|found| found["ok"] == false).collect();
        assert_eq!(looked["answer"]["problems"], 0, "{wrong:?}");
        let verified = self.answer("POST", "/outputs/verify", Some(&json!({})));
        assert_eq!(verified["answer"]["agrees"], true, "{verified}");
    }
}

fn names(documents: &Value) -> Vec<&str> {
    documents.as_array().unwrap().iter().map(|one| one["document"].as_str().unwrap()).collect()
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|number| number.parse().expect("a number"))
}

/// Kilobytes that a process holds by itself, and how many files it has open.
fn held_by(pid: i32) -> (u64, usize) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let memory = line.trim().trim_end_matches(" kB").parse().unwrap();
    (memory, std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count())
}

/// Reads the log to its end, so that the service never waits for its reader: the lines that nobody should find in it. `last` has the latest ones.
fn read_log(
    mut told: impl BufRead + Send + 'static,
    last: Arc<Mutex<Vec<String>>>,
) -> JoinHandle<Vec<String>> {
    std::thread::spawn(move || {
        let mut wrong = Vec::new();
        let mut line = String::new();
        while told.read_line(&mut line).is_ok_and(|read| read > 0) {
            if ["panicked", "fault of this program", "cannot be looked at"]
                .iter()
                .any(|word| line.contains(word))
            {
                wrong.push(line.clone());
            }
            let mut last = last.lock().unwrap();
            if last.len() == LINES {
                last.remove(0);
            }
            last.push(std::mem::take(&mut line));
        }
        wrong
    })
}

/// A day; where it fails, what the service told last, and then once more why, since reports may show the end alone.
#[expect(clippy::print_stdout, reason = "it is for people")]
fn a_day(kept: Kept) {
    let last = Arc::default();
    let day = std::panic::catch_unwind(AssertUnwindSafe(|| one_day(kept, &last)));
    let Err(failure) = day else { return };
    last.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|line| print!("{line}"));
    let why = failure.downcast_ref::<String>().map(String::as_str);
    panic!("{}", why.or_else(|| failure.downcast_ref().copied()).unwrap_or("it failed without a word"));
}

#[expect(
    clippy::print_stdout,
    reason = "what failed can be repeated by its seed, and figures are for reports"
)]
fn one_day(kept: Kept, last: &Arc<Mutex<Vec<String>>>) {
    let today = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 86_400;
    let seed = number("INGATHER_TEST_CROWD_SEED").unwrap_or(today);
    let seconds = number("INGATHER_TEST_CROWD_SECONDS").unwrap_or(SECONDS);
    println!("INGATHER_TEST_CROWD_SEED={seed} INGATHER_TEST_CROWD_SECONDS={seconds} on {kept:?}");
    let sandbox = Sandbox::new(kept);
    let root = std::fs::canonicalize(sandbox.root()).unwrap();
    let mut dice = Dice::new(seed);
    let folders = JOBS.iter().map(|(_, folder, _)| *folder).collect();
    let mut tree = Tree::make(root.clone(), folders, &mut dice);
    let root = root.to_str().unwrap().to_owned();
    let admin = key(&sandbox, "test", &["admin"], None);
    let mut service = Service::with(&sandbox, admin, &["--root", &root]);
    let log = read_log(service.take_log(), Arc::clone(last));
    let described = service.answer("GET", "/api/v1/openapi.json");
    let crowd = Crowd {
        service: &service,
        root,
        contract: Contract::of(&described),
        ledger: Ledger::default(),
        over: AtomicBool::new(false),
        answers: Mutex::default(),
        held: Mutex::default(),
    };
    for (job, _, _) in JOBS {
        crowd.answer("POST", "/jobs", Some(&crowd.definition(job)));
    }
    let pid = service.pid().as_raw_nonzero().get();
    let (mut most, mut changes) = (held_by(pid), 0);
    std::thread::scope(|scope| {
        let _watched = Watched(&crowd.over);
        let crowd = &crowd;
        let begin = |client| scope.spawn(move || crowd.client(seed.wrapping_mul(1_000) + client + 1));
        let clients: Vec<_> = (0..CLIENTS as u64).map(begin).collect();
        let end = Instant::now() + Duration::from_secs(seconds);
        let is_open = || {
            let now = Instant::now();
            now < end || (now < end + LONGER && crowd.never_done().is_some())
        };
        while is_open() && !crowd.over.load(Ordering::Relaxed) {
            tree.change(&mut dice);
            changes += 1;
            let now = held_by(pid);
            most = (most.0.max(now.0), most.1.max(now.1));
            std::thread::park_timeout(Duration::from_millis(dice.below(40) as u64));
        }
        crowd.over.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().unwrap_or_else(|failure| std::panic::resume_unwind(failure));
        }
    });
    crowd.judge_runs();
    crowd.judge_outputs(&tree);
    assert_eq!(crowd.never_done(), None, "it was never done");
    judge_answers(kept, &crowd.answers.into_inner().unwrap(), changes, most);
    let ended = service.end(Signal::TERM);
    let wrong = log.join().unwrap();
    assert_eq!((ended.code, wrong), (143, Vec::new()));
    left_clean(&sandbox);
}

/// Says how busy it was, and that the service has kept its size; `most`: kilobytes and open files of the service.
#[expect(
    clippy::print_stdout,
    reason = "what failed can be repeated by its seed, and figures are for reports"
)]
fn judge_answers(kept: Kept, answers: &BTreeMap<String, u64>, changes: u64, most: (u64, usize)) {
    let total: u64 = answers.values().sum();
    let (memory, files) = (most.0 >> 10, most.1);
    println!(
        "{kept:?}: {total} answers, {changes} changes of files, at most {memory} MiB and {files} open files: {answers:#?}"
    );
    assert!(memory <= MEMORY_MIB_MAX, "it has grown to {memory} MiB");
}

/// What a service leaves behind when it has ended: its own files, and nothing for a moment's use.
pub(super) fn left_clean(sandbox: &Sandbox) {
    let names = |folder| -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(sandbox.temporary()), [""; 0], "temporary files");
    let mut own = names(sandbox.data());
    own.retain(|name| {
        !["identity", "index", "lock", "store.db", "store.db-shm", "store.db-wal"].contains(&name.as_str())
    });
    assert_eq!(own, [""; 0], "in the data directory");
}

#[test]
fn sixty_four_clients_at_once_break_no_promise_on_sqlite() {
    a_day(Kept::Sqlite);
}

#[test]
fn sixty_four_clients_at_once_break_no_promise_on_postgres() {
    a_day(Kept::Postgres);
}
