//! `ingather document erase`, `erased` and `readmit`: what no output may hold any more, and no run takes in.

use std::ffi::{OsStr, OsString};
use std::path::Path;

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
    let (job, typed) = named(names, job)?;
    if !how.yes && !how.dry_run && !show::is_person() {
        return Err(Failure::usage(
            "nobody can be asked here whether it is to be erased; --dry-run says what would be, --yes erases without asking",
        ));
    }
    let ask = |(document, path): (String, Option<String>), dry_run: bool| {
        let request = EraseDocument { document, path, job: job.clone(), dry_run };
        documents::ERASE.call(&program.context(), &caller(), request)
    };
    let exact = the_one(typed, |name| ask(name, true))?;
    if how.dry_run || !how.yes {
        let would = ask(exact.clone(), true)?;
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
    let erased = ask(exact, false)?;
    if global.json {
        show::answer(&erased);
    } else if !global.quiet {
        erased.documents.iter().for_each(tell);
        tell_where_else(&erased);
    }
    Ok(if erased.done { exit::DONE } else { exit::HAS_FAILURES })
}

/// The job, where one is named, and the document.
fn named(names: &[OsString], job: Option<String>) -> Result<(Option<String>, &OsStr)> {
    match (names, job) {
        ([typed], job) => Ok((job, typed)),
        ([job, typed], None) => Ok((Some(job.to_string_lossy().into_owned()), typed)),
        _ => Err(Failure::usage("the job is named twice; name it once, before the document or by --job")),
    }
}

/// What was typed, as the name that it is of one document alone. `\xE9` may be typed for a byte, and be in the name of another file.
fn the_one(
    typed: &OsStr,
    would: impl Fn((String, Option<String>)) -> ingather_operations::problem::Result<Erasure>,
) -> Result<(String, Option<String>)> {
    let written = lookup::typed(typed);
    let Some(literal) = lookup::literally(typed) else { return Ok(written) };
    let is_there = std::fs::symlink_metadata(Path::new(typed)).is_ok();
    let uris = |erasure: Erasure| erasure.documents.into_iter().map(|document| document.uri).next();
    match (would(written.clone()).map(uris), would(literal.clone()).map(uris)) {
        (Ok(Some(one)), Ok(Some(other))) if one != other => Err(Failure::usage(format!(
            "`{0}` names two documents: {one}, which has bytes in its name that were written as `\\x` and two digits, and {other}, whose \
             name is as it was typed; name one of these",
            typed.display()
        ))),
        (Ok(Some(one)), Err(_)) if is_there => Err(Failure::usage(format!(
            "there is a file `{0}`, which no job knows, and {one}, which has a byte in its name where `\\x` and two digits were typed; \
             to erase that one, name it so",
            typed.display()
        ))),
        (Err(_), Ok(Some(_))) => Ok(literal),
        _ => Ok(written),
    }
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
        let job = if row.job.is_empty() { "every job" } else { &row.job };
        show::line(&format!("{state:<8} {}  {}  {job}, {}", show::time(row.at), row.by, row.document));
    })?;
    if more && !global.quiet {
        show::stderr("there are more; see them with a larger --limit");
    }
    Ok(if waits { exit::HAS_FAILURES } else { exit::DONE })
}

pub(super) fn readmit(program: &Program<'_>, names: &[OsString]) -> Result<u8> {
    let (job, typed) = named(names, None)?;
    let (document, path) = lookup::typed(typed);
    let request = ReadmitDocument { job, document, path };
    let let_in = documents::READMIT.call(&program.context(), &caller(), request)?;
    if program.global.json {
        show::answer(&let_in);
    } else if !program.global.quiet {
        let documents::Readmitted { job, document } = let_in;
        let runs = match job.is_empty() {
            true => "every job: its next run".to_owned(),
            false => format!("{job}: the next run"),
        };
        show::line(&format!("{runs} takes in {document} again, where the source has it"));
    }
    Ok(exit::DONE)
}
