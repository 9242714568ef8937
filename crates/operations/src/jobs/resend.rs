//! A person wants outputs to be sent again what they hold of a job.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{named, refuse_deleting};
use crate::context::{Caller, Context};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Result};

/// Has the next run send again what outputs hold of a job.
pub static RESEND: Answering<Resend, Resent> = Answering {
    operation: Operation {
        name: "jobs.resend",
        summary: "Has the next run of a job send again all that its outputs hold, or one of them, from kept text where nothing has changed; nothing is removed for it.",
        request: Shape::of::<Resend>("Resend", &[r#"{"job": "share", "output": "index", "dry_run": true}"#]),
        item: None,
        answer: Shape::of::<Resent>(
            "Resent",
            &[r#"{"job": "share", "documents": 1200, "outputs": ["index"], "dry_run": true}"#],
        ),
        role: Role::Operator,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/jobs/{job}/resend"),
        words: Words::Are("job resend"),
        tool: false,
        problems: &[Code::NoSuchJob, Code::NoSuchOutput, Code::Deleting],
    },
    run: resend,
};

/// Asks to send again what outputs hold.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resend {
    /// Name of the job.
    pub job: String,
    /// The output; none: all of them.
    #[serde(default)]
    pub output: Option<String>,
    /// Count what is sent again, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What the next run sends again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Resent {
    /// Name of the job.
    pub job: String,
    /// Documents, each counted once for each output.
    pub documents: u64,
    /// The outputs.
    pub outputs: Vec<String>,
    /// Nothing was changed.
    pub dry_run: bool,
}

fn resend(context: &Context<'_>, _: &Caller<'_>, request: Resend) -> Result<Resent> {
    let Resend { job, output, dry_run } = request;
    let reader = context.existing()?;
    let job = named(&reader, &job)?;
    refuse_deleting(&job)?;
    let documents = if dry_run {
        context.engine(reader, None, &[]).to_resend(&job, output.as_deref())?
    } else {
        let writing = context.host.write(&format!("resend of {}", job.name))?;
        context.engine(writing.store.reader().clone(), Some(&writing), &[]).resend(&job, output.as_deref())?
    };
    let outputs = output.map_or_else(|| job.definition.outputs.clone(), |output| vec![output]);
    Ok(Resent { job: job.name, documents, outputs, dry_run })
}
