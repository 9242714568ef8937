//! The watches of continuous jobs, and which of these jobs are to begin a pass (decision 0027).

use std::collections::BTreeMap;
use std::sync::Arc;

use ingather_contract::call::Clock;
use ingather_contract::repository::{Told, Watch, Watching};
use ingather_model::ids::JobId;
use ingather_model::job::RunKind;
use ingather_model::job::passes::{Around, Passes};
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_store::documents::dates;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::Job;
use ingather_store::runs::{self, Run};
use ingather_store::{Reader, queue};

use super::Process;
use crate::engine::Engine;
use crate::error::Result;
use ingather_store::turns::lock;

/// The continuous jobs of a process, each with its watch.
pub struct Watches {
    watching: Watching,
    jobs: BTreeMap<JobId, Watched>,
}

/// One job.
struct Watched {
    /// Of its definition when the watch was opened: another one may watch other folders.
    revision: i64,
    watch: Option<Box<dyn Watch>>,
    /// Why not all of it is watched.
    unwatched: Option<String>,
    /// How often its seeds are asked, where its source is found by following links: nothing watches that, and documents have dates.
    reseed_ms: Option<i64>,
    /// Applications push its documents, and each asks for a visit.
    is_pushed: bool,
    /// How the pass looks that is about to begin.
    kind: RunKind,
    passes: Passes,
    /// Number of its last run when a pass was begun.
    run: i64,
    /// When its last pass began, and when a document falls due after that, by the clock that may be put back.
    begun: i64,
    due: Option<i64>,
    /// How often an output had come back when its last pass began, or since.
    returns: u64,
}

/// What is to be done about continuous jobs now.
#[derive(Debug, Default)]
pub struct Due {
    /// Jobs whose pass begins now, each with how it looks; each is told to [`Watches::begin`] before.
    pub begins: Vec<(Job, RunKind)>,
    /// When to look again if no watch tells anything before, milliseconds since 1970 UTC.
    pub again: Option<i64>,
    /// Jobs that are listed at intervals, with the sentence that says why.
    pub unwatched: Vec<(JobId, String)>,
}

impl Watches {
    /// None yet. `wake` is called, by threads of connectors, when [`Watches::look`] is to be asked; a watch ends that would need more than so
    /// many folders.
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>, folders_max: usize) -> Watches {
        Watches { watching: Watching { wake, folders_max }, jobs: BTreeMap::new() }
    }

    /// Asks the watches of these jobs, which are all that are continuous; opens those that are missing, and ends those of other jobs.
    ///
    /// # Errors
    /// What the store says.
    pub fn look(
        &mut self,
        jobs: Vec<Job>,
        engine: &dyn Fn(&Job) -> Engine,
        process: &Process,
        clock: &dyn Clock,
    ) -> Result<Due> {
        let revision = |id: &JobId| jobs.iter().find(|job| job.id == *id).map(|job| job.revision);
        self.jobs.retain(|id, watched| revision(id) == Some(watched.revision));
        let mut due = Due::default();
        for job in jobs {
            let watched = self.jobs.entry(job.id).or_insert_with(|| Watched::new(&job));
            if watched.is_unopened() {
                watched.open(&engine(&job), &job, &self.watching);
            }
            let (now, steady) = (clock.now(), clock.steady());
            let is_busy = process.works_on(job.id);
            if watched.passes.is_under_way() && !is_busy {
                // Read now: what the caller has read of the job may be from before its end, and a pass would count as one that failed.
                let reader = engine(&job).reader;
                let last = reader.read(|sql| runs::list(sql, job.id, 1))?;
                let has_run = last.first().is_some_and(|run| run.number > watched.run);
                if process.take_put_off(job.id) && !has_run {
                    // What was due still is.
                    watched.passes.put_off();
                } else {
                    watched.end(steady, last.first());
                    // Not after now: what has fallen due since it began, it had no time for.
                    watched.due = next_due(&reader, job.id, watched.begun)?;
                }
            }
            watched.hear_of_outputs(process.returned_outputs());
            // Not while a pass is under way, which may have looked already.
            if watched.is_pushed
                && !watched.passes.is_under_way()
                && let Some(due) = process.take_pushed(job.id)
            {
                // Not before now: a pass that began after it was asked may have begun before it was on disk.
                let due = due.max(now);
                watched.due = Some(watched.due.map_or(due, |first| first.min(due)));
            }
            watched.listen(steady);
            if let Some(why) = &watched.unwatched {
                let minutes = limits::PASS_UNWATCHED_MS / 60_000;
                let sentence = format!("is listed every {minutes} minutes instead of being watched: {why}");
                due.unwatched.push((job.id, sentence));
            }
            // What was interrupted is begun again by the scheduler, or rests until a person begins it.
            if is_busy || job.paused || job.restart.is_some() || job.state != State::Resting {
                continue;
            }
            match watched.next(now, steady) {
                Some((next, kind)) if next <= steady => {
                    watched.kind = kind;
                    due.begins.push((job, kind));
                }
                Some((next, _)) => {
                    let at = now.saturating_add(next - steady);
                    due.again = Some(due.again.map_or(at, |again| again.min(at)));
                }
                None => {}
            }
        }
        process.note_unwatched(&due.unwatched);
        Ok(due)
    }

    /// A pass of this job is about to begin: what its watch has told until now is taken by it.
    pub fn begin(&mut self, job: &Job, engine: &dyn Fn(&Job) -> Engine, clock: &dyn Clock) {
        let Some(watched) = self.jobs.get_mut(&job.id) else { return };
        let steady = clock.steady();
        watched.take(steady);
        (watched.run, watched.begun) = (job.run, clock.now());
        watched.passes.begin(steady, watched.grain_ms(), watched.kind);
        if watched.watch.is_none() && watched.reseed_ms.is_none() {
            // What ended it may be over. Whatever it misses until it stands is called lost.
            watched.open(&engine(job), job, &self.watching);
        }
    }

    /// That pass did not begin, for somebody pauses, stops or runs the job: it is due as before.
    pub fn put_off(&mut self, job: JobId) {
        if let Some(watched) = self.jobs.get_mut(&job) {
            watched.passes.put_off();
        }
    }

    /// That pass could not begin.
    pub fn refused(&mut self, job: JobId, clock: &dyn Clock) {
        if let Some(watched) = self.jobs.get_mut(&job) {
            watched.passes.end(clock.steady(), false);
        }
    }
}

