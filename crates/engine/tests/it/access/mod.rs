//! Who may see what an output holds: groups of authorities, and outputs that are told who may see.

mod groups;
mod told;
