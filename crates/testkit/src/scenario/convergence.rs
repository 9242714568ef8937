//! `quiet`: everything that went wrong is put right, all jobs run until nothing changes, and then the outputs must hold
//! exactly what the source says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use ingather_model::lifecycle::job::State;
use ingather_model::limits;
use ingather_store::containers;
use ingather_store::jobs::Job;

use super::invariants::{USERS, tokens};
use super::{Answer, Play, oracle, reader};
use crate::memory_output::{Calls, Shelf, locked};
use crate::script_repository::site::Site;
use crate::script_repository::{self, File, Source};
use crate::together::pushing::{ROOT, is_pushed};
use crate::together::site::site;

/// Rounds of runs after which nothing may change any more.
const ROUNDS_MAX: usize = 6;
/// The same where documents have dates: some may expire in each of the first ones.
const DATED_ROUNDS_MAX: usize = 10;
/// Time that passes before the first one where clocks were put back: what was noted before them is past then.
const SET_BACK_MS: i64 = 5 * 24 * 3_600_000;
/// Time that passes between two rounds, milliseconds: longer than any wait for another attempt.
const ROUND_MS: i64 = 400_000;

impl Play {
    /// Lets the world come to rest, and judges it.
    pub(super) fn converge(&mut self) -> Result<(), String> {
        script_repository::locked(&self.world.source).heal();
        site(&self.world, Site::heal);
        self.world.shelves.values().for_each(|shelf| locked(shelf).heal());
        self.note_source();
        self.events().iter().try_for_each(|event| self.free(event))?;
        self.resume_all()?;
        let has_dates = self.live_jobs().iter().any(|job| !job.definition.dates.is_default());
        let rounds = if has_dates { DATED_ROUNDS_MAX } else { ROUNDS_MAX };
        if self.clock_was_set_back {
            self.world.clock.pass(SET_BACK_MS);
        }
        for round in 0..rounds {
            // What is missing from a site has to be so for as long.
            let is_over_a_site = self.live_jobs().iter().any(reader::is_over_a_site);
            self.world.clock.pass(if is_over_a_site { limits::MISSING_BELIEVED_MS } else { ROUND_MS });
            self.world.shelves.values().for_each(|shelf| locked(shelf).calls = Calls::default());
            let silent = |shelf: &Arc<Mutex<Shelf>>| locked(shelf).calls == Calls::default();
            // A job may ask another one, which has run before it, to send something.
            // What one finds of a folder, another one may have to look at.
            let unrest = |play: &Play| !(play.unrest().is_empty() && play.narrow().is_empty());
            // A first run may go on with one that had begun before all was put right.
            let goes_on = is_over_a_site && round == 0;
            // What outputs hold nothing of goes in silence, and what it led to is of the round behind that.
            let known = self.known();
            let is_still = self.round()?
                && !goes_on
                && self.known() == known
                && self.world.shelves.values().all(silent)
                && !unrest(self);
            if is_still {
                self.at_rest();
                return Ok(());
            }
        }
        let unrest = [self.unrest(), self.narrow()].concat();
        self.found.extend(unrest);
        let last = format!("{:?}", self.answer);
        self.found.push(format!("the world does not come to rest in {rounds} rounds: {last}"));
        Ok(())
    }

    /// Every job runs once; true when nothing changed.
    fn round(&mut self) -> Result<bool, String> {
        let mut still = true;
        for job in self.world.jobs() {
            let deleting = self.world.find(&job).is_some_and(|job| job.state == State::Deleting);
            let line = if deleting {
                format!("delete {job}")
            } else {
                format!("run {job} guard-off accept-devices")
            };
            self.line(&line)?;
            still &= match &self.answer {
                Answer::Ran(report) => {
                    let b = report.counts;
                    let quiet =
                        b.seen() == b.unchanged + b.skipped + b.failed && b.deleted + b.kept + b.held == 0;
                    quiet && report.error.is_none() && report.blind.is_empty()
                }
                _ => false,
            };
        }
        Ok(still)
    }

    /// What all jobs know of their documents.
    fn known(&self) -> Vec<Vec<(String, String)>> {
        self.world.jobs().iter().map(|job| self.world.documents(job)).collect()
    }

    /// Folders that are not open yet for a job that has looked at everything, or is there no more.
    fn narrow(&self) -> Vec<String> {
        let rows = self.world.engine().reader.read(containers::all_pending).expect("the store answers");
        // What failed stays as it was, and is not shown to whom its folder opens.
        let unsettled: Vec<i64> = self
            .live_jobs()
            .iter()
            .filter(|job| self.world.documents(&job.name).iter().any(|(_, state)| state != "settled"))
            .map(|job| job.id.0)
            .collect();
        let rows = rows.iter().filter(|row| row.job != 0 && !unsettled.contains(&row.job));
        rows.map(|row| format!("at rest, {row:?} is kept")).collect()
    }

