//! Changes to a tree of files that a scenario or a seed asks for.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{Mode, OFlags};

use crate::people::{must, need_users};

/// Runs a program of the system over a path.
pub(crate) fn tool(program: &str, arguments: &[&str], path: &Path) {
    if program == "chown" {
        need_users();
    }
    must(Command::new(program).args(arguments).arg(path));
}

/// Removes a file, link or folder with all that is in it.
pub(crate) fn remove(path: &Path) {
    let facts = std::fs::symlink_metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if facts.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
}

/// Gives a file another modification time without another content.
pub(crate) fn touch(path: &Path) {
    let file = File::options().append(true).open(path).unwrap();
    let before = file.metadata().unwrap().modified().unwrap();
    file.set_modified(before + Duration::from_secs(1)).unwrap();
}

/// Writes other content of the same length under the same modification time.
pub(crate) fn rewrite_unnoticed(path: &Path, text: &str) {
    let before = std::fs::metadata(path).unwrap();
    assert_eq!(before.len(), text.len() as u64, "the length stays the same");
    std::fs::write(path, text).unwrap();
    File::options().append(true).open(path).unwrap().set_modified(before.modified().unwrap()).unwrap();
}

/// Folders inside each other, too deep for one path, with a file at the end.
pub(crate) fn tunnel(at: &Path, depth: usize, length: usize) {
    let name = "d".repeat(length);
    let mut folder = rustix::fs::open(at, OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap();
    for _ in 0..depth {
        rustix::fs::mkdirat(&folder, &name, Mode::from_raw_mode(0o755)).unwrap();
        folder =
            rustix::fs::openat(&folder, &name, OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()).unwrap();
    }
    let file =
        rustix::fs::openat(&folder, "end.txt", OFlags::CREATE | OFlags::WRONLY, Mode::from_raw_mode(0o644));
    rustix::io::write(file.unwrap(), b"the end of the tunnel").unwrap();
}

/// Waits until nothing below `root` was changed within the grain of its clock, so that its versions count.
pub(crate) fn settle(root: &Path) {
    // Kept in memory the grain is 100 ms, elsewhere it may be 2 s (`model::limits`).
    let grain = if root.starts_with("/dev/shm") { 110 } else { 2_100 };
    let deadline = Instant::now() + Duration::from_secs(100);
    let newest = newest(root);
    while SystemTime::now() < newest + Duration::from_millis(grain) {
        assert!(Instant::now() < deadline, "the clock stands still");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

fn newest(root: &Path) -> SystemTime {
    let facts = std::fs::symlink_metadata(root).unwrap();
    let since = Duration::new(facts.ctime() as u64, facts.ctime_nsec() as u32);
    let mut newest = SystemTime::UNIX_EPOCH + since;
    if facts.is_dir() {
        for entry in std::fs::read_dir(root).into_iter().flatten() {
            newest = newest.max(self::newest(&entry.unwrap().path()));
        }
    }
    newest
}
