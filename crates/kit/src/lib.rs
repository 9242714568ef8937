//! What connectors and the index share, and what belongs to none of them.
#![warn(missing_docs)]

pub mod file_uri;
pub mod language;
pub mod literal;
