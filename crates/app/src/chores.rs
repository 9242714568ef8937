//! What a service does beside its runs, in a thread of its own: it tells notifiers of ends of runs, and forgets history that is too old.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use ingather_contract::notifier::{Notice, Notifier};
use ingather_model::fault::Fault;
use ingather_model::limits;
use ingather_notify::{Declared, Notifiers};
use ingather_operations::Service as _;
use ingather_operations::jobs::{history, notices};

use crate::exit::{Failure, Result};
use crate::service::{Running, begin_thread, refuse_stopped};
use crate::wiring;

/// Reads the file that declares notifiers.
pub(crate) fn notifiers(path: Option<&Path>) -> Result<Notifiers> {
    let Some(path) = path else { return Ok(Notifiers::default()) };
    let wrong = |why: String| Failure::usage(format!("--notifiers {}: {why}", path.display()));
    let text = ingather_notify::read_own(path).map_err(wrong)?;
    // JSON is YAML, too.
    let declared: Declared = serde_saphyr::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    ingather_notify::open(declared).map_err(wrong)
}

impl Running {
    /// Does chores until the service is asked to end; `days`: how long history is kept.
    pub(crate) fn do_chores(self: &Arc<Running>, days: u32) -> Result<()> {
        let running = self.clone();
        let work = move || {
            let mut tidied = i64::MIN;
            if let Err(problem) = notices::hasten(&running.context()) {
                running.log(&format!("notices cannot be looked at: {problem}"));
            }
            while refuse_stopped().is_ok() {
                // Also when the clock was put back.
                if wiring::now().abs_diff(tidied) >= limits::HISTORY_TIDY_MS as u64 {
                    tidied = wiring::now();
                    running.forget(days);
                }
                let again = running.send_notices();
                let wait = again.map_or(limits::HISTORY_TIDY_MS, |again| again - wiring::now());
                running.chores.wait(Duration::from_millis(wait.clamp(1, limits::HISTORY_TIDY_MS) as u64));
            }
        };
        self.keep_thread(begin_thread("chores", work)?);
        Ok(())
    }

    fn forget(&self, days: u32) {
        let context = self.context();
        let forgotten = history::forget_old(&context).and_then(|_| notices::forget_old(&context, days));
        if let Err(problem) = forgotten {
            self.log(&format!("old history cannot be forgotten: {problem}"));
        }
    }

    /// Tells what is due; when to look again, milliseconds since 1970 UTC.
    fn send_notices(&self) -> Option<i64> {
        let call = self.context().call();
        let tell = |notifier: Arc<dyn Notifier>, notice: Notice| -> std::result::Result<(), Fault> {
            let (answers, answer) = mpsc::channel();
            let of_thread = call.clone();
            let told = std::thread::Builder::new().name("notice".to_owned()).spawn(move || {
                // Nobody listens any more where the program ends.
                let _ = answers.send(notifier.tell(&of_thread, &notice));
            });
            told.map_err(|error| {
                Fault::passing("resources", format!("a thread cannot be started: {error}"))
            })?;
            let look = Duration::from_millis(limits::NOTICE_LOOK_MS);
            loop {
                match answer.recv_timeout(look) {
                    Ok(told) => return told,
                    // The program ends, whatever somebody far away takes their time for; it is told again by the next one.
                    Err(mpsc::RecvTimeoutError::Timeout) if call.cancel.cancelled() => {
                        return Err(Fault::passing("stopped", "the service ends"));
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Err(mpsc::RecvTimeoutError::Disconnected) => {
                        return Err(Fault::passing(
                            "fault",
                            "the notifier failed by a fault of this program",
                        ));
                    }
                }
            }
        };
        let sent = notices::send_due(&self.context(), &self.notifiers.by_name, &tell);
        sent.unwrap_or_else(|problem| {
            self.log(&format!("notices cannot be sent: {problem}"));
            Some(wiring::now() + limits::NOTICE_WAIT_MS_MIN)
        })
    }
}
