//! Who may write, who may ask, and what was asked for; who is known by being pushed; what is kept sealed.

pub mod api_keys;
pub mod audit;
pub mod authorities;
pub mod leases;
pub mod people;
pub mod secrets;
