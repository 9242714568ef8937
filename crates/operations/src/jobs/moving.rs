//! The source of a job is elsewhere now: renamed, or mounted in another place. Nothing is read or sent again for that (decision 0032).

use std::path::Path;

use ingather_contract::registry::Registry;
use ingather_contract::repository::HostContext;
use ingather_engine::Likeness;
use ingather_store::jobs::{self, Job};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::definition::wanted::{path_of, refuse_links};
use super::{named, refuse_deleting};
use crate::connections::{FILES, refuse_inside};
use crate::context::{Caller, Context, journals};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

/// The setting of a source that says where its addresses begin.
pub(crate) const ADDRESSES: &str = "addresses";

const MOVED: &str = r#"{"job": "share", "from": "/mnt/old", "root": "/mnt/new", "addresses": "/mnt/old", "documents": 1200,
    "same": 1190, "other": 6, "missing": 4, "new": 2, "whole": true, "alike": true, "dry_run": false}"#;

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
    /// Nothing was changed.
    pub dry_run: bool,
}

fn move_job(context: &Context<'_>, caller: &Caller<'_>, request: MoveJob) -> Result<Moved> {
    let reader = context.existing()?;
    let job = named(&reader, &request.job)?;
    refuse_deleting(&job)?;
    let path = path_of(&request.root)?;
    // First: what else is refused tells of what is there.
    caller.places.refuse_elsewhere(&path)?;
    refuse_inside(context.host.data(), &path)?;
    refuse_links(&path)?;
    if request.root == job.root {
        return Err(Problem::usage(format!("job {} has the root {} already", job.name, job.root)));
    }
    refuse_taken(&reader.read(jobs::list)?, &job, &request.root)?;
    let addresses = addresses_of(&job);
    let definition = with_root(&job, &request.root, &addresses)?;
    let engine = context.engine(reader.clone(), None, &journals(&job.definition));
    let there = Job { root: request.root.clone(), definition: definition.clone(), ..job.clone() };
    let source = engine.repository(&there)?;
    source.check(&context.call()).map_err(|fault| {
        Problem::new(Code::Source, format!("{}: {fault}; nothing was changed", request.root))
    })?;
    let found = engine.likeness(&job, &source)?;
    let missing = found.documents.saturating_sub(found.same + found.other);
    let moved = Moved {
        job: job.name.clone(),
        from: job.root.clone(),
        root: request.root.clone(),
        addresses,
        documents: found.documents,
        same: found.same,
        other: found.other,
        missing: found.is_whole.then_some(missing),
        new: found.new,
        whole: found.is_whole,
        alike: found.is_enough(),
        dry_run: request.dry_run,
    };
    if request.dry_run {
        return Ok(moved);
    }
    refuse_unlike(&job, &found, &request)?;
    let writing = context.host.write(&format!("move of {}", job.name))?;
    let engine = context.engine(reader, Some(&writing), &[]);
    if !engine.relocate(&job, &request.root, &definition)? {
        let sentence = format!("job {} was changed while its new root was looked at; ask again", job.name);
        return Err(Problem::new(Code::Outdated, sentence));
    }
    Ok(moved)
}

fn refuse_unlike(job: &Job, found: &Likeness, request: &MoveJob) -> Result<()> {
    let numbers = format!(
        "{} of {} known there are as they were ({} changed, {} not known)",
        found.same, found.documents, found.other, found.new
    );
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

/// One source is of one job, and addresses that outputs know as those of one job's documents are not given to another's.
pub(crate) fn refuse_taken(all: &[Job], job: &Job, root: &str) -> Result<()> {
    for other in all.iter().filter(|other| other.id != job.id) {
        if other.root == root {
            let sentence =
                format!("{root} is the source of job {}; delete that one, or let it be", other.name);
            return Err(Problem::new(Code::Definition, sentence));
        }
    }
    Ok(())
}

/// Refuses a new source at a place that outputs know as that of documents of a job which was moved away from there.
pub(crate) fn refuse_known_addresses(all: &[Job], root: &Path) -> Result<()> {
    for other in all {
        let Some(known) = other.definition.source.get(ADDRESSES).and_then(Value::as_str) else { continue };
        let known = path_of(known)?;
        if known.starts_with(root) || root.starts_with(&known) {
            let sentence = format!(
                "outputs hold documents of job {} by addresses below {}, from before it was moved to {}; delete that job first, or mount \
                 this source elsewhere",
                other.name,
                known.display(),
                other.root
            );
            return Err(Problem::new(Code::Definition, sentence));
        }
    }
    Ok(())
}

/// What addresses of a job's documents begin with.
pub(crate) fn addresses_of(job: &Job) -> String {
    job.definition.source.get(ADDRESSES).and_then(Value::as_str).unwrap_or(&job.root).to_owned()
}

/// An address as outputs know it, as it leads to a document of a moved job.
pub(crate) fn leading(registry: &Registry, job: &Job, uri: String) -> String {
    let Some(known) = job.definition.source.get(ADDRESSES).and_then(Value::as_str) else { return uri };
    let host = HostContext { own: Vec::new(), threads: 1 };
    // The address of a source itself, as its connector writes it.
    let begins = |root: &str| {
        let source = (registry.repository(FILES.0)?.open)(&json!({"root": root}), &host);
        source.ok().map(|source| source.uri(""))
    };
    let (Some(known), Some(root)) = (begins(known), begins(&job.root)) else { return uri };
    match uri.strip_prefix(known.trim_end_matches('/')) {
        Some(below) if below.is_empty() || below.starts_with(['/', '#']) => {
            format!("{}{below}", root.trim_end_matches('/'))
        }
        _ => uri,
    }
}

/// The same for a path as people read it.
pub(crate) fn leading_path(job: &Job, path: String) -> String {
    let known = job.definition.source.get(ADDRESSES).and_then(Value::as_str);
    let below = known.and_then(|known| path.strip_prefix(known.trim_end_matches('/')));
    match below.filter(|below| below.is_empty() || below.starts_with('/')) {
        Some(below) => format!("{}{below}", job.root.trim_end_matches('/')),
        None => path,
    }
}

fn with_root(job: &Job, root: &str, addresses: &str) -> Result<ingather_model::job::Definition> {
    let mut definition = job.definition.clone();
    let Some(source) = definition.source.as_object_mut() else {
        return Err(Problem::new(Code::Definition, format!("job {} has no settings of a source", job.name)));
    };
    source.insert("root".to_owned(), root.into());
    match root == addresses {
        true => drop(source.remove(ADDRESSES)),
        false => drop(source.insert(ADDRESSES.to_owned(), addresses.into())),
    }
    Ok(definition)
}
