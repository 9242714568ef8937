//! What must hold after every step of a world, whatever went wrong: nothing is deleted wrongly or shown to the wrong
//! people, the inventory is sound, and a run that says it went well was exact.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use ingather_model::access::Tokens;
use ingather_model::guard::Guard;
use ingather_model::lifecycle::job::State;
use ingather_store::documents;
use ingather_store::jobs::{self, Job};

use super::ledger::Claim;
use super::oracle::{self, Expected, Wanted};
use super::reader::is_over_a_site;
use super::{Answer, Play, of_sites};
use crate::memory_kinds::{PLAIN, TOLD};
use crate::memory_output::{Entry, locked};
use crate::script_repository::site::Site;
use crate::script_repository::{self, File, Source};
use crate::script_transform::parted;
use crate::together::pushing::is_pushed;

/// Who looks: nobody in particular, and people whose names are their tokens.
pub(super) const USERS: &[&str] = &["", "anna", "bert"];

pub(super) fn tokens(user: &str) -> Tokens {
    user.split('+').filter(|token| !token.is_empty()).collect()
}

type Entries = BTreeMap<String, BTreeMap<String, Entry>>;

/// What a world has shown so far.
#[derive(Debug, Default)]
pub(super) struct Invariants {
    /// Who was ever allowed to see which text of which file.
    permitted: HashSet<(&'static str, String, String)>,
    /// What stays of files when they are renamed: all that a name ever had, for nobody here knows which of them a run has met.
    identities: HashMap<String, BTreeSet<i64>>,
    /// An inventory of an earlier day says nothing about what outputs hold until a run has compared them.
    restored: BTreeSet<String>,
}

/// The world before a step.
pub(super) struct Before {
    entries: Entries,
    cleared: BTreeMap<String, u32>,
    claims: Vec<Claim>,
    held: BTreeSet<String>,
    known: usize,
    /// No output refuses anything.
    sound: bool,
}

impl Invariants {
    /// Takes note of what the source shows now.
    pub(super) fn note(&mut self, source: &Source) {
        for (name, file) in &source.files {
            self.identities.entry(name.clone()).or_default().insert(file.identity);
            for user in USERS {
                if oracle::permits(source, name, file, &tokens(user)) {
                    self.permit(user, name, &file.content);
                }
            }
        }
    }

    /// Somebody is allowed to see a text, and what is in it.
    fn permit(&mut self, user: &'static str, name: &str, content: &str) {
        let found = parted(content);
        let mut permit = |name: String, text: String| self.permitted.insert((user, name, text));
        permit(name.to_owned(), content.to_owned());
        permit(name.to_owned(), found.own.clone());
        for (part, text) in oracle::inside(&found) {
            text.map(|text| permit(format!("{name}#{part}"), text));
        }
    }

    /// The same of the site.
    pub(super) fn note_site(&mut self, site: &Site) {
        self.permitted.extend(of_sites::permitted(site));
    }
}

impl Play {
    pub(super) fn permit(&mut self, user: &'static str, name: &str, content: &str) {
        self.invariants.permit(user, name, content);
    }

    pub(super) fn live_jobs(&self) -> Vec<Job> {
        let jobs = self.world.engine().reader.read(jobs::list).expect("the store answers");
        jobs.into_iter().filter(|job| job.state != State::Deleting).collect()
    }

    fn entries(&self) -> Entries {
        self.world.shelves.keys().map(|output| (output.clone(), self.world.entries(output))).collect()
    }

    fn cleared(&self) -> BTreeMap<String, u32> {
        self.world.shelves.iter().map(|(output, shelf)| (output.clone(), locked(shelf).emptied)).collect()
    }

    pub(super) fn before(&self, rest: &str) -> Before {
        let name = rest.split_whitespace().next().unwrap_or_default();
        let mut held = BTreeSet::new();
        if let Some(job) = self.world.find(name) {
            let names = self.world.engine().held(&job, 0, 10_000).map(|page| page.held).unwrap_or_default();
            held.extend(names.into_iter().map(|held| format!("{}{}", oracle::root(&job), held.name)));
        }
        Before {
            entries: self.entries(),
            cleared: self.cleared(),
            claims: self.claims(),
            held,
            known: self.world.documents(name).len(),
            sound: self.world.shelves.values().all(|shelf| locked(shelf).is_sound()),
        }
    }

