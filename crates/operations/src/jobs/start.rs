//! Runs that a person or a schedule asks for, of jobs as they are stored: their beginning, and their end before its time.

use ingather_engine as engine;
use ingather_model::ids::JobId;
use ingather_model::job::RunKind;
use ingather_model::job::schedule::Schedule;
use ingather_model::lifecycle::job::State;
use ingather_store::jobs::{self, Job as Stored};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sync::{self, Asked, Of, SyncSource, Synced};
use super::{named, refuse_deleting};
use crate::context::{Caller, Context, Doing, Places, Writing};
use crate::in_words;
use crate::operation::schema;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

const BEGUN: &str = r#"{"job": "share", "mode": "full"}"#;
const ENDED: &str = r#"{"job": "share", "mode": "full", "ended": {"job": "share", "run": 7, "seen": 1200, "added": 1,
    "updated": 2, "access": 0, "unchanged": 1197, "skipped": 0, "failed": 0, "waiting": 0, "deleted": 3, "kept": 4, "held": 0,
    "blind": [], "seconds": 1.25, "partial": 0, "root": "/srv/share", "outputs": ["index"], "stopped": false, "error": null,
    "unread": [], "notes": [], "resends": [], "overlaps": []}}"#;

/// Begins a run of a job.
pub static START: Answering<StartJob, Started> = Answering {
    operation: Operation {
        name: "jobs.start",
        summary: "Begins a run of a job as it is stored; a service answers at once, the command line when it has ended.",
        request: Shape::of::<StartJob>("StartJob", &[r#"{"job": "share", "mode": "minimal"}"#]),
        item: None,
        answer: Shape::of::<Started>("Started", &[BEGUN, ENDED]),
        role: Role::Operator,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/jobs/{job}/start"),
        words: Words::Are("job start"),
        tool: false,
        problems: &[
            Code::NoSuchJob,
            Code::Differs,
            Code::Outdated,
            Code::OutsideRoots,
            Code::Settings,
            Code::NoSuchOutput,
            Code::NoSuchConnector,
            Code::Definition,
            Code::Source,
            Code::Deleting,
            Code::Paused,
            Code::Output,
            Code::Connector,
            Code::IndexOlder,
        ],
    },
    run: start,
};

/// Asks a run to stop.
pub static ABORT: Answering<AbortJob, Aborted> = Answering {
    operation: Operation {
        name: "jobs.abort",
        summary: "Asks what is under way for a job to stop; what outputs have confirmed stands, and nothing goes on by itself.",
        request: Shape::of::<AbortJob>("AbortJob", &[r#"{"job": "share"}"#]),
        item: None,
        answer: Shape::of::<Aborted>("Aborted", &[r#"{"job": "share", "stopping": false, "rests": true}"#]),
        role: Role::Operator,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/jobs/{job}/abort"),
        words: Words::Are("job abort"),
        tool: false,
        problems: &[Code::NoSuchJob],
    },
    run: abort,
};

/// Asks to begin a run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartJob {
    /// Name of the job.
    pub job: String,
    /// `full`, or `minimal`: only what is new or changed, and nothing is removed.
    #[serde(default = "full")]
    #[schemars(schema_with = "schema::run_kind")]
    pub mode: RunKind,
    /// Removals are not held in this run.
    #[serde(default)]
    pub guard_off: bool,
    /// A folder on another device than before was replaced.
    #[serde(default)]
    pub accepts_devices: bool,
    /// Every document is read again, by a full run.
    #[serde(default)]
    pub rereads: bool,
}

impl StartJob {
    /// How the run looks at its source: who wants every document read again wants a full run, whatever else was said.
    fn kind(&self, job: &Stored) -> RunKind {
        if self.rereads { RunKind::Full } else { kind_of(job, self.mode) }
    }
}

pub(super) fn full() -> RunKind {
    RunKind::Full
}

/// What was begun.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Started {
    /// Name of the job.
    pub job: String,
    /// How the run looks at its source.
    #[schemars(schema_with = "schema::run_kind")]
    pub mode: RunKind,
    /// What the run did; none where it goes on after this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Box<Synced>>,
}

/// Asks to stop what is under way for a job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbortJob {
    /// Name of the job.
    pub job: String,
}

/// Whether there was anything to stop.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Aborted {
    /// Name of the job.
    pub job: String,
    /// Something is under way, and stops at its next safe place.
    pub stopping: bool,
    /// A run that was interrupted or put down was to go on by itself, and does not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rests: bool,
}

fn start(context: &Context<'_>, caller: &Caller<'_>, request: StartJob) -> Result<Started> {
    let job = named(&context.existing()?, &request.job)?;
    let mode = request.kind(&job);
    let ended = begin_run(context, &job, request, (By::Person, caller.name))?.map(Box::new);
    Ok(Started { job: job.name, mode, ended })
}

/// How a run of a job looks at its source: at everything where a person wants no version trusted.
pub(super) fn kind_of(job: &Stored, asked: RunKind) -> RunKind {
    if job.rereads > 0 { RunKind::Full } else { asked }
}

/// Nothing is begun for a job that a person has paused.
pub(super) fn refuse_paused(job: &Stored) -> Result<()> {
    if !job.paused {
        return Ok(());
    }
    let name = &job.name;
    let sentence = format!("job {name} is paused; `ingather job resume {name}` lets it run");
    Err(Problem::new(Code::Paused, sentence))
}

/// Whose a run is that goes on with one that was cut off.
pub(super) const INTERRUPTION: &str = "interruption";

/// Who begins a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// Somebody who is told that it was begun: it is on disk before.
    Person,
    /// A schedule, which is asked again.
    Schedule,
    /// A continuous job, for its next pass.
    Watch,
}

/// Begins a run of a job by its schedule, or for what was asked before; `whose` names it. What it did, where it has ended: in a program that ends with its answer.
///
/// # Errors
/// `Running` while the job is worked on, `Busy` while as many run as may.
pub fn begin(context: &Context<'_>, job: &Stored, mode: RunKind, whose: &str) -> Result<Option<Synced>> {
    begin_run(context, job, as_stored(job, mode), (By::Schedule, whose))
}

/// The same for somebody who asks.
///
/// # Errors
/// Those of [`begin`].
pub(super) fn begin_asked(
    context: &Context<'_>,
    job: &Stored,
    mode: RunKind,
    whose: &str,
) -> Result<Option<Synced>> {
    begin_run(context, job, as_stored(job, mode), (By::Person, whose))
}

/// Begins a pass of a continuous job, in a service.
///
/// # Errors
/// Those of [`begin`].
pub(super) fn begin_pass(context: &Context<'_>, job: &Stored, kind: RunKind) -> Result<()> {
    let whose = if kind == RunKind::Full { "change" } else { "date" };
    begin_run(context, job, as_stored(job, kind), (By::Watch, whose)).map(drop)
}

fn as_stored(job: &Stored, mode: RunKind) -> StartJob {
    StartJob { job: job.name.clone(), mode, guard_off: false, accepts_devices: false, rereads: false }
}

/// The one place where runs are begun that nobody waits for.
fn begin_run(
    context: &Context<'_>,
    job: &Stored,
    start: StartJob,
    (by, whose): (By, &str),
) -> Result<Option<Synced>> {
    // A pass that was interrupted goes on as one: it looks at what is due, and not at everything.
    let goes_on = whose == INTERRUPTION && job.definition.schedule == Some(Schedule::Continuous);
    let of = if by == By::Watch || goes_on { Of::Pass } else { Of::Stored };
    let kind = start.kind(job);
    let request = SyncSource {
        root: job.root.clone(),
        name: Some(job.name.clone()),
        minimal: kind == RunKind::Minimal,
        guard_off: start.guard_off,
        accepts_devices: start.accepts_devices,
        rereads: start.rereads,
        advise: context.host.background().is_none(),
        ..SyncSource::default()
    };
    let Some(background) = context.host.background() else {
        return sync::run_job(context, Asked { places: Places::Any, of, by: whose }, request, &mut |_| {})
            .map(Some);
    };
    // Whoever asks is told now what the run would be refused for, such as a pause, or a repair that is under way.
    refuse_deleting(job)?;
    refuse_paused(job)?;
    // Kept until the run has ended: no repair comes between this answer and its beginning.
    let writes = context.host.write("start of a run")?;
    // From here on it can be stopped, and nobody begins another one.
    let announced = context.host.process().announce(job, &context.host.cancel())?;
    match by {
        By::Person => {
            context.engine(context.existing()?, Some(&writes), &[]).want_run(job, kind, start.rereads)?
        }
        By::Schedule => refuse_outdated(context, job)?,
        By::Watch => {}
    }
    let (id, whose) = (job.id, whose.to_owned());
    let work = move |context: &Context<'_>| {
        let ended =
            sync::run_job(context, Asked { places: Places::Any, of, by: &whose }, request, &mut |_| {});
        let stopped = announced.was_stopped();
        if let Err(problem) = &ended {
            if !stopped {
                note_refused(context, id, problem);
            }
            if by == By::Watch && !stopped && waits_for_somebody(problem) {
                context.host.process().put_off(id);
            }
            if by != By::Watch || stopped {
                take_back(context, &writes, id, problem, stopped)?;
            }
        }
        drop(announced);
        drop(writes);
        told(ended?)
    };
    let doing = match by {
        By::Watch => Doing::quiet(format!("pass of job {}", job.name)),
        By::Person | By::Schedule => Doing::told(format!("run of job {}", job.name)),
    };
    let begun = background.go(doing, Box::new(work));
    if let Err(problem) = &begun
        && by == By::Person
    {
        take_back(context, &context.host.write_beside("start of a run")?, id, problem, false)?;
    }
    begun.map(|()| None)
}

