//! What each stage makes of a document, or of something in one; nothing is written.

use std::collections::BTreeMap;

use ingather_engine::inspect::trial::{self, Fate, SeenText, Trial};
use ingather_model::access::Acl;
use ingather_model::document::Record;
use ingather_model::fault::Reason;
use ingather_model::job::{Definition, SOURCE};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GivenOutput, StageSettings};
use crate::context::{Caller, Context, journals};
use crate::documents::lookup::Lookup;
use crate::jobs::definition::allowed::refuse_of_the_machine;
use crate::jobs::named;
use crate::operation::schema;
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

const TRIED: &str = r#"{"job": "share", "document": "a.zip", "uri": "file:///srv/share/a.zip",
    "stages": [{"transform": "text", "verdict": "pass", "reason": null, "before": null, "after": {"title": "A",
    "path": "a.zip", "media_type": "application/zip", "language": null, "author": null, "size": 9, "modified": 1767225600000,
    "created": null, "fields": {"meta.kind": ["archive"]}, "characters": 5, "beginning": "words", "parts": [
    {"title": "B", "path": "a.zip/b.txt", "media_type": null, "language": null, "author": null, "size": null,
    "modified": null, "created": null, "fields": {}, "characters": null, "beginning": null, "name": "b.txt"},
    {"name": "c.txt", "reason": "it is encrypted"}], "parts_count": 2, "parts_incomplete": false}, "comes_after": "source"}],
    "outputs": [{"output": "index", "way": "source → text → index", "gets": true, "reason": {"code": "encrypted",
    "message": "it is encrypted"}}], "failed": {"transform": "allow", "code": "busy", "message": "it cannot be asked now"},
    "access": {"source": {"ordered": [{"who": "unix:u:1000", "allow": true}]}, "given": {"flat": {"allow": ["a"], "deny": []}}},
    "arrived": null, "places": [null]}"#;

/// What each stage makes of one document.
pub static TRY: Answering<TryStages, TriedStages> = Answering {
    operation: Operation {
        name: "pipeline.try",
        summary: "What each stage makes of one document; nothing is written.",
        request: Shape::of::<TryStages>(
            "TryStages",
            &[
                r#"{"job": "share", "document": "notes/a.txt", "stages": [{"transform": "text", "settings": {}}]}"#,
            ],
        ),
        item: None,
        answer: Shape::of::<TriedStages>("TriedStages", &[TRIED]),
        // It shows the text of any document, whoever may read that.
        role: Role::Admin,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Post, "/jobs/{job}/documents/{document}/try"),
        words: Words::Are("pipeline try"),
        tool: false,
        problems: &[
            Code::NoSuchJob,
            Code::NoSuchDocument,
            Code::Key,
            Code::NoSuchConnector,
            Code::Definition,
            Code::Source,
            Code::Settings,
            Code::Connector,
        ],
    },
    run: try_stages,
};

/// Asks to try stages on a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TryStages {
    /// Name of the job.
    pub job: String,
    /// Name of the document below the root, its path, or its URI.
    pub document: String,
    /// Where the name leads as a path on this machine, for its owner alone.
    #[serde(default)]
    pub path: Option<String>,
    /// Stages to try instead of those of the job.
    #[serde(default)]
    pub stages: Option<Vec<StageSettings>>,
    /// Outputs with their places behind these stages, instead of those of the job.
    #[serde(default)]
    pub outputs: Option<Vec<GivenOutput>>,
}

/// What stages made of a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TriedStages {
    /// What each made of it.
    #[serde(flatten)]
    pub line: TriedLine,
    /// As the source gave it; none for what is in a document.
    pub arrived: Option<Seen>,
    /// For each of the stages the place of the one that it comes after; none is the source.
    pub places: Vec<Option<usize>>,
}

