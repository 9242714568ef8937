//! Figures of jobs for whoever watches a service: counters that are kept anyway, so that a look costs nothing that grows with documents.

use ingather_model::lifecycle::outcome::OutputHealth;
use ingather_model::run_counts::RunCounts;
pub use ingather_store::Writes;
pub use ingather_store::jobs::Figures;
use ingather_store::{connections, jobs};

use crate::context::Context;
use crate::problem::Result;

/// Figures of one moment.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// All jobs, by name.
    pub jobs: Vec<Figures>,
    /// Each output that is open, and how many changes wait for it.
    pub queued: Vec<(String, usize)>,
    /// Each output, and how it is.
    pub outputs: Vec<(String, OutputHealth)>,
    /// How long transactions took that were written.
    pub writes: Writes,
}

/// Reads them.
///
/// # Errors
/// What the inventory says.
pub fn watched(context: &Context<'_>) -> Result<Watched> {
    let queued = context.host.process().queued();
    let Some(reader) = context.host.reader()? else {
        return Ok(Watched { queued, ..Watched::default() });
    };
    let (jobs, outputs) = reader.read(|sql| Ok((jobs::figures(sql)?, connections::healths(sql)?)))?;
    Ok(Watched { jobs, queued, outputs, writes: reader.writes() })
}

/// What became of the documents of the last run; nothing before there was one.
pub fn counts(figures: &Figures) -> RunCounts {
    figures.counts.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}
