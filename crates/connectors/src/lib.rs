//! Table of contents: every connector is one `mod` line here and one line in the list of its role.

use ingather_contract::authority::AuthorityKind;
use ingather_contract::output::OutputKind;
use ingather_contract::registry::Registry;
use ingather_contract::repository::RepositoryKind;
use ingather_contract::transform::TransformKind;

mod filesystem;
mod journal;
mod listed;
mod null;
mod transforms;
pub mod unix;
#[cfg(test)]
mod wrong_settings;

pub use filesystem::check_pattern;
pub use ingather_contract::lines::schema as journal_schema;
#[cfg(feature = "nats")]
pub use ingather_outputs::nats::schema as nats_schema;
pub use journal::share_journals;
pub use journal::snapshot::{Part as JournalPart, Summary as JournalSummary, snapshot as journal_snapshot};
pub use transforms::ocr::read_pictures_with;
pub use transforms::text::{passwords_in, read_files_with, readers_in_force};

/// Repositories, by name.
pub const REPOSITORIES: &[&RepositoryKind] = &[
    &filesystem::REPOSITORY,
    &ingather_pushed::REFERRING,
    #[cfg(feature = "web")]
    &ingather_web::site::REFERRING,
    #[cfg(feature = "web")]
    &ingather_web::feed::REFERRING,
    #[cfg(feature = "web")]
    &ingather_web::wiki::REFERRING,
];
/// Transforms, by name.
pub const TRANSFORMS: &[&TransformKind] = &[
    &transforms::access::TRANSFORM,
    &transforms::allow::TRANSFORM,
    &transforms::fields::TRANSFORM,
    &transforms::language::TRANSFORM,
    &transforms::limit::TRANSFORM,
    &null::TRANSFORM,
    &transforms::ocr::TRANSFORM,
    &transforms::passages::TRANSFORM,
    &transforms::text::TRANSFORM,
    #[cfg(feature = "tika")]
    &transforms::tika::TRANSFORM,
];
/// Outputs, by name.
pub const OUTPUTS: &[&OutputKind] = &[
    #[cfg(feature = "index")]
    &ingather_index::OUTPUT,
    &journal::OUTPUT,
    #[cfg(feature = "nats")]
    &ingather_outputs::nats::OUTPUT,
    &null::OUTPUT,
    #[cfg(feature = "opensearch")]
    &ingather_outputs::opensearch::OUTPUT,
];
/// Authorities, by name.
pub const AUTHORITIES: &[&AuthorityKind] = &[
    #[cfg(feature = "ldap")]
    &ingather_directory::active_directory::AUTHORITY,
    #[cfg(feature = "ldap")]
    &ingather_directory::ldap::AUTHORITY,
    &listed::AUTHORITY,
    &null::AUTHORITY,
    #[cfg(feature = "ldap")]
    &ingather_directory::oidc::AUTHORITY,
    #[cfg(feature = "ldap")]
    &ingather_directory::scim::AUTHORITY,
    #[cfg(feature = "ldap")]
    &ingather_directory::sql::AUTHORITY,
    &unix::AUTHORITY,
];

/// All of them.
pub const ALL: Registry = Registry {
    repositories: REPOSITORIES,
    transforms: TRANSFORMS,
    outputs: OUTPUTS,
    authorities: AUTHORITIES,
};

#[cfg(test)]
mod tests {
    use ingather_contract::secrets::RESENDS;

    use super::*;

    /// A setting that is in the name of the output, as in `journal:FILE`: another one is another output.
    const NAME: &str = "file";

    #[test]
    fn every_setting_of_an_output_says_whether_another_value_sends_everything_again() {
        let mut said = 0;
        for kind in OUTPUTS {
            let schema = (kind.schema)().to_value();
            for (name, setting) in schema["properties"].as_object().into_iter().flatten() {
                let is_name = name == NAME;
                assert!(setting[RESENDS].is_boolean() != is_name, "{}: {name}", kind.name);
                said += usize::from(!is_name);
            }
        }
        assert!(said > 0 || !cfg!(feature = "index"));
    }
}
