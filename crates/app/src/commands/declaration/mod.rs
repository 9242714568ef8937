//! Jobs as a file: written, and made and changed by it.

pub(super) mod apply;
pub(super) mod export;
pub(super) mod secrets;
mod yaml;
