//! Addresses of names: asked for right before a connection, of the machine's resolver unless somebody puts another in its place.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

/// What becomes of a look-up.
pub type Found<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;

/// Looks names up. What it says is believed by nobody: each address is judged before it is connected to.
pub trait Resolve: Send + Sync {
    /// The addresses of a host, with this port; the first is tried first.
    fn addresses<'a>(&'a self, host: &'a str, port: u16) -> Found<'a>;
}

/// The resolver of the machine.
pub(super) struct System;

impl Resolve for System {
    fn addresses<'a>(&'a self, host: &'a str, port: u16) -> Found<'a> {
        Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
    }
}
