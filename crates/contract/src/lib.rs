//! The contracts that connectors sign. A connector is one file with one constant per role (see `repository`).
//!
//! Reading order: [`call`] is what every call is given · [`repository`] lists and reads a source, [`refers`] follows links, by [`events`] its visits wait for each other · [`transform`] is a
//! pipeline stage · [`output`] holds entries, [`search`] finds them · [`authority`] knows users · [`notifier`] tells of ends of runs, a [`sink`] of what a channel reports · [`registry`] is how the engine finds them.
//! [`addresses`] says which of the network are public.
//!
//! All calls block: a connector that speaks an asynchronous protocol runs its own runtime inside the call. Threads,
//! retries, batching and persistence belong to the engine (`docs/decisions/0001-blocking-contracts.md`).
#![warn(missing_docs)]

pub mod access_filter;
pub mod addresses;
pub mod authority;
pub mod call;
pub mod described;
pub mod events;
pub mod inbox;
pub mod lines;
pub mod notifier;
mod observed;
pub mod output;
pub mod refers;
pub mod registry;
pub mod repository;
pub mod search;
pub mod secrets;
pub mod settings;
pub mod sink;
pub mod transform;
