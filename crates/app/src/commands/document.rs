//! `ingather document …`: the inventory of a job, and why one document stands as it does.

use std::ffi::OsStr;

use ingather_engine::inspect::explain::Explanation;
use ingather_model::fault::Reason;
use ingather_model::lifecycle::outcome::FailureKind;
use ingather_store::Reader;
use ingather_store::documents::{self, Listed};
use ingather_store::jobs::{self, Job};
use serde_json::json;

use super::job_named;
use super::lookup::Lookup;
use crate::arguments::{Document, DocumentState, Global};
use crate::data::DataDirectory;
use crate::exit::{self, Result};
use crate::{show, wiring};

/// Rows that are read at once.
const PAGE: usize = 1_000;

pub(crate) fn run(global: &Global, command: Document) -> Result<u8> {
    let data = DataDirectory::of(global)?;
    match command {
        Document::List { job, state, limit } => list(global, &data, &job, state, limit),
        Document::Explain { job, document } => explain(global, &data, &job, &document),
    }
}

fn list(
    global: &Global,
    data: &DataDirectory,
    job: &str,
    state: Option<DocumentState>,
    limit: u32,
) -> Result<u8> {
    let reader = data.existing()?;
    let job = job_named(&reader, job)?;
    let mut after = 0;
    let mut left = limit;
    loop {
        let rows = reader.read(|sql| documents::list(sql, job.id, after, PAGE))?;
        let Some(last) = rows.last() else { break };
        after = last.id.0;
        for row in rows.iter().filter(|row| state.is_none_or(|state| state_of(row) == state)) {
            if left == 0 {
                if !global.quiet {
                    show::stderr("there are more; see them with a larger --limit");
                }
                return Ok(exit::DONE);
            }
            left -= 1;
            tell(global, &job.name, row);
        }
    }
    if state != Some(DocumentState::Skipped) {
        return Ok(exit::DONE);
    }
    list_left_out(global, data, &reader, &job, left)
}

/// What the source has and the job leaves out for what it is, such as links and special files, is in no inventory: the
/// source is listed again, and nothing is written.
fn list_left_out(
    global: &Global,
    data: &DataDirectory,
    reader: &Reader,
    job: &Job,
    mut left: u32,
) -> Result<u8> {
    let engine = wiring::engine(global, data, reader.clone(), None, &wiring::journals(&job.definition));
    let mut more = false;
    engine.left_out(job, &mut |skipped| {
        more = left == 0;
        if !more {
            left -= 1;
            let Reason { code, message } = &skipped.reason;
            match global.json {
                true => show::line(
                    &json!({
                        "job": job.name, "document": skipped.key, "state": "skipped", "changed_run": null,
                        "waits_for": null, "due": null, "code": code, "reason": message,
                    })
                    .to_string(),
                ),
                false => show::line(&format!("{:<8} {}  {code}: {message}", "skipped", skipped.key)),
            }
        }
        !more
    })?;
    if more && !global.quiet {
        show::stderr("there are more; see them with a larger --limit");
    }
    Ok(exit::DONE)
}

fn state_of(row: &Listed) -> DocumentState {
    match (&row.work, row.failure.as_ref().map(|(kind, _)| *kind)) {
        (Some(_), _) => DocumentState::Waiting,
        (None, Some(FailureKind::Failed)) => DocumentState::Failed,
        (None, Some(FailureKind::Skipped)) => DocumentState::Skipped,
        _ => DocumentState::Done,
    }
}

/// The state as programs read it, and as people do.
fn words(state: DocumentState) -> (&'static str, &'static str) {
    match state {
        DocumentState::Waiting => ("waiting", "waiting"),
        DocumentState::Done => ("settled", "done"),
        DocumentState::Failed => ("failed", "failed"),
        DocumentState::Skipped => ("skipped", "skipped"),
    }
}

