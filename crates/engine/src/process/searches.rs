//! What the searches of one process share: the index as it was opened last, and what the last users may see.

use std::sync::atomic::{AtomicBool, Ordering};
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
    /// Somebody has searched since it was opened.
    used: AtomicBool,
}

/// Opens what is searched; none where there is nothing.
type Opened = Result<Option<Box<dyn Search>>, Fault>;

impl Searches {
    /// What was opened last, as long as it shows the last commit; else what `open` opens, which is kept for the next search. None where
    /// there is nothing to open. Several who ask at once open it once.
    ///
    /// # Errors
    /// Those of `open`; nothing is kept then.
    pub fn opened(&self, open: impl FnOnce() -> Opened) -> Result<Option<Arc<dyn Search>>, Fault> {
        let mut kept = lock(&self.opened);
        self.used.store(true, Ordering::Relaxed);
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_current()) {
            return Ok(Some(kept.clone()));
        }
        // What is old is let go of first, whatever becomes of the new one.
        *kept = None;
        kept.clone_from(&open()?.map(Arc::from));
        Ok(kept.clone())
    }

    /// Opens what does not show the last commit anew, where somebody has searched since it was opened: the next search finds it open. Else it
    /// is let go of, for files that commits have taken away since need their room as long as it is open.
    pub fn renew(&self, open: impl FnOnce() -> Opened) {
        let mut kept = lock(&self.opened);
        if kept.as_ref().is_some_and(|kept| !kept.is_current()) {
            *kept = None;
            if self.used.swap(false, Ordering::Relaxed) {
                // Whoever searches next is told what hinders it.
                *kept = open().ok().flatten().map(Arc::from);
            }
        }
    }
}
