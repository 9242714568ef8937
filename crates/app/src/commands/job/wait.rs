//! `ingather job wait`: until no run of a job is under way.

use std::time::{Duration, Instant};

use ingather_model::lifecycle::job::State;
use ingather_model::lifecycle::outcome::{GuardState, RunOutcome};
use ingather_model::limits;
use ingather_model::run_counts::RunCounts;
use ingather_operations::in_words;
use ingather_operations::jobs::{self, ShowJob, ShownJob};

use crate::exit::{self, Failure, Result};
use crate::wiring::{Program, caller};
use crate::{interrupt, show};

pub(super) fn run(program: &Program<'_>, job: &str, timeout_seconds: u32) -> Result<u8> {
    let wait = Duration::from_secs(timeout_seconds.into());
    let shown = until_at_rest(program, job, Some(wait))?.ok_or_else(|| {
        Failure::unable(format!(
            "a run of job {job} is still under way after {timeout_seconds} s; wait longer with --timeout, or stop it with \
             `ingather job abort {job}`"
        ))
    })?;
    if program.global.json {
        show::answer(&shown.job);
    } else if !program.global.quiet {
        show::line(&match &shown.job.run {
            None => format!("job {job} never ran"),
            Some(run) => format!(
                "{job}: run {} {}: {}",
                run.run,
                super::outcome_of(run),
                in_words::sentence(&left(run))
            ),
        });
    }
    Ok(code(&shown))
}

/// The job as it is when no run of it is under way any more; none when that took longer than `longest`.
pub(in crate::commands) fn until_at_rest(
    program: &Program<'_>,
    job: &str,
    longest: Option<Duration>,
) -> Result<Option<ShownJob>> {
    interrupt::looks();
    let begun = Instant::now();
    loop {
        let request = ShowJob { job: job.to_owned() };
        let shown = jobs::SHOW.call(&program.context(), &caller(), request)?;
        if !is_under_way(program, &shown) {
            return Ok(Some(shown));
        }
        let left = longest.map_or(Duration::MAX, |longest| longest.saturating_sub(begun.elapsed()));
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::park_timeout(left.min(Duration::from_millis(limits::JOB_WAIT_LOOK_MS)));
    }
}

/// A service knows what it works on. Elsewhere what is on record counts, as long as somebody is there who may work on it.
fn is_under_way(program: &Program<'_>, shown: &ShownJob) -> bool {
    let is_service = program.remote.is_some();
    let is_wanted = shown.job.restart.is_some() && !shown.job.paused && (is_service || shown.works);
    let is_on_record = !matches!(shown.job.state, State::Resting | State::Starting);
    shown.works && (is_service || is_on_record) || is_wanted
}

fn code(shown: &ShownJob) -> u8 {
    match &shown.job.run {
        None => exit::DONE,
        Some(run)
            if run.outcome == Some(RunOutcome::Done)
                && !left(run).has_failures()
                && shown.blind.is_empty() =>
        {
            exit::DONE
        }
        Some(_) => exit::HAS_FAILURES,
    }
}

/// What became of the documents of a run until now: what was confirmed, or is void, is not held any more.
fn left(run: &jobs::Run) -> RunCounts {
    match run.guard {
        Some(GuardState::Confirmed | GuardState::Void) => RunCounts { held: 0, ..run.counts },
        _ => run.counts,
    }
}
