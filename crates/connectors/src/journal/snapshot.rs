//! A journal with what is replaced left out: one `put` for each entry that there is, after all that says who may see it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};

use ingather_contract::call::Cancel;
use ingather_contract::lines::{FORMAT, Line, Reference, of_acl};
use ingather_model::access::Acl;
use ingather_model::access::identity::Group;
use ingather_model::fault::Fault;
use ingather_model::ids::Digest;
use ingather_model::limits;
use ingather_model::run_counts::RunCounts;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What to do with a file that never was one.
const NAME_ONE: &str = "name a file that `ingather sync --to journal:FILE` wrote";
/// What to do where files do not come to one journal.
const ANEW: &str = "send everything to a new journal with `ingather sync SOURCE --name JOB --to index --to journal:NEW --update`";

/// A journal, and what people call it.
pub struct Part {
    /// Open for reading.
    pub file: File,
    /// For people.
    pub name: String,
}

/// What a snapshot holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Entries.
    pub entries: usize,
    /// Number of the last line that it speaks of: a reader goes on behind it.
    pub seq: i64,
    /// Entries that somebody may see by the files, and whose last `put` is in none of them.
    pub unknown: usize,
    /// Lines that were told before these files, or between them, are in none of them.
    pub gap: bool,
    /// The last run in the files has its `run_end`.
    pub ended: bool,
}

/// What is read of a line; the rest, such as texts, is passed over.
#[derive(Deserialize)]
struct Told<'l> {
    #[serde(borrow)]
    op: Cow<'l, str>,
    seq: Option<i64>,
    id: Option<Value>,
    state: Option<String>,
    job: Option<String>,
    run: Option<i64>,
    work: Option<String>,
    opening: Option<String>,
    follows: Option<i64>,
    version: Option<String>,
    outcome: Option<String>,
    counts: Option<RunCounts>,
    group: Option<String>,
    level: Option<Acl>,
    acls: Option<Vec<i64>>,
    address: Option<String>,
    also: Option<Vec<Reference>>,
    acl: Option<i64>,
    container: Option<String>,
}

impl Told<'_> {
    /// Whom an acl admits; none where the line does not say what its `op` needs.
    fn acl(&mut self) -> Option<(Group, Acl)> {
        let group = match &*self.op {
            "group_acl" => Group::named(self.group.take()?),
            _ => Group::default(),
        };
        Some((group, self.level.take()?))
    }
}

/// A line of an entry, to be written again.
#[derive(Deserialize)]
struct Put {
    id: String,
    /// Missing in format 1.
    #[serde(default)]
    address: String,
    job: String,
    uri: String,
    version: String,
    fields: Value,
    acl: Option<i64>,
    container: Option<String>,
}

/// Where the last `put` of an entry stands, and what was said of its access since.
struct Entry {
    part: usize,
    at: u64,
    /// Digest of the version that was put.
    version: Digest,
    access: Option<Reference>,
}

struct Begun {
    state: String,
    opening: Option<String>,
    job: String,
    run: Option<i64>,
    work: String,
}

struct Ended {
    job: String,
    run: Option<i64>,
    outcome: String,
    counts: RunCounts,
}

/// What a reader of the lines holds, with places of texts instead of texts.
#[derive(Default)]
struct State {
    begun: Option<Begun>,
    ended: Option<Ended>,
    seq: i64,
    acls: BTreeMap<i64, (Group, Acl)>,
    containers: BTreeMap<String, Option<Vec<i64>>>,
    also: BTreeMap<String, Vec<Reference>>,
    /// By digests of ids.
    entries: HashMap<Digest, Entry>,
    /// Entries that some line shows and no line puts.
    missing: HashSet<Digest>,
    /// Entries that were put out, and not put again.
    deleted: HashSet<Digest>,
    /// Number of the last line since the state began.
    last: i64,
    gap: bool,
}

impl State {
    /// What of a line cannot be in a journal of one history; a clause. Lines of another one refer to other lists by the same ids.
    fn conflict(&self, told: &Told<'_>) -> Option<String> {
        let is_other = |begun: &Begun| told.op == "run" && told.state.as_ref() != Some(&begun.state);
        if self.begun.as_ref().is_some_and(is_other) {
            return None;
        }
        // Lines of format 1 have none.
        if let Some(seq) = told.seq.filter(|seq| *seq <= self.last) {
            return Some(format!(
                "has the number {seq}, after {}: name each file once, from the oldest to the newest; if they are, they are of two \
                 histories",
                self.last
            ));
        }
        let id = told.id.as_ref()?.as_i64().filter(|_| matches!(&*told.op, "acl" | "group_acl"))?;
        let differs = |(group, level): &(Group, Acl)| {
            told.level.as_ref() != Some(level) || told.group.as_deref().unwrap_or_default() != group.name()
        };
        let differs = self.acls.get(&id).is_some_and(differs);
        differs.then(|| format!("gives acl {id} a second meaning: the files are of two histories"))
    }

