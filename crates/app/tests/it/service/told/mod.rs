//! What is told of runs afterwards: by history, reports and notifiers.

mod history;
mod holds;
mod interrupted;
pub(super) mod notices;
