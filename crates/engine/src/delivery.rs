//! What is sent to outputs (design 4.7). One sender per output writes each change as an intent, sends it, and confirms it.

pub(crate) mod author;
pub(crate) mod batch;
pub(crate) mod change;
pub(crate) mod definitions;
pub(crate) mod in_flight;
pub(crate) mod job_output;
pub(crate) mod misfit;
pub(crate) mod next_owner;
pub(crate) mod opened;
pub(crate) mod opening;
pub(crate) mod output_pool;
pub(crate) mod output_queue;
pub(crate) mod output_user;
mod ownership;
pub(crate) mod removal;
pub(crate) mod sender;
pub(crate) mod telling;
mod witness;
pub(crate) mod writer;
