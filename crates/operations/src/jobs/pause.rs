//! A person pauses a job, and ends the pause.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{events, named};
use crate::context::{Caller, Context};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

/// Pauses a job.
pub static PAUSE: Answering<PauseJob, Paused> = Answering {
    operation: Operation {
        name: "jobs.pause",
        summary: "Pauses a job: a run that is under way rests once what it has begun is delivered, and no other one begins.",
        request: Shape::of::<PauseJob>("PauseJob", &[r#"{"job": "share"}"#]),
        item: None,
        answer: Shape::of::<Paused>("Paused", &[r#"{"job": "share", "paused": true, "heard": true}"#]),
        role: Role::Operator,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/jobs/{job}/pause"),
        words: Words::Are("job pause"),
        tool: false,
        problems: &[Code::NoSuchJob],
    },
    run: pause,
};

/// Ends the pause.
pub static RESUME: Answering<ResumeJob, Paused> = Answering {
    operation: Operation {
        name: "jobs.resume",
        summary: "Ends the pause of a job: its run goes on, and others begin again.",
        request: Shape::of::<ResumeJob>("ResumeJob", &[r#"{"job": "share"}"#]),
        item: None,
        answer: Shape::of::<Paused>("Paused", &[r#"{"job": "share", "paused": false, "heard": false}"#]),
        role: Role::Operator,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/jobs/{job}/resume"),
        words: Words::Are("job resume"),
        tool: false,
        problems: &[Code::NoSuchJob, Code::NotPaused],
    },
    run: resume,
};

/// Asks to pause a job; one that is paused stays so.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseJob {
    /// Name of the job.
    pub job: String,
}

/// Asks to end the pause of a job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeJob {
    /// Name of the job.
    pub job: String,
}

/// Whether a job is paused now.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Paused {
    /// Name of the job.
    pub job: String,
    /// It is paused.
    pub paused: bool,
    /// A run of it is under way, and rests or goes on by this.
    pub heard: bool,
}

fn pause(context: &Context<'_>, _: &Caller<'_>, request: PauseJob) -> Result<Paused> {
    set(context, &request.job, true)
}

fn resume(context: &Context<'_>, _: &Caller<'_>, request: ResumeJob) -> Result<Paused> {
    set(context, &request.job, false)
}

fn set(context: &Context<'_>, job: &str, paused: bool) -> Result<Paused> {
    let reader = context.existing()?;
    let job = named(&reader, job)?;
    if !paused && !job.paused {
        let name = &job.name;
        let sentence = format!(
            "job {name} is not paused; `ingather job show {name}` says why nothing happens, `ingather job start {name}` begins a run"
        );
        return Err(Problem::new(Code::NotPaused, sentence));
    }
    let writing = context.host.write_beside(if paused { "job pause" } else { "job resume" })?;
    let heard = context.engine(reader, Some(&writing), &[]).pause(job.id, paused)?;
    if job.paused != paused {
        events::paused(context, &job.name, paused);
    }
    Ok(Paused { job: job.name, paused, heard })
}
