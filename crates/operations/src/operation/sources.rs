//! The one rule about keys that are for some sources alone (decision 0053): for whoever asks by one, no other source is there, nor anything of it. Operations of the push side take jobs
//! of sources through here, and the test below asks all of them.

use ingather_store::jobs::Job;

use crate::context::Caller;

/// Into which sources somebody may push, and at which they may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnSources<'a> {
    /// All that their roles let them.
    All,
    /// Those of these names alone, whether they are there or not.
    Only(&'a [String]),
}

impl OwnSources<'_> {
    /// Whether the source of that name is one of them.
    pub fn has(self, source: &str) -> bool {
        match self {
            OwnSources::All => true,
            OwnSources::Only(names) => names.iter().any(|name| name == source),
        }
    }
}

impl Caller<'_> {
    /// The job of a source as it is for them: none where it is not one of theirs.
    pub(crate) fn source(&self, job: Option<Job>) -> Option<Job> {
        job.filter(|job| self.sources.has(&job.name))
    }

    /// Whether they are told of what belonged to this source. Of one that is gone nobody knows the name any more: then it is none of theirs.
    pub(crate) fn is_told_of(&self, source: Option<&Job>) -> bool {
        match source {
            Some(job) => self.sources.has(&job.name),
            None => self.sources == OwnSources::All,
        }
    }
}

#[cfg(test)]
mod tests;
