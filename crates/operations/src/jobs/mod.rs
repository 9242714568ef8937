//! Jobs: which there are, how their runs ended, what they hold, and their end.

mod held;
mod removal;
pub mod sync;

pub use held::{HELD, HeldCause, HeldJob, HeldRemoval, HeldRemovals};
pub use removal::{CONFIRM, ConfirmRemovals, DELETE, DeleteJob, Deleted, Deletion, DeletionCounts, Removals};

use ingather_model::job::{Definition, Keep, RunKind};
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::{GuardState, RunOutcome};
use ingather_model::limits;
use ingather_model::run_counts::RunCounts;
use ingather_store::jobs::Job as Stored;
use ingather_store::runs::{self, KnownBlindSpot};
use ingather_store::{Reader, documents, jobs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Caller, Context};
use crate::operation::schema;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};
use crate::{in_words, secrets};

/// Jobs that are named to whoever asks for one that there is not.
const NAMED_MAX: usize = 20;

/// All jobs with their last run.
pub static LIST: Answering<ListJobs, JobList> = Answering {
    operation: Operation {
        name: "jobs.list",
        summary: "All jobs with their last run.",
        request: Shape::read::<ListJobs>("ListJobs"),
        item: None,
        answer: Shape::written::<JobList>("JobList"),
        example: "{}",
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
pub static SHOW: Answering<ShowJob, Job> = Answering {
    operation: Operation {
        name: "jobs.show",
        summary: "One job in full.",
        request: Shape::read::<ShowJob>("ShowJob"),
        item: None,
        answer: Shape::written::<Job>("Job"),
        example: r#"{"job": "share"}"#,
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
        request: Shape::read::<ListRuns>("ListRuns"),
        item: None,
        answer: Shape::written::<RunList>("RunList"),
        example: r#"{"job": "share", "limit": 20}"#,
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
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListJobs {}

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
    /// Runs at most.
    pub limit: u32,
}

/// All jobs, by name; a line each where lines are wanted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct JobList {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// Whether there is an inventory at all.
    pub begun: bool,
}

/// A job and its last run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Job {
    /// Its name.
    pub job: String,
    /// Where it is in its life.
    #[schemars(schema_with = "schema::state")]
    pub state: State,
    /// Documents in its inventory.
    pub documents: u64,
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
    /// Whether a process may be at work on it; for sentences about its state.
    #[serde(skip)]
    pub works: bool,
    /// What its last run could not read, when one job was asked for.
    #[serde(skip)]
    pub blind: Vec<KnownBlindSpot>,
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
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunList {
    /// The runs.
    pub runs: Vec<Run>,
}

/// One run; times are milliseconds since 1970 UTC.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
        }
    }
}

fn list(context: &Context<'_>, _: &Caller<'_>, _: ListJobs) -> Result<JobList> {
    let Some(reader) = context.host.reader()? else {
        return Ok(JobList { jobs: Vec::new(), begun: false });
    };
    let works = context.may_work();
    let stored = reader.read(jobs::list)?.into_iter();
    let jobs = stored.map(|stored| job(context, &reader, stored, works)).collect::<Result<_>>()?;
    Ok(JobList { jobs, begun: true })
}

fn show(context: &Context<'_>, _: &Caller<'_>, request: ShowJob) -> Result<Job> {
    let reader = context.existing()?;
    let stored = named(&reader, &request.job)?;
    let id = stored.id;
    let mut shown = job(context, &reader, stored, context.may_work())?;
    if let Some(run) = &shown.run {
        shown.blind = reader.read(|sql| runs::blind_spots(sql, id, run.run))?;
    }
    Ok(shown)
}

fn list_runs(context: &Context<'_>, _: &Caller<'_>, request: ListRuns) -> Result<RunList> {
    let reader = context.existing()?;
    let job = named(&reader, &request.job)?;
    let most = request.limit.min(u32::try_from(limits::RUNS_KEPT).unwrap_or(u32::MAX)) as usize;
    let found = reader.read(|sql| runs::list(sql, job.id, most))?;
    Ok(RunList { runs: found.into_iter().map(Run::from).collect() })
}

fn job(context: &Context<'_>, reader: &Reader, stored: Stored, works: bool) -> Result<Job> {
    let (documents, last) =
        reader.read(|sql| Ok((documents::total(sql, stored.id)?, runs::list(sql, stored.id, 1)?)))?;
    Ok(Job {
        job: stored.name,
        state: stored.state,
        documents,
        root: stored.root,
        outputs: stored.definition.outputs.clone(),
        keep: stored.definition.keep.into(),
        definition: secrets::hidden_in(&context.registry, stored.connector.as_deref(), stored.definition),
        error: stored.error,
        run: last.into_iter().next().map(Run::from),
        works,
        blind: Vec::new(),
    })
}

/// The job of that name, or the sentence that lists those there are.
pub fn named(reader: &Reader, name: &str) -> Result<Stored> {
    if let Some(job) = reader.read(|sql| jobs::by_name(sql, name))? {
        return Ok(job);
    }
    let names: Vec<String> =
        reader.read(jobs::list)?.into_iter().map(|job| job.name).take(NAMED_MAX).collect();
    Err(Problem::new(
        Code::NoSuchJob,
        match names.is_empty() {
            true => format!("there is no job `{name}`; begin with `ingather sync FOLDER`"),
            false => format!("there is no job `{name}`; there is {}", names.join(", ")),
        },
    ))
}

/// Documents of a job that an output lost, and that no search finds until its own next run.
#[derive(Clone, Debug)]
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
