//! Readers run in child processes that may do nothing but read what they are given (design 4.9).
//!
//! A child is the same program with another first word. It talks through one socket, its standard input; its standard
//! output is a scratch file without a name. So it needs no file of its own, and is allowed none.

pub mod confine;
mod end;
mod frames;
pub(crate) mod pool;
mod timed;
pub mod worker;
