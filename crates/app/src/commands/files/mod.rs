//! Commands that look at files, and ask for nothing else.

pub(super) mod extract;
pub(super) mod journal;
pub(super) mod robots;
