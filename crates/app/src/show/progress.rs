//! Progress of a run: a bar on a terminal, a line now and then elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use ingather_engine::progress::{Progress, Snapshot};

use crate::arguments::Global;
use crate::show;

/// Between two looks at the counters.
const LOOK: Duration = Duration::from_millis(100);
/// Between two lines where no person watches.
const LINE: Duration = Duration::from_secs(10);

/// Shows the counters until it is dropped.
pub(crate) struct Watch {
    done: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watch {
    pub(crate) fn start(global: &Global, progress: Arc<Progress>) -> Watch {
        let done = Arc::new(AtomicBool::new(false));
        let quiet = global.quiet || global.json;
        let finished = done.clone();
        let thread = (!quiet).then(|| std::thread::spawn(move || watch(&progress, &finished)));
        Watch { done, thread }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A display that failed is no failure of the run.
            let _ = thread.join();
        }
    }
}

fn watch(progress: &Progress, done: &AtomicBool) {
    let bar = (show::is_terminal() && !show::is_dumb()).then(|| {
        let bar = ProgressBar::new_spinner();
        bar.set_style(
            ProgressStyle::with_template("{spinner} {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        bar
    });
    let started = Instant::now();
    let mut told = started;
    while !done.load(Ordering::Relaxed) {
        std::thread::park_timeout(LOOK);
        let text = sentence(&progress.snapshot(), started.elapsed());
        match &bar {
            Some(bar) => {
                bar.set_message(show::visible(&text).into_owned());
                bar.tick();
            }
            None if told.elapsed() >= LINE => {
                told = Instant::now();
                show::stderr(&text);
            }
            None => {}
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn sentence(now: &Snapshot, elapsed: Duration) -> String {
    let rate = now.seen as f64 / elapsed.as_secs_f64().max(0.001);
    format!(
        "{} seen ({}/s) · {} changed · {} delivered · {} removed · {} read · {}",
        show::number(now.seen),
        show::number(rate as u64),
        show::number(now.changed),
        show::number(now.delivered),
        show::number(now.removed),
        show::bytes(now.bytes),
        now.waits_for
    )
}
