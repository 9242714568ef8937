//! What a service does beside its runs, in a thread of its own: it tells notifiers of ends of runs, and forgets history that is too old, ends
//! channels whose clients are gone, and tries outputs that are away.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use ingather_contract::call::CallContext;
use ingather_contract::notifier::{Notice, Notifier};
use ingather_model::fault::Fault;
use ingather_model::limits;
use ingather_notify::{Declared, Notifiers};
use ingather_operations::Service as _;
use ingather_operations::documents::{self, push};
use ingather_operations::jobs::{history, notices};
use ingather_operations::system::health;

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
            let (mut tidied, mut erased, mut tended) = (i64::MIN, i64::MIN, i64::MIN);
            // Before anything ends for want of a sign of life.
            if let Err(problem) = push::renew_leases(&running.context()) {
                running.log(&format!("leases of delta runs and channels are not renewed: {problem}"));
            }
            if let Err(problem) = notices::hasten(&running.context()) {
                running.log(&format!("notices cannot be looked at: {problem}"));
            }
            while refuse_stopped().is_ok() {
                // Also when the clock was put back.
                let tidies = wiring::now().abs_diff(tidied) >= limits::HISTORY_TIDY_MS as u64;
                if tidies {
                    tidied = wiring::now();
                    running.forget(days);
                }
                let channels = running.tend_channels(tidies, &mut tended);
                let notices = running.send_notices();
                let erases = running.erase(&mut erased);
                let probes = running.probe_outputs();
                let again = [notices, erases, channels, probes].into_iter().flatten().min();
                let wait = again.map_or(limits::HISTORY_TIDY_MS, |again| again - wiring::now());
                running.chores.wait(Duration::from_millis(wait.clamp(1, limits::HISTORY_TIDY_MS) as u64));
            }
        };
        self.keep_thread(begin_thread("chores", work)?);
        Ok(())
    }

    /// Tries again to erase what outputs still held; when to look again, milliseconds since 1970 UTC. `tried`: when that was last.
    fn erase(&self, tried: &mut i64) -> Option<i64> {
        let now = wiring::now();
        if now.abs_diff(*tried) < limits::ERASE_RETRY_MS as u64 {
            return Some(*tried + limits::ERASE_RETRY_MS);
        }
        *tried = now;
        let (left, told) = documents::go_on_erasing(&self.context()).unwrap_or_else(|problem| {
            self.log(&format!("erased documents cannot be looked at: {problem}"));
            (1, Vec::new())
        });
        told.iter().for_each(|told| self.log(told));
        (left > 0).then_some(now + limits::ERASE_RETRY_MS)
    }

    /// Ends channels whose clients are gone; when to look again, milliseconds since 1970 UTC. `tended`: when that was last.
    fn tend_channels(&self, forgets: bool, tended: &mut i64) -> Option<i64> {
        let now = wiring::now();
        if !forgets && now.abs_diff(*tended) < limits::CHANNEL_LOOK_MS as u64 {
            return Some(*tended + limits::CHANNEL_LOOK_MS);
        }
        *tended = now;
        push::tend_channels(&self.context(), forgets)
            .unwrap_or_else(|problem| {
                self.log(&format!("channels cannot be looked at: {problem}"));
                Some(now)
            })
            .map(|due| due.max(now + limits::CHANNEL_LOOK_MS))
    }

    /// Tries outputs that are away, each in a thread of its own, for it may take a minute; when to look again, milliseconds since 1970 UTC.
    fn probe_outputs(self: &Arc<Running>) -> Option<i64> {
        let (due, next) = health::probes_due(&self.context()).unwrap_or_else(|problem| {
            self.log(&format!("outputs that are away cannot be looked at: {problem}"));
            (Vec::new(), Some(wiring::now() + limits::OUTPUT_PROBE_MS_MAX))
        });
        for output in due {
            let (running, id) = (self.clone(), output.id);
            let probe = move || {
                let name = &output.name;
                match health::probe_output(&running.context(), &output) {
                    Ok(true) => running.log(&format!("output {name}: is back")),
                    Ok(false) => {}
                    Err(problem) => running.log(&format!("output {name}: cannot be tried: {problem}")),
                }
                // When it is tried next is known now.
                running.chores.tell();
            };
            // Nobody waits for it where the program ends.
            if let Err(error) = std::thread::Builder::new().name("probe".to_owned()).spawn(probe) {
                self.log(&format!("a thread to try an output cannot be started: {error}"));
                self.context().host.process().ends_probe(id);
            }
        }
        next
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
        let whole = Duration::from_millis(limits::NOTICE_WHOLE_MS_MAX);
        let tell = |notifier: Arc<dyn Notifier>, notice: Notice| {
            tell_within(whole, &self.left, &call, notifier, notice)
        };
        let sent = notices::send_due(&self.context(), &self.given.notifiers.by_name, &tell);
        sent.unwrap_or_else(|problem| {
            self.log(&format!("notices cannot be sent: {problem}"));
            Some(wiring::now() + limits::NOTICE_WAIT_MS_MIN)
        })
    }
}

