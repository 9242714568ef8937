//! By what a store is noticed that was put back: a file of the data directory, which the store does not hold.
//!
//! An output that cannot say which opening wrote to it (a file that is rotated begins empty) does not tell a store of an earlier day
//! from today's. So every opening leaves an empty file with a name of its own in the data directory, its number is in the store, and
//! the file of the opening before goes. A store that was put back alone names a file that is gone. So does a data directory that was
//! made anew; one that was put back as a whole has a file of that name, made at another time.

use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ingather_model::ids::{ConnectionId, Digest};

/// Folder in the data directory.
const FOLDER: &str = "openings";

/// The openings of one output.
pub(super) struct Witness {
    folder: PathBuf,
    /// What names of its files begin with.
    prefix: String,
}

impl Witness {
    pub(super) fn of(data: &Path, output: ConnectionId) -> Witness {
        Witness { folder: data.join(FOLDER), prefix: format!("{}-", output.0) }
    }

    /// Whether an opening of this number was the last one here, or has only begun to be; none when there was no opening.
    pub(super) fn knows(&self, number: i64) -> Result<Option<bool>> {
        let files = self.files()?;
        Ok((!files.is_empty()).then(|| files.iter().any(|(_, known)| *known == number)))
    }

    /// Leaves a file for an opening: the number of it, which no other one has.
    pub(super) fn begin(&self, random: i64) -> Result<i64> {
        match DirBuilder::new().mode(0o700).create(&self.folder) {
            // Its name has to outlive a power cut as the file does.
            Ok(()) => sync(self.folder.parent().unwrap_or(Path::new("/")))?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let name = format!("{}{random:016x}", self.prefix);
        let path = self.folder.join(&name);
        File::options().write(true).create_new(true).mode(0o600).open(&path)?.sync_all()?;
        sync(&self.folder)?;
        number(&path, &name)
    }

    /// The store knows of the opening: files of all other ones go.
    pub(super) fn end_others(&self, number: i64) -> Result<()> {
        let others = self.files()?.into_iter().filter(|(_, known)| *known != number);
        others.into_iter().try_for_each(|(path, _)| std::fs::remove_file(path))?;
        sync(&self.folder)
    }

    /// At most two, unless somebody else put more there.
    fn files(&self) -> Result<Vec<(PathBuf, i64)>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&self.prefix) {
                files.push((entry.path(), number(&entry.path(), &name)?));
            }
        }
        Ok(files)
    }
}

/// Whoever copies a file cannot choose when the copy was made; where a file system does not keep that, the name has to do.
fn number(path: &Path, name: &str) -> Result<i64> {
    let made = std::fs::symlink_metadata(path)?.created().ok();
    let made = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let digest = Digest::of(&[name.as_bytes(), &made.as_nanos().to_le_bytes()].concat());
    Ok((digest.0 & i64::MAX).max(1))
}

fn sync(folder: &Path) -> Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_is_known_until_the_next_one_is() {
        let data = tempfile::tempdir().unwrap();
        let witness = Witness::of(data.path(), ConnectionId(4));
        let other = Witness::of(data.path(), ConnectionId(40));
        let knows = |number| witness.knows(number).unwrap();
        assert_eq!(knows(0), None);
        let (first, kept) = (witness.begin(1).unwrap(), other.begin(1).unwrap());
        witness.end_others(first).unwrap();
        assert_eq!([0, first, kept].map(knows), [false, true, false].map(Some));
        let second = witness.begin(2).unwrap();
        assert_eq!([first, second].map(knows), [true; 2].map(Some), "the store may know either");
        witness.end_others(second).unwrap();
        assert_eq!([first, second].map(knows), [false, true].map(Some));
        assert_eq!(other.knows(kept).unwrap(), Some(true));
        // A data directory that was put back has a file of that name.
        let file = data.path().join(FOLDER).join(format!("4-{:016x}", 2));
        let made = || std::fs::metadata(&file).unwrap().created().ok();
        let before = made();
        while before.is_some() && made() == before {
            std::fs::remove_file(&file).unwrap();
            File::create(&file).unwrap();
        }
        assert_eq!(witness.knows(second).unwrap(), Some(before.is_none()));
    }
}
