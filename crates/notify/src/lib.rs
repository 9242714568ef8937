//! Every way of telling people and programs of ends of runs: mail, webhook, command (decision 0030); and what sends reports of channels to webhooks (decision 0057). Whoever runs the service declares them in a
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

use std::sync::Arc;

use ingather_contract::sink::Sender;

pub use declared::{Declared, Notifiers, open};
pub use secret::{read_own, read_secret};

/// What sends reports of channels to their sinks; none where this program was built without webhooks.
///
/// # Errors
/// A sentence where it cannot be made.
#[cfg(feature = "webhook")]
pub fn sinks() -> Result<Option<Arc<dyn Sender>>, String> {
    webhook::Sinks::open().map(|sinks| Some(Arc::new(sinks) as Arc<dyn Sender>))
}

/// None: this program was built without webhooks.
///
/// # Errors
/// None.
#[cfg(not(feature = "webhook"))]
pub fn sinks() -> Result<Option<Arc<dyn Sender>>, String> {
    Ok(None)
}
