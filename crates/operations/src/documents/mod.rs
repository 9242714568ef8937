//! Documents: the inventory of a job, and why one document stands as it does.

mod explanation;
pub(crate) mod list;
pub(crate) mod lookup;

pub use explanation::{
    EXPLAIN, ExplainDocument, Explained, ExplainedFailure, ExplainedKnown, ExplainedOutput,
};
pub use list::{Document, DocumentPage, DocumentState, LIST, ListDocuments};
