//! `ingather document erase`, `erased` and `readmit`: what no output may hold any more, and no run takes in.

use std::ffi::{OsStr, OsString};

use ingather_operations::documents::{
    self, EraseDocument, ErasedFromJob, Erasure, ListErased, ReadmitDocument,
};

use crate::commands::{lookup, pages};
use crate::exit::{self, Failure, Result};
use crate::show;
use crate::wiring::{Program, caller};

/// How a person wants it done.
pub(super) struct How {
    pub(super) dry_run: bool,
    pub(super) yes: bool,
}

pub(super) fn erase(program: &Program<'_>, names: &[OsString], job: Option<String>, how: How) -> Result<u8> {
    let global = program.global;
    let (job, typed) = match (names, job) {
        ([typed], job) => (job, typed),
        ([job, typed], None) => (Some(job.to_string_lossy().into_owned()), typed),
        _ => {
            return Err(Failure::usage(
                "the job is named twice; name it once, before the document or by --job",
            ));
        }
    };
    let (document, path) = lookup::typed(typed);
    let request = EraseDocument { document, path, job, dry_run: true };
    let ask = |dry_run: bool| {
        let request = EraseDocument { dry_run, ..request.clone() };
        documents::ERASE.call(&program.context(), &caller(), request)
    };
    let asks = !how.yes && !global.json && !global.quiet && show::is_person();
    if how.dry_run || asks {
        let would = ask(true)?;
        if how.dry_run && global.json {
            show::answer(&would);
        } else {
            would.documents.iter().for_each(tell_would);
            tell_where_else(&would);
        }
        if how.dry_run {
            return Ok(exit::DONE);
        }
        if !show::ask("erase it?") {
            return Err(Failure::usage("nothing was erased"));
        }
    }
    let erased = ask(false)?;
    if global.json {
        show::answer(&erased);
    } else if !global.quiet {
        erased.documents.iter().for_each(tell);
        tell_where_else(&erased);
    }
    Ok(if erased.done { exit::DONE } else { exit::HAS_FAILURES })
}

fn tell_would(document: &ErasedFromJob) {
    let held = match document.outputs.as_slice() {
        [] => "no output holds it".to_owned(),
        outputs => format!("from {}", outputs.join(", ")),
    };
    show::line(&format!("{}: {} would be erased {held}", document.job, document.document));
}

fn tell(document: &ErasedFromJob) {
    let name = format!("{}: {}", document.job, document.document);
    if document.done {
        show::line(&format!("{name} is erased"));
    }
    for left in &document.left {
        let of =
            if left.output.is_empty() { String::new() } else { format!("{} holds it yet: ", left.output) };
        show::stderr(&format!("{name} is not erased yet: {of}{}; it goes on by itself", left.why));
    }
}

/// Where it is that no removal reaches.
fn tell_where_else(erasure: &Erasure) {
    for journal in &erasure.journals {
        show::stderr(&format!(
            "earlier lines of the journal {journal} may hold it: whoever has read them is told of its removal; \
             `ingather journal snapshot` writes a journal without what is gone"
        ));
    }
    for backup in &erasure.backups {
        show::stderr(&format!("the backup of {} in {} may hold it", show::time(backup.at), backup.file));
    }
    if !erasure.also_in.is_empty() {
        show::stderr(&format!(
            "outputs may hold it for job {}; leave the job out to erase it everywhere",
            erasure.also_in.join(", job ")
        ));
    }
}

pub(super) fn erased(program: &Program<'_>, job: Option<String>, limit: u32) -> Result<u8> {
    let global = program.global;
    let mut waits = false;
    let ask = |limit: u32, cursor: Option<String>| {
        let request = ListErased { job: job.clone(), limit, cursor };
        let page = documents::ERASED.call(&program.context(), &caller(), request)?;
        Ok((page.documents, page.next))
    };
    let more = pages::each(limit, ask, |row| {
        waits |= row.done_at.is_none();
        if global.json {
            return show::answer(&row);
        }
        let state = if row.done_at.is_some() { "erased" } else { "waiting" };
        show::line(&format!("{state:<8} {}  {}  {}, {}", show::time(row.at), row.by, row.job, row.document));
    })?;
    if more && !global.quiet {
        show::stderr("there are more; see them with a larger --limit");
    }
    Ok(if waits { exit::HAS_FAILURES } else { exit::DONE })
}

pub(super) fn readmit(program: &Program<'_>, job: String, typed: &OsStr) -> Result<u8> {
    let (document, path) = lookup::typed(typed);
    let request = ReadmitDocument { job, document, path };
    let let_in = documents::READMIT.call(&program.context(), &caller(), request)?;
    if program.global.json {
        show::answer(&let_in);
    } else if !program.global.quiet {
        let documents::Readmitted { job, document } = let_in;
        show::line(&format!("{job}: the next run takes in {document} again, where the source has it"));
    }
    Ok(exit::DONE)
}
