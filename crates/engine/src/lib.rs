//! The engine: lists a source, decides about every document, delivers, and sweeps what is gone.
//!
//! Reading order: `engine` is one pass of a job from start to end, `run` what its threads share, `process` and `delivery` what all runs of a process share · `lister` meets the inventory · `visit` reads one
//! document · `delivery` is what is sent to outputs, and the delivery log · `sweep` judges absences · [`remove`] takes entries out ·
//! [`jobs`] finds and defines jobs · [`scheduler`] says which begin by themselves · [`inbox`] takes what applications push · [`authorities`] says who a user is, [`access_filter`] what they may see · [`inspect`] answers what is, and why.

pub mod access_filter;
mod containers;
mod delivery;
mod dispatcher;
mod engine;
pub mod error;
pub mod inspect;
pub mod jobs;
mod lister;
pub mod outputs;
mod process;
pub mod progress;
pub mod remove;
mod run;
pub mod scheduler;
mod sweep;
mod visit;

pub use engine::{Engine, Mode, Options, Report};
pub use error::{EngineCode, EngineError, Refusal};
pub use process::authorities;
pub use process::erasing::{Erasable, Erasing};
pub use process::inbox;
pub use process::moving::{Likeness, Relocation};
pub use process::searches::Searches;
pub use process::throttles::{Rules, THROTTLE};
pub use process::watches::{Due, Watches};
pub use process::{Aborted, Announced, Glance, KeptLease, Met, Process};
pub use visit::contained::catches_panics_here;
