//! A service that is killed at any moment, again and again, while people move its jobs: the next one has every job where its people left it.
//!
//! What was answered is kept: a pause, the end of one, a run that begins, an end that takes a run back, a throttle, who is told of ends. What
//! was asked for without an answer may have been done or not. `INGATHER_TEST_KILLS` and `INGATHER_TEST_KILLS_SEED` ask for more, and for the same
//! again.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::tree::Tree;
use super::{names, number, read_log};
use crate::dice::Dice;
use crate::sandbox::{Kept, Sandbox};
use crate::service::told::notices::{appends, declared, told};
use crate::service::{Service, key};
use crate::stops::upgrade::comes;

/// Kills, unless somebody wants more.
const KILLS: u64 = 20;
/// Longest time of a service that answers until it is killed.
const KILLED_WITHIN_MS: usize = 400;
/// Longest time of one that may not have come to that.
const KILLED_EARLY_US: usize = 60_000;
/// After so many kills outputs are compared with the folders.
const COMPARED_EVERY: u64 = 10;

/// Jobs that people move, each one person's.
const MOVED: [&str; 4] = ["a", "b", "c", "d"];
/// One that follows its folder, one that begins each minute.
const BY_THEMSELVES: [(&str, &str); 2] = [("followed", "continuous"), ("minutely", "* * * * *")];

/// What a person knows of their job.
#[derive(Clone, Debug)]
struct Known {
    /// None: nobody has answered.
    paused: Option<bool>,
    wanted: Wanted,
    /// The last run that they have seen.
    run: i64,
}

/// What is to come of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// No further run; there may be one behind the last that was seen, which was stopped.
    Nothing,
    /// One behind this.
    RunAfter(i64),
    /// Nobody has answered.
    InDoubt,
}

/// A service that people use until it is killed.
struct Hands<'s> {
    service: &'s Service<'s>,
    /// When it dies, its people stop.
    dead: AtomicBool,
}

impl Hands<'_> {
    /// What is answered; none where it died before.
    fn asks(&self, verb: &str, path: &str, body: Option<&Value>) -> Option<(u16, Value)> {
        let request = self.service.request(verb, &format!("/api/v1{path}"));
        let request = body.map_or(request.clone(), |body| request.body(body));
        let Some(reply) = request.try_send(self.service.address) else {
            self.dead.store(true, Ordering::Relaxed);
            return None;
        };
        let wrong = reply.status >= 500 && reply.status != 503;
        assert!(!wrong, "{verb} {path}: {reply:#?}");
        Some((reply.status, reply.json()))
    }

    /// One person and their job.
    fn works(&self, job: &str, known: &mut Known, dice: &mut Dice) {
        while !self.dead.load(Ordering::Relaxed) && self.moves(job, known, dice).is_some() {
            std::thread::park_timeout(Duration::from_millis(dice.below(30) as u64));
        }
    }

    fn moves(&self, job: &str, known: &mut Known, dice: &mut Dice) -> Option<()> {
        let at = |path: &str| format!("/jobs/{job}{path}");
        let (status, shown) = self.asks("GET", &at(""), None)?;
        if status == 200 {
            known.run = shown["run"]["run"].as_i64().unwrap_or_default();
            assert_eq!(shown["paused"] == true, known.paused.unwrap(), "{job}: {known:?}, {shown}");
        }
        let before = known.clone();
        let mode = json!({ "mode": *dice.pick(&["full", "minimal"]) });
        match dice.below(10) {
            0..4 => {
                if known.wanted == Wanted::Nothing {
                    known.wanted = Wanted::InDoubt;
                }
                let (status, told) = self.asks("POST", &at("/start"), Some(&mode))?;
                known.wanted = match status {
                    200 => Wanted::RunAfter(before.run),
                    _ => before.wanted,
                };
                let is_paused = told["code"] == "paused";
                assert!(status == 503 || is_paused == before.paused.unwrap(), "{job}: {before:?}, {told}");
            }
            4 => {
                if known.wanted == Wanted::Nothing {
                    known.wanted = Wanted::InDoubt;
                }
                let (status, _) = self.asks("POST", &at("/restart"), Some(&mode))?;
                known.wanted = match status {
                    200 => Wanted::RunAfter(before.run),
                    _ => before.wanted,
                };
            }
            5 => {
                known.wanted = Wanted::InDoubt;
                let (status, _) = self.asks("POST", &at("/abort"), None)?;
                known.wanted = if status == 200 { Wanted::Nothing } else { before.wanted };
            }
            6 => drop(self.asks("POST", &at("/reset-seeding"), None)?),
            7 | 8 => {
                let pauses = !before.paused.unwrap();
                known.paused = None;
                let path = if pauses { "/pause" } else { "/resume" };
                let (status, told) = self.asks("POST", &at(path), None)?;
                assert!([200, 503].contains(&status), "{job}: {before:?}, {told}");
                known.paused = Some(if status == 200 { pauses } else { !pauses });
            }
            _ => drop(self.asks("GET", "/search?query=apple&limit=10&all=true", None)?),
        }
        Some(())
    }
}

