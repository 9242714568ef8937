//! What would change of a job that is stored.

use ingather_contract::registry::Registry;
use ingather_contract::secrets::Place;
use ingather_model::guard::Guard;
use ingather_model::job::dates::DateRules;
use ingather_model::job::notify::Notify;
use ingather_model::job::schedule::Schedule;
use ingather_model::job::{ContentBy, Definition, Keep};
use serde_json::{Value, json};

use super::wanted::Wanted;
use crate::connections::Sources;
use crate::jobs::KeepWord;
use crate::{in_words, pipeline};

/// What changes of a job that is stored, a clause for each setting, as they are typed; nothing for one that is new.
pub(crate) fn differences(registry: &Registry, wanted: &Wanted) -> Vec<String> {
    let Some(stored) = &wanted.stored else { return Vec::new() };
    let (old, new) = (&stored.definition, &wanted.definition);
    let mut found = Vec::new();
    let settings = |definition: &Definition| definition.source.as_object().cloned().unwrap_or_default();
    let (before, after) = (settings(old), settings(new));
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let kind = registry.repository(Sources::of_root(&wanted.root).connector);
    let source = kind.map(|kind| (kind.source_schema)());
    for name in names {
        let (a, b) = (before.get(name), after.get(name));
        if a != b {
            let place = source.as_ref().map(|schema| Place::of(schema).field(name));
            let shown = |value: Option<&Value>| Some(place.as_ref()?.hidden(value?.clone()));
            found.push(match &place {
                Some(place) if !place.is_secret() => difference(name, shown(a).as_ref(), shown(b).as_ref()),
                _ => format!("{} differs", name.replace('_', "-")),
            });
        }
    }
    if old.outputs != new.outputs {
        found.push(format!("to: {} → {}", old.outputs.join(", "), new.outputs.join(", ")));
    }
    if old.stages != new.stages {
        found.push(format!("pipeline: {}", pipeline::differences(registry, &old.stages, &new.stages)));
    }
    found.extend(pipeline::route_differences(&old.routes, &new.routes));
    if old.compare_content != new.compare_content {
        let word = |on: bool| if on { "on" } else { "off" };
        found.push(format!("compare-content: {} → {}", word(old.compare_content), word(new.compare_content)));
    }
    if old.content_by != new.content_by {
        let word = |by: ContentBy| if by == ContentBy::Read { "read" } else { "times" };
        found.push(format!("content-by: {} → {}", word(old.content_by), word(new.content_by)));
    }
    let word = |keep: Keep| KeepWord::from(keep).as_str();
    if old.keep != new.keep {
        found.push(format!("keep: {} → {}", word(old.keep), word(new.keep)));
    }
    if old.delete_guard != new.delete_guard {
        found.push(format!("delete-guard: {} → {}", guard(old.delete_guard), guard(new.delete_guard)));
    }
    if old.hops != new.hops {
        found.push(format!("hops: {} → {}", old.hops.describe(), new.hops.describe()));
    }
    if old.priority != new.priority {
        found.push(format!("priority: {} → {}", old.priority.number(), new.priority.number()));
    }
    if old.history != new.history {
        found.push(format!("history: {} → {}", old.history.describe(), new.history.describe()));
    }
    found.extend(date_differences(old.dates, new.dates));
    if old.notify != new.notify {
        let words = |all: &[Notify]| match all.is_empty() {
            true => "none".to_owned(),
            false => all.iter().map(Notify::describe).collect::<Vec<_>>().join(" "),
        };
        found.push(format!("notify: {} → {}", words(&old.notify), words(&new.notify)));
    }
    if old.schedule != new.schedule {
        let words =
            |schedule: &Option<Schedule>| schedule.as_ref().map_or("none".to_owned(), Schedule::describe);
        found.push(format!("schedule: {} → {}", words(&old.schedule), words(&new.schedule)));
    }
    found
}

fn guard(guard: Guard) -> String {
    match guard {
        Guard::Off => "off".to_owned(),
        Guard::Limits { percent, documents } => format!("{percent} % and {documents}"),
    }
}

/// How it goes by the dates of documents, before and after.
fn date_differences(old: DateRules, new: DateRules) -> Option<String> {
    (old != new).then(|| format!("dates: {} → {}", old.describe(), new.describe()))
}

/// An entry of a list; of one with settings of its own that it is there, for a secret may be among them.
fn item(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) => "{…}".to_owned(),
        other => other.to_string(),
    }
}

/// One setting of the source as it is typed, before and after.
fn difference(name: &str, before: Option<&Value>, after: Option<&Value>) -> String {
    if name == "other_devices" {
        // Said by a flag of the opposite meaning.
        let word = |value: Option<&Value>| if value == Some(&json!(false)) { "on" } else { "off" };
        return format!("one-file-system: {} → {}", word(before), word(after));
    }
    let word = |value: Option<&Value>| match value {
        None | Some(Value::Null) => "none".to_owned(),
        Some(Value::Bool(on)) => if *on { "on" } else { "off" }.to_owned(),
        Some(Value::Array(values)) => values.iter().map(item).collect::<Vec<_>>().join(", "),
        Some(Value::Number(bytes)) if name == "size_max" => {
            bytes.as_u64().map_or_else(|| bytes.to_string(), in_words::bytes)
        }
        Some(other) => other.as_str().map_or_else(|| other.to_string(), str::to_owned),
    };
    format!("{}: {} → {}", name.replace('_', "-"), word(before), word(after))
}
