//! A person erases a document: every output lets go of it now, nothing is kept of it, and no run takes it in again, until somebody lets it
//! in (decision 0032).

use std::collections::BTreeSet;
use std::time::Duration;

use ingather_engine::{Engine, Erasable, Erasing};
use ingather_model::lifecycle::job::State;
use ingather_model::limits;
use ingather_model::run_counts::counted;
use ingather_store::erased as stored;
use ingather_store::jobs::{self, Job};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lookup::Lookup;
use crate::backup::made::{self, MadeBackup};
use crate::context::{Caller, Context, Writing};
use crate::jobs::{moving, named};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

const ERASED_NOW: &str = r#"{"documents": [{"job": "share", "document": "notes/a.txt", "uri": "file:///srv/share/notes/a.txt",
    "outputs": ["index", "journal:/srv/changes.jsonl"], "done": false, "left": [{"output": "journal:/srv/changes.jsonl",
    "why": "the file is locked by process 7"}]}], "done": false, "also_in": ["notes"], "journals": ["/srv/changes.jsonl"],
    "backups": [{"file": "/srv/backup.tar.zst", "at": 1767225600000}], "dry_run": false}"#;

/// Erases a document.
pub static ERASE: Answering<EraseDocument, Erasure> = Answering {
    operation: Operation {
        name: "documents.erase",
        summary: "Erases a document everywhere now: from every output, from what is kept and from the history; no run takes it in again.",
        request: Shape::of::<EraseDocument>(
            "EraseDocument",
            &[r#"{"document": "file:///srv/share/notes/a.txt", "job": "share", "dry_run": true}"#],
        ),
        item: None,
        answer: Shape::of::<Erasure>("Erasure", &[ERASED_NOW]),
        role: Role::Operator,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/documents/erase"),
        words: Words::Are("document erase"),
        tool: false,
        problems: &[
            Code::NoSuchJob,
            Code::NoSuchDocument,
            Code::Key,
            Code::Deleting,
            Code::NoSuchConnector,
            Code::Definition,
            Code::Source,
            Code::Output,
            Code::IndexOlder,
        ],
    },
    run: erase,
};

/// Asks to erase a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EraseDocument {
    /// Its name in a job, its path, or its URI.
    pub document: String,
    /// Where the name leads as a path on this machine, for its owner alone.
    #[serde(default)]
    pub path: Option<String>,
    /// From this job alone; from every job that has it where none is named.
    #[serde(default)]
    pub job: Option<String>,
    /// Only say what holds it, and change nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// What was erased, and where it still is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Erasure {
    /// The document as each job knows it.
    pub documents: Vec<ErasedFromJob>,
    /// Every output has confirmed, and nothing is kept. Otherwise it goes on by itself.
    pub done: bool,
    /// Other jobs that have it, and keep it: one job alone was named.
    pub also_in: Vec<String>,
    /// Journals that were told of it: their earlier lines hold what was sent.
    pub journals: Vec<String>,
    /// Backups that were made before, and may hold it.
    pub backups: Vec<MadeBackup>,
    /// Nothing was changed.
    pub dry_run: bool,
}

/// A document as one job knows it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErasedFromJob {
    /// Name of the job.
    pub job: String,
    /// Its name there.
    pub document: String,
    /// Where a person finds it.
    pub uri: String,
    /// Outputs that held something of it, or may have.
    pub outputs: Vec<String>,
    /// All of them have let go of it.
    pub done: bool,
    /// Those that have not.
    pub left: Vec<LeftInOutput>,
}

/// An output that has not let go of a document yet.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LeftInOutput {
    /// Its name; empty where it is not an output that hinders it.
    pub output: String,
    /// Why, in a sentence.
    pub why: String,
}

/// A document in each job that it is to be erased from, and other jobs that have it.
struct Found {
    documents: Vec<(Job, Erasable)>,
    also_in: Vec<String>,
    /// Its address, where it is.
    place: String,
}

