//! Drives `ingather serve` as programs do: real requests over HTTP to the real program.

mod acts;
mod askers;
mod bounds;
mod client;
mod continuous;
mod crowd;
mod definitions;
mod http;
mod keys;
mod page;
mod roles;
mod runs;
mod same;
mod schedules;
mod status;
mod tls;
mod told;
mod watchers;
mod writer;

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::sandbox::{Answer, Sandbox};

use http::{Reply, Request};

/// Longest time until it tells what it is waited for.
const WAIT: Duration = Duration::from_secs(300);

/// A service that runs; killed with this.
struct Service<'s> {
    _outlived: &'s Sandbox,
    child: Child,
    told: BufReader<ChildStderr>,
    address: SocketAddr,
    /// The key of an administrator.
    key: String,
}

/// A new API key.
#[track_caller]
fn key(sandbox: &Sandbox, name: &str, roles: &[&str], account: Option<&str>) -> String {
    let mut arguments = vec!["api-key", "create", name];
    arguments.extend(roles.iter().flat_map(|role| ["--role", role]));
    arguments.extend(account.iter().flat_map(|account| ["--account", account]));
    sandbox.run(&arguments).exits(0).out.trim().to_owned()
}

/// A line of the log without its time.
fn said(line: &str) -> &str {
    line.split_once("Z ").map_or(line, |(_, said)| said)
}

impl<'s> Service<'s> {
    /// Makes a key for an administrator, and serves.
    #[track_caller]
    fn start(sandbox: &'s Sandbox) -> Service<'s> {
        let key = key(sandbox, "test", &["admin"], None);
        Service::with(sandbox, key, &[])
    }

    #[track_caller]
    fn with(sandbox: &'s Sandbox, key: String, flags: &[&str]) -> Service<'s> {
        let mut service = Service::on("127.0.0.1:0", sandbox, flags);
        service.key = key;
        service
    }

    #[track_caller]
    fn on(address: &str, sandbox: &'s Sandbox, flags: &[&str]) -> Service<'s> {
        Service::begun_by(&[], address, sandbox, flags)
    }

    /// The same, begun by another program with these arguments.
    #[track_caller]
    fn begun_by(by: &[&str], address: &str, sandbox: &'s Sandbox, flags: &[&str]) -> Service<'s> {
        let mut command = Command::new("env");
        let rate = "--searches-per-second";
        // Tests look again and again until something comes.
        let often = if flags.contains(&rate) { &[][..] } else { &[rate, "100000"] };
        let program = sandbox.command(&[&["serve", "--listen", address], often, flags].concat());
        // Also where these tests were started so that signals are ignored.
        command
            .arg("--default-signal=INT,TERM,HUP")
            .args(by)
            .arg(program.get_program())
            .args(program.get_args());
        command
            .current_dir(sandbox.path())
            .env("TMPDIR", sandbox.temporary())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let (mut before, end) = (String::new(), Instant::now() + WAIT);
        let address = loop {
            let Some(line) = next_line(&mut told, end) else { panic!("it does not serve: {before}") };
            // In a log for programs it is a field.
            let told = line.split_once("\"message\":\"").map_or_else(|| said(&line), |(_, told)| told);
            if let Some(rest) = told.strip_prefix("listening on http") {
                let (_, rest) = rest.split_once("://").unwrap();
                break rest.split(' ').next().unwrap().parse().unwrap();
            }
            before.push_str(&line);
        };
        Service { child, told, address, key: String::new(), _outlived: sandbox }
    }

    /// What it tells from now on, for whoever reads all of it meanwhile.
    fn take_log(&mut self) -> BufReader<ChildStderr> {
        let nothing = std::fs::File::open("/dev/null").unwrap();
        std::mem::replace(&mut self.told, BufReader::new(std::os::fd::OwnedFd::from(nothing).into()))
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Asks as the administrator.
    fn ask(&self, verb: &str, path: &str) -> Reply {
        self.request(verb, path).send(self.address)
    }

    fn request(&self, verb: &str, path: &str) -> Request {
        Request::new(verb, path).key(&self.key)
    }

    /// What a request that succeeds answers.
    #[track_caller]
    fn answer(&self, verb: &str, path: &str) -> Value {
        self.ask(verb, path).is(200).json()
    }

    /// Waits for a line of its log that begins so.
    #[track_caller]
    fn tells(&mut self, beginning: &str) -> String {
        let (mut before, end) = (String::new(), Instant::now() + WAIT);
        loop {
            let Some(line) = next_line(&mut self.told, end) else {
                panic!("`{beginning}` was never said: {before}");
            };
            if said(&line).starts_with(beginning) {
                return said(&line).to_owned();
            }
            before.push_str(&line);
        }
    }

    /// Sends a signal and waits for the end.
    fn end(mut self, signal: Signal) -> Answer {
        kill_process(self.pid(), signal).unwrap();
        self.ended()
    }

    /// Waits for the end.
    fn ended(&mut self) -> Answer {
        let (mut out, mut err) = (String::new(), String::new());
        self.told.read_to_string(&mut err).unwrap();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        Answer { code, out, err }
    }
}

/// The next line that a service tells; none where it has ended, or none comes in time.
fn next_line(told: &mut BufReader<ChildStderr>, end: Instant) -> Option<String> {
    if told.buffer().is_empty() {
        let longest = end.saturating_duration_since(Instant::now()).try_into().unwrap();
        let mut one = [PollFd::new(told.get_ref(), PollFlags::IN)];
        if poll(&mut one, Some(&longest)).unwrap() == 0 {
            return None;
        }
    }
    let mut line = String::new();
    (told.read_line(&mut line).unwrap() > 0).then_some(line)
}

impl Drop for Service<'_> {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
