//! Searches: what a filter costs, a mistyped word, and the passage of a long text.

pub(crate) mod queries;
pub(super) mod snippets;
pub(super) mod spelling;
