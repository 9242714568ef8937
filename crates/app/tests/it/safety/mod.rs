//! What the program does with input and surroundings that cannot be trusted (`docs/manual/security.md`).

mod beside;
mod fuzz;
mod journal;
mod meanwhile;
mod modes;
pub(crate) mod mounts;
mod readers;
mod servers;
mod terminal;
mod unseen;
