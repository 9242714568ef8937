//! Directories that say which access tokens people hold: LDAP.
//!
//! Reading order: [`ldap`] is the authority; `wire` is the protocol below it, as far as the authority needs it.
#![warn(missing_docs)]

pub mod ldap;
mod wire;
