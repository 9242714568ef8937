//! The program as long as it serves: it has the right to write from its beginning to its end, hands it to whoever writes, and runs
//! jobs in threads of their own.

mod changes;

use std::any::Any;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use ingather_contract::call::Cancel;
use ingather_engine::progress::Progress;
use ingather_engine::{KeptLease, Process};
use ingather_model::limits;
use ingather_notify::Notifiers;
use ingather_operations::answers_log::AnswersLog;
use ingather_operations::jobs::BySchedule;
use ingather_operations::jobs::events::{Listener, RunEvent};
use ingather_operations::links::Links;
use ingather_operations::search;
use ingather_operations::system::Look;
use ingather_operations::{Background, Context, Doing, Host, LogEntry, Service, Work, Writing};
use ingather_server::Stop;
use ingather_store::Reader;

pub(crate) use self::changes::Changes;
use crate::arguments::Global;
use crate::data::DataDirectory;
use crate::exit::{Code, Failure, Result};
use crate::wiring::{Program, SystemClock};
use crate::{interrupt, show, wiring};

/// What the lock says of it to whoever wants to write meanwhile.
pub(crate) const DOING: &str = "ingather serve";

/// A program that serves.
pub(crate) struct Running {
    global: Global,
    data: DataDirectory,
    process: Arc<Process>,
    writing: Writing,
    kept_lease: Mutex<Option<KeptLease>>,
    writers: Arc<Writers>,
    lost: Arc<Mutex<Option<String>>>,
    stop: Stop,
    readers: Once,
    runs: Arc<Runs>,
    changes: Arc<Changes>,
    /// Told when something is to be done that has no time of its own.
    pub(crate) chores: Arc<Changes>,
    /// Wakes what sends reports.
    pub(crate) reports: Arc<Changes>,
    /// What works from its beginning to its end.
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Who hears of what happens to runs.
    listeners: Mutex<Vec<Arc<Listener>>>,
    links: Links,
    /// Which lock it holds.
    lock: Option<(u64, u64)>,
    pub(crate) given: Given,
    /// Threads that still wait for somebody who was to be told.
    pub(crate) left: Arc<AtomicUsize>,
    itself: Weak<Running>,
}

/// What somebody gave a service with its command.
pub(crate) struct Given {
    /// Folders below which callers from elsewhere may name sources.
    pub(crate) roots: Vec<PathBuf>,
    /// Who can be told of ends of runs.
    pub(crate) notifiers: Notifiers,
    /// Where answers about access are put on record.
    pub(crate) answers_log: Option<AnswersLog>,
}

/// Who writes just now.
#[derive(Default)]
struct Writers {
    busy: Mutex<Busy>,
    ended: Condvar,
}

#[derive(Default)]
struct Busy {
    together: usize,
    alone: Option<String>,
}

/// One that writes, until it is dropped.
struct Writer {
    writers: Arc<Writers>,
    changes: Arc<Changes>,
    alone: bool,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.changes.tell();
        let mut busy = locked(&self.writers.busy);
        match self.alone {
            true => busy.alone = None,
            false => busy.together -= 1,
        }
        self.writers.ended.notify_all();
    }
}

/// One that writes what is in nobody's way.
struct Beside(Arc<Changes>);

impl Drop for Beside {
    fn drop(&mut self) {
        self.0.tell();
    }
}

/// Runs that are under way.
#[derive(Default)]
struct Runs {
    under_way: Mutex<usize>,
    ended: Condvar,
}

/// One of them, until it is dropped.
struct Run(Arc<Runs>, Arc<Changes>);

