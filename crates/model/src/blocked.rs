//! Why a job does not work right now, in one sentence (design 4.13).

use crate::lifecycle::facts::JobFacts;
use crate::lifecycle::job::State;
use crate::run_counts::counted;

/// What surrounds a job, beyond its facts; times are milliseconds since 1970 UTC.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobEnvironment<'a> {
    /// The time of asking.
    pub now: i64,
    /// When the job's window opens next; none: nobody knows, or never.
    pub opens_at: Option<i64>,
    /// When its schedule starts it next; none: it has none.
    pub starts_at: Option<i64>,
    /// Names of the connectors that the job needs and that are not installed.
    pub missing: &'a [String],
    /// Who holds the store so that this process may not write, as a person would look for it.
    pub store_held_by: Option<&'a str>,
}

/// The reason why a job does not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockedReason {
    /// Another process writes to the store.
    StoreLocked {
        /// Who.
        by: String,
    },
    /// A person paused it.
    Paused,
    /// Connectors that it needs are not installed.
    ConnectorMissing {
        /// Their names; empty when this reader cannot tell which.
        names: Vec<String>,
    },
    /// Its window is closed.
    WindowClosed {
        /// When it opens; none: nobody knows, or never.
        opens_at: Option<i64>,
    },
    /// Nobody asked for a run.
    Resting {
        /// When the schedule will; none: only a person can.
        starts_at: Option<i64>,
    },
    /// Its run is over; the end is being told.
    Ending,
    /// It is being stopped and what is in hands is being put down.
    Stopping,
    /// It is not there.
    Gone,
}

/// Whether the job may take documents, list, sweep or delete now; otherwise the first reason that a person should act on.
///
/// # Errors
/// The reason: what another process, a person, a missing connector, the window or the job's own state says.
pub fn may_work(facts: &JobFacts, environment: &JobEnvironment<'_>) -> Result<(), BlockedReason> {
    match facts.state {
        State::Gone => return Err(BlockedReason::Gone),
        State::Resting if !facts.paused => {
            return Err(BlockedReason::Resting { starts_at: environment.starts_at });
        }
        State::Ending => return Err(BlockedReason::Ending),
        State::Stopping => return Err(BlockedReason::Stopping),
        State::Resting | State::Starting | State::Working | State::Sweeping | State::Deleting => {}
    }
    if let Some(by) = environment.store_held_by {
        return Err(BlockedReason::StoreLocked { by: by.to_owned() });
    }
    // A deletion cannot be taken back: neither pause nor window stops it, and it needs the outputs alone (S3.81, S3.223).
    let deleting = facts.state == State::Deleting;
    if facts.paused && !deleting {
        return Err(BlockedReason::Paused);
    }
    if facts.output_missing || (facts.repository_missing && !deleting) {
        return Err(BlockedReason::ConnectorMissing { names: environment.missing.to_vec() });
    }
    if !facts.window_open && !deleting {
        let opens_at = environment.opens_at.filter(|at| *at > environment.now);
        return Err(BlockedReason::WindowClosed { opens_at });
    }
    Ok(())
}

impl BlockedReason {
    /// Stable word for filters and the API.
    pub fn as_str(&self) -> &'static str {
        match self {
            BlockedReason::StoreLocked { .. } => "store_locked",
            BlockedReason::Paused => "paused",
            BlockedReason::ConnectorMissing { .. } => "connector_missing",
            BlockedReason::WindowClosed { .. } => "window_closed",
            BlockedReason::Resting { .. } => "resting",
            BlockedReason::Ending => "ending",
            BlockedReason::Stopping => "stopping",
            BlockedReason::Gone => "gone",
        }
    }

    /// The sentence that answers "why is nothing happening?", with what to do; `clock` writes a time as its reader would.
    pub fn sentence(&self, clock: &dyn Fn(i64) -> String) -> String {
        match self {
            BlockedReason::StoreLocked { by } => {
                format!("{by} writes to this store; only one process may, so this one waits")
            }
            BlockedReason::Paused => "a person paused it; resume it to go on".to_owned(),
            BlockedReason::ConnectorMissing { names } if names.is_empty() => {
                "a connector that it needs is not installed; it goes on by itself when it is".to_owned()
            }
            BlockedReason::ConnectorMissing { names } => {
                let names = names.join("`, `");
                format!("the connector `{names}` is not installed; it goes on by itself when it is")
            }
            BlockedReason::WindowClosed { opens_at: Some(at) } => {
                format!("it is outside its window, which opens {}", clock(*at))
            }
            BlockedReason::WindowClosed { opens_at: None } => {
                "it is outside its window, and its schedule has no other; change the schedule to go on"
                    .to_owned()
            }
            BlockedReason::Resting { starts_at: Some(at) } => {
                format!("no run was asked for; its schedule starts it {}", clock(*at))
            }
            BlockedReason::Resting { starts_at: None } => {
                "no run was asked for, and it has no schedule; start it".to_owned()
            }
            BlockedReason::Ending => "its run is over; those who asked are being told".to_owned(),
            BlockedReason::Stopping => "it is being stopped; what is in hands is put down first".to_owned(),
            BlockedReason::Gone => "there is no such job".to_owned(),
        }
    }
}

