//! One run under way: what its threads share, and how it begins and ends.

pub(crate) mod dating;
pub(crate) mod drain;
mod drained;
mod ending;
mod fed;
mod forgetting;
pub(crate) mod guard_window;
pub(crate) mod history;
pub(crate) mod id_set;
pub(crate) mod notices;
pub(crate) mod reach;
pub(crate) mod recall;
mod resting;
pub(crate) mod state;
pub(crate) mod tickets;
pub(crate) mod visitors;

use std::ops::Deref;
use std::sync::Arc;

use ingather_model::ids::{Digest, JobId};
use ingather_model::job::RunKind;
use ingather_model::job::notify::Notify;
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::{GuardState, RunOutcome};
use ingather_model::run_counts::RunCounts;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::{self, Job};
use ingather_store::leases::Lease;
use ingather_store::turns::{self, ScopedThread, lock};
use ingather_store::{Durability, Sql, Store, StoreError, runs};

use self::state::RunState;
use crate::delivery::change::QueuedChange;
use crate::delivery::job_output::JobOutput;
use crate::delivery::output_queue::OutputQueue;
use crate::delivery::output_user::OutputUser;
use crate::delivery::telling::{ends, tell};
use crate::delivery::writer::Desk;
use crate::error::{EngineError, Refusal, Result};

/// One run under way, with the outputs that it sends to.
pub(crate) struct Run {
    pub(crate) state: Arc<RunState>,
    pub(crate) outputs: Vec<JobOutput>,
}

impl Deref for Run {
    type Target = RunState;

    fn deref(&self) -> &RunState {
        &self.state
    }
}

impl Run {
    /// Ends the visits: whoever waits goes on.
    pub(crate) fn close(&self) {
        self.dispatcher.close();
        self.notify_outputs();
    }

    /// It was asked to stop: whoever waits looks.
    pub(crate) fn stop(&self) {
        self.dispatcher.stop();
        self.notify_outputs();
    }

    /// Pauses it, or lets it go on. What was claimed is still visited and delivered.
    pub(crate) fn pause(&self, paused: bool) {
        self.dispatcher.pause(paused);
        self.notify_outputs();
    }

    /// The outputs that it sends to; none in a run that writes nothing.
    pub(crate) fn queues(&self) -> impl Iterator<Item = &OutputQueue> {
        self.outputs.iter().filter_map(|output| output.queue.as_deref())
    }

    /// Hands a change to one of its outputs.
    pub(crate) fn push(&self, output_index: usize, queued: QueuedChange) {
        if let Some(queue) = &self.outputs[output_index].queue {
            queue.push(queued);
        }
    }

    /// Waits while one of its outputs has more changes waiting than it should; before a document is visited, so that what its visit leads
    /// to reaches all others.
    pub(crate) fn wait_while_full(&self) {
        for queue in self.queues() {
            queue.wait_while_full(self);
        }
    }

    /// Nothing more is being made, or the run stops: outputs need not wait for it.
    pub(crate) fn notify_outputs(&self) {
        self.queues().for_each(OutputQueue::notify);
    }
}

impl OutputUser for Run {
    fn nothing_comes(&self) -> bool {
        self.dispatcher.nothing_comes()
    }

    fn stops(&self) -> bool {
        self.dispatcher.closed()
    }

    fn fail(&self, error: EngineError) {
        self.dispatcher.fail(error);
        self.notify_outputs();
    }
}

/// Nothing is begun for a job that a person has paused.
pub(crate) fn paused(job: &str) -> EngineError {
    EngineError::refused(
        Refusal::Paused,
        format!("job {job} is paused; `ingather job resume {job}` lets it run"),
    )
}

