//! Which jobs are to run by themselves, and whose window is closed: asked when something has changed, and at the time that it names. It
//! begins nothing itself, so that tests and programs begin runs in their own way.

use std::collections::HashMap;

use ingather_model::ids::JobId;
use ingather_model::job::RunKind;
use ingather_model::job::schedule::{Asked, Calendar, Schedule};
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::{self, Current, Job};
use ingather_store::runs::{self, Run};
use ingather_store::{Reader, Sql, StoreError};

use crate::error::Result;

/// Time zones belong to the machine, so what a schedule means does, too.
pub type Reads = fn(&Schedule) -> CalendarRead;

/// A calendar, or why a schedule means nothing here.
pub type CalendarRead = std::result::Result<Calendar, String>;

/// The schedules of all jobs, as they were read last. Of what did not change since the last look, nothing is read or worked out again: with
/// thousands of jobs, a look is asked for whenever a run of one of them begins or ends.
pub struct Scheduler {
    reads: Reads,
    known: HashMap<JobId, Known>,
}

/// What is known of a job.
struct Known {
    /// As it was when its definition was read.
    job: Job,
    /// What its schedule means, where it has one, and when it was read.
    calendar: Option<(i64, CalendarRead)>,
    /// Its last run, if it rests since that.
    rested: Option<LastRun>,
    judged: Option<Judged>,
}

/// What schedules go by in the last run of a job: a run that has ended keeps it.
#[derive(Clone, Copy, Default)]
struct LastRun {
    number: i64,
    begun: Option<i64>,
    ended: Option<i64>,
    was_minimal: bool,
}

impl LastRun {
    fn of(number: i64, run: Option<&Run>) -> LastRun {
        LastRun {
            number,
            begun: run.map(|run| run.started_at),
            ended: run.and_then(|run| run.ended_at),
            was_minimal: run.is_some_and(|run| run.kind == RunKind::Minimal),
        }
    }
}

/// What a calendar says from one time until another.
#[derive(Clone, Copy)]
struct Judged {
    asked: Asked,
    from: i64,
    /// When something may change; none: never.
    until: Option<i64>,
    is_open: bool,
    due: Option<RunKind>,
}

impl Judged {
    fn of(calendar: &Calendar, asked: Asked, now: i64) -> Judged {
        Judged {
            asked,
            from: now,
            until: calendar.next_change(asked, now),
            is_open: calendar.is_open(now),
            due: calendar.due(asked, now).map(|window| window.kind),
        }
    }

    /// Whether it is so at another time; not where a clock was put back, for then a beginning may be later than now.
    fn holds(&self, asked: Asked, now: i64) -> bool {
        let has_begun = asked.begun.is_none_or(|begun| begun <= self.from);
        asked == self.asked && has_begun && (self.from..self.until.unwrap_or(i64::MAX)).contains(&now)
    }
}

