//! `ingather backup` and `ingather restore`: the data directory's state in one file, and back.

use std::path::{Path, PathBuf};

use ingather_operations::Host;
use ingather_operations::backup::{BACKUP, BackUp, BackedUp, RESTORE, Restore};

use crate::arguments::{Global, STANDARD};
use crate::exit::{self, Failure, Result};
use crate::show;
use crate::wiring::{Program, caller};

/// The file that was named; none for standard input or output.
fn named(file: PathBuf) -> Option<PathBuf> {
    (file != Path::new(STANDARD)).then_some(file)
}

pub(crate) fn backup(global: &Global, file: PathBuf) -> Result<u8> {
    let program = Program::of(global)?;
    let file = named(file);
    let to_standard = file.is_none();
    if to_standard && show::is_terminal_out() {
        program.context().existing()?;
        return Err(Failure::usage(
            "a backup is not for a terminal; name a file, or send it on, such as to a pipe",
        ));
    }
    let backed_up = BACKUP.call(&program.context(), &caller(), BackUp { file })?;
    if to_standard {
        return Ok(exit::DONE);
    }
    if global.json {
        show::answer(&backed_up);
    }
    tell(global, "backed up", &backed_up);
    if let Some(key) = backed_up.secrets_key.as_ref().filter(|_| !global.quiet) {
        show::stderr(&format!(
            "secrets of the inventory are sealed with the key {key}, which is in no backup: keep a copy of {} apart",
            program.secrets_key().display()
        ));
    }
    if backed_up.store == "postgres" && !global.quiet {
        show::stderr(
            "the index and the settings are in it; the inventory is not: save the PostgreSQL database with pg_dump at the \
             same time",
        );
    }
    Ok(exit::DONE)
}

fn tell(global: &Global, what: &str, done: &BackedUp) {
    if !global.json && !global.quiet {
        let files = show::counted(done.files as u64, "file");
        show::line(&format!("{what}: {} ({files}, {})", done.file, show::bytes(done.bytes)));
    }
}

pub(crate) fn restore(global: &Global, file: PathBuf) -> Result<u8> {
    let program = Program::of(global)?;
    let restored = RESTORE.call(&program.context(), &caller(), Restore { file: named(file) })?;
    if global.json {
        show::answer(&restored.backup);
    }
    tell(global, "restored", &restored.backup);
    if let Some(key) = restored.backup.secrets_key.as_ref().filter(|_| !global.quiet) {
        show::stderr(&format!(
            "its secrets are sealed with the key {key}, which is in no backup: put its file at {}, for its owner alone, or name it with \
             --secrets-key; until then jobs with secrets do not run",
            program.secrets_key().display()
        ));
    }
    if restored.backup.store == "postgres" && !global.quiet {
        show::stderr(
            "the inventory is not in this backup: restore the PostgreSQL database of the same time and name it with --store, \
             then run `ingather verify --repair`",
        );
    }
    let Some(damage) = restored.damage else { return Ok(exit::DONE) };
    show::stderr(&format!(
        "the search index in this backup is damaged ({damage}) and was left out; the next `ingather sync` of each job makes it \
         anew and sends everything again"
    ));
    Ok(exit::HAS_FAILURES)
}
