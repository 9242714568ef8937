//! What was erased, and how it is let in again (decision 0032).

use ingather_engine::Erasable;
use ingather_model::ids::JobId;
use ingather_model::key::DocumentKey;
use ingather_model::lifecycle::job::State;
use ingather_store::erased as stored;
use ingather_store::jobs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::erasure::{in_jobs, place_of};
use super::lookup::Lookup;
use crate::context::{Caller, Context};
use crate::jobs::named;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::page;
use crate::problem::{Code, Problem, Result};

const LISTED: &str = r#"{"documents": [{"job": "share", "document": "notes/a.txt", "at": 1767225600000, "by": "key ann",
    "done_at": 1767225600100}], "next": "0a1b2c3d31"}"#;

/// Documents that were erased.
pub static ERASED: Answering<ListErased, ErasedList> = Answering {
    operation: Operation {
        name: "documents.erased",
        summary: "Documents that were erased, which no run takes in; behind them addresses that no job of now has erased.",
        request: Shape::of::<ListErased>("ListErased", &[r#"{"job": "share", "limit": 100}"#]),
        item: None,
        answer: Shape::of::<ErasedList>("ErasedList", &[LISTED]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/documents/erased"),
        words: Words::Are("document erased"),
        tool: false,
        problems: &[Code::NoSuchJob],
    },
    run: list,
};

/// Lets an erased document in again.
pub static READMIT: Answering<ReadmitDocument, Readmitted> = Answering {
    operation: Operation {
        name: "documents.readmit",
        summary: "Lets the next run of a job, or of every job, take in a document again that was erased.",
        request: Shape::of::<ReadmitDocument>(
            "ReadmitDocument",
            &[r#"{"job": "share", "document": "notes/a.txt"}"#],
        ),
        item: None,
        answer: Shape::of::<Readmitted>("Readmitted", &[r#"{"job": "share", "document": "notes/a.txt"}"#]),
        role: Role::Operator,
        effect: Effect::Changes,
        rest: Rest::At(Verb::Post, "/documents/readmit"),
        words: Words::Are("document readmit"),
        tool: false,
        problems: &[Code::NoSuchJob, Code::NoSuchDocument, Code::Key],
    },
    run: readmit,
};

/// Asks for what was erased.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListErased {
    /// Of this job alone.
    #[serde(default)]
    pub job: Option<String>,
    /// Documents at most; a page has a bound of its own.
    #[serde(default = "page::size")]
    pub limit: u32,
    /// Where to begin: `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

/// Documents that were erased, by job and in no order of their names; behind them what stays erased although its job is gone.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErasedList {
    /// Those of this page.
    pub documents: Vec<ErasedDocument>,
    /// Cursor of the next page; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A document that was erased.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErasedDocument {
    /// Name of the job; empty: of every job, and none that is there has had it.
    pub job: String,
    /// Its name there; its address where the job that had it is gone.
    pub document: String,
    /// When somebody asked, milliseconds since 1970 UTC.
    pub at: i64,
    /// Who asked.
    pub by: String,
    /// When the last output had let go of it; none: not yet.
    #[serde(default)]
    pub done_at: Option<i64>,
}

/// Asks to let a document in again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadmitDocument {
    /// Of this job alone; of every job where none is named.
    #[serde(default)]
    pub job: Option<String>,
    /// Its name there, its path, or its URI.
    pub document: String,
    /// Where the name leads as a path on this machine, for its owner alone.
    #[serde(default)]
    pub path: Option<String>,
}

/// A document that the next run takes in again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Readmitted {
    /// Name of the job; empty: every job.
    pub job: String,
    /// Its name there; its address where every job takes it in.
    pub document: String,
}

/// Where a page of the list begins.
enum Place {
    /// Behind a document of a job.
    Document(JobId, DocumentKey),
    /// Behind an address, and the name of the job that it was erased of.
    Address(String, i64),
}

impl Place {
    fn written(&self) -> String {
        match self {
            Place::Document(job, key) => format!("{} {} {}", job.0, key.parent_hash, key.key_hash),
            Place::Address(job, address) => format!("{address}:{job}"),
        }
    }

    fn read(place: &str) -> Option<Place> {
        if let Some((address, job)) = place.split_once(':') {
            return Some(Place::Address(job.to_owned(), address.parse().ok()?));
        }
        let mut numbers = place.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Place::Document(JobId(next()?), DocumentKey { parent_hash: next()?, key_hash: next()? }))
    }
}

fn list(context: &Context<'_>, _: &Caller<'_>, request: ListErased) -> Result<ErasedList> {
    let reader = context.existing()?;
    let all = reader.read(jobs::list)?;
    let of_job = request.job.as_deref().map(|name| named(&reader, name)).transpose()?;
    let of = [ERASED.operation.name, request.job.as_deref().unwrap_or_default()];
    let first =
        Place::Document(of_job.as_ref().map_or(JobId(i64::MIN), |job| job.id), DocumentKey::BEFORE_ALL);
    let after = match page::place(&of, request.cursor.as_deref())? {
        None => first,
        Some(place) => Place::read(&place).ok_or_else(page::unknown)?,
    };
    let length = page::length(request.limit);
    let mut rows = Vec::new();
    let mut addresses = (String::new(), i64::MIN);
    match after {
        Place::Address(job, address) => addresses = (job, address),
        Place::Document(job, key) => {
            let mut found = reader.read(|sql| stored::list(sql, (job, key), length + 1))?;
            found.retain(|row| of_job.as_ref().is_none_or(|job| job.id == row.job));
            let name = |id: JobId| all.iter().find(|job| job.id == id).map(|job| job.name.clone());
            rows.extend(found.into_iter().map(|row| {
                let stored::Erased { job, key, name: document, at, by, done_at } = row;
                let told = ErasedDocument { job: name(job).unwrap_or_default(), document, at, by, done_at };
                (Place::Document(job, key), told)
            }));
        }
    }
    if rows.len() <= length {
        let most = length + 1 - rows.len();
        let of = |job: &str| of_job.as_ref().is_none_or(|of| job.is_empty() || of.name == job);
        let found = reader.read(|sql| stored::of_no_job(sql, (&addresses.0, addresses.1), most))?;
        rows.extend(found.into_iter().filter(|row| of(&row.job)).map(|row| {
            let stored::KeptOut { job, address, uri, at, by, .. } = row;
            let place = Place::Address(job.clone(), address);
            // Nothing of it is anywhere: its job let go of it, or never had it.
            (place, ErasedDocument { job, document: uri, at, by, done_at: Some(at) })
        }));
    }
    let more = rows.len() > length;
    rows.truncate(length);
    let next = rows.last().filter(|_| more).map(|(place, _)| page::cursor(&of, &place.written()));
    Ok(ErasedList { documents: rows.into_iter().map(|(_, document)| document).collect(), next })
}

fn readmit(context: &Context<'_>, caller: &Caller<'_>, request: ReadmitDocument) -> Result<Readmitted> {
    let reader = context.existing()?;
    let engine = context.engine(reader.clone(), None, &[]);
    let mut all = reader.read(jobs::list)?;
    all.retain(|job| job.state != State::Deleting);
    let asked = match &request.job {
        Some(name) => vec![named(&reader, name)?],
        None => all.clone(),
    };
    let typed = (request.document.clone(), request.path.clone());
    let lookup = Lookup::of(&engine, &asked, caller, typed)?;
    let mut found = in_jobs(&engine, &asked, &lookup.text)?;
    found.retain(|(_, document)| document.is_erased());
    // No job may be there any more that covers it.
    let place = match found.first() {
        Some((job, document)) => place_of(&engine, job, document),
        None if request.job.is_none() => lookup.text.clone(),
        None => return Err(was_not_erased(&request)),
    };
    if found.iter().any(|(job, document)| place_of(&engine, job, document) != place) {
        let sentence = format!("`{}` names several documents; name the job as well", request.document);
        return Err(Problem::usage(sentence));
    }
    let elsewhere = in_jobs(&engine, &all, &place)?.into_iter().filter(|(_, document)| document.is_erased());
    let others: Vec<_> =
        elsewhere.filter(|(job, _)| !found.iter().any(|(other, _)| other.id == job.id)).collect();
    let ends = match &request.job {
        // By other names there.
        None => {
            found.extend(others);
            true
        }
        // It is erased of all jobs no more once the last one that covers it has it again.
        Some(_) => {
            let of_all =
                |document: &Erasable| document.kept_out.as_ref().is_some_and(|row| row.job.is_empty());
            others.is_empty() && found.iter().any(|(_, document)| of_all(document))
        }
    };
    let writing = context.host.write("readmission of a document")?;
    let engine = context.engine(reader, Some(&writing), &[]);
    for (job, document) in &found {
        engine.readmit(job, document, (&place, caller.name))?;
    }
    let was_erased = ends && engine.let_in(&place)?;
    if found.is_empty() && !was_erased {
        return Err(was_not_erased(&request));
    }
    match (request.job, found.pop()) {
        (Some(job), Some((_, document))) => Ok(Readmitted { job, document: document.name }),
        (..) => Ok(Readmitted { job: String::new(), document: place }),
    }
}

fn was_not_erased(request: &ReadmitDocument) -> Problem {
    let (of, lists) = match &request.job {
        Some(job) => (format!(" of job {job}"), format!(" --job {job}")),
        None => (String::new(), String::new()),
    };
    let sentence = format!(
        "no document `{}`{of} was erased; `ingather document erased{lists}` shows those that were",
        request.document
    );
    Problem::new(Code::NoSuchDocument, sentence)
}
