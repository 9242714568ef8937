//! table: why an operation was not done. Exit codes of the command line and statuses over HTTP stand here and nowhere else.

use std::path::Path;

use ingather_engine::{EngineError, Refusal};
use ingather_model::fault::Fault;
use ingather_store::StoreError;

use crate::in_words;

/// Exit code of what is wrongly asked (design 5.1).
pub const USAGE: u8 = 2;
/// Exit code of what cannot be done as things are: store, lock, version.
pub const UNABLE: u8 = 3;

/// A kind of problem, as callers are told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The kind.
    pub code: Code,
    /// Its stable word.
    pub word: &'static str,
    /// Status over HTTP.
    pub status: u16,
    /// Exit code of the command line.
    pub exit: u8,
    /// What it means, in a sentence.
    pub says: &'static str,
    /// What to do next.
    pub next: &'static str,
}

macro_rules! problems {
    ($($code:ident = $word:literal, $status:literal, $exit:ident, $says:literal, $next:literal;)+) => {
        /// Kinds of problems.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $(#[doc = $says] $code,)+
        }

        /// Every kind, in the order of [`Code`].
        pub const ROWS: &[Row] = &[$(Row {
            code: Code::$code, word: $word, status: $status, exit: $exit, says: $says, next: $next,
        },)+];
    };
}

problems! {
    WrongUse = "wrong_use", 400, USAGE, "What was asked for cannot be meant.", "Correct the request; the sentence says how.";
    Settings = "settings", 400, USAGE, "A setting is unknown or out of its bounds.", "Correct the setting that the sentence names.";
    Query = "query", 400, USAGE, "The query cannot be read.", "Correct it; `docs/manual/search.md` has the language.";
    Differs = "differs", 409, USAGE, "The job is stored with other settings.", "Say that it is to be changed, or leave out what differs.";
    WholeMachine = "whole_machine", 400, USAGE, "The source is everything on this machine.", "Name the folders that are wanted, or say that it is meant.";
    Forbidden = "forbidden", 403, USAGE, "Whoever asks has not the role for it.", "Ask an administrator.";
    NoSuchJob = "no_such_job", 404, USAGE, "There is no job of that name.", "Take a name of `ingather job list`.";
    NoSuchDocument = "no_such_document", 404, USAGE, "There is no document, or nothing in it, of that name.", "Take a name of `ingather document list`.";
    NoSuchOutput = "no_such_output", 404, USAGE, "There is no output of that name.", "Take one that the sentence names.";
    NoSuchConnector = "no_such_connector", 404, USAGE, "This program has no connector or transform of that name.", "Take one that `ingather pipeline stages` or the manual names.";
    NoSuchUser = "no_such_user", 404, USAGE, "Nobody of that name may enter.", "Check the name.";
    Definition = "definition", 400, USAGE, "The definition of a job cannot work.", "Correct what the sentence names.";
    Source = "source", 422, USAGE, "The source cannot be looked at.", "Mount it, or check its path and rights.";
    Deleting = "deleting", 409, USAGE, "The job is being deleted.", "Let `ingather job delete` come to its end.";
    NothingHeld = "nothing_held", 412, USAGE, "The run is not the last one, or holds nothing.", "Look at `ingather job held` again.";
    ReadOnly = "read_only", 409, USAGE, "The inventory is open for reading only.", "Ask a process that may write.";
    Stopped = "stopped", 409, USAGE, "A person or a signal stopped it.", "Ask again; it goes on.";
    NothingYet = "nothing_yet", 404, UNABLE, "There is no inventory yet.", "Begin with `ingather sync FOLDER`.";
    Held = "held", 423, UNABLE, "Somebody else writes.", "Wait for it.";
    Unable = "unable", 500, UNABLE, "It cannot be done as things are.", "Do what the sentence says, then ask again.";
    Resources = "resources", 503, UNABLE, "The machine has no room, memory or threads left for it.", "Make room, then ask again.";
    Busy = "busy", 503, UNABLE, "A bound of the program is met.", "Ask again when a run has ended.";
    Output = "output", 502, UNABLE, "An output cannot be opened or committed.", "Do what the sentence says about it.";
    Connector = "connector", 502, UNABLE, "A connector cannot answer.", "Do what the sentence says about it.";
    Store = "store", 500, UNABLE, "The inventory cannot be read or written.", "Do what the sentence says, then ask again.";
    StoreAway = "store_away", 503, UNABLE, "The server of the inventory went away.", "Start it, then ask again.";
    StoreFull = "store_full", 507, UNABLE, "There is no room for the inventory.", "Make room on its disk, then ask again.";
    StoreDamaged = "store_damaged", 500, UNABLE, "The inventory is not as it was written.", "Restore a backup.";
    StoreVersion = "store_version", 500, UNABLE, "Another version of the program wrote the inventory.", "Use that version, or run `ingather sync` once.";
    TakenOver = "taken_over", 409, UNABLE, "Another process has taken over the inventory.", "Ask that one.";
}

