//! What is told of runs afterwards: by history, reports and notifiers.

mod history;
mod holds;
pub(super) mod notices;
