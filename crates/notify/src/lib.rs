//! Every way of telling people and programs of ends of runs: mail, webhook, command (decision 0030). Whoever runs the service declares them in a
//! file on its machine; a job names them and can say nothing of where they lead. So no client of a service makes it run a command, or
//! reach an address.
//!
//! Reading order: [`declared`] is what may be declared · one file for each way.
#![warn(missing_docs)]

#[cfg(feature = "webhook")]
mod addresses;
#[cfg(any(feature = "mail", feature = "webhook"))]
mod certificates;
mod command;
pub mod declared;
#[cfg(feature = "mail")]
mod mail;
mod secret;
#[cfg(feature = "webhook")]
mod webhook;

pub use declared::{Declared, Notifiers, open};
pub use secret::{read_own, read_secret};
