//! One pass of a job: begin, list, visit, deliver, sweep, end.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ingather_connector::call::{Call, Cancel, Clock};
use ingather_connector::model::balance::Balance;
use ingather_connector::model::ids::Digest;
use ingather_connector::model::job::{Definition, RunKind};
use ingather_connector::model::key::Hasher;
use ingather_connector::model::limits;
use ingather_connector::model::scope::BlindSpot;
use ingather_connector::registry::Registry;
use ingather_connector::repository::{Repository, Surroundings};
use ingather_store::connections::{self, Role};
use ingather_store::jobs::{self, Job};
use ingather_store::leases::Lease;
use ingather_store::{Durability, Reader, Sql, Store, StoreError, documents, runs, work};
use roaring::RoaringTreemap;

use crate::board::{Board, Task};
use crate::deliver::Deliverer;
use crate::error::{EngineError, Result};
use crate::lister::{Lister, Shown};
use crate::outputs::{self, OutputSlot};
use crate::pipeline::Pipeline;
use crate::places::{Classes, Places};
use crate::progress::Progress;
use crate::remove::{Remover, Target};
use crate::{marks, sweep, visit};

/// What a program needs to run jobs.
pub struct Engine {
    /// For reading; a run that writes nothing needs no more.
    pub reader: Reader,
    /// For writing, with the right to do so.
    pub writer: Option<(Store, Lease)>,
    /// Kinds that are linked in.
    pub registry: Registry,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Asks everything to stop at the next batch.
    pub cancel: Cancel,
    /// The data directory.
    pub data: PathBuf,
    /// What a repository must know of this machine.
    pub surroundings: Surroundings,
}

/// Whether a run writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It does.
    Write,
    /// It only counts what it would do.
    DryRun,
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What is looked at.
    pub kind: RunKind,
    /// Whether anything is written.
    pub mode: Mode,
    /// Removals are not held in this run, and other devices are taken for granted.
    pub guard_off: bool,
}

/// What a run did.
#[derive(Clone, Debug)]
pub struct Report {
    /// Number of the run; none when nothing was written.
    pub run: Option<i64>,
    /// The counters.
    pub balance: Balance,
    /// Scopes that could not be read.
    pub blind: Vec<BlindSpot>,
    /// It was asked to stop before its end.
    pub stopped: bool,
    /// Why it ended early.
    pub error: Option<String>,
    /// How long it took, milliseconds.
    pub millis: i64,
}

/// One run under way, shared by its threads.
pub(crate) struct Run {
    pub(crate) store: Option<Store>,
    pub(crate) lease: Option<Lease>,
    pub(crate) reader: Reader,
    pub(crate) call: Call,
    pub(crate) hasher: Hasher,
    pub(crate) job: Job,
    pub(crate) job_name: Arc<str>,
    pub(crate) definition: Definition,
    pub(crate) number: i64,
    pub(crate) repository: Arc<dyn Repository>,
    pub(crate) pipeline: Pipeline,
    pub(crate) outputs: Vec<OutputSlot>,
    pub(crate) settings: Digest,
    pub(crate) guard_off: bool,
    pub(crate) accepts_other_devices: bool,
    pub(crate) board: Board,
    pub(crate) progress: Arc<Progress>,
    /// Documents that waited for a visit before this run.
    pub(crate) pending: RoaringTreemap,
    /// Documents of which a removal was sent and not confirmed.
    pub(crate) leaving: RoaringTreemap,
    pub(crate) failed: RoaringTreemap,
    pub(crate) skipped: RoaringTreemap,
    pub(crate) unreadable: RoaringTreemap,
    pub(crate) reader_changed: bool,
    attempts: Mutex<HashMap<i64, u32>>,
    waiting: Mutex<HashSet<i64>>,
    unseen: Mutex<RoaringTreemap>,
    failed_now: Mutex<Vec<i64>>,
    classes: Mutex<Classes>,
    places: Mutex<Places>,
    balance: Mutex<Balance>,
    aborted: Mutex<Option<String>>,
    lost_lease: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    pub(crate) fn fence(&self, sql: &mut Sql<'_>) -> std::result::Result<(), StoreError> {
        self.lease.as_ref().map_or(Ok(()), |lease| lease.fence(sql))
    }

