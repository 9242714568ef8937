//! What a run would do, counted without a write.

use std::sync::Arc;

use ingather_engine::progress::Progress;
use ingather_engine::{Mode, Options, Report};
use ingather_model::ids::{ConnectionId, JobId};
use ingather_model::lifecycle::job::State;
use ingather_store::jobs::Job;
use ingather_store::{Reader, Store, Target};

use super::wanted::{Terms, Wanted};
use crate::connections::{self, Sources};
use crate::context::{Context, journals};
use crate::problem::{Problem, Result};

/// The job, and what its next run would do. `reader` is none where there is no inventory yet.
pub(crate) fn count_only(
    context: &Context<'_>,
    reader: Option<Reader>,
    wanted: &Wanted,
    terms: Terms,
    options: Options,
) -> Result<(Job, Report)> {
    context.host.refuse_unusable()?;
    // Without a store there is nothing to compare with: an empty one that goes away says the same.
    let scratch = std::env::temp_dir().join(format!("ingather-dry-run-{}", std::process::id()));
    let (reader, made) = match reader {
        Some(reader) => (reader, false),
        None => {
            std::fs::create_dir(&scratch).map_err(|error| Problem::of_path(&scratch, &error))?;
            (Store::open(&Target::Sqlite(scratch.join("store.db")))?.reader().clone(), true)
        }
    };
    let report = report(context, reader.clone(), wanted, options);
    if made {
        // What stays behind is an empty store in the folder for temporary files.
        let _ = std::fs::remove_dir_all(&scratch);
    }
    let report = report?;
    wanted.refuse_keeping_out(&reader, &report, terms.guard_off)?;
    Ok((pretended(wanted), report))
}

pub(super) fn report(
    context: &Context<'_>,
    reader: Reader,
    wanted: &Wanted,
    options: Options,
) -> Result<Report> {
    let job = pretended(wanted);
    let engine = context.engine(reader, None, &journals(&job.definition));
    // What the run itself would be refused.
    for name in &job.definition.outputs {
        connections::refuse_unusable(&engine, name)?;
    }
    let progress = Arc::new(Progress::default());
    let _watch = context.host.watch(progress.clone());
    Ok(engine.run(&job, Options { mode: Mode::DryRun, ..options }, progress)?)
}

/// The job as it is wanted, stored or not.
fn pretended(wanted: &Wanted) -> Job {
    let job = wanted.stored.clone().unwrap_or_else(|| Job {
        id: JobId(0),
        name: wanted.definition.name.clone(),
        repository: ConnectionId(0),
        connector: Some(Sources::of_root(&wanted.root).connector.to_owned()),
        root: wanted.root.clone(),
        state: State::Resting,
        run: 0,
        definition: wanted.definition.clone(),
        revision: 0,
        credentials: None,
        error: None,
        paused: false,
        scheduled_at: 0,

        restart: None,
        rereads: 0,
    });
    Job { definition: wanted.definition.clone(), ..job }
}