/// Something about a job that does not keep it from working, but that a person should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// Removals wait for a confirmation (design 4.11).
    RemovalsHeld {
        /// The job's name, for the command.
        job: String,
        /// The run that decided them.
        run: i64,
        /// How many.
        documents: u64,
    },
    /// Every bin with work is parked until its rate allows more.
    Throttled {
        /// Until when.
        until: i64,
    },
    /// All that is left waits for another attempt.
    Retrying {
        /// How many documents.
        documents: u64,
        /// When the first is tried.
        at: i64,
    },
}

impl Remark {
    /// The sentence for a person.
    pub fn sentence(&self, clock: &dyn Fn(i64) -> String) -> String {
        match self {
            Remark::RemovalsHeld { job, run, documents } => {
                let (held, are) =
                    (counted(*documents, "removal"), if *documents == 1 { "is" } else { "are" });
                format!(
                    "{held} {are} held; look with `job held {job}`, confirm with `job confirm {job} --run {run}`"
                )
            }
            Remark::Throttled { until } => {
                format!("the rate of its source is used up until {}", clock(*until))
            }
            Remark::Retrying { documents, at } => {
                let (waiting, wait) =
                    (counted(*documents, "document"), if *documents == 1 { "waits" } else { "wait" });
                format!("{waiting} {wait} for another attempt, the first {}", clock(*at))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::steps::{JobChange, JobStep, Step, job_after};

    fn clock(at: i64) -> String {
        format!("at {at}")
    }

    #[test]
    fn the_first_thing_that_a_person_can_do_is_named() {
        let working = JobFacts::new(State::Working);
        let missing = vec!["wiki".to_owned()];
        let environment =
            JobEnvironment { now: 5, opens_at: Some(9), missing: &missing, ..JobEnvironment::default() };
        assert_eq!(may_work(&working, &environment), Ok(()));

        let mut facts = JobFacts { window_open: false, ..working };
        let reason = may_work(&facts, &environment).unwrap_err();
        assert_eq!(reason.sentence(&clock), "it is outside its window, which opens at 9");
        facts.repository_missing = true;
        let reason = may_work(&facts, &environment).unwrap_err();
        assert_eq!(
            reason.sentence(&clock),
            "the connector `wiki` is not installed; it goes on by itself when it is"
        );
        facts.paused = true;
        assert_eq!(may_work(&facts, &environment), Err(BlockedReason::Paused));
        let locked = JobEnvironment { store_held_by: Some("process 7 (sync docs)"), ..environment };
        assert_eq!(may_work(&facts, &locked).unwrap_err().as_str(), "store_locked");
    }

    #[test]
    fn an_opening_that_has_passed_is_not_promised() {
        let facts = JobFacts { window_open: false, ..JobFacts::new(State::Working) };
        let environment = JobEnvironment { now: 9, opens_at: Some(9), ..JobEnvironment::default() };
        assert_eq!(may_work(&facts, &environment), Err(BlockedReason::WindowClosed { opens_at: None }));
    }

    #[test]
    fn only_a_missing_output_stops_a_deletion() {
        let facts = JobFacts {
            paused: true,
            window_open: false,
            repository_missing: true,
            ..JobFacts::new(State::Deleting)
        };
        assert_eq!(may_work(&facts, &JobEnvironment::default()), Ok(()));
        let facts = JobFacts { output_missing: true, ..facts };
        assert!(matches!(
            may_work(&facts, &JobEnvironment::default()),
            Err(BlockedReason::ConnectorMissing { .. })
        ));
    }

    /// The lifecycle and the reason agree: workers take documents exactly when nothing holds the job.
    #[test]
    fn documents_are_taken_only_when_nothing_holds_the_job() {
        let mut met = std::collections::HashSet::from([JobFacts::new(State::Gone)]);
        let mut open: Vec<JobFacts> = met.iter().copied().collect();
        let take = Step::Change(JobChange::TakeDocuments);
        let (mut taken, mut held) = (0, 0);
        while let Some(facts) = open.pop() {
            match may_work(&facts, &JobEnvironment::default()) {
                Ok(()) => {
                    let ready = facts.state == State::Working && !facts.draining && !facts.unloaded;
                    assert_eq!(job_after(facts, take).is_some(), ready, "{facts:?}");
                    taken += usize::from(ready);
                }
                Err(reason) => {
                    assert_eq!(job_after(facts, take), None, "{reason:?} in {facts:?}");
                    assert!(reason.sentence(&clock).len() > 10);
                    held += 1;
                }
            }
            open.extend(
                JobStep::all().filter_map(|step| job_after(facts, step)).filter(|next| met.insert(*next)),
            );
        }
        assert!(taken > 0 && held > taken);
    }

    #[test]
    fn a_resting_job_says_when_it_starts_and_a_held_removal_how_to_confirm() {
        let resting = JobFacts::new(State::Resting);
        let scheduled = JobEnvironment { starts_at: Some(3), ..JobEnvironment::default() };
        assert_eq!(may_work(&resting, &scheduled), Err(BlockedReason::Resting { starts_at: Some(3) }));
        let paused = JobFacts { paused: true, ..resting };
        assert_eq!(
            may_work(&paused, &scheduled),
            Err(BlockedReason::Paused),
            "its schedule will not start it"
        );
        let remark = Remark::RemovalsHeld { job: "docs".into(), run: 4, documents: 30 };
        assert!(remark.sentence(&clock).contains("job confirm docs --run 4"));
    }
}