/// What any operation may meet, whatever it does.
pub const ALWAYS: &[Code] = &[
    Code::WrongUse,
    Code::Forbidden,
    Code::NothingYet,
    Code::Held,
    Code::Unable,
    Code::Resources,
    Code::Busy,
    Code::Store,
    Code::StoreAway,
    Code::StoreFull,
    Code::StoreDamaged,
    Code::StoreVersion,
    Code::TakenOver,
    Code::Stopped,
];

impl Code {
    /// What the table says of it.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }
}

/// Why one operation was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its kind: callers go by it, never by the sentence.
    pub code: Code,
    message: String,
}

/// Short form.
pub type Result<T> = std::result::Result<T, Problem>;

impl Problem {
    /// A problem with its sentence: what is wrong, then what to do next.
    pub fn new(code: Code, message: impl Into<String>) -> Problem {
        Problem { code, message: message.into() }
    }

    /// Wrong use: the sentence says what to do instead.
    pub fn usage(message: impl Into<String>) -> Problem {
        Problem::new(Code::WrongUse, message)
    }

    /// A person or a signal ended it amid something.
    pub fn stopped() -> Problem {
        StoreError::Stopped.into()
    }

    /// It cannot be done as things are.
    pub fn unable(message: impl Into<String>) -> Problem {
        Problem::new(Code::Unable, message)
    }

    /// A file or folder cannot be read or written.
    pub fn of_path(path: &Path, error: &std::io::Error) -> Problem {
        Problem::unable(format!(
            "{}: {}; {}",
            path.display(),
            in_words::error(error),
            in_words::advice(error)
        ))
    }

    /// Exit code of a command that met it.
    pub fn exit(&self) -> u8 {
        self.code.row().exit
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Problem {
        let code = match &error {
            StoreError::Database { .. }
            | StoreError::Conflict(_)
            | StoreError::ReadOnly(_)
            | StoreError::Refused(_) => Code::Store,
            StoreError::Full(_) => Code::StoreFull,
            StoreError::Handles(_) => Code::Resources,
            StoreError::Damaged(_) | StoreError::Checksum(_) => Code::StoreDamaged,
            StoreError::Away(_) => Code::StoreAway,
            StoreError::Newer { .. } | StoreError::Older => Code::StoreVersion,
            StoreError::Held(_) => Code::Held,
            StoreError::Fenced => Code::TakenOver,
            StoreError::Stopped => Code::Stopped,
        };
        Problem::new(code, error.to_string())
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Problem {
        let message = error.to_string();
        let code = match error {
            EngineError::Store(error) => return error.into(),
            EngineError::Output { .. } => Code::Output,
            EngineError::Refused { refusal, .. } => match refusal {
                Refusal::NoSuchConnector => Code::NoSuchConnector,
                Refusal::NoSuchOutput => Code::NoSuchOutput,
                Refusal::NoSuchDocument => Code::NoSuchDocument,
                Refusal::NoSuchJob => Code::NoSuchJob,
                Refusal::Definition => Code::Definition,
                Refusal::Source => Code::Source,
                Refusal::Deleting => Code::Deleting,
                Refusal::NothingHeld => Code::NothingHeld,
                Refusal::ReadOnly => Code::ReadOnly,
                Refusal::Stopped => Code::Stopped,
                Refusal::Resources => Code::Resources,
                Refusal::Busy => Code::Busy,
            },
        };
        Problem::new(code, message)
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Problem {
        let code = match &fault {
            Fault::Refused(reason) if reason.code == "query" => Code::Query,
            Fault::Refused(reason) if reason.code == "settings" => Code::Settings,
            _ => Code::Connector,
        };
        Problem::new(code, fault.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_lacks_is_no_wrong_use() {
        let exit = |refusal| Problem::from(EngineError::refused(refusal, "why")).exit();
        assert_eq!([Refusal::Resources, Refusal::Busy].map(exit), [UNABLE; 2]);
        assert_eq!([Refusal::NoSuchOutput, Refusal::Deleting, Refusal::ReadOnly].map(exit), [USAGE; 3]);
        assert_eq!(Problem::from(StoreError::Fenced).exit(), UNABLE);
        assert_eq!(Problem::from(Fault::refused("query", "why")).exit(), USAGE);
        assert_eq!(Problem::from(Fault::broken("disk", "why")).exit(), UNABLE);
    }

    #[test]
    fn a_problem_of_the_caller_has_a_status_that_blames_the_caller() {
        for (place, row) in ROWS.iter().enumerate() {
            assert_eq!(row.code.row(), row, "{place}");
            assert!(row.exit == UNABLE || (400..500).contains(&row.status), "{row:?}");
            let twice = ROWS.iter().filter(|other| other.word == row.word).count();
            assert!(twice == 1 && row.says.ends_with('.') && row.next.ends_with('.'), "{row:?}");
        }
    }
}