    /// Takes the line in that begins at `at`; nothing when it does not say what its `op` needs.
    fn take(&mut self, mut told: Told<'_>, part: usize, at: u64) -> Option<()> {
        let (own, before) = (told.seq.unwrap_or(0), self.last);
        (self.seq, self.last) = (self.seq.max(own), own.max(self.last));
        let key = || Some(Digest::of(told.id.as_ref()?.as_str()?.as_bytes()));
        let reference = Reference { acl: told.acl, container: told.container.take() };
        match &*told.op {
            "run" => {
                let (state, opening) = (told.state?, told.opening);
                let begun = Begun { state, opening, job: told.job?, run: told.run, work: told.work? };
                let follows = told.follows.unwrap_or(0);
                // The line that a snapshot begins with follows all that is in it.
                let gap = follows > before && follows < own;
                if self.begun.as_ref().is_some_and(|before| before.state != begun.state || gap) {
                    *self = State { seq: self.seq, last: own, ..State::default() };
                }
                self.gap |= gap;
                (self.begun, self.ended) = (Some(begun), None);
            }
            "run_end" => {
                let (job, outcome, counts) = (told.job?, told.outcome?, told.counts?);
                self.ended = Some(Ended { job, run: told.run, outcome, counts });
            }
            "acl" | "group_acl" => drop(self.acls.insert(told.id.as_ref()?.as_i64()?, told.acl()?)),
            "container" => drop(self.containers.insert(told.id?.as_str()?.to_owned(), told.acls)),
            "also" if told.also.as_ref()?.is_empty() => drop(self.also.remove(&told.address?)),
            "also" => drop(self.also.insert(told.address?, told.also?)),
            "put" => {
                let version = Digest::of(told.version?.as_bytes());
                self.put(
                    Digest::of(told.id.as_ref()?.as_str()?.as_bytes()),
                    Entry { part, at, version, access: None },
                );
            }
            "access" => self.access(key()?, told.version.as_deref(), reference),
            "delete" => self.delete(key()?),
            _ => return None,
        }
        Some(())
    }

    fn put(&mut self, key: Digest, entry: Entry) {
        self.missing.remove(&key);
        self.deleted.remove(&key);
        self.entries.insert(key, entry);
    }

    fn access(&mut self, key: Digest, version: Option<&str>, reference: Reference) {
        let mut is_missing = reference.acl.is_some() && reference.container.is_some();
        match self.entries.get_mut(&key) {
            Some(entry) if version.is_none_or(|version| Digest::of(version.as_bytes()) == entry.version) => {
                entry.access = Some(reference);
                is_missing = false;
            }
            // The put of what is spoken of was lost: what there is instead is nobody's until it comes.
            Some(entry) => entry.access = Some(Reference { acl: None, container: None }),
            // After a kill what may be there is hidden, and what may have been put out is told of once more: nothing is missing for that.
            None => is_missing &= !self.deleted.contains(&key),
        }
        if is_missing {
            self.missing.insert(key);
        } else {
            self.missing.remove(&key);
        }
    }

    fn delete(&mut self, key: Digest) {
        self.missing.remove(&key);
        self.entries.remove(&key);
        self.deleted.insert(key);
    }

    fn read(&mut self, number: usize, part: &Part, cancel: &Cancel) -> Result<(), Fault> {
        let failed = |error: std::io::Error| failed(&part.name, &error);
        let length = part.file.metadata().map_err(failed)?.len();
        // No further than it reaches now: somebody may be writing.
        let mut input = BufReader::new((&part.file).take(length));
        let (mut text, mut at, mut nth) = (Vec::new(), 0, 0u64);
        loop {
            text.clear();
            let most = limits::JOURNAL_LINE_BYTES_MAX;
            let read = (&mut input).take(most).read_until(b'\n', &mut text).map_err(failed)?;
            nth += 1;
            // A line without its end is not written yet, or torn.
            if read as u64 != most && text.last() != Some(&b'\n') {
                return Ok(());
            }
            if cancel.cancelled() {
                return Err(stopped());
            }
            let refused =
                |why: &str| Err(Fault::refused("journal", format!("line {nth} of `{}` {why}", part.name)));
            let is_begun = self.begun.is_some();
            let no_line = || {
                // Where lines of a journal came before, somebody else wrote into it.
                let what_now = match is_begun {
                    false => NAME_ONE.to_owned(),
                    true => format!("something else was written into it: {ANEW}"),
                };
                refused(&format!("is no line of a journal; {what_now}"))
            };
            let Ok(told) = serde_json::from_slice::<Told<'_>>(&text) else { return no_line() };
            if let Some(conflict) = self.conflict(&told) {
                return refused(&format!("{conflict}; {ANEW}"));
            }
            if self.take(told, number, at).is_none() {
                return no_line();
            }
            at += read as u64;
        }
    }
}