/// What is to be done at one time.
#[derive(Debug, Default)]
pub struct Look {
    /// Jobs whose run begins now, each with its kind.
    pub begins: Vec<(Job, RunKind)>,
    /// Jobs that a person has stopped, and whose process died before all was put down: their runs are to be closed.
    pub rests: Vec<Job>,
    /// Jobs that are to go, and of whose deletion nothing is under way here.
    pub deletions: Vec<Job>,
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
        Scheduler { reads, known: HashMap::new() }
    }

    /// What is to be done at `now`; `is_busy` says of which jobs a run is under way.
    ///
    /// A run that its process did not end (a crash, a loss of power) is begun again, whether its job has a schedule or not, as soon as its
    /// window is open; one that was interrupted so several times in a row rests until a person begins it.
    ///
    /// # Errors
    /// What the store says.
    pub fn look(&mut self, reader: &Reader, now: i64, is_busy: &dyn Fn(JobId) -> bool) -> Result<Look> {
        let mut look = Look::default();
        let (current, last) = reader.read(|sql| {
            let mut current = jobs::current(sql)?;
            self.read_definitions(sql, &current)?;
            look.deletions = self.deletions(&current, is_busy);
            current.retain(|job| self.is_looked_at(job, is_busy));
            let changed = current.iter().filter(|job| !self.is_as_before(job));
            let changed: Vec<i64> = changed.map(|job| job.id.0).collect();
            let last = runs::last(sql, &changed)?;
            Ok((current, last))
        })?;
        for job in current {
            let Some(known) = self.known.get_mut(&job.id) else { continue };
            let last = last.get(&job.id);
            if known.is_continuous() {
                look.continuous.push((job.of(&known.job), last.cloned()));
            }
            let run = known.rested_since(&job).unwrap_or_else(|| LastRun::of(job.run, last));
            known.rested = (job.state == State::Resting).then_some(run);
            known.read_calendar(self.reads, now);
            look.at(reader, known, &job, (run, now, is_busy(job.id)))?;
        }
        Ok(look)
    }

    /// Reads what is new or was changed, and forgets what is gone.
    fn read_definitions(
        &mut self,
        sql: &mut Sql<'_>,
        all: &[Current],
    ) -> std::result::Result<(), StoreError> {
        let current: HashMap<JobId, i64> = all.iter().map(|job| (job.id, job.revision)).collect();
        // The key of a secret that could not be opened may be there by now.
        self.known.retain(|id, known| {
            current.get(id) == Some(&known.job.revision) && known.job.definition.still_sealed().is_none()
        });
        let missing: Vec<JobId> =
            all.iter().map(|job| job.id).filter(|id| !self.known.contains_key(id)).collect();
        let found = match missing.len() {
            // Each by itself is quicker than all of them.
            0..=limits::DEFINITIONS_SINGLY_MAX => {
                let found: std::result::Result<Vec<_>, _> =
                    missing.iter().map(|id| jobs::get(sql, *id)).collect();
                found?.into_iter().flatten().collect()
            }
            _ => jobs::list(sql)?,
        };
        for job in found.into_iter().filter(|job| missing.contains(&job.id)) {
            self.known.insert(job.id, Known { job, calendar: None, rested: None, judged: None });
        }
        Ok(())
    }

    fn deletions(&self, all: &[Current], is_busy: &dyn Fn(JobId) -> bool) -> Vec<Job> {
        let left = all.iter().filter(|job| job.state == State::Deleting && !is_busy(job.id));
        let left = left.filter(|_| !failpoint(Failpoint::DeletionRests));
        left.filter_map(|job| self.known.get(&job.id).map(|known| job.of(&known.job))).collect()
    }

    /// Whether something may have to be done for a job: it has a schedule, or goes on by itself.
    fn is_looked_at(&self, job: &Current, is_busy: &dyn Fn(JobId) -> bool) -> bool {
        let goes_on = job.state != State::Resting || job.restart.is_some();
        let is_scheduled =
            self.known.get(&job.id).is_some_and(|known| known.job.definition.schedule.is_some());
        job.state != State::Deleting && (is_scheduled || (goes_on && !is_busy(job.id)))
    }

    /// Whether it rests since its last run was read, and nothing else of that run is wanted.
    fn is_as_before(&self, job: &Current) -> bool {
        let known = self.known.get(&job.id);
        known.is_some_and(|known| known.rested_since(job).is_some() && !known.is_continuous())
    }
}

impl Known {
    fn is_continuous(&self) -> bool {
        self.job.definition.schedule == Some(Schedule::Continuous)
    }

    /// The last run of a job that rests as it did.
    fn rested_since(&self, job: &Current) -> Option<LastRun> {
        self.rested.filter(|last| job.state == State::Resting && job.run == last.number)
    }

    /// Has the schedule mean what it means now: it is read once for each revision, and once a day.
    fn read_calendar(&mut self, reads: Reads, now: i64) {
        let Some(schedule) = &self.job.definition.schedule else { return };
        let is_current = |(at, _): &(i64, CalendarRead)| now.abs_diff(*at) < limits::SCHEDULE_READ_MS as u64;
        if !self.calendar.as_ref().is_some_and(is_current) {
            self.calendar = Some((now, reads(schedule)));
            self.judged = None;
        }
    }