fn erase(context: &Context<'_>, caller: &Caller<'_>, request: EraseDocument) -> Result<Erasure> {
    let reader = context.existing()?;
    let engine = context.engine(reader.clone(), None, &[]);
    let mut found = find(&engine, caller, &request)?;
    let mut journals = BTreeSet::new();
    for (job, _) in &found.documents {
        crate::jobs::refuse_deleting(job)?;
        // What a journal was told stays in it, also of what it holds no more.
        let outputs = job.definition.outputs.iter().chain(&job.definition.retired);
        journals.extend(outputs.filter_map(|name| name.strip_prefix("journal:")).map(str::to_owned));
    }
    let told = |(job, document): &(Job, Erasable)| ErasedFromJob {
        job: job.name.clone(),
        document: document.name.clone(),
        uri: document.uri.clone(),
        outputs: document.outputs.clone(),
        done: false,
        left: Vec::new(),
    };
    let mut documents: Vec<ErasedFromJob> = found.documents.iter().map(told).collect();
    if !request.dry_run {
        let writing = context.host.write("erasing of a document")?;
        let engine = context.engine(reader, Some(&writing), &[]);
        // Of every job first: what one of them lets go of, another one should not send again.
        let of_job = found.documents.first().map(|(job, _)| job).filter(|_| request.job.is_some());
        let by = (found.place.as_str(), caller.name);
        engine.want_erased(by, of_job, &found.documents)?;
        if request.job.is_none() {
            let under_way = under_way(&engine, &found)?;
            if !under_way.is_empty() {
                engine.want_erased(by, of_job, &under_way)?;
            }
            documents.extend(under_way.iter().map(told));
            found.documents.extend(under_way);
        }
        let waits = context.host.background().is_some();
        for ((job, document), told) in found.documents.iter().zip(&mut documents) {
            let left = erase_from(&engine, job, document, waits)?;
            told.left = left.into_iter().map(|(output, why)| LeftInOutput { output, why }).collect();
            told.done = told.left.is_empty();
        }
        // An output that several jobs feed lets go with the last of them: those before were told so meanwhile.
        drop(writing);
    }
    Ok(Erasure {
        done: documents.iter().all(|document| document.done),
        documents,
        also_in: found.also_in,
        journals: journals.into_iter().collect(),
        backups: made::list(context),
        dry_run: request.dry_run,
    })
}

/// Erases one document of a job, and all that waits there; what hinders it.
fn erase_from(engine: &Engine, job: &Job, document: &Erasable, waits: bool) -> Result<Vec<(String, String)>> {
    let until = engine.clock.now().saturating_add(limits::ERASE_WAIT_MS_MAX);
    loop {
        // A run that has begun meanwhile does it first of all.
        if engine.is_erased(job, document)? {
            return Ok(Vec::new());
        }
        engine.make_way(job)?;
        let erasing = match engine.erase(job) {
            Ok(erasing) => erasing,
            Err(error) => {
                let problem = Problem::from(error);
                let left = until.saturating_sub(engine.clock.now());
                if problem.code != Code::Running {
                    return Err(problem);
                }
                if !waits || left <= 0 {
                    return Ok(vec![(String::new(), problem.to_string())]);
                }
                let look = left.unsigned_abs().min(limits::DRAIN_LOOK_MS);
                engine.process.wait_for_end(job.id, Duration::from_millis(look));
                continue;
            }
        };
        if let Some(this) = erasing.into_iter().find(|one| one.name == document.name) {
            return Ok(this.left);
        }
        // Somebody has stopped it before its turn came.
        if engine.cancel.cancelled() || until <= engine.clock.now() {
            return Err(Problem::stopped());
        }
    }
}

/// Jobs with a run under way that covers the address, and that do not know it yet: whatever begins later leaves it out.
fn under_way(engine: &Engine, found: &Found) -> Result<Vec<(Job, Erasable)>> {
    let mut all = engine.reader.read(jobs::list)?;
    let is_found = |job: &Job| found.documents.iter().any(|(other, _)| other.id == job.id);
    all.retain(|job| job.state != State::Deleting && !is_found(job) && engine.process.works_on(job.id));
    let covers = |job: Job| engine.would_cover(&job, &found.place).map(|document| (job, document));
    Ok(all.into_iter().filter_map(covers).collect())
}

