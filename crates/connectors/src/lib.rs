//! Table of contents: every connector is one `mod` line here and one line in the list of its role.

use ingather_connector::authority::AuthorityKind;
use ingather_connector::output::OutputKind;
use ingather_connector::registry::Registry;
use ingather_connector::repository::RepositoryKind;
use ingather_connector::transform::TransformKind;

mod filesystem;
#[cfg(feature = "index")]
pub mod index;
mod journal;
mod language;
mod literal;
mod null;
mod stages;
mod text;
pub mod unix;

pub use filesystem::check_pattern;
pub use journal::lines::schema as journal_schema;
pub use journal::share_journals;
pub use journal::snapshot::{Part as JournalPart, Summary as JournalSummary, snapshot as journal_snapshot};
pub use stages::ocr::read_pictures_with;
pub use text::{passwords_in, read_files_with, readers_in_force};

/// Bytes as people write them: a number, or one with a unit such as `10kb` or `1.5MiB` (1,024 each).
pub fn bytes(text: &str) -> Option<u64> {
    literal::size(text).and_then(|size| u64::try_from(size.start).ok())
}

/// Repositories, by name.
pub const REPOSITORIES: &[&RepositoryKind] = &[&filesystem::REPOSITORY];
/// Transforms, by name.
pub const TRANSFORMS: &[&TransformKind] = &[
    &stages::access::TRANSFORM,
    &stages::allow::TRANSFORM,
    &stages::fields::TRANSFORM,
    &stages::language::TRANSFORM,
    &stages::limit::TRANSFORM,
    &null::TRANSFORM,
    &stages::ocr::TRANSFORM,
    &stages::passages::TRANSFORM,
    &text::TRANSFORM,
    #[cfg(feature = "tika")]
    &stages::tika::TRANSFORM,
];
/// Outputs, by name.
pub const OUTPUTS: &[&OutputKind] = &[
    #[cfg(feature = "index")]
    &index::OUTPUT,
    &journal::OUTPUT,
    &null::OUTPUT,
];
/// Authorities, by name.
pub const AUTHORITIES: &[&AuthorityKind] = &[&unix::AUTHORITY];

/// All of them.
pub const ALL: Registry = Registry {
    repositories: REPOSITORIES,
    transforms: TRANSFORMS,
    outputs: OUTPUTS,
    authorities: AUTHORITIES,
};
