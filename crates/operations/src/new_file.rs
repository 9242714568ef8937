//! New files and folders for their owner alone: a file is written as a whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::problem::{Problem, Result};

/// Makes a file with what `write` writes, for its owner alone, and only if all of it is written. On disk when this returns.
/// `unfinished` is told which file is to go when the program is ended before that.
///
/// # Errors
/// What hindered it; nothing is left then.
pub fn whole<T>(
    file: &Path,
    unfinished: &dyn Fn(&Path),
    write: impl FnOnce(&mut dyn Write) -> Result<T>,
) -> Result<T> {
    let mut part = file.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    unfinished(&part);
    let named = write_whole(file, &part, write).and_then(|written| {
        // Never over a file that came into being meanwhile.
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        rustix::fs::renameat_with(rustix::fs::CWD, &part, rustix::fs::CWD, file, flags)
            .map_err(|errno| Problem::of_path(file, &errno.into()))?;
        sync_folder(file.parent().unwrap_or(Path::new("/")))?;
        Ok(written)
    });
    if named.is_err() {
        // What is half written is of no use; that it cannot be removed adds nothing to what went wrong.
        let _ = std::fs::remove_file(&part);
    }
    named
}

fn write_whole<T>(place: &Path, part: &Path, write: impl FnOnce(&mut dyn Write) -> Result<T>) -> Result<T> {
    let failed = |error: std::io::Error| Problem::of_path(place, &error);
    let file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(part).map_err(failed)?;
    let mut out = BufWriter::new(file);
    let written = write(&mut out)?;
    out.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
    Ok(written)
}

/// Waits until the names in a folder are on the disk.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| Problem::of_path(folder, &error))
}

/// Makes a folder for its owner alone, with those above it.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| Problem::of_path(path, &error))
}
