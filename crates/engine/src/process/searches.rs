//! What the searches of one process share: the index as it was opened last, and what the last users may see.

use std::sync::{Arc, Mutex};

use ingather_contract::output::Search;
use ingather_model::fault::Fault;
use ingather_store::turns::lock;

use crate::access_filter::AccessFilters;

/// Opening an index takes longer than most searches. One that shows the last commit is used again.
#[derive(Default)]
pub struct Searches {
    /// What the last users may see.
    pub access_filters: AccessFilters,
    opened: Mutex<Option<Arc<dyn Search>>>,
}

impl Searches {
    /// What was opened last, as long as it shows the last commit; else what `open` opens, which is kept for the next search. None where
    /// there is nothing to open. Several who ask at once open it once.
    ///
    /// # Errors
    /// Those of `open`; nothing is kept then.
    pub fn opened(
        &self,
        open: impl FnOnce() -> Result<Option<Box<dyn Search>>, Fault>,
    ) -> Result<Option<Arc<dyn Search>>, Fault> {
        let mut kept = lock(&self.opened);
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_current()) {
            return Ok(Some(kept.clone()));
        }
        // What is old is let go of first, whatever becomes of the new one.
        *kept = None;
        kept.clone_from(&open()?.map(Arc::from));
        Ok(kept.clone())
    }

    /// Lets go of what does not show the last commit: files that commits have taken away since need their room as long as it is open.
    pub fn let_go_of_old(&self) {
        let mut kept = lock(&self.opened);
        if kept.as_ref().is_some_and(|kept| !kept.is_current()) {
            *kept = None;
        }
    }
}
