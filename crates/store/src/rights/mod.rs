//! Who may write, who may ask, and what was asked for.

pub mod api_keys;
pub mod audit;
pub mod leases;
