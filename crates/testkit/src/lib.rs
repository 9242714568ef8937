//! What tests share: a clock moved by hand, scripted sources and outputs, worlds, scenarios, conformance suites.
//!
//! Reading order: [`scenario`] reads a text and plays it in a [`world`] · [`script_repository`] and [`memory_output`] are
//! what a world is made of · [`suites`] is what a new connector has to pass.

pub mod clock;
pub mod crash;
pub mod database;
mod directories;
pub mod memory_kinds;
pub mod memory_output;
pub mod rights;
pub mod rules;
pub mod scenario;
mod script_listing;
pub mod script_repository;
pub mod script_transform;
pub mod stores;
pub mod suites;
pub mod together;
mod watch;
pub mod world;

/// The folder of the workspace whose tests run: above the package's, where cargo starts them. Not where this crate was compiled: a copy of the workspace
/// shares it (`cargo x new-connector --try`), and is gone afterwards.
fn workspace() -> std::path::PathBuf {
    let here = std::env::current_dir().expect("there is a current folder");
    let above = here.ancestors().find(|folder| folder.join("Cargo.lock").is_file());
    above.expect("tests are started within the workspace").to_owned()
}

pub use directories::{nats, postgres, provider, samba, search_engine, slapd};
