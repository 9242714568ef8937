//! Pipelines as they are asked for, read into those of a definition: every refusal names the stage or the output, and the place in a
//! condition.

use std::collections::BTreeMap;

use ingather_contract::registry::Registry;
use ingather_model::job::condition::Condition;
use ingather_model::job::{Definition, Route, Stage};
use ingather_model::limits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Stages that read the content of a document: a second one would find it read, and take the text away.
pub const READING: [&str; 3] = ["text", "tika", "ocr"];

/// A stage of a pipeline, as it is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageSettings {
    /// Kind of the transform.
    pub transform: String,
    /// Its settings.
    #[serde(default = "none")]
    pub settings: Value,
    /// What others call it that come after it; without one, the kind of its transform.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The stage that it comes after, which stands above it, or `source`; without one, that just above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Which documents get into it, and so to all that comes after it: a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Value>,
}

/// An output, as it is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum GivenOutput {
    /// Its name. It keeps its place in the pipeline, which is behind the last stage for one that is new.
    Name(String),
    /// Its name, and where it comes in the pipeline.
    Routed(RoutedOutput),
}

/// An output and where it comes in a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutedOutput {
    /// Name of the output.
    pub output: String,
    /// The stage that it comes after, or `source`; without one, the last of the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Which documents it gets of those: a condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Value>,
}

/// Settings that are not given are none.
fn none() -> Value {
    json!({})
}

/// Stages, each checked by its transform, and how many of them read documents.
///
/// # Errors
/// A sentence that says what is wrong, and with which stage.
pub fn stages(
    registry: &Registry,
    given: &[StageSettings],
) -> std::result::Result<(Vec<Stage>, usize), String> {
    if given.len() > limits::STAGES_MAX {
        return Err(format!("it has {} stages; the most are {}", given.len(), limits::STAGES_MAX));
    }
    let reading = given.iter().filter(|stage| READING.contains(&stage.transform.as_str())).count();
    if reading > 1 {
        let names = READING.join(" and ");
        return Err(format!(
            "only one stage can read a document, and of {names} there are {reading}; leave one"
        ));
    }
    let mut stages = Vec::with_capacity(given.len());
    for (place, stage) in given.iter().enumerate() {
        stages.push(one(registry, stage).map_err(|why| format!("stage {}: {why}", place + 1))?);
    }
    Ok((stages, reading))
}

fn one(registry: &Registry, given: &StageSettings) -> std::result::Result<Stage, String> {
    let StageSettings { transform, settings, name, after, when } = given.clone();
    let Some(kind) = registry.transform(&transform) else {
        return Err(super::no_such_stage(registry, &transform));
    };
    (kind.open)(&settings).map_err(|fault| {
        let why = fault.reason().message;
        format!("{transform}: {why}; see `ingather pipeline stages {transform}`")
    })?;
    let when = condition(when.as_ref()).map_err(|why| format!("{transform}: {why}"))?;
    Ok(Stage { transform, settings, name, after, when })
}

fn condition(given: Option<&Value>) -> std::result::Result<Option<Condition>, String> {
    given.map(Condition::read).transpose()
}

/// Outputs of a definition, each once, and their routes; an output that is only named keeps what `routes` says of it.
///
/// # Errors
/// A sentence that says what is wrong, and with which output.
pub(crate) fn outputs(
    given: &[GivenOutput],
    routes: &BTreeMap<String, Route>,
) -> std::result::Result<(Vec<String>, BTreeMap<String, Route>), String> {
    let (mut names, mut kept) = (Vec::new(), BTreeMap::new());
    for output in given {
        let (name, route) = match output {
            GivenOutput::Name(name) => (name, routes.get(name).cloned().unwrap_or_default()),
            GivenOutput::Routed(RoutedOutput { output, after, when }) => {
                let when = condition(when.as_ref()).map_err(|why| format!("output `{output}`: {why}"))?;
                (output, Route { after: after.clone(), when })
            }
        };
        let before: Option<&Route> = kept.get(name);
        match names.contains(name) {
            // Said twice is meant once.
            true if before.is_none_or(Route::is_plain) && route.is_plain() || before == Some(&route) => {}
            true => return Err(format!("output `{name}` is named twice; an output comes in one place")),
            false => {
                names.push(name.clone());
                kept.insert(name.clone(), route);
            }
        }
    }
    kept.retain(|_, route| !route.is_plain());
    Ok((names, kept))
}

/// A definition with another pipeline: other stages take the places of its outputs away, and other outputs keep those of the ones that
/// stay.
///
/// # Errors
/// A sentence that says what is wrong, and with which stage or output.
pub(crate) fn with_pipeline(
    registry: &Registry,
    definition: &mut Definition,
    given: Option<&[StageSettings]>,
    to: Option<&[GivenOutput]>,
) -> std::result::Result<(), String> {
    if let Some(given) = given {
        definition.stages = stages(registry, given)?.0;
        definition.routes.clear();
    }
    if let Some(to) = to {
        (definition.outputs, definition.routes) = outputs(to, &definition.routes)?;
    }
    definition.tree().map(drop)
}

/// The way to an output through a pipeline that is no plain list, in words; none of one that is.
pub fn way_to(definition: &Definition, output: &str) -> Option<String> {
    let branches = definition.stages.iter().any(|stage| stage.after.is_some() || stage.when.is_some());
    if !branches && definition.routes.is_empty() {
        return None;
    }
    let tree = definition.tree().ok()?;
    let at = definition.outputs.iter().position(|name| name == output)?;
    let gate = |when: Option<&Condition>| when.map_or(String::new(), |when| format!("[{when}] "));
    let mut way = vec!["source".to_owned()];
    for place in tree.path(tree.outputs[at]) {
        let stage = &definition.stages[place];
        way.push(format!("{}{}", gate(stage.when.as_ref()), stage.called()));
    }
    let when = definition.routes.get(output).and_then(|route| route.when.as_ref());
    way.push(format!("{}{output}", gate(when)));
    Some(way.join(" → "))
}
