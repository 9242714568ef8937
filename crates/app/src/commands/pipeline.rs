//! `ingather pipeline …` and the files that name the stages of a job (`docs/manual/pipeline.md`).

mod stages;
mod trial;

use std::io::Read as _;
use std::path::Path;

use ingather_model::limits;
use ingather_operations::pipeline::{self, RoutedOutput, StageSettings};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{Global, Pipeline};
use crate::exit::{Failure, Result};
use crate::show;

pub(crate) fn run(global: &Global, command: Pipeline) -> Result<u8> {
    match command {
        Pipeline::Try { job, document, pipeline } => trial::run(global, job, &document, pipeline.as_deref()),
        Pipeline::Stages { stage } => stages::run(global, stage),
    }
}

/// A pipeline as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    stages: Vec<GivenStage>,
    outputs: Option<Vec<RoutedOutput>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GivenStage {
    transform: String,
    #[serde(default)]
    settings: Value,
    name: Option<String>,
    after: Option<String>,
    when: Option<Value>,
}

/// What a file says of the pipeline of a job, or nothing.
#[derive(Default)]
pub(super) struct PipelineFile {
    pub(super) stages: Option<Vec<StageSettings>>,
    /// Where outputs come, if it says that.
    pub(super) outputs: Option<Vec<RoutedOutput>>,
}

/// The pipeline that a file describes, each stage checked by its transform.
pub(super) fn read(file: &Path) -> Result<PipelineFile> {
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
    let given: Given = ingather_contract::settings::form(&value).map_err(|why| {
        wrong(format!(
            "{why}; each stage is `transform` with `settings`, in a list `stages`; each of `outputs` has its name in `output`"
        ))
    })?;
    let stages: Vec<StageSettings> = given.stages.into_iter().map(StageSettings::from).collect();
    if pipeline::stages(&ingather_connectors::ALL, &stages).map_err(wrong)?.1 == 0 {
        show::stderr(&format!(
            "ingather: {}: no stage reads documents ({}): they are found by their names and fields alone",
            file.display(),
            pipeline::READING.join(" or ")
        ));
    }
    Ok(PipelineFile { stages: Some(stages), outputs: given.outputs })
}

impl From<GivenStage> for StageSettings {
    fn from(GivenStage { transform, settings, name, after, when }: GivenStage) -> StageSettings {
        let settings = if settings.is_null() { json!({}) } else { settings };
        StageSettings { transform, settings, name, after, when }
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
