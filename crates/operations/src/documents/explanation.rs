//! Why one document stands as it does, whether it is known or not (design 4.13).

use ingather_engine::inspect::explain::Explanation;
use ingather_engine::inspect::{Referrer, Referrers};
use ingather_model::job::Definition;
use ingather_model::lifecycle::outcome::{FailureKind, VisitReason};
use ingather_store::jobs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::context::{Caller, Context, journals};
use crate::documents::lookup::Lookup;
use crate::jobs::named;
use crate::operation::schema;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::pipeline::way_to;
use crate::problem::{Code, Result};

const EXPLAINED: &str = r#"{"job": "share", "document": "notes/a.txt", "uri": "file:///srv/share/notes/a.txt",
    "address": "file:///mnt/old/notes/a.txt", "code": "failed", "cause": "it could not be read", "source": "it is there", "known": {"changed_run": 7, "work": "retry",
    "trouble": {"kind": "retrying", "code": "busy", "message": "it is in use", "attempts": 2, "attempts_max": 5,
    "first_at": 1767225600000}}, "outputs": [{"output": "index", "state": "held", "says": "holds it as it was",
    "way": "source → text → index", "sent_at": 1767225600000, "confirmed_at": null}], "same_name": null,
    "also_in": ["notes"], "referrers": {"some": [{"document": "notes/index.html", "relation": "link"}], "total": 1, "partial": false},
    "waits_for": "another attempt", "due": 1767225660000, "next": "in a minute", "file": null}"#;

/// Why a document stands as it does.
pub static EXPLAIN: Answering<ExplainDocument, Explained> = Answering {
    operation: Operation {
        name: "documents.explain",
        summary: "Why a document stands as it does, whether it is known or not.",
        request: Shape::of::<ExplainDocument>(
            "ExplainDocument",
            &[r#"{"job": "share", "document": "notes/a.txt"}"#],
        ),
        item: None,
        answer: Shape::of::<Explained>("Explained", &[EXPLAINED]),
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/jobs/{job}/documents/{document}/explain"),
        words: Words::Are("document explain"),
        tool: true,
        problems: &[
            Code::NoSuchJob,
            Code::NoSuchDocument,
            Code::Key,
            Code::NoSuchConnector,
            Code::Definition,
            Code::Source,
        ],
    },
    run: explain,
};

/// Asks about one document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainDocument {
    /// Name of the job.
    pub job: String,
    /// Its name below the root, its path, or its URI.
    pub document: String,
    /// Where the name leads as a path on this machine, for its owner alone.
    #[serde(default)]
    pub path: Option<String>,
}

/// Why a document stands as it does; times are milliseconds since 1970 UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// Name of the job.
    pub job: String,
    /// Its name there.
    pub document: String,
    /// Where a person finds it.
    pub uri: String,
    /// The address by which outputs know it, where its job was moved since they were told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Stable word for the cause.
    pub code: String,
    /// The cause as a sentence.
    pub cause: String,
    /// How it stands at the source now, in a sentence.
    pub source: String,
    /// What the inventory knows of it.
    pub known: Option<ExplainedKnown>,
    /// What each output of the job holds of it.
    pub outputs: Vec<ExplainedOutput>,
    /// The address of something in another document that is shown by the same name.
    pub same_name: Option<String>,
    /// Other jobs that have the same document.
    pub also_in: Vec<String>,
    /// What leads to it, where its source is found by following links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referrers: Option<ExplainedReferrers>,
    /// What it waits for.
    pub waits_for: Option<String>,
    /// Not before this time.
    pub due: Option<i64>,
    /// When it is looked at next.
    pub next: String,
    /// What is at the path that was named, when it leads to no document.
    pub file: Option<String>,
}

/// What leads to a document, as its pages were read last.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedReferrers {
    /// Three of them at most.
    pub some: Vec<ExplainedReferrer>,
    /// How many there are.
    pub total: u64,
    /// Not all links of the job were looked through.
    pub partial: bool,
}

/// One that leads to a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedReferrer {
    /// Its name in the job.
    pub document: String,
    /// How it is related, such as `link` or `redirect`.
    pub relation: String,
}

impl From<Referrers> for ExplainedReferrers {
    fn from(Referrers { some, total, is_partial }: Referrers) -> ExplainedReferrers {
        let one =
            |Referrer { document, relation }| ExplainedReferrer { document, relation: relation.to_owned() };
        ExplainedReferrers { some: some.into_iter().map(one).collect(), total, partial: is_partial }
    }
}

/// What the inventory knows of a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedKnown {
    /// Run that wrote its row last.
    pub changed_run: i64,
    /// Why it waits for a visit.
    #[schemars(schema_with = "schema::visit_reason")]
    pub work: Option<VisitReason>,
    /// What is wrong with it.
    #[serde(rename = "trouble")]
    pub failure: Option<ExplainedFailure>,
}

/// Why the last visit of a document did not end well.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedFailure {
    /// Whether it is tried again.
    #[schemars(schema_with = "schema::failure_kind")]
    pub kind: FailureKind,
    /// Stable word.
    pub code: String,
    /// Sentence for a person.
    pub message: String,
    /// Attempts made.
    pub attempts: i64,
    /// Attempts allowed.
    pub attempts_max: i64,
    /// Since when.
    pub first_at: i64,
}

/// What one output holds of a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedOutput {
    /// Name of the output.
    pub output: String,
    /// Stable word.
    pub state: String,
    /// The same as a sentence.
    pub says: String,
    /// The stages on the way to it, each with its condition, where the pipeline is no plain list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way: Option<String>,
    /// When something was sent last.
    pub sent_at: Option<i64>,
    /// When the output confirmed last.
    pub confirmed_at: Option<i64>,
}

fn explain(context: &Context<'_>, caller: &Caller<'_>, request: ExplainDocument) -> Result<Explained> {
    let reader = context.existing()?;
    let job = named(&reader, &request.job)?;
    let engine = context.engine(reader, None, &journals(&job.definition));
    let typed = (request.document, request.path);
    let lookup = Lookup::of(&engine, std::slice::from_ref(&job), caller, typed)?;
    let told = engine.explain(&job, &lookup.text)?;
    let file = lookup.file(&engine.reader.read(jobs::list)?);
    Ok(explained(job.name, &job.definition, told, file))
}

fn explained(job: String, definition: &Definition, told: Explanation, file: Option<String>) -> Explained {
    let known = told.known.map(|known| ExplainedKnown {
        changed_run: known.changed_run,
        work: known.work.map(|(reason, _)| reason),
        failure: known.failure.map(|failure| ExplainedFailure {
            kind: failure.kind,
            code: failure.reason.code,
            message: failure.reason.message,
            attempts: failure.attempts,
            attempts_max: failure.attempts_max,
            first_at: failure.first_at,
        }),
    });
    let outputs = told.outputs.into_iter().map(|holder| ExplainedOutput {
        way: way_to(definition, &holder.output),
        output: holder.output,
        state: holder.state.to_owned(),
        says: holder.sentence,
        sent_at: holder.sent_at,
        confirmed_at: holder.confirmed_at,
    });
    Explained {
        job,
        document: told.document,
        uri: told.uri,
        address: told.address,
        code: told.cause.code,
        cause: told.cause.message,
        source: told.source,
        known,
        outputs: outputs.collect(),
        same_name: told.same_name,
        also_in: told.also_in,
        referrers: told.referrers.map(ExplainedReferrers::from),
        waits_for: told.waits_for,
        due: told.due,
        next: told.next,
        file,
    }
}
