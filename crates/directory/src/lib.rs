//! Directories that say which access tokens people hold: LDAP, and Active Directory.
//!
//! Reading order: [`ldap`] and [`active_directory`] are the authorities; `asking`, `reached` and `pool` are what both do alike; `wire` is
//! the protocol below them, as far as they need it.
#![warn(missing_docs)]

pub mod active_directory;
mod asking;
pub mod ldap;
mod pool;
#[cfg(test)]
mod proxies;
mod reached;
mod wire;
