//! The engine: lists a source, decides about every document, delivers, and sweeps what is gone.
//!
//! Reading order: [`run`] is one pass of a job from start to end · `lister` meets the inventory · `visit` reads one
//! document · `deliver` keeps the books of one output · `sweep` judges absences · [`remove`] takes entries out ·
//! [`jobs`] finds and defines jobs · [`who`] says what a user may see.

mod board;
mod deliver;
pub mod error;
pub mod jobs;
mod lister;
mod marks;
pub mod outputs;
mod pipeline;
mod places;
pub mod progress;
pub mod remove;
pub mod run;
mod settle;
mod sweep;
mod visit;
pub mod who;

pub use error::EngineError;
pub use run::{Engine, Mode, Options, Report};
