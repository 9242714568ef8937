//! `ingather journal snapshot`: what journals come to, as one.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use ingather_connectors::{JournalPart, JournalSummary, journal_snapshot};

use ingather_operations::new_file::whole;

use crate::arguments::Global;
use crate::exit::{self, Failure, Result};
use crate::{interrupt, show};

pub(crate) fn snapshot(global: &Global, files: &[PathBuf], output: Option<&Path>) -> Result<u8> {
    if output.is_none() && show::is_terminal_out() {
        return Err(Failure::usage(
            "a snapshot is not for a terminal; name a file with --output, or send it on, such as to a pipe",
        ));
    }
    if let Some(file) = output.filter(|file| file.exists()) {
        return Err(Failure::usage(format!("{} exists; name a file that does not", file.display())));
    }
    let parts = files.iter().map(|file| open(file)).collect::<Result<Vec<JournalPart>>>()?;
    let summary = written(&parts, output).map_err(|failure| match interrupt::stopped() {
        Some(_) => Failure::stopped(),
        None => failure,
    })?;
    Ok(answer(global, summary))
}

fn written(parts: &[JournalPart], output: Option<&Path>) -> Result<JournalSummary> {
    let cancel = interrupt::cancel();
    if let Some(file) = output {
        return whole(file, &interrupt::unfinished, |out| Ok(journal_snapshot(parts, out, &cancel)?));
    }
    let mut out = std::io::BufWriter::new(show::bytes_out());
    let summary = journal_snapshot(parts, &mut out, &cancel)?;
    out.flush().map_err(|error| Failure::of_path(Path::new("standard output"), &error))?;
    Ok(summary)
}

fn open(path: &Path) -> Result<JournalPart> {
    let name = path.display().to_string();
    let failed = |error: &std::io::Error| {
        Failure::usage(format!("{name} cannot be read: {}; name a journal", exit::in_words(error)))
    };
    // Asked first: opening a pipe waits for somebody who writes to it.
    if !std::fs::metadata(path).map_err(|error| failed(&error))?.is_file() {
        return Err(Failure::usage(format!("{name} is not a file; name a journal")));
    }
    let file = File::open(path).map_err(|error| failed(&error))?;
    Ok(JournalPart { file, name })
}

/// Says what is in the snapshot, beside it; the exit code.
fn answer(global: &Global, summary: JournalSummary) -> u8 {
    let JournalSummary { entries, seq, unknown, gap, ended } = summary;
    if global.json {
        show::stderr(&serde_json::to_string(&summary).unwrap_or_default());
    } else if !global.quiet {
        show::stderr(&format!(
            "entries: {}; follow the journal behind seq {seq}",
            show::number(entries as u64)
        ));
        if !ended {
            show::stderr("the last run in the journal has not ended: it was killed, or works still");
        }
    }
    if unknown == 0 && !gap {
        return exit::DONE;
    }
    let lacking = match unknown {
        0 => "lines are missing before or between these files".to_owned(),
        _ => format!(
            "entries that change in these files and whose last put is in none of them: {}",
            show::number(unknown as u64)
        ),
    };
    show::stderr(&format!(
        "ingather: {lacking}; name the older files, too, before these, or send everything to a new journal with \
         `ingather sync SOURCE --name JOB --to index --to journal:NEW --update`"
    ));
    exit::HAS_FAILURES
}
