//! `ingather sync`: finds or makes the job of a source, runs it once, says what came of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ingather_connector::model::balance::Balance;
use ingather_connector::model::guard::Guard;
use ingather_connector::model::job::{Definition, Keep, RunKind, Stage};
use ingather_connector::model::{fault::Fault, names};
use ingather_engine::progress::Progress;
use ingather_engine::{Mode, Options, Report, outputs};
use ingather_store::connections::{self, Connection, Role};
use ingather_store::jobs::{self, Job};
use ingather_store::{Durability, Reader, Store, Target};
use serde_json::json;

use super::pipeline;
use crate::arguments::{Global, KeepWord, OnOff, Sync};
use crate::data::{DataDirectory, Writing};
use crate::exit::{self, Failure, Result};
use crate::{show, wiring};

/// Kind and name of the repository connection for folders and files of this machine.
const FILES: (&str, &str) = ("filesystem", "files");

/// The job that a command speaks of, as it is and as the flags want it.
struct Wanted {
    stored: Option<Job>,
    definition: Definition,
    root: String,
}

pub(crate) fn run(global: &Global, sync: Sync) -> Result<u8> {
    let data = DataDirectory::of(global)?;
    let root = canonical(&sync.source)?;
    refuse_inside(&data, &root)?;
    if let Some(name) =
        sync.name.as_ref().filter(|name| name.trim().is_empty() || name.contains(char::is_control))
    {
        return Err(Failure::usage(format!(
            "{name:?} is no name for a job; give one that can be read and typed"
        )));
    }
    let dry_run = sync.dry_run;
    let reader = data.reader()?;
    let wanted = find(reader.as_ref(), &sync, &root)?;
    let changes = differences(&wanted);
    if !changes.is_empty() && !sync.update {
        return Err(Failure::usage(format!(
            "job {} is stored with other settings: {}; add --update to change it, or leave the flags out",
            wanted.definition.name,
            changes.join("; ")
        )));
    }
    check(global, &data, &wanted)?;
    if dry_run {
        return count_only(global, &data, reader, &wanted, &sync);
    }
    let writing = data.write(&format!("sync of {}", wanted.root), wiring::now())?;
    let reader = writing.store.reader().clone();
    if !changes.is_empty() && !global.quiet {
        let report = dry_report(global, &data, reader.clone(), &wanted, &sync)?;
        show::stderr(&format!("job {} changes: {}", wanted.definition.name, changes.join("; ")));
        show::stderr(&format!("this will lead to: {}", sentence(&report.balance)));
    }
    let before = wanted.stored.as_ref().map_or(&[][..], |job| &job.definition.outputs);
    for name in wanted.definition.outputs.iter().filter(|name| !before.contains(name)) {
        outputs::try_open(&writing.store, &ingather_connectors::ALL, &data.path, name)?;
    }
    let job = store_job(&writing.store, wanted)?;
    let engine = wiring::engine(global, &data, reader, Some(&writing), &wiring::journals(&job.definition));
    let progress = Arc::new(Progress::default());
    let watch = show::progress::Watch::start(global, progress.clone());
    let report = engine.run(&job, FILES.0, options(&sync, Mode::Write), progress);
    drop(watch);
    let report = report?;
    tell(global, &job.name, &report);
    super::tell_resends(global, writing.store.reader(), Some(job.id))?;
    let confirmed = offer(global, &writing, &engine, &job, &report)?;
    Ok(code(&report, confirmed))
}

fn options(sync: &Sync, mode: Mode) -> Options {
    let kind = if sync.minimal { RunKind::Minimal } else { RunKind::Full };
    Options { kind, mode, guard_off: sync.delete_guard.is_some(), accepts_devices: sync.accept_devices }
}

/// The source's own path: links in it are resolved, so that one folder has one name.
fn canonical(source: &Path) -> Result<PathBuf> {
    let text = source.to_string_lossy();
    if text.contains("://") {
        return Err(Failure::usage(format!("{text}: this version reads folders and files; give a path")));
    }
    match std::fs::canonicalize(source) {
        Ok(path) => Ok(path),
        // A root that is missing now may be that of a job; its parent gives the name.
        Err(error) => {
            let absolute =
                std::path::absolute(source).map_err(|_| Failure::usage(format!("{text}: {error}")))?;
            let parent = absolute.parent().and_then(|parent| std::fs::canonicalize(parent).ok());
            Ok(match (parent, absolute.file_name()) {
                (Some(parent), Some(name)) => parent.join(name),
                _ => absolute,
            })
        }
    }
}

fn refuse_inside(data: &DataDirectory, root: &Path) -> Result<()> {
    let data = std::fs::canonicalize(&data.path).unwrap_or_else(|_| data.path.clone());
    if root.starts_with(&data) {
        return Err(Failure::usage(format!(
            "{} lies inside the data directory {}, which is never a source; use another --data",
            root.display(),
            data.display()
        )));
    }
    Ok(())
}

fn escaped(root: &Path) -> String {
    names::escape(std::os::unix::ffi::OsStrExt::as_bytes(root.as_os_str())).into_owned()
}