    /// What the schedule says; none where there is none, or none that can be read.
    fn judge(&mut self, asked: Asked, now: i64) -> Option<Judged> {
        let (_, calendar) = self.calendar.as_ref()?;
        let judged = self.judged.filter(|judged| judged.holds(asked, now));
        self.judged = judged.or_else(|| Some(Judged::of(calendar.as_ref().ok()?, asked, now)));
        self.judged
    }
}

impl Look {
    /// What is to be done for one job, whose last run this is.
    fn at(
        &mut self,
        reader: &Reader,
        known: &mut Known,
        job: &Current,
        (last, now, is_busy): (LastRun, i64, bool),
    ) -> Result<()> {
        if let Some((_, Err(problem))) = &known.calendar {
            self.problems.push((job.id, format!("job {}: {problem}", known.job.name)));
        }
        let LastRun { begun, ended, was_minimal, .. } = last;
        // What is said to be later than now, because the clock was ahead once, would keep the job from running until then.
        let past = |at: &i64| *at <= now || failpoint(Failpoint::ClockAheadHolds);
        let asked_at = |run: Option<i64>| {
            let at = [Some(job.scheduled_at), run].into_iter().flatten().filter(past).max();
            at.unwrap_or_default()
        };
        let full_at = asked_at(if was_minimal { begun } else { ended });
        let asked = match failpoint(Failpoint::DueTwice) {
            true => Asked { begun: None, at: 0, full_at: 0 },
            false => Asked { begun, at: asked_at(ended), full_at },
        };
        let judged = known.judge(asked, now);
        let is_open = judged.is_none_or(|judged| judged.is_open) || failpoint(Failpoint::ClosedWindowIgnored);
        if let Some(change) = judged.and_then(|judged| judged.until) {
            self.again = Some(self.again.map_or(change, |again| again.min(change)));
        }
        if is_busy {
            self.windows.push((job.id, !is_open));
        } else if job.state == State::Stopping && job.restart.is_none() {
            self.rests.push(job.of(&known.job));
        } else if job.paused {
            // It is asked again when the pause ends.
        } else if let Some(kind) = job.restart {
            // A person has asked for it, whatever the schedule says.
            self.begins.push((job.of(&known.job), kind));
        } else if job.state != State::Resting && !failpoint(Failpoint::CutOffRests) {
            let last = reader.read(|sql| runs::list(sql, job.id, limits::INTERRUPTIONS_MAX))?;
            if let Some(problem) = interrupted_too_often(&known.job.name, &last) {
                self.problems.push((job.id, format!("job {}: {problem}", known.job.name)));
                self.interrupted.push((job.of(&known.job), problem));
            } else if is_open {
                // What goes on does so as a full run where one is due by now.
                let due = judged.and_then(|judged| judged.due);
                let was = last.first().map_or(RunKind::Full, |run| run.kind);
                let kind = due.filter(|kind| *kind == RunKind::Full).unwrap_or(was);
                self.begins.push((job.of(&known.job), kind));
            }
        } else if let Some(kind) = judged.and_then(|judged| judged.due) {
            self.begins.push((job.of(&known.job), kind));
        }
        Ok(())
    }
}

/// Why a run of a job does not go on by itself, where it was interrupted as often in a row as it may be; `last`: its last runs, the newest
/// first.
pub fn interrupted_too_often(name: &str, last: &[Run]) -> Option<String> {
    let interrupted = |run: &&Run| matches!(run.outcome, None | Some(RunOutcome::Interrupted));
    let times = last.iter().take_while(interrupted).count();
    (times >= limits::INTERRUPTIONS_MAX && !failpoint(Failpoint::InterruptedForEver)).then(|| {
        format!(
            "its run was interrupted {} times in a row, and does not go on by itself; look at the log for what ended the program, then \
             `ingather job start {name}`. Which documents were under way is not on record: `ingather document list {name} --state waiting` \
             has those that were not done",
            limits::INTERRUPTIONS_MAX
        )
    })
}
