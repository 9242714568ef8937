//! How a run looks at its source: what a person, a schedule or a service asks for.

use crate::lifecycle::words;

words! {
    /// How a run looks at its source.
    pub enum RunKind {
        /// Everything is listed; what is gone is removed.
        Full = "full",
        /// What is new or changed only; nothing is removed.
        Minimal = "minimal",
    }
}
