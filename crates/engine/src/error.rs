//! Errors that end a run or a command.

use ingather_model::fault::Fault;
use ingather_model::lifecycle::outcome::FaultCode;
use ingather_store::{StoreCode, StoreError};

/// What stopped the work. Exit codes of the command line go by its kind, and not by its sentence.
#[derive(Clone, Debug, thiserror::Error)]
pub enum EngineError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An output cannot be opened or committed.
    #[error("output {name}: {fault}")]
    Output {
        /// Its name.
        name: String,
        /// Why.
        fault: Fault,
    },
    /// What was asked for cannot be done as things are.
    #[error("{message}")]
    Refused {
        /// Why.
        refusal: Refusal,
        /// Sentence for a person, with what to do next.
        message: String,
    },
}

/// Why something that was asked for is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// This program has no connector or transform of that name.
    NoSuchConnector,
    /// There is no output of that name, or the name lacks what its kind needs.
    NoSuchOutput,
    /// There is no document, or nothing in it, of that name.
    NoSuchDocument,
    /// What was given for a document is no name of one.
    Key,
    /// There is no job of that name.
    NoSuchJob,
    /// The definition of a job cannot work.
    Definition,
    /// The source cannot be looked at.
    Source,
    /// The job is being deleted.
    Deleting,
    /// A person paused the job.
    Paused,
    /// The run is not the last one, or holds nothing.
    NothingHeld,
    /// The store is open for reading only.
    ReadOnly,
    /// A person stopped it.
    Stopped,
    /// The machine has no room, memory or threads left for it.
    Resources,
    /// A bound of the program is met; it goes by when a run ends.
    Busy,
    /// The job is being worked on.
    Running,
    /// Another delta run of the source is open.
    Locked,
    /// The delta run is not open any more.
    NotOpen,
    /// What was given does not prove that a call belongs to a delta run.
    WrongToken,
    /// There is no such channel.
    NoSuchChannel,
    /// The channel takes nothing any more.
    Ended,
    /// The channel takes nothing more for a time.
    Throttled,
    /// The sink of a channel does not take its first report.
    Sink,
    /// The sink of a channel was not told of what was pushed: nothing of it is taken.
    NotReported,
}

impl Refusal {
    /// Every refusal.
    pub const ALL: &'static [Refusal] = &[
        Refusal::NoSuchConnector,
        Refusal::NoSuchOutput,
        Refusal::NoSuchDocument,
        Refusal::Key,
        Refusal::NoSuchJob,
        Refusal::Definition,
        Refusal::Source,
        Refusal::Deleting,
        Refusal::Paused,
        Refusal::NothingHeld,
        Refusal::ReadOnly,
        Refusal::Stopped,
        Refusal::Resources,
        Refusal::Busy,
        Refusal::Running,
        Refusal::Locked,
        Refusal::NotOpen,
        Refusal::WrongToken,
        Refusal::NoSuchChannel,
        Refusal::Ended,
        Refusal::Throttled,
        Refusal::Sink,
        Refusal::NotReported,
    ];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Refusal::NoSuchConnector => "no_such_connector",
            Refusal::NoSuchOutput => "no_such_output",
            Refusal::NoSuchDocument => "no_such_document",
            Refusal::Key => "key",
            Refusal::NoSuchJob => "no_such_job",
            Refusal::Definition => "definition",
            Refusal::Source => "source",
            Refusal::Deleting => "deleting",
            Refusal::Paused => "paused",
            Refusal::NothingHeld => "nothing_held",
            Refusal::ReadOnly => "read_only",
            Refusal::Stopped => "stopped",
            Refusal::Resources => "resources",
            Refusal::Busy => "busy",
            Refusal::Running => "running",
            Refusal::Locked => "source_locked",
            Refusal::NotOpen => "run_expired",
            Refusal::WrongToken => "bad_token",
            Refusal::NoSuchChannel => "no_such_channel",
            Refusal::Ended => "shutdown",
            Refusal::Throttled => "throttled",
            Refusal::Sink => "sink_failed",
            Refusal::NotReported => "report_failed",
        }
    }
}

/// Stable code of an [`EngineError`]: callers go by it, never by a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineCode {
    /// Of the store.
    Store(StoreCode),
    /// Of an output; with the code of its fault, where callers go by that.
    Output(Option<FaultCode>),
    /// Of what is refused.
    Refused(Refusal),
}

impl EngineError {
    /// Its code.
    pub fn code(&self) -> EngineCode {
        match self {
            EngineError::Store(error) => EngineCode::Store(error.code()),
            EngineError::Output { fault, .. } => EngineCode::Output(fault.code()),
            EngineError::Refused { refusal, .. } => EngineCode::Refused(*refusal),
        }
    }

    /// A refusal with its sentence.
    pub fn refused(refusal: Refusal, message: impl Into<String>) -> EngineError {
        EngineError::Refused { refusal, message: message.into() }
    }
}

/// Short form.
pub type Result<T> = std::result::Result<T, EngineError>;
