//! Programs that are killed at any moment lose nothing: the next one brings every output to what the tree holds.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::dice::Dice;
use crate::sandbox::{Answer, Sandbox};

/// The project's kill test is a command of the program, so that everybody can repeat it.
fn survives(rounds: u64, seed: u64, more: &[&str], victims: &[&str]) {
    let sandbox = Sandbox::sqlite();
    let (rounds_text, seed_text) = (rounds.to_string(), seed.to_string());
    let folder = sandbox.path().to_str().unwrap().to_owned();
    let flags =
        ["selftest", "kill", "--json", "--rounds", &rounds_text, "--seed", &seed_text, "--folder", &folder];
    let answer: Answer = sandbox.run(&[&flags[..], more].concat()).exits(0);
    let told = &answer.json()[0];
    assert_eq!(told["kills"], rounds, "{answer:?}");
    let by = told["by"].as_object().unwrap();
    for victim in victims {
        assert!(by.keys().any(|what| what.starts_with(victim)), "{victim} was never killed: {answer:?}");
    }
    assert!(!sandbox.path().join("data").exists(), "it works in a folder of its own");
}

#[test]
fn twenty_kills_on_sqlite_lose_nothing() {
    survives(20, 7, &[], &["Program"]);
}

#[test]
fn ten_kills_of_program_and_server_on_postgres_lose_nothing() {
    survives(10, 11, &["--postgres"], &["Server", "Both"]);
}

/// Rounds in which a deletion is killed, at least.
const DELETIONS: usize = 5;
/// Rounds after which a kill must have met a deletion that had begun.
const DELETIONS_MAX: usize = 100;

#[test]
fn a_killed_deletion_of_a_job_goes_on() {
    let sandbox = Sandbox::sqlite();
    for n in 0..250 {
        sandbox.write(&format!("d{}/f{n}.txt", n % 7), "some words");
    }
    let mut dice = Dice::new(13);
    let (mut half_done, mut aim) = (0, Aim::within(Duration::from_millis(150)));
    for round in 0..DELETIONS_MAX {
        if round >= DELETIONS && half_done > 0 {
            break;
        }
        sandbox.synced(&[]);
        let delete = ["job", "delete", "root", "-q"];
        let micros = aim.micros(&mut dice);
        let killed = killed_after(sandbox.command(&delete), Duration::from_micros(micros));
        let left = sandbox.run(&["job", "list", "--json"]).exits(0).json();
        let at = format!("round {round}, killed after {micros} µs: {killed}, left {left:?}");
        let begun = left.first().is_none_or(|job| job["state"] != "resting");
        aim.learns(begun);
        if begun && !left.is_empty() {
            half_done += 1;
            sandbox.run(&["sync", "root"]).refuses(2, &["is being deleted", "ingather job delete root"]);
        }
        if !left.is_empty() {
            sandbox.run(&delete).exits(0);
        }
        assert_eq!(sandbox.everything(), [""; 0], "{at}");
        assert_eq!(sandbox.run(&["job", "list", "--json"]).exits(0).out, "", "{at}");
    }
    assert!(half_done > 0, "no kill met a deletion that had begun");
}

/// When to kill: within a time that follows how fast this machine is just now.
pub(crate) struct Aim {
    within: usize,
}

impl Aim {
    /// Longest time that is of use, microseconds.
    const MAX: usize = 10_000_000;

    pub(crate) fn within(first: Duration) -> Aim {
        Aim { within: first.as_micros() as usize }
    }

    pub(crate) fn micros(&self, dice: &mut Dice) -> u64 {
        1 + dice.below(self.within) as u64
    }

    /// Kills later where one came before there was anything to meet, and else sooner.
    pub(crate) fn learns(&mut self, met: bool) {
        self.within = if met { self.within * 4 / 5 + 1 } else { (self.within * 5 / 4).min(Self::MAX) };
    }
}

/// Starts a command and kills it; whether it had not ended by itself.
pub(crate) fn killed_after(mut command: Command, time: Duration) -> bool {
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
