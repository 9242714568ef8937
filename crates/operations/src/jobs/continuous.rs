//! Continuous jobs of a service: passes that begin whenever a watch tells of changes.

use std::sync::Arc;

use ingather_engine::{Engine, Watches};
use ingather_model::ids::JobId;
use ingather_model::lifecycle::outcome::GuardState;
use ingather_model::limits;
use ingather_store::jobs::Job;
use ingather_store::runs::Run;

use super::start;
use crate::context::{Context, journals};
use crate::problem::Result;

/// Begins passes; see [`Continuous::look`].
pub(super) struct Continuous {
    watches: Watches,
}

/// What is told of a look.
#[derive(Default)]
pub(super) struct Looked {
    /// When to ask again, milliseconds since 1970 UTC.
    pub(super) again: Option<i64>,
    /// Sentences about jobs, for the log.
    pub(super) told: Vec<(JobId, String)>,
}

impl Continuous {
    pub(super) fn new(wake: Arc<dyn Fn() + Send + Sync>, folders_max: usize) -> Continuous {
        Continuous { watches: Watches::new(wake, folders_max) }
    }

    /// Begins the passes that are due.
    pub(super) fn look(&mut self, context: &Context<'_>, jobs: Vec<(Job, Option<Run>)>) -> Result<Looked> {
        let reader = context.existing()?;
        let engine =
            |job: &Job| -> Engine { context.engine(reader.clone(), None, &journals(&job.definition)) };
        let (process, clock) = (context.host.process(), &*context.clock);
        let names: Vec<(JobId, String)> = jobs.iter().map(|(job, _)| (job.id, job.name.clone())).collect();
        let holds = |last: &Option<Run>| last.as_ref().is_some_and(|run| run.guard == Some(GuardState::Held));
        let held = jobs.iter().filter(|(_, last)| holds(last)).map(|(job, _)| (job.id, held(&job.name)));
        let held: Vec<(JobId, String)> = held.collect();
        let due =
            self.watches.look(jobs.into_iter().map(|(job, _)| job).collect(), &engine, &process, clock)?;
        let mut looked = Looked { again: due.again, told: held };
        for (job, kind) in due.begins {
            self.watches.begin(&job, &engine, clock);
            if let Err(problem) = start::begin_pass(context, &job, kind) {
                let wait = match start::waits_for_somebody(&problem) {
                    true => {
                        self.watches.put_off(job.id);
                        limits::PASS_REST_MS_MIN
                    }
                    false => {
                        self.watches.refused(job.id, clock);
                        looked
                            .told
                            .push((job.id, format!("pass of job {}: cannot begin: {problem}", job.name)));
                        limits::PASS_RETRY_MS
                    }
                };
                let retry = context.now().saturating_add(wait);
                looked.again = Some(looked.again.map_or(retry, |again| again.min(retry)));
            }
        }
        let name =
            |id: JobId| names.iter().find(|(other, _)| *other == id).map_or("", |(_, name)| name.as_str());
        let told = due.unwatched.into_iter().map(|(id, why)| (id, format!("job {} {why}", name(id))));
        looked.told.extend(told);
        Ok(looked)
    }
}

/// Passes end without a word, and here somebody is needed. Each of them holds what the last one held: it is told once.
fn held(name: &str) -> String {
    format!(
        "job {name}: removals are held and wait for a person: `ingather job pause {name}` lets no other pass begin, `ingather job held {name}` \
         lists them, and `ingather job confirm` carries them out"
    )
}
