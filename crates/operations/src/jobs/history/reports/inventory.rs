//! How the documents of a job stand, and what waits of them, counted by part of the source. A page counts so many documents, and the next one
//! goes on behind them, so that no question costs what a whole inventory does: whoever wants all adds the pages up.

use std::collections::BTreeMap;

use ingather_model::limits;
use ingather_store::{documents as stored, queue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{bucket, levels, refuse_levels};
use crate::context::{Caller, Context};
use crate::documents::list::{Document, DocumentState, ListDocuments, page_of};
use crate::jobs::named;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::page;
use crate::problem::{Code, Result};

const QUEUED: &str = r#"{"buckets": [{"bucket": "notes/", "waiting": 3, "due": 1, "later": 1, "next_run": 1,
    "soonest": 1767225600000, "reasons": {"retry": 2, "changed": 1}}], "counted": 3, "documents": 1200,
    "says": "counted all that waits", "next": "0a1b2c3d31"}"#;
const STANDING: &str = r#"{"buckets": [{"bucket": "notes/", "documents": 120, "settled": 110, "waiting": 3, "failed": 5,
    "skipped": 2}], "counted": 120, "documents": 1200, "says": "counted 120 of 1,200 documents; `next` goes on",
    "next": "0a1b2c3d31"}"#;
const PROBLEMS: &[Code] = &[Code::NoSuchJob, Code::NoSuchConnector, Code::Definition, Code::Source];

