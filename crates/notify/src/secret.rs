//! Files that decide what a service does, or that nobody else should know: read only where nobody else could have written, or read them.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use ingather_model::limits;

/// What others than the owner must not be able to do with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closed {
    /// Write to it: it says what this program runs.
    ToWriters = 0o022,
    /// Anything.
    ToAll = 0o077,
}

/// Reads a file that says what this program does: only its user or root may be able to write to it.
///
/// # Errors
/// A sentence that names the file, and what to do.
pub fn read_own(path: &Path) -> Result<String, String> {
    read(path, Closed::ToWriters)
}

/// Reads a secret without the white space around it: nobody else may be able to read it.
///
/// # Errors
/// As [`read_own`].
pub fn read_secret(path: &Path) -> Result<String, String> {
    let text = read(path, Closed::ToAll)?;
    match text.trim() {
        "" => Err(format!("{} is empty; write the secret into it", path.display())),
        secret => Ok(secret.to_owned()),
    }
}

fn read(path: &Path, closed: Closed) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{}: {error}; check the path", path.display());
    // Without waiting: a pipe that is named by mistake would hold up the start of the service for ever.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = file.map_err(failed)?;
    // Of the file that is open: another one may be in its place by now.
    let facts = file.metadata().map_err(failed)?;
    if !facts.is_file() {
        return Err(format!("{} is no file; name one", path.display()));
    }
    let own = rustix::process::geteuid().as_raw();
    if facts.uid() != own && facts.uid() != 0 {
        return Err(format!(
            "{} belongs to user {}; make it that of the service, or of root",
            path.display(),
            facts.uid()
        ));
    }
    if facts.mode() & closed as u32 != 0 {
        let (what, how) = match closed {
            Closed::ToWriters => ("write to", "go-w"),
            Closed::ToAll => ("read", "go="),
        };
        return Err(format!("others can {what} {}; close it with `chmod {how}`", path.display()));
    }
    let mut text = String::new();
    file.take(limits::NOTIFIERS_FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > limits::NOTIFIERS_FILE_BYTES_MAX {
        return Err(format!("{} has more than {} bytes", path.display(), limits::NOTIFIERS_FILE_BYTES_MAX));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_that_others_reach_is_refused_with_what_closes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, " word\n").unwrap();
        let with = |mode| {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            (read_own(&path), read_secret(&path))
        };
        let (own, secret) = with(0o600);
        assert_eq!((own.as_deref(), secret.as_deref()), (Ok(" word\n"), Ok("word")));
        let (own, secret) = with(0o644);
        assert!(own.is_ok() && secret.unwrap_err().contains("`chmod go=`"));
        assert!(with(0o620).0.unwrap_err().contains("`chmod go-w`"));
        std::fs::write(&path, "\n").unwrap();
        assert!(with(0o600).1.unwrap_err().contains("is empty"));
        assert!(read_own(&folder.path().join("none")).unwrap_err().contains("check the path"));
    }

    #[test]
    fn a_pipe_or_a_folder_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for path in [pipe.as_path(), folder.path()] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
            assert!(read_secret(path).unwrap_err().contains("is no file"), "{}", path.display());
            assert!(read_own(path).unwrap_err().contains("is no file"), "{}", path.display());
        }
    }
}
