//! Jobs: which there are, how their runs ended, what they hold, and their end.

mod by_schedule;
mod continuous;
pub(crate) mod define;
pub(crate) mod definition;
pub mod events;
mod examples;
pub mod figures;
mod held;
pub mod history;
pub(crate) mod moving;
pub mod notices;
mod pause;
mod removal;
mod resend;
mod restart;
pub mod schedule;
mod start;
pub(crate) mod status;
pub mod sync;

pub use by_schedule::BySchedule;
pub use define::{DEFINE, DefineJob, Defined};
pub use held::{HELD, HeldCause, HeldJob, HeldRemoval, HeldRemovals};
pub use history::HistoryWord;
pub use moving::{MOVE, MoveJob, Moved};
pub use start::{ABORT, AbortJob, Aborted, START, StartJob, Started, begin};
pub use status::progress;

pub use pause::{PAUSE, PauseJob, Paused, RESUME, ResumeJob};
pub use resend::{RESEND, Resend, Resent};
pub use restart::{RESET_SEEDING, RESTART, ResetSeeding, RestartJob, Restarted, SeedingReset};

pub use removal::{
    CONFIRM, ConfirmRemovals, DELETE, DeleteJob, Deleted, Deletion, DeletionCounts, Removals, RemovalsLine,
};

use ingather_model::job::{Definition, Keep, RunKind};
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::{GuardState, RunOutcome};
use ingather_model::lifecycle::projection::ManifoldJobState;
use ingather_model::limits;
use ingather_model::run_counts::RunCounts;
use ingather_store::jobs::Job as Stored;
use ingather_store::runs::{self, KnownBlindSpot};
use ingather_store::{Reader, jobs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Caller, Context};
use crate::operation::schema;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};
use crate::{in_words, page, secrets};
use schedule::ToldSchedule;
use status::Known;
use status::progress::{DocumentStates, RunProgress};

/// Jobs that are named to whoever asks for one that there is not.
const NAMED_MAX: usize = 20;

