//! The program as a service, and a client that asks it over one connection.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::measure::{Cost, pause};
use crate::{Bench, Result};

/// Longest wait for anything, after which the row has failed.
pub(crate) const LONGEST: Duration = Duration::from_secs(600);
/// Time between two looks at a job that is waited for, where its time counts.
const LOOK: Duration = Duration::from_millis(1);
/// The same where its processor time counts, of which each look takes a share.
const RARE_LOOK: Duration = Duration::from_millis(250);

/// A service that is ended with this.
pub(crate) struct Service {
    child: Child,
    address: SocketAddr,
    key: String,
}

impl Drop for Service {
    fn drop(&mut self) {
        // By itself, so that it lets the right to write go. It may have ended.
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id() as i32) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let _ = self.child.wait();
    }
}

impl Service {
    /// Starts one on a data directory, with `flags` of `serve` and another store than SQLite where one is named.
    pub(crate) fn start(bench: &Bench, data: &str, store: Option<&str>, flags: &[&str]) -> Result<Service> {
        let program = || {
            let mut program = Command::new(&bench.program);
            program.arg("--data").arg(bench.path(data));
            program.args(store.iter().flat_map(|url| [OsStr::new("--store"), OsStr::new(url)]));
            program
        };
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        // A data directory may have had a service before.
        let name = format!("bench-{}", STARTED.fetch_add(1, Ordering::Relaxed));
        let made = program().args(["api-key", "create", &name, "--role", "admin"]).output()?;
        let key = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        if key.is_empty() {
            return Err(format!("no key was made: {}", String::from_utf8_lossy(&made.stderr)).into());
        }
        let mut child = program()
            .args(["serve", "--listen", "127.0.0.1:0", "--root"])
            .arg(bench.scratch.path())
            .args(flags)
            .stderr(Stdio::piped())
            .spawn()?;
        let mut told = BufReader::new(child.stderr.take().ok_or("no stderr")?);
        let mut line = String::new();
        told.read_line(&mut line)?;
        // It ends with the service, which would be stopped by a pipe that nobody reads.
        std::thread::spawn(move || std::io::copy(&mut told, &mut std::io::sink()));
        let address = line.split_once("listening on http://").and_then(|(_, rest)| rest.split(' ').next());
        let address = address.ok_or_else(|| format!("the service said {line:?}"))?.parse()?;
        Ok(Service { child, address, key })
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A client of it.
    pub(crate) fn client(&self) -> Result<Client> {
        Client::new(self.address, self.key.clone())
    }

    /// What happens to runs from now on: the name of each job whose run has ended.
    pub(crate) fn ended(&self) -> Result<impl Iterator<Item = String> + Send + use<>> {
        let mut client = self.client()?;
        client.send("GET", "/api/v1/stream", "")?;
        let mut is_end = false;
        let ended = move |line: String| -> Option<String> {
            if let Some(event) = line.strip_prefix("event:") {
                is_end = event.trim() == "run.ended";
            }
            let data = line.strip_prefix("data:").filter(|_| is_end)?;
            let told: Value = serde_json::from_str(data.trim()).ok()?;
            told["job"].as_str().map(str::to_owned)
        };
        Ok(client.stream.lines().map_while(std::result::Result::ok).filter_map(ended))
    }
}

/// An answer.
pub(crate) struct Answer {
    /// Its status.
    pub(crate) status: u16,
    /// What it says.
    pub(crate) body: Value,
}

/// One that asks.
pub(crate) struct Client {
    address: SocketAddr,
    key: String,
    stream: BufReader<TcpStream>,
}

impl Client {
    /// One with a key.
    pub(crate) fn new(address: SocketAddr, key: String) -> Result<Client> {
        Ok(Client { address, key, stream: connected(address)? })
    }

    fn send(&mut self, verb: &str, path: &str, body: &str) -> std::io::Result<()> {
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let text = format!(
            "{verb} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {}\r\n{kind}Content-Length: {}\r\n\r\n{body}",
            self.key,
            body.len()
        );
        self.stream.get_mut().write_all(text.as_bytes())
    }

