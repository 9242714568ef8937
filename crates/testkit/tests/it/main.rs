//! The suites: sound connectors pass, and each planted fault is found.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod other_plants;
mod output_plants;
mod repository_plants;
