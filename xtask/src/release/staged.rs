//! The files of a release: which there are, with what rights, and how they come into a folder that is packed.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What everybody may run, and what everybody may read.
pub(super) const RUN: u32 = 0o755;
pub(super) const READ: u32 = 0o644;

/// Files that are handed out, by their path in the repository; of a folder, all that is in it.
const HANDED_OUT: &[&str] = &[
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "docs/manual",
    "docs/generated",
    "packaging/Containerfile",
    "packaging/ingather.service",
    "packaging/ingather.sysusers",
];
/// Where the program and what is said of its libraries are in a release.
pub(super) const PROGRAM: &str = "ingather";
pub(super) const LIBRARIES: &str = "LIBRARIES.txt";

/// A file of a release.
#[derive(Clone, Debug)]
pub(super) struct Staged {
    /// Path in the release.
    pub(super) path: String,
    pub(super) mode: u32,
    pub(super) content: Content,
}

/// Where the content of a file comes from.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Copy(PathBuf),
    Text(String),
}

impl Staged {
    /// The same file under another path.
    pub(super) fn at(&self, path: impl Into<String>) -> Staged {
        Staged { path: path.into(), ..self.clone() }
    }

    /// The same file in a folder.
    pub(super) fn below(&self, folder: &str) -> Staged {
        self.at(format!("{folder}/{}", self.path))
    }
}

/// All files of a release, with their paths in the tarball.
pub(super) fn collect(root: &Path, binary: &Path, libraries: &str) -> Result<Vec<Staged>, String> {
    let mut files = vec![
        Staged { path: PROGRAM.to_owned(), mode: RUN, content: Content::Copy(binary.to_owned()) },
        Staged { path: LIBRARIES.to_owned(), mode: READ, content: Content::Text(libraries.to_owned()) },
    ];
    for path in HANDED_OUT {
        add(root, path, &mut files)?;
    }
    Ok(files)
}

fn add(root: &Path, path: &str, files: &mut Vec<Staged>) -> Result<(), String> {
    let here = root.join(path);
    let failed = |error| format!("{path} belongs to a release: {error}");
    if !std::fs::metadata(&here).map_err(failed)?.is_dir() {
        files.push(Staged { path: path.to_owned(), mode: READ, content: Content::Copy(here) });
        return Ok(());
    }
    let entries = std::fs::read_dir(&here).map_err(failed)?;
    let mut names = entries
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    names.sort();
    names.iter().try_for_each(|name| add(root, &format!("{path}/{name}"), files))
}

/// Writes files into a folder that is new, with rights and times that do not depend on who does it and when.
pub(super) fn write(folder: &Path, files: impl Iterator<Item = Staged>, time: u64) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir(folder).map_err(|error| failed(folder, error))?;
    for file in files {
        let path = folder.join(&file.path);
        let above = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(above).map_err(|error| failed(above, error))?;
        match &file.content {
            Content::Copy(from) => std::fs::copy(from, &path).map(drop).map_err(|error| failed(from, error)),
            Content::Text(text) => std::fs::write(&path, text).map_err(|error| failed(&path, error)),
        }?;
        std::fs::set_permissions(&path, PermissionsExt::from_mode(file.mode))
            .map_err(|error| failed(&path, error))?;
    }
    date(folder, SystemTime::UNIX_EPOCH + Duration::from_secs(time)).map_err(|error| failed(folder, error))
}

/// Dates what is in a folder, and then the folder, which each new entry dates anew.
fn date(path: &Path, time: SystemTime) -> std::io::Result<()> {
    if path.is_dir() {
        std::fs::set_permissions(path, PermissionsExt::from_mode(RUN))?;
        for entry in std::fs::read_dir(path)? {
            date(&entry?.path(), time)?;
        }
    }
    File::open(path)?.set_modified(time)
}
