//! Who asks a service, what they hold to say so, and what they have changed.

pub mod answers_log;
pub mod api_keys;
pub mod askers;
pub mod audit;
pub mod links;
pub(crate) mod places;
