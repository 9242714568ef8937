//! What a service tells those who watch it: events, figures and a log.

mod log;
mod metrics;
mod secrets;
mod stream;
mod systemd;