fn find(reader: Option<&Reader>, sync: &Sync, root: &Path) -> Result<Wanted> {
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
        last.chars().map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect()
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
    })
}

/// A definition with what the flags say; omitted flags change nothing.
fn with_flags(mut definition: Definition, sync: &Sync) -> Definition {
    let mut set = |name: &str, value: serde_json::Value| {
        if let Some(source) = definition.source.as_object_mut() {
            source.insert(name.to_owned(), value);
        }
    };
    if !sync.include.is_empty() {
        set("include", json!(sync.include));
    }
    if !sync.exclude.is_empty() {
        set("exclude", json!(sync.exclude));
    }
    if sync.ignore_files {
        set("ignore_files", json!(true));
    }
    if sync.skip_hidden {
        set("skip_hidden", json!(true));
    }
    if let Some(bytes) = sync.size_max {
        set("size_max", json!(bytes));
    }
    if let Some(word) = sync.trust_modes {
        set("trust_modes", json!(word == OnOff::On));
    }
    definition.compare_content |= sync.compare_content;
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
        Some(file) => {
            let path = std::path::absolute(file).unwrap_or_else(|_| PathBuf::from(file));
            format!("journal:{}", path.display())
        }
        None => name.to_owned(),
    }
}

fn differences(wanted: &Wanted) -> Vec<String> {
    let Some(stored) = &wanted.stored else { return Vec::new() };
    let (old, new) = (&stored.definition, &wanted.definition);
    let mut found = Vec::new();
    let (a, b) = (old.source.as_object(), new.source.as_object());
    for (name, value) in b.into_iter().flatten() {
        let before = a.and_then(|a| a.get(name)).cloned().unwrap_or(serde_json::Value::Null);
        if before != *value {
            found.push(format!("{} is {before}, given {value}", name.replace('_', "-")));
        }
    }
    if old.outputs != new.outputs {
        found.push(format!("to is {}, given {}", old.outputs.join(", "), new.outputs.join(", ")));
    }
    if old.stages != new.stages {
        found.push(format!("pipeline: {}", pipeline::differences(&old.stages, &new.stages)));
    }
    if old.compare_content != new.compare_content {
        found.push("compare-content is off, given on".to_owned());
    }
    if old.keep != new.keep {
        found.push(format!("keep is {}, given {}", keep_word(old.keep), keep_word(new.keep)));
    }
    found
}

/// What a job keeps beside the books, as it is typed.
pub(super) fn keep_word(keep: Keep) -> &'static str {
    match keep {
        Keep::Extracted => "extracted",
        Keep::Nothing => "nothing",
    }
}

/// Refuses settings that cannot work, and a new source that cannot be read, before anything is made.
fn check(global: &Global, data: &DataDirectory, wanted: &Wanted) -> Result<()> {
    for name in &wanted.definition.outputs {
        outputs::builtin(&ingather_connectors::ALL, name)?;
    }
    let kind = ingather_connectors::ALL
        .repository(FILES.0)
        .ok_or_else(|| Failure::unable("this program was built without the filesystem connector"))?;
    let surroundings = ingather_connector::repository::Surroundings { own: Vec::new(), threads: 1 };
    let repository = (kind.open)(&wanted.definition.source, &surroundings)
        .map_err(|fault| Failure::usage(fault.to_string()))?;
    let _ = (global, data);
    if wanted.stored.is_none() {
        repository.check(&wiring::call()).map_err(|fault| match fault {
            Fault::Gone => Failure::usage(format!("{} does not exist; nothing was changed", wanted.root)),
            fault => Failure::usage(format!("{fault}; nothing was changed")),
        })?;
    }
    Ok(())
}

