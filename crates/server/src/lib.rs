//! The operations over HTTP. Routes, descriptions and problems come from the table of operations: what is a row there can be asked
//! for here, and nothing else.
//!
//! Reading order: `routes` makes a path of every row · `request` makes a request of path, query and body · `asking` says who asks, `proxies` for whom a reverse proxy vouches · `answers` lets the
//! operation work in a thread of its own and writes what it says · `problems` is how a problem is told · `repeats` knows what was done before ·
//! `rates` says how often somebody may search · `description` is the OpenAPI
//! document · `metrics` is what monitoring systems ask for · `stream` tells what happens ·
//! `pages` is the search page for people · `people` is what plug-ins of ManifoldCF ask, and what identity providers push (SCIM) · `connections` accepts clients and bounds what each of them may cost · `places` says who makes room · `tls` encrypts ·
//! `client` is the other side.

mod answers;
mod asking;
mod client;
mod connections;
mod description;
mod failures;
mod metrics;
mod pages;
mod people;
mod places;
mod problems;
mod proxies;
mod rates;
mod repeats;
mod request;
mod routes;
mod slow;
mod stream;
mod tls;

pub use client::Client;
pub use connections::{Front, Listening, Stop};
pub use description::description;
pub use people::user_acls::UserAcls;
pub use proxies::{Proxies, USER};
pub use request::API;
pub use tls::Tls;
