//! The engine: begins a run, starts its threads, sweeps, ends it.

mod following;
mod health;
mod outputs;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use ingather_contract::call::{CallContext, Cancel, Clock};
use ingather_contract::registry::Registry;
use ingather_contract::repository::{HostContext, Repository, RepositoryKind};
use ingather_model::job::RunKind;
use ingather_model::job::schedule::Schedule;
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::limits;
use ingather_model::run_counts::RunCounts;
use ingather_model::scope::BlindSpot;
use ingather_store::failpoints::{Failpoint, failpoint};
use ingather_store::jobs::{self, Job};
use ingather_store::leases::Lease;
use ingather_store::queue::Attention;
use ingather_store::{Durability, Reader, Store, documents, erased, runs};

use self::following::{follow, settle};
use crate::containers::ListedContainers;
use crate::containers::pool::ContainersUse;
use crate::delivery::author::Author;
use crate::delivery::output_pool::OutputUse;
use crate::delivery::output_user::OutputUser;
use crate::delivery::sender::refer;
use crate::delivery::writer::Writer;
use crate::error::{EngineError, Refusal, Result};
use crate::lister::{Lister, ListingResult};
use crate::process::Process;
use crate::process::under_way::Work;
use crate::progress::Progress;
use crate::run::reach::Reach;
use crate::run::state::RunState;
use crate::run::visitors::Place;
use crate::run::{ClosesOnPanic, Run, begin, failing, join, start, tell_end};
use crate::sweep::Judged;
use crate::visit::audience::Audiences;
use crate::visit::contained::contained;
use crate::visit::pipeline::Pipeline;
use crate::visit::refill;
use crate::{sweep, visit};
use ingather_store::turns::lock;

/// Of a source that does not say why.
const UNLISTED: &str = "its source could not be listed";

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
    pub host: HostContext,
    /// What all jobs share while they are worked on; other engines of the program have the same one.
    pub process: Arc<Process>,
    /// Who or what begins the runs of this one, in words, for their history.
    pub asked_by: String,
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
    /// Removals are not held in this run.
    pub guard_off: bool,
    /// A folder that is on another device than before is taken for the one that was there: what it does not hold is gone.
    pub accepts_devices: bool,
    /// Every document is read again, also where nothing tells of a change.
    pub rereads: bool,
    /// Another run goes on with it by itself where everything, and not it alone, was asked to stop.
    pub goes_on: bool,
    /// It is one pass of a continuous job: it waits for no other attempt, and the guard counts with the passes before it.
    pub is_pass: bool,
}

/// What a run did.
#[derive(Clone, Debug)]
pub struct Report {
    /// Number of the run; none when nothing was written.
    pub run: Option<i64>,
    /// The counters.
    pub counts: RunCounts,
    /// Scopes that could not be read.
    pub blind: Vec<BlindSpot>,
    /// It was asked to stop before its end.
    pub stopped: bool,
    /// Why it ended early.
    pub error: Option<String>,
    /// Documents that conditions of the pipeline took out of an output, or would take.
    pub kept_out: u64,
    /// What a person should know of the source.
    pub notes: Vec<String>,
    /// How long it took, milliseconds.
    pub millis: i64,
}

impl Engine {
    /// How the process itself calls: outputs that jobs share go on when one of these jobs is stopped.
    pub(crate) fn call(&self) -> CallContext {
        CallContext { clock: self.clock.clone(), cancel: self.cancel.clone() }
    }

    /// How work on one job calls.
    pub(crate) fn call_of(&self, work: &Work) -> CallContext {
        CallContext { cancel: work.cancel(), ..self.call() }
    }

    /// Opens the source of a job.
    ///
    /// # Errors
    /// When there is no such connector, or its settings are wrong.
    pub fn repository(&self, job: &Job) -> Result<Arc<dyn Repository>> {
        let host = HostContext { inbox: Some(self.records(job)), ..self.host.clone() };
        let opened = (self.repository_kind(job)?.open)(&job.definition.source, &host);
        opened
            .map(contained)
            .map_err(|fault| EngineError::refused(Refusal::Definition, format!("job {}: {fault}", job.name)))
    }