    /// Judges the world after a step.
    pub(super) fn judge(&mut self, before: Option<&Before>, word: &str, rest: &str) {
        let mut found = self.breaches();
        let name = rest.split_whitespace().next().unwrap_or_default();
        let job = self.live_jobs().into_iter().find(|job| job.name == name);
        if let Some(before) = before {
            self.deleted(before, word, rest, &mut found);
            if let (Some(job), Answer::Ran(report)) = (&job, &self.answer)
                && word == "run"
            {
                // A run that writes nothing opens no output, and compares none.
                if report.error.is_none() && !report.stopped && !rest.contains("dry-run") {
                    self.invariants.restored.retain(|output| !job.definition.outputs.contains(output));
                }
                if report.error.is_none() && !rest.contains("dry-run") {
                    self.as_judged(job, &mut found);
                }
                let is_plain = rest.split(' ').skip(1).all(|word| word == "reread");
                let quiet = report.error.is_none()
                    && !report.stopped
                    && report.blind.is_empty()
                    && !self.changed_meanwhile;
                if is_over_a_site(job) && report.error.is_none() && !report.stopped && !self.changed_meanwhile
                {
                    self.exact_of_a_site(job, report, &mut found);
                }
                let counts = report.counts;
                if quiet && !counts.has_failures() && counts.kept == 0 && is_plain {
                    if before.sound {
                        self.note_ran(job);
                    }
                    if !is_over_a_site(job) && !is_pushed(job) {
                        self.exact(job, &mut found);
                    }
                }
                if quiet && is_pushed(job) {
                    self.exact_of_pushes(job, (counts, rest), before.sound, &mut found);
                }
            }
        }
        self.shown(&mut found);
        self.erased_stay(&mut found);
        self.left_so(&mut found);
        self.live_jobs().iter().for_each(|job| self.unproven(job, &mut found));
        let late = std::mem::take(&mut *locked(&self.world.crash.late_writes));
        found.extend(
            late.into_iter().map(|told| format!("a process wrote after its lease was taken: {told}")),
        );
        self.found.extend(found);
    }

    /// An inventory of an earlier day: see [`Invariants::restored`].
    pub(super) fn books_restored(&mut self) {
        self.invariants.restored = self.world.shelves.keys().cloned().collect();
    }

    /// What left the outputs had to leave them.
    fn deleted(&self, before: &Before, word: &str, rest: &str, found: &mut Vec<String>) {
        let source = script_repository::locked(&self.world.source);
        let live = self.live_jobs();
        let (after, cleared) = (self.entries(), self.cleared());
        let acting = rest.split_whitespace().next().unwrap_or_default();
        let mut lost = BTreeSet::new();
        for (output, entries) in
            before.entries.iter().filter(|(output, _)| before.cleared[*output] == cleared[*output])
        {
            // An output that cannot take access alone must not show what cannot be read, nor what another owner that leaves
            // showed: it gets the record again.
            let takes_access = self.world.kind_of(output) != PLAIN.name;
            let is_lost = |n: &&String| !after[output].contains_key(*n) && !self.let_go(before, output, n);
            for name in entries.keys().filter(is_lost) {
                let owned =
                    |claim: &&Claim| claim.entry == *name && claim.output == *output && !claim.leaving;
                let owners = before.claims.iter().filter(owned);
                let owners = owners.filter_map(|claim| {
                    let is_its =
                        |job: &&Job| job.name == claim.job && job.definition.outputs.contains(output);
                    Some((live.iter().find(is_its)?, claim.confirmed))
                });
                // What another owner takes out of an output that cannot be told otherwise comes back with the next record.
                let leaves = |claim: &Claim| claim.leaving && claim.entry == *name && claim.output == *output;
                if !takes_access && before.claims.iter().any(leaves) {
                    continue;
                }
                for (job, confirmed) in owners {
                    let acts = job.name == acting || matches!(word, "start" | "restart" | "serve");
                    // Whatever it was that the run met is not what is there now.
                    if acts && self.changed_meanwhile {
                        continue;
                    }
                    // What could not be read is not shown to whom a folder opens: such an output has to give it up.
                    if !takes_access && self.is_unsettled(job, name) {
                        continue;
                    }
                    let why = self.wrongly(&source, (job, output), name, (acts, word, rest));
                    // What cannot be read now stays only where it is known to be held.
                    let stays = |why: &String| {
                        if takes_access { confirmed || why != INCOMPLETE } else { acts && why != INCOMPLETE }
                    };
                    if let Some(why) = why.filter(stays) {
                        found.push(format!("{output} lost {name}, {why}"));
                    }
                    if acts && self.is_lost(&source, job, oracle::file_of(name)) {
                        lost.insert(oracle::file_of(name).to_owned());
                    }
                }
                // What an earlier run has sent may take effect now.
                let was_sent = before.claims.iter().any(leaves);
                if matches!(word, "erase" | "readmit") && !was_sent {
                    found.push(format!("{output} lost {name}, which nobody has erased"));
                }
                if word == "confirm" && !before.held.contains(oracle::file_of(name)) && !was_sent {
                    found.push(format!("{output} lost {name}, which was not in the set that was confirmed"));
                }
            }
        }
        let guarded = |job: &&Job| job.name == acting && word == "run" && !rest.contains("guard-off");
        let guard = live.iter().find(guarded).map(|job| job.definition.delete_guard);
        if let Some(Guard::Limits { percent, documents }) = guard
            && lost.len() as u64 > documents
            && lost.len() as u64 * 100 > percent * before.known as u64
        {
            found.push(format!("the guard let {} of {} go: {lost:?}", lost.len(), before.known));
        }
    }

