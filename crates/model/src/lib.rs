//! Words, rules and lifecycles of Ingather: pure values and functions, without input, output, clock or threads.
//!
//! Reading order: [`ids`] and [`key`] name things · [`document`] is what flows, [`job`] how and which way · [`access`] says who may see it ·
//! [`merge`], [`scope`] and [`guard`] judge a listing · [`decision`] says what a visit leads to · [`fault`] and
//! [`retry`] say what follows a failure · [`run_counts`] counts a run, [`job::estimate`] guesses when it ends · [`lifecycle`] holds the tables of states, and the words for how things end · [`hold`] says
//! why a job does not work · [`job::schedule`] says when it does by itself · [`fairness`] says which document is next, and
//! [`fairness::throttle`] how much is read · [`invariants`] lists what must always be true.
#![warn(missing_docs)]

pub mod access;
pub mod blocked;
pub mod decision;
pub mod document;
pub mod fairness;
pub mod fault;
pub mod guard;
pub mod ids;
pub mod invariants;
pub mod job;
pub mod key;
pub mod lifecycle;
pub mod limits;
pub mod merge;
pub mod names;
pub mod retry;
pub mod run_counts;
pub mod scope;
