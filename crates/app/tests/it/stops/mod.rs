//! Ends that a program does not choose: signals, and kills at any moment.

mod kill;
mod signals;
mod upgrade;
