//! Removals that the delete guard holds, each with what one look at its place tells of it now.

use ingather_contract::repository::Presence;
use ingather_engine::jobs::Held;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named;
use crate::context::{Caller, Context};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::page;
use crate::problem::{Code, Result};

const REMOVALS: &str = r#"{"removals": [{"job": "share", "run": 7, "document": "a.txt", "cause": "absent"}], "job": "share",
    "run": 7, "total": 40, "next": "0a1b2c3d31"}"#;

/// Removals that the last run of a job holds.
pub static HELD: Answering<HeldJob, HeldRemovals> = Answering {
    operation: Operation {
        name: "jobs.held",
        summary: "Removals that the last run of a job holds, each with its cause.",
        request: Shape::of::<HeldJob>("HeldJob", &[r#"{"job": "share", "limit": 100}"#]),
        item: None,
        answer: Shape::of::<HeldRemovals>("HeldRemovals", &[REMOVALS]),
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
    /// Removals at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
    /// Where to begin: `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// A removal that waits for a person.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// Removals that are held, in no order of their names, and how many there are in all.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HeldRemovals {
    /// Those of this page.
    pub removals: Vec<HeldRemoval>,
    /// Name of the job.
    pub job: String,
    /// Number of the run that holds them: what a confirmation names.
    pub run: i64,
    /// How many.
    pub total: u64,
    /// Cursor of the next page; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

fn held(context: &Context<'_>, _: &Caller<'_>, request: HeldJob) -> Result<HeldRemovals> {
    let reader = context.existing()?;
    let job = named(&reader, &request.job)?;
    let engine = context.engine(reader, None, &[]);
    let of = [HELD.operation.name, &job.name];
    let after = page::number(&of, request.cursor.as_deref())?.unwrap_or(0);
    let page = engine.held(&job, after, page::length(request.limit))?;
    // A source that cannot be asked now hides no list.
    let repository = engine.repository(&job).ok();
    let removal = |held: Held| {
        let presence = repository.as_ref().map(|repository| repository.probe(&context.call(), &held.name));
        let cause = presence.unwrap_or(Presence::Unknown).into();
        HeldRemoval { job: job.name.clone(), run: job.run, document: held.name, cause }
    };
    Ok(HeldRemovals {
        removals: page.held.into_iter().map(removal).collect(),
        run: job.run,
        total: page.total,
        next: page.next.map(|last| page::cursor(&of, &last.to_string())),
        job: job.name.clone(),
    })
}
