//! Who sends changes to an output.

use crate::error::EngineError;

/// Who sends changes to an output: a run, or removals that a person has asked for.
pub(crate) trait OutputUser: Send + Sync {
    /// Whether nothing is being made that the output should wait for before it sends and commits.
    fn nothing_comes(&self) -> bool;

    /// Whether it does not wait for room any more.
    fn stops(&self) -> bool;

    /// The output takes nothing any more: what it was sent and has not answered is dropped after this.
    fn fail(&self, error: EngineError);
}
