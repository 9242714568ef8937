//! The folder or file that a `sync` names: its own path.

use std::path::{Path, PathBuf};

use crate::exit::{Failure, Result};

/// The source's own path: links in it are resolved, so that one folder has one name.
pub(in crate::commands) fn canonical(source: &Path) -> Result<PathBuf> {
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
