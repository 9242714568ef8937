//! A person wants a run from its beginning, in place of the one that is under way; and a run that trusts no version.

use ingather_engine::Met;
use ingather_model::job::RunKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named;
use super::start::{begin_asked, full, kind_of, refuse_paused};
use super::sync::Synced;
use crate::context::{Caller, Context};
use crate::operation::schema;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Result};

const STOPPING: &str = r#"{"job": "share", "mode": "full", "stopping": true}"#;
const ENDED: &str = r#"{"job": "share", "mode": "full", "stopping": false, "ended": {"job": "share", "run": 7, "seen": 1200, "added": 1,
    "updated": 2, "access": 0, "unchanged": 1197, "skipped": 0, "failed": 0, "waiting": 0, "deleted": 3, "kept": 4, "held": 0,
    "blind": [], "seconds": 1.25, "partial": 0, "root": "/srv/share", "outputs": ["index"], "stopped": false, "error": null,
    "unread": [], "notes": [], "resends": [], "overlaps": []}}"#;

/// Stops the run of a job and begins another one.
pub static RESTART: Answering<RestartJob, Restarted> = Answering {
    operation: Operation {
        name: "jobs.restart",
        summary: "Stops the run of a job that is under way at its next safe place, and begins another one at once; at rest it begins one.",
        request: Shape::of::<RestartJob>("RestartJob", &[r#"{"job": "share", "mode": "minimal"}"#]),
        item: None,
        answer: Shape::of::<Restarted>("Restarted", &[STOPPING, ENDED]),
        role: Role::Operator,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/jobs/{job}/restart"),
        words: Words::Are("job restart"),
        tool: false,
        problems: super::START.operation.problems,
    },
    run: restart,
};

/// Has the next run trust no version.
pub static RESET_SEEDING: Answering<ResetSeeding, SeedingReset> = Answering {
    operation: Operation {
        name: "jobs.reset_seeding",
        summary: "Has the next run of a job be a full one that reads every document again, whatever its version says.",
        request: Shape::of::<ResetSeeding>("ResetSeeding", &[r#"{"job": "share", "dry_run": true}"#]),
        item: None,
        answer: Shape::of::<SeedingReset>(
            "SeedingReset",
            &[r#"{"job": "share", "documents": 1200, "under_way": false, "dry_run": true}"#],
        ),
        role: Role::Operator,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/jobs/{job}/reset-seeding"),
        words: Words::Are("job reset-seeding"),
        tool: false,
        problems: &[Code::NoSuchJob, Code::Deleting],
    },
    run: reset_seeding,
};

/// Asks for a run in place of the one that is under way.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestartJob {
    /// Name of the job.
    pub job: String,
    /// `full`, or `minimal`: only what is new or changed, and nothing is removed.
    #[serde(default = "full")]
    #[schemars(schema_with = "schema::run_kind")]
    pub mode: RunKind,
}

/// What was begun, or begins.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Restarted {
    /// Name of the job.
    pub job: String,
    /// How the run looks at its source.
    #[schemars(schema_with = "schema::run_kind")]
    pub mode: RunKind,
    /// A run is under way, and stops at its next safe place; then the other one begins, once, however many have asked.
    pub stopping: bool,
    /// What the run did; none where it goes on after this answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Box<Synced>>,
}

/// Asks that the next run trusts no version.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetSeeding {
    /// Name of the job.
    pub job: String,
    /// Say what it leads to, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What the next run does because of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SeedingReset {
    /// Name of the job.
    pub job: String,
    /// Documents of its inventory: as many are read again.
    pub documents: u64,
    /// A run is under way, and goes on as it was begun: it is the one behind it that reads them.
    pub under_way: bool,
    /// Nothing was changed.
    pub dry_run: bool,
}

fn restart(context: &Context<'_>, caller: &Caller<'_>, request: RestartJob) -> Result<Restarted> {
    let reader = context.existing()?;
    let job = named(&reader, &request.job)?;
    let mode = kind_of(&job, request.mode);
    if context.host.background().is_some() {
        super::refuse_deleting(&job)?;
        refuse_paused(&job)?;
        let writing = context.host.write("restart of a run")?;
        if context.engine(reader, Some(&writing), &[]).restart(&job, mode)? == Met::Run {
            return Ok(Restarted { job: job.name, mode, stopping: true, ended: None });
        }
    }
    match begin_asked(context, &job, request.mode, caller.name) {
        // Somebody else has begun it since, which comes to the same.
        Err(problem) if problem.code == Code::Running && context.host.process().works_on(job.id) => {
            Ok(Restarted { job: job.name, mode, stopping: false, ended: None })
        }
        begun => Ok(Restarted { job: job.name, mode, stopping: false, ended: begun?.map(Box::new) }),
    }
}

fn reset_seeding(context: &Context<'_>, _: &Caller<'_>, request: ResetSeeding) -> Result<SeedingReset> {
    let reader = context.existing()?;
    let job = named(&reader, &request.job)?;
    super::refuse_deleting(&job)?;
    let documents = reader.read(|sql| ingather_store::documents::total(sql, job.id))?;
    if !request.dry_run {
        let writing = context.host.write_beside("job reset-seeding")?;
        context.engine(reader, Some(&writing), &[]).reset_seeding(job.id)?;
    }
    let under_way = context.host.process().works_on(job.id);
    Ok(SeedingReset { job: job.name, documents, under_way, dry_run: request.dry_run })
}
