//! The jobs whose history is asked for, and from when on it is known of them.

use std::collections::BTreeMap;

use ingather_model::ids::JobId;
use ingather_model::job::history::{HistoryKind, HistoryOf};
use ingather_store::Reader;
use ingather_store::jobs;
use ingather_store::runs::history;

use crate::in_words;
use crate::jobs::named;
use crate::problem::Result;

/// Jobs that are named to people where there are many.
const NAMED_MAX: usize = 3;

/// The jobs that a question is about.
pub(super) struct Jobs {
    names: BTreeMap<JobId, String>,
    /// The only one that was asked for.
    one: Option<JobId>,
    known: BTreeMap<(JobId, HistoryKind), i64>,
    /// Those whose history has every document.
    noting_all: Vec<JobId>,
}

/// What is known of documents.
pub(super) struct Known {
    /// From when on.
    pub(super) from: i64,
    /// In a sentence.
    pub(super) says: String,
}

impl Jobs {
    /// The job of that name, or all.
    ///
    /// # Errors
    /// `NoSuchJob`.
    pub(super) fn of(reader: &Reader, name: Option<&str>) -> Result<Jobs> {
        let (found, one) = match name {
            Some(name) => {
                let job = named(reader, name)?;
                let id = job.id;
                (vec![job], Some(id))
            }
            None => (reader.read(jobs::list)?, None),
        };
        let known = reader.read(history::known_from)?.into_iter();
        let is_asked = |id: &JobId| found.iter().any(|job| job.id == *id);
        Ok(Jobs {
            known: known
                .filter(|(id, ..)| one.is_none() || is_asked(id))
                .map(|(id, kind, at)| ((id, kind), at))
                .collect(),
            noting_all: found
                .iter()
                .filter(|job| job.definition.history.of == HistoryOf::Documents)
                .map(|job| job.id)
                .collect(),
            names: found.into_iter().map(|job| (job.id, job.name)).collect(),
            one,
        })
    }

    /// The only one that was asked for.
    pub(super) fn one(&self) -> Option<JobId> {
        self.one
    }

    /// The name of one of them; none of one that is gone.
    pub(super) fn name(&self, id: JobId) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    /// Whether the history of a job has every document.
    pub(super) fn notes_all(&self, id: JobId) -> bool {
        self.noting_all.contains(&id)
    }

    /// Whether that of any of them has.
    pub(super) fn some_note_all(&self) -> bool {
        !self.noting_all.is_empty()
    }

    fn latest(&self, kind: HistoryKind) -> i64 {
        let of_kind = self.known.iter().filter(|((_, known), _)| *known == kind);
        of_kind.map(|(_, at)| *at).max().unwrap_or_default()
    }

    /// From when on all runs are known.
    pub(super) fn runs(&self) -> i64 {
        self.latest(HistoryKind::Runs)
    }

    /// From when on documents are known: failures and refusals alone, or all of them.
    pub(super) fn documents(&self, failures_alone: bool) -> Known {
        let failures = self.latest(HistoryKind::Failures);
        let others: Vec<&str> = self
            .names
            .iter()
            .filter(|(id, _)| {
                !self.noting_all.contains(id) || !self.known.contains_key(&(**id, HistoryKind::Documents))
            })
            .map(|(_, name)| name.as_str())
            .collect();
        if failures_alone {
            return Known {
                from: failures,
                says: format!("documents that failed or were left out since {}", in_words::time(failures)),
            };
        }
        let from = failures.max(self.latest(HistoryKind::Documents));
        let all = format!("documents that runs visited or removed since {}", in_words::time(from));
        let more = if others.len() > NAMED_MAX { " and others" } else { "" };
        let few = others.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
        let alone =
            "only those that failed or were left out, for it does not keep others (`history` `documents`)";
        let says = match (others.is_empty(), self.one) {
            (true, _) => all,
            (false, Some(_)) => format!("of job {few} {alone}, since {}", in_words::time(failures)),
            (false, None) if others.len() == self.names.len() => {
                format!(
                    "of all jobs {}, since {}",
                    alone.replace("it does", "they do"),
                    in_words::time(failures)
                )
            }
            (false, None) => format!("{all}; of job {few}{more} {}", alone.replace("it does", "they do")),
        };
        Known { from, says }
    }
}