/// All jobs with their last run.
pub static LIST: Answering<ListJobs, JobList> = Answering {
    operation: Operation {
        name: "jobs.list",
        summary: "All jobs with their last run.",
        request: Shape::of::<ListJobs>("ListJobs", &[r#"{"limit": 10}"#]),
        item: None,
        answer: Shape::of::<JobList>("JobList", &[examples::LIST]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/jobs"),
        words: Words::Are("job list"),
        tool: true,
        problems: &[],
    },
    run: list,
};

/// One job in full.
pub static SHOW: Answering<ShowJob, ShownJob> = Answering {
    operation: Operation {
        name: "jobs.show",
        summary: "One job in full.",
        request: Shape::of::<ShowJob>("ShowJob", &[r#"{"job": "share"}"#]),
        item: None,
        answer: Shape::of::<ShownJob>("ShownJob", &[examples::SHOWN]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/jobs/{job}"),
        words: Words::Are("job show"),
        tool: true,
        problems: &[Code::NoSuchJob],
    },
    run: show,
};

/// The runs of a job, newest first.
pub static RUNS: Answering<ListRuns, RunList> = Answering {
    operation: Operation {
        name: "jobs.runs",
        summary: "The runs of a job, newest first.",
        request: Shape::of::<ListRuns>("ListRuns", &[r#"{"job": "share", "limit": 20}"#]),
        item: None,
        answer: Shape::of::<RunList>("RunList", &[examples::RUNS]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/jobs/{job}/runs"),
        words: Words::Are("job runs"),
        tool: true,
        problems: &[Code::NoSuchJob],
    },
    run: list_runs,
};

/// Asks for all jobs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListJobs {
    /// Jobs at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
    /// Where to begin: `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// Asks for one job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowJob {
    /// Its name.
    pub job: String,
}

/// Asks for the runs of a job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRuns {
    /// Name of the job.
    pub job: String,
    /// Runs at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
    /// Where to begin: `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// All jobs, by name; a line each where lines are wanted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobList {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Whether there is an inventory at all.
    pub begun: bool,
    /// Whether a process may be at work: a run that is under way in the inventory may be one whose process is gone.
    pub works: bool,
    /// Cursor of the next page; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A job and its last run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Its name.
    pub job: String,
    /// Where it is in its life.
    #[schemars(schema_with = "schema::state")]
    pub state: State,
    /// Why it does not work now, and what to do, in a sentence; none: it works, or is about to.
    #[serde(default)]
    pub hold: Option<String>,
    /// Its state by the names of ManifoldCF, as far as whoever was asked can tell.
    #[serde(default)]
    #[schemars(schema_with = "schema::manifold_state")]
    pub manifold_state: Option<ManifoldJobState>,
    /// Documents in its inventory.
    pub documents: u64,
    /// How many of them are in which state.
    #[serde(default)]
    pub states: DocumentStates,
    /// How far its run has come that is under way, where whoever was asked works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<RunProgress>,
    /// Canonical root of its source.
    pub root: String,
    /// Outputs that it sends to.
    pub outputs: Vec<String>,
    /// What is kept beside the inventory.
    pub keep: KeepWord,
    /// Its definition, without secrets.
    #[schemars(schema_with = "schema::object")]
    pub definition: Definition,
    /// Why its last run ended early.
    pub error: Option<String>,
    /// Its last run.
    pub run: Option<Run>,
    /// When it runs by itself, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ToldSchedule>,
    /// A person has paused it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// The kind of the run that a person wants in place of the one that stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::run_kind")]
    pub restart: Option<RunKind>,
    /// The next run is a full one, and reads every document again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rereads: bool,
}

/// A job in full.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ShownJob {
    /// The job.
    #[serde(flatten)]
    pub job: Job,
    /// Whether a process may be at work on it: a run that is under way in the inventory may be one whose process is gone.
    pub works: bool,
    /// What its last run could not read.
    pub blind: Vec<BlindSpot>,
}

/// A scope that a run could not read.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BlindSpot {
    /// The scope.
    pub scope: String,
    /// Stable word.
    pub cause: String,
    /// Sentence for a person.
    pub message: String,
}

impl From<KnownBlindSpot> for BlindSpot {
    fn from(spot: KnownBlindSpot) -> BlindSpot {
        let KnownBlindSpot { scope, cause, message } = spot;
        BlindSpot { scope, cause, message }
    }
}

/// What a job keeps beside the inventory, as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeepWord {
    /// What is read out of each document.
    Extracted,
    /// Nothing; what was kept is forgotten.
    Nothing,
}

impl KeepWord {
    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            KeepWord::Extracted => "extracted",
            KeepWord::Nothing => "nothing",
        }
    }
}

impl From<Keep> for KeepWord {
    fn from(keep: Keep) -> KeepWord {
        match keep {
            Keep::Extracted => KeepWord::Extracted,
            Keep::Nothing => KeepWord::Nothing,
        }
    }
}

/// The runs of a job, newest first; a line each where lines are wanted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunList {
    /// The runs.
    pub runs: Vec<Run>,
    /// Cursor of the next page; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One run; times are milliseconds since 1970 UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its number in the job.
    pub run: i64,
    /// How it looked at its source.
    #[schemars(schema_with = "schema::run_kind")]
    pub kind: RunKind,
    /// When it began.
    pub started_at: i64,
    /// When its listing ended.
    pub listed_at: Option<i64>,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// How it ended; none while it is under way, or when its process died.
    #[schemars(schema_with = "schema::run_outcome")]
    pub outcome: Option<RunOutcome>,
    /// What became of removals that it held.
    #[schemars(schema_with = "schema::guard_state")]
    pub guard: Option<GuardState>,
    /// Its counters.
    #[schemars(schema_with = "schema::run_counts")]
    pub counts: RunCounts,
    /// Why it ended early.
    pub error: Option<String>,
    /// Who or what began it, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_by: Option<String>,
}

impl From<runs::Run> for Run {
    fn from(run: runs::Run) -> Run {
        Run {
            run: run.number,
            kind: run.kind,
            started_at: run.started_at,
            listed_at: run.listed_at,
            ended_at: run.ended_at,
            outcome: run.outcome,
            guard: run.guard,
            counts: run
                .counts
                .as_deref()
                .and_then(|text| serde_json::from_str(text).ok())
                .unwrap_or_default(),
            error: run.error,
            begun_by: run.begun_by.filter(|by| !by.is_empty()),
        }
    }
}

fn list(context: &Context<'_>, _: &Caller<'_>, request: ListJobs) -> Result<JobList> {
    let of = [LIST.operation.name];
    let after = page::place(&of, request.cursor.as_deref())?.unwrap_or_default();
    let length = page::length(request.limit);
    let Some(reader) = context.host.reader()? else {
        return Ok(JobList { jobs: Vec::new(), begun: false, works: false, next: None });
    };
    let (mut stored, known) = reader.read(|sql| {
        let stored = jobs::page(sql, &after, length + 1)?;
        let known = Known::of(sql, &stored)?;
        Ok((stored, known))
    })?;
    let more = stored.len() > length;
    stored.truncate(length);
    let next = stored.last().filter(|_| more).map(|last| page::cursor(&of, &last.name));
    let jobs =
        stored.into_iter().map(|stored| job(context, &reader, stored, &known)).collect::<Result<_>>()?;
    Ok(JobList { jobs, begun: true, works: context.may_work(), next })
}

fn show(context: &Context<'_>, _: &Caller<'_>, request: ShowJob) -> Result<ShownJob> {
    let reader = context.existing()?;
    let stored = named(&reader, &request.job)?;
    let id = stored.id;
    // What ends or begins while the inventory is read has been at work.
    let worked = context.works_on(id);
    let known = reader.read(|sql| Known::of(sql, std::slice::from_ref(&stored)))?;
    let job = job(context, &reader, stored, &known)?;
    let blind = match &job.run {
        Some(run) => reader.read(|sql| runs::blind_spots(sql, id, run.run))?,
        None => Vec::new(),
    };
    let works = worked || context.works_on(id);
    Ok(ShownJob { job, works, blind: blind.into_iter().map(BlindSpot::from).collect() })
}

fn list_runs(context: &Context<'_>, _: &Caller<'_>, request: ListRuns) -> Result<RunList> {
    let reader = context.existing()?;
    let job = named(&reader, &request.job)?;
    let of = [RUNS.operation.name, &job.name];
    let before = page::number(&of, request.cursor.as_deref())?.unwrap_or(i64::MAX);
    // There are few of them: those that are kept.
    let kept = usize::try_from(limits::RUNS_KEPT).unwrap_or(usize::MAX);
    let mut found = reader.read(|sql| runs::list(sql, job.id, kept))?;
    found.retain(|run| run.number < before);
    let more = found.len() > page::length(request.limit);
    found.truncate(page::length(request.limit));
    let next = found.last().filter(|_| more).map(|last| page::cursor(&of, &last.number.to_string()));
    Ok(RunList { runs: found.into_iter().map(Run::from).collect(), next })
}

fn job(context: &Context<'_>, reader: &Reader, stored: Stored, known: &Known) -> Result<Job> {
    let counted = known.states_of(stored.id);
    let last = known.last.get(&stored.id);
    let begun = last.map(|run| run.started_at);
    let unwatched = context.host.process().unwatched(stored.id);
    let told = |schedule| ToldSchedule { unwatched, ..ToldSchedule::of(schedule, begun, context.now()) };
    let schedule = stored.definition.schedule.as_ref().map(told);
    let run = last.cloned().map(Run::from);
    let status = status::of(context, reader, &stored, run.as_ref(), (schedule.as_ref(), known))?;
    Ok(Job {
        hold: status.hold,
        manifold_state: status.manifold,
        job: stored.name,
        state: status.state,
        documents: counted.documents,
        states: counted.into(),
        progress: status.progress,
        root: stored.root,
        outputs: stored.definition.outputs.clone(),
        keep: stored.definition.keep.into(),
        schedule,
        paused: stored.paused,
        restart: stored.restart,
        rereads: stored.rereads > 0,
        definition: secrets::hidden_in(&context.registry, stored.connector.as_deref(), stored.definition),
        error: stored.error,
        run,
    })
}

/// What is another one whenever the definition of a job is, and for each job that ever had its name.
///
/// # Errors
/// `NoSuchJob`.
pub fn tag(context: &Context<'_>, name: &str) -> Result<String> {
    let job = named(&context.existing()?, name)?;
    Ok(format!("{}.{}", job.id.0, job.revision))
}

/// The job of that name, or the sentence that lists those there are.
pub fn named(reader: &Reader, name: &str) -> Result<Stored> {
    if let Some(job) = reader.read(|sql| jobs::by_name(sql, name))? {
        return Ok(job);
    }
    let names: Vec<String> =
        reader.read(jobs::names)?.into_iter().map(|(_, name)| name).take(NAMED_MAX).collect();
    Err(Problem::new(
        Code::NoSuchJob,
        match names.is_empty() {
            true => format!("there is no job `{name}`; begin with `ingather sync FOLDER`"),
            false => format!("there is no job `{name}`; there is {}", names.join(", ")),
        },
    ))
}

/// Nothing is wanted any more of a job that goes.
pub(crate) fn refuse_deleting(job: &Stored) -> Result<()> {
    if job.state != State::Deleting {
        return Ok(());
    }
    let name = &job.name;
    let sentence = format!("job {name} is being deleted; `ingather job delete {name}` goes on with it");
    Err(Problem::new(Code::Deleting, sentence))
}

/// Documents of a job that an output lost, and that no search finds until its own next run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Resends {
    /// The sentence.
    pub sentence: String,
    /// The source whose sync sends them.
    pub root: String,
}

/// Jobs with such documents, but for the one that `done` had its run.
pub fn resends(reader: &Reader, done: Option<ingather_model::ids::JobId>) -> Result<Vec<Resends>> {
    let mut found = Vec::new();
    for job in reader.read(jobs::list)?.into_iter().filter(|job| Some(job.id) != done) {
        let waits = ingather_engine::jobs::resends(reader, &job)?;
        if let Some(sentence) = resends_in_words(&job, waits) {
            found.push(Resends { sentence, root: job.root });
        }
    }
    Ok(found)
}

/// The sentence for documents that wait to be sent again; none when there are none.
pub fn resends_in_words(job: &Stored, waits: u64) -> Option<String> {
    let more = if waits >= limits::RESENDS_COUNTED_MAX as u64 { "at least " } else { "" };
    (waits > 0).then(|| {
        format!(
            "job {}: {more}{} {} still to be sent again, and may not be found before",
            job.name,
            ingather_model::run_counts::counted(waits, "document"),
            in_words::are(waits)
        )
    })
}
