//! Answers about what is: why a document stands as it does, who may see it and why, and what outputs really hold.

pub mod explain;
mod sorted;
mod verdict;
pub mod verify;
pub mod why;
