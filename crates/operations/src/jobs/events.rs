//! What happens to runs while a service works, for whoever watches it: told as it happens, and kept by nobody here.

use ingather_engine::{EngineError, Report};
use ingather_model::job::RunKind;
use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::run_counts::RunCounts;

use crate::context::Context;

/// Something that happened to a run.
#[derive(Clone, Debug)]
pub struct RunEvent {
    /// Name of the job.
    pub job: String,
    /// What it was.
    pub what: RunHappening,
}

/// What happened to a run.
#[derive(Clone, Debug)]
pub enum RunHappening {
    /// It began.
    Begun {
        /// How it looks at its source.
        kind: RunKind,
    },
    /// It ended.
    Ended {
        /// How.
        outcome: RunOutcome,
        /// What became of its documents.
        counts: RunCounts,
        /// How long it took, milliseconds.
        millis: u64,
        /// Why it ended early.
        error: Option<String>,
    },
}

/// Is told of each event, by the thread that it happens in: it keeps a run waiting for as long as it takes.
pub type Listener = Box<dyn Fn(&RunEvent) + Send + Sync>;

fn tell(context: &Context<'_>, job: &str, what: RunHappening) {
    context.host.tell(&RunEvent { job: job.to_owned(), what });
}

/// Tells that a run begins.
pub(super) fn begun(context: &Context<'_>, job: &str, kind: RunKind) {
    tell(context, job, RunHappening::Begun { kind });
}

/// Tells that a run has ended.
pub(super) fn ended(context: &Context<'_>, job: &str, report: &Result<Report, EngineError>) {
    let what = match report {
        Ok(report) => RunHappening::Ended {
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
            outcome: RunOutcome::Failed,
            counts: RunCounts::default(),
            millis: 0,
            error: Some(error.to_string()),
        },
    };
    tell(context, job, what);
}
