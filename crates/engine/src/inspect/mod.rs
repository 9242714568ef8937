//! Answers about what is: why a document stands as it does, who may see it and why.

pub mod explain;
mod verdict;
pub mod why;
