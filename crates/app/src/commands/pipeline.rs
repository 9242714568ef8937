//! `ingather pipeline …` and the files that name the stages of a job (`docs/manual/pipeline.md`).

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use ingather_connector::model::document::Record;
use ingather_connector::model::job::Stage;
use ingather_connector::model::limits;
use ingather_connector::transform::Verdict;
use ingather_engine::inspect::trial::{Seen, SeenText, Trial};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{job_named, repository_kind};
use crate::arguments::{Global, Pipeline};
use crate::data::DataDirectory;
use crate::exit::{self, Failure, Result};
use crate::{show, wiring};

/// Characters of the settings of a stage that an answer shows.
const SETTINGS_SHOWN: usize = 1_000;
/// Stages that read the content of a document: a second one would find it read, and take the text away.
const READING: [&str; 2] = ["text", "tika"];
/// Parts of a document that are shown to people after a stage.
const PARTS_SHOWN: usize = 20;

pub(crate) fn run(global: &Global, command: Pipeline) -> Result<u8> {
    match command {
        Pipeline::Try { job, document, pipeline } => try_one(global, &job, &document, pipeline.as_deref()),
        Pipeline::Stages { stage } => stages(global, stage.as_deref()),
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
    let opened = std::fs::File::open(file).map_err(|error| wrong(error.to_string()))?;
    opened
        .take(limits::PIPELINE_FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| wrong(error.to_string()))?;
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
        wrong(format!("{error}; each stage is `transform` with `settings`, in a list `stages`"))
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
            let text: String = settings.to_string().chars().take(SETTINGS_SHOWN).collect();
            format!("{} {text}", stage.transform)
        }
    };
    match stages {
        [] => "none".to_owned(),
        stages => stages.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

/// What stages there are, or one with its settings.
fn stages(global: &Global, name: Option<&str>) -> Result<u8> {
    let chosen: Vec<_> = ingather_connectors::TRANSFORMS
        .iter()
        .filter(|kind| name.is_none_or(|name| name == kind.name))
        .collect();
    if let (Some(name), true) = (name, chosen.is_empty()) {
        let stage = GivenStage { transform: name.to_owned(), settings: Value::Null };
        return Err(Failure::usage(checked(stage).err().unwrap_or_default()));
    }
    for kind in chosen {
        let schema = (kind.schema)().to_value();
        if global.json {
            show::line(&json!({"name": kind.name, "about": kind.about, "settings": schema}).to_string());
            continue;
        }
        show::line(&format!("{:<10} {}", kind.name, kind.about));
        for (setting, of) in schema["properties"].as_object().filter(|_| name.is_some()).into_iter().flatten()
        {
            let words: Vec<&str> =
                of["description"].as_str().unwrap_or_default().split_whitespace().collect();
            let default = of.get("default").filter(|value| !value.is_null());
            let default = default.map_or(String::new(), |value| format!(" [default: {value}]"));
            show::line(&format!("  {setting}: {}{default}", words.join(" ")));
            for (word, about) in words_of(&schema, of) {
                show::line(&format!("    {word}: {about}"));
            }
        }
    }
    Ok(exit::DONE)
}

/// The words that a setting may be, each with what it means.
fn words_of(schema: &Value, setting: &Value) -> Vec<(String, String)> {
    let shape = setting["$ref"].as_str().and_then(|place| schema.pointer(place.trim_start_matches('#')));
    let variants = shape.and_then(|shape| shape["oneOf"].as_array()).into_iter().flatten();
    let told = variants.filter_map(|variant| {
        let about: Vec<&str> = variant["description"].as_str()?.split_whitespace().collect();
        Some((variant["const"].as_str()?.to_owned(), about.join(" ")))
    });
    told.collect()
}

fn try_one(global: &Global, job: &str, document: &str, file: Option<&Path>) -> Result<u8> {
    let given = file.map(read).transpose()?;
    let data = DataDirectory::of(global)?;
    let reader = data.existing()?;
    let job = job_named(&reader, job)?;
    let kind = repository_kind(&reader, &job)?;
    let engine = wiring::engine(global, &data, reader, None, &wiring::journals(&job.definition));
    wiring::readers(1);
    let stages = given.unwrap_or_else(|| job.definition.stages.clone());
    let trial = engine.try_stages(&job, &kind, &stages, document)?;
    if global.json {
        show::line(&as_json(&job.name, &stages, &trial).to_string());
    } else {
        tell(&stages, &trial);
    }
    Ok(if trial.fault.is_some() { exit::TROUBLED } else { exit::DONE })
}

fn as_json(job: &str, stages: &[Stage], trial: &Trial) -> Value {
    let mut before = seen_json(&trial.arrived);
    let mut steps = Vec::new();
    for step in &trial.steps {
        let after = seen_json(&step.seen);
        let (verdict, reason) = match &step.verdict {
            Verdict::Pass => ("pass", Value::Null),
            Verdict::PartsOnly => ("parts_only", Value::Null),
            Verdict::Decline(reason) => ("decline", json!({"code": reason.code, "message": reason.message})),
        };
        steps.push(json!({
            "transform": step.transform, "verdict": verdict, "reason": reason, "before": before, "after": after,
        }));
        before = after;
    }
    let failed = trial.fault.as_ref().map(|reason| {
        let stage = stages.get(trial.steps.len()).map(|stage| &stage.transform);
        json!({"transform": stage, "code": reason.code, "message": reason.message})
    });
    let [source, given] = &trial.access;
    json!({
        "job": job, "document": trial.document, "uri": trial.uri, "stages": steps, "failed": failed,
        "access": {"source": source, "given": given},
    })
}

fn seen_json(seen: &Seen) -> Value {
    let parts: Vec<Value> = seen
        .parts
        .iter()
        .map(|part| match &part.found {
            Ok((record, text)) => {
                let mut value = record_json(record, text.as_ref());
                value["name"] = part.name.clone().into();
                value
            }
            Err(reason) => json!({"name": part.name, "reason": reason.message}),
        })
        .collect();
    let mut value = record_json(&seen.record, seen.text.as_ref());
    value["parts"] = parts.into();
    value["parts_count"] = seen.parts_count.into();
    value["parts_incomplete"] = seen.incomplete.into();
    value
}

fn record_json(record: &Record, text: Option<&SeenText>) -> Value {
    json!({
        "title": record.title, "path": record.path, "media_type": record.media_type, "language": record.language,
        "author": record.author, "size": record.size, "modified": record.modified, "created": record.created,
        "fields": record.fields, "characters": text.map(|text| text.characters),
        "beginning": text.map(|text| &text.beginning),
    })
}

/// What there is to see of a document, by name: what differs between two stages is what the later one changed.
fn facts(seen: &Seen) -> BTreeMap<String, String> {
    let record = &seen.record;
    let mut facts = BTreeMap::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            facts.insert(name.to_owned(), value);
        }
    };
    add("title", Some(record.title.clone()).filter(|title| !title.is_empty()));
    add("author", record.author.clone());
    add("language", record.language.clone());
    add("media type", record.media_type.clone());
    add("size", record.size.map(|size| format!("{size} bytes")));
    add("modified", record.modified.map(show::time));
    add("created", record.created.map(show::time));
    add("text", seen.text.as_ref().map(text_in_words));
    for (name, values) in &record.fields {
        add(&format!("field {name}"), Some(values.join(", ")));
    }
    for part in seen.parts.iter().take(PARTS_SHOWN) {
        let told = match &part.found {
            Ok((record, text)) => format!(
                "{}{}",
                record.media_type.as_deref().unwrap_or("no media type"),
                text.as_ref().map_or(String::new(), |text| format!(", {}", text_in_words(text)))
            ),
            Err(reason) => reason.message.clone(),
        };
        add(&format!("part {}", part.name), Some(told));
    }
    if seen.parts_count > PARTS_SHOWN {
        add("parts", Some(format!("{} in all", seen.parts_count)));
    }
    facts
}

