//! What the program needs around it: room, rights, file handles, a clock, sources and outputs that can be reached.

mod jobs;
mod outputs;

pub(crate) use jobs::of_job;
pub(crate) use outputs::of_outputs;

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ingather_store::{Reader, containers, doctor};
use rustix::process::Resource;

use crate::exit::Result;
use crate::{show, wiring};

/// Less room than this is told, bytes: a run of a large source writes a log of 64 MiB and a commit of the index.
const ROOM_BYTES_MIN: u64 = 256 << 20;
/// Fewer new files than this are told: a commit of the index makes a few dozen.
const INODES_MIN: u64 = 1_000;
/// Fewer file handles than this are told: a listing keeps folders open, the index its files.
const HANDLES_MIN: u64 = 1_024;
/// A clock that is behind by less is not told, milliseconds.
const CLOCK_MS_MAX: i64 = 60_000;
/// Files of the data directory whose rights are looked at.
const FILES_MAX: usize = 100_000;

/// What one look at the surroundings found.
#[derive(Debug)]
pub(crate) struct Look {
    /// Stable word.
    pub(crate) check: &'static str,
    /// It is as it should be.
    pub(crate) good: bool,
    pub(crate) sentence: String,
    /// What to do; where all is good, what else could be done: empty when there is nothing to say.
    pub(crate) advice: String,
}

impl Look {
    fn good(check: &'static str, sentence: impl Into<String>) -> Look {
        Look { check, good: true, sentence: sentence.into(), advice: String::new() }
    }

    /// It is as somebody has decided, which others should know.
    fn noted(check: &'static str, sentence: impl Into<String>, advice: impl Into<String>) -> Look {
        Look { check, good: true, sentence: sentence.into(), advice: advice.into() }
    }

    fn bad(check: &'static str, sentence: impl Into<String>, advice: impl Into<String>) -> Look {
        Look { check, good: false, sentence: sentence.into(), advice: advice.into() }
    }
}

/// The machine around a data directory; with `repair` its files become their owner's alone.
pub(crate) fn of_machine(data: &Path, repair: bool) -> Vec<Look> {
    let mut looks = room(data);
    looks.push(writable(data));
    looks.push(rights(data, repair));
    looks.push(readers());
    let handles = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    looks.push(match handles < HANDLES_MIN {
        true => Look::bad(
            "file_handles",
            format!(
                "this process may open {}, and {HANDLES_MIN} may be needed",
                show::counted(handles, "file")
            ),
            "raise the limit, such as by `ulimit -n 4096`",
        ),
        false => {
            Look::good("file_handles", format!("this process may open {}", show::counted(handles, "file")))
        }
    });
    looks
}

/// Files of the data directory that are not as the program left them, with what to do.
pub(crate) fn of_own_files(troubles: Vec<(String, String)>) -> Vec<Look> {
    if troubles.is_empty() {
        return vec![Look::good("own_files", "the data directory's own files can be used")];
    }
    troubles.into_iter().map(|(sentence, advice)| Look::bad("own_files", sentence, advice)).collect()
}

/// What holds the processes that read files: one is started and reads a line.
fn readers() -> Look {
    let advice = "files other than plain text are then found by their names alone: check that this program can be run \
                  again from where it lies";
    let started = ingather_extract::Settings::of_this_program(1).and_then(|settings| {
        let pool = ingather_extract::Pool::new(settings);
        let request = ingather_extract::Request { name: "a.html".to_owned(), ..Default::default() };
        let read = pool.extract(&request, &mut "<p>a line".as_bytes())?;
        Ok((read, pool.in_force()))
    });
    let (read, in_force) = match started {
        Ok((read, Some(in_force))) => (read, in_force),
        Ok((read, None)) => {
            let why = read.reason.unwrap_or_default();
            return Look::bad(
                "readers",
                format!("no process that reads files can be started: {why}"),
                advice,
            );
        }
        Err(error) => {
            return Look::bad(
                "readers",
                format!("no process that reads files can be started: {error}"),
                advice,
            );
        }
    };
    if read.text != "a line" {
        let why = read.reason.unwrap_or_else(|| "it gave no text".to_owned());
        return Look::bad("readers", format!("a process that reads files cannot read: {why}"), advice);
    }
    let word = |holds: bool| if holds { "yes" } else { "no" };
    let sentence = format!(
        "files are read by processes held by Landlock ({}), seccomp ({}), no new privileges ({}), no capabilities ({}), {} \
         of memory",
        in_force.landlock,
        word(in_force.seccomp),
        word(in_force.no_new_privileges),
        word(in_force.no_capabilities),
        show::bytes(in_force.memory_bytes)
    );
    if in_force.is_whole() {
        return Look::good("readers", sentence);
    }
    Look::bad(
        "readers",
        sentence,
        "use a kernel with Landlock and seccomp, Linux 5.13 or later, for files from strangers",
    )
}

