//! One output as a job uses it.

use std::sync::Arc;

use ingather_contract::output::OutputCapabilities;
use ingather_model::ids::{ConnectionId, Digest};

use super::output_queue::OutputQueue;

/// One output of a job.
pub(crate) struct JobOutput {
    pub(crate) id: ConnectionId,
    pub(crate) capabilities: OutputCapabilities,
    /// What arrives there, by its place among what leaves the pipeline.
    pub(crate) arrival: usize,
    /// Digest of what it receives of this job: stages and its own settings.
    pub(crate) settings: Digest,
    /// It took nothing when it was used last, or was damaged.
    pub(crate) is_ill: bool,
    /// The output itself; none in a run that writes nothing.
    pub(crate) queue: Option<Arc<OutputQueue>>,
}
