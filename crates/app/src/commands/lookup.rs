//! Which document a person means: a name below the root of a job, or a path as the shell completes it where they stand.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ingather_engine::Engine;
use ingather_engine::inspect::Leads;
use ingather_model::names;
use ingather_store::jobs::Job;

use crate::arguments::values;
use crate::exit::Result;

/// What was typed for a document.
pub(super) struct Lookup {
    /// What is looked up.
    pub(super) text: String,
    /// Where the path leads that was typed, links above it resolved; none for an address.
    path: Option<PathBuf>,
    /// How far it led.
    leads: Leads,
}

impl Lookup {
    /// Looks for what was typed in these jobs, first by its name below their roots, then as a path from the current folder;
    /// what is known goes before what is only there.
    pub(super) fn of(engine: &Engine, jobs: &[Job], typed: &OsStr) -> Result<Lookup> {
        let name = values::name(typed).into_owned();
        let path = (!name.contains("://")).then(|| real(&name)).flatten();
        let as_path = path.as_deref().map(|path| names::escape(path.as_os_str().as_bytes()).into_owned());
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
    pub(super) fn file(&self, all: &[Job]) -> Option<String> {
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

/// The path that a name leads to from the current folder: links in the folders above it are resolved as far as there are
/// folders, the name itself is taken as it is.
fn real(name: &str) -> Option<PathBuf> {
    let bytes = names::unescape(name).unwrap_or_else(|_| name.as_bytes().into());
    let path = std::path::absolute(Path::new(OsStr::from_bytes(&bytes))).ok()?;
    let Some(last) = path.file_name() else { return std::fs::canonicalize(&path).ok() };
    let above = path.parent()?;
    let (there, folder) =
        above.ancestors().find_map(|folder| Some((folder, std::fs::canonicalize(folder).ok()?)))?;
    Some(folder.join(above.strip_prefix(there).ok()?).join(last))
}
