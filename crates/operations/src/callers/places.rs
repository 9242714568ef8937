//! Where on this machine, and of the web, callers may name sources and files.

use std::path::{Component, Path, PathBuf};

use crate::connections::Sources;
use crate::problem::{Code, Problem, Result};

/// Where sources and files of outputs may lie that a caller names (design 4.16).
#[derive(Clone, Copy, Debug)]
pub enum Places<'a> {
    /// Anywhere: whoever runs the program could as well do it themselves.
    Any,
    /// In one of these folders: whoever asks from elsewhere should not read and write all that the program may.
    Below(&'a [PathBuf]),
}

impl Places<'_> {
    /// Refuses a path that lies nowhere of these.
    ///
    /// # Errors
    /// `Forbidden`, with the places that there are.
    pub(crate) fn refuse_elsewhere(self, path: &Path) -> Result<()> {
        let Places::Below(roots) = self else { return Ok(()) };
        // Of what is not there yet, such as a journal, the folder decides: it is followed to where it is now. A link that leads nowhere is
        // there: what it leads to may come.
        let found: std::io::Result<PathBuf> = std::fs::canonicalize(path).or_else(|error| {
            if path.symlink_metadata().is_ok() {
                return Err(error);
            }
            let parent = path.parent().unwrap_or(path);
            Ok(std::fs::canonicalize(parent)?.join(path.file_name().unwrap_or_default()))
        });
        let is_below = |path: &Path| roots.iter().any(|root| path.starts_with(root));
        match found {
            Ok(found) if is_below(&found) => return Ok(()),
            // Of what lies elsewhere nobody is told whether it is there.
            Err(error) if is_below(path) && !path.components().any(|part| part == Component::ParentDir) => {
                let problem = Problem::of_path(path, &error);
                return Err(match problem.code {
                    Code::Unable => Problem::usage(problem.to_string()),
                    _ => problem,
                });
            }
            _ => {}
        }
        let names: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
        let open = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Err(Problem::new(
            Code::OutsideRoots,
            format!(
                "{} is in no folder that this service opens to API keys (`ingather serve --root`: {open}); start it with --root for \
                 one, or ask over its socket as the owner of the data directory",
                path.display()
            ),
        ))
    }

    /// Refuses an address of the web that is below none of these.
    ///
    /// # Errors
    /// `OutsideRoots`.
    pub(crate) fn refuse_address(self, address: &str) -> Result<()> {
        let Places::Below(roots) = self else { return Ok(()) };
        if Sources::of_root(address).are_pushed() {
            // Nothing is read there.
            return Ok(());
        }
        let is_below = |root: &PathBuf| {
            let root = root.to_string_lossy();
            let below = address.strip_prefix(root.as_ref());
            root.contains("://")
                && below
                    .is_some_and(|below| root.ends_with('/') || below.is_empty() || below.starts_with('/'))
        };
        match roots.iter().any(is_below) {
            true => Ok(()),
            false => Err(Problem::new(
                Code::OutsideRoots,
                format!(
                    "{address} is below no address that this service opens to API keys; start it with `ingather serve --root {address}`, or ask \
                     over its socket as the owner of the data directory"
                ),
            )),
        }
    }
}
