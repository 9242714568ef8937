//! Exit codes and the one sentence that goes with each failure (design 5.1).

use ingather_engine::{EngineError, Refusal};
use ingather_model::fault::Fault;
use ingather_store::StoreError;

use crate::interrupt;

/// Done.
pub(crate) const DONE: u8 = 0;
/// Finished, but documents failed or wait, scopes could not be read, or removals are held.
pub(crate) const TROUBLED: u8 = 1;
/// Wrong use.
pub(crate) const USAGE: u8 = 2;
/// Could not work: store, lock, version.
pub(crate) const UNABLE: u8 = 3;
/// Stopped cleanly by a signal: this and its number, such as 130 for Ctrl-C.
pub(crate) const SIGNALLED: u8 = 128;

/// A failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Its exit code.
    pub(crate) code: u8,
    message: String,
}

/// Short form.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// Wrong use: the sentence says what to do instead.
    pub(crate) fn usage(message: impl Into<String>) -> Failure {
        Failure { code: USAGE, message: message.into() }
    }

    /// A signal ended it amid something.
    pub(crate) fn stopped() -> Failure {
        Failure { code: interrupt::code(), message: StoreError::Stopped.to_string() }
    }

    /// The program cannot work as things are.
    pub(crate) fn unable(message: impl Into<String>) -> Failure {
        Failure { code: UNABLE, message: message.into() }
    }
}

/// An error of the system about a path that somebody named, in words and without its number.
pub(crate) fn in_words(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "it does not exist".to_owned(),
        std::io::ErrorKind::NotADirectory => "a file is where a folder should be".to_owned(),
        std::io::ErrorKind::InvalidData => "it is no text in UTF-8".to_owned(),
        _ => {
            let said = error.to_string();
            said.split(" (os error ").next().unwrap_or_default().to_owned()
        }
    }
}

/// What to do about an error of the system, for the end of a sentence that names file and error.
pub(crate) fn advice(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind;
    if ingather_store::lacks_handles(error) {
        return "raise the limit of open files, such as by `ulimit -n 4096`, then run the same command again";
    }
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room there, or name another place",
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            "make it accessible to this user, or name another place"
        }
        ErrorKind::BrokenPipe => "whoever read it has ended; run the same command again",
        ErrorKind::NotFound | ErrorKind::NotADirectory => "check the path",
        _ => "check the disk, then run the same command again",
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        match error {
            StoreError::Stopped => Failure::stopped(),
            error => Failure::unable(error.to_string()),
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        match &error {
            EngineError::Store(StoreError::Stopped) => Failure::stopped(),
            EngineError::Refused { refusal: Refusal::Resources | Refusal::Busy, .. }
            | EngineError::Store(_)
            | EngineError::Output { .. } => Failure::unable(error.to_string()),
            EngineError::Refused { .. } => Failure::usage(error.to_string()),
        }
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        match &fault {
            Fault::Refused(reason) if reason.code == "query" || reason.code == "settings" => {
                Failure::usage(fault.to_string())
            }
            _ => Failure::unable(fault.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_lacks_is_no_wrong_use() {
        let code = |refusal| Failure::from(EngineError::refused(refusal, "why")).code;
        assert_eq!([Refusal::Resources, Refusal::Busy].map(code), [UNABLE; 2]);
        assert_eq!([Refusal::NoSuchOutput, Refusal::Deleting, Refusal::ReadOnly].map(code), [USAGE; 3]);
    }
}
