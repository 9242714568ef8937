//! The job that a `sync` speaks of: found or new, as it is stored and as the flags want it.

use std::path::{Path, PathBuf};

use ingather_engine::outputs;
use ingather_model::fault::Fault;
use ingather_model::guard::Guard;
use ingather_model::job::{ContentBy, Definition, Keep, Stage};
use ingather_store::connections::{self, Connection, Role};
use ingather_store::jobs::{self, Job};
use ingather_store::{Durability, Reader, Store, deliveries, documents};
use serde_json::{Value, json};

use super::FILES;
use super::source::escaped;
use crate::arguments::{ContentByWord, KeepWord, OnOff, Sync};
use crate::commands::pipeline;
use crate::exit::{Failure, Result};
use crate::{show, wiring};

/// Characters of a job's name.
const NAME_MAX: usize = 64;
/// Deliveries that are counted at once.
const HELD_PAGE: usize = 10_000;

/// The job that a command speaks of, as it is and as the flags want it.
pub(super) struct Wanted {
    pub(super) stored: Option<Job>,
    pub(super) definition: Definition,
    pub(super) root: String,
}

pub(super) fn find(reader: Option<&Reader>, sync: &Sync, root: &Path) -> Result<Wanted> {
    let root = escaped(root);
    let stored = match reader {
        Some(reader) => find_stored(reader, sync, &root)?,
        None => None,
    };
    let mut definition = match &stored {
        Some(job) => with_flags(job.definition.clone(), sync),
        None => with_flags(new_definition(reader, sync, &root)?, sync),
    };
    if let Some(file) = &sync.pipeline {
        definition.stages = pipeline::read(file)?;
    }
    Ok(Wanted { stored, definition, root })
}

fn find_stored(reader: &Reader, sync: &Sync, root: &str) -> Result<Option<Job>> {
    if let Some(name) = &sync.name {
        let job = reader.read(|sql| jobs::by_name(sql, name))?;
        if let Some(job) = &job
            && job.root != root
        {
            return Err(Failure::usage(format!(
                "job {name} is for {}, not for {root}; choose another --name",
                job.root
            )));
        }
        return Ok(job);
    }
    let found = reader.read(|sql| {
        let Some(connection) = connections::find(sql, Role::Repository, FILES.1)? else {
            return Ok(Vec::new());
        };
        jobs::by_root(sql, connection.id, root)
    })?;
    if found.len() > 1 {
        let names: Vec<String> = found.into_iter().map(|job| job.name).collect();
        return Err(Failure::usage(format!(
            "{root} has several jobs: {}; say which with --name",
            names.join(", ")
        )));
    }
    Ok(found.into_iter().next())
}

fn new_definition(reader: Option<&Reader>, sync: &Sync, root: &str) -> Result<Definition> {
    let taken: Vec<String> = match reader {
        Some(reader) => reader.read(jobs::list)?.into_iter().map(|job| job.name).collect(),
        None => Vec::new(),
    };
    let base = sync.name.clone().unwrap_or_else(|| {
        let last = root.rsplit('/').find(|part| !part.is_empty()).unwrap_or("root");
        let begins_well = last.trim_start_matches(['.', '-']);
        let name: String =
            begins_well.chars().map(|c| if is_of_name(c) { c } else { '-' }).take(NAME_MAX - 8).collect();
        if name.is_empty() { "root".to_owned() } else { name }
    });
    let free = std::iter::once(base.clone()).chain((2..).map(|n| format!("{base}-{n}")));
    let name = free.into_iter().find(|name| !taken.contains(name)).unwrap_or(base);
    Ok(Definition {
        name,
        repository: FILES.1.to_owned(),
        source: json!({ "root": root }),
        stages: vec![Stage { transform: "text".to_owned(), settings: json!({}) }],
        outputs: vec!["index".to_owned()],
        retired: Vec::new(),
        delete_guard: Guard::default(),
        compare_content: false,
        keep: Keep::Nothing,
        content_by: ContentBy::Read,
    })
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || "._-".contains(c)
}