/// Whether a pass could not begin for somebody who is done soon, or who says when it goes on.
pub(super) fn waits_for_somebody(problem: &Problem) -> bool {
    matches!(problem.code, Code::Paused | Code::Running | Code::Stopped | Code::Outdated)
}

/// Whoever asks why nothing happens is told, until a run of the job has begun. What passes without anybody's doing is no reason.
pub(super) fn note_refused(context: &Context<'_>, job: JobId, problem: &Problem) {
    let passes =
        [Code::Paused, Code::Stopped, Code::Running, Code::Outdated, Code::Deleting, Code::NoSuchJob];
    if !passes.contains(&problem.code) {
        context.host.process().note_refused(job, &problem.to_string());
    }
}

/// What was due when somebody looked may have been done since, or is wanted no more. Asked once nobody else begins a run.
fn refuse_outdated(context: &Context<'_>, seen: &Stored) -> Result<()> {
    let facts = |job: &Stored| (job.run, job.state, job.restart, job.paused);
    let now = context.existing()?.read(|sql| jobs::get(sql, seen.id))?;
    if now.is_some_and(|now| facts(&now) == facts(seen)) {
        return Ok(());
    }
    Err(Problem::new(Code::Outdated, format!("job {} was changed since it was looked at", seen.name)))
}

