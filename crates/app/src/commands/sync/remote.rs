//! `ingather sync --server`: the service makes or changes the job and runs it; this program waits and says what came of it.

use ingather_model::job::RunKind;
use ingather_operations::jobs::sync::{SyncSource, Synced, SyncedLine, Unread};
use ingather_operations::jobs::{self, DefineJob, Run, ShowJob, ShownJob, StartJob};

use crate::commands::job::wait;
use crate::exit::{Failure, Result};
use crate::wiring::{Program, caller};
use crate::{interrupt, show};

pub(super) fn run(program: &Program<'_>, request: SyncSource) -> Result<Synced> {
    if request.dry_run {
        return Err(Failure::usage(
            "a service counts what a change leads to with `ingather apply --dry-run`; or leave --server out: --dry-run writes nothing and \
             works beside a service",
        ));
    }
    let (context, caller) = (program.context(), caller());
    let mut start = StartJob {
        job: String::new(),
        mode: if request.minimal { RunKind::Minimal } else { RunKind::Full },
        guard_off: request.guard_off,
        accepts_devices: request.accepts_devices,
        rereads: request.rereads,
    };
    let defined = jobs::DEFINE.call(&context, &caller, DefineJob::of(request))?;
    if !defined.changes.is_empty() && !program.global.quiet {
        show::stderr(&format!("job {} changes: {}", defined.job, defined.changes.join("; ")));
    }
    let shown = jobs::SHOW.call(&context, &caller, ShowJob { job: defined.job.clone() })?;
    let before = shown.job.run.map_or(0, |run| run.run);
    start.job.clone_from(&defined.job);
    jobs::START.call(&context, &caller, start)?;
    let name = defined.job.clone();
    interrupt::when_stopped(move || {
        show::stderr(&format!("the run goes on; `ingather job abort {name}` stops it"));
    });
    match wait::until_at_rest(program, &defined.job, None)? {
        Some(shown) => ended(before, shown),
        None => Err(Failure::stopped()),
    }
}

/// What became of the run behind run `before`.
fn ended(before: i64, shown: ShownJob) -> Result<Synced> {
    let ShownJob { job, blind, .. } = shown;
    let Some(Run { run, counts, started_at, ended_at: Some(ended_at), error, .. }) =
        job.run.filter(|run| run.run > before)
    else {
        let sentence = format!(
            "the run of job {} could not begin, or was cut off; the log of the service says why",
            job.job
        );
        return Err(Failure::unable(sentence));
    };
    let unread: Vec<Unread> = blind
        .into_iter()
        .map(|spot| Unread {
            is_root: spot.scope == "/",
            scope: spot.scope,
            cause: spot.cause,
            message: spot.message,
        })
        .collect();
    let line = SyncedLine::of(job.job, Some(run), counts, &unread, ended_at - started_at);
    Ok(Synced {
        line,
        root: job.root,
        outputs: job.outputs,
        stopped: false,
        error,
        unread,
        notes: Vec::new(),
        resends: Vec::new(),
        overlaps: Vec::new(),
    })
}
