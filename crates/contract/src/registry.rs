//! The lists of kinds that a program knows, and look-up by name.

use crate::authority::AuthorityKind;
use crate::output::OutputKind;
use crate::repository::RepositoryKind;
use crate::transform::TransformKind;

/// All kinds that are linked in; made once by the program and handed down.
#[derive(Clone, Copy)]
pub struct Registry {
    /// Repositories, by name.
    pub repositories: &'static [&'static RepositoryKind],
    /// Transforms, by name.
    pub transforms: &'static [&'static TransformKind],
    /// Outputs, by name.
    pub outputs: &'static [&'static OutputKind],
    /// Authorities, by name.
    pub authorities: &'static [&'static AuthorityKind],
}

impl Registry {
    /// The repository kind of that name.
    pub fn repository(&self, name: &str) -> Option<&'static RepositoryKind> {
        self.repositories.iter().find(|kind| kind.name == name).copied()
    }

    /// The transform kind of that name.
    pub fn transform(&self, name: &str) -> Option<&'static TransformKind> {
        self.transforms.iter().find(|kind| kind.name == name).copied()
    }

    /// The output kind of that name.
    pub fn output(&self, name: &str) -> Option<&'static OutputKind> {
        self.outputs.iter().find(|kind| kind.name == name).copied()
    }

    /// The authority kind of that name.
    pub fn authority(&self, name: &str) -> Option<&'static AuthorityKind> {
        self.authorities.iter().find(|kind| kind.name == name).copied()
    }
}
