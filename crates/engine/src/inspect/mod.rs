//! Answers about what is: why a document stands as it does, who may see it and why, what outputs really hold, and what the
//! stages of a pipeline make of a document.

mod access_change;
mod asked;
pub mod explain;
mod facts;
mod imposed;
mod left;
mod missing;
pub mod overlaps;
mod sorted;
pub mod trial;
mod verdict;
pub mod verify;
pub mod why;

pub use asked::Leads;
pub use facts::Holder;
