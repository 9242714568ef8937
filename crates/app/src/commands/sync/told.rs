//! What a run did, as people and programs are told it.

use std::sync::Arc;

use ingather_engine::inspect::overlaps;
use ingather_engine::progress::Progress;
use ingather_engine::{Engine, Report};
use ingather_model::balance::Balance;
use ingather_model::scope::Scope;
use ingather_store::jobs::Job;
use serde_json::json;

use crate::arguments::Global;
use crate::exit::{self, Result};
use crate::{interrupt, show, wiring};

/// Blind scopes that are named.
const BLIND_MAX: usize = 20;

pub(super) fn code(report: &Report, confirmed: bool) -> u8 {
    let balance = Balance { held: if confirmed { 0 } else { report.balance.held }, ..report.balance };
    // Also when it was stopped behind the run, amid removals that were confirmed.
    if let Some(code) = interrupt::stopped() {
        return code;
    }
    if report.error.is_some() || balance.has_failures() || !report.blind.is_empty() {
        exit::TROUBLED
    } else {
        exit::DONE
    }
}

pub(super) fn sentence(balance: &Balance) -> String {
    let parts = [
        (balance.added, "added"),
        (balance.updated, "updated"),
        (balance.access, "with new access"),
        (balance.unchanged, "unchanged"),
        (balance.skipped, "skipped"),
        (balance.failed, "failed"),
        (balance.waiting, "waiting"),
        (balance.deleted, "deleted"),
        (balance.kept, "not checked, kept"),
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
        n => format!("; {} not read in full", show::number(n)),
    };
    let told = if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) };
    format!("{seen} seen{told}{partial}")
}

pub(super) fn tell(global: &Global, job: &Job, report: &Report) {
    let name = &job.name;
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
    for spot in report.blind.iter().take(BLIND_MAX) {
        show::stderr(&match (spot.cause.as_str(), &spot.scope) {
            ("absent", Scope::Folder(folder)) if folder.is_empty() => {
                format!(
                    "{} is missing; nothing was removed from {}: mount it, or, if it was renamed or is gone for good, \
                     `ingather job delete {}`",
                    job.root,
                    job.definition.outputs.join(", "),
                    job.name,
                )
            }
            (cause, scope) => format!("could not be read: {} ({cause}): {}", scope.label(), spot.message),
        });
    }
    if report.blind.len() > BLIND_MAX {
        let more = (report.blind.len() - BLIND_MAX) as u64;
        show::stderr(&format!("and {}; -v names them", show::counted(more, "more path")));
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
            "{} could not be read in full. List: ingather search --all 'meta.extraction:*'. Reason: ingather document explain {name} \
             DOCUMENT",
            show::counted(b.partial, "document")
        ));
    }
    if b.failed > 0 && !global.quiet && report.run.is_some() {
        show::stderr(&format!(
            "{} failed. Details: ingather document list {name} --state failed",
            show::counted(b.failed, "document")
        ));
    }
    if b.skipped > 0 && !global.quiet && !global.json && report.run.is_some() && show::is_terminal() {
        show::stderr(&format!("what is skipped, and why: ingather document list {name} --state skipped"));
    }
    if report.stopped {
        show::stderr("stopped; run the same command again to go on");
    }
}
/// On a terminal, asks whether held removals are to be carried out; whether they were.
pub(super) fn offer(global: &Global, engine: &Engine, job: &Job, report: &Report) -> Result<bool> {
    let (Some(run), true) = (report.run, report.balance.held > 0) else { return Ok(false) };
    let (held, are) = (show::counted(report.balance.held, "removal"), show::are(report.balance.held));
    if global.json || global.quiet || !show::is_person() {
        if !global.quiet {
            show::stderr(&format!(
                "{held} {are} held, more than the delete guard lets go; see them with `ingather job held {0}`, \
                 carry them out with `ingather job confirm {0} --run {run}`",
                job.name
            ));
        }
        return Ok(false);
    }
    if !show::ask(&format!(
        "{} {are} gone from the source, or left out now; remove from the outputs, too?",
        show::counted(report.balance.held, "document")
    )) {
        show::stderr(&format!("held; later: ingather job confirm {} --run {run}", job.name));
        return Ok(false);
    }
    let job = Job { run, ..job.clone() };
    let removed = engine.confirm(&job, run, Arc::new(Progress::default()))?;
    show::stderr(&format!("{} removed", show::number(removed.deleted)));
    if engine.cancel.cancelled() {
        show::stderr(&format!("stopped; `ingather job confirm {} --run {run}` goes on", job.name));
    }
    Ok(removed.kept == 0)
}

/// Says which other jobs send the same documents to the same outputs in another form: what is found is what the last one
/// sent, and a person has to decide which is wanted.
pub(super) fn tell_overlaps(global: &Global, engine: &Engine, job: &Job) -> Result<()> {
    if global.quiet || global.json {
        return Ok(());
    }
    for overlap in engine.reader.read(|sql| overlaps::of_job(sql, job))? {
        show::stderr(&crate::system_checks::overlap(&overlap));
    }
    Ok(())
}
