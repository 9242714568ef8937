//! File handles: as many as this process may have, and whether they are enough before anything is begun. Half-way, each
//! library would say of its own files that they cannot be opened, and some would call them damaged.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::arguments::Command;
use crate::exit::{Code, Failure, Result};
use crate::show;

/// What is asked of the system where it gives more to whoever asks.
const WANTED: u64 = 4_096;
/// What every command may need: connections to the store, files of the index, a child and its pipes.
const ANY: u64 = 48;
/// What each thread that reads may need: the file, folders on the way to it, scratch, a child and its pipes.
const THREAD: u64 = 8;

/// Raises the soft limit as far as it helps, and refuses to begin with fewer handles than the command may need.
pub(crate) fn refuse_too_few(command: &Command, threads: usize) -> Result<()> {
    let may = raised();
    let open = open_now();
    let reads = match command.reads_files() {
        true => ingather_model::limits::FOLDERS_OPEN_MAX as u64 + THREAD * threads as u64,
        false => 0,
    };
    let connections = match command {
        Command::Serve(_) => ingather_model::limits::HTTP_CONNECTIONS_MAX as u64,
        _ => 0,
    };
    let needed = ANY + reads + connections;
    if may.saturating_sub(open) >= needed {
        return Ok(());
    }
    let fewer = if reads > 0 && threads > 1 { ", or use fewer --threads" } else { "" };
    Err(Failure::new(
        Code::Resources,
        format!(
            "this process may open {}, and may need {needed} more than the {open} that it has: raise the limit, such as by \
             `ulimit -n {WANTED}`{fewer}",
            show::counted(may, "file"),
        ),
    ))
}

/// The limit, after it was raised.
fn raised() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let (now, most) = (current.unwrap_or(u64::MAX), maximum.unwrap_or(u64::MAX));
    let wanted = now.max(WANTED.min(most));
    // Where that is refused, the limit is what it was.
    match wanted > now && setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }).is_ok() {
        true => wanted,
        false => now,
    }
}

/// Handles that are open already, which whoever started this may have left to it.
fn open_now() -> u64 {
    // Without /proc, and without a handle to look there, those that every process has.
    std::fs::read_dir("/proc/self/fd").map_or(3, |entries| entries.count().saturating_sub(1) as u64)
}
