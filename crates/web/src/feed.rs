//! Feeds as repositories: their entries, or the pages that these lead to. What a feed says is read by the stages, as what files say is.

use ingather_contract::repository::RepositoryKind;
use ingather_contract::settings::schema_of;

use crate::site::{self, SiteSettings};

/// The `feed` repository.
pub static REFERRING: RepositoryKind = RepositoryKind {
    name: "feed",
    about: "Entries of feeds (RSS, Atom, JSON Feed), or the pages that they lead to.",
    capabilities: site::CAPABILITIES,
    source_schema: schema_of::<SiteSettings>,
    open: |source, _| site::open(source, true),
};

#[cfg(test)]
mod tests;