/// What is asked of a service that is not killed, until it has room.
#[track_caller]
fn asked(service: &Service<'_>, verb: &str, path: &str, body: Option<&Value>) -> Value {
    let request = service.request(verb, &format!("/api/v1{path}"));
    let request = body.map_or(request.clone(), |body| request.body(body));
    let mut reply = request.send(service.address);
    while reply.status == 503 {
        reply = request.send(service.address);
    }
    reply.is(200).json()
}

fn shown(service: &Service<'_>, job: &str) -> Value {
    asked(service, "GET", &format!("/jobs/{job}"), None)
}

fn rests(shown: &Value) -> bool {
    shown["works"] == false && shown["state"] == "resting" && shown.get("restart").is_none()
}

/// One store, one source, and what is known of its jobs.
struct Trial<'s> {
    sandbox: &'s Sandbox,
    flags: Vec<String>,
    key: String,
    root: String,
    tree: Tree,
    known: BTreeMap<&'static str, Known>,
    /// Rules that may be those of the connection: one, or two where nobody has answered.
    throttles: Vec<Value>,
    /// Runs that rest because they were interrupted too often.
    rested: u64,
    /// What services have told lately, for whoever looks why something is wrong.
    told: Arc<Mutex<Vec<String>>>,
    /// Of the service that serves.
    log: Option<JoinHandle<Vec<String>>>,
}

impl Drop for Trial<'_> {
    #[expect(
        clippy::print_stderr,
        reason = "the reason of a failure is in the log of a service that is gone"
    )]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.told.lock().unwrap().concat());
        }
    }
}

