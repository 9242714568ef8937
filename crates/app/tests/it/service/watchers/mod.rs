//! What a service tells those who watch it: events, figures and a log.

mod log;
mod metrics;
mod stream;
mod systemd;
