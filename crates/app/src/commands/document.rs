//! `ingather document …`: the inventory of a job.

use ingather_store::documents::{self, Listed};
use serde_json::json;

use super::job_named;
use crate::arguments::{Document, DocumentState, Global};
use crate::data::DataDirectory;
use crate::exit::{self, Result};
use crate::show;

/// Rows that are read at once.
const PAGE: usize = 1_000;

pub(crate) fn run(global: &Global, command: Document) -> Result<u8> {
    let Document::List { job, state, limit } = command;
    let reader = DataDirectory::of(global)?.existing()?;
    let job = job_named(&reader, &job)?;
    let mut after = 0;
    let mut left = limit;
    loop {
        let rows = reader.read(|sql| documents::list(sql, job.id, after, PAGE))?;
        let Some(last) = rows.last() else { return Ok(exit::DONE) };
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
}

fn state_of(row: &Listed) -> DocumentState {
    match (&row.work, row.trouble.as_ref().map(|(kind, ..)| kind.as_str())) {
        (Some(_), _) => DocumentState::Waiting,
        (None, Some("failed")) => DocumentState::Failed,
        (None, Some("skipped")) => DocumentState::Skipped,
        _ => DocumentState::Settled,
    }
}

fn tell(global: &Global, job: &str, row: &Listed) {
    let word = match state_of(row) {
        DocumentState::Waiting => "waiting",
        DocumentState::Settled => "settled",
        DocumentState::Failed => "failed",
        DocumentState::Skipped => "skipped",
    };
    let reason = row.trouble.as_ref().map(|(_, code, message)| (code.as_str(), message.as_str()));
    if global.json {
        show::line(
            &json!({
                "job": job, "document": row.name, "state": word, "changed_run": row.changed_run,
                "waits_for": row.work.as_ref().map(|(cause, _)| cause), "due": row.work.as_ref().map(|(_, due)| due),
                "code": reason.map(|(code, _)| code), "reason": reason.map(|(_, message)| message),
            })
            .to_string(),
        );
        return;
    }
    let why = match (&row.work, reason) {
        (_, Some((code, message))) => format!("  {code}: {message}"),
        (Some((cause, due)), None) => format!("  {cause}, due {}", show::time(*due)),
        _ => String::new(),
    };
    show::line(&format!("{word:<8} {}{why}", row.name));
}