    pub(crate) fn stops(&self) -> bool {
        self.call.cancel.cancelled() || self.board.closed()
    }

    /// Whether the sweep must not go on: by then the board is closed in any case.
    pub(crate) fn sweep_stops(&self) -> bool {
        self.call.cancel.cancelled() || self.lost_lease.load(Ordering::Relaxed)
    }

    pub(crate) fn classes(&self) -> MutexGuard<'_, Classes> {
        lock(&self.classes)
    }

    pub(crate) fn places(&self) -> MutexGuard<'_, Places> {
        lock(&self.places)
    }

    pub(crate) fn tally(&self, change: impl FnOnce(&mut Balance)) {
        change(&mut lock(&self.balance));
    }

    pub(crate) fn had_trouble(&self, id: i64) -> bool {
        let bit = id as u64;
        self.failed.contains(bit)
            || self.skipped.contains(bit)
            || self.pending.contains(bit)
            || lock(&self.attempts).contains_key(&id)
    }

    /// Counts an attempt in this run; the first is 1.
    pub(crate) fn attempt(&self, id: i64) -> u32 {
        let mut attempts = lock(&self.attempts);
        let made = attempts.entry(id).or_insert(0);
        *made += 1;
        *made
    }

    /// Whether a document was counted as waiting, and whether it waits now.
    pub(crate) fn was_waiting(&self, id: i64, waits: bool) -> bool {
        let mut waiting = lock(&self.waiting);
        if waits { !waiting.insert(id) } else { waiting.remove(&id) }
    }

    /// A document that the listing named is not there any more: the sweep judges it.
    pub(crate) fn unsee(&self, id: i64) {
        lock(&self.unseen).insert(id as u64);
    }

    /// Whether new names may still be unconfirmed.
    pub(crate) fn unsettled(&self) -> bool {
        let balance = lock(&self.balance);
        balance.waiting + balance.failed > 0
    }

    pub(crate) fn failed_now(&self) -> Vec<i64> {
        lock(&self.failed_now).clone()
    }

    pub(crate) fn note_failed(&self, id: i64) {
        lock(&self.failed_now).push(id);
    }

    /// The run ends with an error, after what is under way.
    pub(crate) fn abort(&self, why: &str) {
        lock(&self.aborted).get_or_insert_with(|| why.to_owned());
    }
}

impl Engine {
    pub(crate) fn call(&self) -> Call {
        Call { clock: self.clock.clone(), cancel: self.cancel.clone() }
    }

    /// Opens the repository of a definition.
    ///
    /// # Errors
    /// When there is no such connector, or its settings are wrong.
    pub fn repository(&self, kind: &str, definition: &Definition) -> Result<Arc<dyn Repository>> {
        let known = self.registry.repository(kind).ok_or_else(|| {
            EngineError::Refused(format!(
                "job {}: there is no repository connector `{kind}`",
                definition.name
            ))
        })?;
        (known.open)(&definition.source, &self.surroundings)
            .map_err(|fault| EngineError::Refused(format!("job {}: {fault}", definition.name)))
    }

    /// Runs a job once.
    ///
    /// # Errors
    /// When it could not begin, or the store or an output failed; what was confirmed stands, the next run goes on.
    pub fn run(
        &self,
        job: &Job,
        repository_kind: &str,
        options: Options,
        progress: Arc<Progress>,
    ) -> Result<Report> {
        let started = self.clock.now();
        let writes = options.mode == Mode::Write;
        let run = self.prepare(job, repository_kind, options, progress)?;
        let known = self.reader.read(|sql| documents::total(sql, job.id))?;
        let worked = self.work(&run, known);
        let mut error = lock(&run.aborted).clone();
        let ended = match worked {
            Ok(shown) => self.finish(&run, shown, known, options, &mut error),
            Err(failed) => Err(failed),
        };
        if let Err(failed) = &ended {
            error.get_or_insert_with(|| failed.to_string());
        }
        let stopped = self.cancel.cancelled();
        if writes {
            let outcome = self.end(&run, &ended, stopped, error.as_deref());
            // The first error is the one to tell.
            if ended.is_ok() {
                outcome?;
            }
        }
        let blind = ended?;
        let balance = *lock(&run.balance);
        Ok(Report {
            run: writes.then_some(run.number),
            balance,
            blind,
            stopped,
            error,
            millis: self.clock.now() - started,
        })
    }

