//! The jobs that this process works on: each once at a time, and each can be asked to stop alone.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use ingather_contract::call::Cancel;
use ingather_model::ids::JobId;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;

use super::lease_keeper::LeaseUse;
use crate::error::{EngineError, Refusal, Result};
use crate::progress::Snapshot;
use crate::run::Run;
use ingather_store::turns::{Monitor, lock};

/// What is under way.
#[derive(Default)]
pub(crate) struct UnderWay {
    works: Mutex<Vec<Arc<State>>>,
    /// How much has ended, for whoever waits for it.
    ended: Monitor<u64>,
}

struct State {
    job: JobId,
    doing: &'static str,
    kind: Kind,
    cancel: Cancel,
    /// Somebody has asked for the stop of this work, and not of everything; a run that was announced shares it.
    stopped: Arc<AtomicBool>,
    /// Its run is on record, or was; a run that was announced shares it, which is still there for a moment when the run has ended.
    begun: Arc<AtomicBool>,
    /// The number of its run, from the moment at which that is put on record; a run that was announced shares it.
    number: Arc<AtomicI64>,
    failure: Mutex<Option<EngineError>>,
    pause: Mutex<Pause>,
}

/// Why a run rests, if it does, and which.
#[derive(Default)]
struct Pause {
    /// A person has paused the job since this work began.
    paused: bool,
    /// The window of its schedule is closed.
    closed: bool,
    run: Weak<Run>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// In nobody's way.
    Reads,
    /// One at a time for a job.
    Writes,
    /// Something that writes is about to begin, and stops with this.
    Announced,
}

/// What is under way for a job at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Glance {
    /// Something that writes is announced or under way.
    pub works: bool,
    /// A run is about to begin, and is not on record yet.
    pub begins: bool,
    /// What it needs is being opened.
    pub prepares: bool,
    /// The window of the schedule that its run heeds is closed.
    pub window_closed: bool,
    /// Its listing goes on.
    pub lists: bool,
    /// Documents are in hands.
    pub busy: bool,
    /// It was asked to stop.
    pub stops: bool,
    /// All that it has waits for the throttle of its connection until this time, milliseconds since 1970 UTC; [`i64::MAX`]: until other
    /// documents are read, or its rules change.
    pub throttled: Option<i64>,
    /// How far its run has come.
    pub progress: Option<Snapshot>,
}

/// What a restart has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Met {
    /// A run, which stops at its next safe place; then the other one begins.
    Run,
    /// A run that is just about to begin, and is what was asked for.
    Beginning,
    /// Nothing: whoever asked begins one.
    Nothing,
}

/// What an abort has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aborted {
    /// Something is under way, and stops at its next safe place.
    Stopping,
    /// A run was to go on by itself, and does not.
    Rests,
    /// Nothing.
    Nothing,
}

/// What was asked to stop.
pub(crate) struct Stopped(i64);

/// Work on one job; over when it is dropped.
pub(crate) struct Work {
    under_way: Arc<UnderWay>,
    state: Arc<State>,
    /// Given back after the job may be worked on again.
    _lease: Option<LeaseUse>,
}

impl State {
    /// Not while the list is locked, where it has a run: the last use of that may end here.
    fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.cancel.cancel();
        let run = lock(&self.pause).run.upgrade();
        run.iter().for_each(|run| run.stop());
    }

    /// Whether this is in the way of something that writes for the same job: a run that was announced is, but for itself.
    fn hinders(&self, doing: &str) -> bool {
        match self.kind {
            Kind::Reads => false,
            Kind::Writes => true,
            Kind::Announced => self.doing != doing,
        }
    }
}

impl UnderWay {
    /// A run is about to begin. What begins for the job as long as this lives stops with it.
    pub(crate) fn announce(this: &Arc<UnderWay>, job: &Job, whole: &Cancel) -> Result<Work> {
        let mut works = lock(&this.works);
        if let Some(other) = works.iter().find(|other| other.job == job.id && other.kind != Kind::Reads) {
            return Err(refused(other.doing, job));
        }
        let state = State {
            job: job.id,
            doing: "run",
            kind: Kind::Announced,
            cancel: whole.part(),
            stopped: Arc::default(),
            begun: Arc::default(),
            number: Arc::default(),
            failure: Mutex::default(),
            pause: Mutex::default(),
        };
        let state = Arc::new(state);
        works.push(state.clone());
        drop(works);
        Ok(Work { under_way: this.clone(), state, _lease: None })
    }

