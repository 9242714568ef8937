//! How often an output in memory was asked for what.

/// Calls that were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// Entries put.
    pub put: u64,
    /// Access changes.
    pub access: u64,
    /// Deletions.
    pub delete: u64,
}
