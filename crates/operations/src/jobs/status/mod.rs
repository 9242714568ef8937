//! How a job stands: why nothing happens when nothing happens, and what ManifoldCF calls its state.

pub mod progress;

use std::collections::HashMap;

use ingather_engine::Glance;
use ingather_engine::progress::{EVENT, RETRY};
use ingather_engine::scheduler::interrupted_too_often;
use ingather_model::blocked::{AwaitedEvent, BlockedReason, JobEnvironment, may_work};
use ingather_model::ids::JobId;
use ingather_model::job::RunKind;
use ingather_model::lifecycle::facts::JobFacts;
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::{GuardState, RunOutcome};
use ingather_model::lifecycle::projection::{ManifoldJobState, manifold_job_state};
use ingather_model::limits;
use ingather_model::run_counts::counted;
use ingather_store::connections::{self, Ill, Role};
use ingather_store::documents::states::{self, States};
use ingather_store::jobs::Job as Stored;
use ingather_store::{Reader, Sql, StoreError, events, leases, queue, runs};

use self::progress::RunProgress;
use super::{Run, ToldSchedule, schedule};
use crate::context::Context;
use crate::in_words::{are, time};
use crate::problem::Result;
use crate::system::jobs::is_service;

/// How a job stands.
pub(crate) struct JobStatus {
    /// Where it is in its life: at rest, although its last run is open, where that was interrupted too often.
    pub(crate) state: State,
    /// Why it does not work now, and what to do; none: it works, or is about to.
    pub(crate) hold: Option<String>,
    /// Its state by ManifoldCF's names, as far as whoever looks can tell.
    pub(super) manifold: Option<ManifoldJobState>,
    /// How far its run has come, where this process has one.
    pub(super) progress: Option<RunProgress>,
}

/// What the inventory says of several jobs: a question for all of them, whatever their number.
pub(crate) struct Known {
    /// The documents of each by state; one that has none may be left out.
    states: HashMap<JobId, States>,
    /// The last run of each.
    pub(super) last: HashMap<JobId, runs::Run>,
    /// The connector of each output, by its name.
    outputs: HashMap<String, String>,
    /// Outputs that do not take what they are sent.
    pub(crate) ill: Vec<Ill>,
}

impl Known {
    /// What it says of these.
    pub(crate) fn of(sql: &mut Sql<'_>, jobs: &[Stored]) -> std::result::Result<Known, StoreError> {
        let ids: Vec<i64> = jobs.iter().map(|job| job.id.0).collect();
        let outputs = connections::list(sql)?.into_iter().filter(|one| one.role == Role::Output);
        Ok(Known {
            outputs: outputs.map(|one| (one.name, one.kind)).collect(),
            states: states::of_all(sql, &ids)?,
            last: runs::last(sql, &ids)?,
            ill: connections::ill(sql)?,
        })
    }

    /// The documents of a job by state.
    pub(super) fn states_of(&self, job: JobId) -> States {
        self.states.get(&job).copied().unwrap_or_default()
    }
}

/// How a job stands that had this run last.
pub(crate) fn of(
    context: &Context<'_>,
    reader: &Reader,
    job: &Stored,
    last: Option<&Run>,
    (told, known): (Option<&ToldSchedule>, &Known),
) -> Result<JobStatus> {
    let serves = context.host.background().is_some();
    let glance = if serves { context.host.process().glance(job.id) } else { Glance::default() };
    let interrupted = if glance.works { None } else { interrupted(context, reader, job)? };
    let at_rest = interrupted.as_ref().map(|_| Stored { state: State::Resting, ..job.clone() });
    let job = at_rest.as_ref().unwrap_or(job);
    // Elsewhere a run that is on record is taken for one that works while somebody may work on it.
    let is_open = !matches!(job.state, State::Resting | State::Starting);
    let works = glance.works || (!serves && is_open && context.may_work());
    let missing = missing(context, &known.outputs, job);
    let facts = facts(context, job, last, glance, works, &missing);
    let waiting = known.states_of(job.id).waiting;
    let found = JobFound { job, last, told, waiting, works, glance };
    // Before a window that is closed: when that opens, nothing begins.
    let hold = match held(&found).or(interrupted.filter(|_| !job.paused)) {
        None => found.hold(context, reader, &facts, &missing)?,
        hold => hold,
    };
    let progress = last.zip(glance.progress).filter(|_| works && !glance.begins).map(|(run, snapshot)| {
        RunProgress::of(snapshot, glance.lists, run, waiting, context.now(), hold.is_some())
    });
    Ok(JobStatus { state: job.state, hold, manifold: manifold_job_state(&facts), progress })
}

