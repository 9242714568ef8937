//! Errors that end a run or a command.

use ingather_connector::model::fault::Fault;
use ingather_store::StoreError;

/// What stopped the work.
#[derive(Debug, thiserror::Error)]
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
    /// A source or a definition that cannot work.
    #[error("{0}")]
    Refused(String),
}

/// Short form.
pub type Result<T> = std::result::Result<T, EngineError>;
