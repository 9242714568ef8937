//! A copy of the index as one commit left it, taken while others write: hard links that garbage collection cannot break,
//! or copies where there can be no links.

use std::collections::HashSet;
use std::path::Path;

use ingather_contract::output::Generation;
use ingather_model::fault::Fault;

use crate::damage;
use crate::directory::{self, IndexDirectory};

/// Commits that may come in between before the copy is given up.
const ATTEMPTS_MAX: usize = 100;
/// What says which files there are: the commit, and the list for garbage collection.
const LISTS: [&str; 2] = ["meta.json", ".managed.json"];

/// Puts the files of the last commit into the new folder `into`, best on the same disk, where links do; where that commit
/// stands. None when there is no index in `data`.
///
/// # Errors
/// `Passing` when commits keep coming in between; `Refused` when files cannot be linked; those of a damaged index.
pub(crate) fn snapshot(data: &Path, into: &Path) -> Result<Option<Generation>, Fault> {
    let directory = IndexDirectory::of(data);
    if !directory.exists() {
        return Ok(None);
    }
    damage::guarded(&directory.path, || copy(&directory, into))
}

fn copy(directory: &IndexDirectory, into: &Path) -> Result<Option<Generation>, Fault> {
    for _ in 0..ATTEMPTS_MAX {
        if into.exists() {
            std::fs::remove_dir_all(into).map_err(|error| refused(into, &error))?;
        }
        if let Some(generation) = attempt(directory, into)? {
            return Ok(Some(generation));
        }
    }
    let sentence =
        format!("{} is committed to faster than it can be copied; try again", directory.path.display());
    Err(Fault::passing("index_busy", sentence))
}

/// None when another commit came in between.
fn attempt(directory: &IndexDirectory, into: &Path) -> Result<Option<Generation>, Fault> {
    directory.refuse_odd()?;
    directory::make_private(into).map_err(|error| refused(into, &error))?;
    let meta =
        std::fs::read(directory.path.join(LISTS[0])).map_err(|error| refused(&directory.path, &error))?;
    let (index, commit_metadata) = directory.open_to_look()?;
    let metas = index.load_metas().map_err(|error| damage::fault(error, &directory.path))?;
    let ids: HashSet<String> = metas.segments.iter().map(|segment| segment.id().uuid_string()).collect();
    for entry in std::fs::read_dir(&directory.path).map_err(|error| refused(&directory.path, &error))? {
        let name = entry.map_err(|error| refused(&directory.path, &error))?.file_name();
        let is_of_commit = name.to_string_lossy().split('.').next().is_some_and(|id| ids.contains(id));
        if !is_of_commit {
            continue;
        }
        match link_or_copy(&directory.path.join(&name), &into.join(&name)) {
            // It went with a later commit, which is noticed below.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            linked => linked.map_err(|error| refused(&directory.path.join(&name), &error))?,
        }
    }
    let managed =
        std::fs::read(directory.path.join(LISTS[1])).map_err(|error| refused(&directory.path, &error))?;
    // Files of a commit go only after the next one is named: while it is not, all of them were there to be linked.
    if std::fs::read(directory.path.join(LISTS[0])).ok().as_ref() != Some(&meta) {
        return Ok(None);
    }
    for (name, bytes) in LISTS.into_iter().zip([meta, managed]) {
        std::fs::write(into.join(name), bytes).map_err(|error| refused(into, &error))?;
    }
    Ok(Some(commit_metadata.generation()))
}

/// A second name for a file where that is possible: not from another disk, and not of somebody else's file.
fn link_or_copy(file: &Path, to: &Path) -> std::io::Result<()> {
    match std::fs::hard_link(file, to) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => std::fs::copy(file, to).map(|_| ()),
        linked => linked,
    }
}

fn refused(path: &Path, error: &std::io::Error) -> Fault {
    let advice = match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            "make room there, or name another place"
        }
        _ => "check that this user may read and write there, then try again",
    };
    Fault::refused("index_directory", format!("cannot copy {}: {error}; {advice}", path.display()))
}
