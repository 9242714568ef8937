//! `ingather job move`: the source of a job is elsewhere now.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ingather_model::names;
use ingather_operations::jobs::{self, MoveJob, Moved};

use crate::commands::sync::source;
use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(super) fn run(
    program: &Program<'_>,
    job: String,
    root: &Path,
    dry_run: bool,
    anyway: Option<u64>,
) -> Result<u8> {
    // A service has another current folder, which says nothing, and perhaps another machine, whose links nobody follows here.
    let is_said = program.global.server.is_some() && root.is_absolute();
    let root = if is_said { root.to_owned() } else { source::canonical(root)? };
    let root = names::escape(root.as_os_str().as_bytes()).into_owned();
    let moved = jobs::MOVE.call(&program.context(), &caller(), MoveJob { job, root, anyway, dry_run })?;
    if program.global.json {
        show::answer(&moved);
    } else if !program.global.quiet {
        tell(&moved);
    }
    Ok(exit::DONE)
}

fn tell(moved: &Moved) {
    let Moved { job, from, root, .. } = moved;
    let known = show::counted(moved.documents, "document");
    let missing = moved.missing.map_or(String::new(), |n| format!(", {} missing", show::number(n)));
    show::line(&format!(
        "{job}: {} of {known} are at {root} as they were, {} changed{missing}, {} not known",
        show::number(moved.same),
        show::number(moved.other),
        show::number(moved.new)
    ));
    if !moved.along.is_empty() {
        show::line(&format!(
            "with it go jobs whose sources lie in it, each with a next run of its own: {}",
            moved.along.join(", ")
        ));
    }
    if moved.dry_run {
        let anyway = format!("; where it is meant all the same: --anyway {}", moved.same);
        show::line(&match moved.alike {
            true => {
                "it would be moved; nothing is read or sent again (dry run, nothing was changed)".to_owned()
            }
            false => {
                format!("it does not look like the source of this job{anyway} (dry run, nothing was changed)")
            }
        });
        return;
    }
    show::line(&format!(
        "{job} is moved from {from} to {root}; nobody finds its documents until its next run: `ingather job start {job}`"
    ));
    if moved.addresses != moved.root {
        show::stderr(&format!(
            "outputs know its documents by addresses below {}; searches show where they are",
            moved.addresses
        ));
    }
}
