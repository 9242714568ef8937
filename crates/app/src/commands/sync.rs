//! `ingather sync`: finds or makes the job of a source, runs it once, says what came of it.

use std::sync::Arc;

use ingather_engine::progress::Progress;
use ingather_engine::{Mode, Options, outputs};
use ingather_model::job::RunKind;

mod dry_run;
mod patterns;
mod source;
mod told;
mod wanted;

pub(super) use wanted::keep_word;

use crate::arguments::{Global, Sync};
use crate::data::DataDirectory;
use crate::exit::{Failure, Result};
use crate::{show, wiring};

use dry_run::{count_only, dry_report};
use source::{canonical, refuse_inside, refuse_machine};
use told::{code, offer, sentence, tell, tell_overlaps};
use wanted::{check, check_outputs, differences, find, refuse_leaving, refuse_name, store_job};

/// Kind and name of the repository connection for folders and files of this machine.
const FILES: (&str, &str) = ("filesystem", "files");

pub(crate) fn run(global: &Global, mut sync: Sync) -> Result<u8> {
    let data = DataDirectory::of(global)?;
    patterns::take_in(&mut sync)?;
    let root = canonical(&sync.source)?;
    refuse_inside(&data, &root)?;
    let dry_run = sync.dry_run;
    let reader = match dry_run {
        true => data.reader()?,
        false => data.reader_up_to_date(&format!("sync of {}", root.display()))?,
    };
    let wanted = find(reader.as_ref(), &sync, &root)?;
    check_outputs(&wanted)?;
    let changes = differences(&wanted);
    if !changes.is_empty() && !sync.update {
        return Err(Failure::usage(format!(
            "job {} is stored with other settings: {}; add --update to change it, or leave the flags out",
            wanted.definition.name,
            changes.join("; ")
        )));
    }
    if wanted.stored.is_none() {
        refuse_name(&wanted.definition.name)?;
        refuse_machine(global, &sync, &root)?;
    }
    check(&wanted)?;
    if let Some(reader) = &reader {
        refuse_leaving(reader, &sync, &wanted)?;
    }
    if dry_run {
        return count_only(global, &data, reader, &wanted, &sync);
    }
    let writing = data.write(&format!("sync of {}", wanted.root), wiring::now())?;
    let reader = writing.store.reader().clone();
    if !changes.is_empty() && !global.quiet {
        let report = dry_report(global, &data, reader.clone(), &wanted, &sync)?;
        show::stderr(&format!("job {} changes: {}", wanted.definition.name, changes.join("; ")));
        show::stderr(&format!("this will lead to: {}", sentence(&report.balance)));
    }
    let before = wanted.stored.as_ref().map_or(&[][..], |job| &job.definition.outputs);
    for name in wanted.definition.outputs.iter().filter(|name| !before.contains(name)) {
        outputs::try_open(&writing.store, &ingather_connectors::ALL, &data.path, name)?;
    }
    let job = store_job(&writing.store, wanted)?;
    let engine = wiring::engine(global, &data, reader, Some(&writing), &wiring::journals(&job.definition));
    let progress = Arc::new(Progress::default());
    let watch = show::progress::Watch::start(global, progress.clone());
    let report = engine.run(&job, options(&sync, Mode::Write), progress);
    drop(watch);
    let report = report?;
    tell(global, &job, &report);
    super::tell_resends(global, writing.store.reader(), Some(job.id))?;
    tell_overlaps(global, &engine, &job)?;
    let confirmed = offer(global, &engine, &job, &report)?;
    Ok(code(&report, confirmed))
}

fn options(sync: &Sync, mode: Mode) -> Options {
    let kind = if sync.minimal { RunKind::Minimal } else { RunKind::Full };
    Options {
        kind,
        mode,
        guard_off: sync.delete_guard.is_some(),
        accepts_devices: sync.accept_devices,
        rereads: sync.reread,
    }
}