/// Refuses names that nobody can type, or that look like something else; jobs that are stored keep theirs.
pub(super) fn refuse_name(name: &str) -> Result<()> {
    let short = name.chars().count() <= NAME_MAX;
    if short
        && !name.is_empty()
        && !name.starts_with(['.', '-'])
        && name.chars().all(|c| is_of_name(c) || c == ' ')
    {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{:?} is not a valid name for a job; use letters, digits, spaces, `_`, and `.` or `-` but not at the beginning, at most {NAME_MAX} characters",
        name.chars().take(NAME_MAX).collect::<String>()
    )))
}

/// A definition with what the flags say; omitted flags change nothing.
fn with_flags(mut definition: Definition, sync: &Sync) -> Definition {
    let back = &sync.taken_back;
    let mut set = |name: &str, value: Option<Value>| {
        if let (Some(source), Some(value)) = (definition.source.as_object_mut(), value) {
            match value {
                // As in a job that never had it.
                Value::Null => drop(source.remove(name)),
                value => drop(source.insert(name.to_owned(), value)),
            }
        }
    };
    let given = |on: bool, value: Value, off: bool| match (on, off) {
        (_, true) => Some(Value::Null),
        (true, false) => Some(value),
        (false, false) => None,
    };
    set("include", given(!sync.include.is_empty(), json!(sync.include), back.no_include));
    set("exclude", given(!sync.exclude.is_empty(), json!(sync.exclude), back.no_exclude));
    set("ignore_files", given(sync.ignore_files, json!(true), back.no_ignore_files));
    set("skip_hidden", given(sync.skip_hidden, json!(true), back.no_skip_hidden));
    set("size_max", given(sync.size_max.is_some(), json!(sync.size_max), back.no_size_max));
    let trusts = sync.trust_modes.map(|word| json!(word == OnOff::On));
    set("trust_modes", trusts);
    set("other_devices", given(sync.one_file_system, json!(false), back.no_one_file_system));
    definition.compare_content |= sync.compare_content;
    definition.compare_content &= !back.no_compare_content;
    match sync.content_by {
        Some(ContentByWord::Read) => definition.content_by = ContentBy::Read,
        Some(ContentByWord::Times) => definition.content_by = ContentBy::Times,
        None => {}
    }
    match sync.keep {
        Some(KeepWord::Extracted) => definition.keep = Keep::Extracted,
        Some(KeepWord::Nothing) => definition.keep = Keep::Nothing,
        None => {}
    }
    if !sync.to.is_empty() {
        let mut outputs: Vec<String> = Vec::new();
        for name in sync.to.iter().map(|name| absolute_journal(name)) {
            // Said twice is meant once.
            if !outputs.contains(&name) {
                outputs.push(name);
            }
        }
        let left = definition.outputs.iter().filter(|name| !outputs.contains(name)).cloned();
        definition.retired.extend(left.collect::<Vec<_>>());
        definition.retired.retain(|name| !outputs.contains(name));
        definition.retired.dedup();
        definition.outputs = outputs;
    }
    definition
}

/// A journal is named by its absolute path, so that one file has one name.
fn absolute_journal(name: &str) -> String {
    match name.strip_prefix("journal:") {
        Some("") | None => name.to_owned(),
        Some(file) => {
            let path = std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file));
            format!("journal:{}", path.display())
        }
    }
}

pub(super) fn differences(wanted: &Wanted) -> Vec<String> {
    let Some(stored) = &wanted.stored else { return Vec::new() };
    let (old, new) = (&stored.definition, &wanted.definition);
    let mut found = Vec::new();
    let settings = |definition: &Definition| definition.source.as_object().cloned().unwrap_or_default();
    let (before, after) = (settings(old), settings(new));
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (a, b) = (before.get(name), after.get(name));
        if a != b {
            found.push(difference(name, a, b));
        }
    }
    if old.outputs != new.outputs {
        found.push(format!("to: {} → {}", old.outputs.join(", "), new.outputs.join(", ")));
    }
    if old.stages != new.stages {
        found.push(format!("pipeline: {}", pipeline::differences(&old.stages, &new.stages)));
    }
    if old.compare_content != new.compare_content {
        let word = |on: bool| if on { "on" } else { "off" };
        found.push(format!("compare-content: {} → {}", word(old.compare_content), word(new.compare_content)));
    }
    if old.content_by != new.content_by {
        let word = |by: ContentBy| if by == ContentBy::Read { "read" } else { "times" };
        found.push(format!("content-by: {} → {}", word(old.content_by), word(new.content_by)));
    }
    if old.keep != new.keep {
        found.push(format!("keep: {} → {}", keep_word(old.keep), keep_word(new.keep)));
    }
    found
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
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        Some(Value::Number(bytes)) => bytes.as_u64().map_or_else(|| bytes.to_string(), show::bytes),
        Some(other) => other.as_str().map_or_else(|| other.to_string(), str::to_owned),
    };
    format!("{}: {} → {}", name.replace('_', "-"), word(before), word(after))
}