/// Why a job rests whose run was interrupted too often, where this process has none of it. Elsewhere a run that began since the process that may write
/// did is taken for one of its own.
pub(crate) fn interrupted(context: &Context<'_>, reader: &Reader, job: &Stored) -> Result<Option<String>> {
    let is_open = matches!(job.state, State::Starting | State::Working | State::Sweeping | State::Ending);
    if !is_open || job.restart.is_some() {
        return Ok(None);
    }
    let (last, since) = reader.read(|sql| {
        Ok((runs::list(sql, job.id, limits::INTERRUPTIONS_MAX)?, leases::since(sql, context.now())?))
    })?;
    let serves = context.host.background().is_some();
    let began_before = |run: &runs::Run| since.is_none_or(|since| run.started_at < since);
    let is_left = serves || last.first().is_some_and(began_before);
    Ok(interrupted_too_often(&job.name, &last).filter(|_| is_left))
}

/// What is known of a job at one moment.
struct JobFound<'a> {
    job: &'a Stored,
    last: Option<&'a Run>,
    told: Option<&'a ToldSchedule>,
    /// Documents that wait.
    waiting: u64,
    works: bool,
    glance: Glance,
}

/// Why a job rests whose last run holds removals.
fn held(found: &JobFound<'_>) -> Option<String> {
    let JobFound { job, last, works, .. } = *found;
    let is_at_rest = job.state == State::Resting && !job.paused && !works;
    let run = last.filter(|run| is_at_rest && run.guard == Some(GuardState::Held))?;
    let (held, name) = (run.counts.held, &job.name);
    Some(format!(
        "{} {} held and wait for a person; `ingather job held {name}` lists them, `ingather job confirm {name} --run {}` carries them out",
        counted(held, "removal"),
        are(held),
        run.run
    ))
}

impl JobFound<'_> {
    /// Why it does not work otherwise; none: it works, or is about to.
    fn hold(
        &self,
        context: &Context<'_>,
        reader: &Reader,
        facts: &JobFacts,
        missing: &Missing,
    ) -> Result<Option<String>> {
        let JobFound { job, last, told, waiting, works, glance } = *self;
        let serves = context.host.background().is_some();
        let holder = if serves { None } else { context.host.holder() };
        let is_attended = serves || is_service(holder.as_deref());
        // Of a run that was put down; one that is under way may be that of whoever holds the store.
        let waits_for_holder = job.state == State::Starting && !is_attended;
        let ended = last.and_then(|run| run.error.as_deref());
        let (refused, unlisted) = (refused(context, job, ended), unlisted(reader, job, last)?);
        let awaited = awaited(reader, job, waiting)?;
        let environment = JobEnvironment {
            now: context.now(),
            opens_at: closed(job, context.now()).flatten(),
            starts_at: told.and_then(|told| told.next.first().copied()),
            missing: &missing.names,
            store_held_by: holder.as_deref().filter(|_| waits_for_holder),
            refused: refused.as_deref(),
            unlisted: unlisted.as_deref(),
            unattended: job.definition.schedule.is_some() && !is_attended,
            event: awaited.as_ref().map(of_event),
            retries: retries(reader, job, waiting, context.now())?,
        };
        let is_idle = matches!(job.state, State::Resting) && !works;
        let rests = facts.state == State::Resting && !facts.paused;
        Ok(match may_work(facts, &environment) {
            // A run that is announced is not on record yet.
            Err(_) if rests && works => None,
            Err(reason) => Some(in_words(&reason, told)),
            Ok(()) if glance.throttled.is_some() => glance.throttled.map(waits_for_throttle),
            Ok(()) if glance.progress.is_some_and(|progress| progress.waits_for == RETRY) => {
                Some(format!("it is {RETRY}"))
            }
            Ok(()) if glance.progress.is_some_and(|progress| progress.waits_for == EVENT) => {
                awaited.as_ref().map(|event| of_event(event).reason(None).sentence(&time))
            }
            Ok(()) if works || is_idle => None,
            Ok(()) => goes_on(context, job),
        })
    }
}