/// Tells somebody, who has this long for it, in a thread of its own: nobody else waits for longer. `left` counts the threads that still
/// wait.
fn tell_within(
    whole: Duration,
    left: &Arc<AtomicUsize>,
    call: &CallContext,
    notifier: Arc<dyn Notifier>,
    notice: Notice,
) -> std::result::Result<(), Fault> {
    if left.load(Ordering::Relaxed) >= limits::NOTICES_LEFT_MAX {
        return Err(Fault::passing("slow", "earlier attempts still wait for those who were to be told"));
    }
    let (answers, answer) = mpsc::channel();
    let (of_thread, ends) = (call.clone(), left.clone());
    left.fetch_add(1, Ordering::Relaxed);
    let told = std::thread::Builder::new().name("notice".to_owned()).spawn(move || {
        let told = catch_unwind(AssertUnwindSafe(|| notifier.tell(&of_thread, &notice)));
        ends.fetch_sub(1, Ordering::Relaxed);
        // Nobody listens any more where the program ends, or this took too long.
        let _ = told.map(|told| answers.send(told));
    });
    told.map_err(|error| {
        left.fetch_sub(1, Ordering::Relaxed);
        Fault::passing("resources", format!("a thread cannot be started: {error}"))
    })?;
    let look = Duration::from_millis(limits::NOTICE_LOOK_MS);
    let mut waited = Duration::ZERO;
    loop {
        match answer.recv_timeout(look.min(whole)) {
            Ok(told) => return told,
            // The program ends, whatever somebody far away takes their time for; it is told again by the next one.
            Err(mpsc::RecvTimeoutError::Timeout) if call.cancel.cancelled() => {
                return Err(Fault::passing("stopped", "the service ends"));
            }
            Err(mpsc::RecvTimeoutError::Timeout) if waited >= whole => {
                let sentence = format!("it took longer than {} s to be told", whole.as_secs());
                return Err(Fault::passing("slow", sentence));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => waited += look,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(Fault::passing("fault", "the notifier failed by a fault of this program"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use ingather_contract::call::Cancel;
    use ingather_model::job::notify::NotifyEvent;

    use super::*;
    use crate::wiring::SystemClock;

    /// Tells nobody before it is let go.
    struct Slow(Mutex<mpsc::Receiver<()>>);

    impl Notifier for Slow {
        fn tell(&self, _: &CallContext, _: &Notice) -> std::result::Result<(), Fault> {
            self.0.lock().unwrap().recv().unwrap_or_default();
            Ok(())
        }

        fn describe(&self) -> String {
            "slow".to_owned()
        }
    }

    #[test]
    fn who_takes_too_long_is_left_alone_and_so_many_at_once() {
        let call = CallContext { clock: Arc::new(SystemClock), cancel: Cancel::default() };
        let notice = || Notice {
            id: "1".to_owned(),
            at: 0,
            event: NotifyEvent::Failed,
            job: "docs".to_owned(),
            run: 1,
            subject: String::new(),
            text: String::new(),
            body: serde_json::Value::Null,
        };
        let left = Arc::new(AtomicUsize::new(0));
        let (lets_go, waits) = mpsc::channel();
        let slow: Arc<dyn Notifier> = Arc::new(Slow(Mutex::new(waits)));
        let tell = |whole: Duration| tell_within(whole, &left, &call, slow.clone(), notice()).unwrap_err();
        for _ in 0..limits::NOTICES_LEFT_MAX {
            assert!(tell(Duration::ZERO).to_string().contains("took longer than"));
        }
        assert!(tell(Duration::from_secs(3_600)).to_string().contains("earlier attempts still wait"));
        drop(lets_go);
        while left.load(Ordering::Relaxed) > 0 {
            std::thread::yield_now();
        }
        tell_within(Duration::from_secs(60), &left, &call, slow.clone(), notice()).unwrap();
    }
}
