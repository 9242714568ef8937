//! What the documents of a run are fetched from, and how much of it they may ask for.

use std::sync::Arc;

use ingather_contract::call::CallContext;
use ingather_contract::repository::Repository;
use ingather_model::limits;

use crate::process::throttles::{Bin, Gate};

/// The source of a run, as its dispatcher knows it.
pub(crate) struct Feed {
    /// Names their bins; none where the source has none.
    pub(crate) bins: Option<Arc<dyn Repository>>,
    /// Name of the job: the one bin of all documents that have no other.
    pub(crate) job: Bin,
    /// The throttle of its connection.
    pub(crate) gate: Gate,
    pub(crate) call: CallContext,
}

impl Feed {
    /// The bins of a document; none where the source has none.
    pub(super) fn bins_of(&self, name: &str) -> Option<Vec<Bin>> {
        let named = self.bins.as_ref()?.bins(name);
        let cut = |name: String| {
            let mut end = name.len().min(limits::BIN_NAME_BYTES_MAX);
            while !name.is_char_boundary(end) {
                end -= 1;
            }
            name[..end].into()
        };
        let mut bins: Vec<Bin> = named.into_iter().take(limits::BINS_OF_A_DOCUMENT_MAX).map(cut).collect();
        if bins.is_empty() {
            bins.push(self.job.clone());
        }
        Some(bins)
    }
}
