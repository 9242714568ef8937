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
    /// Why its last run could not begin, where none has begun since.
    pub refused: Option<&'a str>,
    /// Why its last run could not list its source, where it could not.
    pub unlisted: Option<&'a str>,
    /// It has a schedule, and no service is at work that heeds it.
    pub unattended: bool,
    /// The oldest event that its documents wait for.
    pub event: Option<AwaitedEvent<'a>>,
    /// Documents that wait for another attempt, and when the first one is due.
    pub retries: Option<(u64, i64)>,
}

/// An event that documents of a job wait for.
#[derive(Clone, Copy, Debug)]
pub struct AwaitedEvent<'a> {
    /// Its name.
    pub name: &'a str,
    /// Documents of the job that wait for it.
    pub documents: u64,
    /// The job that began it.
    pub job: &'a str,
    /// The document whose visit did.
    pub document: &'a str,
    /// When, milliseconds since 1970 UTC.
    pub since: i64,
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
    /// Its run could not begin.
    Refused {
        /// Why, in a sentence without its end.
        why: String,
        /// When its schedule begins the next one; none: that is tried again by itself, or a person has asked for it.
        starts_at: Option<i64>,
    },
    /// Its source could not be listed.
    SourceAway {
        /// Why, in a sentence without its end.
        why: String,
        /// When the schedule begins the next run.
        starts_at: Option<i64>,
    },
    /// No service heeds its schedule.
    Unattended,
    /// What it has waits for an event.
    EventPending {
        /// What waits for what, in a sentence without its end.
        why: String,
        /// Since when the event is pending.
        since: i64,
        /// What frees it.
        command: String,
        /// When the schedule begins the next run.
        starts_at: Option<i64>,
    },
    /// What it has waits for another attempt.
    Retrying {
        /// How many documents.
        documents: u64,
        /// When the first is due.
        at: i64,
        /// When the schedule begins the next run.
        starts_at: Option<i64>,
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
        State::Resting if !facts.paused => return Err(rests(facts, environment)),
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

/// Why a job rests that nobody has paused: what keeps its next run from its work counts first.
fn rests(facts: &JobFacts, environment: &JobEnvironment<'_>) -> BlockedReason {
    let JobEnvironment { missing, refused, unlisted, unattended, event, retries, starts_at, .. } =
        *environment;
    match (refused, unlisted, event, retries) {
        _ if facts.output_missing || facts.repository_missing => {
            BlockedReason::ConnectorMissing { names: missing.to_vec() }
        }
        (Some(why), ..) => BlockedReason::Refused { why: why.to_owned(), starts_at },
        (_, Some(why), ..) => BlockedReason::SourceAway { why: why.to_owned(), starts_at },
        _ if unattended => BlockedReason::Unattended,
        (.., Some(event), _) => event.reason(starts_at),
        (.., Some((documents, at))) => BlockedReason::Retrying { documents, at, starts_at },
        _ => BlockedReason::Resting { starts_at },
    }
}

impl AwaitedEvent<'_> {
    /// Why a job does not come to its end that waits for it.
    pub fn reason(&self, starts_at: Option<i64>) -> BlockedReason {
        let (why, since, command) = (self.why(), self.since, self.command());
        BlockedReason::EventPending { why, since, command, starts_at }
    }

    /// What a run says at its end that leaves documents to the next one.
    pub fn note(&self) -> String {
        format!(
            "{} and has not completed; `{}` lets the next run visit what waits",
            self.why(),
            self.command()
        )
    }

    fn why(&self) -> String {
        let AwaitedEvent { name, documents, job, document, .. } = *self;
        let wait = if documents == 1 { "waits" } else { "wait" };
        let documents = counted(documents, "document");
        format!("{documents} {wait} for the event `{name}`, which job {job} began for `{document}`")
    }

    fn command(&self) -> String {
        format!("ingather event free '{}'", self.name)
    }
}

