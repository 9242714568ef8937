//! What a scenario can ask about: answers of the engine, what the store knows, what outputs hold and were told.

use ingather_model::lifecycle::outcome::RunOutcome;
use ingather_model::run_counts::RunCounts;
use ingather_store::runs;

use super::{Answer, Play};
use crate::memory_output::{Calls, Entry, locked};
use crate::script_repository;

fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    if items.is_empty() { "nothing".to_owned() } else { items.join(", ") }
}

fn counted(counts: &[(&str, u64)]) -> String {
    list(counts.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{name} {n}")))
}

/// Counts without their zeros.
pub(crate) fn run_counts(b: &RunCounts) -> String {
    counted(&[
        ("added", b.added),
        ("updated", b.updated),
        ("access", b.access),
        ("unchanged", b.unchanged),
        ("skipped", b.skipped),
        ("failed", b.failed),
        ("waiting", b.waiting),
        ("deleted", b.deleted),
        ("kept", b.kept),
        ("held", b.held),
    ])
}

impl Play {
    /// The present text of what an expectation names.
    pub(super) fn actual(&mut self, what: &str) -> Result<String, String> {
        let words: Vec<&str> = what.split_whitespace().collect();
        Ok(match words[..] {
            ["balance"] => match &self.answer {
                Answer::Ran(report) => run_counts(&report.counts),
                other => format!("no report: {other:?}"),
            },
            ["seen" | "partial"] => match &self.answer {
                Answer::Ran(report) if words == ["seen"] => report.counts.seen().to_string(),
                Answer::Ran(report) => report.counts.partial.to_string(),
                other => format!("no report: {other:?}"),
            },
            ["blind"] => match &self.answer {
                Answer::Ran(report) => {
                    list(report.blind.iter().map(|spot| format!("{} {}", spot.scope.label(), spot.cause)))
                }
                other => format!("no report: {other:?}"),
            },
            ["exit"] => self.exit().to_string(),
            ["error"] => match &self.answer {
                Answer::Failed(error) => error.clone(),
                Answer::Ran(report) => report.error.clone().unwrap_or_default(),
                _ => String::new(),
            },
            ["removed"] => match &self.answer {
                Answer::Removed(r) => {
                    counted(&[("deleted", r.deleted), ("forgotten", r.forgotten), ("kept", r.kept)])
                }
                other => format!("nothing removed: {other:?}"),
            },
            ["answered" | "erased" | "resent"] => self.person(),
            ["tickets", job] => list(self.tickets_of(job)?),
            ["delta", job] => self.delta_of(job)?,
            ["drained", job] => list(self.drained_of(job)?),
            ["erased", job] => self.erased_from(job)?,
            ["jobs"] => list(self.world.jobs()),
            ["read"] => {
                let mut read = std::mem::take(&mut script_repository::locked(&self.world.source).fetched);
                read.sort();
                list(read)
            }
            ["order"] => list(self.order()),
            ["events"] => list(self.events()),
            ["visited"] => list(self.visited()),
            ["as_before"] => self.as_before().to_string(),
            ["documents", job] => {
                list(self.world.documents(job).into_iter().map(|(name, state)| format!("{name} {state}")))
            }
            // When the next attempt is due, seconds from now.
            ["due", job] => list(self.world.due(job).into_iter().map(|(name, wait)| match wait {
                Some(wait) => format!("{name} {}s", wait as f64 / 1_000.0),
                None => format!("{name} next run"),
            })),
            ["dates", job] => list(self.dates(job)?),
            ["rows"] => list(self.world.rows().into_iter().map(|(table, count)| format!("{table} {count}"))),
            ["runs", job] => self.runs(job)?,
            ["end", job] => self.end(job)?,
            ["held", job] => list(self.held_of(job)?),
            ["sees", user, output] => {
                list(self.world.sees(if user == "anybody" { "" } else { user }, output))
            }
            [what, output] if self.world.shelves.contains_key(output) => self.shelf(what, output)?,
            _ => return Err(format!("nothing is known about `{what}`")),
        })
    }

    /// Removals of a job that wait for a person.
    fn held_of(&self, job: &str) -> Result<Vec<String>, String> {
        let job = self.world.find(job).ok_or("there is no such job")?;
        let held = self.world.engine().held(&job, 0, 1_000).map_err(|error| error.to_string())?;
        let mut names: Vec<String> = held.held.into_iter().map(|held| held.name).collect();
        names.sort();
        Ok(names)
    }

    /// What a person was answered who erased a document, or had documents sent again; or a client.
    fn person(&self) -> String {
        match &self.answer {
            Answer::Erased(jobs) => super::erasing::told(jobs),
            Answer::Called(told) => told.clone(),
            Answer::Resent(documents) => documents.to_string(),
            other => format!("nothing of it: {other:?}"),
        }
    }

    fn exit(&self) -> u8 {
        match &self.answer {
            Answer::Ran(report) if report.error.is_some() => 3,
            Answer::Ran(report) => u8::from(report.counts.has_failures() || !report.blind.is_empty()),
            Answer::Failed(_) => 3,
            Answer::Removed(removed) => u8::from(removed.kept > 0),
            Answer::Erased(jobs) => u8::from(jobs.iter().any(|job| !job.left.is_empty())),
            Answer::Nothing | Answer::Resent(_) | Answer::Called(_) => 0,
        }
    }

    fn runs(&self, job: &str) -> Result<String, String> {
        let job = self.world.find(job).ok_or("there is no such job")?;
        let runs =
            self.world.engine().reader.read(|sql| runs::list(sql, job.id, 100)).map_err(|e| e.to_string())?;
        Ok(list(runs.into_iter().rev().map(|run| {
            let outcome = run.outcome.map_or("open", RunOutcome::as_str);
            match run.guard {
                Some(guard) => format!("{} {outcome} {guard}", run.number),
                None => format!("{} {outcome}", run.number),
            }
        })))
    }

    /// How the last run of a job ended, and why.
    fn end(&self, job: &str) -> Result<String, String> {
        let job = self.world.find(job).ok_or("there is no such job")?;
        let runs = self.world.engine().reader.read(|sql| runs::list(sql, job.id, 1));
        let last = runs.map_err(|error| error.to_string())?.pop().ok_or("it never ran")?;
        let outcome = last.outcome.map_or("open", RunOutcome::as_str);
        Ok(format!("{} {outcome}: {}", job.state, last.error.unwrap_or_default()))
    }

    fn shelf(&self, what: &str, output: &str) -> Result<String, String> {
        let prefix = format!("mem://{}/", self.world.name);
        Ok(match what {
            "output" => list(self.world.entries(output).into_iter().map(|(name, entry)| match entry.mark {
                Some(mark) => format!("{name} {} {mark}", entry.text),
                None => format!("{name} {}", entry.text),
            })),
            // What pages were handed when they were sent.
            "handed" => {
                let handed = |(name, entry): (String, Entry)| format!("{name} {}", entry.handed.join("+"));
                let entries = self.world.entries(output).into_iter();
                list(entries.filter(|(_, entry)| !entry.handed.is_empty()).map(handed))
            }
            "calls" => {
                let mut shelf = locked(&self.world.shelves[output]);
                let Calls { put, access, delete } = std::mem::take(&mut shelf.calls);
                shelf.told.clear();
                counted(&[("put", put), ("access", access), ("delete", delete)])
            }
            "told" => {
                let mut shelf = locked(&self.world.shelves[output]);
                shelf.calls = Calls::default();
                let mut told = std::mem::take(&mut shelf.told);
                // Neighbours of one kind come in the order of hashes whose secret differs from store to store.
                let verb = |told: &String| told.split(' ').next().map(str::to_owned);
                told.chunk_by_mut(|a, b| verb(a) == verb(b)).for_each(<[String]>::sort);
                list(told.into_iter().map(|told| told.replace(&prefix, "")))
            }
            _ => return Err(format!("nothing is known about `{what}`")),
        })
    }
}
