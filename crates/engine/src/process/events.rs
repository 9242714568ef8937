//! Events of one process: which runs have documents that wait for them, so that whoever completes one wakes these, of whatever job
//! (`docs/decisions/0038-events.md`).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};

use ingather_model::ids::JobId;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::turns::lock;
use ingather_store::{Durability, Reader, events};

use super::under_way::UnderWay;
use crate::engine::Engine;
use crate::error::Result;
use crate::run::state::RunState;

/// Who waits for events. Which of them are pending is asked of the store alone.
pub(crate) struct EventWaits {
    under_way: Arc<UnderWay>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Runs that have parked documents, by the event.
    runs: HashMap<String, Vec<Weak<RunState>>>,
    /// Runs that have nothing to do until one of these events is completed, by job.
    resting: HashMap<JobId, Vec<String>>,
}

impl EventWaits {
    pub(crate) fn new(under_way: Arc<UnderWay>) -> EventWaits {
        EventWaits { under_way, state: Mutex::default() }
    }

    /// A run has parked documents until an event is completed: it hears of that. False where it is not pending any more.
    pub(crate) fn wait(&self, run: &Arc<RunState>, event: &str) -> Result<bool> {
        // Whoever completes it has done so in the store before it takes this lock: it finds the run, or the run finds no event.
        let mut state = lock(&self.state);
        if run.reader.read(|sql| events::holder(sql, event))?.is_none() {
            return Ok(false);
        }
        let runs = state.runs.entry(event.to_owned()).or_default();
        runs.retain(|other| other.strong_count() > 0);
        if !runs.iter().any(|other| other.as_ptr() == Arc::as_ptr(run)) {
            runs.push(Arc::downgrade(run));
        }
        Ok(true)
    }

    /// An event is completed, and that is on record.
    pub(crate) fn completed(&self, event: &str) {
        if failpoint(Failpoint::CompletionWakesNobody) {
            return;
        }
        let woken: Vec<Arc<RunState>> = {
            let mut state = lock(&self.state);
            let runs = state.runs.remove(event).unwrap_or_default();
            let woken: Vec<Arc<RunState>> = runs.iter().filter_map(Weak::upgrade).collect();
            for run in &woken {
                state.resting.remove(&run.job.id);
            }
            woken
        };
        // Not under the lock: the last use of a run may end here.
        for run in woken {
            if let Some(reach) = &run.reach {
                reach.completed(event);
                run.dispatcher.stir();
            }
        }
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
                None if self.under_way.works_on(holder) => return Ok(true),
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

impl Engine {
    /// Completes an event in place of its owner, who has forgotten it: what waits for it is visited. False where it was not pending.
    ///
    /// # Errors
    /// `ReadOnly` where the store is open for reading only; what it says.
    pub fn free_event(&self, name: &str) -> Result<bool> {
        let writer = self.writing()?;
        let was_pending = writer.store.write(Durability::Synced, |sql| {
            writer.lease.fence(sql)?;
            events::complete(sql, name)
        })?;
        self.process.events.completed(name);
        Ok(was_pending)
    }
}
