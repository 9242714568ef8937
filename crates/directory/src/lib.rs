//! Directories that say which access tokens people hold: LDAP, and Active Directory; databases that do; providers that log people in: OpenID
//! Connect; and people whom a provider pushes: SCIM.
//!
//! Reading order: [`ldap`] and [`active_directory`] are the authorities; `asking`, `reached` and `pool` are what both do alike; `wire` is
//! the protocol below them, as far as they need it. [`sql`] asks PostgreSQL. [`scim`] asks nobody elsewhere. [`oidc`] is apart: whoever presents a token is known by it, and nobody by name.
#![warn(missing_docs)]

pub mod active_directory;
mod asking;
pub mod ldap;
pub mod oidc;
mod pool;
#[cfg(test)]
mod proxies;
mod reached;
pub mod scim;
#[cfg(test)]
mod scripted;
pub mod sql;
mod wire;