fn find(engine: &Engine, caller: &Caller<'_>, request: &EraseDocument) -> Result<Found> {
    let all = engine.reader.read(jobs::list)?;
    let asked = match &request.job {
        Some(name) => vec![named(&engine.reader, name)?],
        None => all.iter().filter(|job| job.state != State::Deleting).cloned().collect(),
    };
    let typed = (request.document.clone(), request.path.clone());
    let lookup = Lookup::of(engine, &asked, caller, typed)?;
    let mut documents = in_jobs(engine, &asked, &lookup.text)?;
    // Where they are: outputs know those of a job that was moved by other addresses.
    let mut places: BTreeSet<String> =
        documents.iter().map(|(job, document)| place_of(engine, job, document)).collect();
    let Some(place) = places.pop_first() else { return Err(no_such_document(&request.document)) };
    if !places.is_empty() {
        return Err(Problem::usage(format!(
            "`{}` names {}: {place}, {}; name one of these",
            request.document,
            counted(places.len() as u64 + 1, "document"),
            places.into_iter().collect::<Vec<_>>().join(", ")
        )));
    }
    // Jobs that have it by another name.
    let everywhere = in_jobs(engine, &all, &place)?;
    if request.job.is_none() {
        documents = everywhere;
        return Ok(Found { documents, also_in: Vec::new(), place });
    }
    let is_asked = |job: &Job| documents.iter().any(|(other, _)| other.id == job.id);
    let also_in = everywhere
        .iter()
        .filter(|(job, document)| !is_asked(job) && !document.outputs.is_empty())
        .map(|(job, _)| job.name.clone())
        .collect();
    Ok(Found { documents, also_in, place })
}

/// The address of a document, as it leads to it now.
pub(super) fn place_of(engine: &Engine, job: &Job, document: &Erasable) -> String {
    moving::leading(&engine.registry, job, document.uri.clone())
}

pub(super) fn in_jobs(engine: &Engine, jobs: &[Job], text: &str) -> Result<Vec<(Job, Erasable)>> {
    let mut found = Vec::new();
    for job in jobs {
        found.extend(engine.erasable(job, text)?.map(|document| (job.clone(), document)));
    }
    Ok(found)
}

fn no_such_document(text: &str) -> Problem {
    let sentence = format!(
        "no job knows a document `{text}`; `ingather document list JOB` and `ingather document erased` show those there are"
    );
    Problem::new(Code::NoSuchDocument, sentence)
}

/// Tries again what could not be erased, in a service; how many documents wait still, and what was done, a sentence each.
///
/// # Errors
/// When the inventory cannot be read.
pub fn go_on(context: &Context<'_>) -> Result<(usize, Vec<String>)> {
    let reader = context.existing()?;
    let (mut left, mut told) = (0, Vec::new());
    for id in reader.read(stored::waiting)? {
        let Some(job) = reader.read(|sql| jobs::get(sql, id))? else { continue };
        if job.state == State::Deleting || context.host.process().works_on(id) {
            left += 1;
            continue;
        }
        let erase = |writing: &Writing| -> Result<Vec<Erasing>> {
            Ok(context.engine(reader.clone(), Some(writing), &[]).erase(&job)?)
        };
        match context.host.write("erasing of documents").and_then(|writing| erase(&writing)) {
            Ok(erasing) => {
                let done = erasing.iter().filter(|one| one.left.is_empty()).count();
                left += erasing.len() - done;
                if done > 0 {
                    told.push(format!("job {}: {} erased", job.name, counted(done as u64, "document")));
                }
            }
            // A run that has begun meanwhile does it.
            Err(problem) if problem.code == Code::Running => left += 1,
            Err(problem) => return Err(problem),
        }
    }
    Ok((left, told))
}
