//! What all jobs of one process share: the outputs that are open, the containers that runs have met, what is under way, the lease, and the
//! threads that visit.

pub mod authorities;
pub(crate) mod erasing;
pub(crate) mod events;
pub(crate) mod health;
pub mod inbox;
mod kept_out;
pub(crate) mod lease_keeper;
pub(crate) mod moving;
mod resend;
pub(crate) mod searches;
mod steering;
pub(crate) mod throttles;
pub(crate) mod under_way;
pub(crate) mod visitors;
pub(crate) mod watches;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use ingather_contract::call::Cancel;
use ingather_contract::sink::Sender;
use ingather_model::ids::{ConnectionId, JobId};
use ingather_model::job::notify::Notify;

use self::authorities::Authorities;
use self::events::EventWaits;
use self::health::Health;
use self::inbox::group_commit::GroupCommits;
use self::inbox::quotas::Usages;
use self::inbox::sinks::Sinks;
use self::lease_keeper::{LeaseKeeper, LeaseUse};
use self::searches::Searches;
use self::throttles::{Rules, Throttles};
pub use self::under_way::{Aborted, Glance, Met};
use self::under_way::{UnderWay, Work};
use self::visitors::Visitors;
use crate::containers::pool::ContainerPool;
use crate::delivery::output_pool::OutputPool;
use crate::delivery::writer::Writer;
use crate::error::{EngineError, Result};
use ingather_model::limits;
use ingather_store::jobs::Job;
use ingather_store::turns::lock;

/// A run is about to begin; see [`Process::announce`].
pub struct Announced {
    work: Work,
}

impl Announced {
    /// Whether somebody asked it to stop, and not everything.
    pub fn was_stopped(&self) -> bool {
        self.work.was_stopped()
    }
}

/// The lease is kept; see [`crate::Engine::keep_lease`].
pub struct KeptLease {
    _lease: LeaseUse,
}

impl KeptLease {
    pub(crate) fn of(lease: LeaseUse) -> KeptLease {
        KeptLease { _lease: lease }
    }
}

/// What all jobs of one process share. It holds nothing while nothing is under way.
pub struct Process {
    pub(crate) outputs: Arc<OutputPool>,
    pub(crate) containers: ContainerPool,
    pub(crate) under_way: Arc<UnderWay>,
    pub(crate) visitors: Arc<Visitors>,
    pub(crate) throttles: Arc<Throttles>,
    /// Who waits for events.
    pub(crate) events: Arc<EventWaits>,
    /// Who says which access tokens somebody holds.
    pub authorities: Authorities,
    /// What searches share.
    pub searches: Searches,
    lease: LeaseKeeper,
    /// Held from the write of a pause, or of its end, until the run has heard it: of two people at once, the one whom the store has heard last
    /// is the one whom the run has heard last. Else a run could rest for ever whose job is not paused.
    pub(crate) pausing: Mutex<()>,
    /// Continuous jobs that are not watched, and why.
    unwatched: Mutex<BTreeMap<JobId, String>>,
    /// Jobs into whose sources something was pushed that no pass was begun for yet.
    pub(crate) pushed_into: Mutex<BTreeMap<JobId, i64>>,
    /// What clients push at once.
    pub(crate) group_commits: GroupCommits,
    /// How much they have pushed into sources with quotas.
    pub(crate) usages: Usages,
    /// Which outputs are away.
    pub(crate) health: Health,
    /// Where channels send their reports.
    pub(crate) sinks: Sinks,
    /// Jobs whose last run could not begin, and why.
    refused: Mutex<BTreeMap<JobId, String>>,
    /// Jobs whose pass had to wait for somebody when it was to begin.
    put_off: Mutex<BTreeSet<JobId>>,
    /// Days that the history of a job is kept which says nothing of that.
    history_days: AtomicU32,
    /// Who is told of ends of runs of all jobs.
    notifies: Mutex<Arc<[Notify]>>,
}

impl Default for Process {
    fn default() -> Process {
        Process::keeping(limits::CONTAINERS_KEPT_MAX)
    }
}

impl Process {
    /// One that keeps about as many containers of each repository connection in memory.
    pub fn keeping(containers: usize) -> Process {
        let under_way: Arc<UnderWay> = Arc::default();
        Process {
            outputs: Arc::default(),
            containers: ContainerPool::new(containers),
            events: Arc::new(EventWaits::new({
                let under_way = under_way.clone();
                move |job| under_way.works_on(job)
            })),
            under_way,
            visitors: Arc::default(),
            throttles: Arc::default(),
            authorities: Authorities::default(),
            searches: Searches::default(),
            lease: LeaseKeeper::default(),
            pausing: Mutex::default(),
            unwatched: Mutex::default(),
            pushed_into: Mutex::default(),
            group_commits: GroupCommits::default(),
            usages: Usages::default(),
            health: Health::default(),
            sinks: Sinks::default(),
            refused: Mutex::default(),
            put_off: Mutex::default(),
            history_days: AtomicU32::new(limits::HISTORY_DAYS),
            notifies: Mutex::new(Arc::from([])),
        }
    }

    /// Keeps the history of jobs that say nothing of that for so many days from now on.
    pub fn keep_history(&self, days: u32) {
        self.history_days.store(days, Ordering::Relaxed);
    }

