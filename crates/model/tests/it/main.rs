//! The model from outside: rules that are long to prove.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod fairness;
mod invariants;
mod schedule;
mod throttle;