    pub(crate) fn begin(
        this: &Arc<UnderWay>,
        job: &Job,
        doing: &'static str,
        whole: &Cancel,
        lease: Option<LeaseUse>,
    ) -> Result<Work> {
        let kind = if lease.is_some() { Kind::Writes } else { Kind::Reads };
        let mut works = lock(&this.works);
        if let Some(other) =
            works.iter().find(|other| kind == Kind::Writes && other.job == job.id && other.hinders(doing))
        {
            return Err(refused(other.doing, job));
        }
        let announced = works.iter().find(|other| other.kind == Kind::Announced && other.job == job.id);
        let announced = announced.filter(|_| kind == Kind::Writes);
        let cancel = announced.map_or(whole, |other| &other.cancel).part();
        let stopped = announced.map(|other| other.stopped.clone()).unwrap_or_default();
        let begun = announced.map(|other| other.begun.clone()).unwrap_or_default();
        let number = announced.map(|other| other.number.clone()).unwrap_or_default();
        let (failure, pause) = (Mutex::default(), Mutex::default());
        let state =
            Arc::new(State { job: job.id, doing, kind, cancel, stopped, begun, number, failure, pause });
        works.push(state.clone());
        drop(works);
        Ok(Work { under_way: this.clone(), state, _lease: lease })
    }

    /// Asks all work on a job to stop, and nothing else; none when there is none.
    pub(crate) fn stop(&self, job: JobId) -> Option<Stopped> {
        let all = failpoint(Failpoint::StopsAllJobs);
        let works: Vec<Arc<State>> =
            lock(&self.works).iter().filter(|work| work.job == job || all).cloned().collect();
        Stopped::of(works.iter().inspect(|work| work.stop()))
    }

    /// Asks a run that is just about to begin to stop; none where there is none.
    pub(crate) fn stop_beginning(&self, job: JobId) -> Option<Stopped> {
        let works = lock(&self.works);
        let writes = || works.iter().filter(|work| work.job == job && work.kind != Kind::Reads);
        let is_begun = |work: &Arc<State>| work.doing != "run" || work.begun.load(Ordering::Relaxed);
        if writes().any(is_begun) {
            return None;
        }
        // None of them has a run whose last use could end here.
        Stopped::of(writes().inspect(|work| work.stop()))
    }

    /// What a restart of a job finds, and how it is stopped: that alone, for when it ends by itself, what comes behind it is what was asked for.
    ///
    /// # Errors
    /// `Running` where something else than a run is under way, and where one is that was stopped before it had begun: it takes with it what is
    /// wanted of the job.
    pub(crate) fn meets(&self, job: &Job) -> Result<(Met, impl FnOnce() + use<>)> {
        let works = lock(&self.works);
        let writes = || works.iter().filter(|work| work.job == job.id && work.kind != Kind::Reads);
        if let Some(other) = writes().find(|work| work.doing != "run") {
            return Err(refused(other.doing, job));
        }
        let is_begun = |work: &Arc<State>| work.begun.load(Ordering::Relaxed);
        let was_stopped = |work: &Arc<State>| work.stopped.load(Ordering::SeqCst);
        let met = match writes().next() {
            None => Met::Nothing,
            Some(_) if writes().any(is_begun) => Met::Run,
            Some(_) if writes().any(was_stopped) => {
                let name = &job.name;
                let sentence =
                    format!("a run of job {name} was stopped before it has begun; ask again in a moment");
                return Err(EngineError::refused(Refusal::Running, sentence));
            }
            Some(_) => Met::Beginning,
        };
        let found: Vec<Arc<State>> = writes().cloned().collect();
        Ok((met, move || found.iter().for_each(|work| work.stop())))
    }

    /// Pauses the run of a job that writes, or lets it go on; false when there is none.
    pub(crate) fn pause(&self, job: JobId, paused: bool) -> bool {
        self.rest(job, |pause| pause.paused = paused)
    }

    /// The same for the window of its schedule.
    pub(crate) fn close_window(&self, job: JobId, closed: bool) -> bool {
        self.rest(job, |pause| pause.closed = closed)
    }

    fn rest(&self, job: JobId, change: impl Fn(&mut Pause)) -> bool {
        let works: Vec<Arc<State>> = lock(&self.works)
            .iter()
            .filter(|work| work.job == job && work.kind == Kind::Writes)
            .cloned()
            .collect();
        let tell = |work: &&Arc<State>| {
            let mut pause = lock(&work.pause);
            change(&mut pause);
            pause.tell()
        };
        // Not while the list is locked: the last use of a run may end here.
        works.iter().filter(tell).count() > 0
    }