/// What stages made of a document, as the command line writes it with `--json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TriedLine {
    /// Name of the job.
    pub job: String,
    /// Name of the document there.
    pub document: String,
    /// Where a person finds it.
    pub uri: String,
    /// What each made of it, as far as they came.
    pub stages: Vec<TriedStage>,
    /// Which outputs get it, where stages or outputs have conditions or places of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<TriedOutput>,
    /// The stage that failed.
    pub failed: Option<FailedStage>,
    /// Who may see it.
    pub access: TriedAccess,
}

/// What one stage made of a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TriedStage {
    /// Kind of the stage.
    pub transform: String,
    /// What has become of the document.
    pub verdict: Verdict,
    /// Why it was left out, or could not be read.
    pub reason: Option<Why>,
    /// As it was before the stage.
    pub before: Option<Seen>,
    /// As it is after it.
    pub after: Option<Seen>,
    /// What it comes after, where that is not the stage just above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comes_after: Option<String>,
}

/// What arrives at one output.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TriedOutput {
    /// Its name.
    pub output: String,
    /// The stages on the way to it, each with its condition.
    pub way: String,
    /// Whether it gets an entry of the document itself.
    pub gets: bool,
    /// Why it gets none, or why the content is not in it.
    pub reason: Option<Why>,
}

/// What has become of a document after a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing of that name was found so far.
    Absent,
    /// This stage found it.
    Found,
    /// It was passed on.
    Pass,
    /// Only what is in it is left.
    PartsOnly,
    /// It was declined.
    Decline,
    /// It could not be read.
    Unreadable,
}

/// Stable word and sentence.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CodeAndSentence")]
pub struct Why {
    /// The word.
    pub code: String,
    /// The sentence.
    pub message: String,
}

/// The stage that failed, and why.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FailedStage {
    /// Kind of the stage; none when the content could not be read to its end behind the last one.
    pub transform: Option<String>,
    /// Stable word.
    pub code: String,
    /// Sentence for a person.
    pub message: String,
}

/// Who may see a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TriedAccess {
    /// As the source says.
    #[schemars(schema_with = "schema::object")]
    pub source: Acl,
    /// As the stages leave it.
    #[schemars(schema_with = "schema::object")]
    pub given: Acl,
}

/// A document between two stages.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    /// Its record.
    #[serde(flatten)]
    pub record: RecordSeen,
    /// What was found in it, as far as it is shown.
    pub parts: Vec<SeenPart>,
    /// How many there are.
    pub parts_count: usize,
    /// Not all that is in it could be found.
    pub parts_incomplete: bool,
}

/// A record without its text; times are milliseconds since 1970 UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RecordSeen {
    /// Title; empty when there is none.
    pub title: String,
    /// Path as shown to people.
    pub path: String,
    /// Media type.
    pub media_type: Option<String>,
    /// Language of the text.
    pub language: Option<String>,
    /// Author or owner.
    pub author: Option<String>,
    /// Size of the original, bytes.
    pub size: Option<u64>,
    /// Last change.
    pub modified: Option<i64>,
    /// When it was made.
    pub created: Option<i64>,
    /// Everything else, by name.
    pub fields: BTreeMap<String, Vec<String>>,
    /// Length of its text; none when there is none.
    pub characters: Option<usize>,
    /// First words of its text, in one line.
    pub beginning: Option<String>,
}

/// Something in a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SeenPart {
    /// It was read.
    Read {
        /// Its record.
        #[serde(flatten)]
        record: Box<RecordSeen>,
        /// Its name inside the document.
        name: String,
    },
    /// It was not.
    Unread {
        /// Its name inside the document.
        name: String,
        /// Why.
        reason: String,
    },
}