    /// What a person has erased from one job takes the entry of the others along, until they send their own.
    fn let_go(&self, before: &Before, output: &str, entry: &str) -> bool {
        let mut claims = before.claims.iter().filter(|claim| claim.entry == entry && claim.output == output);
        claims.any(|claim| self.erased.is_erased(&claim.job, oracle::file_of(entry)))
    }

    /// Whether a document waits, or failed.
    fn is_unsettled(&self, job: &Job, entry: &str) -> bool {
        let file = oracle::file_of(entry);
        let name = file.strip_prefix(&oracle::root(job)).unwrap_or(file);
        self.world.documents(&job.name).iter().any(|(known, state)| known == name && state != "settled")
    }

    /// Why a document of a job had to stay, if it had to.
    fn wrongly(
        &self,
        source: &Source,
        (job, output): (&Job, &str),
        name: &str,
        (acts, word, rest): (bool, &str, &str),
    ) -> Option<String> {
        match is_over_a_site(job) {
            _ if is_pushed(job) => self.record_left_wrongly((job, output), name),
            true => self.left_wrongly((job, output), name, (acts, word)),
            false => wrongly(source, (job, output), name, (acts, word, rest)),
        }
    }

    /// Whether a file is gone, and nothing that had its name is under another one now; or a page, or all that led to it.
    fn is_lost(&self, source: &Source, job: &Job, name: &str) -> bool {
        if is_over_a_site(job) {
            return self.readers.reached(&job.name).is_some_and(|reached| reached.is_lost(name));
        }
        let identities = self.invariants.identities.get(name);
        !source.files.contains_key(name)
            && !identities.is_some_and(|ids| source.files.values().any(|file| ids.contains(&file.identity)))
    }

    /// What does not open is the same whichever way it is looked for.
    fn unproven(&self, job: &Job, found: &mut Vec<String>) {
        let span = Some((0, i64::MAX));
        let ways = self.world.engine().reader.read(|sql| {
            Ok((documents::unproven(sql, job.id, None)?, documents::unproven(sql, job.id, span)?))
        });
        let (by_job, by_span) = ways.expect("the store answers");
        if by_job != by_span {
            found.push(format!("unproven documents of {}: {by_job:?}, or {by_span:?}", job.name));
        }
    }

    /// Whoever finds an entry was allowed to see this text of it at some time.
    fn shown(&self, found: &mut Vec<String>) {
        for output in self.world.shelves.keys().filter(|output| !self.invariants.restored.contains(*output)) {
            let entries = self.world.entries(output);
            for user in USERS {
                for name in self.world.sees(user, output) {
                    let text = entries[&name].text.clone();
                    if !self.invariants.permitted.contains(&(*user, name.clone(), text.clone())) {
                        let who = if user.is_empty() { "anybody" } else { user };
                        found.push(format!("{who} finds {name} {text} in {output}, and never might see it"));
                    }
                }
            }
        }
    }

    /// At the end of a run, whoever goes by what an output was told finds just what a search finds.
    fn as_judged(&self, job: &Job, found: &mut Vec<String>) {
        for output in job.definition.outputs.iter().filter(|output| self.world.kind_of(output) == TOLD.name) {
            for user in USERS {
                let missed = self.world.missed(output);
                let whole = |mut names: Vec<String>| {
                    names.retain(|name| !missed.contains(name));
                    names.sort();
                    names
                };
                let told = whole(self.world.sees(user, output));
                let judged = whole(self.world.judged(&tokens(user).into(), output));
                if told != judged {
                    found.push(format!(
                        "`{user}` finds {told:?} in {output} by what it was told, and {judged:?} else"
                    ));
                }
            }
        }
    }

