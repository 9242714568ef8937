//! Jobs that are there already: one by its name, or all of them.

use std::path::Path;

use ingather_model::lifecycle::job::State;
use ingather_operations::jobs::sync::SyncSource;
use ingather_operations::jobs::{self, Job, ListJobs};
use ingather_operations::problem::Code;

use super::{definition, synced, tell};
use crate::arguments::Sync;
use crate::commands::pages;
use crate::exit::{self, Failure, Result};
use crate::wiring::{Program, caller};
use crate::{interrupt, show};

/// Jobs that are named to whoever names none of them.
const NAMED_MAX: usize = 8;

/// What is there, for a run: whoever begins one by a name is not told to begin one first, for the store is of an earlier version.
fn jobs(program: &Program<'_>, dry_run: bool) -> Result<Vec<Job>> {
    if let Some(data) = program.data.as_ref().filter(|_| !dry_run) {
        data.reader_up_to_date("sync")?;
    }
    let mut jobs = Vec::new();
    let ask = |limit: u32, cursor: Option<String>| {
        let page = jobs::LIST.call(&program.context(), &caller(), ListJobs { limit, cursor })?;
        Ok((page.jobs, page.next))
    };
    pages::each(u32::MAX, ask, |job| jobs.push(job))?;
    Ok(jobs)
}

/// The job that is meant where a name was typed and no file is there. A job for that file, which may be missing just now, comes first.
pub(super) fn named(program: &Program<'_>, source: &Path, request: &SyncSource) -> Result<Option<Job>> {
    let is_name =
        source.components().count() == 1 && source.file_name().is_some_and(|name| name == source.as_os_str());
    if !is_name || std::fs::symlink_metadata(source).is_ok() {
        return Ok(None);
    }
    let mut jobs = jobs(program, request.dry_run)?;
    if jobs.iter().any(|job| job.root == request.root) {
        return Ok(None);
    }
    match jobs.iter().position(|job| source.as_os_str() == job.job.as_str()) {
        Some(at) => Ok(Some(jobs.swap_remove(at))),
        // What `--name` names is the job that is meant.
        None if jobs.is_empty() || request.name.is_some() => Ok(None),
        None => Err(neither(&source.to_string_lossy(), &request.root, &jobs)),
    }
}

/// What is said of a name that is neither that of a file nor that of a job.
fn neither(name: &str, root: &str, jobs: &[Job]) -> Failure {
    let names: Vec<&str> = jobs.iter().take(NAMED_MAX).map(|job| job.job.as_str()).collect();
    let more = if jobs.len() > NAMED_MAX { " and others (`ingather job list`)" } else { "" };
    let sentence = format!(
        "{root} does not exist, and no job is called {name}; there are {}{more}; nothing was changed",
        names.join(", ")
    );
    Failure::new(Code::Source, sentence)
}

/// Every job once, as it is stored; the exit code is that of the worst.
pub(super) fn run(program: &Program<'_>, mut sync: Sync) -> Result<u8> {
    let said = definition(Path::new("/"), &mut sync.job)?;
    if said != (SyncSource { root: said.root.clone(), ..SyncSource::default() }) {
        return Err(Failure::usage(
            "--all runs jobs as they are stored; leave out what says how a job is to be",
        ));
    }
    let jobs = jobs(program, false)?;
    if jobs.is_empty() {
        return Err(Failure::new(
            Code::NothingYet,
            "there are no jobs yet; begin with `ingather sync FOLDER`",
        ));
    }
    let mut worst = exit::DONE;
    for job in jobs {
        if job.paused || job.state == State::Deleting {
            let name = &job.job;
            show::stderr(&match job.paused {
                true => {
                    format!("job {name} is paused, and left out; `ingather job resume {name}` lets it run")
                }
                false => format!("job {name} is being deleted, and left out"),
            });
            continue;
        }
        let request = SyncSource {
            root: job.root,
            name: Some(job.job.clone()),
            accepts_devices: sync.accept_devices,
            rereads: sync.reread,
            minimal: sync.minimal,
            advise: !program.global.quiet,
            ..SyncSource::default()
        };
        let code =
            synced(program, request).and_then(|synced| tell(program, &synced)).unwrap_or_else(|problem| {
                show::stderr(&format!("job {}: {problem}", job.job));
                problem.exit()
            });
        if let Some(code) = interrupt::stopped() {
            return Ok(code);
        }
        worst = worst.max(code);
    }
    Ok(worst)
}