    fn receive(&mut self) -> std::io::Result<(u16, Vec<u8>)> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let header = line.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(told) = header.strip_prefix("content-length:") {
                length = told.trim().parse().map_err(std::io::Error::other)?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status, body))
    }

    /// Sends a body that is JSON already; the status and the body of the answer.
    pub(crate) fn post(&mut self, path: &str, body: &str) -> Result<(u16, Vec<u8>)> {
        Ok(self.exchange("POST", &format!("/api/v1{path}"), body)?)
    }

    fn exchange(&mut self, verb: &str, path: &str, body: &str) -> std::io::Result<(u16, Vec<u8>)> {
        self.send(verb, path, body)?;
        self.receive()
    }

    /// Asks; a service that has let the connection go, which it does with one that rests, is asked on a new one.
    pub(crate) fn ask(&mut self, verb: &str, path: &str, body: Option<&Value>) -> Result<Answer> {
        let path = format!("/api/v1{path}");
        let body = body.map(Value::to_string).unwrap_or_default();
        let (status, body) = match self.exchange(verb, &path, &body) {
            Ok(answer) => answer,
            Err(_) => {
                self.stream = connected(self.address)?;
                self.exchange(verb, &path, &body)?
            }
        };
        let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? };
        Ok(Answer { status, body })
    }

    /// What stands at a path that is no operation, as text.
    pub(crate) fn text(&mut self, path: &str) -> Result<String> {
        let (status, body) = self.exchange("GET", path, "")?;
        match status {
            200 => Ok(String::from_utf8(body)?),
            _ => Err(format!("GET {path}: {status}").into()),
        }
    }

    /// Asks for what has to be answered well.
    pub(crate) fn get(&mut self, path: &str) -> Result<Value> {
        let answer = self.ask("GET", path, None)?;
        match answer.status {
            200 => Ok(answer.body),
            _ => Err(format!("GET {path}: {}", answer.body).into()),
        }
    }

    /// Changes something, which has to succeed.
    pub(crate) fn change(&mut self, verb: &str, path: &str, body: &Value) -> Result<Value> {
        let answer = self.ask(verb, path, (verb != "DELETE").then_some(body))?;
        match answer.status {
            200 | 201 => Ok(answer.body),
            _ => Err(format!("{verb} {path}: {}", answer.body).into()),
        }
    }

    /// Looks at a job again and again until it is as wanted; milliseconds since `begun`.
    pub(crate) fn waits(
        &mut self,
        job: &str,
        begun: Instant,
        wanted: impl FnMut(&Value) -> bool,
    ) -> Result<f64> {
        self.looks(job, begun, LOOK, wanted)
    }

    fn looks(
        &mut self,
        job: &str,
        begun: Instant,
        each: Duration,
        mut wanted: impl FnMut(&Value) -> bool,
    ) -> Result<f64> {
        let path = format!("/jobs/{job}");
        loop {
            let shown = self.get(&path)?;
            if wanted(&shown) {
                return Ok(begun.elapsed().as_secs_f64() * 1_000.0);
            }
            if begun.elapsed() > LONGEST {
                return Err(format!("job {job} does not get where it should: {shown}").into());
            }
            pause(each);
        }
    }

    /// Runs a job to its end; how it ended, and the seconds from the request to the first look that saw its end.
    pub(crate) fn runs(&mut self, job: &str) -> Result<(Value, f64)> {
        self.runs_looking(job, LOOK)
    }

    /// The same, looked at so rarely that it costs the service next to nothing; the seconds are those that the run itself tells.
    pub(crate) fn runs_undisturbed(&mut self, job: &str) -> Result<(Value, f64)> {
        let (last, _) = self.runs_looking(job, RARE_LOOK)?;
        let at = |name: &str| last[name].as_i64().ok_or_else(|| format!("a run without `{name}`: {last}"));
        let millis = at("ended_at")? - at("started_at")?;
        Ok((last, millis as f64 / 1_000.0))
    }

    fn runs_looking(&mut self, job: &str, each: Duration) -> Result<(Value, f64)> {
        let before = run_of(&self.get(&format!("/jobs/{job}"))?);
        let begun = Instant::now();
        self.change("POST", &format!("/jobs/{job}/start"), &serde_json::json!({}))?;
        let mut last = Value::Null;
        let waited = self.looks(job, begun, each, |shown| {
            let is_over = rests(shown) && run_of(shown) > before;
            if is_over {
                last = shown["run"].clone();
            }
            is_over
        })?;
        Ok((last, waited / 1_000.0))
    }
}

fn connected(address: SocketAddr) -> std::io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LONGEST))?;
    Ok(BufReader::new(stream))
}

/// The number of the last run of a job.
pub(crate) fn run_of(shown: &Value) -> i64 {
    shown["run"]["run"].as_i64().unwrap_or_default()
}

/// Whether nothing is under way for a job: its last run has ended, or there was none.
pub(crate) fn rests(shown: &Value) -> bool {
    let has_ended = shown["run"].is_null() || shown["run"]["ended_at"].is_i64();
    shown["state"] == "resting" && shown["works"] == false && has_ended
}

/// What a process and those below it use.
pub(crate) mod tree {
    use std::path::PathBuf;

    /// The children of a process.
    pub(crate) fn children(pid: u32) -> Vec<u32> {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let below = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        let below: Vec<String> = below.collect();
        below.iter().flat_map(|text| text.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect()
    }

    /// Seconds of processor time of a process, of its children that have ended, and of those that live.
    pub(crate) fn cpu(pid: u32) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = text.rsplit(") ").next().unwrap_or_default();
        let ticks: f64 =
            after_name.split(' ').skip(11).take(4).filter_map(|word| word.parse::<f64>().ok()).sum();
        ticks / 100.0 + children(pid).into_iter().map(cpu).sum::<f64>()
    }

    /// One figure of `/proc/PID/status`, such as `RssAnon`, MiB.
    pub(crate) fn mebibytes(pid: u32, name: &str) -> Option<f64> {
        let text = std::fs::read_to_string(PathBuf::from(format!("/proc/{pid}/status"))).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace().next()?.parse::<f64>().ok().map(|kib| kib / 1_024.0)
    }

    /// The most anonymous memory of a single process below this one, MiB. A child that has not begun its own program shares all memory of
    /// its parent, and has none of its own.
    pub(crate) fn largest_below(pid: u32) -> f64 {
        let program = |pid: u32| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let own = |child| match program(child) != program(pid) {
            true => mebibytes(child, "RssAnon").unwrap_or_default(),
            false => 0.0,
        };
        children(pid).into_iter().map(|child| own(child).max(largest_below(child))).fold(0.0, f64::max)
    }
}

/// What a service used for something.
pub(crate) fn costs<T>(service: &Service, work: impl FnOnce() -> Result<(T, f64)>) -> Result<(T, Cost)> {
    let before = tree::cpu(service.pid());
    let (done, wall) = work()?;
    let cpu = tree::cpu(service.pid()) - before;
    let memory = tree::mebibytes(service.pid(), "VmHWM").unwrap_or(f64::NAN);
    Ok((done, Cost { cpu, wall, memory, out: String::new() }))
}
