//! Exit codes (design 5.1). What went wrong has its own in the table of problems.

pub(crate) use ingather_operations::in_words::{advice, error as in_words};
pub(crate) use ingather_operations::problem::{Code, Problem as Failure, Result};

/// Done.
pub(crate) const DONE: u8 = 0;
/// Finished, but documents failed or wait, scopes could not be read, or removals are held.
pub(crate) const HAS_FAILURES: u8 = 1;
/// Stopped cleanly by a signal: this and its number, such as 130 for Ctrl-C.
pub(crate) const SIGNALLED: u8 = 128;
