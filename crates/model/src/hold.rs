//! Why a job does not work right now, in one sentence (design 4.13).

use crate::balance::counted;
use crate::lifecycle::facts::JobFacts;
use crate::lifecycle::job::State;

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
pub enum Hold {
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
/// The hold: what another process, a person, a missing connector, the window or the job's own state says.
pub fn may_work(facts: &JobFacts, around: &JobEnvironment<'_>) -> Result<(), Hold> {
    match facts.state {
        State::Gone => return Err(Hold::Gone),
        State::Resting if !facts.paused => return Err(Hold::Resting { starts_at: around.starts_at }),
        State::Ending => return Err(Hold::Ending),
        State::Stopping => return Err(Hold::Stopping),
        State::Resting | State::Starting | State::Working | State::Sweeping | State::Deleting => {}
    }
    if let Some(by) = around.store_held_by {
        return Err(Hold::StoreLocked { by: by.to_owned() });
    }
    // A deletion cannot be taken back: neither pause nor window stops it, and it needs the outputs alone (S3.81, S3.223).
    let deleting = facts.state == State::Deleting;
    if facts.paused && !deleting {
        return Err(Hold::Paused);
    }
    if facts.output_missing || (facts.repository_missing && !deleting) {
        return Err(Hold::ConnectorMissing { names: around.missing.to_vec() });
    }
    if !facts.window_open && !deleting {
        let opens_at = around.opens_at.filter(|at| *at > around.now);
        return Err(Hold::WindowClosed { opens_at });
    }
    Ok(())
}

impl Hold {
    /// Stable word for filters and the API.
    pub fn word(&self) -> &'static str {
        match self {
            Hold::StoreLocked { .. } => "store_locked",
            Hold::Paused => "paused",
            Hold::ConnectorMissing { .. } => "connector_missing",
            Hold::WindowClosed { .. } => "window_closed",
            Hold::Resting { .. } => "resting",
            Hold::Ending => "ending",
            Hold::Stopping => "stopping",
            Hold::Gone => "gone",
        }
    }

    /// The sentence that answers "why is nothing happening?", with what to do; `clock` writes a time as its reader would.
    pub fn sentence(&self, clock: &dyn Fn(i64) -> String) -> String {
        match self {
            Hold::StoreLocked { by } => {
                format!("{by} writes to this store; only one process may, so this one waits")
            }
            Hold::Paused => "a person paused it; resume it to go on".to_owned(),
            Hold::ConnectorMissing { names } if names.is_empty() => {
                "a connector that it needs is not installed; it goes on by itself when it is".to_owned()
            }
            Hold::ConnectorMissing { names } => {
                let names = names.join("`, `");
                format!("the connector `{names}` is not installed; it goes on by itself when it is")
            }
            Hold::WindowClosed { opens_at: Some(at) } => {
                format!("it is outside its window, which opens {}", clock(*at))
            }
            Hold::WindowClosed { opens_at: None } => {
                "it is outside its window, and its schedule has no other; change the schedule to go on"
                    .to_owned()
            }
            Hold::Resting { starts_at: Some(at) } => {
                format!("no run was asked for; its schedule starts it {}", clock(*at))
            }
            Hold::Resting { starts_at: None } => {
                "no run was asked for, and it has no schedule; start it".to_owned()
            }
            Hold::Ending => "its run is over; those who asked are being told".to_owned(),
            Hold::Stopping => "it is being stopped; what is in hands is put down first".to_owned(),
            Hold::Gone => "there is no such job".to_owned(),
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
        let around =
            JobEnvironment { now: 5, opens_at: Some(9), missing: &missing, ..JobEnvironment::default() };
        assert_eq!(may_work(&working, &around), Ok(()));

        let mut facts = JobFacts { window_open: false, ..working };
        let hold = may_work(&facts, &around).unwrap_err();
        assert_eq!(hold.sentence(&clock), "it is outside its window, which opens at 9");
        facts.repository_missing = true;
        let hold = may_work(&facts, &around).unwrap_err();
        assert_eq!(
            hold.sentence(&clock),
            "the connector `wiki` is not installed; it goes on by itself when it is"
        );
        facts.paused = true;
        assert_eq!(may_work(&facts, &around), Err(Hold::Paused));
        let locked = JobEnvironment { store_held_by: Some("process 7 (sync docs)"), ..around };
        assert_eq!(may_work(&facts, &locked).unwrap_err().word(), "store_locked");
    }

    #[test]
    fn an_opening_that_has_passed_is_not_promised() {
        let facts = JobFacts { window_open: false, ..JobFacts::new(State::Working) };
        let around = JobEnvironment { now: 9, opens_at: Some(9), ..JobEnvironment::default() };
        assert_eq!(may_work(&facts, &around), Err(Hold::WindowClosed { opens_at: None }));
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
        assert!(matches!(may_work(&facts, &JobEnvironment::default()), Err(Hold::ConnectorMissing { .. })));
    }

    /// The lifecycle and the hold agree: workers take documents exactly when nothing holds the job.
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
                Err(hold) => {
                    assert_eq!(job_after(facts, take), None, "{hold:?} in {facts:?}");
                    assert!(hold.sentence(&clock).len() > 10);
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
        assert_eq!(may_work(&resting, &scheduled), Err(Hold::Resting { starts_at: Some(3) }));
        let paused = JobFacts { paused: true, ..resting };
        assert_eq!(may_work(&paused, &scheduled), Err(Hold::Paused), "its schedule will not start it");
        let remark = Remark::RemovalsHeld { job: "docs".into(), run: 4, documents: 30 };
        assert!(remark.sentence(&clock).contains("job confirm docs --run 4"));
    }
}
