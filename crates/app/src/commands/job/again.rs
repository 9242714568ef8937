//! `ingather job reset-seeding`: what the next run does once more.

use ingather_operations::jobs::{self, ResetSeeding};

use crate::exit::{self, Result};
use crate::show;
use crate::wiring::{Program, caller};

pub(super) fn reset_seeding(program: &Program<'_>, job: String, dry_run: bool) -> Result<u8> {
    let reset = jobs::RESET_SEEDING.call(&program.context(), &caller(), ResetSeeding { job, dry_run })?;
    if program.global.json {
        show::answer(&reset);
    } else {
        let when = if reset.under_way { "the run behind the one that is under way" } else { "the next run" };
        let would = if reset.dry_run { "would be" } else { "is" };
        let dry = if reset.dry_run { " (dry run, nothing was changed)" } else { "" };
        show::line(&format!(
            "{}: {when} {would} a full one that reads {} again{dry}",
            reset.job,
            show::counted(reset.documents, "document")
        ));
    }
    Ok(exit::DONE)
}
