//! Ends that a program does not choose: signals, and kills at any moment.

mod away;
mod earlier;
pub(crate) mod kill;
mod restores;
mod secrets;
mod signals;
pub(crate) mod upgrade;