fn tell(global: &Global, job: &str, row: &Listed) {
    let (word, for_people) = words(state_of(row));
    let reason = row.failure.as_ref().map(|(_, reason)| (reason.code.as_str(), reason.message.as_str()));
    if global.json {
        show::json(&json!({
            "job": job, "document": row.name, "state": word, "changed_run": row.changed_run,
            "waits_for": row.work.as_ref().map(|(cause, _)| cause), "due": row.work.as_ref().map(|(_, due)| due),
            "code": reason.map(|(code, _)| code), "reason": reason.map(|(_, message)| message),
        }));
        return;
    }
    let why = match (&row.work, reason) {
        (_, Some((code, message))) => format!("  {code}: {message}"),
        (Some((cause, due)), None) => format!("  {cause}, due {}", show::time(*due)),
        _ => String::new(),
    };
    show::line(&format!("{for_people:<8} {}{why}", row.name));
}

fn explain(global: &Global, data: &DataDirectory, job: &str, document: &OsStr) -> Result<u8> {
    let reader = data.existing()?;
    let job = job_named(&reader, job)?;
    let engine = wiring::engine(global, data, reader, None, &wiring::journals(&job.definition));
    let lookup = Lookup::of(&engine, std::slice::from_ref(&job), document)?;
    let told = engine.explain(&job, &lookup.text)?;
    let file = lookup.file(&engine.reader.read(jobs::list)?);
    if global.json {
        show::json(&as_json(&job.name, &told, file.as_deref()));
    } else {
        tell_explanation(&job.name, &told, file.as_deref());
    }
    Ok(exit::DONE)
}

fn as_json(job: &str, told: &Explanation, file: Option<&str>) -> serde_json::Value {
    let known = told.known.as_ref().map(|known| {
        json!({
            "changed_run": known.changed_run, "work": known.work.as_ref().map(|(cause, _)| cause),
            "trouble": known.failure.as_ref().map(|failure| json!({
                "kind": failure.kind, "code": failure.reason.code, "message": failure.reason.message,
                "attempts": failure.attempts, "attempts_max": failure.attempts_max, "first_at": failure.first_at,
            })),
        })
    });
    let outputs: Vec<_> = told
        .outputs
        .iter()
        .map(|holder| {
            json!({
                "output": holder.output, "state": holder.state, "says": holder.sentence,
                "sent_at": holder.sent_at, "confirmed_at": holder.confirmed_at,
            })
        })
        .collect();
    json!({
        "job": job, "document": told.document, "uri": told.uri, "code": told.cause.code, "cause": told.cause.message,
        "source": told.source, "known": known, "outputs": outputs, "same_name": told.same_name, "also_in": told.also_in,
        "waits_for": told.waits_for, "due": told.due, "next": told.next, "file": file,
    })
}

fn tell_explanation(job: &str, told: &Explanation, file: Option<&str>) {
    let line = |name: &str, text: &str| show::line(&format!("  {name:<10} {text}"));
    show::line(&told.cause.message);
    line("document", if told.uri.is_empty() { &told.document } else { &told.uri });
    line("job", job);
    line("source", &told.source);
    // What was found by its name is not looked for under another one.
    if let Some(file) = file.filter(|_| ["absent", "outside"].contains(&told.cause.code.as_str())) {
        line("file", file);
    }
    match &told.known {
        None => line("known", "no"),
        Some(known) => {
            line("known", &format!("yes, as of run {}", known.changed_run));
            if let Some(failure) = &known.failure {
                let since = show::time(failure.first_at);
                line("trouble", &format!("{} since {since}: {}", failure.kind, failure.reason.message));
            }
        }
    }
    for holder in &told.outputs {
        let at = match (holder.confirmed_at, holder.sent_at) {
            (Some(at), _) => format!(" (confirmed {})", show::time(at)),
            (None, Some(at)) => format!(" (sent {})", show::time(at)),
            (None, None) => String::new(),
        };
        line("output", &format!("{}: {}{at}", holder.output, holder.sentence));
    }
    if let Some(uri) = &told.same_name {
        line("same name", &format!("something in another document: {uri}"));
    }
    if !told.also_in.is_empty() {
        line("also in", &format!("job {}", told.also_in.join(", job ")));
    }
    if let Some(waits_for) = &told.waits_for {
        let due = told.due.map_or(String::new(), |due| format!(", not before {}", show::time(due)));
        line("waits for", &format!("{waits_for}{due}"));
    }
    line("next check", &told.next);
}