    fn prepare(
        &self,
        job: &Job,
        repository_kind: &str,
        options: Options,
        progress: Arc<Progress>,
    ) -> Result<Run> {
        let definition = job.definition.clone();
        let repository = self.repository(repository_kind, &definition)?;
        let pipeline = Pipeline::open(&definition, &self.registry)?;
        let writer = self.writer.as_ref().filter(|_| options.mode == Mode::Write);
        let outputs = self.open_outputs(job, &definition, &pipeline, writer.is_some())?;
        let now = self.clock.now();
        let number = match writer {
            Some((store, lease)) => begin(store, lease, job, options.kind, now)?,
            None => job.run + 1,
        };
        let reads_as = repository.reader();
        let reader_changed = job.reader.as_deref() != Some(reads_as.as_str());
        if let Some((store, _)) = writer
            && reader_changed
        {
            store.write(Durability::Relaxed, |sql| jobs::remember_reader(sql, job.id, &reads_as))?;
        }
        let known = self.reader.read(|sql| Known::load(sql, job))?;
        let (classes, places) = self
            .reader
            .read(|sql| Ok((Classes::load(sql, job.repository)?, Places::load(sql, job.repository)?)))?;
        Ok(Run {
            store: writer.map(|(store, _)| store.clone()),
            lease: writer.map(|(_, lease)| lease.clone()),
            reader: self.reader.clone(),
            call: self.call(),
            hasher: self.reader.hasher(),
            job: job.clone(),
            job_name: job.name.as_str().into(),
            settings: definition.settings_digest(&pipeline.versions),
            definition,
            number,
            repository,
            pipeline,
            outputs,
            guard_off: options.guard_off,
            accepts_other_devices: options.guard_off,
            board: Board::default(),
            progress,
            pending: known.pending,
            leaving: known.leaving,
            failed: known.failed,
            skipped: known.skipped,
            unreadable: known.unreadable,
            reader_changed,
            attempts: Mutex::default(),
            waiting: Mutex::default(),
            unseen: Mutex::default(),
            failed_now: Mutex::default(),
            classes: Mutex::new(classes),
            places: Mutex::new(places),
            balance: Mutex::default(),
            aborted: Mutex::default(),
            lost_lease: AtomicBool::new(false),
        })
    }

    fn open_outputs(
        &self,
        job: &Job,
        definition: &Definition,
        pipeline: &Pipeline,
        writes: bool,
    ) -> Result<Vec<OutputSlot>> {
        let mut slots = Vec::new();
        for name in &definition.outputs {
            let found = self.reader.read(|sql| connections::find(sql, Role::Output, name))?;
            let connection = match (found, &self.writer) {
                (Some(connection), _) => connection,
                (None, Some((store, _))) if writes => {
                    outputs::connection(store, &self.registry, name, self.clock.now())?
                }
                (None, _) => outputs::pretended(&self.registry, name)?,
            };
            let kind = self.registry.output(&connection.kind).ok_or_else(|| {
                EngineError::Refused(format!(
                    "output {name}: this program has no connector `{}`",
                    connection.kind
                ))
            })?;
            let output = match &self.writer {
                Some((store, _)) if writes => {
                    let now = self.clock.now();
                    Some(outputs::open(store, &self.registry, &self.data, &connection, job.id, now)?)
                }
                _ => None,
            };
            let settings = definition.delivery_digest(&pipeline.versions, &connection.settings);
            let shared = self.shared(job, name)?;
            slots.push(OutputSlot::new(&connection, kind.can, settings, shared, output));
        }
        Ok(slots)
    }

