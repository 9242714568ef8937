//! Who may see what an output holds: groups of authorities, outputs that are told who may see, and what is kept of users for their next search.

mod groups;
mod kept;
mod told;