/// Opens the next run of a job: its number. `opens` is the last thing that is asked: not when somebody has stopped it.
///
/// `basis`: what it goes by, where it follows links; it goes on then with one that did not come to its end and went by the same.
pub(crate) fn begin(
    (store, lease): &(Store, Lease),
    job: &Job,
    opens: &dyn Fn(i64) -> bool,
    (kind, by, at, basis): (RunKind, &str, i64, Option<Digest>),
    of_all: &[Notify],
) -> Result<i64> {
    let begun = store.write(Durability::Synced, |sql| {
        lease.fence(sql)?;
        let Some(number) = jobs::begin(sql, job.id)? else { return Ok(Err(jobs::get(sql, job.id)?)) };
        if failpoint(Failpoint::RestartForEver) {
            jobs::ask_restart(sql, job.id, job.restart)?;
        }
        notices::note_interrupted(sql, job, of_all, at)?;
        let seeded_at = match basis {
            Some(basis) => reach::take_over(sql, job, number, (kind, basis, at))?,
            None => None,
        };
        runs::open(sql, job.id, runs::Begin { number, kind, at, by, notes: job.definition.history.of })?;
        if basis.is_some() {
            runs::reach::go_by(sql, job.id, number, basis)?;
            seeded_at.map_or(Ok(()), |at| runs::reach::seeded(sql, job.id, number, at))?;
        }
        if number > 1 && !failpoint(Failpoint::OlderRemovalCarriedOut) {
            // What an earlier run held is void: this one lists again.
            runs::release(sql, job.id, number - 1, GuardState::Void)?;
        }
        if !opens(number) {
            return Err(StoreError::Stopped);
        }
        Ok(Ok(number))
    })?;
    begun.map_err(|now| {
        let name = &job.name;
        match now.is_some_and(|now| now.state != State::Deleting) {
            // Also one whose pause has ended since: what is being deleted stays so, and the run is wanted still.
            true => paused(name),
            false => EngineError::refused(
                Refusal::Deleting,
                format!("job {name} is being deleted; `ingather job delete {name}` goes on with it"),
            ),
        }
    })
}

/// Ends a run whose own thread panics: the others would wait for it for ever.
pub(crate) struct ClosesOnPanic<'r>(pub(crate) &'r Run);

impl Drop for ClosesOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

/// Starts a thread of a run; where the system has none to give, the run ends.
pub(crate) fn start<'scope, 'env>(
    scope: &'scope std::thread::Scope<'scope, 'env>,
    run: &Run,
    work: impl FnOnce() + Send + 'scope,
) -> Option<ScopedThread<'scope>> {
    match turns::spawn_scoped(scope, work) {
        Ok(thread) => Some(thread),
        Err(error) => {
            run.fail(EngineError::refused(
                Refusal::Resources,
                format!(
                    "a thread cannot be started ({error}); give the program more memory, or fewer --threads"
                ),
            ));
            None
        }
    }
}

/// Runs a thread's work; an error ends the run.
pub(crate) fn failing(run: &Run, work: impl FnOnce() -> Result<()>) {
    if let Err(error) = work() {
        run.fail(error);
    }
}

pub(crate) fn join(thread: ScopedThread<'_>) {
    // A bug in a connector or here: the run must not end as if nothing had happened.
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

/// Forgets the run before the last one, where both were done and found the same, and outputs are as they were: passes that find nothing would
/// push all others out of the history.
pub(crate) fn fold(sql: &mut Sql<'_>, job: JobId) -> std::result::Result<(), StoreError> {
    let last = runs::list(sql, job, 2)?;
    let [this, before] = last.as_slice() else { return Ok(()) };
    let found = |run: &runs::Run| {
        let counts: RunCounts = serde_json::from_str(run.counts.as_deref()?).ok()?;
        let is_quiet = counts.is_quiet();
        let is_done = run.outcome == Some(RunOutcome::Done) && run.error.is_none() && run.guard.is_none();
        // How much was due tells nobody anything.
        let counts = if run.kind == RunKind::Minimal { RunCounts::default() } else { counts };
        (is_done && is_quiet).then_some((run.kind, counts))
    };
    if found(this).is_some() && found(this) == found(before) {
        runs::fold(sql, job, before.number)?;
    }
    Ok(())
}

/// Tells outputs that judge by what they are told how a run ended, after all that the inventory says by now.
pub(crate) fn tell_end(run: &Run, outcome: RunOutcome) -> Result<()> {
    let (Some(store), Some(lease)) = (&run.store, &run.lease) else { return Ok(()) };
    let desk = Desk { store, lease, call: &run.call };
    let counts = *lock(&run.counts);
    for queue in run.queues().filter(|queue| queue.capabilities.told) {
        if let Some(opened) = queue.opened().as_mut() {
            let ends = ends(&run.author.job_name, Some(run.number), outcome, counts);
            tell(desk, queue.id, opened, Some(ends))?
                .map_err(|fault| EngineError::Output { name: queue.name.clone(), fault })?;
        }
    }
    Ok(())
}
