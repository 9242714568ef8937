//! The floors: the least that the same work can cost, as small programs in this one.

mod bare_index;
pub(crate) mod commits;
mod crawl;
pub(crate) mod queues;
mod walk;

use std::path::Path;

use crate::Result;

/// Runs one of them, for a process of its own.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    match words {
        ["walk", root] => walk::look(Path::new(root)),
        ["read", root] => walk::read(Path::new(root)),
        ["crawl", root, reader, state] => crawl::crawl(root, reader, Path::new(state)),
        ["table"] => commits::serve(),
        ["index", root, into] => bare_index::run(Path::new(root), Path::new(into)),
        _ => Err(format!("there is no floor {words:?}").into()),
    }
}

/// Threads of a floor: as many as the program takes.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(8)
}
