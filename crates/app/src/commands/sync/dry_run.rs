//! What a `sync` would do, counted without a write.

use std::sync::Arc;

use ingather_engine::progress::Progress;
use ingather_engine::{Mode, Report};
use ingather_model::ids::{ConnectionId, JobId};
use ingather_model::lifecycle::job::State;
use ingather_store::jobs::Job;
use ingather_store::{Reader, Store, Target};

use super::told::{code, tell};
use super::wanted::Wanted;
use super::{FILES, options};
use crate::archive;
use crate::arguments::{Global, Sync};
use crate::data::DataDirectory;
use crate::exit::Result;
use crate::{show, system_checks, wiring};

pub(super) fn count_only(
    global: &Global,
    data: &DataDirectory,
    reader: Option<Reader>,
    wanted: &Wanted,
    sync: &Sync,
) -> Result<u8> {
    data.refuse_unusable()?;
    // Without a store there is nothing to compare with: an empty one that goes away says the same.
    let scratch = std::env::temp_dir().join(format!("ingather-dry-run-{}", std::process::id()));
    let (reader, made) = match reader {
        Some(reader) => (reader, false),
        None => {
            std::fs::create_dir(&scratch).map_err(|error| archive::failed(&scratch, &error))?;
            (Store::open(&Target::Sqlite(scratch.join("store.db")))?.reader().clone(), true)
        }
    };
    let report = dry_report(global, data, reader, wanted, sync);
    if made {
        // What stays behind is an empty store in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&scratch);
    }
    let report = report?;
    tell(global, &pretended(wanted), &report);
    Ok(code(&report, false))
}

pub(super) fn dry_report(
    global: &Global,
    data: &DataDirectory,
    reader: Reader,
    wanted: &Wanted,
    sync: &Sync,
) -> Result<Report> {
    let job = pretended(wanted);
    let engine = wiring::engine(global, data, reader, None, &wiring::journals(&job.definition));
    // What the run itself would be refused.
    for name in &job.definition.outputs {
        system_checks::refuse_unusable(&engine, name)?;
    }
    let progress = Arc::new(Progress::default());
    let _watch = show::progress::Watch::start(global, progress.clone());
    Ok(engine.run(&job, options(sync, Mode::DryRun), progress)?)
}

/// The job as the flags want it, stored or not.
fn pretended(wanted: &Wanted) -> Job {
    let job = wanted.stored.clone().unwrap_or_else(|| Job {
        id: JobId(0),
        name: wanted.definition.name.clone(),
        repository: ConnectionId(0),
        connector: Some(FILES.0.to_owned()),
        root: wanted.root.clone(),
        state: State::Resting,
        run: 0,
        definition: wanted.definition.clone(),
        revision: 0,
        reader: None,
        error: None,
    });
    Job { definition: wanted.definition.clone(), ..job }
}
