//! What a run did, as people and programs are told it.

use ingather_model::run_counts::RunCounts;
use ingather_operations::in_words::sentence;
use ingather_operations::jobs::sync::Synced;

use crate::arguments::Global;
use crate::{exit, interrupt, show, wiring};

/// Blind scopes that are named.
const BLIND_MAX: usize = 20;

pub(super) fn code(synced: &Synced, confirmed: bool) -> u8 {
    let counts = RunCounts { held: if confirmed { 0 } else { synced.line.held }, ..synced.counts() };
    // Also when it was stopped behind the run, amid removals that were confirmed.
    if let Some(code) = interrupt::stopped() {
        return code;
    }
    if synced.error.is_some() || counts.has_failures() || !synced.unread.is_empty() {
        exit::HAS_FAILURES
    } else {
        exit::DONE
    }
}

pub(super) fn tell(global: &Global, synced: &Synced) {
    let name = &synced.line.job;
    if global.json {
        show::answer(&synced.line);
    } else if !global.quiet {
        let dry = if synced.line.run.is_none() { " (dry run, nothing was written)" } else { "" };
        show::line(&format!("{name}: {} in {:.1} s{dry}", sentence(&synced.counts()), synced.line.seconds));
    }
    for spot in synced.unread.iter().take(BLIND_MAX) {
        show::stderr(&match (spot.cause.as_str(), spot.is_root) {
            ("absent", true) => {
                format!(
                    "{} is missing; nothing was removed from {}: mount it, or, if it was renamed or is mounted elsewhere, \
                     `ingather job move {name} NEW-ROOT`; if it is gone for good, `ingather job delete {name}`",
                    synced.root,
                    synced.outputs.join(", ")
                )
            }
            (cause, _) => format!("could not be read: {} ({cause}): {}", spot.scope, spot.message),
        });
    }
    if synced.unread.len() > BLIND_MAX {
        let more = (synced.unread.len() - BLIND_MAX) as u64;
        show::stderr(&format!("and {}; -v names them", show::counted(more, "more path")));
    }
    if let Some(error) = &synced.error {
        show::stderr(error);
    }
    if !global.quiet {
        synced.notes.iter().for_each(|note| show::stderr(note));
    }
    wiring::warn_of_loose_readers(global);
    if synced.line.run.is_some() && !global.quiet {
        tell_where_to_look(global, synced);
    }
    if synced.stopped {
        show::stderr("stopped; run the same command again to go on");
    }
}

/// Where documents are listed that were not read as a whole, or not at all.
fn tell_where_to_look(global: &Global, synced: &Synced) {
    let name = &synced.line.job;
    if synced.line.partial > 0 {
        show::stderr(&format!(
            "{} could not be read in full. List: ingather search --all 'meta.extraction:*'. Reason: ingather document explain {name} \
             DOCUMENT",
            show::counted(synced.line.partial, "document")
        ));
    }
    if synced.line.failed > 0 {
        show::stderr(&format!(
            "{} failed. Details: ingather document list {name} --state failed",
            show::counted(synced.line.failed, "document")
        ));
    }
    if synced.line.skipped > 0 && !global.json && show::is_terminal() {
        show::stderr(&format!("what is skipped, and why: ingather document list {name} --state skipped"));
    }
}
