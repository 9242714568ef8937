//! `ingather document …`: the inventory of a job, and why one document stands as it does.

pub(super) mod channel;
mod erase;
pub(super) mod push;
pub(super) mod source;

use std::ffi::OsStr;

use ingather_operations::documents::{
    self, DocumentState, ExplainDocument, Explained, ExplainedReferrer, ExplainedReferrers, ListDocuments,
};

use super::{lookup, pages};
use crate::arguments::{self, Document, Global};
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(crate) fn run(global: &Global, command: Document) -> Result<u8> {
    let program = Program::of(global)?;
    match command {
        Document::List { job, state, limit } => {
            let state = state.map(|state| match state {
                arguments::DocumentState::Waiting => DocumentState::Waiting,
                arguments::DocumentState::Done => DocumentState::Settled,
                arguments::DocumentState::Failed => DocumentState::Failed,
                arguments::DocumentState::Skipped => DocumentState::Skipped,
            });
            list(&program, &job, state, limit)
        }
        Document::Explain { job, document } => explain(&program, job, &document),
        Document::Erase { names, job, dry_run, yes } => {
            erase::erase(&program, &names, job, erase::How { dry_run, yes })
        }
        Document::Erased { job, limit } => erase::erased(&program, job, limit),
        Document::Readmit { names } => erase::readmit(&program, &names),
    }
}

fn list(program: &Program<'_>, job: &str, state: Option<DocumentState>, limit: u32) -> Result<u8> {
    let global = program.global;
    let ask = |limit: u32, cursor: Option<String>| {
        let request = ListDocuments { job: job.to_owned(), state, limit, cursor };
        let page = documents::LIST.call(&program.context(), &caller(), request)?;
        Ok((page.documents, page.next))
    };
    let more = pages::each(limit, ask, |row| match global.json {
        true => show::answer(&row),
        false => tell(&row),
    })?;
    if more && !global.quiet {
        show::stderr("there are more; see them with a larger --limit");
    }
    Ok(exit::DONE)
}

fn tell(row: &documents::Document) {
    let word = match row.state {
        DocumentState::Waiting => "waiting",
        DocumentState::Settled => "done",
        DocumentState::Failed => "failed",
        DocumentState::Skipped => "skipped",
    };
    let why = match (&row.waits_for, row.due, &row.code, &row.reason) {
        (_, _, Some(code), Some(message)) => format!("  {code}: {message}"),
        (Some(waits_for), Some(due), ..) => format!("  {waits_for}, due {}", show::time(due)),
        _ => String::new(),
    };
    show::line(&format!("{word:<8} {}{why}", row.document));
}

fn explain(program: &Program<'_>, job: String, typed: &OsStr) -> Result<u8> {
    let (document, path) = lookup::typed(typed);
    let request = ExplainDocument { job, document, path };
    let told = documents::EXPLAIN.call(&program.context(), &caller(), request)?;
    if program.global.json {
        show::answer(&told);
    } else {
        tell_explanation(&told);
    }
    Ok(exit::DONE)
}

/// What leads to a page; a page of its own where the job begins has nothing that does.
fn tell_referrers(referrers: &ExplainedReferrers) {
    let mut name = "led to by";
    for ExplainedReferrer { document, relation } in &referrers.some {
        show::line(&format!("  {name:<10} {document} ({relation})"));
        name = "";
    }
    let more = referrers.total.saturating_sub(referrers.some.len() as u64);
    let partly = if referrers.partial { ", of those that were looked through" } else { "" };
    if more > 0 {
        show::line(&format!("  {:<10} and {} more{partly}", "", show::number(more)));
    } else if referrers.total == 0 {
        show::line(&format!(
            "  {name:<10} nothing that is known{partly}: the job begins there, or it goes with the next run"
        ));
    }
}

fn tell_explanation(told: &Explained) {
    let line = |name: &str, text: &str| show::line(&format!("  {name:<10} {text}"));
    show::line(&told.cause);
    line("document", if told.uri.is_empty() { &told.document } else { &told.uri });
    if let Some(address) = &told.address {
        line("address", &format!("{address} (so outputs know it, since before its job was moved)"));
    }
    line("job", &told.job);
    line("source", &told.source);
    // What was found by its name is not looked for under another one.
    if let Some(file) = told.file.as_ref().filter(|_| ["absent", "outside"].contains(&told.code.as_str())) {
        line("file", file);
    }
    match &told.known {
        None => line("known", "no"),
        Some(known) => {
            line("known", &format!("yes, as of run {}", known.changed_run));
            if let Some(failure) = &known.failure {
                let since = show::time(failure.first_at);
                line("trouble", &format!("{} since {since}: {}", failure.kind, failure.message));
            }
        }
    }
    for holder in &told.outputs {
        let at = match (holder.confirmed_at, holder.sent_at) {
            (Some(at), _) => format!(" (confirmed {})", show::time(at)),
            (None, Some(at)) => format!(" (sent {})", show::time(at)),
            (None, None) => String::new(),
        };
        line("output", &format!("{}: {}{at}", holder.output, holder.says));
        if let Some(way) = &holder.way {
            line("", way);
        }
    }
    if let Some(uri) = &told.same_name {
        line("same name", &format!("something in another document: {uri}"));
    }
    if let Some(referrers) = &told.referrers {
        tell_referrers(referrers);
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
