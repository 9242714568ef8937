//! Answers about what is: why a document stands as it does, who may see it and why, what outputs really hold, and what the
//! stages of a pipeline make of a document.

mod access_change;
mod cause;
pub mod explain;
mod external_sort;
mod facts;
pub(crate) mod kept_closed;
mod left;
mod names;
pub mod overlaps;
mod parts;
mod referrers;
mod stage_acl;
pub mod trial;
pub mod verify;
pub mod why;

pub use facts::Holder;
pub use names::Leads;
pub use referrers::{Referrer, Referrers};