impl BlockedReason {
    /// Stable word for filters and the API.
    pub fn as_str(&self) -> &'static str {
        match self {
            BlockedReason::StoreLocked { .. } => "store_locked",
            BlockedReason::Paused => "paused",
            BlockedReason::ConnectorMissing { .. } => "connector_missing",
            BlockedReason::WindowClosed { .. } => "window_closed",
            BlockedReason::Refused { .. } => "refused",
            BlockedReason::SourceAway { .. } => "source_away",
            BlockedReason::Unattended => "unattended",
            BlockedReason::EventPending { .. } => "event_pending",
            BlockedReason::Retrying { .. } => "retrying",
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
            BlockedReason::Refused { why, starts_at } => {
                format!("its run could not begin: {why}{}", next(*starts_at, clock))
            }
            BlockedReason::SourceAway { why, starts_at } => {
                format!("its source could not be listed: {why}{}", next(*starts_at, clock))
            }
            BlockedReason::Unattended => {
                "no service is at work that heeds its schedule; `ingather serve` does".to_owned()
            }
            BlockedReason::EventPending { why, since, command, starts_at } => format!(
                "{why} {} and has not completed; where nothing is at work on it, `{command}` frees it{}",
                clock(*since),
                next(*starts_at, clock)
            ),
            BlockedReason::Retrying { documents, at, starts_at } => {
                let (waiting, wait) =
                    (counted(*documents, "document"), if *documents == 1 { "waits" } else { "wait" });
                let at = clock(*at);
                format!(
                    "{waiting} {wait} for another attempt, the first from {at} on{}",
                    next(*starts_at, clock)
                )
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

/// What is said of the next run behind a reason.
fn next(starts_at: Option<i64>, clock: &dyn Fn(i64) -> String) -> String {
    match starts_at {
        Some(at) => format!("; the next run begins {}", clock(at)),
        None => "; the next run looks again".to_owned(),
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
    }

    /// The reasons of a job that rests, the one first that hides those below.
    #[test]
    fn a_resting_job_names_first_what_keeps_its_next_run_from_its_work() {
        let missing = vec!["wiki".to_owned()];
        let mut environment = JobEnvironment {
            starts_at: Some(3),
            missing: &missing,
            refused: Some("the index is away"),
            unlisted: Some("/srv is not mounted"),
            unattended: true,
            event: Some(AwaitedEvent {
                name: "global:e",
                documents: 2,
                job: "docs",
                document: "https://example.org/",
                since: 1,
            }),
            retries: Some((2, 7)),
            ..JobEnvironment::default()
        };
        let mut facts = JobFacts { output_missing: true, ..JobFacts::new(State::Resting) };
        let mut said = Vec::new();
        for clear in 0..7 {
            let reason = may_work(&facts, &environment).unwrap_err();
            said.push((reason.as_str(), reason.sentence(&clock)));
            match clear {
                0 => facts.output_missing = false,
                1 => environment.refused = None,
                2 => environment.unlisted = None,
                3 => environment.unattended = false,
                4 => environment.event = None,
                _ => environment.retries = None,
            }
        }
        let said: Vec<(&str, &str)> = said.iter().map(|(word, says)| (*word, says.as_str())).collect();
        let kept = "its source could not be listed: /srv is not mounted; the next run begins at 3";
        let waits = "2 documents wait for the event `global:e`, which job docs began for `https://example.org/` at 1 and has not completed; \
                     where nothing is at work on it, `ingather event free 'global:e'` frees it; the next run begins at 3";
        let expected = [
            ("connector_missing", "the connector `wiki` is not installed; it goes on by itself when it is"),
            ("refused", "its run could not begin: the index is away; the next run begins at 3"),
            ("source_away", kept),
            ("unattended", "no service is at work that heeds its schedule; `ingather serve` does"),
            ("event_pending", waits),
            (
                "retrying",
                "2 documents wait for another attempt, the first from at 7 on; the next run begins at 3",
            ),
            ("resting", "no run was asked for; its schedule starts it at 3"),
        ];
        assert_eq!(said, expected);
    }
}