    fn repository_kind(&self, job: &Job) -> Result<&'static RepositoryKind> {
        let refused = |sentence| Err(EngineError::refused(Refusal::NoSuchConnector, sentence));
        let Some(connector) = &job.connector else {
            return refused(format!(
                "the source of job {} is not on record any more; run `ingather doctor`",
                job.name
            ));
        };
        match self.registry.repository(connector) {
            Some(kind) => Ok(kind),
            None => refused(format!("job {}: there is no repository connector `{connector}`", job.name)),
        }
    }

    /// Runs a job once.
    ///
    /// Other jobs may run at the same time, and share its outputs and containers. [`Engine::stop`] stops it alone.
    ///
    /// # Errors
    /// `Running` when the same job is worked on, unless this run writes nothing; when it could not begin, or the store or an output failed;
    /// what was confirmed stands, the next run goes on.
    pub fn run(&self, job: &Job, options: Options, progress: Arc<Progress>) -> Result<Report> {
        let started = self.clock.now();
        // A full run does what a person wanted of the next one.
        let rereads = options.rereads || (options.kind == RunKind::Full && job.rereads > 0);
        let options = Options { rereads, ..options };
        let writes = options.mode == Mode::Write;
        let writer = writes.then(|| self.writing().ok()).flatten();
        let work = self.process.begin(job, "run", writer.as_ref(), &self.cancel)?;
        if writes {
            self.erase_first(job, &work)?;
        }
        // The outputs stay open until the run has ended.
        let (run, _uses) = self.prepare(job, options, progress, &work)?;
        work.pauses(&run);
        if writes {
            // One that only counts opens no output, and says nothing of why others do not begin.
            self.process.note_begun(job.id);
        }
        for queue in run.queues() {
            queue.opened().iter_mut().for_each(|opened| {
                opened.begin(&run.author.job_name, Some(run.number), options.kind.as_str());
            });
        }
        // From here on the run is on record: whatever fails, its end is written.
        let worked = self.work(&run, options);
        let mut error = lock(&run.aborted).clone();
        let ended = match worked {
            Ok((result, judged)) => self.finish(&run, result, judged, &mut error),
            Err(failed) => Err(failed),
        };
        let ended = work.check().and(ended);
        if let Err(failed) = &ended {
            error.get_or_insert_with(|| failed.to_string());
        }
        let stopped = run.call.cancel.cancelled();
        if writes {
            let outcome = match (&ended, stopped) {
                (Err(_), _) => RunOutcome::Failed,
                (_, true) => RunOutcome::Stopped,
                _ if error.is_some() => RunOutcome::Failed,
                _ => RunOutcome::Done,
            };
            let told = tell_end(&run, outcome);
            if let Err(failed) = &told {
                error.get_or_insert_with(|| failed.to_string());
            }
            self.note_outputs(&run, [ended.as_ref().err(), told.as_ref().err()]);
            let outcome =
                if error.is_some() && outcome == RunOutcome::Done { RunOutcome::Failed } else { outcome };
            let goes_on = options.goes_on && self.cancel.cancelled() && !work.was_stopped();
            let goes_on = goes_on && !failpoint(Failpoint::PutDownRests);
            let outcome = self.end(&run, outcome, error.as_deref(), (goes_on, work.was_stopped()));
            // The first error is the one to tell.
            if ended.is_ok() {
                outcome?;
            }
        }
        let blind = ended?;
        let counts = *lock(&run.counts);
        Ok(Report {
            run: writes.then_some(run.number),
            counts,
            blind,
            stopped,
            error,
            kept_out: run.kept_out.load(Ordering::Relaxed),
            notes: following::notes(&run)?,
            millis: self.clock.now() - started,
        })
    }

    fn prepare(
        &self,
        job: &Job,
        options: Options,
        progress: Arc<Progress>,
        work: &Work,
    ) -> Result<(Arc<Run>, (Vec<OutputUse>, ContainersUse))> {
        let (definition, repository) = (job.definition.clone(), self.repository(job)?);
        let pipeline = Pipeline::open(&definition, &self.registry)?;
        let writer = self.writer.as_ref().filter(|_| options.mode == Mode::Write);
        let (outputs, uses, resending) = self.open_outputs(job, &pipeline, writer)?;
        let credentials_changed = job.credentials.as_ref() != Some(&repository.credentials_fingerprint());
        let (attention, erased) = self.noted_before(job, repository.as_ref())?;
        let containers = match writer {
            Some(_) => self.process.containers.get(&self.reader, job.repository, job.id)?,
            None => ContainersUse::alone(&self.process.containers, &self.reader, job.repository, job.id)?,
        };
        let (capabilities, author) = (self.repository_kind(job)?.capabilities, self.author(job, repository)?);
        let dispatcher = self.dispatcher(job, &author, capabilities, work)?;
        // Last: what fails before leaves no run that nobody ends.
        let settings = definition.settings_digest(&pipeline.versions, &resending);
        let wants_all = options.rereads || credentials_changed;
        let (dating, reach) = self.walks(job, author.repository.as_ref(), (settings, wants_all), options)?;
        let number = self.open_run(job, writer, (options.kind, reach.as_ref()), work)?;
        let state = RunState {
            store: writer.map(|(store, _)| store.clone()),
            lease: writer.map(|(_, lease)| lease.clone()),
            reader: self.reader.clone(),
            call: self.call_of(work),
            job: job.clone(),
            settings,
            stages: definition.stages_digest(&pipeline.versions),
            definition,
            number,
            looks: capabilities.looks,
            guard_off: options.guard_off || author.is_pushed,
            author,
            pipeline,
            accepts_devices: options.accepts_devices,
            rereads: options.rereads,
            is_full: options.kind == RunKind::Full,
            reach,
            dating,
            is_pass: options.is_pass,
            dispatcher,
            progress,
            attention,
            credentials_changed,
            attempts: Mutex::default(),
            missing: Mutex::default(),
            waiting: Mutex::default(),
            fresh: Mutex::default(),
            vanished: Mutex::default(),
            failed_now: Mutex::default(),
            refilled: Mutex::default(),
            erased: erased.into_iter().map(|key| key.key_hash).collect(),
            shared: containers.shared(),
            listed_containers: Mutex::new(ListedContainers::new(containers.shared().most)),
            audiences: Audiences::new(containers.shared().most),
            counts: Mutex::default(),
            noted: AtomicUsize::default(),
            kept_out: AtomicU64::default(),
            aborted: Mutex::default(),
            unlisted: Mutex::default(),
        };
        let run = Arc::new(Run { state: Arc::new(state), outputs });
        let user: Weak<dyn OutputUser> = Arc::downgrade(&run) as Weak<dyn OutputUser>;
        uses.iter().for_each(|output| output.join(user.clone()));
        Ok((run, (uses, containers)))
    }

    /// What was noted before a run of its documents, and which of them are erased.
    fn noted_before(&self, job: &Job, repository: &dyn Repository) -> Result<(Attention, Vec<DocumentKey>)> {
        Ok(self.reader.read(|sql| {
            let mut erased = erased::keys(sql, job.id)?;
            erased.extend(self.kept_out(sql, job, repository)?.into_keys());
            Ok((Attention::of(sql, job.id)?, erased))
        })?)
    }

    /// The number of a run that begins.
    fn open_run(
        &self,
        job: &Job,
        writer: Option<&(Store, Lease)>,
        (kind, reach): (RunKind, Option<&Reach>),
        work: &Work,
    ) -> Result<i64> {
        let Some(to) = writer else { return Ok(job.run + 1) };
        let basis = reach.map(|reach| reach.basis);
        let by = (kind, self.asked_by.as_str(), self.clock.now(), basis);
        begin(to, job, &|run| work.opens(run), by, &self.process.notifies())
    }

    /// In whose name changes of a job are sent.
    pub(crate) fn author(&self, job: &Job, repository: Arc<dyn Repository>) -> Result<Arc<Author>> {
        let is_pushed = repository.pushed().is_some();
        Ok(Arc::new(Author {
            job: job.id,
            job_name: job.name.as_str().into(),
            repository,
            hasher: self.reader.hasher(),
            keep: job.definition.keep,
            is_pushed,
            unique_uris: self.repository_kind(job)?.capabilities.unique_uris,
            commit_ms: match job.definition.schedule {
                Some(Schedule::Continuous) => limits::INDEX_COMMIT_CONTINUOUS_MS,
                _ => limits::INDEX_COMMIT_MS,
            },
        }))
    }

    /// Who writes.
    ///
    /// # Errors
    /// `ReadOnly` where the store is open for reading only.
    pub(crate) fn writing(&self) -> Result<Writer> {
        let (store, lease) = self
            .writer
            .as_ref()
            .ok_or_else(|| EngineError::refused(Refusal::ReadOnly, "the store is open for reading only"))?;
        Ok(Writer { store: store.clone(), lease: lease.clone(), call: self.call() })
    }

    /// Lists, visits and delivers until nothing is due within the time that a run waits; and judges what was not met.
    fn work(&self, run: &Run, options: Options) -> Result<(ListingResult, Option<Judged>)> {
        let known = self.reader.read(|sql| documents::total(sql, run.job.id))?;
        run.progress.known(known);
        crate::visit::extracts::forget_unwanted(run)?;
        // Those that follow links wait for others most of the time; what was pushed is at hand.
        let is_fetched = run.reach.is_some() && !run.author.is_pushed;
        let most = if is_fetched { limits::FETCHERS } else { 1 };
        let workers = self.host.threads.max(most);
        std::thread::scope(|scope| {
            let visitors: Vec<_> = (0..workers)
                .filter_map(|n| {
                    // Those that wait for answers of others keep nobody from being busy: what they read is read by few children at a time.
                    let shares = n > 0 && !is_fetched;
                    let permit = run.dispatcher.permit(shares.then_some(workers - 1));
                    start(scope, run, move || {
                        failing(run, || {
                            let mut place = Place::new(run, permit);
                            while let Some(items) = place.claim() {
                                visit::visit_all(run, items, &mut place)?;
                            }
                            Ok(())
                        });
                    })
                })
                .collect();
            // Dropped before them: they wait for what this thread does.
            let _closes = ClosesOnPanic(run);
            for queue in run.queues() {
                failing(run, || refer(run, queue));
            }
            let mut lister = Lister::new(run, known == 0);
            run.progress.waits_for("listing");
            match &run.reach {
                Some(reach) => failing(run, || follow(run, reach, &mut lister)),
                None => {
                    failing(run, || lister.list());
                    failing(run, || refill::refill(run, &lister.result));
                }
            }
            run.dispatcher.listing_done();
            run.notify_outputs();
            run.progress.waits_for("reading and delivering");
            failing(run, || settle(run, &lister));
            run.wait_while_paused();
            if let Some(reach) = &run.reach {
                lister.result.takes(reach, run.is_full);
            }
            let mut judged = None;
            if (options.kind == RunKind::Full || run.is_due_pass()) && !run.stops() {
                run.progress.waits_for("looking for what is gone");
                failing(run, || {
                    let found = sweep::judge(run, &mut lister.result, known)?;
                    visit::left_out::narrow(run, &found)?;
                    judged = Some(found);
                    Ok(())
                });
            }
            run.close();
            for visitor in visitors {
                join(visitor);
            }
            // What was handed over is still delivered, also where the run stops.
            run.dispatcher.wait_complete();
            match run.dispatcher.take_error() {
                Some(error) => Err(error),
                None => Ok((lister.result, judged)),
            }
        })
    }

    fn finish(
        &self,
        run: &Run,
        mut result: ListingResult,
        judged: Option<Judged>,
        error: &mut Option<String>,
    ) -> Result<Vec<BlindSpot>> {
        run.wait_while_paused();
        if run.call.cancel.cancelled() || error.is_some() {
            return Ok(result.blind);
        }
        let now = self.clock.now();
        if let Some(store) = &run.store {
            store.write(Durability::Synced, |sql| {
                run.fence(sql)?;
                if result.complete {
                    // Not before: what could not be read is asked for again only while the credentials are others.
                    if run.credentials_changed {
                        let credentials = run.author.repository.credentials_fingerprint();
                        jobs::remember_credentials(sql, run.job.id, &credentials)?;
                    }
                    runs::listed(sql, run.job.id, run.number, now, &result.blind)?;
                    if let Some(dating) = run.dating.filter(|_| run.is_full) {
                        documents::dates::note_looked(sql, run.job.id, dating.digest)?;
                    }
                } else if !run.is_due_pass() {
                    // A root that is absent: where nobody watches the run, this alone tells of it.
                    runs::blind(sql, run.job.id, run.number, &result.blind)?;
                    let why = result.blind.last().map(|spot| spot.message.clone());
                    *lock(&run.unlisted) = why.or(Some(UNLISTED.to_owned()));
                }
                jobs::drain(sql, run.job.id, run.number)
            })?;
        }
        if let Some(judged) = judged {
            visit::left_out::settle(run, &judged)?;
            let mut remover = self.remover(run)?;
            result.blind.extend(sweep::sweep(run, &result, judged, remover.as_mut())?);
            if let Some(remover) = remover.as_mut().filter(|_| run.dating.is_some()) {
                sweep::expire(run, remover)?;
            }
        }
        if let Some(aborted) = lock(&run.aborted).clone() {
            error.get_or_insert(aborted);
        }
        Ok(result.blind)
    }
}
