//! Who may write, who may ask, and what was asked for; what is kept sealed.

pub mod api_keys;
pub mod audit;
pub mod authorities;
pub mod leases;
pub mod secrets;
