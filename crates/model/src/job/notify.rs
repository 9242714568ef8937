//! Of which ends of runs somebody is told, and by which notifier.

use serde::{Deserialize, Serialize};

use crate::lifecycle::outcome::RunOutcome;
use crate::lifecycle::words;
use crate::limits;
use crate::run_counts::RunCounts;

words! {
    /// What somebody can be told of. Of one run each is told of the first of these that holds and that they want to hear of.
    pub enum NotifyEvent {
        /// A run failed: it could not do its work, be it that its source was away.
        Failed = "failed",
        /// A run holds removals, which wait for a person.
        Held = "held",
        /// A run was interrupted so often in a row that it does not go on by itself.
        Interrupted = "interrupted",
        /// A run was stopped before its end, by a person or by the end of the program.
        Stopped = "stopped",
        /// A run has ended, in whatever way; of passes that found nothing nobody is told.
        Finished = "finished",
        /// All that a delta run of a client has pushed and deleted is done, and outputs have committed it.
        Drained = "drained",
    }
}

/// Who is told of what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// Name of the notifier, as whoever runs the service has declared it.
    pub to: String,
    /// Of what.
    pub on: Vec<NotifyEvent>,
}

impl Notify {
    /// A name, and after a colon words for what is told, with commas between them: `ops:failed,held`. Without these, what a person is needed for.
    ///
    /// # Errors
    /// A sentence with the words that there are.
    pub fn parse(text: &str) -> Result<Notify, String> {
        let (to, words) = text.split_once(':').unwrap_or((text, "failed,held,interrupted"));
        let event = |word: &str| {
            let word = word.trim();
            NotifyEvent::parse(word).ok_or_else(|| {
                format!(
                    "there is nothing called `{word}` to be told of; there is {}",
                    NotifyEvent::WORDS.join(", ")
                )
            })
        };
        let on = words.split(',').map(event).collect::<Result<Vec<NotifyEvent>, String>>()?;
        let mut notify = Notify { to: to.trim().to_owned(), on };
        notify.on.sort_unstable();
        notify.on.dedup();
        notify.check().map(|()| notify)
    }

    /// Refuses what cannot be meant.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let length = self.to.chars().count();
        if !(1..=limits::NOTIFIER_NAME_MAX).contains(&length) || !self.to.chars().all(is_of_name) {
            return Err(format!(
                "{:?} is no name of a notifier; it has letters, digits, `.`, `_` and `-`, at most {}",
                self.to.chars().take(limits::NOTIFIER_NAME_MAX).collect::<String>(),
                limits::NOTIFIER_NAME_MAX
            ));
        }
        match self.on.is_empty() {
            true => {
                Err(format!("notifier {} is to be told of nothing; say of what, or leave it out", self.to))
            }
            false => Ok(()),
        }
    }

    /// The same as it is typed.
    pub fn describe(&self) -> String {
        let words: Vec<&str> = self.on.iter().map(|event| event.as_str()).collect();
        format!("{}:{}", self.to, words.join(","))
    }
}

/// What is to be told of the end of a run, the most telling first. `is_pass`: it was a pass of a continuous job; `is_unlisted`: its source could
/// not be listed, so that it did none of its work although nothing of it failed.
pub fn events(outcome: RunOutcome, counts: &RunCounts, is_pass: bool, is_unlisted: bool) -> Vec<NotifyEvent> {
    let is_failed = outcome == RunOutcome::Failed || (outcome == RunOutcome::Done && is_unlisted);
    let all = [
        (NotifyEvent::Failed, is_failed),
        (NotifyEvent::Held, outcome == RunOutcome::Done && counts.held > 0),
        (NotifyEvent::Stopped, outcome == RunOutcome::Stopped),
        (NotifyEvent::Finished, is_failed || !(is_pass && outcome == RunOutcome::Done && counts.is_quiet())),
    ];
    all.into_iter().filter(|(_, holds)| *holds).map(|(event, _)| event).collect()
}

/// Who is told of what, of a run of which this is to be told: each notifier once, by whomever it is asked.
pub fn told<'n>(
    wanted: impl IntoIterator<Item = &'n Notify>,
    events: &[NotifyEvent],
) -> Vec<(&'n str, NotifyEvent)> {
    let mut told: Vec<(&str, NotifyEvent)> = Vec::new();
    for notify in wanted {
        let Some(event) = events.iter().find(|event| notify.on.contains(event)) else { continue };
        match told.iter_mut().find(|(to, _)| *to == notify.to) {
            // The order of the words is that of the events.
            Some((_, known)) => *known = (*known).min(*event),
            None => told.push((&notify.to, *event)),
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notify(text: &str) -> Notify {
        Notify::parse(text).unwrap()
    }

    #[test]
    fn who_is_told_of_what_is_read_as_it_is_typed_and_written_so() {
        assert_eq!(notify("ops").describe(), "ops:failed,held,interrupted");
        assert_eq!(notify(" ops : finished, failed ,failed").describe(), "ops:failed,finished");
        for (wrong, says) in [
            ("", "is no name"),
            ("ops:", "there is nothing called ``"),
            ("ops:ended", "there is failed, held, interrupted, stopped, finished, drained"),
            ("a b:failed", "is no name"),
            (&format!("{}:failed", "x".repeat(65)), "at most 64"),
        ] {
            let refused = Notify::parse(wrong).unwrap_err();
            assert!(refused.contains(says), "{refused}");
        }
        assert!(Notify { to: "ops".to_owned(), on: Vec::new() }.check().is_err());
    }

    #[test]
    fn each_is_told_once_of_the_most_telling_that_they_want_to_hear() {
        let held = RunCounts { held: 3, deleted: 1, ..RunCounts::default() };
        let of_held = events(RunOutcome::Done, &held, true, false);
        assert_eq!(of_held, [NotifyEvent::Held, NotifyEvent::Finished]);
        let wanted = ["all:finished", "some:failed,held", "all:held", "none:failed,stopped"].map(notify);
        assert_eq!(told(&wanted, &of_held), [("all", NotifyEvent::Held), ("some", NotifyEvent::Held)]);
        let failed = events(RunOutcome::Failed, &RunCounts::default(), false, false);
        assert_eq!(told(&wanted, &failed).len(), 3);
        let stopped = events(RunOutcome::Stopped, &RunCounts::default(), false, false);
        assert_eq!(told(&wanted, &stopped), [("all", NotifyEvent::Finished), ("none", NotifyEvent::Stopped)]);
    }

    #[test]
    fn of_passes_that_find_nothing_nobody_is_told_and_of_runs_that_do_they_are() {
        let nothing = RunCounts { unchanged: 7, ..RunCounts::default() };
        assert_eq!(events(RunOutcome::Done, &nothing, true, false), []);
        assert_eq!(events(RunOutcome::Done, &nothing, false, false), [NotifyEvent::Finished]);
        let gone = events(RunOutcome::Done, &nothing, true, true);
        assert_eq!(gone, [NotifyEvent::Failed, NotifyEvent::Finished], "its source was away");
        assert_eq!(
            events(RunOutcome::Stopped, &nothing, true, true),
            [NotifyEvent::Stopped, NotifyEvent::Finished]
        );
        let found = RunCounts { updated: 1, ..nothing };
        assert_eq!(events(RunOutcome::Done, &found, true, false), [NotifyEvent::Finished]);
    }
}
