//! What outputs may hold of records, and who may find it (I2, I5).

use std::collections::{BTreeMap, BTreeSet};

use ingather_model::access::Acl;
use ingather_store::jobs::Job;

use super::super::invariants::{USERS, tokens};
use super::super::oracle::{self, Expected, Wanted, file_of};
use super::model::{Known, Source};
use super::{Pushes, is_pushed};
use crate::memory_kinds::COMMITTING;
use crate::memory_output::{Entry, locked};
use crate::scenario::Play;
use crate::script_transform::parted;
use crate::together::pushing::{ROOT, Version};

/// What outputs have shown so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Texts that were ever accepted, by name.
    ever: BTreeSet<(String, String)>,
    /// By output and name of the record: no version before this ticket may come back.
    floors: BTreeMap<(String, String), i64>,
    /// How often each output lost everything, and in which process that was.
    emptied: BTreeMap<String, u32>,
    process: u64,
    /// Outputs that were put back, or forgot, since a run has compared them.
    unproven: BTreeSet<String>,
    /// Those that lost everything in the last step.
    just_emptied: BTreeSet<String>,
    /// The process died in the last step.
    pub(super) died: bool,
}

/// What an output holds, and who finds what of it.
pub(super) struct Look {
    pub(super) entries: BTreeMap<String, Entry>,
    sees: Vec<BTreeSet<String>>,
    missed: BTreeSet<String>,
}

impl Look {
    /// Whether whoever follows the output lacks something of a record.
    pub(super) fn misses(&self, name: &str) -> bool {
        self.missed.iter().any(|missed| file_of(missed) == name)
    }
}

/// All outputs, looked at once.
pub(super) struct Looks(BTreeMap<String, Look>);

impl Looks {
    pub(super) fn new(play: &Play) -> Looks {
        let look = |output: &String| Look {
            entries: play.world.entries(output),
            sees: USERS.iter().map(|user| play.world.sees(user, output).into_iter().collect()).collect(),
            missed: play.world.missed(output),
        };
        Looks(play.world.shelves.keys().map(|output| (output.clone(), look(output))).collect())
    }
}

impl Seen {
    /// The store was put back: outputs hold what they held.
    pub(super) fn put_back(&mut self) {
        self.floors.clear();
        self.unproven.extend(self.emptied.keys().cloned());
    }

    /// A run has compared these outputs.
    pub(super) fn compared(&mut self, outputs: &[String]) {
        self.unproven.retain(|output| !outputs.contains(output));
    }

    pub(super) fn end_of_step(&mut self) {
        self.just_emptied.clear();
        self.died = false;
    }

    /// Whether what an output holds says nothing of what was told in this step.
    pub(super) fn says_nothing(&self, output: &str) -> bool {
        self.unproven.contains(output) || self.just_emptied.contains(output)
    }

    /// From here on no version before this one comes back.
    pub(super) fn raise(&mut self, output: &str, name: &str, ticket: i64) {
        let floor = self.floors.entry((output.to_owned(), name.to_owned())).or_insert(ticket);
        *floor = (*floor).max(ticket);
    }
}

/// What a record has to be in an output.
pub(super) struct Right<'r> {
    pub(super) job: &'r Job,
    pub(super) output: &'r str,
    pub(super) key: &'r str,
    /// Each of these may be there, the first one at least; none of a version: nothing.
    pub(super) versions: Vec<Option<&'r Version>>,
    /// Who may see records that do not say it.
    pub(super) defaults: &'r [Acl],
    /// Whoever may see it finds it.
    pub(super) exactly: bool,
}

