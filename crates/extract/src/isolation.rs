//! Readers run in child processes that may do nothing but read what they are given.

pub mod confine;
mod frames;
pub mod pool;
pub mod worker;
