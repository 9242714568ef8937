//! `ingather job …`: what there is, what it holds, and its end.

use std::sync::Arc;

use ingather_contract::repository::Presence;
use ingather_engine::progress::Progress;
use ingather_model::balance::Balance;
use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::{GuardState, RunOutcome};
use ingather_store::jobs::{self, Job as Stored};
use ingather_store::runs::{self, KnownBlindSpot, Run};
use ingather_store::{Reader, deliveries, documents};
use serde_json::json;

use super::job_named;
use crate::arguments::{Global, Job};
use crate::data::DataDirectory;
use crate::exit::{self, Failure, Result};
use crate::show::{self, secrets};
use crate::{interrupt, wiring};

pub(crate) fn run(global: &Global, command: Job) -> Result<u8> {
    let data = DataDirectory::of(global)?;
    match command {
        Job::List => list(global, &data),
        Job::Show { job } => show_one(global, &data, &job),
        Job::Runs { job, limit } => list_runs(global, &data.existing()?, &job, limit as usize),
        Job::Held { job, limit } => held(global, &data, &job, limit as usize),
        Job::Confirm { job, run } => confirm(global, &data, &job, run),
        Job::Delete { job, dry_run, yes } => delete(global, &data, &job, dry_run, yes),
    }
}

fn last_run(reader: &Reader, job: &Stored) -> Result<Option<Run>> {
    Ok(reader.read(|sql| runs::list(sql, job.id, 1))?.into_iter().next())
}

fn counts(run: &Run) -> Balance {
    run.counts.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn list(global: &Global, data: &DataDirectory) -> Result<u8> {
    let Some(reader) = data.reader()? else {
        if !global.json && !global.quiet {
            show::stderr("there are no jobs yet; begin with `ingather sync FOLDER`");
        }
        return Ok(exit::DONE);
    };
    let mut rows = Vec::new();
    let works = may_work(data);
    for job in reader.read(jobs::list)? {
        let total = reader.read(|sql| documents::total(sql, job.id))?;
        let run = last_run(&reader, &job)?;
        if global.json {
            show::json(&as_json(&job, total, run.as_ref()));
            continue;
        }
        let outcome = run.as_ref().map_or("never ran".to_owned(), |run| outcome_of(run).to_owned());
        let when = run.as_ref().map_or(String::new(), |run| show::time(run.started_at));
        let outputs = job.definition.outputs.join(", ");
        let state = state_word(job.state, works).to_owned();
        rows.push(vec![job.name, state, show::number(total), outcome, when, outputs, job.root]);
    }
    if !global.json {
        show::table(&["JOB", "STATE", "DOCUMENTS", "LAST RUN", "STARTED", "OUTPUTS", "SOURCE"], &rows);
    }
    Ok(exit::DONE)
}

/// Whether somebody may work on a job: with a store that others share, nobody here can tell.
fn may_work(data: &DataDirectory) -> bool {
    !data.keeps_the_store() || data.holder().is_some()
}

/// The state of a job as people read it; a run whose process is gone goes on with the next one.
fn state_word(state: State, works: bool) -> &'static str {
    match state {
        State::Resting => "idle",
        State::Starting | State::Working | State::Sweeping | State::Ending if !works => "stopped",
        State::Starting | State::Working | State::Sweeping | State::Ending => "running",
        State::Stopping | State::Deleting | State::Gone => state.as_str(),
    }
}

fn outcome_of(run: &Run) -> &str {
    match (run.outcome, run.guard) {
        (Some(RunOutcome::Done), Some(GuardState::Held)) => "done, removals held",
        (Some(RunOutcome::Done), Some(GuardState::Confirmed)) => "done, removals confirmed",
        (Some(RunOutcome::Done), Some(GuardState::Void)) => "done, held removals void",
        (Some(outcome), _) => outcome.as_str(),
        (None, _) => "not ended",
    }
}

fn as_json(job: &Stored, documents: u64, run: Option<&Run>) -> serde_json::Value {
    json!({
        "job": job.name, "state": job.state, "documents": documents, "root": job.root,
        "outputs": job.definition.outputs, "keep": super::sync::keep_word(job.definition.keep),
        "definition": secrets::hidden(json!(job.definition)), "error": job.error,
        "run": run.map(run_json),
    })
}

