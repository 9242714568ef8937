//! `ingather pipeline try`: what each stage makes of a document, or of something in one.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use ingather_engine::inspect::trial::{Fate, Seen, SeenText, Trial};
use ingather_model::document::Record;
use ingather_model::job::Stage;
use serde_json::{Value, json};

use super::super::job_named;
use super::super::lookup::Lookup;
use super::read;
use crate::arguments::Global;
use crate::data::DataDirectory;
use crate::exit::{self, Result};
use crate::{show, wiring};

/// Parts of a document that are shown to people after a stage.
const PARTS_SHOWN: usize = 20;

pub(super) fn run(global: &Global, job: &str, document: &OsStr, file: Option<&Path>) -> Result<u8> {
    let given = file.map(read).transpose()?;
    let data = DataDirectory::of(global)?;
    let reader = data.existing()?;
    let job = job_named(&reader, job)?;
    let engine = wiring::engine(global, &data, reader, None, &wiring::journals(&job.definition));
    let stages = given.unwrap_or_else(|| job.definition.stages.clone());
    let lookup = Lookup::of(&engine, std::slice::from_ref(&job), document)?;
    let trial = engine.try_stages(&job, &stages, &lookup.text)?;
    if global.json {
        show::json(&as_json(&job.name, &stages, &trial));
    } else {
        tell(&stages, &trial);
    }
    Ok(if trial.fault.is_some() { exit::TROUBLED } else { exit::DONE })
}

fn as_json(job: &str, stages: &[Stage], trial: &Trial) -> Value {
    let mut before = trial.arrived.as_ref().map_or(Value::Null, seen_json);
    let mut steps = Vec::new();
    for step in &trial.steps {
        let after = step.seen.as_ref().map_or(Value::Null, seen_json);
        let (verdict, reason) = match &step.fate {
            Fate::Absent => ("absent", None),
            Fate::Found => ("found", None),
            Fate::Passed => ("pass", None),
            Fate::PartsOnly => ("parts_only", None),
            Fate::Declined(reason) => ("decline", Some(reason)),
            Fate::Unreadable(reason) => ("unreadable", Some(reason)),
        };
        let reason = reason.map(|reason| json!({"code": reason.code, "message": reason.message}));
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
    let mut before = BTreeMap::new();
    if let Some(arrived) = &trial.arrived {
        show::line("from the source");
        before = facts(arrived);
        for (name, value) in &before {
            show::line(&format!("    {name}: {value}"));
        }
    }
    let mut over = false;
    for (place, step) in trial.steps.iter().enumerate() {
        let word = match &step.fate {
            _ if over && step.fate != Fate::Passed => "does not get it".to_owned(),
            Fate::Absent => "has not found it".to_owned(),
            Fate::Found => "finds it".to_owned(),
            Fate::Passed => "passes it on".to_owned(),
            Fate::PartsOnly => "leaves only what is in it".to_owned(),
            Fate::Declined(reason) => format!("filters it out: {}", reason.message),
            Fate::Unreadable(reason) => format!("cannot read it: {}", reason.message),
        };
        over |= !matches!(step.fate, Fate::Absent | Fate::Found | Fate::Passed);
        show::line(&format!("{} {}: {word}", place + 1, step.transform));
        let after = step.seen.as_ref().map(facts).unwrap_or_default();
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
