//! Documents: the inventory of a job, and why one document stands as it does.

mod explanation;
pub(crate) mod lookup;

pub use explanation::{
    EXPLAIN, ExplainDocument, Explained, ExplainedFailure, ExplainedKnown, ExplainedOutput,
};

use ingather_model::fault::Reason;
use ingather_model::lifecycle::outcome::{FailureKind, VisitReason};
use ingather_store::Reader;
use ingather_store::documents::{self, Listed};
use ingather_store::jobs::Job;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Caller, Context, journals};
use crate::jobs::named;
use crate::operation::schema;
use crate::operation::{Effect, Operation, Rest, Role, Shape, Streaming, Verb, Words};
use crate::problem::{Code, Result};

/// Rows that are read at once.
const PAGE: usize = 1_000;

/// The documents of a job.
pub static LIST: Streaming<ListDocuments, Document, DocumentListEnd> = Streaming {
    operation: Operation {
        name: "documents.list",
        summary: "The documents of a job, each with its state.",
        request: Shape::read::<ListDocuments>("ListDocuments"),
        item: Some(Shape::written::<Document>("Document")),
        answer: Shape::written::<DocumentListEnd>("DocumentListEnd"),
        example: r#"{"job": "share", "state": "failed", "limit": 1000}"#,
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/jobs/{job}/documents"),
        words: Words::Are("document list"),
        tool: true,
        problems: &[Code::NoSuchJob, Code::NoSuchConnector, Code::Definition, Code::Source],
    },
    run: list,
};

/// Asks for documents.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDocuments {
    /// Name of the job.
    pub job: String,
    /// Only those in this state.
    #[serde(default)]
    pub state: Option<DocumentState>,
    /// Documents at most.
    pub limit: u32,
}

/// How a document stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DocumentState {
    /// Waits for a visit.
    Waiting,
    /// Up to date, or nothing to deliver.
    Settled,
    /// Could not be read, understood or delivered.
    Failed,
    /// Left out, with a reason: by a rule, a stage, or for what it is.
    Skipped,
}

/// A document in a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Document {
    /// Name of the job.
    pub job: String,
    /// Its name there.
    pub document: String,
    /// How it stands.
    pub state: DocumentState,
    /// Run that wrote it last; none when the inventory does not have it.
    pub changed_run: Option<i64>,
    /// Why it waits for a visit.
    #[schemars(schema_with = "schema::visit_reason")]
    pub waits_for: Option<VisitReason>,
    /// Not before this time, milliseconds since 1970 UTC.
    pub due: Option<i64>,
    /// Stable word for what is wrong.
    pub code: Option<String>,
    /// The same as a sentence.
    pub reason: Option<String>,
}

/// The end of a list of documents.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DocumentListEnd {
    /// There are more than were asked for.
    pub more: bool,
}

fn list(
    context: &Context<'_>,
    _: &Caller<'_>,
    request: ListDocuments,
    each: &mut dyn FnMut(Document),
) -> Result<DocumentListEnd> {
    let ListDocuments { job, state, limit: mut left } = request;
    let reader = context.existing()?;
    let job = named(&reader, &job)?;
    let mut after = 0;
    loop {
        let rows = reader.read(|sql| documents::list(sql, job.id, after, PAGE))?;
        let Some(last) = rows.last() else { break };
        after = last.id.0;
        let all = rows.into_iter().map(|row| document(&job.name, row));
        for one in all.filter(|one| state.is_none_or(|state| one.state == state)) {
            if left == 0 {
                return Ok(DocumentListEnd { more: true });
            }
            left -= 1;
            each(one);
        }
    }
    if state != Some(DocumentState::Skipped) {
        return Ok(DocumentListEnd { more: false });
    }
    list_left_out(context, reader, &job, left, each)
}

/// What the source has and the job leaves out for what it is, such as links and special files, is in no inventory: the
/// source is listed again, and nothing is written.
fn list_left_out(
    context: &Context<'_>,
    reader: Reader,
    job: &Job,
    mut left: u32,
    each: &mut dyn FnMut(Document),
) -> Result<DocumentListEnd> {
    let engine = context.engine(reader, None, &journals(&job.definition));
    let mut more = false;
    engine.left_out(job, &mut |skipped| {
        more = left == 0;
        if !more {
            left -= 1;
            let Reason { code, message } = skipped.reason;
            each(Document {
                job: job.name.clone(),
                document: skipped.key,
                state: DocumentState::Skipped,
                changed_run: None,
                waits_for: None,
                due: None,
                code: Some(code),
                reason: Some(message),
            });
        }
        !more
    })?;
    Ok(DocumentListEnd { more })
}

fn document(job: &str, row: Listed) -> Document {
    let state = match (&row.work, row.failure.as_ref().map(|(kind, _)| *kind)) {
        (Some(_), _) => DocumentState::Waiting,
        (None, Some(FailureKind::Failed)) => DocumentState::Failed,
        (None, Some(FailureKind::Skipped)) => DocumentState::Skipped,
        _ => DocumentState::Settled,
    };
    let (waits_for, due) = row.work.unzip();
    let (code, reason) = row.failure.map(|(_, Reason { code, message })| (code, message)).unzip();
    Document {
        job: job.to_owned(),
        document: row.name,
        state,
        changed_run: Some(row.changed_run),
        waits_for,
        due,
        code,
        reason,
    }
}