    /// Whether documents other than this job's own may claim the same addresses of an output.
    fn shared(&self, job: &Job, output: &str) -> Result<bool> {
        let jobs = self.reader.read(jobs::list)?;
        Ok(jobs.iter().any(|other| {
            other.id != job.id
                && (other.definition.outputs.iter().any(|name| name == output)
                    || other.definition.retired.iter().any(|name| name == output))
        }))
    }

    /// Lists, visits and delivers until nothing is due within the time that a run waits.
    fn work(&self, run: &Run, known: u64) -> Result<Shown> {
        let workers = self.surroundings.threads.max(1);
        std::thread::scope(|scope| {
            let deliverers: Vec<_> = run
                .outputs
                .iter()
                .filter(|_| run.store.is_some())
                .map(|slot| scope.spawn(|| failing(run, || Deliverer::new(run, slot).work())))
                .collect();
            let visitors: Vec<_> = (0..workers)
                .map(|_| {
                    scope.spawn(|| {
                        failing(run, || {
                            while let Some(tasks) = run.board.take() {
                                visit::visit_all(run, tasks)?;
                            }
                            Ok(())
                        });
                    })
                })
                .collect();
            let renewing = scope.spawn(|| renew(run));
            let mut lister = Lister::new(run, known == 0);
            run.progress.waits_for("listing");
            failing(run, || lister.list());
            run.board.listing_done();
            run.progress.waits_for("reading and delivering");
            failing(run, || drain(run, &lister.shown));
            run.board.close();
            run.outputs.iter().for_each(OutputSlot::notify);
            for visitor in visitors {
                join(visitor);
            }
            run.outputs.iter().for_each(OutputSlot::close);
            for deliverer in deliverers {
                join(deliverer);
            }
            join(renewing);
            match run.board.take_error() {
                Some(error) => Err(error),
                None => Ok(lister.shown),
            }
        })
    }

    fn finish(
        &self,
        run: &Run,
        mut shown: Shown,
        known: u64,
        options: Options,
        error: &mut Option<String>,
    ) -> Result<Vec<BlindSpot>> {
        shown.seen -= &*lock(&run.unseen);
        if self.cancel.cancelled() {
            return Ok(shown.blind);
        }
        run.progress.waits_for("looking for what is gone");
        let now = self.clock.now();
        if let Some(store) = &run.store {
            store.write(Durability::Synced, |sql| {
                run.fence(sql)?;
                if shown.complete {
                    runs::listed(sql, run.job.id, run.number, now, &shown.blind)?;
                }
                jobs::drain(sql, run.job.id, run.number)
            })?;
        }
        if options.kind == RunKind::Full {
            let judged = sweep::judge(run, &shown)?;
            let remover = self.remover(run)?;
            sweep::sweep(run, &shown, judged, known, remover)?;
        }
        if let Some(aborted) = lock(&run.aborted).clone() {
            error.get_or_insert(aborted);
        }
        Ok(shown.blind)
    }

    /// The outputs of a run, taken over for removals once nothing is delivered any more.
    fn remover(&self, run: &Run) -> Result<Option<Remover>> {
        let (Some(store), Some(lease)) = (&run.store, &run.lease) else { return Ok(None) };
        let mut targets = HashMap::new();
        for slot in &run.outputs {
            if let Some(output) = slot.take_output() {
                let target = Target { name: slot.name.clone(), can: slot.can, shared: slot.shared, output };
                targets.insert(slot.id, target);
            }
        }
        let mut remover = Remover {
            store: store.clone(),
            lease: lease.clone(),
            call: run.call.clone(),
            hasher: run.hasher,
            job: run.job.id,
            job_name: run.job_name.clone(),
            repository: run.repository.clone(),
            progress: run.progress.clone(),
            targets,
        };
        self.leave_retired(run, &mut remover)?;
        Ok(Some(remover))
    }

