//! Documents: the inventory of a job, and why one document stands as it does.

mod erased;
mod erasure;
mod explanation;
pub(crate) mod list;
pub(crate) mod lookup;
pub mod push;

pub use erased::{ERASED, ErasedDocument, ErasedList, ListErased, READMIT, ReadmitDocument, Readmitted};
pub use erasure::{ERASE, EraseDocument, ErasedFromJob, Erasure, LeftInOutput, go_on as go_on_erasing};
pub use explanation::{
    EXPLAIN, ExplainDocument, Explained, ExplainedFailure, ExplainedKnown, ExplainedOutput,
    ExplainedReferrer, ExplainedReferrers,
};
pub use list::{Document, DocumentPage, DocumentState, LIST, ListDocuments};