    /// A run without any failure leaves its outputs exact for what its job includes.
    fn exact(&self, job: &Job, found: &mut Vec<String>) {
        let source = script_repository::locked(&self.world.source);
        let claims = self.claims();
        let root = oracle::root(job);
        let erases = self.erases(job);
        for output in &job.definition.outputs {
            let entries = self.world.entries(output);
            let missed = self.world.missed(output);
            let sees: Vec<Vec<String>> = USERS.iter().map(|user| self.world.sees(user, output)).collect();
            let shared = |name: &str| {
                claims
                    .iter()
                    .any(|claim| claim.job != job.name && claim.entry == name && claim.output == *output)
            };
            for (name, file) in
                source.files.iter().filter(|(name, file)| name.starts_with(&root) && !file.unlisted)
            {
                if file.vanishing || self.erased.is_erased(&job.name, name) {
                    continue;
                }
                for Expected { suffix, is } in oracle::wanted(job, output, file).entries() {
                    let Some((text, mark)) = is else { continue };
                    let name = &format!("{name}{suffix}");
                    if missed.contains(name) {
                        continue;
                    }
                    let Some(entry) = entries.get(name) else {
                        found.push(format!("{output} lacks {name} {text}"));
                        continue;
                    };
                    // Another owner may put another mark on it, or not take it apart.
                    let whole = !file.content.contains('+');
                    if (entry.text != text && (whole || !shared(name)))
                        || (entry.mark != mark && !shared(name))
                    {
                        found.push(format!(
                            "{output} holds {name} {} {:?}, not {text} {mark:?}",
                            entry.text, entry.mark
                        ));
                    }
                    for (user, sees) in USERS.iter().zip(&sees) {
                        let may = oracle::permits(&source, oracle::file_of(name), file, &tokens(user));
                        // What another owner has not confirmed yet narrows it, and what is erased and still held keeps its folder closed.
                        let narrowed = may && (shared(name) || erases);
                        if may != sees.contains(name) && !narrowed {
                            found.push(format!(
                                "`{user}` may see {name} in {output}: {may}, and finds it: {}",
                                !may
                            ));
                        }
                    }
                }
            }
            for name in entries
                .keys()
                .filter(|name| name.starts_with(&root) && !shared(name) && !missed.contains(*name))
            {
                // What is erased goes by itself: see `erased_stay`.
                let file = oracle::file_of(name);
                let is_erased = self.erased.is_erased(&job.name, file);
                if !is_erased
                    && source.files.get(file).is_none_or(|file| !may_be_held(job, output, file, name))
                {
                    found.push(format!("{output} still holds {name}"));
                }
            }
        }
    }
}

/// Whether an output may hold an entry of a file, or of what is in it.
fn may_be_held(job: &Job, output: &str, file: &File, name: &str) -> bool {
    let suffix = &name[oracle::file_of(name).len()..];
    match oracle::wanted(job, output, file) {
        Wanted::Declined => false,
        Wanted::Broken => true,
        Wanted::Entries(entries) => {
            let incomplete = !suffix.is_empty()
                && oracle::is_incomplete(job, output, file)
                && !oracle::is_kept_out(job, output, file, suffix);
            incomplete || file.unreadable || entries.iter().any(|entry| entry.suffix == suffix)
        }
    }
}

/// Why a component stays that may still be there.
const INCOMPLETE: &str = "which was not found only because not everything could be read";

/// Why a document of a job had to stay, if it had to.
fn wrongly(
    source: &Source,
    (job, output): (&Job, &str),
    name: &str,
    (acts, word, rest): (bool, &str, &str),
) -> Option<String> {
    let suffix = &name[oracle::file_of(name).len()..];
    let name = oracle::file_of(name);
    let file = source.files.get(name).filter(|file| !(acts && file.vanishing));
    if let Some(file) = file {
        return match oracle::wanted(job, output, file) {
            // An output that cannot take access alone must not show what cannot be read, nor what another owner that leaves
            // showed: it gets the record again.
            Wanted::Entries(_) if file.unreadable => None,
            Wanted::Entries(entries) if entries.iter().any(|e| e.suffix == suffix && e.is.is_some()) => {
                Some(format!("which is there and belongs to {}", job.name))
            }
            Wanted::Entries(entries)
                if acts
                    && !suffix.is_empty()
                    && !oracle::is_kept_out(job, output, file, suffix)
                    && (oracle::is_incomplete(job, output, file)
                        || entries.iter().any(|e| e.suffix == suffix)) =>
            {
                Some(INCOMPLETE.to_owned())
            }
            _ if !acts => Some(format!("which {} still owns", job.name)),
            _ => None,
        };
    }
    if !acts {
        return Some(format!("which {} still owns", job.name));
    }
    let root = oracle::root(job);
    let below = name.strip_prefix(&root).unwrap_or(name);
    let above = |test: fn(&script_repository::Folder) -> bool| {
        oracle::folders(below).any(|folder| source.folders.get(&format!("{root}{folder}")).is_some_and(test))
    };
    let why = match word {
        _ if source.absent => "although the root is not there",
        _ if above(|folder| folder.unreadable) => "which nobody could look at",
        "run" if above(|folder| folder.changing) => "whose folder changed while it was listed",
        "run" if rest.contains("minimal") => "in a run that looks at what is new only",
        _ => return None,
    };
    Some(why.to_owned())
}
