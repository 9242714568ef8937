//! What goes wrong in the library of the index, as people are told it: damage, a disk, a lock; never its own panic.

use std::cell::Cell;
use std::error::Error;
use std::path::Path;

use ingather_model::fault::Fault;
use ingather_model::lifecycle::outcome::FaultCode;
use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError, OpenWriteError};

/// Code of faults of an index whose files are not as they were written.
pub(crate) const DAMAGED: &str = FaultCode::IndexDamaged.as_str();

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// What the system answers when something that is no file is to be mapped (ENODEV).
const NO_FILE: i32 = 19;

/// What it answers when this process, or the machine, has as many files open as it may (EMFILE, ENFILE).
const TOO_MANY_OPEN: [i32; 2] = [24, 23];

/// Threads of the library, by how their names begin.
const THREADS: [&str; 3] = ["thrd-tantivy", "merge_thread", "segment_updater"];

/// Whether a panic of this thread is one that the index catches or waits for, and answers with a sentence of its own.
pub fn catches_panics_here() -> bool {
    let thread = std::thread::current();
    INSIDE.get() || thread.name().is_some_and(|name| THREADS.iter().any(|own| name.starts_with(own)))
}

/// Calls the library: it takes what it reads for what it once wrote, and panics where damaged files say otherwise.
///
/// # Errors
/// Those of `work`; `Broken` when the library panicked.
pub(crate) fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    let outer = INSIDE.replace(true);
    // What the library leaves half done in memory is not used again: whoever meets this fault lets go of it.
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    INSIDE.set(outer);
    done.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().copied();
        let said = said.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(damaged(path, said.unwrap_or("it cannot be read")))
    })
}

/// The sentence for damage.
pub(crate) fn damaged(path: &Path, why: &str) -> Fault {
    // What follows the first sentence is of use to nobody but the library's authors.
    let why = why.lines().next().unwrap_or(why).split(". ").next().unwrap_or(why).trim();
    Fault::broken(
        DAMAGED,
        format!(
            "the search index is damaged: {} ({why}); `ingather verify index --repair` makes it anew and sends everything \
             again",
            path.display()
        ),
    )
}

/// What an error of the library means to a person.
pub(crate) fn fault(error: TantivyError, path: &Path) -> Fault {
    match error {
        TantivyError::LockFailure(LockError::IoError(error), _) => Fault::refused(
            "index_directory",
            format!("cannot lock the search index {}: {error}; make its folder writable", path.display()),
        ),
        TantivyError::LockFailure(..) => Fault::refused(
            "index_locked",
            format!(
                "another process writes to the search index {}; wait until it ends, or stop it",
                path.display()
            ),
        ),
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })
        | TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. })
        | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { io_error, .. })
        | TantivyError::IoError(io_error) => of_disk(&io_error, path),
        TantivyError::DataCorruption(_)
        | TantivyError::IncompatibleIndex(_)
        | TantivyError::DeserializeError(_)
        | TantivyError::SchemaError(_)
        | TantivyError::FieldNotFound(_)
        | TantivyError::InternalError(_)
        | TantivyError::OpenReadError(_) => {
            // What follows the first sentence is the content that could not be read.
            let told = error.to_string();
            damaged(path, told.trim_start_matches("Data corrupted: '"))
        }
        TantivyError::OpenDirectoryError(_) => {
            Fault::refused("index_directory", format!("cannot open {}: it is no folder", path.display()))
        }
        TantivyError::ErrorInThread(_) | TantivyError::Poisoned => Fault::passing(
            "index_failed",
            format!(
                "the search index {} could not be written; check that its disk has room and takes writes, then run the same \
                 command again",
                path.display()
            ),
        ),
        other => Fault::passing("index_failed", format!("the search index {}: {other}", path.display())),
    }
}

/// The number that the system gave an error, also where a library says more about it.
fn os_code(error: &std::io::Error) -> Option<i32> {
    let mut below: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(this) = below {
        if let Some(code) = this.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error) {
            return Some(code);
        }
        // An error that holds another one names what that one was caused by, and not that one itself.
        let inner = this.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        below = inner.map(|inner| inner as &(dyn Error + 'static)).or_else(|| this.source());
    }
    None
}

/// An error that the system gave is the disk's; one that only the library gave says that a content is not what it was.
fn of_disk(error: &std::io::Error, path: &Path) -> Fault {
    let code = os_code(error);
    let is_no_file = error.kind() == std::io::ErrorKind::IsADirectory || code == Some(NO_FILE);
    let Some(code) = code.filter(|_| !is_no_file) else { return damaged(path, &error.to_string()) };
    let advice = match error.kind() {
        _ if TOO_MANY_OPEN.contains(&code) => {
            "raise the limit of open files, such as by `ulimit -n 4096`, then run the same command again"
        }
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            "make room on its disk, then run the same command again"
        }
        std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied => {
            "make the folder readable and writable, or name another data directory with --data"
        }
        _ => "check its disk, then run the same command again",
    };
    let sentence = format!("the search index {} cannot be used: {error}; {advice}", path.display());
    match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            Fault::refused("index_directory", sentence)
        }
        _ => Fault::passing("index_failed", sentence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An error of the system as libraries wrap it that make files.
    #[derive(Debug)]
    struct Wrapped(std::io::Error);

    impl std::fmt::Display for Wrapped {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{} at path /d/.tmp", self.0)
        }
    }

    impl Error for Wrapped {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn a_panic_becomes_a_sentence_and_only_inside() {
        let caught = guarded::<()>(Path::new("/d/index"), || {
            assert!(catches_panics_here());
            std::panic::resume_unwind(Box::new("mid > len"))
        });
        let reason = caught.err().unwrap().reason();
        assert_eq!(reason.code, DAMAGED);
        assert!(
            reason.message.starts_with("the search index is damaged: /d/index (mid > len); "),
            "{reason:?}"
        );
        assert!(!catches_panics_here());
    }

    #[test]
    fn the_disk_is_not_taken_for_damage() {
        let full = TantivyError::IoError(std::sync::Arc::new(std::io::Error::from_raw_os_error(28)));
        assert!(fault(full, Path::new("x")).reason().message.contains("make room"));
        for (number, words) in [(28, "make room"), (24, "ulimit -n 4096"), (23, "ulimit -n 4096")] {
            let system = std::io::Error::from_raw_os_error(number);
            let wrapped = std::io::Error::new(system.kind(), Wrapped(system));
            let reason = fault(TantivyError::IoError(std::sync::Arc::new(wrapped)), Path::new("x")).reason();
            assert!(reason.code != DAMAGED && reason.message.contains(words), "{reason:?}");
        }
        let torn = TantivyError::IoError(std::sync::Arc::new(std::io::Error::other("offset to copy")));
        assert_eq!(fault(torn, Path::new("x")).reason().code, DAMAGED);
    }
}
