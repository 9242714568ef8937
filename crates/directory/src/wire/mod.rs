//! LDAP, version 3, as far as an authority asks (RFC 4511): bytes, filters, messages, connections.
//!
//! A server is trusted to say who holds what once its certificate was checked; before that, and where there is none, its bytes come
//! from anybody. Each length is compared with a bound before anything is read by it, and nothing calls itself for what a server sends.

pub(crate) mod ber;
pub(crate) mod connection;
pub(crate) mod failure;
pub(crate) mod filter;
pub(crate) mod message;
pub(crate) mod servers;
pub(crate) mod stream;
