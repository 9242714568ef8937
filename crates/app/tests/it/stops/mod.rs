//! Ends that a program does not choose: signals, and kills at any moment.

mod away;
mod earlier;
mod kill;
mod signals;
pub(crate) mod upgrade;
