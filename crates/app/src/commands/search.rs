//! `ingather search`: the built-in index, as somebody.

use crate::arguments::{Global, Search};
use crate::exit::{Failure, Result};

pub(crate) fn run(_global: &Global, _search: &Search) -> Result<u8> {
    Err(Failure::unable("search comes with the index"))
}