impl Watched {
    fn new(job: &Job) -> Watched {
        Watched {
            revision: job.revision,
            watch: None,
            unwatched: None,
            reseed_ms: None,
            is_pushed: false,
            kind: RunKind::Full,
            passes: Passes::default(),
            run: job.run,
            begun: 0,
            due: None,
            returns: 0,
        }
    }

    fn is_unopened(&self) -> bool {
        self.watch.is_none() && self.unwatched.is_none() && self.reseed_ms.is_none()
    }

    fn open(&mut self, engine: &Engine, job: &Job, watching: &Watching) {
        let repository = engine.repository(job).map_err(|error| error.to_string());
        if let Some(repository) = repository.as_ref().ok().filter(|repository| repository.refers().is_some())
        {
            self.is_pushed = repository.pushed().is_some();
            self.reseed_ms = Some(match self.is_pushed {
                true => limits::PASS_WATCHED_MS,
                false => job.definition.dates.reseed_ms(),
            });
            let steady = engine.clock.steady();
            return self.passes.hear(steady, steady);
        }
        let opened = repository.and_then(|repository| {
            let none = || "its source tells nobody of changes".to_owned();
            repository.watch(&engine.call(), watching.clone()).ok_or_else(none)
        });
        match opened {
            Ok(watch) => self.watch = Some(watch),
            Err(why) => self.give_up(why, engine.clock.steady()),
        }
    }

    /// It cannot be watched. The first time, something may have happened since it was.
    fn give_up(&mut self, why: String, steady: i64) {
        self.watch = None;
        if self.unwatched.replace(why).is_none() {
            self.passes.hear(steady, steady);
        }
    }

    /// Outputs have come back so often. While a pass is under way that is left for later: it may be too late for that one.
    fn hear_of_outputs(&mut self, returns: u64) {
        if !self.passes.is_under_way() && self.returns != returns {
            self.returns = returns;
            self.passes.retry_now();
        }
    }

    /// Asks the watch, unless a pass is due already: it tells more by then.
    fn listen(&mut self, steady: i64) {
        if !self.passes.is_under_way() && !self.passes.has_heard() {
            self.take(steady);
        }
    }

    fn take(&mut self, steady: i64) {
        let Some(watch) = &mut self.watch else { return };
        match watch.told() {
            Told::Nothing => {}
            Told::Changed { since, until, .. } => self.passes.hear(since, until),
            Told::Lost(_) => {
                // From here on it tells.
                self.unwatched = None;
                self.passes.hear(steady, steady);
            }
            Told::Ended(reason) => self.give_up(reason.message, steady),
        }
    }

    /// The pass that was begun is over, or was never on record.
    fn end(&mut self, steady: i64, last: Option<&Run>) {
        let is_done = |run: &Run| run.number > self.run && run.outcome == Some(RunOutcome::Done);
        self.passes.end(steady, last.is_some_and(is_done));
    }

    fn grain_ms(&self) -> i64 {
        self.watch.as_ref().map_or(0, |watch| watch.grain_ms())
    }

    fn next(&self, now: i64, steady: i64) -> Option<(i64, RunKind)> {
        self.passes.next(Around {
            grain_ms: self.grain_ms(),
            is_watched: self.unwatched.is_none() && self.reseed_ms.is_none(),
            due: self.due.map(|due| steady.saturating_add(due.saturating_sub(now))),
            reseed_ms: self.reseed_ms,
            rest_ms: match self.is_pushed {
                true => (limits::PUSHED_REST_MS_MIN, limits::PUSHED_REST_MS_MAX),
                false => (limits::PASS_REST_MS_MIN, limits::PASS_REST_MS_MAX),
            },
        })
    }
}

/// When a document of a job falls due beyond a time: an attempt at its date, and a look or an expiration with those that are soon after it.
fn next_due(reader: &Reader, job: JobId, after: i64) -> Result<Option<i64>> {
    let (attempt, date) =
        reader.read(|sql| Ok((queue::next_due(sql, job, after)?, dates::first(sql, job, after)?)))?;
    let date = date.filter(|_| !failpoint(Failpoint::DueDateForgotten));
    let date = date.map(|date| date.saturating_add(limits::DATES_TOGETHER_MS));
    Ok([attempt, date].into_iter().flatten().min())
}

impl Process {
    /// Takes note of which continuous jobs are not watched.
    fn note_unwatched(&self, jobs: &[(JobId, String)]) {
        *lock(&self.unwatched) = jobs.iter().cloned().collect();
    }

    /// Why a continuous job is listed at intervals, where it is, as a sentence about it.
    pub fn unwatched(&self, job: JobId) -> Option<String> {
        lock(&self.unwatched).get(&job).cloned()
    }
}
