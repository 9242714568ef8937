//! Removals that a person asks for: those that a run holds, and all of a job that goes.

use std::sync::Arc;

use ingather_engine::progress::Progress;
use ingather_engine::remove::Removed;
use ingather_model::run_counts::counted;
use ingather_store::jobs::Job;
use ingather_store::{deliveries, documents};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Resends, named, resends};
use crate::context::{Background, Caller, Context, Doing};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Result};

const REMOVALS: &str = r#"{"job": "share", "deleted": 40, "kept": 1, "unaddressable": 0, "stopped": false}"#;
const COUNTED: &str =
    r#"{"job": "share", "documents": 1200, "shared": 3, "outputs": ["index"], "dry_run": true}"#;
const DELETED: &str = r#"{"job": "share", "deleted": 1197, "kept": 0, "unaddressable": 0, "stopped": false,
    "counts": {"job": "share", "documents": 1200, "shared": 3, "outputs": ["index"], "dry_run": true},
    "resends": [{"sentence": "job notes: 3 documents are still to be sent again", "root": "/srv/notes"}]}"#;

/// Carries out the removals that a run holds.
pub static CONFIRM: Answering<ConfirmRemovals, Removals> = Answering {
    operation: Operation {
        name: "jobs.confirm",
        summary: "Carries out the removals that a run holds.",
        request: Shape::of::<ConfirmRemovals>("ConfirmRemovals", &[r#"{"job": "share", "run": 12}"#]),
        item: None,
        answer: Shape::of::<Removals>("Removals", &[REMOVALS]),
        role: Role::Operator,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/jobs/{job}/confirm"),
        words: Words::Are("job confirm"),
        tool: false,
        problems: &[
            Code::NoSuchJob,
            Code::NothingHeld,
            Code::Paused,
            Code::NoSuchConnector,
            Code::Definition,
            Code::Source,
            Code::Output,
            Code::IndexOlder,
        ],
    },
    run: confirm,
};

/// Deletes a job with everything that outputs hold because of it.
pub static DELETE: Answering<DeleteJob, Deletion> = Answering {
    operation: Operation {
        name: "jobs.delete",
        summary: "Deletes a job with everything that outputs hold because of it, or counts what that would remove.",
        request: Shape::of::<DeleteJob>("DeleteJob", &[r#"{"job": "share", "dry_run": true}"#]),
        item: None,
        answer: Shape::of::<Deletion>("Deletion", &[COUNTED, DELETED]),
        role: Role::Admin,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Delete, "/jobs/{job}"),
        words: Words::Are("job delete"),
        tool: false,
        problems: &[
            Code::NoSuchJob,
            Code::NoSuchConnector,
            Code::Definition,
            Code::Source,
            Code::Output,
            Code::IndexOlder,
        ],
    },
    run: delete,
};

/// Asks to carry out removals that are held.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmRemovals {
    /// Name of the job.
    pub job: String,
    /// Number of the run that holds them; refused when another one has looked again.
    pub run: i64,
}

/// What was removed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Removals {
    /// What became of the documents.
    #[serde(flatten)]
    pub line: RemovalsLine,
    /// Of those that stay: nobody knows their names any more.
    pub unaddressable: u64,
    /// It was asked to stop before its end.
    pub stopped: bool,
}

/// What became of documents that were to be removed, as the command line writes it with `--json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RemovalsLine {
    /// Name of the job.
    pub job: String,
    /// Documents removed from every output.
    pub deleted: u64,
    /// Documents that stay: they are there again, could not be checked, or an output did not confirm.
    pub kept: u64,
}

impl Removals {
    fn of(job: &str, removed: Removed) -> Removals {
        let Removed { deleted, kept, unaddressable, stopped, .. } = removed;
        Removals { line: RemovalsLine { job: job.to_owned(), deleted, kept }, unaddressable, stopped }
    }
}

/// Asks to delete a job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteJob {
    /// Name of the job.
    pub job: String,
    /// Only count what would be removed.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a deletion would remove, or has removed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Deletion {
    /// Nothing was written.
    Counted(DeletionCounts),
    /// It was done.
    Done(Deleted),
}

/// What a deletion has removed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Deleted {
    /// What was removed.
    #[serde(flatten)]
    pub removals: Removals,
    /// What it was about.
    pub counts: DeletionCounts,
    /// What other jobs have, too, in another form, went with what this one had sent last.
    pub resends: Vec<Resends>,
}

/// What a job has that a deletion is about.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct DeletionCounts {
    /// Name of the job.
    pub job: String,
    /// Its documents.
    pub documents: u64,
    /// Of those: outputs keep them, for other jobs have sent them, too.
    pub shared: u64,
    /// The outputs.
    pub outputs: Vec<String>,
    /// Always true: nothing was written.
    pub dry_run: bool,
}

fn confirm(context: &Context<'_>, _: &Caller<'_>, request: ConfirmRemovals) -> Result<Removals> {
    let ConfirmRemovals { job: name, run } = request;
    let reader = context.existing()?;
    let job = named(&reader, &name)?;
    let writing = context.host.write(&format!("confirm of {name}"))?;
    let engine = context.engine(writing.store.reader().clone(), Some(&writing), &[]);
    let progress = Arc::new(Progress::default());
    let _watch = context.host.watch(progress.clone());
    let removed = engine.confirm(&job, run, progress)?;
    Ok(Removals::of(&name, removed))
}

fn delete(context: &Context<'_>, _: &Caller<'_>, request: DeleteJob) -> Result<Deletion> {
    let name = &request.job;
    let reader = context.existing()?;
    let job = named(&reader, name)?;
    let counts = DeletionCounts {
        job: name.clone(),
        documents: reader.read(|sql| documents::total(sql, job.id))?,
        shared: reader.read(|sql| deliveries::kept_by_others(sql, job.id))?,
        outputs: job.definition.outputs.clone(),
        dry_run: true,
    };
    if request.dry_run {
        return Ok(Deletion::Counted(counts));
    }
    let removals = remove(context, &job)?;
    let resends = if removals.stopped { Vec::new() } else { resends(&reader, Some(job.id))? };
    Ok(Deletion::Done(Deleted { removals, counts, resends }))
}

fn remove(context: &Context<'_>, job: &Job) -> Result<Removals> {
    let writing = context.host.write(&format!("deletion of {}", job.name))?;
    let engine = context.engine(writing.store.reader().clone(), Some(&writing), &[]);
    let progress = Arc::new(Progress::default());
    let watch = context.host.watch(progress.clone());
    let removed = engine.delete(job, progress);
    drop(watch);
    Ok(Removals::of(&job.name, removed?))
}

/// Goes on with a deletion that the end of an earlier program cut off.
pub(super) fn go_on(background: &dyn Background, job: Job) -> Result<()> {
    let doing = Doing::told(format!("deletion of job {}", job.name));
    let work = move |context: &Context<'_>| {
        let removals = remove(context, &job)?;
        let removed = counted(removals.line.deleted, "document");
        Ok(if removals.stopped {
            format!("stopped: {removed} deleted")
        } else {
            format!("ended: {removed} deleted")
        })
    };
    background.go(doing, Box::new(work))
}
