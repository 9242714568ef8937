//! What happens to runs while a service works, for whoever watches it: told as it happens, and kept by nobody here.

use std::sync::{Arc, Weak};

pub use ingather_engine::progress::{Progress, Snapshot};
use ingather_engine::{EngineError, Refusal, Report};
use ingather_model::job::RunKind;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::run_counts::RunCounts;

use crate::context::Context;

/// Something that happened to a run, or to a job between its runs.
#[derive(Clone, Debug)]
pub struct RunEvent {
    /// When, milliseconds since 1970 UTC.
    pub at: i64,
    /// Name of the job.
    pub job: String,
    /// What it was.
    pub what: RunHappening,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum RunHappening {
    /// It began.
    Begun {
        /// How it looks at its source.
        kind: RunKind,
        /// How far it has come; gone when it has ended.
        progress: Weak<Progress>,
    },
    /// It ended.
    Ended {
        /// Its number; none when it could not begin.
        run: Option<i64>,
        /// How.
        outcome: RunOutcome,
        /// What became of its documents.
        counts: RunCounts,
        /// How long it took, milliseconds.
        millis: u64,
        /// Why it ended early.
        error: Option<String>,
    },
    /// A person paused the job, or ended the pause.
    Paused(bool),
}

/// Is told of each event, by the thread that it happens in: it keeps a run waiting for as long as it takes.
pub type Listener = Box<dyn Fn(&RunEvent) + Send + Sync>;

fn tell(context: &Context<'_>, job: &str, what: RunHappening) {
    context.host.tell(&RunEvent { at: context.now(), job: job.to_owned(), what });
}

/// Tells that a run begins.
pub(super) fn begun(context: &Context<'_>, job: &str, kind: RunKind, progress: &Arc<Progress>) {
    tell(context, job, RunHappening::Begun { kind, progress: Arc::downgrade(progress) });
}

/// Tells that a person paused a job, or ended the pause.
pub(super) fn paused(context: &Context<'_>, job: &str, paused: bool) {
    tell(context, job, RunHappening::Paused(paused));
}

/// Tells that a run has ended.
pub(super) fn ended(context: &Context<'_>, job: &str, report: &Result<Report, EngineError>) {
    let what = match report {
        Ok(report) => RunHappening::Ended {
            run: report.run,
            outcome: match report {
                Report { stopped: true, .. } => RunOutcome::Stopped,
                Report { error: Some(_), .. } => RunOutcome::Failed,
                _ => RunOutcome::Done,
            },
            counts: report.counts,
            millis: report.millis.max(0) as u64,
            error: report.error.clone(),
        },
        Err(error) => RunHappening::Ended {
            run: None,
            // A run of a job that a person has paused meanwhile begins when the pause ends.
            outcome: match error {
                EngineError::Refused { refusal: Refusal::Paused | Refusal::Stopped, .. } => {
                    RunOutcome::Stopped
                }
                _ => RunOutcome::Failed,
            },
            counts: RunCounts::default(),
            millis: 0,
            error: Some(error.to_string()),
        },
    };
    tell(context, job, what);
}