    /// Outputs that were taken out of the job lose what they hold of it.
    fn leave_retired(&self, run: &Run, remover: &mut Remover) -> Result<()> {
        if run.definition.retired.is_empty() {
            return Ok(());
        }
        let mut definition = run.definition.clone();
        for name in std::mem::take(&mut definition.retired) {
            let Some(connection) = self.reader.read(|sql| connections::find(sql, Role::Output, &name))?
            else {
                continue;
            };
            self.add_target(remover, &connection, &run.job)?;
            if remover.leave_output(connection.id)?.kept > 0 || self.cancel.cancelled() {
                definition.retired.push(name);
            }
        }
        remover.store.write(Durability::Synced, |sql| jobs::define(sql, run.job.id, &definition))?;
        Ok(())
    }

    pub(crate) fn add_target(
        &self,
        remover: &mut Remover,
        connection: &connections::Connection,
        job: &Job,
    ) -> Result<()> {
        if remover.targets.contains_key(&connection.id) {
            return Ok(());
        }
        let kind = self.registry.output(&connection.kind);
        let can = kind.map(|kind| kind.can).ok_or_else(|| {
            EngineError::Refused(format!(
                "output {}: unknown connector `{}`",
                connection.name, connection.kind
            ))
        })?;
        let now = self.clock.now();
        let output = outputs::open(&remover.store, &self.registry, &self.data, connection, job.id, now)?;
        let shared = self.shared(job, &connection.name)?;
        let target = Target { name: connection.name.clone(), can, shared, output };
        remover.targets.insert(connection.id, target);
        Ok(())
    }

    fn end(
        &self,
        run: &Run,
        ended: &Result<Vec<BlindSpot>>,
        stopped: bool,
        error: Option<&str>,
    ) -> Result<()> {
        let Some(store) = &run.store else { return Ok(()) };
        let now = self.clock.now();
        let balance = *lock(&run.balance);
        let counts = serde_json::to_string(&balance).unwrap_or_default();
        let outcome = match (ended, stopped) {
            (Err(_), _) => "failed",
            (_, true) => "stopped",
            _ => "done",
        };
        store.write(Durability::Synced, |sql| {
            run.fence(sql)?;
            if !jobs::sweep(sql, run.job.id, run.number)? {
                jobs::stop(sql, run.job.id, run.number)?;
            }
            jobs::rest(sql, run.job.id, run.number, error)?;
            runs::end(sql, run.job.id, run.number, now, outcome, &counts, error)
        })?;
        Ok(())
    }
}

/// What the store knows about a job's documents that need attention.
struct Known {
    pending: RoaringTreemap,
    leaving: RoaringTreemap,
    failed: RoaringTreemap,
    skipped: RoaringTreemap,
    unreadable: RoaringTreemap,
}

impl Known {
    fn load(sql: &mut Sql<'_>, job: &Job) -> std::result::Result<Known, StoreError> {
        let mut known = Known {
            pending: marks::of(work::waiting(sql, job.id)?),
            leaving: marks::of(work::leaving(sql, job.id)?),
            failed: RoaringTreemap::new(),
            skipped: RoaringTreemap::new(),
            unreadable: RoaringTreemap::new(),
        };
        for (kind, unreadable) in [("failed", true), ("skipped", false)] {
            let mut after = 0;
            loop {
                let rows = work::troubled(sql, job.id, kind, after, limits::SWEEP_ROWS)?;
                let Some((last, ..)) = rows.last() else { break };
                after = *last;
                for (id, _, code, _) in rows {
                    let set = if unreadable { &mut known.failed } else { &mut known.skipped };
                    set.insert(id as u64);
                    if code == "unreadable" {
                        known.unreadable.insert(id as u64);
                    }
                }
            }
        }
        Ok(known)
    }
}

