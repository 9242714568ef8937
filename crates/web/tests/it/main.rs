//! The HTTP client against servers that fail in every way: plain threads on loopback, each with an answer of its own.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends there")]

mod codings;
mod failing;
mod guard;
mod manual;
mod many;
mod multiplexed;
mod names;
mod plain;
mod proofs;
mod secure;
mod server;
mod tunnel;