fn run_json(run: &Run) -> serde_json::Value {
    json!({
        "run": run.number, "kind": run.kind, "started_at": run.started_at, "listed_at": run.listed_at,
        "ended_at": run.ended_at, "outcome": run.outcome, "guard": run.guard, "counts": counts(run), "error": run.error,
    })
}

fn show_one(global: &Global, data: &DataDirectory, name: &str) -> Result<u8> {
    let reader = &data.existing()?;
    let job = job_named(reader, name)?;
    let total = reader.read(|sql| documents::total(sql, job.id))?;
    let run = last_run(reader, &job)?;
    if global.json {
        show::json(&as_json(&job, total, run.as_ref()));
        return Ok(exit::DONE);
    }
    show::line(&format!("job        {}", job.name));
    show::line(&format!("source     {}", job.root));
    show::line(&format!("stages     {}", super::pipeline::in_words(&job.definition.stages)));
    show::line(&format!("outputs    {}", job.definition.outputs.join(", ")));
    show::line(&format!("keep       {}", super::sync::keep_word(job.definition.keep)));
    show::line(&format!("state      {}", state_word(job.state, may_work(data))));
    show::line(&format!("documents  {}", show::number(total)));
    if let Some(run) = &run {
        show::line(&format!(
            "last run   {} · {} · {}",
            run.number,
            show::time(run.started_at),
            outcome_of(run)
        ));
        if run.guard == Some(GuardState::Held) {
            show::line(&format!("held       see `ingather job held {}`", job.name));
        }
        for KnownBlindSpot { scope, cause, message } in
            reader.read(|sql| runs::blind_spots(sql, job.id, run.number))?
        {
            show::line(&format!("blind      {scope} ({cause}): {message}"));
        }
    }
    if let Some(error) = &job.error {
        show::line(&format!("error      {error}"));
    }
    show::line(&format!("settings   {}", job.definition.source));
    Ok(exit::DONE)
}

fn list_runs(global: &Global, reader: &Reader, name: &str, limit: usize) -> Result<u8> {
    let job = job_named(reader, name)?;
    let found = reader.read(|sql| runs::list(sql, job.id, limit))?;
    if global.json {
        found.iter().for_each(|run| show::json(&run_json(run)));
        return Ok(exit::DONE);
    }
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|run| {
            let b = counts(run);
            let took = run.ended_at.map_or(String::new(), |end| show::seconds(end - run.started_at));
            let mut row =
                vec![run.number.to_string(), run.kind.to_string(), show::time(run.started_at), took];
            row.push(outcome_of(run).to_owned());
            row.extend(
                [b.seen(), b.added, b.updated, b.access, b.deleted, b.held, b.kept, b.failed]
                    .map(show::number),
            );
            row
        })
        .collect();
    let headings = [
        "RUN", "KIND", "STARTED", "TOOK", "OUTCOME", "SEEN", "ADDED", "UPDATED", "ACCESS", "DELETED", "HELD",
        "KEPT", "FAILED",
    ];
    show::table(&headings, &rows);
    Ok(exit::DONE)
}

fn held(global: &Global, data: &DataDirectory, name: &str, limit: usize) -> Result<u8> {
    let reader = data.existing()?;
    let job = job_named(&reader, name)?;
    let engine = wiring::engine(global, data, reader, None, &[]);
    let (total, mut names) = engine.held(&job, 0, limit)?;
    names.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    // A source that cannot be asked now hides no list.
    let repository = engine.repository(&job).ok();
    for held in &names {
        let presence = repository.as_ref().map(|repository| repository.probe(&wiring::call(), &held.name));
        let (code, cause) = cause(presence.unwrap_or(Presence::Unknown));
        match global.json {
            true => {
                show::json(&json!({"job": job.name, "run": job.run, "document": held.name, "cause": code}))
            }
            false => show::line(&format!("{cause:<11}  {}", held.name)),
        }
    }
    if !global.json && !global.quiet {
        show::stderr(&match total {
            0 => format!("no removals are held for job {}", job.name),
            n => format!(
                "{} {} held by run {}; carry out with `ingather job confirm {} --run {}`",
                show::counted(n, "removal"),
                show::are(n),
                job.run,
                job.name,
                job.run
            ),
        });
    }
    Ok(exit::DONE)
}

/// Why a removal is held, as one look at its place tells it now: for programs, and for people.
fn cause(presence: Presence) -> (&'static str, &'static str) {
    match presence {
        Presence::Absent => ("absent", "gone"),
        Presence::Excluded => ("excluded", "left out"),
        Presence::Present => ("present", "there again"),
        Presence::Unknown => ("unknown", "not checked"),
    }
}

