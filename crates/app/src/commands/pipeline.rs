//! `ingather pipeline …` and the files that name the stages of a job (`docs/manual/pipeline.md`).

mod differences;
mod stages;
mod trial;

pub(super) use differences::differences;

use std::io::Read as _;
use std::path::Path;

use ingather_model::job::Stage;
use ingather_model::limits;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{Global, Pipeline};
use crate::exit::{Failure, Result};
use crate::show::{self, secrets};

/// Characters of the settings of a stage that an answer shows.
const SETTINGS_SHOWN: usize = 1_000;
/// Stages that read the content of a document: a second one would find it read, and take the text away.
const READING: [&str; 3] = ["text", "tika", "ocr"];

pub(crate) fn run(global: &Global, command: Pipeline) -> Result<u8> {
    match command {
        Pipeline::Try { job, document, pipeline } => trial::run(global, &job, &document, pipeline.as_deref()),
        Pipeline::Stages { stage } => stages::run(global, stage.as_deref()),
    }
}

/// A pipeline as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    stages: Vec<GivenStage>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenStage {
    transform: String,
    #[serde(default)]
    settings: Value,
}

/// The stages that a file names, each checked by its transform.
pub(super) fn read(file: &Path) -> Result<Vec<Stage>> {
    let wrong = |why: String| Failure::usage(format!("{}: {why}", file.display()));
    let mut text = String::new();
    let unread = |error: std::io::Error| {
        wrong(format!("it cannot be read: {}; name a text file with stages", crate::exit::in_words(&error)))
    };
    let opened = std::fs::File::open(file).map_err(unread)?;
    opened.take(limits::PIPELINE_FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(unread)?;
    if text.len() as u64 > limits::PIPELINE_FILE_BYTES_MAX {
        return Err(wrong(format!("it has more than {} bytes", limits::PIPELINE_FILE_BYTES_MAX)));
    }
    let extension = file.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let value = match extension.as_deref() {
        Some("json") => serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?,
        Some("toml") => {
            let table: toml::Table = toml::from_str(&text).map_err(|error| {
                let line = error.span().map_or(1, |span| text[..span.start].lines().count().max(1));
                wrong(format!("{} at line {line}", error.message().replace('\n', " ")))
            })?;
            json_of(toml::Value::Table(table))
        }
        _ => return Err(wrong("a pipeline is a file that ends with .json or .toml".to_owned())),
    };
    let value = if value.is_array() { json!({ "stages": value }) } else { value };
    let given: Given = serde_json::from_value(value).map_err(|error| {
        wrong(format!(
            "{}; each stage is `transform` with `settings`, in a list `stages`",
            ingather_contract::settings::in_words(&error.to_string())
        ))
    })?;
    if given.stages.len() > limits::STAGES_MAX {
        return Err(wrong(format!(
            "it has {} stages; the most are {}",
            given.stages.len(),
            limits::STAGES_MAX
        )));
    }
    let reading = given.stages.iter().filter(|stage| READING.contains(&stage.transform.as_str())).count();
    if reading > 1 {
        let names = READING.join(" and ");
        return Err(wrong(format!(
            "only one stage can read a document, and of {names} there are {reading}; leave one"
        )));
    }
    let stages = given.stages.into_iter().enumerate();
    let checked: Vec<Stage> = stages
        .map(|(place, stage)| checked(stage).map_err(|why| wrong(format!("stage {}: {why}", place + 1))))
        .collect::<Result<_>>()?;
    if reading == 0 {
        show::stderr(&format!(
            "ingather: {}: no stage reads documents ({}): they are found by their names and fields alone",
            file.display(),
            READING.join(" or ")
        ));
    }
    Ok(checked)
}

fn checked(stage: GivenStage) -> std::result::Result<Stage, String> {
    let GivenStage { transform, settings } = stage;
    let settings = if settings.is_null() { json!({}) } else { settings };
    let Some(kind) = ingather_connectors::ALL.transform(&transform) else {
        let names: Vec<&str> = ingather_connectors::TRANSFORMS.iter().map(|kind| kind.name).collect();
        return Err(format!("there is no transform `{transform}`; there is {}", names.join(", ")));
    };
    match (kind.open)(&settings) {
        Ok(_) => Ok(Stage { transform, settings }),
        Err(fault) => {
            let why = fault.reason().message;
            Err(format!("{transform}: {why}; see `ingather pipeline stages {transform}`"))
        }
    }
}

/// Dates of TOML are text in settings.
fn json_of(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(list) => list.into_iter().map(json_of).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(name, value)| (name, json_of(value))).collect(),
    }
}

/// Stages as one line; settings that are not the default ones with them.
pub(super) fn in_words(stages: &[Stage]) -> String {
    let one = |stage: &Stage| match &stage.settings {
        Value::Null => stage.transform.clone(),
        Value::Object(settings) if settings.is_empty() => stage.transform.clone(),
        settings => {
            let text: String =
                secrets::hidden(settings.clone()).to_string().chars().take(SETTINGS_SHOWN).collect();
            format!("{} {text}", stage.transform)
        }
    };
    match stages {
        [] => "none".to_owned(),
        stages => stages.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}