fn failed(name: &str, error: &std::io::Error) -> Fault {
    Fault::passing(
        "journal",
        format!(
            "journal `{name}` cannot be read: {error}; see that its disk works, then run the same command again"
        ),
    )
}

fn stopped() -> Fault {
    Fault::passing("stopped", "stopped; no snapshot was made")
}

/// Writes what journals that follow each other, the oldest first, come to, as one journal: whoever has taken it goes on with the
/// last one behind the line `seq` of the summary. No line shows an entry to anybody who does not see it in the end, for who may see
/// is told before what. Memory: some hundred bytes for each entry, never its text.
///
/// # Errors
/// A file cannot be read, is no journal, or is of format 1 alone; `out` cannot be written; it was stopped by `cancel`.
pub fn snapshot(parts: &[Part], out: &mut dyn Write, cancel: &Cancel) -> Result<Summary, Fault> {
    let mut state = State::default();
    for (number, part) in parts.iter().enumerate() {
        state.read(number, part, cancel)?;
    }
    let State { begun, ended, seq, acls, containers, also, entries, missing, gap, .. } = state;
    let Some(begun) = begun else {
        let names: Vec<String> = parts.iter().map(|part| format!("`{}`", part.name)).collect();
        let sentence = format!(
            "no `run` line is in {}: it is empty, of an earlier version, or no journal; run `ingather sync` of its job first, or {NAME_ONE}",
            names.join(" or ")
        );
        return Err(Fault::refused("journal", sentence));
    };
    let mut entries: Vec<Entry> = entries.into_values().collect();
    entries.sort_unstable_by_key(|entry| (entry.part, entry.at));
    let (unknown, is_over) = (missing.len(), ended.is_some());
    let summary = Summary { entries: entries.len(), seq, unknown, gap, ended: is_over };
    let lines = 1 + acls.len() + containers.len() + also.len() + entries.len() + usize::from(ended.is_some());
    // Numbers grow up to that of the last line of the files; there are enough, for each of these lines had one there.
    let mut last = seq - lines as i64;
    let mut number = || {
        last += 1;
        last
    };
    let mut write = |line: Line<'_>| -> Result<(), Fault> {
        serde_json::to_writer(&mut *out, &line)
            .map_err(std::io::Error::from)
            .and_then(|()| writeln!(out))
            .map_err(|error| {
                Fault::passing(
                    "output",
                    format!(
                        "the snapshot cannot be written: {error}; make room there, or write it elsewhere"
                    ),
                )
            })
    };
    let Begun { state, opening, job, run, work } = begun;
    let (job, work, follows) = (job.as_str(), work.as_str(), Some(seq));
    write(Line::Run { seq: number(), format: FORMAT, state, opening, follows, job, run, work })?;
    // Also those that no entry refers to: what follows may, and does not define them again.
    for (id, (group, level)) in &acls {
        write(of_acl(number(), *id, group, level))?;
    }
    for (id, acls) in containers {
        write(Line::Container { seq: number(), id, acls })?;
    }
    for (address, also) in also {
        write(Line::Also { seq: number(), address, also })?;
    }
    let mut texts: Vec<BufReader<&File>> = parts.iter().map(|part| BufReader::new(&part.file)).collect();
    for Entry { part, at, access, .. } in entries {
        if cancel.cancelled() {
            return Err(stopped());
        }
        let Put { id, address, job, uri, version, fields, acl, container } =
            put_at(&mut texts[part], at).map_err(|error| failed(&parts[part].name, &error))?;
        let access = access.unwrap_or(Reference { acl, container });
        write(Line::Put { seq: number(), id: &id, address, job: &job, uri: &uri, version, fields, access })?;
    }
    if let Some(Ended { job, run, outcome, counts }) = &ended {
        write(Line::RunEnd { seq: number(), job, run: *run, outcome, counts })?;
    }
    Ok(summary)
}

/// The line of an entry that begins at `at`.
fn put_at(text: &mut BufReader<&File>, at: u64) -> std::io::Result<Put> {
    // Most lines follow each other: what is in the buffer stays.
    let here = text.stream_position()?;
    text.seek_relative(at.cast_signed() - here.cast_signed())?;
    let mut line = Vec::new();
    text.take(limits::JOURNAL_LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
    Ok(serde_json::from_slice(&line)?)
}
