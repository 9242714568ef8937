//! Readers in their children: what they are held off from, what their misdeeds cost, and files that are damaged at random.
#![expect(clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod charsets;
mod feeds;
mod isolation;
mod misdeeds;
mod mutations;
mod times;