    /// Has these told of ends of runs of all jobs from now on.
    pub fn notify_of_all(&self, notifies: Vec<Notify>) {
        *lock(&self.notifies) = notifies.into();
    }

    /// Has channels send their reports by this from now on. Who came first sends them.
    pub fn report_by(&self, sender: Arc<dyn Sender>) {
        self.sinks.send_by(sender);
    }

    /// The turn of a channel that was to send reports ends.
    pub fn ends_turn(&self, channel: i64) {
        self.sinks.ends(channel);
    }

    /// Whether channels can send their reports.
    pub fn can_report(&self) -> bool {
        self.sinks.sender().is_some()
    }

    pub(crate) fn notifies(&self) -> Arc<[Notify]> {
        lock(&self.notifies).clone()
    }

    pub(crate) fn history_days(&self) -> u32 {
        self.history_days.load(Ordering::Relaxed)
    }

    /// Announces a run of a job that is about to begin: [`Process::stop`] stops it from now on, and nobody else announces one, until the
    /// answer is dropped.
    ///
    /// # Errors
    /// `Running` while one is announced, or the job is worked on.
    pub fn announce(&self, job: &Job, whole: &Cancel) -> Result<Announced> {
        UnderWay::announce(&self.under_way, job, whole).map(|work| Announced { work })
    }

    /// What is told of the lease, from now on: that it cannot be renewed for now, and that it can again, a sentence each. The first one who
    /// wants to hear it does.
    pub fn tells(&self, tell: impl Fn(&str) + Send + Sync + 'static) {
        // Who came first hears it.
        let _ = self.lease.tell.set(Box::new(tell));
    }

    /// Takes note of why a run of a job could not begin, until one does.
    pub fn note_refused(&self, job: JobId, why: &str) {
        lock(&self.refused).insert(job, why.to_owned());
    }

    /// Takes note that a pass did not begin because somebody pauses or runs the job, or has changed it: it is due as before.
    pub fn put_off(&self, job: JobId) {
        lock(&self.put_off).insert(job);
    }

    /// Whether that was noted since this was asked last.
    pub(crate) fn take_put_off(&self, job: JobId) -> bool {
        lock(&self.put_off).remove(&job)
    }

    /// A run of a job has begun, or it is gone.
    pub(crate) fn note_begun(&self, job: JobId) {
        lock(&self.refused).remove(&job);
    }

    /// Why the last run of a job could not begin, where none has begun since.
    pub fn refused(&self, job: JobId) -> Option<String> {
        lock(&self.refused).get(&job).cloned()
    }

    /// Asks what is announced or under way for a job to stop at its next safe place, and nothing else; false when there is nothing.
    pub fn stop(&self, job: JobId) -> bool {
        self.under_way.stop(job).is_some()
    }

    /// Whether anything that writes is announced or under way for a job.
    pub fn works_on(&self, job: JobId) -> bool {
        self.under_way.works_on(job)
    }

    /// Waits until something has ended, where anything writes for a job; at most so long.
    pub fn wait_for_end(&self, job: JobId, longest: std::time::Duration) {
        self.under_way.wait_for_end(job, longest);
    }

    /// The rules of a repository connection from now on, for what is under way as well; `now`: by [`ingather_contract::call::Clock::steady`].
    pub fn throttle(&self, connection: ConnectionId, rules: Rules, now: i64) {
        self.throttles.set(connection, rules, now);
    }

    /// The name of each output that is open, and how many changes wait for it.
    pub fn queued(&self) -> Vec<(String, usize)> {
        self.outputs.queued()
    }

    /// What is under way for a job just now.
    pub fn glance(&self, job: JobId) -> Glance {
        self.under_way.glance(job)
    }

    /// Says that the window of a job's schedule is closed, or open again; whether a run of it hears of that. It rests meanwhile as one
    /// that is paused.
    pub fn close_window(&self, job: JobId, closed: bool) -> bool {
        self.under_way.close_window(job, closed)
    }

    /// Begins work on a job, in the name of `doing`; over when the answer is dropped. While work that writes is under way, the lease is
    /// renewed. `writer`: none where nothing is written.
    ///
    /// # Errors
    /// `Running` while the same job is worked on; what the lease was lost for, until all that worked under it has ended.
    pub(crate) fn begin(
        &self,
        job: &Job,
        doing: &'static str,
        writer: Option<&Writer>,
        whole: &Cancel,
    ) -> Result<Work> {
        let lease = writer.map(|writer| self.keep_lease(writer)).transpose()?;
        UnderWay::begin(&self.under_way, job, doing, whole, lease)
    }

    /// Keeps the lease until the answer is dropped.
    ///
    /// # Errors
    /// What it was lost for, until all that worked under it has ended.
    pub(crate) fn keep_lease(&self, writer: &Writer) -> Result<LeaseUse> {
        self.keep_lease_or(writer, |_| {})
    }

    /// The same; `lost` is called behind all who work when it cannot be kept any more, where nobody kept it before.
    pub(crate) fn keep_lease_or(
        &self,
        writer: &Writer,
        lost: impl FnOnce(&EngineError) + Send + 'static,
    ) -> Result<LeaseUse> {
        let (under_way, outputs) = (self.under_way.clone(), self.outputs.clone());
        self.lease.keep(writer, move |error: &EngineError| {
            // Whoever works hears it before what it has on its way is dropped.
            under_way.fail(error);
            outputs.fail(error);
            lost(error);
        })
    }
}
