//! What a service does without being asked: begins the runs that schedules want, and goes on with runs and deletions that were cut off.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ingather_engine::scheduler::Scheduler;
use ingather_model::ids::JobId;
use ingather_model::lifecycle::job::State;
use ingather_model::limits;
use ingather_store::jobs::Job;

use super::continuous::Continuous;
use super::{begin, removal, schedule, start};
use crate::context::Context;
use crate::problem::{Code, Result};

/// Begins runs by the schedules of jobs; asked whenever something has changed, and at the times that it names.
pub struct BySchedule {
    scheduler: Scheduler,
    continuous: Continuous,
    /// Jobs whose run under way was begun here: it heeds windows, and one that a person began does not.
    begun: BTreeSet<JobId>,
    /// When a run was begun last, so that one that fails before it is on record is not begun at once again.
    tried: BTreeMap<JobId, Tried>,
    /// How often an output had come back by the last look.
    returns: u64,
    told: BTreeMap<JobId, String>,
    /// Deletions that the end of an earlier program cut off, and that do not go on yet; none before the first look. One that is stopped later
    /// was stopped by a person, and goes on when somebody asks.
    cut_off: Option<BTreeSet<JobId>>,
}

/// A run that was begun here.
struct Tried {
    at: i64,
    /// The number of the run before it.
    before: i64,
}

impl BySchedule {
    /// One that has begun nothing yet. `wake` is called when [`BySchedule::look`] is to be asked because a source changed; continuous jobs with
    /// more folders than that are not watched.
    pub fn new(wake: Arc<dyn Fn() + Send + Sync>, watched_folders_max: usize) -> BySchedule {
        BySchedule {
            scheduler: Scheduler::new(schedule::calendar),
            continuous: Continuous::new(wake, watched_folders_max),
            begun: BTreeSet::new(),
            tried: BTreeMap::new(),
            returns: 0,
            told: BTreeMap::new(),
            cut_off: None,
        }
    }

    /// Begins what is due, and says which windows are closed. `log` is told what begins, and once why something does not. When to ask again,
    /// milliseconds since 1970 UTC; none: not before something changes.
    ///
    /// # Errors
    /// When the inventory cannot be read.
    pub fn look(&mut self, context: &Context<'_>, log: &dyn Fn(&str)) -> Result<Option<i64>> {
        let (process, now) = (context.host.process(), context.now());
        let mut look = self.scheduler.look(&context.existing()?, now, &|job| process.works_on(job))?;
        self.begun.retain(|job| process.works_on(*job));
        for (job, closed) in look.windows.iter().filter(|(job, _)| self.begun.contains(job)) {
            process.close_window(*job, *closed);
        }
        let mut again = look.again;
        if !self.delete(context, look.deletions, log) {
            let retry = now.saturating_add(limits::SCHEDULE_RETRY_MS);
            again = Some(again.map_or(retry, |again| again.min(retry)));
        }
        look.rests.iter().for_each(|job| close(context, job, log));
        let returns = process.returned_outputs();
        if self.returns != returns {
            self.returns = returns;
            // What could not begin without it does now.
            self.tried.clear();
        }
        self.tried.retain(|_, tried| now.abs_diff(tried.at) < limits::SCHEDULE_RETRY_MS as u64);
        for (job, kind) in look.begins {
            // What a person asked for is not asked for any more once it was refused, but for a pause that has ended since.
            let is_asked = job.restart.is_some();
            let tried = self.tried.get(&job.id).filter(|tried| tried.before == job.run && !is_asked);
            if let Some(tried) = tried {
                let retry = tried.at.saturating_add(limits::SCHEDULE_RETRY_MS);
                again = Some(again.map_or(retry, |again| again.min(retry)));
                continue;
            }
            self.tried.insert(job.id, Tried { at: now, before: job.run });
            let by = match (job.restart, job.state) {
                (Some(_), _) => "restart",
                (None, State::Resting) => "schedule",
                (None, _) => start::INTERRUPTION,
            };
            match begin(context, &job, kind, by) {
                Ok(_) if job.restart.is_some() => log(&format!("run of job {}: begins again", job.name)),
                Ok(_) => {
                    self.begun.insert(job.id);
                    log(&format!("run of job {}: begins by itself", job.name));
                }
                // Whoever changed it has this asked again.
                Err(problem) if problem.code == Code::Outdated => drop(self.tried.remove(&job.id)),
                Err(problem) => {
                    start::note_refused(context, job.id, &problem);
                    log(&format!("run of job {}: cannot begin by itself: {problem}", job.name));
                }
            }
        }
        let looked = self.continuous.look(context, look.continuous)?;
        again = [again, looked.again].into_iter().flatten().min();
        for (job, why) in &look.interrupted {
            if !self.told.contains_key(&job.id) {
                let writing = context.host.write_beside("notice")?;
                context.engine(context.existing()?, Some(&writing), &[]).tell_interrupted(job, why)?;
            }
        }
        look.problems.extend(looked.told);
        self.told.retain(|job, told| look.problems.contains(&(*job, told.clone())));
        for (job, problem) in look.problems {
            if self.told.insert(job, problem.clone()).is_none() {
                log(&problem);
            }
        }
        Ok(again)
    }

    /// Goes on with deletions that were cut off; false when some of them cannot yet, for as much is under way as may be.
    fn delete(&mut self, context: &Context<'_>, deletions: Vec<Job>, log: &dyn Fn(&str)) -> bool {
        let cut_off = self.cut_off.get_or_insert_with(|| deletions.iter().map(|job| job.id).collect());
        let Some(background) = context.host.background() else { return true };
        for job in deletions {
            let (id, line) = (job.id, format!("deletion of job {}: goes on", job.name));
            if cut_off.contains(&id) && removal::go_on(background, job).is_ok() {
                cut_off.remove(&id);
                log(&line);
            }
        }
        cut_off.is_empty()
    }
}

/// Closes the run of a job that a person has stopped, and whose process died before all was put down.
fn close(context: &Context<'_>, job: &Job, log: &dyn Fn(&str)) {
    let rests = || -> Result<_> {
        let writing = context.host.write_beside("end of a stopped run")?;
        Ok(context.engine(context.existing()?, Some(&writing), &[]).abort(job)?)
    };
    match rests() {
        Ok(_) => log(&format!("run of job {}: was stopped, and rests", job.name)),
        Err(problem) => {
            log(&format!("run of job {}: was stopped, and cannot be closed: {problem}", job.name))
        }
    }
}