fn room(data: &Path) -> Vec<Look> {
    let Ok(disk) = rustix::fs::statvfs(data) else {
        let sentence = format!("the disk of {} cannot be asked for its room", data.display());
        return vec![Look::bad("space", sentence, "check that its disk is mounted")];
    };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let left = show::bytes(free);
    let space = match free < ROOM_BYTES_MIN {
        true => Look::bad(
            "space",
            format!("only {left} are free where {} is", data.display()),
            "make room on that disk",
        ),
        false => Look::good("space", format!("{left} are free")),
    };
    // File systems that make inodes as they go count none.
    let few = disk.f_files > 0 && disk.f_favail < INODES_MIN;
    let inodes = match few {
        true => Look::bad(
            "inodes",
            format!(
                "only {} can be made where {} is",
                show::counted(disk.f_favail, "more file"),
                data.display()
            ),
            "remove files on that disk",
        ),
        false => Look::good("inodes", "new files can be made"),
    };
    vec![space, inodes]
}

/// Whether a run could write: kernels take writes from a disk that fails, and commands that look go on as before.
fn writable(data: &Path) -> Look {
    use rustix::fs::{Access, access};
    use rustix::io::Errno;
    let own =
        [(data.to_owned(), Access::WRITE_OK | Access::EXEC_OK), (data.join("store.db"), Access::WRITE_OK)];
    let refused = own.into_iter().find_map(|(path, right)| match access(&path, right) {
        // A database may hold the store.
        Ok(()) | Err(Errno::NOENT) => None,
        Err(errno) => Some((path, errno)),
    });
    match refused {
        None => Look::good("writable", "the data directory can be written"),
        Some((path, Errno::ROFS)) => Look::bad(
            "writable",
            format!("the disk of {} takes no writes, and the next run would stop there", path.display()),
            "make it writable; a disk that became read-only by itself is failing: look at the log of the system",
        ),
        Some((path, errno)) => Look::bad(
            "writable",
            format!("{} cannot be written by this user: {errno}", path.display()),
            "run `ingather sync` as the owner of the data directory",
        ),
    }
}

/// Files and folders of the data directory that others than their owner have a right to.
fn open_to_others(data: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![data.to_owned()];
    let mut looked_at = 0;
    while let Some(path) = waiting.pop().filter(|_| looked_at < FILES_MAX) {
        looked_at += 1;
        let facts = match std::fs::symlink_metadata(&path) {
            // A writer beside this makes and removes files.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            other => other?,
        };
        if !facts.is_symlink() && facts.mode() & 0o077 != 0 {
            found.push(path.clone());
        }
        if facts.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                waiting.push(entry?.path());
            }
        }
    }
    Ok(found)
}

fn rights(data: &Path, repair: bool) -> Look {
    let open = match open_to_others(data) {
        Ok(open) => open,
        Err(error) => {
            let sentence = format!("the rights of {} cannot be looked at: {error}", data.display());
            return Look::bad("rights", sentence, "run this as the owner of the data directory");
        }
    };
    let Some(first) = open.first() else {
        return Look::good("rights", "the data directory is its owner's alone");
    };
    if repair && open.iter().all(|path| make_private(path).is_ok()) {
        return Look::good(
            "rights",
            format!("{} became the owner's alone", show::counted(open.len() as u64, "path")),
        );
    }
    Look::bad(
        "rights",
        format!(
            "others have a right to {} in the data directory, such as {}",
            show::counted(open.len() as u64, "path"),
            first.display()
        ),
        "--repair takes it from them: the index holds everybody's text",
    )
}

fn make_private(path: &Path) -> std::io::Result<()> {
    let mode = if path.is_dir() { 0o700 } else { 0o600 };
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// The store's own file, and the clock beside the newest time in it.
pub(crate) fn of_store(reader: &Reader) -> Result<Vec<Look>> {
    let (damage, newest, unreadable) = reader.read(|sql| {
        Ok((doctor::integrity(sql)?, doctor::newest_time(sql)?, containers::unreadable_acls(sql)?))
    })?;
    let now = wiring::now();
    let whole = match damage {
        Some(said) => Look::bad("store", format!("the store is damaged: {said}"), "restore a backup"),
        None => Look::good("store", "the store's schema is this program's, and its file is whole"),
    };
    let clock = match newest {
        Some(newest) if newest > now + CLOCK_MS_MAX => Look::bad(
            "clock",
            format!("the clock says {}, and the store has a time of {}", show::time(now), show::time(newest)),
            "set the clock right; until then changes of files may look older than they are",
        ),
        _ => Look::good("clock", "the clock is not behind the store"),
    };
    let levels = match unreadable {
        0 => Look::good("access", "every access list in the store can be read"),
        n => Look::bad(
            "access",
            format!("{} in the store cannot be read, and admit nobody", show::counted(n, "access list")),
            "restore a backup; until then only a search with --all finds what they are about",
        ),
    };
    Ok(vec![whole, clock, levels])
}