/// What a run did, for the log.
fn told(synced: Synced) -> Result<String> {
    let did = format!("{} in {:.1} s", in_words::sentence(&synced.counts()), synced.line.seconds);
    match (synced.error, synced.stopped) {
        (Some(error), _) => Err(Problem::unable(format!("{error} ({did})"))),
        (None, true) => Ok(format!("stopped: {did}")),
        (None, false) => Ok(format!("ended: {did}")),
    }
}

/// A run could not begin that somebody may have asked for, or was `stopped` by somebody before it had: it is not wanted any more, unless it
/// begins by itself when a pause, other work on the job, or the end of the service is over.
fn take_back(
    context: &Context<'_>,
    writes: &Writing,
    job: JobId,
    problem: &Problem,
    stopped: bool,
) -> Result<()> {
    if !stopped && matches!(problem.code, Code::Paused | Code::Stopped | Code::Running) {
        return Ok(());
    }
    Ok(context.engine(context.existing()?, Some(writes), &[]).want_no_run(job, stopped)?)
}

fn abort(context: &Context<'_>, _: &Caller<'_>, request: AbortJob) -> Result<Aborted> {
    let reader = context.existing()?;
    let job = named(&reader, &request.job)?;
    if context.host.background().is_none()
        && let Some(holder) = context.host.holder()
    {
        let data = context.host.data().display();
        return Err(Problem::new(
            Code::Held,
            format!("{data} is being written by {holder}; ask that process to stop the job, or end it"),
        ));
    }
    let mut aborted = Aborted { stopping: false, rests: false, job: job.name.clone() };
    let process = context.host.process();
    let is_wanted = job.restart.is_some() || job.state != State::Resting;
    if is_wanted || process.works_on(job.id) {
        let writing = context.host.write_beside("job abort")?;
        let engine = context.engine(reader, Some(&writing), &[]);
        // One that has not begun is wanted no more.
        aborted.stopping = engine.abort_beginning(job.id)?;
        if aborted.stopping {
            return Ok(aborted);
        }
        let found = engine.abort(&job)?;
        aborted.stopping = found == engine::Aborted::Stopping;
        aborted.rests = found == engine::Aborted::Rests;
    }
    Ok(aborted)
}
