//! The naive model: what outputs must hold and who may find it, from the source and the jobs as they are now.

use ingather_connector::model::access::{Level, Tokens};
use ingather_store::jobs::Job;

use crate::script_repository::{File, Source};

/// What one job wants of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// An entry with this text and mark.
    Entry(String, Option<String>),
    /// No entry: a rule or a stage leaves it out.
    Declined,
    /// A stage fails on it; what was there before may stay.
    Broken,
}

/// Root of a job in the source.
pub(super) fn root(job: &Job) -> &str {
    job.definition.source["root"].as_str().unwrap_or_default()
}

/// What a job wants of a file in its scope.
pub(super) fn wanted(job: &Job, file: &File) -> Wanted {
    let mut mark = None;
    if file.excluded {
        return Wanted::Declined;
    }
    for stage in &job.definition.stages {
        let has = |name: &str| stage.settings[name].as_str().is_some_and(|word| file.content.contains(word));
        if has("broken") {
            return Wanted::Broken;
        }
        if has("decline") {
            return Wanted::Declined;
        }
        mark = stage.settings["mark"].as_str().map(str::to_owned).or(mark);
    }
    Wanted::Entry(file.content.clone(), mark)
}

/// Every folder above a name, with the source's root.
pub(super) fn folders(name: &str) -> impl Iterator<Item = &str> {
    std::iter::once("").chain(name.match_indices('/').map(|(at, _)| &name[..=at]))
}

/// Whether the source lets somebody with these tokens reach a file.
pub(super) fn permits(source: &Source, name: &str, file: &File, tokens: &Tokens) -> bool {
    let admits = |level: &Level| level.admits(tokens);
    admits(&file.level)
        && folders(name).all(|folder| source.folders.get(folder).is_none_or(|found| admits(&found.level)))
}
