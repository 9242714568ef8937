//! Documents: the inventory of a job, and why one document stands as it does.

mod erasure;
mod explanation;
pub(crate) mod list;
pub(crate) mod lookup;

pub use erasure::{
    ERASE, ERASED, EraseDocument, ErasedDocument, ErasedFromJob, ErasedList, Erasure, LeftInOutput,
    ListErased, READMIT, ReadmitDocument, Readmitted, go_on as go_on_erasing,
};
pub use explanation::{
    EXPLAIN, ExplainDocument, Explained, ExplainedFailure, ExplainedKnown, ExplainedOutput,
};
pub use list::{Document, DocumentPage, DocumentState, LIST, ListDocuments};