impl Drop for Run {
    fn drop(&mut self) {
        *locked(&self.0.under_way) -= 1;
        self.0.ended.notify_all();
        self.1.tell();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is in them is whole after every statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn no_thread(error: std::io::Error) -> Failure {
    Failure::new(
        Code::Resources,
        format!("a thread cannot be started: {error}; give the program more memory"),
    )
}

/// Begins a thread that works until the program is asked to end.
pub(crate) fn begin_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(no_thread)
}

/// Nothing is begun once the program was asked to end.
pub(crate) fn refuse_stopped() -> Result<()> {
    if interrupt::cancel().cancelled() { Err(Failure::stopped()) } else { Ok(()) }
}

impl Running {
    /// Takes the right to write, and keeps it until [`Running::finish`]; when it is lost, `stop` ends what serves.
    pub(crate) fn begin(global: &Global, stop: Stop, given: Given) -> Result<Arc<Running>> {
        let data = DataDirectory::of(global)?;
        let writing = data.write(DOING, wiring::now())?;
        let lock = data.lock_identity();
        let running = Arc::new_cyclic(|itself| Running {
            global: global.clone(),
            data,
            process: Arc::default(),
            writing,
            kept_lease: Mutex::default(),
            writers: Arc::default(),
            lost: Arc::default(),
            stop: stop.clone(),
            readers: Once::new(),
            runs: Arc::default(),
            changes: Arc::default(),
            chores: Arc::default(),
            reports: Arc::default(),
            threads: Mutex::default(),
            listeners: Mutex::default(),
            links: Links::default(),
            lock,
            given,
            left: Arc::default(),
            itself: itself.clone(),
        });
        // In its log; a command ends with one sentence, which says what the right to write was lost for.
        let quiet = global.quiet;
        running.process.tells(move |sentence| {
            if !quiet {
                show::stderr(sentence);
            }
        });
        running.process.notify_of_all(running.given.notifiers.of_all.clone());
        if let Some(sender) = ingather_notify::sinks().map_err(Failure::unable)? {
            running.process.report_by(sender);
        }
        let reader = running.writing.store.reader().clone();
        let engine = running.context().engine(reader, Some(&running.writing), &[]);
        let (lost, cancel) = (running.lost.clone(), interrupt::cancel());
        let kept = engine.keep_lease(move |error| {
            locked(&lost).get_or_insert_with(|| error.to_string());
            cancel.cancel();
            stop.stop();
        })?;
        *locked(&running.kept_lease) = Some(kept);
        Ok(running)
    }

    /// The data directory.
    pub(crate) fn folder(&self) -> &Path {
        &self.data.path
    }

    /// Keeps the history of jobs that do not say how long for so many days.
    pub(crate) fn keep_history(&self, days: u32) {
        self.process.keep_history(days);
    }

    /// What ends it.
    pub(crate) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Why the right to write was lost, when it was.
    pub(crate) fn lost(&self) -> Option<String> {
        locked(&self.lost).clone()
    }

    /// Waits for the runs and other changes that are under way, which were asked to stop, and lets the right to write go.
    pub(crate) fn finish(&self) {
        interrupt::cancel().cancel();
        self.changes.tell();
        self.chores.tell();
        self.reports.tell();
        let threads = std::mem::take(&mut *locked(&self.threads));
        for thread in threads {
            // A panic of it was told by its hook.
            let _ended = thread.join();
        }
        let mut under_way = locked(&self.runs.under_way);
        while *under_way > 0 {
            under_way = self.runs.ended.wait(under_way).unwrap_or_else(PoisonError::into_inner);
        }
        drop(under_way);
        let mut busy = locked(&self.writers.busy);
        while busy.together > 0 || busy.alone.is_some() {
            busy = self.writers.ended.wait(busy).unwrap_or_else(PoisonError::into_inner);
        }
        drop(busy);
        drop(locked(&self.kept_lease).take());
    }

    fn writer(&self, alone: bool) -> Writer {
        Writer { writers: self.writers.clone(), changes: self.changes.clone(), alone }
    }

