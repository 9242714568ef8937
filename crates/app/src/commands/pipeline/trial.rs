//! `ingather pipeline try`: what each stage makes of a document, or of something in one.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use ingather_operations::pipeline::{
    CONDITION, GivenOutput, RecordSeen, Seen, SeenPart, TRY, TriedAccess, TriedStages, TryStages, Verdict,
};

use super::super::lookup;
use super::read;
use crate::arguments::Global;
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

/// Parts of a document that are shown to people after a stage.
const PARTS_SHOWN: usize = 20;

pub(super) fn run(global: &Global, job: String, typed: &OsStr, file: Option<&Path>) -> Result<u8> {
    let pipeline = file.map(read).transpose()?.unwrap_or_default();
    let outputs = pipeline.outputs.map(|outputs| outputs.into_iter().map(GivenOutput::Routed).collect());
    let program = Program::of(global)?;
    let (document, path) = lookup::typed(typed);
    let request = TryStages { job, document, path, stages: pipeline.stages, outputs };
    let trial = TRY.call(&program.context(), &caller(), request)?;
    if global.json {
        show::answer(&trial.line);
    } else {
        tell(&trial);
    }
    Ok(if trial.line.failed.is_some() { exit::HAS_FAILURES } else { exit::DONE })
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
    add("text", text_in_words(record));
    for (name, values) in &record.fields {
        add(&format!("field {name}"), Some(values.join(", ")));
    }
    for part in seen.parts.iter().take(PARTS_SHOWN) {
        match part {
            SeenPart::Read { record, name } => {
                let kind = record.media_type.as_deref().unwrap_or("no media type");
                let text = text_in_words(record).map_or(String::new(), |text| format!(", {text}"));
                add(&format!("part {name}"), Some(format!("{kind}{text}")));
            }
            SeenPart::Unread { name, reason } => add(&format!("part {name}"), Some(reason.clone())),
        }
    }
    if seen.parts_count > PARTS_SHOWN {
        add("parts", Some(format!("{} in all", seen.parts_count)));
    }
    facts
}

fn text_in_words(record: &RecordSeen) -> Option<String> {
    let (characters, beginning) = (record.characters?, record.beginning.as_ref()?);
    Some(format!("{} characters: {beginning}", show::number(characters as u64)))
}

fn tell(trial: &TriedStages) {
    show::line(&format!("{}  {}", trial.line.document, trial.line.uri));
    if let Some(arrived) = &trial.arrived {
        show::line("from the source");
        for (name, value) in &facts(arrived) {
            show::line(&format!("    {name}: {value}"));
        }
    }
    let mut over: Vec<bool> = Vec::new();
    for (place, stage) in trial.line.stages.iter().enumerate() {
        let reason = stage.reason.as_ref().map(|reason| reason.message.as_str()).unwrap_or_default();
        let was_over = trial.places[place].is_some_and(|before| over[before]);
        let is_kept_out = stage.reason.as_ref().is_some_and(|reason| reason.code == CONDITION);
        let word = match stage.verdict {
            verdict if was_over && verdict != Verdict::Pass => "does not get it".to_owned(),
            Verdict::Absent => "has not found it".to_owned(),
            Verdict::Found => "finds it".to_owned(),
            Verdict::Pass => "passes it on".to_owned(),
            Verdict::PartsOnly => "leaves only what is in it".to_owned(),
            Verdict::Decline if is_kept_out => format!("does not get it: {reason}"),
            Verdict::Decline => format!("filters it out: {reason}"),
            Verdict::Unreadable => format!("cannot read it: {reason}"),
        };
        over.push(was_over || !matches!(stage.verdict, Verdict::Absent | Verdict::Found | Verdict::Pass));
        let after = stage.comes_after.as_ref().map_or(String::new(), |after| format!(" (after {after})"));
        show::line(&format!("{} {}{after}: {word}", place + 1, stage.transform));
        let of = |seen: &Option<Seen>| seen.as_ref().map(facts).unwrap_or_default();
        tell_changes(&of(&stage.before), &of(&stage.after));
    }
    for output in &trial.line.outputs {
        let word = match (output.gets, &output.reason) {
            (true, None) => "gets it".to_owned(),
            (true, Some(reason)) => format!("gets it without its content: {}", reason.message),
            (false, None) => "does not get it".to_owned(),
            (false, Some(reason)) => format!("does not get it: {}", reason.message),
        };
        show::line(&format!("output {}: {word}", output.output));
        show::line(&format!("    {}", output.way));
    }
    if let Some(failed) = &trial.line.failed {
        let stage = failed.transform.as_deref().unwrap_or("reading");
        show::line(&format!("{} {stage}: fails: {}", trial.line.stages.len() + 1, failed.message));
    }
    let TriedAccess { source, given } = &trial.line.access;
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