fn text_in_words(text: &SeenText) -> String {
    format!("{} characters: {}", show::number(text.characters as u64), text.beginning)
}

fn tell(stages: &[Stage], trial: &Trial) {
    show::line(&format!("{}  {}", trial.document, trial.uri));
    show::line("from the source");
    let mut before = facts(&trial.arrived);
    for (name, value) in &before {
        show::line(&format!("    {name}: {value}"));
    }
    let mut over = false;
    for (place, step) in trial.steps.iter().enumerate() {
        let word = match &step.verdict {
            _ if over => "does not get it".to_owned(),
            Verdict::Pass => "passes it on".to_owned(),
            Verdict::PartsOnly => "leaves only what is in it".to_owned(),
            Verdict::Decline(reason) => format!("declines it: {}", reason.message),
        };
        over |= step.verdict != Verdict::Pass;
        show::line(&format!("{} {}: {word}", place + 1, step.transform));
        let after = facts(&step.seen);
        tell_changes(&before, &after);
        before = after;
    }
    if let Some(reason) = &trial.fault {
        let place = trial.steps.len();
        let stage = stages.get(place).map_or("reading", |stage| stage.transform.as_str());
        show::line(&format!("{} {stage}: fails: {}", place + 1, reason.message));
    }
    let [source, given] = &trial.access;
    if source != given {
        show::line("access");
        show::line(&format!("  - {}", source.text()));
        show::line(&format!("  + {}", given.text()));
    }
}

fn tell_changes(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
    for (name, value) in before.iter().filter(|(name, _)| !after.contains_key(*name)) {
        show::line(&format!("  - {name}: {value}"));
    }
    for (name, value) in after {
        match before.get(name) {
            None => show::line(&format!("  + {name}: {value}")),
            Some(old) if old != value => {
                show::line(&format!("  - {name}: {old}"));
                show::line(&format!("  + {name}: {value}"));
            }
            Some(_) => {}
        }
    }
}