fn confirm(global: &Global, data: &DataDirectory, name: &str, run: i64) -> Result<u8> {
    let reader = data.existing()?;
    let job = job_named(&reader, name)?;
    let writing = data.write(&format!("confirm of {name}"), wiring::now())?;
    let engine = wiring::engine(global, data, writing.store.reader().clone(), Some(&writing), &[]);
    let progress = Arc::new(Progress::default());
    let _watch = show::progress::Watch::start(global, progress.clone());
    let removed = engine.confirm(&job, run, progress)?;
    drop(_watch);
    told(global, name, &removed);
    if engine.cancel.cancelled() {
        show::stderr(&format!("stopped; `ingather job confirm {name} --run {run}` goes on"));
        return Ok(interrupt::code());
    }
    Ok(if removed.kept > 0 { exit::TROUBLED } else { exit::DONE })
}

fn told(global: &Global, name: &str, removed: &ingather_engine::remove::Removed) {
    if global.json {
        let line = json!({"job": name, "deleted": removed.deleted, "kept": removed.kept});
        show::json(&line);
    } else if !global.quiet {
        let kept = match removed.kept {
            0 => String::new(),
            n => format!(", {} kept: they are there again, or could not be checked", show::number(n)),
        };
        show::line(&format!("{name}: {} removed{kept}", show::number(removed.deleted)));
    }
}

/// What outputs keep of a job that goes.
fn stay(shared: u64) -> String {
    match shared {
        0 => String::new(),
        n => format!(", but for {} that other jobs have sent, too", show::number(n)),
    }
}

fn delete(global: &Global, data: &DataDirectory, name: &str, dry_run: bool, yes: bool) -> Result<u8> {
    let reader = data.existing()?;
    let job = job_named(&reader, name)?;
    let total = reader.read(|sql| documents::total(sql, job.id))?;
    let shared = reader.read(|sql| deliveries::kept_by_others(sql, job.id))?;
    let outputs = job.definition.outputs.join(", ");
    if dry_run {
        if global.json {
            let line = json!({"job": name, "documents": total, "shared": shared, "outputs": job.definition.outputs, "dry_run": true});
            show::line(&line.to_string());
        } else {
            let total = show::counted(total, "document");
            show::line(&format!(
                "{name}: {total} would be removed from {outputs}{} (dry run, nothing was written)",
                stay(shared)
            ));
        }
        return Ok(exit::DONE);
    }
    let asks = !yes && !global.json && !global.quiet && show::is_person();
    let question = format!(
        "delete job {name} and remove its {} from {outputs}{}?",
        show::counted(total, "document"),
        stay(shared)
    );
    if asks && !show::ask(&question) {
        return Err(Failure::usage("nothing was deleted"));
    }
    let writing = data.write(&format!("deletion of {name}"), wiring::now())?;
    let engine = wiring::engine(global, data, writing.store.reader().clone(), Some(&writing), &[]);
    let progress = Arc::new(Progress::default());
    let watch = show::progress::Watch::start(global, progress.clone());
    let removed = engine.delete(&job, progress);
    drop(watch);
    let removed = removed?;
    told(global, name, &removed);
    if shared > 0 && !global.json && !global.quiet {
        show::stderr(&format!(
            "{} of them stay in {outputs}, for other jobs have sent them, too",
            show::number(shared)
        ));
    }
    if engine.cancel.cancelled() {
        show::stderr(&format!("stopped; `ingather job delete {name}` goes on"));
        return Ok(interrupt::code());
    }
    // What other jobs have, too, in another form, went with what this one had sent last.
    super::tell_resends(global, &reader, Some(job.id))?;
    if removed.nameless > 0 {
        show::stderr(&format!(
            "the names of {} are lost, so that nobody can say what is to be removed from outputs: run \
             `ingather verify --repair`, which removes what it finds of them, then `ingather job delete {name}` again",
            show::counted(removed.nameless, "document")
        ));
    }
    if removed.kept > removed.nameless {
        show::stderr(&format!(
            "an output did not confirm {}; `ingather job delete {name}` tries again",
            show::counted(removed.kept - removed.nameless, "removal")
        ));
    }
    if removed.kept > 0 {
        return Ok(exit::TROUBLED);
    }
    Ok(exit::DONE)
}
