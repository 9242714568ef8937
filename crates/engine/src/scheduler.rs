//! Which jobs are to run by themselves, and whose window is closed: asked when something has changed, and at the time that it names. It
//! begins nothing itself, so that tests and programs begin runs in their own way.

use std::collections::BTreeMap;

use ingather_model::ids::JobId;
use ingather_model::job::RunKind;
use ingather_model::job::schedule::{Asked, Calendar, Schedule};
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_store::Reader;
use ingather_store::jobs::{self, Job};
use ingather_store::runs::{self, Run};

use crate::error::Result;

/// Time zones belong to the machine, so what a schedule means does, too.
pub type Reads = fn(&Schedule) -> std::result::Result<Calendar, String>;

/// The schedules of all jobs, as they were read last.
pub struct Scheduler {
    reads: Reads,
    known: BTreeMap<JobId, Known>,
}

/// What a schedule meant when it was read.
struct Known {
    revision: i64,
    read_at: i64,
    calendar: std::result::Result<Calendar, String>,
}

/// What is to be done at one time.
#[derive(Debug, Default)]
pub struct Look {
    /// Jobs whose run begins now, each with its kind.
    pub begins: Vec<(Job, RunKind)>,
    /// Jobs that a person has stopped, and whose process died before all was put down: their runs are to be closed.
    pub rests: Vec<Job>,
    /// Continuous jobs, each with its last run: what begins their passes is told by watches.
    pub continuous: Vec<(Job, Option<Run>)>,
    /// Jobs of which somebody says that they are under way: whether their window is closed.
    pub windows: Vec<(JobId, bool)>,
    /// When to look again if nothing changes before, milliseconds since 1970 UTC; none: not before something changes.
    pub again: Option<i64>,
    /// Jobs whose run was interrupted too often, each with the sentence that says so.
    pub interrupted: Vec<(Job, String)>,
    /// Jobs that do not begin although they should, each with a sentence that says why and what to do.
    pub problems: Vec<(JobId, String)>,
}

impl Scheduler {
    /// One that has read nothing yet.
    pub fn new(reads: Reads) -> Scheduler {
        Scheduler { reads, known: BTreeMap::new() }
    }

    /// What is to be done at `now`; `is_busy` says of which jobs a run is under way.
    ///
    /// A run that its process did not end (a crash, a loss of power) is begun again, whether its job has a schedule or not, as soon as its
    /// window is open; one that was interrupted so several times in a row rests until a person begins it.
    ///
    /// # Errors
    /// What the store says.
    pub fn look(&mut self, reader: &Reader, now: i64, is_busy: &dyn Fn(JobId) -> bool) -> Result<Look> {
        let jobs = reader.read(jobs::list)?;
        self.known.retain(|id, _| jobs.iter().any(|job| job.id == *id));
        let mut look = Look::default();
        for job in jobs {
            if job.state == State::Deleting {
                continue;
            }
            let goes_on = job.state != State::Resting || job.restart.is_some();
            let is_interrupted = goes_on && !is_busy(job.id);
            if job.definition.schedule.is_none() && !is_interrupted {
                continue;
            }
            let last = reader.read(|sql| runs::list(sql, job.id, limits::INTERRUPTIONS_MAX))?;
            if job.definition.schedule == Some(Schedule::Continuous) {
                look.continuous.push((job.clone(), last.first().cloned()));
            }
            self.look_at(&mut look, job, &last, now, is_busy);
        }
        Ok(look)
    }

    fn look_at(
        &mut self,
        look: &mut Look,
        job: Job,
        last: &[Run],
        now: i64,
        is_busy: &dyn Fn(JobId) -> bool,
    ) {
        let is_busy = is_busy(job.id);
        let calendar = self.calendar(&job, now).unwrap_or_else(|problem| {
            look.problems.push((job.id, format!("job {}: {problem}", job.name)));
            None
        });
        let begun = last.first().map(|run| run.started_at);
        let ended = last.first().and_then(|run| run.ended_at);
        // What is said to be later than now, because the clock was ahead once, would keep the job from running until then.
        let past = |at: &i64| *at <= now;
        let asked_at = |run: Option<i64>| {
            let at = [Some(job.scheduled_at), run].into_iter().flatten().filter(past).max();
            at.unwrap_or_default()
        };
        let was_minimal = last.first().is_some_and(|run| run.kind == RunKind::Minimal);
        let full_at = asked_at(if was_minimal { begun } else { ended });
        let asked = Asked { begun, at: asked_at(ended), full_at };
        let is_open = calendar.as_ref().is_none_or(|calendar| calendar.is_open(now));
        if let Some(change) = calendar.as_ref().and_then(|calendar| calendar.next_change(asked, now)) {
            look.again = Some(look.again.map_or(change, |again| again.min(change)));
        }
        if is_busy {
            look.windows.push((job.id, !is_open));
        } else if job.state == State::Stopping && job.restart.is_none() {
            look.rests.push(job);
        } else if job.paused {
            // It is asked again when the pause ends.
        } else if let Some(kind) = job.restart {
            // A person has asked for it, whatever the schedule says.
            look.begins.push((job, kind));
        } else if job.state != State::Resting {
            if let Some(problem) = interrupted_too_often(&job.name, last) {
                look.problems.push((job.id, format!("job {}: {problem}", job.name)));
                look.interrupted.push((job, problem));
            } else if is_open {
                // What goes on does so as a full run where one is due by now.
                let due = calendar.and_then(|calendar| calendar.due(asked, now)).map(|window| window.kind);
                let was = last.first().map_or(RunKind::Full, |run| run.kind);
                let kind = due.filter(|kind| *kind == RunKind::Full).unwrap_or(was);
                look.begins.push((job, kind));
            }
        } else if let Some(window) = calendar.and_then(|calendar| calendar.due(asked, now)) {
            look.begins.push((job, window.kind));
        }
    }

    /// What the schedule of a job means; read once for each of its revisions, and once a day.
    fn calendar(&mut self, job: &Job, now: i64) -> std::result::Result<Option<Calendar>, String> {
        let Some(schedule) = &job.definition.schedule else { return Ok(None) };
        let is_current = |known: &&Known| {
            known.revision == job.revision && now.abs_diff(known.read_at) < limits::SCHEDULE_READ_MS as u64
        };
        if let Some(known) = self.known.get(&job.id).filter(is_current) {
            return known.calendar.clone().map(Some);
        }
        let calendar = (self.reads)(schedule);
        self.known.insert(job.id, Known { revision: job.revision, read_at: now, calendar: calendar.clone() });
        calendar.map(Some)
    }
}

/// Why a run of a job does not go on by itself, where it was interrupted as often in a row as it may be; `last`: its last runs, the newest
/// first.
pub fn interrupted_too_often(name: &str, last: &[Run]) -> Option<String> {
    let interrupted = |run: &&Run| matches!(run.outcome, None | Some(RunOutcome::Interrupted));
    let times = last.iter().take_while(interrupted).count();
    (times >= limits::INTERRUPTIONS_MAX).then(|| {
        format!(
            "its run was interrupted {} times in a row, and does not go on by itself; look at the log for what ended the program, then \
             `ingather job start {name}`. Which documents were under way is not on record: `ingather document list {name} --state waiting` \
             has those that were not done",
            limits::INTERRUPTIONS_MAX
        )
    })
}
