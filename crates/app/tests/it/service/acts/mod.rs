//! What people do to documents and jobs beside their runs.

mod addresses;
mod erase;
mod erased;
mod moves;
mod restart;
