//! What a source has and a job leaves out for what it is, told by a listing of its own that writes nothing.

use ingather_contract::repository::Skipped;
use ingather_store::jobs::Job;

use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};

impl Engine {
    /// Lists the source of a job, and tells each name that it leaves out, until `tell` has enough.
    ///
    /// # Errors
    /// `Refused` when the source cannot be listed.
    pub fn left_out(&self, job: &Job, tell: &mut dyn FnMut(Skipped) -> bool) -> Result<()> {
        let repository = self.repository(job)?;
        let call = self.call();
        let failed = |fault: ingather_model::fault::Fault| {
            EngineError::refused(
                Refusal::Source,
                format!("the source of job {} cannot be listed: {fault}", job.name),
            )
        };
        let mut listing = repository.list(&call).map_err(failed)?;
        while let Some(page) = listing.next() {
            let page = page.map_err(failed)?;
            if call.cancel.cancelled() || !page.skipped.into_iter().all(&mut *tell) {
                break;
            }
        }
        Ok(())
    }
}