fn try_stages(context: &Context<'_>, caller: &Caller<'_>, request: TryStages) -> Result<TriedStages> {
    let reader = context.existing()?;
    let job = named(&reader, &request.job)?;
    let engine = context.engine(reader, None, &journals(&job.definition));
    let mut definition = job.definition.clone();
    let (stages, to) = (request.stages.as_deref(), request.outputs.as_deref());
    refuse_of_the_machine(caller.places, &context.registry, Some(&job), stages)?;
    super::with_pipeline(&context.registry, &mut definition, stages, to)
        .map_err(|why| Problem::new(Code::Definition, why))?;
    let typed = (request.document, request.path);
    let lookup = Lookup::of(&engine, std::slice::from_ref(&job), caller, typed)?;
    let trial = engine.try_stages(&job, &definition, &lookup.text)?;
    Ok(tried(job.name, &definition, trial))
}

fn tried(job: String, definition: &Definition, trial: Trial) -> TriedStages {
    let stages = &definition.stages;
    let failed = trial.fault.map(|Reason { code, message }| {
        let transform = stages.get(trial.steps.len()).map(|stage| stage.transform.clone());
        FailedStage { transform, code, message }
    });
    let arrived = trial.arrived.map(Seen::from);
    let mut tried: Vec<TriedStage> = Vec::new();
    for (step, place) in trial.steps.into_iter().zip(&trial.after) {
        let after = step.seen.map(Seen::from);
        let before = place.map_or(&arrived, |at| &tried[at].after).clone();
        // Of a list everybody knows what comes after what.
        let is_next = *place == tried.len().checked_sub(1);
        let (verdict, reason) = match step.fate {
            Fate::Absent => (Verdict::Absent, None),
            Fate::Found => (Verdict::Found, None),
            Fate::Passed => (Verdict::Pass, None),
            Fate::PartsOnly => (Verdict::PartsOnly, None),
            Fate::Declined(reason) => (Verdict::Decline, Some(reason)),
            Fate::Unreadable(reason) => (Verdict::Unreadable, Some(reason)),
        };
        let reason = reason.map(|Reason { code, message }| Why { code, message });
        tried.push(TriedStage {
            transform: step.transform,
            verdict,
            reason,
            before,
            after,
            comes_after: (!is_next).then(|| place.map_or(SOURCE, |at| stages[at].called()).to_owned()),
        });
    }
    let [source, given] = trial.access;
    let access = TriedAccess { source, given };
    let exits = trial.exits.into_iter().filter_map(|exit| {
        let (gets, reason) = match exit.fate {
            Fate::Found | Fate::Passed => (true, None),
            Fate::Unreadable(reason) => (true, Some(reason)),
            Fate::Declined(reason) => (false, Some(reason)),
            Fate::Absent | Fate::PartsOnly => (false, None),
        };
        let reason = reason.map(|Reason { code, message }| Why { code, message });
        Some(TriedOutput { way: super::way_to(definition, &exit.output)?, output: exit.output, gets, reason })
    });
    let outputs = exits.collect();
    let (document, uri) = (trial.document, trial.uri);
    let line = TriedLine { job, document, uri, stages: tried, outputs, failed, access };
    TriedStages { line, arrived, places: trial.after }
}

impl From<trial::Seen> for Seen {
    fn from(seen: trial::Seen) -> Seen {
        let parts = seen.parts.into_iter().map(|part| match part.found {
            Ok((record, text)) => {
                SeenPart::Read { record: Box::new(record_seen(record, text)), name: part.name }
            }
            Err(reason) => SeenPart::Unread { name: part.name, reason: reason.message },
        });
        Seen {
            parts: parts.collect(),
            record: record_seen(seen.record, seen.text),
            parts_count: seen.parts_count,
            parts_incomplete: seen.incomplete,
        }
    }
}

fn record_seen(record: Record, text: Option<SeenText>) -> RecordSeen {
    let (characters, beginning) = text.map(|text| (text.characters, text.beginning)).unzip();
    RecordSeen {
        title: record.title,
        path: record.path,
        media_type: record.media_type,
        language: record.language,
        author: record.author,
        size: record.size,
        modified: record.modified,
        created: record.created,
        fields: record.fields,
        characters,
        beginning,
    }
}
