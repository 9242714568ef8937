//! `ingather job reset-seeding` and `job resend`: what the next run does once more.

use ingather_operations::jobs::{self, Resend, ResetSeeding};

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

pub(super) fn resend(
    program: &Program<'_>,
    job: String,
    output: Option<String>,
    dry_run: bool,
) -> Result<u8> {
    let resent = jobs::RESEND.call(&program.context(), &caller(), Resend { job, output, dry_run })?;
    if program.global.json {
        show::answer(&resent);
    } else {
        let would = if resent.dry_run { "would send" } else { "sends" };
        let dry = if resent.dry_run { " (dry run, nothing was changed)" } else { "" };
        let (documents, outputs) = (show::counted(resent.documents, "document"), resent.outputs.join(", "));
        show::line(&format!("{}: the next run {would} {documents} to {outputs} again{dry}", resent.job));
    }
    Ok(exit::DONE)
}
