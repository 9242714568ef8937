//! The built-in search index: an output in the data directory that can be searched while it is written.

use std::num::NonZeroUsize;

use garde::Validate;
use ingather_contract::output::{OutputCapabilities, OutputKind};
use ingather_contract::settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod address_filter;
mod backup;
mod byte_budget;
mod committed;
mod damage;
mod directory;
mod entry;
mod output;
mod query;
mod read_only;
mod rebuild;
mod schema;
mod search;
mod stemming;
#[cfg(test)]
mod tests;
mod tokenizers;

use directory::IndexDirectory;
use output::Opened;
use read_only::IndexSnapshot;

pub use damage::catches_panics_here;
pub use search::Searcher;

/// The `index` output.
pub const OUTPUT: OutputKind = OutputKind {
    name: "index",
    about: "The built-in search index, in the data directory; searched with `ingather search`.",
    capabilities: OutputCapabilities { commits: true, access: true, list: true, told: false },
    schema: settings::schema_of::<Settings>,
    open: |value, context| {
        let settings = settings::read::<Settings>(value)?;
        damage::guarded(&IndexDirectory::of(&context.data).path, || {
            Ok(Box::new(Opened::open(&settings, context)?) as _)
        })
    },
    check: |value, context| {
        settings::read::<Settings>(value)?;
        output::check(context)
    },
    look: Some(|_, context| Ok(IndexSnapshot::open(context)?.map(|snapshot| Box::new(snapshot) as _))),
    discard: Some(|_, context| IndexDirectory::of(&context.data).discard()),
    search: Some(|context| {
        Ok(Searcher::open(&context.data, &context.store)?.map(|searcher| Box::new(searcher) as _))
    }),
    copy: Some(|context, into| backup::snapshot(&context.data, into)),
    place: None,
    ask: None,
};

/// Code of faults of an index that a program of an earlier day wrote.
const OLDER: &str = "index_older";

/// Settings of the index.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, Validate)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Memory for entries that are not written yet, MiB, for all threads together.
    #[garde(range(min = 32, max = 8192))]
    #[schemars(extend("x-resends" = false))]
    pub memory_mib: usize,
    /// Threads that write; 0 = as many as there are cores, at most 2.
    #[garde(range(max = 8))]
    #[schemars(extend("x-resends" = false))]
    pub threads: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { memory_mib: 64, threads: 0 }
    }
}

impl Settings {
    fn threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let wanted = if self.threads == 0 { cores.min(2) } else { self.threads };
        // The library needs 15 MB for each thread.
        wanted.min(self.memory_mib / 16).max(1)
    }
}
