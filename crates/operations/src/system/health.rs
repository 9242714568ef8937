//! Outputs that do not take what they are sent (decision 0059): what people are told of them, and trying those that are away.

use ingather_model::lifecycle::outcome::OutputHealth;
use ingather_store::connections::Ill;
use ingather_store::jobs::Job;

use super::Look;
use crate::context::Context;
use crate::in_words::time;
use crate::problem::Result;

/// Those that a job sends to, of all that are away or damaged.
pub(super) fn of_job(ill: &[Ill], job: &Job) -> Vec<Look> {
    let of_job = ill.iter().filter(|one| job.definition.outputs.contains(&one.name));
    let look = |one: &Ill| {
        let (name, health) = (&one.name, &one.health);
        let (is, advice) = match health.state {
            OutputHealth::Corrupt => (
                "is corrupt since",
                format!("`ingather verify {name} --repair` makes it anew, and everything is sent again"),
            ),
            OutputHealth::Healthy | OutputHealth::Unavailable => (
                "is unavailable since",
                "`ingather doctor` looks at it now; a service tries it again by itself, and what waits is delivered when it is back".to_owned(),
            ),
        };
        let says = format!("job {}: output {name} {is} {}: {}", job.name, time(health.since), health.why);
        Look::bad("output", says, advice)
    };
    of_job.map(look).collect()
}

/// Outputs that are away and whose turn it is to be tried: each is tried by [`probe_output`]; and when the next one is to be, milliseconds
/// since 1970 UTC.
///
/// # Errors
/// What the store says.
pub fn probes_due(context: &Context<'_>) -> Result<(Vec<Ill>, Option<i64>)> {
    match context.host.reader()? {
        Some(reader) => Ok(context.engine(reader, None, &[]).probes_due()?),
        None => Ok((Vec::new(), None)),
    }
}

/// Tries whether an output that is away can be opened again; whether it can.
///
/// # Errors
/// What hinders the write; what the output says is no error.
pub fn probe_output(context: &Context<'_>, output: &Ill) -> Result<bool> {
    let reader = context.existing()?;
    let writing = context.host.write_beside("health of outputs")?;
    Ok(context.engine(reader, Some(&writing), &[]).probe_output(output)?)
}
