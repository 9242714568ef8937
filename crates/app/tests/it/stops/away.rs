//! The database server goes away while a sync works, and comes back: the sync waits for one that is only silent, and ends with
//! one sentence when it is lost; the next one ends exactly at the tree.

use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::{Answer, Sandbox, finish};
use crate::server::Server;

/// Files of the tree: enough that the sync is not over when its first changes are seen.
const FILES: usize = 6_000;
/// Longest wait for something that has to happen.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// A tree, and a server of the test's own that may be stopped.
struct Trial {
    sandbox: Sandbox,
    server: Server,
}

/// Trials that were made.
static MADE: AtomicU64 = AtomicU64::new(0);

#[track_caller]
fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + WAIT_MAX;
    while !happened() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

impl Trial {
    fn make() -> Trial {
        let sandbox = Sandbox::sqlite();
        for n in 0..FILES {
            sandbox.write(&format!("d{}/f{n}.txt", n % 20), &format!("words of file {n}"));
        }
        // Another one for each: the port of a server that is down must not be the first choice of the next one.
        let seed = u64::from(std::process::id()) << 16 | MADE.fetch_add(1, Ordering::Relaxed);
        let server = Server::start(&sandbox.path().join("postgres"), &mut fastrand::Rng::with_seed(seed));
        Trial { sandbox, server: server.unwrap() }
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        self.command_by(&self.server.url(), arguments)
    }

    fn command_by(&self, url: &str, arguments: &[&str]) -> std::process::Command {
        self.sandbox.command(&[&["--store", url], arguments].concat())
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        finish(self.command(arguments), None)
    }

    /// A sync that has told its journal of some changes, and is in the middle of the others.
    fn begin(&self) -> Child {
        self.begin_by(&self.server.url())
    }

    fn begin_by(&self, url: &str) -> Child {
        let sync = ["sync", "root", "--json", "--to", "index", "--to", "journal:told"];
        let mut command = self.command_by(url, &sync);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let journal = self.sandbox.path().join("told");
        let put = "{\"op\":\"put\"";
        until("nothing is told", || std::fs::read_to_string(&journal).is_ok_and(|told| told.contains(put)));
        child
    }

    /// Every process of the server's: the first one, and those that it has started.
    fn processes(&self) -> Vec<Pid> {
        let lock = std::fs::read_to_string(self.server.data.join("postmaster.pid")).unwrap();
        let first: i32 = lock.lines().next().unwrap().parse().unwrap();
        let list = std::fs::read_to_string(format!("/proc/{first}/task/{first}/children")).unwrap();
        let others = list.split_whitespace().map(|pid| pid.parse().unwrap());
        std::iter::once(first).chain(others).filter_map(Pid::from_raw).collect()
    }

    /// Stops them all, the first one first so that no other is started; they hold what they hold.
    fn freeze(&self) -> Vec<Pid> {
        let first = self.processes()[0];
        kill_process(first, Signal::STOP).unwrap();
        until("the server does not stop", || is_stopped(first));
        let all = self.processes();
        for pid in &all[1..] {
            kill_process(*pid, Signal::STOP).unwrap();
            until("a process of the server does not stop", || is_stopped(*pid));
        }
        all
    }

    /// That the run in the middle of which the server went ended with one sentence, and the next one puts everything right.
    #[track_caller]
    fn converges(&mut self, lost: Child, at: &str) {
        let words = ["the database server went away", "run the same command again"];
        ended(lost).refuses(3, &words);
        let away = ["the store that --store names cannot be used", "check the URL, and that its server runs"];
        self.run(&["sync", "root", "--json"]).refuses(3, &away);
        self.server.resume().unwrap();
        let next = self.run(&["sync", "root", "--json"]).exits(0);
        assert_eq!(next.json()[0]["seen"], FILES, "{at}: {next:#?}");
        let found = self.run(&["search", "words", "--all", "--limit", "10000", "--json"]).exits(0);
        assert_eq!(found.documents().len(), FILES, "{at}");
        let quiet = self.run(&["sync", "root", "--json"]).exits(0);
        assert_eq!(quiet.json()[0]["unchanged"], FILES, "{at}");
        self.run(&["doctor"]).exits(0);
        self.run(&["verify", "index"]).exits(0);
    }
}

/// Whether a process does nothing any more. One that had ended is a zombie: the one above it, which is stopped, does not see it off.
fn is_stopped(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit(") ").next().is_none_or(|state| state.is_empty() || state.starts_with(['T', 'Z']))
}

/// Lets processes go on; one that had ended is seen off as soon as the first one goes on.
fn thaw(frozen: &[Pid]) {
    for pid in frozen {
        let _ = kill_process(*pid, Signal::CONT);
    }
}

fn ended(child: Child) -> Answer {
    let output = child.wait_with_output().unwrap();
    Answer {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn a_server_that_is_silent_for_a_while_is_waited_for() {
    let trial = Trial::make();
    let mut run = trial.begin();
    let frozen = trial.freeze();
    // It cannot end without the server; it goes on when that does.
    assert!(run.try_wait().unwrap().is_none(), "it was over before the server stopped");
    thaw(&frozen);
    let answer = ended(run).exits(0);
    assert_eq!((&answer.json()[0]["added"], answer.err.as_str()), (&FILES.into(), ""));
    assert_eq!(trial.run(&["sync", "root", "--json"]).exits(0).json()[0]["unchanged"], FILES);
}

#[test]
fn a_server_that_is_stopped_ends_the_run_with_one_sentence_and_the_next_one_converges() {
    let mut trial = Trial::make();
    let run = trial.begin();
    let frozen = trial.freeze();
    // Asked to end while it cannot, it ends as soon as it can: every connection is told so.
    kill_process(frozen[0], Signal::INT).unwrap();
    thaw(&frozen);
    let pid_file = trial.server.data.join("postmaster.pid");
    until("the server does not end", || !pid_file.exists());
    trial.server.kill().unwrap();
    trial.converges(run, "stopped");
}

#[test]
fn a_server_that_is_killed_ends_the_run_with_one_sentence_and_the_next_one_converges() {
    let mut trial = Trial::make();
    let run = trial.begin();
    trial.freeze();
    trial.server.kill().unwrap();
    trial.converges(run, "killed");
}

#[test]
fn a_server_that_stays_silent_ends_every_wait_with_one_sentence() {
    let mut trial = Trial::make();
    let url = format!("{}?answer_timeout=2", trial.server.url());
    let run = trial.begin_by(&url);
    let frozen = trial.freeze();
    // Nobody goes on with the server while this waits: its machine answers for it, so that the network says nothing.
    let words = ["has not answered for 2 seconds", "run the same command again"];
    ended(run).refuses(3, &words);
    let answer = finish(trial.command_by(&url, &["search", "words", "--all"]), None);
    answer.refuses(3, &["the store that --store names cannot be used", "has not answered for 2 seconds"]);
    thaw(&frozen);
    trial.server.resume().unwrap();
    let next = trial.run(&["sync", "root", "--json"]).exits(0);
    assert_eq!(next.json()[0]["seen"], FILES, "{next:#?}");
    assert_eq!(trial.run(&["sync", "root", "--json"]).exits(0).json()[0]["unchanged"], FILES);
    trial.run(&["doctor"]).exits(0);
}
