//! Web sites on loopback that crawls read: real documentation behind nginx, and sites that are made up as they are asked for.

pub(crate) mod documentation;
pub(crate) mod lists;
pub(crate) mod made_up;
