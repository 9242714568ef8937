//! Outputs over a network: search engines that keep what the built-in index keeps, with the same promises, and streams of messages that tell
//! applications what changes.

#[cfg(feature = "nats")]
pub mod nats;
#[cfg(feature = "opensearch")]
pub mod opensearch;
