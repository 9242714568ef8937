//! The suites: sound connectors pass, and each planted fault is found.

mod other_plants;
mod output_plants;
mod repository_plants;
mod secret_plants;
