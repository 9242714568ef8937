//! What the program needs of the machine: room, rights, file handles, a clock that is right.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ingather_engine::authorities::{Checked, MACHINE};
use ingather_model::run_counts::counted;
use ingather_store::{Reader, containers, doctor};
use rustix::process::Resource;

use super::Look;
use crate::context::Host;
use crate::in_words::{bytes, time};
use crate::problem::Result;

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

/// The machine around a data directory; with `repair` its files become their owner's alone.
pub(super) fn of_machine(host: &dyn Host, repair: bool) -> Vec<Look> {
    let data = host.data();
    let mut looks = room(data);
    looks.push(writable(data));
    looks.push(rights(data, repair));
    looks.push(host.check_readers());
    let handles = rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    looks.push(match handles < HANDLES_MIN {
        true => Look::bad(
            "file_handles",
            format!("this process may open {}, and {HANDLES_MIN} may be needed", counted(handles, "file")),
            "raise the limit, such as by `ulimit -n 4096`",
        ),
        false => Look::good("file_handles", format!("this process may open {}", counted(handles, "file"))),
    });
    looks
}

/// Authorities that cannot be asked; nothing is said of those that can.
pub(super) fn of_authorities(all: Vec<Checked>) -> Vec<Look> {
    let look = |one: Checked| {
        let reason = one.found.err()?;
        let advice = match one.name == MACHINE {
            true => {
                "until it can, `search --as`, `why` and `tokens` are refused; see whether `getent passwd` lists users"
            }
            false => {
                "until it can, nobody finds what only its tokens open; see `ingather authority list`, and correct it with `apply`"
            }
        };
        Some(Look::bad(
            "authority",
            format!("authority {} cannot be asked: {}", one.name, reason.message),
            advice,
        ))
    };
    all.into_iter().filter_map(look).collect()
}

/// Files of the data directory that are not as the program left them, with what to do.
pub(super) fn of_own_files(damaged: Vec<(String, String)>) -> Vec<Look> {
    if damaged.is_empty() {
        return vec![Look::good("own_files", "the data directory's own files can be used")];
    }
    damaged.into_iter().map(|(sentence, advice)| Look::bad("own_files", sentence, advice)).collect()
}

fn room(data: &Path) -> Vec<Look> {
    let Ok(disk) = rustix::fs::statvfs(data) else {
        let sentence = format!("the disk of {} cannot be asked for its room", data.display());
        return vec![Look::bad("space", sentence, "check that its disk is mounted")];
    };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let left = bytes(free);
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
            format!("only {} can be made where {} is", counted(disk.f_favail, "more file"), data.display()),
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
            format!("{} became the owner's alone", counted(open.len() as u64, "path")),
        );
    }
    Look::bad(
        "rights",
        format!(
            "others have a right to {} in the data directory, such as {}",
            counted(open.len() as u64, "path"),
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
pub(super) fn of_store(reader: &Reader, now: i64) -> Result<Vec<Look>> {
    let (damage, newest, unreadable) = reader.read(|sql| {
        Ok((doctor::integrity(sql)?, doctor::newest_time(sql)?, containers::unreadable_acls(sql)?))
    })?;
    let whole = match damage {
        Some(said) => Look::bad("store", format!("the store is damaged: {said}"), "restore a backup"),
        None => Look::good("store", "the store's schema is this program's, and its file is whole"),
    };
    let clock = match newest {
        Some(newest) if newest > now + CLOCK_MS_MAX => Look::bad(
            "clock",
            format!("the clock says {}, and the store has a time of {}", time(now), time(newest)),
            "set the clock right; until then changes of files may look older than they are",
        ),
        _ => Look::good("clock", "the clock is not behind the store"),
    };
    let levels = match unreadable {
        0 => Look::good("access", "every access list in the store can be read"),
        n => Look::bad(
            "access",
            format!("{} in the store cannot be read, and admit nobody", counted(n, "access list")),
            "restore a backup; until then only a search with --all finds what they are about",
        ),
    };
    Ok(vec![whole, clock, levels])
}

#[cfg(test)]
mod tests {
    use ingather_model::access::identity::Group;
    use ingather_model::fault::Reason;

    use super::*;

    #[test]
    fn an_authority_that_cannot_be_asked_is_named_with_what_to_do() {
        let checked = |name: &str, found| Checked {
            name: name.to_owned(),
            kind: "unix".to_owned(),
            group: Group::default(),
            domain: String::new(),
            found,
        };
        let down = || Err(Reason::new("down", "its server does not answer"));
        let all = vec![
            checked("up", Ok("it answers".to_owned())),
            checked("unix", down()),
            checked("down", down()),
        ];
        let looks = of_authorities(all);
        assert!(looks.len() == 2 && looks.iter().all(|look| !look.ok), "{looks:?}");
        for (look, name, advice) in
            [(&looks[0], "unix", "getent passwd"), (&looks[1], "down", "authority list")]
        {
            let told = format!("{look:?}");
            let sentence = format!("authority {name} cannot be asked: its server does not answer");
            assert!(told.contains(&sentence) && told.contains(advice), "{told}");
        }
    }
}