impl Right<'_> {
    fn expected(&self, version: Option<&Version>) -> Option<Vec<Expected>> {
        let Some(version) = version else { return Some(Vec::new()) };
        if oracle::is_text_incomplete(self.job, self.output, &version.text) {
            return None;
        }
        match oracle::wanted_of(self.job, self.output, &version.text) {
            Wanted::Entries(entries) => Some(entries),
            Wanted::Declined => Some(Vec::new()),
            Wanted::Broken => None,
        }
    }

    fn may_see(&self, version: &Version, user: &str) -> bool {
        let admits = |acl: &Acl| acl.admits(&tokens(user));
        version.acl.as_ref().map_or_else(|| self.defaults.iter().any(admits), admits)
    }

    /// What is wrong with what an output holds.
    pub(super) fn differs(&self, look: &Look) -> Vec<String> {
        let name = format!("{}{}", oracle::root(self.job), self.key);
        if look.misses(&name) {
            return Vec::new();
        }
        let mut found = Vec::new();
        let all: Option<Vec<(Option<&Version>, Vec<Expected>)>> =
            self.versions.iter().map(|version| Some((*version, self.expected(*version)?))).collect();
        // What cannot be read stays as it was.
        let Some(all) = all else { return found };
        let (output, held) = (self.output, look.entries.iter().filter(|(entry, _)| file_of(entry) == name));
        for (entry, is) in held {
            let suffix = &entry[name.len()..];
            let fits = |expected: &Expected| {
                let wanted = |(text, mark): &(String, Option<String>)| *text == is.text && *mark == is.mark;
                expected.suffix == suffix && expected.is.as_ref().is_none_or(wanted)
            };
            let fitting: Vec<&Version> = all
                .iter()
                .filter(|(_, all)| all.iter().any(fits))
                .filter_map(|(version, _)| *version)
                .collect();
            if fitting.is_empty() {
                found.push(format!("{output} holds {entry} as {} {:?}, wanted is {all:?}", is.text, is.mark));
                continue;
            }
            // What could not be read this time is of an earlier version: who may see it is judged by that.
            if all.iter().any(|(_, all)| all.iter().any(|one| one.suffix == suffix && one.is.is_none())) {
                continue;
            }
            for (user, sees) in USERS.iter().zip(&look.sees) {
                let may = fitting.iter().any(|version| self.may_see(version, user));
                if may != sees.contains(entry) && (!may || self.exactly) {
                    found
                        .push(format!("`{user}` may see {entry} in {output}: {may}, and finds it: {}", !may));
                }
            }
        }
        let first = all.first().map(|(_, expected)| expected.as_slice()).unwrap_or_default();
        for expected in first.iter().filter(|expected| expected.is.is_some()) {
            let entry = format!("{name}{}", expected.suffix);
            let is_left_out = |all: &[Expected]| all.iter().all(|other| other.suffix != expected.suffix);
            let may_lack = all.iter().any(|(_, all)| is_left_out(all));
            if !look.entries.contains_key(&entry) && !may_lack {
                found.push(format!("{output} lacks {entry}"));
            }
        }
        found
    }
}

impl Play {
    /// Takes note of outputs that are not what they were.
    pub(super) fn look_at_outputs(&self, seen: &mut Seen) {
        seen.died = seen.process != self.world.processes && seen.process != 0;
        for (output, shelf) in &self.world.shelves {
            let shelf = locked(shelf);
            let before = seen.emptied.insert(output.clone(), shelf.emptied).unwrap_or_default();
            if before != shelf.emptied {
                seen.just_emptied.insert(output.clone());
            }
            if before != shelf.emptied || !shelf.fits {
                seen.floors.retain(|(other, _), _| other != output);
                seen.unproven.insert(output.clone());
            }
        }
        seen.process = self.world.processes;
    }

    /// Whom records that do not say it are for.
    pub(super) fn note_default(&self, job: &Job, source: &mut Source) {
        let tokens: Vec<String> =
            serde_json::from_value(job.definition.source["access"].clone()).unwrap_or_default();
        let acl = ingather_pushed::acl_of(&tokens);
        if source.defaults.last() != Some(&acl) {
            source.defaults.push(acl);
        }
    }

    /// Takes note of who was ever allowed to see which text.
    pub(super) fn note_versions(&mut self, job: &Job, source: &mut Source, seen: &mut Seen) {
        for (key, known) in &source.records {
            let name = format!("{}{key}", oracle::root(job));
            for version in known.iter().filter_map(|known| known.is.as_ref()) {
                let parts = parted(&version.text);
                let mut texts = vec![(name.clone(), version.text.clone()), (name.clone(), parts.own.clone())];
                let inside = oracle::inside(&parts).into_iter();
                texts.extend(inside.filter_map(|(part, text)| Some((format!("{name}#{part}"), text?))));
                seen.ever.extend(texts);
            }
            // What was replaced before its source said something else is for nobody by that.
            let last = source.last(key).map_or(i64::MAX, |last| last.ticket);
            let counts = |known: &&Known| known.ticket > source.noted || known.ticket == last;
            for version in known.iter().filter(counts).filter_map(|known| known.is.as_ref()) {
                let acl = source.acl(version);
                for user in USERS.iter().filter(|user| acl.is_some_and(|acl| acl.admits(&tokens(user)))) {
                    self.permit(user, &name, &version.text);
                }
            }
        }
        source.noted = source.tickets.last().copied().unwrap_or_default();
    }

    /// Outputs hold nothing of sources that was not accepted.
    pub(super) fn accepted_alone(&self, seen: &Seen, looks: &Looks, found: &mut Vec<String>) {
        for (output, look) in &looks.0 {
            let of_sources = look.entries.iter().filter(|(name, _)| name.starts_with(ROOT));
            let never = of_sources
                .filter(|(name, entry)| !seen.ever.contains(&((*name).clone(), entry.text.clone())));
            found.extend(
                never.map(|(name, entry)| {
                    format!("{output} holds {name} {}, which nobody pushed", entry.text)
                }),
            );
        }
    }