    /// What is under way for a job just now.
    pub(crate) fn glance(&self, job: JobId) -> Glance {
        let works: Vec<Arc<State>> = lock(&self.works)
            .iter()
            .filter(|work| work.job == job && work.kind != Kind::Reads)
            .cloned()
            .collect();
        let mut glance = Glance { works: !works.is_empty(), ..Glance::default() };
        for work in works {
            // Not while the list is locked: the last use of a run may end here.
            let (closed, run) = {
                let pause = lock(&work.pause);
                (pause.closed, pause.run.upgrade())
            };
            let begins = work.doing == "run" && !work.begun.load(Ordering::Relaxed);
            glance.begins |= begins;
            glance.prepares |= begins && work.kind == Kind::Writes;
            glance.window_closed |= closed;
            glance.stops |= work.cancel.cancelled();
            glance.lists |= run.as_ref().is_some_and(|run| run.dispatcher.lists());
            glance.busy |= run.as_ref().is_some_and(|run| run.dispatcher.is_busy());
            glance.progress = glance.progress.or(run.as_ref().map(|run| run.progress.snapshot()));
            glance.throttled = glance.throttled.or(run.and_then(|run| run.dispatcher.waits_until()));
        }
        glance
    }

    /// Whether anything that writes is announced or under way for a job.
    pub(crate) fn works_on(&self, job: JobId) -> bool {
        lock(&self.works).iter().any(|work| work.job == job && work.kind != Kind::Reads)
    }

    /// Waits until something has ended, where anything writes for a job; at most so long.
    pub(crate) fn wait_for_end(&self, job: JobId, longest: Duration) {
        let ended = self.ended.lock();
        let before = *ended;
        // What has ended since whoever waits has looked is not there any more.
        if self.works_on(job) {
            let _ = self.ended.wait_at_most(ended, longest, |ended| *ended == before);
        }
    }

    /// Ends all work that writes: nothing can be written any more.
    pub(crate) fn fail(&self, error: &EngineError) {
        for work in lock(&self.works).iter().filter(|work| work.kind == Kind::Writes) {
            lock(&work.failure).get_or_insert_with(|| error.clone());
            work.cancel.cancel();
        }
    }
}

impl Stopped {
    fn of<'w>(works: impl Iterator<Item = &'w Arc<State>>) -> Option<Stopped> {
        // Read once they were asked: a run whose number is not there yet finds in `Work::opens` that it was stopped.
        works.map(|work| Stopped(work.number.load(Ordering::SeqCst))).max_by_key(|stopped| stopped.0)
    }

    /// The run, where it is on record or was.
    pub(crate) fn run(&self) -> Option<i64> {
        (self.0 > 0).then_some(self.0)
    }
}

impl Pause {
    fn tell(&self) -> bool {
        let run = self.run.upgrade();
        run.iter().for_each(|run| run.pause(self.paused || self.closed));
        run.is_some()
    }
}

fn refused(doing: &str, job: &Job) -> EngineError {
    let sentence = format!(
        "a {doing} of job {} is under way in this process; wait until it has ended, or stop it",
        job.name
    );
    EngineError::refused(Refusal::Running, sentence)
}

impl Work {
    /// From here on this run is paused with the job.
    pub(crate) fn pauses(&self, run: &Arc<Run>) {
        let mut pause = lock(&self.state.pause);
        pause.run = Arc::downgrade(run);
        self.state.begun.store(true, Ordering::Relaxed);
        pause.tell();
    }

    /// Called where its run is being put on record, as the last thing before that counts; false when somebody has stopped it: then it must not
    /// count, since whoever stops a run afterwards stops it on record, too.
    pub(crate) fn opens(&self, number: i64) -> bool {
        self.state.number.store(number, Ordering::SeqCst);
        let opens = !self.state.stopped.load(Ordering::SeqCst);
        if !opens {
            self.state.number.store(0, Ordering::SeqCst);
        }
        opens
    }

    /// Asks this work alone to stop.
    pub(crate) fn cancel(&self) -> Cancel {
        self.state.cancel.clone()
    }

    /// Whether somebody has asked for the stop of this work, and not of everything.
    pub(crate) fn was_stopped(&self) -> bool {
        self.state.stopped.load(Ordering::Relaxed)
    }

    /// Fails where the process can write nothing any more: the work was stopped for that, and by nobody.
    ///
    /// # Errors
    /// Why.
    pub(crate) fn check(&self) -> Result<()> {
        lock(&self.state.failure).clone().map_or(Ok(()), Err)
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        lock(&self.under_way.works).retain(|work| !Arc::ptr_eq(work, &self.state));
        let mut ended = self.under_way.ended.lock();
        *ended = ended.wrapping_add(1);
        drop(ended);
        self.under_way.ended.notify();
    }
}