fn store_job(store: &Store, wanted: Wanted) -> Result<Job> {
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

fn count_only(
    global: &Global,
    data: &DataDirectory,
    reader: Option<Reader>,
    wanted: &Wanted,
    sync: &Sync,
) -> Result<u8> {
    // Without a store there is nothing to compare with: an empty one that goes away says the same.
    let scratch = std::env::temp_dir().join(format!("ingather-dry-run-{}", std::process::id()));
    let (reader, made) = match reader {
        Some(reader) => (reader, false),
        None => {
            std::fs::create_dir(&scratch)
                .map_err(|error| Failure::unable(format!("{}: {error}", scratch.display())))?;
            (Store::open(&Target::Sqlite(scratch.join("store.db")))?.reader().clone(), true)
        }
    };
    let report = dry_report(global, data, reader, wanted, sync);
    if made {
        // What stays behind is an empty store in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&scratch);
    }
    let report = report?;
    tell(global, &wanted.definition.name, &report);
    Ok(code(&report, false))
}

fn dry_report(
    global: &Global,
    data: &DataDirectory,
    reader: Reader,
    wanted: &Wanted,
    sync: &Sync,
) -> Result<Report> {
    let mut job = wanted.stored.clone().unwrap_or_else(|| Job {
        id: ingather_connector::model::ids::JobId(0),
        name: wanted.definition.name.clone(),
        repository: ingather_connector::model::ids::ConnectionId(0),
        root: wanted.root.clone(),
        state: "resting".to_owned(),
        run: 0,
        definition: wanted.definition.clone(),
        revision: 0,
        reader: None,
        error: None,
    });
    job.definition = wanted.definition.clone();
    let engine = wiring::engine(global, data, reader, None, &wiring::journals(&job.definition));
    let progress = Arc::new(Progress::default());
    let _watch = show::progress::Watch::start(global, progress.clone());
    Ok(engine.run(&job, FILES.0, options(sync, Mode::DryRun), progress)?)
}

/// On a terminal, asks whether held removals are to be carried out; whether they were.
fn offer(
    global: &Global,
    _writing: &Writing,
    engine: &ingather_engine::Engine,
    job: &Job,
    report: &Report,
) -> Result<bool> {
    let (Some(run), true) = (report.run, report.balance.held > 0) else { return Ok(false) };
    let held = show::number(report.balance.held);
    let person = show::is_terminal() && std::io::IsTerminal::is_terminal(&std::io::stdin());
    if global.json || global.quiet || !person {
        if !global.quiet {
            show::stderr(&format!(
                "{held} removals are held, more than the delete guard lets go; see them with `ingather job held {0}`, \
                 carry them out with `ingather job confirm {0} --run {run}`",
                job.name
            ));
        }
        return Ok(false);
    }
    if !show::ask(&format!("{held} documents are gone from the source; remove them from the output too?")) {
        show::stderr(&format!("held; later: ingather job confirm {} --run {run}", job.name));
        return Ok(false);
    }
    let job = Job { run, ..job.clone() };
    let removed = engine.confirm(&job, FILES.0, run, Arc::new(Progress::default()))?;
    show::stderr(&format!("{} removed", show::number(removed.deleted)));
    Ok(removed.kept == 0)
}

fn code(report: &Report, confirmed: bool) -> u8 {
    let balance = Balance { held: if confirmed { 0 } else { report.balance.held }, ..report.balance };
    match () {
        () if report.stopped => exit::STOPPED,
        () if report.error.is_some() || balance.troubled() || !report.blind.is_empty() => exit::TROUBLED,
        () => exit::DONE,
    }
}

fn sentence(balance: &Balance) -> String {
    let parts = [
        (balance.added, "added"),
        (balance.updated, "updated"),
        (balance.access, "with new access"),
        (balance.unchanged, "unchanged"),
        (balance.skipped, "skipped"),
        (balance.failed, "failed"),
        (balance.waiting, "waiting"),
        (balance.deleted, "deleted"),
        (balance.kept, "kept unseen"),
        (balance.held, "held"),
    ];
    let told: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{} {word}", show::number(*n)))
        .collect();
    let seen = show::number(balance.seen());
    let partial = match balance.partial {
        0 => String::new(),
        n => format!("; {} read only in part", show::number(n)),
    };
    let told = if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) };
    format!("{seen} seen{told}{partial}")
}

fn tell(global: &Global, name: &str, report: &Report) {
    let b = &report.balance;
    if global.json {
        let blind: Vec<_> = report
            .blind
            .iter()
            .map(|spot| json!({"scope": spot.scope.label(), "cause": spot.cause}))
            .collect();
        show::json(&json!({
            "job": name, "run": report.run, "seen": b.seen(), "added": b.added, "updated": b.updated,
            "access": b.access, "unchanged": b.unchanged, "skipped": b.skipped, "failed": b.failed,
            "waiting": b.waiting, "deleted": b.deleted, "kept": b.kept, "held": b.held,
            "blind": blind,
            "seconds": report.millis as f64 / 1000.0, "partial": b.partial,
        }));
    } else if !global.quiet {
        let dry = if report.run.is_none() { " (dry run, nothing was written)" } else { "" };
        show::line(&format!("{name}: {} in {}{dry}", sentence(b), show::seconds(report.millis)));
    }
    for spot in report.blind.iter().take(20) {
        show::stderr(&format!(
            "could not be read: {} ({}): {}",
            spot.scope.label(),
            spot.cause,
            spot.message
        ));
    }
    if report.blind.len() > 20 {
        show::stderr(&format!("and {} more scopes; -v names them", report.blind.len() - 20));
    }
    if let Some(error) = &report.error {
        show::stderr(error);
    }
    if !global.quiet {
        report.notes.iter().for_each(|note| show::stderr(note));
    }
    wiring::warn_of_loose_readers(global);
    if b.partial > 0 && !global.quiet && report.run.is_some() {
        show::stderr(&format!(
            "which were read only in part, such as archives with too many members: ingather search --all \
             'meta.extraction:*', and why: ingather document explain {name} DOCUMENT"
        ));
    }
    if b.failed > 0 && !global.quiet && report.run.is_some() {
        show::stderr(&format!("which failed, and why: ingather document list {name} --state failed"));
    }
    if report.stopped {
        show::stderr("stopped; run the same command again to go on");
    }
}