    /// No output goes back to an older version.
    pub(super) fn never_back(
        &self,
        job: &Job,
        source: &Source,
        (seen, looks): (&mut Seen, &Looks),
        found: &mut Vec<String>,
    ) {
        for (output, look) in &looks.0 {
            // What was not committed may be lost.
            let is_sure = self.world.kind_of(output) != COMMITTING.name;
            for (key, known) in &source.records {
                let name = format!("{}{key}", oracle::root(job));
                let Some(entry) = look.entries.get(&name).filter(|_| !look.misses(&name)) else { continue };
                let floor = seen.floors.get(&(output.clone(), name.clone())).copied().unwrap_or_default();
                let is_held = |known: &&Known| {
                    let text = known.is.as_ref().map(|version| version.text.as_str());
                    text.is_some_and(|text| text == entry.text || parted(text).own == entry.text)
                };
                let held: Vec<i64> = known.iter().filter(is_held).map(|known| known.ticket).collect();
                match held.iter().find(|ticket| **ticket >= floor) {
                    Some(ticket) if is_sure => seen.raise(output, &name, *ticket),
                    None if !held.is_empty() => found.push(format!(
                        "{output} holds {name} {}, and ticket {floor} was there before",
                        entry.text
                    )),
                    _ => {}
                }
            }
        }
    }

    /// What is wrong with what an output holds of a source, by versions that were accepted last.
    pub(super) fn differs_from_last(
        &self,
        job: &Job,
        source: &Source,
        output: &str,
        looks: &Looks,
    ) -> Vec<String> {
        let Some(look) = looks.of(output) else { return Vec::new() };
        let root = oracle::root(job);
        // What failed stays as it was.
        let failed = self.world.documents(&job.name).into_iter();
        let failed: BTreeSet<String> =
            failed.filter(|(_, state)| state.starts_with("failed")).map(|(key, _)| key).collect();
        let defaults = source.defaults.last().cloned().into_iter().collect::<Vec<_>>();
        let mut found = Vec::new();
        for key in source.records.keys().filter(|key| !failed.contains(*key)) {
            let versions = vec![source.last(key).and_then(|last| last.is.as_ref())];
            let right = Right { job, output, key, versions, defaults: &defaults, exactly: !self.erases(job) };
            found.extend(right.differs(look));
        }
        let unknown = look.entries.keys().filter_map(|entry| file_of(entry).strip_prefix(&root));
        let unknown = unknown.filter(|key| !source.records.contains_key(*key));
        found.extend(unknown.map(|key| format!("{output} holds {root}{key}, which is no record")));
        found
    }

    /// Why an entry of a record had to stay in an output, if it had to: it went because of no version that came after what was held.
    pub(in crate::scenario) fn record_left_wrongly(
        &self,
        (job, output): (&Job, &str),
        name: &str,
    ) -> Option<String> {
        let file = file_of(name);
        let source = self.pushes.sources.get(&job.name)?;
        let key = file.strip_prefix(&oracle::root(job))?;
        let floor = self.pushes.outputs.floors.get(&(output.to_owned(), file.to_owned())).copied();
        let known = source.records.get(key)?.iter().filter(|known| floor.is_none_or(|at| known.ticket >= at));
        let keeps = |known: &Known| {
            let Some(version) = &known.is else { return false };
            let suffix = &name[file.len()..];
            let wanted = oracle::wanted_of(job, output, &version.text);
            let is_whole = !oracle::is_text_incomplete(job, output, &version.text);
            let entries = wanted.entries();
            is_whole && entries.iter().any(|entry| entry.suffix == suffix && entry.is.is_some())
        };
        let stays = source.last(key).is_some() && known.into_iter().all(keeps);
        stays.then(|| format!("which is a record of {}, and was not deleted", job.name))
    }

    /// At rest outputs hold what was accepted last, and nothing of sources that are gone.
    pub(in crate::scenario) fn pushes_at_rest(&self, output: &str, found: &mut Vec<String>) {
        let looks = Looks::new(self);
        let jobs: Vec<Job> = self.live_jobs().into_iter().filter(is_pushed).collect();
        let Some(look) = looks.of(output) else { return };
        for (job, source) in jobs.iter().filter_map(|job| Some((job, self.pushes.sources.get(&job.name)?))) {
            if job.definition.outputs.iter().any(|other| other == output) {
                let differs = self.differs_from_last(job, source, output, &looks);
                found.extend(differs.into_iter().map(|told| format!("at rest, {told}")));
            }
        }
        let is_wanted = |entry: &&String| {
            let sends = |job: &&Job| job.definition.outputs.iter().any(|other| other == output);
            !entry.starts_with(ROOT)
                || jobs.iter().filter(sends).any(|job| entry.starts_with(&oracle::root(job)))
        };
        let over = look.entries.keys().filter(|entry| !is_wanted(entry));
        found.extend(over.map(|entry| format!("at rest, {output} still holds {entry}")));
    }
}

impl Looks {
    pub(super) fn of(&self, output: &str) -> Option<&Look> {
        self.0.get(output)
    }
}

impl Pushes {
    /// A run has looked at everything.
    pub(super) fn has_looked(&mut self, job: &Job) {
        self.outputs.compared(&job.definition.outputs);
        if let Some(source) = self.sources.get_mut(&job.name) {
            let last = source.defaults.pop();
            source.defaults = last.into_iter().collect();
        }
    }
}
