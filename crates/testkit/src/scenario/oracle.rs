//! The naive model: what outputs must hold and who may find it, from the source and the jobs as they are now.

use ingather_model::access::{Acl, Tokens};
use ingather_model::document::Record;
use ingather_model::job::Stage;
use ingather_model::job::condition::Condition;
use ingather_store::jobs::Job;

use crate::script_repository::{File, Source};
use crate::script_transform::{Parted, parted};
use crate::together::pushing;

/// What one job wants of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// Entries: of the file, of what is in it, or of both.
    Entries(Vec<Expected>),
    /// No entry: a rule or a stage leaves it out.
    Declined,
    /// A stage fails on it; what was there before may stay.
    Broken,
}

/// An entry that a job wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    /// What follows the name of the file: nothing, or `#` and a component.
    pub(super) suffix: String,
    /// Its text and mark; none when it cannot be read now, so that what was there before stays, whatever that was.
    pub(super) is: Option<(String, Option<String>)>,
}

impl Wanted {
    /// The entries, if any.
    pub(super) fn entries(self) -> Vec<Expected> {
        match self {
            Wanted::Entries(entries) => entries,
            Wanted::Declined | Wanted::Broken => Vec::new(),
        }
    }
}

/// Whether a job takes a file apart on the way to an output and cannot find all that is in it now: what it found before stays.
pub(super) fn is_incomplete(job: &Job, output: &str, file: &File) -> bool {
    is_text_incomplete(job, output, &file.content) && !file.excluded
}

/// The same of a text.
pub(super) fn is_text_incomplete(job: &Job, output: &str, text: &str) -> bool {
    walk(job, output, text, true).1
}

/// Whether something that is found in a file is kept out of an output by a condition.
pub(super) fn is_kept_out(job: &Job, output: &str, file: &File, suffix: &str) -> bool {
    let has = |gated| {
        let entries = walk(job, output, &file.content, gated).0.entries();
        entries.iter().any(|entry| entry.suffix == suffix)
    };
    !file.excluded && has(false) && !has(true)
}

/// Name of the file that an entry is of, or is in.
pub(super) fn file_of(entry: &str) -> &str {
    entry.split('#').next().unwrap_or_default()
}

/// What names of a job's entries begin with: its root in the source, or the name of what clients push into.
pub(super) fn root(job: &Job) -> String {
    let root = job.definition.source["root"].as_str().unwrap_or_default();
    if pushing::is_pushed(job) { format!("{root}/") } else { root.to_owned() }
}

/// What a job wants of a file in its scope, in one of its outputs.
pub(super) fn wanted(job: &Job, output: &str, file: &File) -> Wanted {
    if file.excluded { Wanted::Declined } else { wanted_of(job, output, &file.content) }
}

/// What a job wants of a text.
pub(super) fn wanted_of(job: &Job, output: &str, text: &str) -> Wanted {
    walk(job, output, text, true).0
}

