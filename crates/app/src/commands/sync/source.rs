//! The folder or file that a `sync` names: its own path, and whether it can be meant.

use std::path::{Path, PathBuf};

use ingather_model::names;

use crate::arguments::{Global, Sync};
use crate::data::DataDirectory;
use crate::exit::{Failure, Result};
use crate::show;

/// The source's own path: links in it are resolved, so that one folder has one name.
pub(super) fn canonical(source: &Path) -> Result<PathBuf> {
    let text = source.to_string_lossy();
    if text.contains("://") {
        return Err(Failure::usage(format!("{text}: this version reads folders and files; give a path")));
    }
    match std::fs::canonicalize(source) {
        Ok(path) => Ok(path),
        // A root that is missing now may be that of a job; its parent gives the name.
        Err(error) => {
            let absolute =
                std::path::absolute(source).map_err(|_| Failure::usage(format!("{text}: {error}")))?;
            let parent = absolute.parent().and_then(|parent| std::fs::canonicalize(parent).ok());
            Ok(match (parent, absolute.file_name()) {
                (Some(parent), Some(name)) => parent.join(name),
                _ => absolute,
            })
        }
    }
}

pub(super) fn refuse_inside(data: &DataDirectory, root: &Path) -> Result<()> {
    let data = std::fs::canonicalize(&data.path).unwrap_or_else(|_| data.path.clone());
    if root.starts_with(&data) {
        return Err(Failure::usage(format!(
            "{} lies inside the data directory {}, which is never a source; use another --data",
            root.display(),
            data.display()
        )));
    }
    Ok(())
}

pub(super) fn escaped(root: &Path) -> String {
    names::escape(std::os::unix::ffi::OsStrExt::as_bytes(root.as_os_str())).into_owned()
}

/// A new job for the whole machine is hardly ever meant: a person is asked, a script has to say so.
pub(super) fn refuse_machine(global: &Global, sync: &Sync, root: &Path) -> Result<()> {
    if root != Path::new("/") || sync.whole_machine {
        return Ok(());
    }
    let asked = !global.quiet && !global.json && show::is_person();
    if asked && show::ask("the source is /, everything on this machine; index all of it?") {
        return Ok(());
    }
    Err(Failure::usage(
        "the source is /, everything on this machine; name the folders that are wanted, or add --whole-machine",
    ))
}