    /// Begins runs by themselves until the service is asked to end, in a thread of its own.
    pub(crate) fn heed_schedules(self: &Arc<Running>, watched_folders_max: usize) -> Result<()> {
        let running = self.clone();
        let work = move || {
            let changes = running.changes.clone();
            let mut schedules = BySchedule::new(Arc::new(move || changes.tell()), watched_folders_max);
            while refuse_stopped().is_ok() {
                let again = schedules.look(&running.context(), &|line| running.log(line));
                let again = again.unwrap_or_else(|problem| {
                    running.log(&format!("schedules cannot be looked at: {problem}"));
                    None
                });
                search::renew(&running.context());
                // It may have noted that a job rests.
                running.chores.tell();
                let wait = again.map_or(limits::SCHEDULE_LOOK_MS_MAX, |again| again - wiring::now());
                let wait = wait.clamp(1, limits::SCHEDULE_LOOK_MS_MAX);
                running.changes.rest(Duration::from_millis(limits::SCHEDULE_LOOK_MS_MIN));
                running.changes.wait(Duration::from_millis(wait as u64));
            }
        };
        self.keep_thread(begin_thread("schedules", work)?);
        Ok(())
    }

    /// Waits for a thread when it ends.
    pub(crate) fn keep_thread(&self, thread: JoinHandle<()>) {
        locked(&self.threads).push(thread);
    }

    fn program(&self) -> Program<'_> {
        Program::around(&self.global, self.data.clone(), self.process.clone())
    }

    fn refuse_lost(&self) -> Result<()> {
        // Outputs are opened by their paths: in a directory that was put in this one's place they are somebody else's.
        if self.data.lock_identity() != self.lock {
            let sentence =
                format!("the data directory {} was replaced or moved away", self.data.path.display());
            locked(&self.lost).get_or_insert(sentence);
            interrupt::cancel().cancel();
            self.stop.stop();
        }
        match self.lost() {
            Some(lost) => Err(Failure::new(Code::TakenOver, lost)),
            None => Ok(()),
        }
    }
}

impl Service for Running {
    fn context(&self) -> Context<'_> {
        Context { host: self, registry: ingather_connectors::ALL, clock: Arc::new(SystemClock), remote: None }
    }

    fn log(&self, line: &str) {
        if !self.global.quiet {
            show::log_line(&line.replace(['\n', '\r'], " "));
        }
    }

    fn note(&self, entry: &LogEntry<'_>) {
        let LogEntry { event, outcome, job, caller, request } = *entry;
        if !show::writes_objects() {
            let of =
                if job.is_empty() { String::new() } else { format!(" of job `{}`", job.replace('`', "'")) };
            return self.log(&format!("{caller} asked for {event}{of}: {outcome}"));
        }
        let more = [("outcome", outcome), ("job", job), ("caller", caller), ("request", request)];
        show::note("info", event, outcome, &more.map(|(name, value)| (name, value.into())));
    }

    fn listen(&self, listener: Listener) {
        locked(&self.listeners).push(Arc::new(listener));
    }
}

impl Background for Running {
    fn go(&self, doing: Doing, work: Work) -> Result<()> {
        let itself = self.itself.upgrade().ok_or_else(Failure::stopped)?;
        let mut under_way = locked(&self.runs.under_way);
        // Whoever ends the service has asked it to stop before it counts what is under way.
        refuse_stopped()?;
        if *under_way >= limits::RUNS_AT_ONCE_MAX {
            let sentence =
                format!("as many runs are under way as may be, {}; ask again when one has ended", *under_way);
            return Err(Failure::new(Code::Busy, sentence));
        }
        *under_way += 1;
        drop(under_way);
        let run = Run(self.runs.clone(), self.changes.clone());
        let Doing { words, tells_end } = doing;
        let begun = std::thread::Builder::new().name("run".to_owned()).spawn(move || {
            // Also of the threads and readers that it begins. Where the kernel refuses it, work is as urgent as answers are.
            let _ = rustix::process::nice(limits::WORK_NICENESS);
            // A panic is told by its hook, and is nobody else's end.
            let ended = catch_unwind(AssertUnwindSafe(|| work(&itself.context())));
            match ended {
                Ok(Ok(_)) if !tells_end => {}
                Ok(Ok(did)) => itself.log(&format!("{words}: {did}")),
                Ok(Err(problem)) => itself.log(&format!("{words}: {problem}")),
                Err(_) => itself.log(&format!("{words}: failed by a fault of this program")),
            }
            drop(run);
        });
        begun.map(drop).map_err(no_thread)
    }
}

