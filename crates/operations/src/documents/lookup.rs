//! Which document is meant: a name below the root of a job, or where that name leads as a path.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ingather_engine::Engine;
use ingather_engine::inspect::Leads;
use ingather_model::names;
use ingather_store::jobs::Job;

use crate::context::{Caller, Places};
use crate::operation::Role;
use crate::problem::Result;

/// What was typed for a document.
pub(crate) struct Lookup {
    /// What is looked up.
    pub(crate) text: String,
    /// Where the path leads that was typed; none for an address.
    path: Option<PathBuf>,
    /// How far it led.
    leads: Leads,
}

impl Lookup {
    /// Looks for what was typed in these jobs, first by its name below their roots, then by `path`; what is known goes before what
    /// is only there. Whoever does not own this machine asks by names alone: paths would tell which files there are.
    pub(crate) fn of(
        engine: &Engine,
        jobs: &[Job],
        caller: &Caller<'_>,
        (name, path): (String, Option<String>),
    ) -> Result<Lookup> {
        let owns = caller.has(Role::Admin) && matches!(caller.places, Places::Any);
        let as_path = path.filter(|_| owns);
        let path = as_path.as_deref().map(|path| {
            let bytes = names::unescape(path).unwrap_or_else(|_| path.as_bytes().into());
            PathBuf::from(OsStr::from_bytes(&bytes))
        });
        let best = |text: &str| -> Result<Leads> {
            jobs.iter().try_fold(Leads::Nowhere, |best, job| Ok(best.max(engine.leads(job, text)?)))
        };
        let by_name = best(&name)?;
        let Some(as_path) = as_path.filter(|as_path| *as_path != name && by_name != Leads::Known) else {
            return Ok(Lookup { text: name, path, leads: by_name });
        };
        let by_path = best(&as_path)?;
        let is_there = path.as_ref().is_some_and(|path| path.symlink_metadata().is_ok());
        match by_path > by_name || by_name == Leads::Nowhere && is_there {
            true => Ok(Lookup { text: as_path, path, leads: by_path }),
            false => Ok(Lookup { text: name, path, leads: by_name }),
        }
    }

    /// For what is nowhere in the jobs that were asked: whether there is such a file, and which of all jobs would have it.
    pub(crate) fn file(&self, all: &[Job]) -> Option<String> {
        let path = self.path.as_ref().filter(|_| self.leads == Leads::Nowhere)?;
        if path.symlink_metadata().is_err() {
            return Some(format!("there is nothing at {}", path.display()));
        }
        let covering: Vec<&Job> = all.iter().filter(|job| covers(job, path)).collect();
        let folder = path.parent().unwrap_or(path);
        Some(match covering.as_slice() {
            [] => format!(
                "{} is there, and no job covers it; `ingather sync {}` makes one",
                path.display(),
                folder.display()
            ),
            jobs => {
                let named: Vec<String> =
                    jobs.iter().map(|job| format!("job {} ({})", job.name, job.root)).collect();
                format!("{} is there, below the source of {}", path.display(), named.join(", "))
            }
        })
    }
}

fn covers(job: &Job, path: &Path) -> bool {
    let root = names::unescape(&job.root).unwrap_or_else(|_| job.root.as_bytes().into());
    path.starts_with(Path::new(OsStr::from_bytes(&root)))
}

#[cfg(test)]
mod tests {
    use ingather_store::{Store, Target};

    use super::*;
    use crate::context::tests::asked;

    #[test]
    fn which_files_there_are_is_told_to_the_owner_of_the_machine_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt");
        std::fs::write(&file, "a").unwrap();
        let store = Store::open(&Target::Sqlite(folder.path().join("store.db"))).unwrap();
        let told = |role: Role| {
            let mut told = None;
            asked(&[role], |context, caller| {
                let engine = context.engine(store.reader().clone(), None, &[]);
                let path = file.to_string_lossy().into_owned();
                told = Lookup::of(&engine, &[], caller, ("a.txt".to_owned(), Some(path)))?.file(&[]);
                Ok(())
            });
            told
        };
        assert!(told(Role::Admin).is_some_and(|told| told.contains("no job covers it")));
        assert_eq!(told(Role::Operator), None);
        assert_eq!(told(Role::TokenReader), None);
    }
}