    fn at_rest(&mut self) {
        let mut found = self.breaches();
        found.extend(self.unrest());
        found.extend(self.events().iter().map(|event| format!("at rest, the event {event} is pending")));
        let jobs = self.live_jobs();
        let source = script_repository::locked(&self.world.source);
        for output in self.world.shelves.keys().filter(|output| locked(&self.world.shelves[*output]).fits) {
            let mut wanted: BTreeMap<String, Vec<(String, Option<String>)>> = BTreeMap::new();
            let mut unsure: BTreeSet<String> = BTreeSet::new();
            let sends = |job: &&Job| job.definition.outputs.contains(output) && !is_pushed(job);
            for job in jobs.iter().filter(sends) {
                let root = oracle::root(job);
                // What an output or a stage refused waits for a change.
                let failed = self.world.documents(&job.name).into_iter();
                let failed = failed.filter(|(_, state)| state.starts_with("failed"));
                unsure.extend(failed.map(|(name, _)| format!("{root}{name}")));
                let is_erased = |name: &str| self.erased.is_erased(&job.name, name);
                if reader::is_over_a_site(job) {
                    unsure.extend(self.unsure_of_a_site(job));
                    // Two owners of a page may hand it something else.
                    if jobs.iter().filter(|job| reader::is_over_a_site(job)).count() == 1 {
                        found.extend(self.handed_otherwise(job, output));
                    }
                    for (name, is) in self.wanted_of_a_site(job, output) {
                        wanted.entry(name).or_default().push(is);
                    }
                    continue;
                }
                let below =
                    source.files.iter().filter(|(name, _)| name.starts_with(&root) && !is_erased(name));
                for (name, file) in below {
                    // Of what is in a file, some may not be findable now: it stays as it was.
                    for expected in oracle::wanted(job, output, file).entries() {
                        let name = format!("{name}{}", expected.suffix);
                        match expected.is {
                            Some(is) => wanted.entry(name).or_default().push(is),
                            None => drop(unsure.insert(name)),
                        }
                    }
                    if oracle::is_incomplete(job, output, file) {
                        let inside = |entry: &&String| oracle::file_of(entry) == name && *entry != name;
                        unsure.extend(self.world.entries(output).keys().filter(inside).cloned());
                    }
                }
            }
            let entries = self.world.entries(output);
            // What clients push is judged by itself.
            self.pushes_at_rest(output, &mut found);
            let is_unsure = |name: &str| unsure.contains(name) || unsure.contains(oracle::file_of(name));
            let is_sure = |name: &str| !name.starts_with(ROOT) && !is_unsure(name);
            for (name, versions) in wanted.iter().filter(|(name, _)| is_sure(name)) {
                match entries.get(name) {
                    None => found.push(format!("at rest, {output} lacks {name}")),
                    Some(entry) if !versions.contains(&(entry.text.clone(), entry.mark.clone())) => {
                        let held = (&entry.text, &entry.mark);
                        found.push(format!(
                            "at rest, {output} holds {name} as {held:?}, wanted is {versions:?}"
                        ));
                    }
                    Some(_) => {}
                }
            }
            let over = entries.keys().filter(|name| !wanted.contains_key(*name) && is_sure(name));
            found.extend(over.map(|name| format!("at rest, {output} still holds {name}")));
            let sure: Vec<&String> = entries.keys().filter(|name| is_sure(name)).collect();
            self.found_as_may_be(&source, output, &sure, &mut found);
        }
        drop(source);
        self.found.extend(found);
    }

    /// Whoever may see an entry finds it, and nobody else does.
    fn found_as_may_be(&self, source: &Source, output: &str, entries: &[&String], found: &mut Vec<String>) {
        for user in USERS {
            let sees: BTreeSet<String> = self.world.sees(user, output).into_iter().collect();
            for name in entries {
                let file = oracle::file_of(name);
                let of_file = |facts: &File| oracle::permits(source, file, facts, &tokens(user));
                let may = source.files.get(file).map(of_file).or_else(|| self.may_see_page(name, user));
                let Some(may) = may else { continue };
                if may != sees.contains(*name) {
                    found.push(format!(
                        "at rest, `{user}` may see {name} in {output}: {may}, and finds it: {}",
                        !may
                    ));
                }
            }
        }
    }
}
