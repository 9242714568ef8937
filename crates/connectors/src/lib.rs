//! Table of contents: every connector is one `mod` line here and one line in the list of its role.

use ingather_connector::authority::AuthorityKind;
use ingather_connector::output::OutputKind;
use ingather_connector::registry::Registry;
use ingather_connector::repository::RepositoryKind;
use ingather_connector::transform::TransformKind;

#[cfg(feature = "index")]
pub mod index;
mod null;

/// Repositories, by name.
pub const REPOSITORIES: &[&RepositoryKind] = &[];
/// Transforms, by name.
pub const TRANSFORMS: &[&TransformKind] = &[];
/// Outputs, by name.
pub const OUTPUTS: &[&OutputKind] = &[
    #[cfg(feature = "index")]
    &index::OUTPUT,
    &null::OUTPUT,
];
/// Authorities, by name.
pub const AUTHORITIES: &[&AuthorityKind] = &[];

/// All of them.
pub const ALL: Registry =
    Registry { repositories: REPOSITORIES, transforms: TRANSFORMS, outputs: OUTPUTS, authorities: AUTHORITIES };
