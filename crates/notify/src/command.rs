//! A command that tells: it runs as the service, without a shell, with an environment of its own, and for a bounded time.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use ingather_contract::call::CallContext;
use ingather_contract::notifier::{Notice, Notifier};
use ingather_model::fault::Fault;
use ingather_model::limits;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::declared::CommandSettings;

/// Where its programs are looked for, whatever the environment of the service says.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A command.
pub(crate) struct Command {
    program: String,
    words: Vec<String>,
    millis_max: u64,
}

impl Command {
    pub(crate) fn of(settings: CommandSettings) -> Result<Command, String> {
        let CommandSettings { run, seconds } = settings;
        let most = limits::NOTICE_COMMAND_MS_MAX / 1_000;
        let seconds = seconds.unwrap_or(most);
        if !(1..=most).contains(&seconds) {
            return Err(format!("a command may take 1 to {most} seconds"));
        }
        if run.len() > limits::NOTICE_COMMAND_WORDS_MAX {
            return Err(format!("a command has at most {} words", limits::NOTICE_COMMAND_WORDS_MAX));
        }
        let mut words = run.into_iter();
        let program = words.next().ok_or("`run` names no program; give its path and its words")?;
        if !program.starts_with('/') {
            return Err(format!(
                "`{program}` is no path that begins with /; no folder is searched for a program"
            ));
        }
        Ok(Command { program, words: words.collect(), millis_max: seconds * 1_000 })
    }

    fn begin(&self, notice: &Notice) -> std::io::Result<Child> {
        let mut child = std::process::Command::new(&self.program)
            .args(&self.words)
            .env_clear()
            .env("PATH", PATH)
            .env("LANG", "C.UTF-8")
            .env("INGATHER_NOTICE", &notice.id)
            .env("INGATHER_EVENT", notice.event.as_str())
            .env("INGATHER_JOB", &notice.job)
            .env("INGATHER_RUN", notice.run.to_string())
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // So that it is ended with all that it starts.
            .process_group(0)
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // It fits into the pipe, whether it is read or not.
            let _ = input.write_all(notice.body.to_string().as_bytes());
        }
        Ok(child)
    }
}

impl Notifier for Command {
    fn tell(&self, call: &CallContext, notice: &Notice) -> Result<(), Fault> {
        let failed = |why: String| Fault::passing("command", format!("{} {why}", self.program));
        let mut child = self.begin(notice).map_err(|error| failed(format!("cannot be run: {error}")))?;
        // What ends is told by the kernel; looked up in between is only whether this program is to end.
        let ends = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        let ends = ends.map_err(|error| failed(format!("cannot be waited for: {error}")))?;
        let look = Timespec { tv_sec: 0, tv_nsec: limits::NOTICE_LOOK_MS as i64 * 1_000_000 };
        for _ in 0..self.millis_max.div_ceil(limits::NOTICE_LOOK_MS) {
            let _ready = poll(&mut [PollFd::new(&ends, PollFlags::IN)], Some(&look));
            match child.try_wait().map_err(|error| failed(format!("cannot be waited for: {error}")))? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(failed(format!("ended with {status}"))),
                None if call.cancel.cancelled() => break,
                None => {}
            }
        }
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        let _ = child.wait();
        Err(failed(match call.cancel.cancelled() {
            true => "was ended with this program".to_owned(),
            false => format!("took longer than {} s, and was ended", self.millis_max / 1_000),
        }))
    }

    fn describe(&self) -> String {
        format!("runs {}", self.program)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use ingather_contract::call::{Cancel, Clock};
    use ingather_model::job::notify::NotifyEvent;

    use super::*;

    struct Still;

    impl Clock for Still {
        fn now(&self) -> i64 {
            0
        }
    }

    fn told(words: &[&str], seconds: u64, cancel: &Cancel) -> Result<(), Fault> {
        let run = words.iter().map(|word| (*word).to_owned()).collect();
        let command = Command::of(CommandSettings { run, seconds: Some(seconds) }).unwrap();
        let notice = Notice {
            id: "0f".to_owned(),
            at: 1,
            event: NotifyEvent::Held,
            job: "share".to_owned(),
            run: 7,
            subject: String::new(),
            text: String::new(),
            body: serde_json::json!({"event": "held"}),
        };
        command.tell(&CallContext { clock: Arc::new(Still), cancel: cancel.clone() }, &notice)
    }

    fn says(told: Result<(), Fault>) -> String {
        match told {
            Err(fault @ Fault::Passing { .. }) => fault.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_command_gets_its_words_as_they_are_and_no_other_environment() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("told");
        let script = format!("{{ printf '%s\\n' \"$1\"; env | sort; cat; }} > {}", file.display());
        let words = ["/bin/sh", "-c", &script, "sh", "$(id); `id`"];
        told(&words, 5, &Cancel::default()).unwrap();
        let said = std::fs::read_to_string(file).unwrap();
        assert!(said.starts_with("$(id); `id`\n"), "{said}");
        assert!(said.ends_with("{\"event\":\"held\"}"), "{said}");
        let names: Vec<&str> =
            said.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
        // The shell adds those of its own.
        let of_shell = ["PWD", "OLDPWD", "SHLVL", "_"];
        let given: Vec<&str> = names.into_iter().filter(|name| !of_shell.contains(name)).collect();
        let wanted = ["INGATHER_EVENT", "INGATHER_JOB", "INGATHER_NOTICE", "INGATHER_RUN", "LANG", "PATH"];
        assert_eq!(given, wanted);
    }

    #[test]
    fn a_command_that_fails_or_is_not_there_is_tried_again() {
        assert!(
            says(told(&["/bin/false"], 5, &Cancel::default()))
                .contains("/bin/false ended with exit status: 1")
        );
        assert!(says(told(&["/nowhere"], 5, &Cancel::default())).contains("/nowhere cannot be run"));
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alive");
        // The child of the shell holds a lock on the file as long as it lives.
        let script = format!("exec 9>{}; flock 9; sleep 600 & wait", file.display());
        let begun = Instant::now(); // clock: how long a real process is waited for
        assert!(
            says(told(&["/bin/sh", "-c", &script], 1, &Cancel::default())).contains("took longer than 1 s")
        );
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::fs::File::open(file).unwrap().lock().unwrap();
        // The end of the program does not wait for it.
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(says(told(&["/bin/sleep", "600"], 30, &cancel)).contains("was ended with this program"));
    }
}
