//! Processes that read files for a sync: what they hold, what ends them, and whom they read for.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::files::settle;
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

    /// Stops it as soon as it has a reader that has received some of a large document.
    #[track_caller]
    fn stop_with_reader(&self) -> Vec<u32> {
        let deadline = Instant::now() + Duration::from_secs(300);
        loop {
            assert!(Instant::now() < deadline, "no reader was started");
            let mut readers = self.readers();
            readers.retain(|reader| received(*reader) > 1 << 20);
            if !readers.is_empty() {
                self.send(Signal::STOP);
                return readers;
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
    let sandbox = Sandbox::sqlite();
    slow_page(&sandbox, "slow.html");
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
    assert_eq!(running.end().exits(0).json()[0]["added"], 1);
}

/// How many readers a sync by one thread starts.
fn started(sandbox: &Sandbox) -> usize {
    let trace = sandbox.path().join("trace");
    let sync = sandbox.command(&["--threads", "1", "sync", "root", "--json"]);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=execve", "-o"]).arg(&trace).arg(sync.get_program());
    command.args(sync.get_args()).current_dir(sandbox.path());
    // What changed just before is read again, by whatever reader is there by then.
    crate::files::settle(&sandbox.root());
    Running::start(command).end().exits(0);
    std::fs::read_to_string(trace).unwrap().matches("\"extract-worker\"").count()
}

#[test]
fn a_reader_reads_for_the_same_people_only() {
    ingather_testkit::needs!(Users);
    let sandbox = Sandbox::sqlite();
    let page = |name: &str, mode: u32, owner: u32| {
        sandbox.write(name, "<p>words</p>");
        let path = sandbox.root().join(name);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        std::os::unix::fs::chown(&path, Some(owner), Some(owner)).unwrap();
    };
    for number in 0..20 {
        page(&format!("open{number}/a.html"), 0o644, 1_000 + number);
        page(&format!("open{number}/b.html"), 0o644, 2_000);
    }
    assert_eq!(started(&sandbox), 1, "everybody may see all of them");
    page("open1/closed.html", 0o600, 1_000);
    page("closed/open.html", 0o644, 1_000);
    std::fs::set_permissions(sandbox.root().join("closed"), PermissionsExt::from_mode(0o700)).unwrap();
    page("open2/c.html", 0o644, 1_000);
    assert_eq!(started(&sandbox), 3, "for all, for the owner of a file, for the owner of a folder");
}

/// The program on a kernel that knows neither Landlock nor filters of system calls.
fn on_an_old_kernel(sandbox: &Sandbox, arguments: &[&str]) -> Answer {
    let plain = sandbox.command(arguments);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null"]);
    for call in ["landlock_create_ruleset", "seccomp"] {
        command.args(["-e", &format!("inject={call}:error=ENOSYS")]);
    }
    command.args(["-e", "trace=landlock_create_ruleset,seccomp"]);
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(sandbox.path());
    Running::start(command).end()
}

#[test]
fn without_confinement_each_sync_says_so_once_or_refuses() {
    let sandbox = pages(3);
    let answer = on_an_old_kernel(&sandbox, &["sync", "root", "--json"]).exits(0);
    assert_eq!(answer.json()[0]["added"], 3);
    assert_eq!(answer.err.lines().count(), 1, "{answer:#?}");
    for word in ["warning", "Landlock, seccomp missing", "--require-sandbox"] {
        assert!(answer.err.contains(word), "{answer:#?}");
    }
    let before = sandbox.snapshot();
    sandbox.write("new.html", "<p>new");
    on_an_old_kernel(&sandbox, &["--require-sandbox", "sync", "root"])
        .refuses(3, &["Landlock, seccomp missing", "--require-sandbox"]);
    on_an_old_kernel(&sandbox, &["--require-sandbox", "extract", "root/new.html"]).refuses(3, &["missing"]);
    assert!(before == sandbox.snapshot(), "a refused sync changes nothing");
    on_an_old_kernel(&sandbox, &["--require-sandbox", "search", "words", "--all"]).exits(0);
    // Where the kernel can, nothing is said and nothing is refused.
    let answer = sandbox.run(&["--require-sandbox", "sync", "root", "--json"]).exits(0);
    assert_eq!((&answer.json()[0]["added"], answer.err.as_str()), (&1.into(), ""));
    let mut told = sandbox.command(&["sync", "root", "--json"]);
    told.env("INGATHER_REQUIRE_SANDBOX", "1");
    Running::start(told).end().exits(0);
}

impl Running {
    /// Kills readers with this signal as they come, so many, each when it has received some of a large document.
    #[track_caller]
    fn kill_readers(&self, count: usize, signal: Signal) {
        let mut killed = Vec::new();
        let deadline = Instant::now() + Duration::from_secs(300);
        while killed.len() < count {
            assert!(Instant::now() < deadline, "{} of {count} readers were started", killed.len());
            for reader in self.readers() {
                if killed.len() < count && !killed.contains(&reader) && received(reader) > 1 << 20 {
                    kill_process(Pid::from_raw(reader as i32).unwrap(), signal).unwrap();
                    killed.push(reader);
                }
            }
            std::thread::yield_now();
        }
    }
}

/// Bytes that a process has read.
fn received(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.map_or(0, |number| number.parse().unwrap())
}

/// A page that takes a reader seconds: many words, and marks around each of them.
fn slow_page(sandbox: &Sandbox, name: &str) {
    sandbox.write(name, &format!("<title>Slow</title>{}", "<p><b>word</b> <i>other</i>".repeat(400_000)));
}

#[test]
fn a_reader_that_somebody_killed_is_no_fault_of_its_document() {
    let sandbox = Sandbox::sqlite();
    slow_page(&sandbox, "slow.html");
    let running = Running::start(sandbox.command(&["--threads", "1", "sync", "root", "--json"]));
    running.kill_readers(2, Signal::KILL);
    let answer = running.end().exits(0);
    assert_eq!((&answer.json()[0]["added"], &answer.json()[0]["failed"]), (&1.into(), &0.into()));
    assert_eq!(sandbox.find("other"), ["slow.html"], "the third attempt reads it");
}

#[test]
fn what_failed_is_found_by_its_name_and_asked_for_again() {
    let sandbox = Sandbox::sqlite();
    slow_page(&sandbox, "slow.html");
    let running = Running::start(sandbox.command(&["--threads", "1", "sync", "root", "--json"]));
    running.kill_readers(3, Signal::KILL);
    let answer = running.end().exits(1);
    assert_eq!((&answer.json()[0]["failed"], &answer.json()[0]["waiting"]), (&1.into(), &0.into()));
    for query in ["name:slow", "ext:html", "meta.extraction:*"] {
        assert_eq!(sandbox.find(query), ["slow.html"], "{query}");
    }
    assert_eq!(sandbox.find("other"), [""; 0]);
    let listed = sandbox.run(&["document", "list", "root", "--state", "failed", "--json"]).exits(0);
    assert!(listed.json()[0]["reason"].as_str().unwrap().contains("signal 9"), "{listed:?}");
    let doctor = sandbox.run(&["doctor"]).exits(1);
    assert!(doctor.out.contains("1 document failed"), "{doctor:?}");
    sandbox.run(&["verify"]).exits(0);
    // Nobody touched it: that nobody kills its reader any more is enough.
    let next = sandbox.run(&["sync", "root", "--json"]).exits(0);
    assert_eq!(&next.json()[0]["updated"], 1, "{next:?}");
    assert_eq!(sandbox.find("other"), ["slow.html"]);
    assert_eq!(sandbox.find("meta.extraction:*"), [""; 0]);
    assert_eq!(sandbox.synced(&[]).get("unchanged"), 1);
}

#[test]
fn text_that_was_read_before_goes_when_its_document_fails() {
    let sandbox = Sandbox::sqlite();
    sandbox.write("a.html", "<p>earlier");
    sandbox.synced(&[]);
    slow_page(&sandbox, "a.html");
    settle(&sandbox.root());
    let running = Running::start(sandbox.command(&["--threads", "1", "sync", "root", "--json"]));
    running.kill_readers(1, Signal::ILL);
    assert_eq!(&running.end().exits(1).json()[0]["failed"], 1);
    assert_eq!(sandbox.find("earlier"), [""; 0]);
    assert_eq!(sandbox.find("name:a"), ["a.html"]);
    // A crash is the document's own: it is read again when it changes.
    let (counts, code) = sandbox.sync(&[]);
    assert_eq!((counts.get("failed"), code), (1, 1));
    assert_eq!(sandbox.find("name:a"), ["a.html"]);
}