impl Host for Running {
    fn data(&self) -> &Path {
        &self.data.path
    }

    fn secrets_key(&self) -> PathBuf {
        self.data.secrets_key().to_owned()
    }

    fn reader(&self) -> Result<Option<Reader>> {
        self.refuse_lost()?;
        Ok(Some(self.writing.store.reader().clone()))
    }

    fn reader_up_to_date(&self, _: &str) -> Result<Option<Reader>> {
        self.reader()
    }

    fn refuse_unusable(&self) -> Result<()> {
        self.refuse_lost()
    }

    fn write(&self, _: &str) -> Result<Writing> {
        self.refuse_lost()?;
        let mut busy = locked(&self.writers.busy);
        refuse_stopped()?;
        if let Some(alone) = &busy.alone {
            let sentence = format!(
                "a {alone} is under way, and nothing else may write beside it; ask again when it has ended"
            );
            return Err(Failure::new(Code::Running, sentence));
        }
        busy.together += 1;
        Ok(self.writing.shared(Box::new(self.writer(false))))
    }

    fn write_alone(&self, doing: &str) -> Result<Writing> {
        self.refuse_lost()?;
        let mut busy = locked(&self.writers.busy);
        refuse_stopped()?;
        if busy.together > 0 || busy.alone.is_some() {
            let sentence = format!(
                "a {doing} needs that nothing else writes, and something does; ask again when it has ended"
            );
            return Err(Failure::new(Code::Running, sentence));
        }
        busy.alone = Some(doing.to_owned());
        Ok(self.writing.shared(Box::new(self.writer(true))))
    }

    fn write_beside(&self, _: &str) -> Result<Writing> {
        self.refuse_lost()?;
        Ok(self.writing.shared(Box::new(Beside(self.changes.clone()))))
    }

    fn roots(&self) -> &[PathBuf] {
        &self.given.roots
    }

    fn background(&self) -> Option<&dyn Background> {
        Some(self)
    }

    fn notifiers(&self) -> Option<Vec<String>> {
        Some(self.given.notifiers.by_name.keys().cloned().collect())
    }

    fn answers_log(&self) -> Option<&AnswersLog> {
        self.given.answers_log.as_ref()
    }

    fn links(&self) -> Option<&Links> {
        Some(&self.links)
    }

    fn holder(&self) -> Option<String> {
        Some(format!("process {}: {DOING}", std::process::id()))
    }

    fn keeps_the_store(&self) -> bool {
        self.data.keeps_the_store()
    }

    fn cancel(&self) -> Cancel {
        interrupt::cancel()
    }

    fn process(&self) -> Arc<Process> {
        self.process.clone()
    }

    fn threads(&self) -> usize {
        wiring::threads(&self.global)
    }

    fn read_files(&self) {
        // One pool of readers for all that it does.
        self.readers.call_once(|| self.program().read_files());
    }

    fn own_files(&self) -> Vec<(String, String)> {
        self.data.own_files()
    }

    fn check_readers(&self) -> Look {
        self.program().check_readers()
    }

    fn unfinished(&self, path: &Path) {
        interrupt::unfinished(path);
    }

    fn bytes_out(&self) -> Box<dyn Write + '_> {
        Box::new(std::io::sink())
    }

    fn bytes_in(&self) -> Box<dyn Read + '_> {
        Box::new(std::io::empty())
    }

    fn tell(&self, event: &RunEvent) {
        show::run_happened(event);
        // It may be to be told.
        self.chores.tell();
        let listeners = locked(&self.listeners).clone();
        listeners.iter().for_each(|listener| listener(event));
    }

    fn watch(&self, _: Arc<Progress>) -> Box<dyn Any> {
        Box::new(())
    }
}
