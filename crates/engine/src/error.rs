//! Errors that end a run or a command.

use ingather_model::fault::Fault;
use ingather_store::StoreError;

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
    /// There is no job of that name.
    NoSuchJob,
    /// The definition of a job cannot work.
    Definition,
    /// The source cannot be looked at.
    Source,
    /// The job is being deleted.
    Deleting,
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
}

impl EngineError {
    /// A refusal with its sentence.
    pub fn refused(refusal: Refusal, message: impl Into<String>) -> EngineError {
        EngineError::Refused { refusal, message: message.into() }
    }
}

/// Short form.
pub type Result<T> = std::result::Result<T, EngineError>;
