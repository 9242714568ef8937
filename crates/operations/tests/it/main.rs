//! Operations as a service does them, over a scripted source and outputs in memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod continuous;
mod events;
mod lifecycle;
mod service;
