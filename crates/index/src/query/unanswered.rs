//! Why a query has no answer: it is refused, or the index cannot be read.

use std::path::Path;

use ingather_model::fault::Fault;

use crate::damage;

/// Why there is no answer.
pub(crate) enum Unanswered {
    /// The query is refused.
    Refused(Fault),
    /// The index cannot be read.
    Library(tantivy::TantivyError),
}

impl Unanswered {
    /// As a fault of the index at that path.
    pub(crate) fn fault(self, path: &Path) -> Fault {
        match self {
            Unanswered::Refused(fault) => fault,
            Unanswered::Library(error) => damage::fault(error, path),
        }
    }
}

impl From<Fault> for Unanswered {
    fn from(fault: Fault) -> Unanswered {
        Unanswered::Refused(fault)
    }
}

impl From<tantivy::TantivyError> for Unanswered {
    fn from(error: tantivy::TantivyError) -> Unanswered {
        Unanswered::Library(error)
    }
}
