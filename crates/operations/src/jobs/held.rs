//! Removals that the delete guard holds, each with what one look at its place tells of it now.

use ingather_contract::repository::Presence;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named;
use crate::context::{Caller, Context};
use crate::operation::{Effect, Operation, Rest, Role, Shape, Streaming, Verb, Words};
use crate::problem::{Code, Result};

/// Removals that the last run of a job holds.
pub static HELD: Streaming<HeldJob, HeldRemoval, HeldRemovals> = Streaming {
    operation: Operation {
        name: "jobs.held",
        summary: "Removals that the last run of a job holds, each with its cause.",
        request: Shape::read::<HeldJob>("HeldJob"),
        item: Some(Shape::written::<HeldRemoval>("HeldRemoval")),
        answer: Shape::written::<HeldRemovals>("HeldRemovals"),
        example: r#"{"job": "share", "limit": 100}"#,
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/jobs/{job}/held"),
        words: Words::Are("job held"),
        tool: true,
        problems: &[Code::NoSuchJob],
    },
    run: held,
};

/// Asks for removals that are held.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeldJob {
    /// Name of the job.
    pub job: String,
    /// Names at most.
    pub limit: u32,
}

/// A removal that waits for a person.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeldRemoval {
    /// Name of the job.
    pub job: String,
    /// Number of the run that holds it.
    pub run: i64,
    /// Name of the document.
    pub document: String,
    /// Why it is held.
    pub cause: HeldCause,
}

/// Why a removal is held, as one look at its place tells it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeldCause {
    /// It is gone.
    Absent,
    /// A rule of the job leaves it out.
    Excluded,
    /// It is there again.
    Present,
    /// It could not be looked at.
    Unknown,
}

impl From<Presence> for HeldCause {
    fn from(presence: Presence) -> HeldCause {
        match presence {
            Presence::Absent => HeldCause::Absent,
            Presence::Excluded => HeldCause::Excluded,
            Presence::Present => HeldCause::Present,
            Presence::Unknown => HeldCause::Unknown,
        }
    }
}

/// How many removals are held in all.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeldRemovals {
    /// Name of the job.
    pub job: String,
    /// Number of the run that holds them: what a confirmation names.
    pub run: i64,
    /// How many.
    pub total: u64,
}

fn held(
    context: &Context<'_>,
    _: &Caller<'_>,
    request: HeldJob,
    each: &mut dyn FnMut(HeldRemoval),
) -> Result<HeldRemovals> {
    let reader = context.existing()?;
    let job = named(&reader, &request.job)?;
    let engine = context.engine(reader, None, &[]);
    let (total, mut names) = engine.held(&job, 0, request.limit as usize)?;
    names.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    // A source that cannot be asked now hides no list.
    let repository = engine.repository(&job).ok();
    for held in names {
        let presence = repository.as_ref().map(|repository| repository.probe(&context.call(), &held.name));
        let cause = presence.unwrap_or(Presence::Unknown).into();
        each(HeldRemoval { job: job.name.clone(), run: job.run, document: held.name, cause });
    }
    Ok(HeldRemovals { job: job.name, run: job.run, total })
}