/// The sentence for a reason; of a job that rests by what its schedule says.
fn in_words(reason: &BlockedReason, told: Option<&ToldSchedule>) -> String {
    let is_continuous = told.is_some_and(|told| told.continuous);
    let problem = told.and_then(|told| told.problem.as_ref());
    match (reason, problem) {
        (BlockedReason::Resting { .. }, Some(problem)) => problem.clone(),
        (BlockedReason::Resting { .. }, _) if is_continuous => {
            "nothing has changed since it looked last; a change begins the next look".to_owned()
        }
        (BlockedReason::Unattended, _) if is_continuous => {
            "no service is at work; `ingather serve` follows the changes of its source".to_owned()
        }
        (BlockedReason::Resting { starts_at: None }, _) if told.is_some() => {
            "no run was asked for, and its schedule begins no more; change it to go on".to_owned()
        }
        (reason, _) => reason.sentence(&time),
    }
}

/// Why the next run of a job could not begin, where none has begun since; `ended`: why its last one ended early. A program that has ended
/// left it with the job, beside which the last run tells of itself.
pub(crate) fn refused(context: &Context<'_>, job: &Stored, ended: Option<&str>) -> Option<String> {
    let noted = || job.error.clone().filter(|noted| Some(noted.as_str()) != ended);
    context.host.process().refused(job.id).or_else(noted)
}

/// Why the last run of a job did none of its work although nothing of it failed: its source was not there.
fn unlisted(reader: &Reader, job: &Stored, last: Option<&Run>) -> Result<Option<String>> {
    let unlisted = last.filter(|run| run.outcome == Some(RunOutcome::Done) && run.listed_at.is_none());
    let Some(run) = unlisted else { return Ok(None) };
    let spots = reader.read(|sql| runs::blind_spots(sql, job.id, run.run))?;
    Ok(spots.into_iter().next_back().map(|spot| spot.message))
}

/// The oldest event that documents of a job wait for.
fn awaited(reader: &Reader, job: &Stored, waiting: u64) -> Result<Option<events::Pending>> {
    if waiting == 0 {
        return Ok(None);
    }
    Ok(reader.read(|sql| events::awaited(sql, job.id, 1))?.into_iter().next())
}

fn of_event(event: &events::Pending) -> AwaitedEvent<'_> {
    AwaitedEvent {
        name: &event.name,
        documents: event.waiting,
        job: &event.job,
        document: &event.document,
        since: event.taken_at,
    }
}

/// Documents of a job that are tried again at a later date, and the first of these dates. Where very many wait, nobody looks for it.
fn retries(reader: &Reader, job: &Stored, waiting: u64, now: i64) -> Result<Option<(u64, i64)>> {
    if waiting == 0 || waiting > limits::RETRIES_LOOKED_MAX {
        return Ok(None);
    }
    let due = reader.read(|sql| queue::next_due(sql, job.id, now))?;
    Ok(due.filter(|due| *due < queue::DUE_NEXT_RUN).map(|due| (waiting, due)))
}