impl<'s> Trial<'s> {
    fn serve(&mut self) -> Service<'s> {
        let flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        let mut service = Service::with(self.sandbox, self.key.clone(), &flags);
        self.log = Some(read_log(service.take_log(), self.told.clone()));
        service
    }

    /// A service has ended.
    fn ended(&mut self) {
        let wrong = self.log.take().unwrap().join().unwrap();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    /// One that may be killed before it answers anybody.
    fn dies_early(&self, dice: &mut Dice) {
        let mut words = vec!["serve", "--listen", "127.0.0.1:0"];
        words.extend(self.flags.iter().map(String::as_str));
        let mut command = self.sandbox.command(&words);
        command.env("TMPDIR", self.sandbox.temporary());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let end = Instant::now() + Duration::from_micros(dice.below(KILLED_EARLY_US) as u64);
        while Instant::now() < end {
            std::thread::park_timeout(Duration::from_micros(100));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// People and a person in the folders are at work, until the service is killed.
    fn is_killed(&mut self, service: &mut Service<'s>, dice: &mut Dice) {
        let hands = Hands { service, dead: AtomicBool::new(false) };
        let end = Instant::now() + Duration::from_millis(dice.below(KILLED_WITHIN_MS) as u64);
        let throttles = Mutex::new(std::mem::take(&mut self.throttles));
        std::thread::scope(|scope| {
            for (job, known) in &mut self.known {
                let (hands, mut dice) = (&hands, Dice::new(dice.below(usize::MAX >> 1) as u64));
                scope.spawn(move || hands.works(job, known, &mut dice));
            }
            let mut of_throttles = Dice::new(dice.below(usize::MAX >> 1) as u64);
            let (declaring, rules) = (&hands, &throttles);
            scope.spawn(move || while declares(declaring, rules, &mut of_throttles).is_some() {});
            while Instant::now() < end {
                self.tree.change(dice);
                std::thread::park_timeout(Duration::from_millis(dice.below(10) as u64));
            }
            kill_process(hands.service.pid(), Signal::KILL).unwrap();
        });
        self.throttles = throttles.into_inner().unwrap();
        service.ended();
        self.ended();
    }

    /// The next service has every job where its people left it, and does what was promised.
    fn judge(&mut self, service: &Service<'_>) {
        let declared = asked(service, "GET", "/declaration", None);
        let throttle = &declared["repositories"]["files"]["settings"]["throttle"];
        assert!(self.throttles.contains(throttle), "{throttle} is none of {:?}", self.throttles);
        self.throttles = vec![throttle.clone()];
        for (job, known) in &mut self.known {
            let found = shown(service, job);
            let is_paused = found["paused"] == true;
            assert!(known.paused.is_none_or(|paused| paused == is_paused), "{job}: {known:?}, {found:#}");
            known.paused = Some(is_paused);
        }
        for (job, known) in &mut self.known {
            if known.wanted != Wanted::Nothing && known.paused == Some(true) {
                assert!(comes(|| shown(service, job)["works"] == false), "{job} works in its pause");
                asked(service, "POST", &format!("/jobs/{job}/resume"), None);
                known.paused = Some(false);
            }
            let Wanted::RunAfter(before) = known.wanted else { continue };
            let mut found = Value::Null;
            let came = comes(|| {
                found = shown(service, job);
                let hold = found["hold"].as_str().unwrap_or_default();
                if hold.contains("times in a row") {
                    self.rested += 1;
                    asked(service, "POST", &format!("/jobs/{job}/start"), None);
                    // The run that was interrupted is what was found.
                    return false;
                }
                rests(&found) && found["run"]["run"].as_i64() > Some(before)
            });
            assert!(came, "a run is lost: {job}: {known:?}, {found:#}");
            assert_eq!(found["run"]["outcome"], "done", "{job}: {known:?}, {found:#}");
        }
        // Whoever looks after schedules has looked at all jobs by now.
        for (job, known) in &mut self.known {
            let mut found = Value::Null;
            assert!(
                comes(|| {
                    found = shown(service, job);
                    rests(&found)
                        || found["hold"].as_str().is_some_and(|hold| hold.contains("times in a row"))
                        || (known.wanted == Wanted::Nothing
                            && found["paused"] == true
                            && found["works"] == false)
                }),
                "{job} hangs: {known:?}, {found:#}"
            );
            if known.wanted == Wanted::Nothing {
                let run = found["run"]["run"].as_i64().unwrap_or_default();
                assert!(run <= known.run + 1, "a run came back: {job}: {known:?}, {found:#}");
                assert_eq!(found["state"], "resting", "{job}: {known:?}, {found:#}");
            }
            known.run = found["run"]["run"].as_i64().unwrap_or_default();
            known.wanted = Wanted::Nothing;
        }
    }

    /// After a quiet run of each, outputs hold what the folders hold.
    fn compare(&mut self, service: &Service<'_>) {
        for (job, known) in &mut self.known {
            if known.paused == Some(true) {
                asked(service, "POST", &format!("/jobs/{job}/resume"), None);
                known.paused = Some(false);
            }
        }
        let texts = self.tree.texts();
        for job in MOVED.iter().chain(BY_THEMSELVES.iter().map(|(job, _)| job)) {
            let path = format!("/api/v1/jobs/{job}/start");
            let start = || service.request("POST", &path).body(&json!({ "guard_off": true }));
            // A run that was interrupted may be about to go on by itself.
            assert!(comes(|| start().send(service.address).status == 200), "{job} cannot be started");
            assert!(comes(|| rests(&shown(service, job))), "{job} hangs");
            let found = shown(service, job);
            assert_eq!(found["run"]["outcome"], "done", "{found:#}");
            let listed = asked(service, "GET", &format!("/jobs/{job}/documents?limit=10000"), None);
            let listed: BTreeSet<&str> = names(&listed["documents"]).into_iter().collect();
            let below = format!("{job}/");
            let wanted: BTreeSet<&str> = texts.keys().filter_map(|name| name.strip_prefix(&below)).collect();
            assert_eq!(listed, wanted, "the documents of {job}");
        }
        let found = asked(service, "GET", "/search?query=*&limit=10000&all=true", None);
        let prefix = format!("file://{}/", self.root);
        let hits = found["hits"].as_array().unwrap().iter();
        let found: BTreeSet<&str> =
            hits.map(|hit| hit["uri"].as_str().unwrap().strip_prefix(&prefix).unwrap()).collect();
        assert_eq!(found, texts.keys().map(String::as_str).collect(), "what the index holds");
        let mut looked = Value::Null;
        let is_well = || {
            looked = asked(service, "POST", "/system/doctor", Some(&json!({})));
            looked["answer"]["problems"] == 0
        };
        // A notice that was being sent when its process died is told as one that waits.
        assert!(comes(is_well), "the doctor: {looked:#}");
        let verified = asked(service, "POST", "/outputs/verify", Some(&json!({})));
        assert_eq!(verified["answer"]["agrees"], true, "{verified:#}");
        for (job, known) in &mut self.known {
            known.run = shown(service, job)["run"]["run"].as_i64().unwrap();
        }
    }

    /// Each end of a run of a job was told to whoever is to be told.
    fn judge_notices(&self, service: &Service<'_>) {
        let told_of = || -> BTreeSet<i64> {
            told(self.sandbox)
                .iter()
                .filter(|told| told["job"] == "a")
                .filter_map(|told| told["run"].as_i64())
                .collect()
        };
        let runs = asked(service, "GET", "/jobs/a/runs?limit=10000", None);
        let runs = runs["runs"].as_array().unwrap().iter();
        let ended: BTreeSet<i64> =
            runs.filter(|run| run["outcome"] == "done").map(|run| run["run"].as_i64().unwrap()).collect();
        assert!(
            comes(|| told_of().is_superset(&ended)),
            "nobody was told of {:?}",
            ended.difference(&told_of()).collect::<Vec<_>>()
        );
    }
}

/// Somebody declares other throttles, none of which hinders anybody.
fn declares(hands: &Hands<'_>, throttles: &Mutex<Vec<Value>>, dice: &mut Dice) -> Option<()> {
    if hands.dead.load(Ordering::Relaxed) {
        return None;
    }
    let wanted = json!([{ "fetches_per_minute": 1_000_000 + dice.below(1_000_000) }]);
    let of_files = json!({ "kind": "filesystem", "settings": { "throttle": wanted } });
    throttles.lock().unwrap().push(wanted.clone());
    let body = json!({ "declaration": { "version": 1, "repositories": { "files": of_files } } });
    let (status, answer) = hands.asks("POST", "/declaration", Some(&body))?;
    match status {
        200 => *throttles.lock().unwrap() = vec![wanted],
        503 => drop(throttles.lock().unwrap().pop()),
        _ => panic!("{answer:#}"),
    }
    std::thread::park_timeout(Duration::from_millis(dice.below(50) as u64));
    Some(())
}

#[expect(
    clippy::print_stdout,
    reason = "what failed can be repeated by its seed, and figures are for reports"
)]
fn kills(kept: Kept) {
    let (first, wanted) = (number("INGATHER_TEST_KILLS_SEED").unwrap_or(7), number("INGATHER_TEST_KILLS"));
    let wanted = wanted.unwrap_or(KILLS);
    println!("INGATHER_TEST_KILLS_SEED={first} INGATHER_TEST_KILLS={wanted} on {kept:?}");
    let began = Instant::now();
    let sandbox = Sandbox::new(kept);
    let root = std::fs::canonicalize(sandbox.root()).unwrap().to_str().unwrap().to_owned();
    let mut dice = Dice::new(first);
    let folders = MOVED.iter().copied().chain(BY_THEMSELVES.iter().map(|(job, _)| *job)).collect();
    let tree = Tree::make(sandbox.root(), folders, &mut dice);
    let admin = key(&sandbox, "test", &["admin"], None);
    let ops = json!({ "ops": { "command": appends(&sandbox, "true") } });
    let flags = [&["--root".to_owned(), root.clone()], &declared(&sandbox, &ops)[..]].concat();
    let fresh = Known { paused: Some(false), wanted: Wanted::Nothing, run: 0 };
    let known = MOVED.iter().map(|job| (*job, fresh.clone())).collect();
    let throttles = vec![Value::Null];
    let (told, log) = (Arc::default(), None);
    let mut trial =
        Trial { sandbox: &sandbox, flags, key: admin, root, tree, known, throttles, rested: 0, told, log };
    let mut service = trial.serve();
    for (job, schedule) in MOVED.iter().map(|job| (*job, "none")).chain(BY_THEMSELVES) {
        let mut body = json!({ "root": format!("{}/{job}", trial.root), "name": job, "schedule": schedule });
        if job == "a" {
            body["notify"] = json!(["ops:finished"]);
        }
        asked(&service, "POST", "/jobs", Some(&body));
    }
    let mut killed = 0;
    while killed < wanted {
        trial.is_killed(&mut service, &mut dice);
        killed += 1;
        while dice.once_in(3) {
            trial.dies_early(&mut dice);
            killed += 1;
        }
        service = trial.serve();
        trial.judge(&service);
        if killed % COMPARED_EVERY == 0 || killed >= wanted {
            trial.compare(&service);
        }
    }
    trial.judge_notices(&service);
    let minutely = shown(&service, "minutely");
    let since = super::ledger::now() - minutely["run"]["started_at"].as_i64().unwrap();
    assert!(since < 150_000, "the schedule has begun nothing for {since} ms: {minutely:#}");
    println!(
        "{kept:?}: {killed} kills in {} s, {} runs rested after three interruptions in a row",
        began.elapsed().as_secs(),
        trial.rested
    );
    assert_eq!(service.end(Signal::TERM).code, 143);
    trial.ended();
    super::left_clean(&sandbox);
}

#[test]
fn a_service_that_is_killed_at_any_moment_has_every_job_where_its_people_left_it_on_sqlite() {
    kills(Kept::Sqlite);
}

#[test]
fn a_service_that_is_killed_at_any_moment_has_every_job_where_its_people_left_it_on_postgres() {
    kills(Kept::Postgres);
}
