//! The source of a job is elsewhere now: renamed, or mounted in another place. Nothing is read or sent again for that (decision 0032).

pub(crate) mod addresses;
mod together;

use ingather_engine::{Likeness, Relocation};
use ingather_store::Reader;
use ingather_store::jobs::{self, Job};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use self::addresses::{leading, leading_path, places};
use super::definition::allowed::refuse_links;
use super::definition::wanted::path_of;
use super::named;
use crate::connections::{Sources, refuse_inside};
use crate::context::{Caller, Context, journals};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

const MOVED: &str = r#"{"job": "share", "from": "/mnt/old", "root": "/mnt/new", "addresses": "/mnt/old", "documents": 1200,
    "same": 1190, "other": 6, "missing": 4, "new": 2, "whole": true, "alike": true, "along": ["plans"],
    "dry_run": false}"#;

/// Gives a job another root.
pub static MOVE: Answering<MoveJob, Moved> = Answering {
    operation: Operation {
        name: "jobs.move",
        summary: "Gives a job another root, where its source was renamed or is mounted elsewhere; nothing is read or sent again.",
        request: Shape::of::<MoveJob>(
            "MoveJob",
            &[r#"{"job": "share", "root": "/mnt/new", "anyway": 12, "dry_run": true}"#],
        ),
        item: None,
        answer: Shape::of::<Moved>("Moved", &[MOVED]),
        role: Role::Admin,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/jobs/{job}/move"),
        words: Words::Are("job move"),
        tool: false,
        problems: &[
            Code::NoSuchJob,
            Code::NoSuchConnector,
            Code::OutsideRoots,
            Code::Outdated,
            Code::Definition,
            Code::Source,
            Code::Connector,
            Code::Deleting,
        ],
    },
    run: move_job,
};

/// Asks to give a job another root.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveJob {
    /// Name of the job.
    pub job: String,
    /// Where its source is now, an absolute path without links.
    pub root: String,
    /// Also where less than nine of ten documents are there as they were: how many are, as a dry run has said.
    #[serde(default)]
    pub anyway: Option<u64>,
    /// Only compare, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What is at the new root, and whether the job has it now.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    /// Name of the job.
    pub job: String,
    /// Its root before.
    pub from: String,
    /// The new one.
    pub root: String,
    /// What addresses of its documents begin with in outputs, as they were told first.
    pub addresses: String,
    /// Documents that are known.
    pub documents: u64,
    /// Found there as they were: neither read nor sent again.
    pub same: u64,
    /// Found there and changed since: the next run reads them.
    pub other: u64,
    /// Known, and not found there; where not all was looked at, nobody knows.
    pub missing: Option<u64>,
    /// Found there, and not known.
    pub new: u64,
    /// All of the source was looked at.
    pub whole: bool,
    /// So much of it is as it was that it is hardly another source.
    pub alike: bool,
    /// Jobs that are moved with it: their sources lie in this one, and outputs know them by addresses below those of this one.
    #[serde(default)]
    pub along: Vec<String>,
    /// Nothing was changed.
    pub dry_run: bool,
}

fn move_job(context: &Context<'_>, caller: &Caller<'_>, request: MoveJob) -> Result<Moved> {
    let reader = context.existing()?;
    let job = named(&reader, &request.job)?;
    if !Sources::of_root(&job.root).are_files() {
        return Err(Problem::usage(format!(
            "job {} reads {}, and only folders are moved; define a job for the other address, and delete this one",
            job.name, job.root
        )));
    }
    let path = path_of(&request.root)?;
    if !path.is_absolute() {
        let sentence = format!("the new root of a job is an absolute path, and {} is none", request.root);
        return Err(Problem::usage(sentence));
    }
    // First: what else is refused tells of what is there.
    caller.places.refuse_elsewhere(&path)?;
    refuse_inside(context.host.data(), &path)?;
    refuse_links(&path)?;
    if request.root == job.root {
        return Err(Problem::usage(format!("job {} has the root {} already", job.name, job.root)));
    }
    let moves = together::of(&context.registry, &reader.read(jobs::list)?, &job, &request.root)?;
    let found = likeness(context, &reader, &moves[0])?;
    for along in &moves[1..] {
        let lies_in = |why: String| {
            let sentence = format!(
                "job {} lies in {} and would be moved with it to {}: {why}; leave its folder out of job {} (--exclude), where it is to stay",
                along.job.name, job.root, along.root, job.name
            );
            Problem::new(Code::Source, sentence)
        };
        let found = likeness(context, &reader, along).map_err(|problem| lies_in(problem.to_string()))?;
        if !found.is_enough() {
            return Err(lies_in(numbers(&found)));
        }
    }
    let missing = found.documents.saturating_sub(found.same + found.other);
    let moved = Moved {
        job: job.name.clone(),
        from: job.root.clone(),
        root: request.root.clone(),
        addresses: addresses::addresses_of(&job).to_owned(),
        documents: found.documents,
        same: found.same,
        other: found.other,
        missing: found.is_whole.then_some(missing),
        new: found.new,
        whole: found.is_whole,
        alike: found.is_enough(),
        along: moves[1..].iter().map(|along| along.job.name.clone()).collect(),
        dry_run: request.dry_run,
    };
    if request.dry_run {
        return Ok(moved);
    }
    refuse_unlike(&job, &found, &request)?;
    let writing = context.host.write(&format!("move of {}", job.name))?;
    // To look may have taken long, and jobs may have come that are in the way.
    let still = together::of(&context.registry, &reader.read(jobs::list)?, &job, &request.root)?;
    let are_same = still.iter().map(|one| one.job.id).eq(moves.iter().map(|one| one.job.id));
    let engine = context.engine(reader, Some(&writing), &[]);
    if !are_same || !engine.relocate(&moves)? {
        let sentence = format!("job {} was changed while its new root was looked at; ask again", job.name);
        return Err(Problem::new(Code::Outdated, sentence));
    }
    Ok(moved)
}

/// How much what is at the new root is like what is known of the job.
fn likeness(context: &Context<'_>, reader: &Reader, moving: &Relocation) -> Result<Likeness> {
    let engine = context.engine(reader.clone(), None, &journals(&moving.job.definition));
    let source = engine.repository(&moving.there())?;
    source.check(&context.call()).map_err(|fault| {
        Problem::new(Code::Source, format!("{}: {fault}; nothing was changed", moving.root))
    })?;
    Ok(engine.likeness(&moving.job, &source)?)
}

fn numbers(found: &Likeness) -> String {
    format!(
        "{} of {} known there are as they were ({} changed, {} not known)",
        found.same, found.documents, found.other, found.new
    )
}

fn refuse_unlike(job: &Job, found: &Likeness, request: &MoveJob) -> Result<()> {
    let numbers = numbers(found);
    match request.anyway {
        Some(same) if same == found.same => Ok(()),
        Some(same) => Err(Problem::new(
            Code::Outdated,
            format!(
                "{numbers}, and not {same}: {} has changed since; look again with a dry run",
                request.root
            ),
        )),
        None if found.is_enough() => Ok(()),
        None => Err(Problem::new(
            Code::Source,
            format!(
                "{} does not look like the source of job {}: {numbers}; where it is meant all the same, name that number (--anyway {})",
                request.root, job.name, found.same
            ),
        )),
    }
}