/// Why a run reads nothing just now that could be read.
fn waits_for_throttle(until: i64) -> String {
    match until {
        i64::MAX => {
            "it waits for its throttle until other documents are read, or the rules of its connection change"
                .to_owned()
        }
        until => format!("it waits for its throttle until {}", time(until)),
    }
}

/// Why a run that was interrupted or put down does not go on: nobody is there who has it do so.
fn goes_on(context: &Context<'_>, job: &Stored) -> Option<String> {
    let name = &job.name;
    if job.state == State::Deleting {
        return Some(format!("it is being deleted; `ingather job delete {name}` goes on with it"));
    }
    let is_there = context.host.background().is_some() || context.may_work();
    (!is_there).then(|| {
        format!("nobody works on it; `ingather serve` goes on with it, or `ingather job start {name}`")
    })
}

fn facts(
    context: &Context<'_>,
    job: &Stored,
    last: Option<&Run>,
    glance: Glance,
    works: bool,
    missing: &Missing,
) -> JobFacts {
    let is_closed = match (works, job.state) {
        (true, _) => glance.window_closed,
        (false, State::Resting | State::Deleting) => false,
        (false, _) => job.restart.is_none() && closed(job, context.now()).is_some(),
    };
    // The store hears of a stop when all is put down, and of a run when what it needs is open.
    let state = match job.state {
        State::Deleting => State::Deleting,
        _ if glance.begins && glance.stops => State::Stopping,
        _ if glance.begins => State::Starting,
        State::Working | State::Sweeping if glance.stops => State::Stopping,
        // A person has stopped it, and its process died meanwhile: nothing goes on with it.
        State::Stopping if !works && job.restart.is_none() => State::Resting,
        // Asked for, and on disk.
        State::Resting if job.restart.is_some() => State::Starting,
        state => state,
    };
    let is_starting = glance.prepares || (glance.begins && glance.stops);
    JobFacts {
        taken: is_starting || (state == State::Deleting && works),
        prepared: job.state == State::Deleting,
        seeding: glance.lists && matches!(state, State::Working | State::Stopping),
        draining: glance.busy,
        paused: job.paused,
        window_open: !is_closed,
        repository_missing: missing.repository,
        output_missing: missing.output,
        // Of a run that has not begun it is what wants that run itself.
        restart: job.restart.is_some() && !glance.begins,
        minimal: last.is_some_and(|run| run.kind == RunKind::Minimal),
        ..JobFacts::new(state)
    }
}

/// When the window of the schedule opens that is closed now, if ever; none: it is open, or there is none.
fn closed(job: &Stored, now: i64) -> Option<Option<i64>> {
    let calendar = schedule::calendar(job.definition.schedule.as_ref()?).ok()?;
    (!calendar.is_open(now)).then(|| calendar.next_begin(now))
}

/// What this program has no connector for.
struct Missing {
    repository: bool,
    output: bool,
    names: Vec<String>,
}

/// Kinds of connectors that a job needs and that this program has not.
pub(crate) fn missing_names(context: &Context<'_>, reader: &Reader, job: &Stored) -> Result<Vec<String>> {
    let outputs = reader.read(|sql| {
        let of = job.definition.outputs.iter();
        let found = of.filter_map(|name| connections::find(sql, Role::Output, name).transpose());
        found.map(|one| one.map(|one| (one.name, one.kind))).collect::<std::result::Result<_, StoreError>>()
    })?;
    Ok(missing(context, &outputs, job).names)
}

fn missing(context: &Context<'_>, outputs: &HashMap<String, String>, job: &Stored) -> Missing {
    let mut missing = Missing { repository: false, output: false, names: Vec::new() };
    if let Some(connector) = job.connector.as_ref().filter(|name| context.registry.repository(name).is_none())
    {
        missing.repository = true;
        missing.names.push(connector.clone());
    }
    for name in &job.definition.outputs {
        if let Some(kind) = outputs.get(name).filter(|kind| context.registry.output(kind).is_none()) {
            missing.output = true;
            missing.names.push(kind.clone());
        }
    }
    missing
}
