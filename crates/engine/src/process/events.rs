//! Events of one process: which runs have documents that wait for them, so that whoever completes one wakes these, of whatever job
//! (`docs/decisions/0038-events.md`).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};

use ingather_model::ids::JobId;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::turns::lock;
use ingather_store::{Reader, events};

use crate::error::Result;

/// A run that has parked documents.
pub(crate) trait Waiter: Send + Sync {
    fn job(&self) -> JobId;

    /// An event is completed: what it has parked for that is to be visited.
    fn completed(&self, event: &str);
}

/// Whether anything that writes is under way for a job.
type WorksOn = Box<dyn Fn(JobId) -> bool + Send + Sync>;

/// Who waits for events. Which of them are pending is asked of the store alone.
pub(crate) struct EventWaits {
    works_on: WorksOn,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Runs that have parked documents, by the event.
    runs: HashMap<String, Vec<Weak<dyn Waiter>>>,
    /// Runs that have nothing to do until one of these events is completed, by job.
    resting: HashMap<JobId, Vec<String>>,
}

impl EventWaits {
    pub(crate) fn new(works_on: impl Fn(JobId) -> bool + Send + Sync + 'static) -> EventWaits {
        EventWaits { works_on: Box::new(works_on), state: Mutex::default() }
    }

    /// A run has parked documents until an event is completed: it hears of that. False where it is not pending any more.
    pub(crate) fn wait(&self, reader: &Reader, run: Weak<dyn Waiter>, event: &str) -> Result<bool> {
        // Whoever completes it has done so in the store before it takes this lock: it finds the run, or the run finds no event.
        let mut state = lock(&self.state);
        if reader.read(|sql| events::holder(sql, event))?.is_none() {
            return Ok(false);
        }
        let runs = state.runs.entry(event.to_owned()).or_default();
        runs.retain(|other| other.strong_count() > 0);
        if !runs.iter().any(|other| other.ptr_eq(&run)) {
            runs.push(run);
        }
        Ok(true)
    }

    /// An event is completed, and that is on record.
    pub(crate) fn completed(&self, event: &str) {
        if failpoint(Failpoint::CompletionWakesNobody) {
            return;
        }
        let woken: Vec<Arc<dyn Waiter>> = {
            let mut state = lock(&self.state);
            let runs = state.runs.remove(event).unwrap_or_default();
            let woken: Vec<Arc<dyn Waiter>> = runs.iter().filter_map(Weak::upgrade).collect();
            for run in &woken {
                state.resting.remove(&run.job());
            }
            woken
        };
        // Not under the lock: the last use of a run may end here.
        woken.iter().for_each(|run| run.completed(event));
    }

    /// Whether an event may be completed for which the run of a job waits that has nothing else to do: by a run of another job that is under way and
    /// has something to do. Runs that wait for each other do not.
    pub(crate) fn may_come(&self, reader: &Reader, job: JobId, awaited: Vec<String>) -> Result<bool> {
        let mut state = lock(&self.state);
        state.resting.insert(job, awaited.clone());
        let (mut open, mut met) = (awaited, HashSet::from([job]));
        while let Some(event) = open.pop() {
            // Completed since: the run hears of it.
            let Some(holder) = reader.read(|sql| events::holder(sql, &event))? else { return Ok(true) };
            if !met.insert(holder) {
                continue;
            }
            match state.resting.get(&holder) {
                Some(awaited) => open.extend(awaited.iter().cloned()),
                None if (self.works_on)(holder) => return Ok(true),
                None => {}
            }
        }
        Ok(false)
    }

    /// The run of a job has something to do, or is over.
    pub(crate) fn moves(&self, job: JobId) {
        lock(&self.state).resting.remove(&job);
    }
}
