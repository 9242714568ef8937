//! Pipelines: the stages between a source and its outputs, which there are, and what they make of one document.

mod differences;
mod given;
mod trial;

pub(crate) use differences::{differences, route_differences};
pub(crate) use given::with_pipeline;
pub use given::{GivenOutput, READING, RoutedOutput, StageSettings, stages, way_to};
pub use trial::{
    FailedStage, RecordSeen, Seen, SeenPart, TRY, TriedAccess, TriedOutput, TriedStage, TriedStages,
    TryStages, Verdict, Why,
};

use ingather_contract::registry::Registry;
use ingather_model::job::Stage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::{Caller, Context};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};

/// Code of the reason why a condition keeps something out.
pub const CONDITION: &str = ingather_engine::inspect::trial::CONDITION;
/// Characters of the settings of a stage that an answer shows.
const SETTINGS_SHOWN: usize = 1_000;

/// What stages there are, or one, with their settings.
pub static STAGES: Answering<ListStages, StageList> = Answering {
    operation: Operation {
        name: "pipeline.stages",
        summary: "What stages there are, or one, with the schema of their settings.",
        request: Shape::of::<ListStages>("ListStages", &[r#"{"stage": "allow"}"#]),
        item: None,
        answer: Shape::of::<StageList>(
            "StageList",
            &[r#"{"stages": [{"name": "text", "about": "Reads text.", "settings": {"type": "object"}}]}"#],
        ),
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
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StageList {
    /// The stages.
    pub stages: Vec<StageKind>,
}

/// A kind of stage.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StageKind {
    /// Its name.
    pub name: String,
    /// What it does.
    pub about: String,
    /// JSON Schema of its settings.
    pub settings: Value,
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
