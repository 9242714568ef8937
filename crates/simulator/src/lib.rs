//! The simulator: random worlds in the words of scenarios, played against the whole engine, judged after every step.
//!
//! Reading order: [`worlds`] writes a world from a seed · [`play`] plays many at once · [`shrink`] takes out what a failure
//! does not need. What is judged stands in the test kit: `scenario/watch.rs`, `scenario/quiet.rs`, and by the doctor of the store.

pub mod dice;
pub mod play;
pub mod shrink;
pub mod worlds;
