//! Status: for each job whether all is well, and what a person should do where it is not.

use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_store::jobs::{self, Job};
use ingather_store::{Reader, runs, states};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::jobs::of_runs;
use super::{Look, health, secrets};
use crate::context::{Caller, Context};
use crate::jobs::Run;
use crate::jobs::progress::DocumentStates;
use crate::jobs::schedule::ToldSchedule;
use crate::jobs::status::{Known, of};
use crate::operation::schema;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::page;
use crate::problem::Result;

const STATUS: &str = r#"{"jobs": [{"job": "share", "well": false, "state": "resting", "hold": "no run was asked for; its schedule starts it 2026-01-01 02:00:00 UTC", "paused": false,
    "documents": 1200, "states": {"waiting": 3, "settled": 1194, "failed": 3, "skipped": 0},
    "run": 7, "outcome": "done", "ended_at": 1767225600000, "next": 1767232800000,
    "unwatched": "is listed every 5 minutes instead of being watched: it has more than 3 folders", "needs": [{"check": "failed",
    "says": "job share: 3 documents failed", "advice": "`ingather document list share --state failed` lists them"}]}],
    "works": false, "next": "0a1b2c3d7368617265"}"#;

/// Whether all is well.
pub static STATUS_OF_JOBS: Answering<AskStatus, Status> = Answering {
    operation: Operation {
        name: "system.status",
        summary: "For each job whether all is well, what a person is needed for, and the next command.",
        request: Shape::of::<AskStatus>("AskStatus", &[r#"{"limit": 10}"#]),
        item: None,
        answer: Shape::of::<Status>("Status", &[STATUS]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/status"),
        words: Words::Are("status"),
        tool: true,
        problems: &[],
    },
    run: status,
};

/// Asks for the status of all jobs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskStatus {
    /// Jobs at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
    /// Where to begin: `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// The status of jobs, by name; a line each where lines are wanted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// The jobs.
    pub jobs: Vec<JobStatus>,
    /// Whether a process may be at work: a run that is under way in the inventory may be one whose process is gone.
    pub works: bool,
    /// Cursor of the next page; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The status of one job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobStatus {
    /// Its name.
    pub job: String,
    /// Nobody is needed.
    pub well: bool,
    /// Where it is in its life.
    #[schemars(schema_with = "schema::state")]
    pub state: State,
    /// Why it does not work now, and what to do; none: it works, or is about to.
    #[serde(default)]
    pub hold: Option<String>,
    /// A person has paused it.
    pub paused: bool,
    /// Documents in its inventory.
    pub documents: u64,
    /// How many of them are in which state.
    #[serde(default)]
    pub states: DocumentStates,
    /// Number of its last run; none before the first.
    pub run: Option<i64>,
    /// How that run ended; none while it is under way, or when its process died.
    #[schemars(schema_with = "schema::run_outcome")]
    pub outcome: Option<RunOutcome>,
    /// When the last one that ended did, milliseconds since 1970 UTC.
    pub ended_at: Option<i64>,
    /// When its schedule begins the next run; none where nothing does.
    pub next: Option<i64>,
    /// Why it is listed at intervals, where it is continuous and not watched, as far as whoever is asked works on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwatched: Option<String>,
    /// What a person is needed for.
    pub needs: Vec<Need>,
}

/// What a person is needed for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Need {
    /// Stable word, as `doctor` has it.
    pub check: String,
    /// What is the matter, in a sentence.
    pub says: String,
    /// What to do.
    pub advice: String,
}

fn status(context: &Context<'_>, _: &Caller<'_>, request: AskStatus) -> Result<Status> {
    let list = [STATUS_OF_JOBS.operation.name];
    let after = page::place(&list, request.cursor.as_deref())?.unwrap_or_default();
    let length = page::length(request.limit);
    // Of what is not there nothing is well: a monitor may look at the wrong place.
    let reader = context.existing()?;
    let (mut stored, known) = reader.read(|sql| {
        let stored = jobs::page(sql, &after, length + 1)?;
        let known = Known::of(sql, &stored)?;
        Ok((stored, known))
    })?;
    let more = stored.len() > length;
    stored.truncate(length);
    let next = stored.last().filter(|_| more).map(|last| page::cursor(&list, &last.name));
    let jobs = stored.into_iter().map(|job| of_job(context, &reader, job, &known)).collect::<Result<_>>()?;
    Ok(Status { jobs, works: context.may_work(), next })
}

fn of_job(context: &Context<'_>, reader: &Reader, job: Job, known: &Known) -> Result<JobStatus> {
    // What ends or begins while the inventory is read has been at work.
    let worked = context.works_on(job.id);
    // The one that is under way has not ended yet; the one before it has.
    let (counted, last) = reader.read(|sql| Ok((states::of(sql, job.id)?, runs::list(sql, job.id, 2)?)))?;
    let ended_at = last.iter().find_map(|run| run.ended_at);
    let begun = last.first().map(|run| run.started_at);
    let told =
        job.definition.schedule.as_ref().map(|schedule| ToldSchedule::of(schedule, begun, context.now()));
    let last_run = last.first().cloned().map(Run::from);
    let stands = of(context, reader, &job, last_run.as_ref(), (told.as_ref(), known))?;
    let mut looks = of_runs(context, reader, &job, context.host.holder().as_deref())?;
    let works = worked || context.works_on(job.id);
    looks.extend(secrets::of_job(&job));
    looks.extend(health::of_job(&known.ill, &job));
    if let Some(problem) = told.as_ref().and_then(|told| told.problem.clone()) {
        let advice = format!("change it with `ingather job define {} --update --schedule …`", job.root);
        looks.push(Look::bad("schedule", format!("job {}: {problem}", job.name), advice));
    }
    if job.state == State::Deleting {
        looks.clear();
        let advice = format!("`ingather job delete {}` goes on with it", job.name);
        if !works {
            looks.push(Look::bad(
                "deleting",
                format!("job {} is to be deleted, and nobody is at it", job.name),
                advice,
            ));
        }
    } else if job.paused {
        // What waits for a run waits for the person who has paused it.
        looks.retain(|look| look.check == "held");
        let advice = format!("`ingather job resume {}` lets it run", job.name);
        looks.push(Look::bad("paused", format!("job {} is paused", job.name), advice));
    }
    let needs: Vec<Need> = looks
        .into_iter()
        .filter(|look| !look.ok)
        .map(|look| Need { check: look.check.into_owned(), says: look.says, advice: look.advice })
        .collect();
    let run = last.into_iter().next();
    Ok(JobStatus {
        well: needs.is_empty(),
        state: stands.state,
        hold: stands.hold,
        paused: job.paused,
        documents: counted.documents,
        states: counted.into(),
        run: run.as_ref().map(|run| run.number),
        outcome: run.as_ref().and_then(|run| run.outcome),
        ended_at,
        next: told.and_then(|told| told.next.first().copied()).filter(|_| !job.paused),
        unwatched: context.host.process().unwatched(job.id),
        needs,
        job: job.name,
    })
}