/// What waits.
pub static QUEUE: Answering<AskDocuments, QueueReport> = Answering {
    operation: Operation {
        name: "reports.queue",
        summary: "What waits of a job, by part of its source: due now, later, or with the next run, and why.",
        request: Shape::of::<AskDocuments>("AskDocuments", &[r#"{"job": "share", "levels": 1}"#]),
        item: None,
        answer: Shape::of::<QueueReport>("QueueReport", &[QUEUED]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/reports/queue"),
        words: Words::Are("report queue"),
        tool: true,
        problems: PROBLEMS,
    },
    run: queue_report,
};

/// How documents stand.
pub static STATUS: Answering<AskDocuments, StatusReport> = Answering {
    operation: Operation {
        name: "reports.status",
        summary: "How the documents of a job stand, by part of its source.",
        request: Shape::of::<AskDocuments>("AskDocuments", &[r#"{"job": "share", "levels": 2}"#]),
        item: None,
        answer: Shape::of::<StatusReport>("StatusReport", &[STANDING]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/reports/status"),
        words: Words::Are("report status"),
        tool: true,
        problems: PROBLEMS,
    },
    run: status_report,
};

/// Asks how documents stand, or which wait.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskDocuments {
    /// Name of the job.
    pub job: String,
    /// Levels of the path by which documents are counted together; 0: all of the job.
    #[serde(default = "levels")]
    pub levels: u32,
    /// Documents that are counted at most; a page has a bound of its own.
    #[serde(default = "counted_at_once")]
    pub limit: u32,
    /// Where to begin: `next` of the page before.
    #[serde(default)]
    pub cursor: Option<String>,
}

fn counted_at_once() -> u32 {
    limits::LIST_LOOKED_MAX as u32
}

/// What waits; a line for each part of the source where lines are wanted. The same part may be in several pages: they are added up.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct QueueReport {
    /// A member for each part of the source.
    pub buckets: Vec<QueueBucket>,
    /// Documents of this page.
    pub counted: u64,
    /// Documents in the inventory of the job.
    pub documents: u64,
    /// What was counted, in a sentence.
    pub says: String,
    /// Cursor of the next page; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What waits of one part of a source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QueueBucket {
    /// First levels of the path; empty for what is in no folder, or for the whole source.
    pub bucket: String,
    /// Documents that wait for a visit.
    pub waiting: u64,
    /// Those that are due: a run visits them at once.
    pub due: u64,
    /// Those that are due later.
    pub later: u64,
    /// Those that the next run looks at, whenever it comes.
    pub next_run: u64,
    /// When the first of those is due that are due later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soonest: Option<i64>,
    /// How many wait for which reason.
    pub reasons: BTreeMap<String, u64>,
}

/// How documents stand; a line for each part of the source where lines are wanted. The same part may be in several pages: they are added up.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatusReport {
    /// A member for each part of the source.
    pub buckets: Vec<StatusBucket>,
    /// Documents of this page.
    pub counted: u64,
    /// Documents in the inventory of the job.
    pub documents: u64,
    /// What was counted, in a sentence.
    pub says: String,
    /// Cursor of the next page; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// How the documents of one part of a source stand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatusBucket {
    /// First levels of the path; empty for what is in no folder, or for the whole source.
    pub bucket: String,
    /// All of them.
    pub documents: u64,
    /// Up to date, or nothing to deliver.
    pub settled: u64,
    /// Those that wait for a visit.
    pub waiting: u64,
    /// Those that could not be read, understood or delivered.
    pub failed: u64,
    /// Those that are left out, with a reason.
    pub skipped: u64,
}

/// A page that was counted.
struct Counted {
    documents: u64,
    counted: u64,
    says: String,
    next: Option<String>,
}

/// Counts a page of documents in a state.
fn count(
    context: &Context<'_>,
    request: &AskDocuments,
    (name, state): (&str, Option<DocumentState>),
    mut each: impl FnMut(&Document) -> usize,
) -> Result<Counted> {
    refuse_levels(request.levels)?;
    let reader = context.existing()?;
    let job = named(&reader, &request.job)?;
    let documents = reader.read(|sql| stored::total(sql, job.id))?;
    let of = [name, &job.name, &request.levels.to_string()];
    let mut cursor = page::place(&of, request.cursor.as_deref())?;
    let most = (request.limit.max(1) as usize).min(limits::LIST_LOOKED_MAX);
    let at_once = (limits::LIST_PAGE_MAX as usize).min(most);
    let mut counted = 0;
    // So many looks of so many rows: whether much is found there or little.
    for _ in 0..most.div_ceil(at_once) {
        let limit = at_once.min(most - counted) as u32;
        let ask = ListDocuments { job: job.name.clone(), state, limit, cursor: cursor.take() };
        let found = page_of(context, ask, at_once + 1)?;
        counted += found.documents.len();
        let groups = found.documents.iter().map(&mut each).max().unwrap_or_default();
        cursor = found.next;
        if cursor.is_none() || counted == most || groups >= limits::REPORT_GROUPS_MAX {
            break;
        }
    }
    let told = ingather_model::run_counts::number;
    let is_all = cursor.is_none() && request.cursor.is_none();
    let says = match (is_all, state) {
        (true, None) => format!("counted all documents of job {}", job.name),
        (true, Some(_)) => format!("counted all that waits of job {}", job.name),
        (false, None) => {
            let all = ingather_model::run_counts::counted(documents, "document");
            let counted = told(counted as u64);
            format!("counted {counted} of {all} of job {}; add up the pages, which `next` leads to", job.name)
        }
        (false, Some(_)) => format!(
            "counted {} that wait of job {}; add up the pages, which `next` leads to",
            told(counted as u64),
            job.name
        ),
    };
    let next = cursor.map(|cursor| page::cursor(&of, &cursor));
    Ok(Counted { documents, counted: counted as u64, says, next })
}

fn queue_report(context: &Context<'_>, _: &Caller<'_>, request: AskDocuments) -> Result<QueueReport> {
    let mut buckets: BTreeMap<String, QueueBucket> = BTreeMap::new();
    let now = context.now();
    let of = (QUEUE.operation.name, Some(DocumentState::Waiting));
    let counted = count(context, &request, of, |document| {
        let place = bucket(&document.document, request.levels);
        let bucket = buckets.entry(place.to_owned()).or_default();
        bucket.waiting += 1;
        match document.due {
            Some(queue::DUE_NEXT_RUN) => bucket.next_run += 1,
            Some(due) if due > now => {
                bucket.later += 1;
                bucket.soonest = Some(bucket.soonest.map_or(due, |soonest| soonest.min(due)));
            }
            _ => bucket.due += 1,
        }
        let reason = document.waits_for.map_or("new", |reason| reason.as_str());
        *bucket.reasons.entry(reason.to_owned()).or_default() += 1;
        buckets.len()
    })?;
    let Counted { documents, counted, says, next } = counted;
    let named = |(bucket, one): (String, QueueBucket)| QueueBucket { bucket, ..one };
    Ok(QueueReport { buckets: buckets.into_iter().map(named).collect(), counted, documents, says, next })
}

fn status_report(context: &Context<'_>, _: &Caller<'_>, request: AskDocuments) -> Result<StatusReport> {
    let mut buckets: BTreeMap<String, StatusBucket> = BTreeMap::new();
    let counted = count(context, &request, (STATUS.operation.name, None), |document| {
        let place = bucket(&document.document, request.levels);
        let bucket = buckets.entry(place.to_owned()).or_default();
        bucket.documents += 1;
        let state = match document.state {
            DocumentState::Waiting => &mut bucket.waiting,
            DocumentState::Settled => &mut bucket.settled,
            DocumentState::Failed => &mut bucket.failed,
            DocumentState::Skipped => &mut bucket.skipped,
        };
        *state += 1;
        buckets.len()
    })?;
    let Counted { documents, counted, says, next } = counted;
    let named = |(bucket, one): (String, StatusBucket)| StatusBucket { bucket, ..one };
    Ok(StatusReport { buckets: buckets.into_iter().map(named).collect(), counted, documents, says, next })
}
