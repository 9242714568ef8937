//! Definitions of jobs on their way into the inventory: what is wanted, what that changes, what it leads to, and whether it may be stored.

pub(crate) mod allowed;
pub(crate) mod asked;
pub(crate) mod differences;
pub(crate) mod dry_run;
pub(crate) mod wanted;