/// What a job keeps beside the inventory, as it is typed.
pub(in crate::commands) fn keep_word(keep: Keep) -> &'static str {
    match keep {
        Keep::Extracted => "extracted",
        Keep::Nothing => "nothing",
    }
}

/// Refuses outputs that there cannot be: nobody has to add a flag before that is said.
pub(super) fn check_outputs(wanted: &Wanted) -> Result<()> {
    let kind = |name: &String| outputs::builtin(&ingather_connectors::ALL, name).map(|_| ());
    Ok(wanted.definition.outputs.iter().try_for_each(kind)?)
}

/// Refuses settings that cannot work, and a new source that cannot be read, before anything is made.
pub(super) fn check(wanted: &Wanted) -> Result<()> {
    let kind = ingather_connectors::ALL
        .repository(FILES.0)
        .ok_or_else(|| Failure::unable("this program was built without the filesystem connector"))?;
    let host = ingather_contract::repository::HostContext { own: Vec::new(), threads: 1 };
    let repository =
        (kind.open)(&wanted.definition.source, &host).map_err(|fault| Failure::usage(fault.to_string()))?;
    if wanted.stored.is_none() {
        repository.check(&wiring::call()).map_err(|fault| match fault {
            Fault::Gone => Failure::usage(format!("{} does not exist; nothing was changed", wanted.root)),
            // Too few file handles, a disk that fails: nobody wrote anything wrong.
            fault @ Fault::Passing { .. } => Failure::unable(format!("{fault}; nothing was changed")),
            fault => Failure::usage(format!("{fault}; nothing was changed")),
        })?;
    }
    Ok(())
}

/// Refuses to leave an output that holds much of the job, unless the guard is off: nothing could hold these removals, which
/// are not those of single documents.
pub(super) fn refuse_leaving(reader: &Reader, sync: &Sync, wanted: &Wanted) -> Result<()> {
    let Some(stored) = wanted.stored.as_ref().filter(|_| sync.delete_guard.is_none()) else { return Ok(()) };
    let known = reader.read(|sql| documents::total(sql, stored.id))?;
    for name in stored.definition.outputs.iter().filter(|name| !wanted.definition.outputs.contains(name)) {
        let Some(connection) = reader.read(|sql| connections::find(sql, Role::Output, name))? else {
            continue;
        };
        let (mut held, mut after) = (0, 0);
        loop {
            let page =
                reader.read(|sql| deliveries::of_output(sql, connection.id, stored.id, after, HELD_PAGE))?;
            let Some(last) = page.last() else { break };
            after = *last;
            held += page.len() as u64;
        }
        if stored.definition.delete_guard.holds(held, known, false) {
            return Err(Failure::usage(format!(
                "job {} would leave output {name}, which holds {} of its documents; name both with --to, or add \
                 --delete-guard off",
                stored.name,
                show::number(held)
            )));
        }
    }
    Ok(())
}

pub(super) fn store_job(store: &Store, wanted: Wanted) -> Result<Job> {
    let now = wiring::now();
    let found = store.reader().read(|sql| connections::find(sql, Role::Repository, FILES.1))?;
    let repository: Connection = match found {
        Some(connection) => connection,
        None => store.write(Durability::Synced, |sql| {
            connections::add(sql, Role::Repository, FILES.0, FILES.1, &json!({}), now)
        })?,
    };
    let id = match &wanted.stored {
        Some(job) if job.definition == wanted.definition => job.id,
        Some(job) => {
            store.write(Durability::Synced, |sql| jobs::define(sql, job.id, &wanted.definition))?;
            job.id
        }
        None => store.write(Durability::Synced, |sql| {
            jobs::add(sql, repository.id, &wanted.root, &wanted.definition, now)
        })?,
    };
    let job = store.reader().read(|sql| jobs::get(sql, id))?;
    job.ok_or_else(|| Failure::unable("the job went away while it was being stored; run the command again"))
}