fn begin(store: &Store, lease: &Lease, job: &Job, kind: RunKind, now: i64) -> Result<i64> {
    let number = store.write(Durability::Synced, |sql| {
        lease.fence(sql)?;
        let Some(number) = jobs::begin(sql, job.id)? else { return Ok(None) };
        runs::open(sql, job.id, number, kind.word(), now)?;
        if number > 1 {
            // What an earlier run held is void: this one lists again.
            runs::release(sql, job.id, number - 1, "void")?;
        }
        Ok(Some(number))
    })?;
    number.ok_or_else(|| {
        EngineError::Refused(format!(
            "job {} is being deleted; `ingather job delete {}` goes on with it",
            job.name, job.name
        ))
    })
}

/// Runs a thread's work; an error ends the run.
fn failing(run: &Run, work: impl FnOnce() -> Result<()>) {
    if let Err(error) = work() {
        run.board.fail(error);
        run.outputs.iter().for_each(OutputSlot::notify);
    }
}

fn join<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> Option<T> {
    match thread.join() {
        Ok(value) => Some(value),
        // A bug in a connector or here: the run must not end as if nothing had happened.
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Waits until nothing is due or held; retries that fall due soon are waited for (design 5.1).
fn drain(run: &Run, shown: &Shown) -> Result<()> {
    const LOOK: Duration = Duration::from_millis(200);
    let deadline = run.call.now() + limits::SYNC_WAIT_MS_MAX;
    loop {
        while !run.board.wait_drained(LOOK) {
            if run.call.cancel.cancelled() || run.lost_lease.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        if run.stops() || run.store.is_none() {
            return Ok(());
        }
        let now = run.call.now();
        let due = run.reader.read(|sql| work::due(sql, run.job.id, (i64::MIN, 0), now, limits::CLAIM_MAX))?;
        let again: Vec<i64> =
            due.iter().map(|due| due.document).filter(|id| shown.seen.contains(*id as u64)).collect();
        let again: Vec<i64> = again.into_iter().filter(|id| lock(&run.waiting).contains(id)).collect();
        if again.is_empty() {
            let next = lock(&run.waiting).is_empty().then_some(i64::MAX).unwrap_or(now);
            let (earliest, _) = run.reader.read(|sql| work::next(sql, run.job.id))?;
            let soonest = earliest.unwrap_or(i64::MAX).max(next);
            if soonest > deadline || now >= deadline {
                return Ok(());
            }
            run.progress.waits_for("a retry that falls due soon");
            run.call.clock.awaited(soonest);
            run.board.pause(Duration::from_millis((soonest - run.call.now()).clamp(1, 200) as u64));
            continue;
        }
        retry(run, &again, &due)?;
    }
}

fn retry(run: &Run, ids: &[i64], due: &[work::Due]) -> Result<()> {
    let by_id: HashMap<i64, &work::Due> = due.iter().map(|due| (due.document, due)).collect();
    let stored = run.reader.read(|sql| documents::get(sql, ids))?;
    let tasks = stored.into_iter().filter_map(|stored| {
        let due = by_id.get(&stored.known.id.0)?;
        Some(Task {
            id: stored.known.id.0,
            name: stored.name,
            own: stored.known.own,
            place: stored.known.place,
            cause: due.cause,
            wanted: due.wanted,
            version: stored.known.version,
            access: stored.known.access,
            identity: stored.identity,
            known: Some(stored.known),
        })
    });
    run.board.push(tasks.collect());
    Ok(())
}

/// Keeps the lease alive while the run goes on.
fn renew(run: &Run) {
    const EVERY: i64 = ingather_store::leases::LEASE_MS / 3;
    let (Some(store), Some(lease)) = (&run.store, &run.lease) else { return };
    let mut renewed = run.call.now();
    while !run.board.closed() {
        run.board.pause(Duration::from_millis(250));
        let now = run.call.now();
        if now - renewed >= EVERY {
            renewed = now;
            let kept = store.write(Durability::Relaxed, |sql| lease.renew(sql, now));
            if !matches!(kept, Ok(true)) {
                run.lost_lease.store(true, Ordering::Relaxed);
                run.board.fail(EngineError::Store(StoreError::Fenced));
                return;
            }
        }
    }
}
