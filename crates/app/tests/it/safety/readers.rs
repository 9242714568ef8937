//! Processes that read files for a sync: what they hold, what ends them, and whom they read for.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::sandbox::{Answer, Sandbox};

/// A sync under way; it is killed when a test fails beside it.
struct Running(Option<Child>);

impl Running {
    /// Starts `command`, which takes some time over its documents.
    fn start(mut command: Command) -> Running {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(Some(command.spawn().unwrap()))
    }

    fn pid(&self) -> Pid {
        Pid::from_child(self.0.as_ref().unwrap())
    }

    fn send(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Its readers that are ready to read: nothing of them is open to what they read any more.
    fn readers(&self) -> Vec<u32> {
        let tasks = format!("/proc/{}/task", self.pid().as_raw_nonzero());
        let tasks = std::fs::read_dir(tasks).unwrap().filter_map(Result::ok);
        let children = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        let children: Vec<String> = children.collect();
        let children = children.iter().flat_map(|list| list.split_whitespace());
        children
            .filter_map(|pid| pid.parse().ok())
            .filter(|pid| {
                // Which is the last step of both threads.
                let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().count();
                threads == 2 && status(*pid).get("Seccomp").is_some_and(|word| word == "2")
            })
            .collect()
    }

    /// Stops it as soon as it has a reader, which it leaves standing.
    #[track_caller]
    fn stop_with_reader(&self) -> Vec<u32> {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            assert!(Instant::now() < deadline, "no reader was started");
            if !self.readers().is_empty() {
                self.send(Signal::STOP);
                let readers = self.readers();
                if !readers.is_empty() {
                    return readers;
                }
                self.send(Signal::CONT);
            }
            std::thread::yield_now();
        }
    }

    fn end(mut self) -> Answer {
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        Answer {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What the kernel says of a process, by name; nothing of one that is gone.
fn status(pid: u32) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect()
}

/// A sandbox with so many pages.
fn pages(count: usize) -> Sandbox {
    let sandbox = Sandbox::sqlite();
    for number in 0..count {
        sandbox.write(&format!("p{number}.html"), &format!("<title>Page {number}</title><p>words</p>"));
    }
    sandbox
}

#[test]
fn a_reader_has_none_of_the_callers_files_and_no_right_of_root() {
    let sandbox = pages(1_000);
    let left_open = sandbox.path().join("left-open");
    let mut command = Command::new("sh");
    command.args(["-c", "exec 7>left-open 8<&0; exec \"$@\"", "sh"]);
    command
        .arg(env!("CARGO_BIN_EXE_ingather"))
        .arg("--data")
        .arg(sandbox.data())
        .args(["sync", "root", "--json"]);
    command.current_dir(sandbox.path());
    let running = Running::start(command);
    for reader in running.stop_with_reader() {
        let open: Vec<_> = std::fs::read_dir(format!("/proc/{reader}/fd"))
            .unwrap()
            .map(|entry| std::fs::read_link(entry.unwrap().path()).unwrap())
            .collect();
        assert!(!open.iter().any(|path| Path::new(path) == left_open), "{open:?}");
        assert!(open.len() <= 5, "the socket twice, the scratch file twice, nothing: {open:?}");
        let status = status(reader);
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(status[set].trim_start_matches('0'), "", "{set}");
        }
        // Only who may change it can empty it, and then there is something to bound.
        let own = std::fs::read_to_string("/proc/self/status").unwrap();
        let set_pcap = own.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap().trim();
        if u64::from_str_radix(set_pcap, 16).unwrap() & (1 << 8) != 0 {
            assert_eq!(status["CapBnd"].trim_start_matches('0'), "");
        }
        assert_eq!(status["NoNewPrivs"], "1");
        let limits = std::fs::read_to_string(format!("/proc/{reader}/limits")).unwrap();
        for name in ["Max cpu time", "Max address space", "Max file size", "Max open files"] {
            let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
            let hard = line[name.len()..].split_whitespace().nth(1).unwrap();
            assert_ne!(hard, "unlimited", "{line}");
        }
    }
    running.send(Signal::CONT);
    assert_eq!(running.end().exits(0).json()[0]["added"], 1_000);
}