/// The same, and whether not all that is in it could be found on the way; `gated`: conditions count.
fn walk(job: &Job, output: &str, text: &str, gated: bool) -> (Wanted, bool) {
    let definition = &job.definition;
    let tree = definition.tree().expect("scenarios have pipelines that lead somewhere");
    let first = vec![Expected { suffix: String::new(), is: Some((text.to_owned(), None)) }];
    let behind = |made: &[(Vec<Expected>, bool)], place: Option<usize>| {
        place.map_or_else(|| (first.clone(), false), |at| made[at].clone())
    };
    let let_in = |entries, when: Option<&Condition>| let_in(entries, when.filter(|_| gated));
    let mut made: Vec<(Vec<Expected>, bool)> = Vec::new();
    for (at, stage) in definition.stages.iter().enumerate() {
        let (entries, mut incomplete) = behind(&made, tree.stages[at]);
        let entries = let_in(entries, stage.when.as_ref());
        let mut next = Vec::new();
        for Expected { suffix, is } in entries {
            let Some((text, mark)) = is else {
                next.push(Expected { suffix, is });
                continue;
            };
            let has = |name: &str| stage.settings[name].as_str().is_some_and(|word| text.contains(word));
            match (has("broken"), has("decline")) {
                // Whatever its branch, the document fails.
                (true, _) if suffix.is_empty() => return (Wanted::Broken, incomplete),
                (true, _) => next.push(Expected { suffix, is: None }),
                (false, true) => {}
                (false, false) => {
                    let mark = stage.settings["mark"].as_str().map(str::to_owned).or(mark);
                    incomplete |=
                        suffix.is_empty() && stage.settings["parts"].is_string() && parted(&text).incomplete;
                    next.extend(self::made(stage, suffix, text, mark));
                }
            }
        }
        made.push((next, incomplete));
    }
    let place = definition.outputs.iter().position(|name| name == output).map(|at| tree.outputs[at]);
    let Some(place) = place else { return (Wanted::Declined, false) };
    let when = definition.routes.get(output).and_then(|route| route.when.as_ref());
    let (entries, incomplete) = behind(&made, place);
    let entries = let_in(entries, when);
    // What cannot be taken apart now may still hold what was found in it before.
    let is_declined = entries.is_empty() && !incomplete;
    (if is_declined { Wanted::Declined } else { Wanted::Entries(entries) }, incomplete)
}

/// The entries that are as a condition says; what cannot be read now may be so.
fn let_in(mut entries: Vec<Expected>, when: Option<&Condition>) -> Vec<Expected> {
    let Some(when) = when else { return entries };
    entries.retain(|Expected { is, .. }| {
        is.as_ref().is_none_or(|(text, mark)| {
            let fields = mark.iter().map(|mark| ("mark".to_owned(), vec![mark.clone()])).collect();
            when.holds(&Record { body: Some(text.clone()), fields, ..Record::default() })
        })
    });
    entries
}

/// What a stage makes of one entry that it takes.
fn made(stage: &Stage, suffix: String, text: String, mark: Option<String>) -> Vec<Expected> {
    let Some(own) = stage.settings["parts"].as_str() else {
        return vec![Expected { suffix, is: Some((text, mark)) }];
    };
    let found = parted(&text);
    let is_container = !found.parts.is_empty() || found.incomplete;
    let mut made = Vec::new();
    if !(own == "drop" && is_container) {
        made.push(Expected { suffix: suffix.clone(), is: Some((found.own.clone(), mark)) });
    }
    let inner = if suffix.is_empty() { "#".to_owned() } else { format!("{suffix}!/") };
    made.extend(inside(&found).into_iter().map(|(name, text)| {
        let is = text.map(|text| (text, None));
        Expected { suffix: format!("{inner}{name}"), is }
    }));
    made
}

/// What is in a file, by names that differ.
pub(super) fn inside(found: &Parted) -> Vec<(String, Option<String>)> {
    let mut met: Vec<String> = Vec::new();
    let mut numbered = |(name, text): &(String, Option<String>)| {
        let before = met.iter().filter(|other| *other == name).count();
        met.push(name.clone());
        (if before == 0 { name.clone() } else { format!("{name}~{}", before + 1) }, text.clone())
    };
    found.parts.iter().map(&mut numbered).collect()
}

/// Every folder above a name, with the source's root.
pub(super) fn folders(name: &str) -> impl Iterator<Item = &str> {
    std::iter::once("").chain(name.match_indices('/').map(|(at, _)| &name[..=at]))
}

/// Whether the source lets somebody with these tokens reach a file.
pub(super) fn permits(source: &Source, name: &str, file: &File, tokens: &Tokens) -> bool {
    let admits = |acl: &Acl| acl.admits(tokens);
    admits(&file.acl)
        && folders(name).all(|folder| source.folders.get(folder).is_none_or(|found| admits(&found.acl)))
}
