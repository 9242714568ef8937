//! Pipelines: the stages between a source and its outputs, which there are, and what they make of one document.

mod differences;
mod trial;

pub(crate) use differences::differences;
pub use trial::{
    FailedStage, RecordSeen, Seen, SeenPart, TRY, TriedAccess, TriedStage, TriedStages, TryStages, Verdict,
    Why,
};

use ingather_contract::registry::Registry;
use ingather_model::job::Stage;
use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::context::{Caller, Context};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

/// Characters of the settings of a stage that an answer shows.
const SETTINGS_SHOWN: usize = 1_000;
/// Stages that read the content of a document: a second one would find it read, and take the text away.
pub const READING: [&str; 3] = ["text", "tika", "ocr"];

/// What stages there are, or one, with their settings.
pub static STAGES: Answering<ListStages, StageList> = Answering {
    operation: Operation {
        name: "pipeline.stages",
        summary: "What stages there are, or one, with the schema of their settings.",
        request: Shape::read::<ListStages>("ListStages"),
        item: None,
        answer: Shape::written::<StageList>("StageList"),
        example: r#"{"stage": "allow"}"#,
        role: Role::Operator,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/connectors/transforms"),
        words: Words::Are("pipeline stages"),
        tool: true,
        problems: &[Code::NoSuchConnector],
    },
    run: list,
};

/// Asks which stages there are.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListStages {
    /// Only this one.
    #[serde(default)]
    pub stage: Option<String>,
}

/// Stages; a line each where lines are wanted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StageList {
    /// The stages.
    pub stages: Vec<StageKind>,
}

/// A kind of stage.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StageKind {
    /// Its name.
    pub name: String,
    /// What it does.
    pub about: String,
    /// JSON Schema of its settings.
    pub settings: Value,
}

/// A stage of a pipeline, as it is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageSettings {
    /// Kind of the transform.
    pub transform: String,
    /// Its settings.
    #[serde(default = "none")]
    pub settings: Value,
}

impl From<StageSettings> for Stage {
    fn from(stage: StageSettings) -> Stage {
        Stage { transform: stage.transform, settings: stage.settings }
    }
}

impl From<Stage> for StageSettings {
    fn from(stage: Stage) -> StageSettings {
        StageSettings { transform: stage.transform, settings: stage.settings }
    }
}

fn list(context: &Context<'_>, _: &Caller<'_>, request: ListStages) -> Result<StageList> {
    let name = request.stage.as_deref();
    let chosen = context.registry.transforms.iter().filter(|kind| name.is_none_or(|name| name == kind.name));
    let stages: Vec<StageKind> = chosen
        .map(|kind| StageKind {
            name: kind.name.to_owned(),
            about: kind.about.to_owned(),
            settings: (kind.schema)().to_value(),
        })
        .collect();
    match name {
        Some(name) if stages.is_empty() => {
            Err(Problem::new(Code::NoSuchConnector, no_such_stage(&context.registry, name)))
        }
        _ => Ok(StageList { stages }),
    }
}

fn no_such_stage(registry: &Registry, name: &str) -> String {
    let names: Vec<&str> = registry.transforms.iter().map(|kind| kind.name).collect();
    format!("there is no transform `{name}`; there is {}", names.join(", "))
}

/// Refuses stages that cannot be a pipeline; how many of them read documents.
///
/// # Errors
/// A sentence that says what is wrong, and with which stage.
pub fn check(registry: &Registry, stages: &[StageSettings]) -> std::result::Result<usize, String> {
    if stages.len() > limits::STAGES_MAX {
        return Err(format!("it has {} stages; the most are {}", stages.len(), limits::STAGES_MAX));
    }
    let reading = stages.iter().filter(|stage| READING.contains(&stage.transform.as_str())).count();
    if reading > 1 {
        let names = READING.join(" and ");
        return Err(format!(
            "only one stage can read a document, and of {names} there are {reading}; leave one"
        ));
    }
    for (place, stage) in stages.iter().enumerate() {
        check_one(registry, stage).map_err(|why| format!("stage {}: {why}", place + 1))?;
    }
    Ok(reading)
}

fn check_one(registry: &Registry, stage: &StageSettings) -> std::result::Result<(), String> {
    let StageSettings { transform, settings } = stage;
    let Some(kind) = registry.transform(transform) else { return Err(no_such_stage(registry, transform)) };
    (kind.open)(settings).map(drop).map_err(|fault| {
        let why = fault.reason().message;
        format!("{transform}: {why}; see `ingather pipeline stages {transform}`")
    })
}

/// Settings that are not given are none.
fn none() -> Value {
    json!({})
}

/// Stages of a definition that was answered, so without secrets, as one line; settings that are not the default ones with them.
pub fn in_words(stages: &[Stage]) -> String {
    let one = |stage: &Stage| match &stage.settings {
        Value::Null => stage.transform.clone(),
        Value::Object(settings) if settings.is_empty() => stage.transform.clone(),
        settings => {
            let text: String = settings.to_string().chars().take(SETTINGS_SHOWN).collect();
            format!("{} {text}", stage.transform)
        }
    };
    match stages {
        [] => "none".to_owned(),
        stages => stages.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}
