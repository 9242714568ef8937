//! The inventory in SQL. [`Store`] writes and reads, [`Reader`] only reads; both speak to SQLite or PostgreSQL.
//!
//! Reading order: [`db`] is the only file that knows there are two databases · [`queries`] lists the statements of
//! `sql/` · [`migrate`] brings the schema up to date · the other modules are the questions and moves, by table ·
//! [`turns`] is where threads meet.

pub mod connections;
pub mod containers;
#[cfg(feature = "crash-points")]
pub mod crash_points;
pub mod db;
pub mod deliveries;
pub mod doctor;
pub mod documents;
pub mod error;
pub mod explain;
pub mod extracts;
pub mod failpoints;
pub mod jobs;
pub mod migrate;
pub mod queries;
pub mod queue;
pub mod rights;
pub mod runs;

pub mod turns;

pub use containers::definitions;
pub use db::stopping::end_statements_when;
pub use db::{Durability, Reader, Sql, Store, Target, Writes};
pub use documents::{events, states};
pub use error::{StoreCode, StoreError, lacks_handles};
pub use rights::{api_keys, audit, authorities, leases, people, secrets};
pub use runs::erased;
