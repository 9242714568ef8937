//! Loss of power on SQLite: what was not synced may be gone, the newest first; and copies of a store from an earlier day.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The bytes of a store.
#[derive(Clone, Debug)]
pub struct Copy {
    main: Vec<u8>,
    log: Vec<u8>,
}

/// Where each transaction of the process that lives now begins in the database's log, and whether it is synced.
///
/// Until the last connection closes, SQLite only appends to its log, and a commit that is synced takes all earlier ones
/// along: a power loss leaves the log up to the end of some commit, at least of the last synced one.
#[derive(Debug, Default)]
pub struct Power {
    begun: Mutex<Vec<(u64, bool)>>,
}

impl Power {
    /// A new process has opened the store; what is there now is on disk.
    pub fn opened(&self, store: &Path) {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = vec![(log_length(store), true)];
    }

    /// A transaction is about to commit, and nothing else can before it has.
    pub fn commits(&self, store: &Path, synced: bool) {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).push((log_length(store), synced));
    }

    /// The store as a power loss may leave it; `keep` chooses how many of the commits that were not synced survive.
    pub fn lost(&self, store: &Path, keep: usize) -> Copy {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ends: Vec<u64> = begun.iter().skip(1).map(|(start, _)| *start).collect();
        ends.push(log_length(store));
        let synced = begun.iter().rposition(|(_, synced)| *synced).unwrap_or(0);
        let possible = &ends[synced..];
        let mut copy = Copy::of(store);
        copy.log.truncate(usize::try_from(possible[keep % possible.len()]).unwrap_or(usize::MAX));
        copy
    }
}

impl Copy {
    /// The store as it stands.
    ///
    /// # Panics
    /// When it cannot be read.
    pub fn of(store: &Path) -> Copy {
        Copy { main: read(store), log: read(&log(store)) }
    }

    /// Puts it where a store is that nobody has open.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn put(&self, store: &Path) {
        fs::write(store, &self.main).expect("a test's folder can be written");
        fs::write(log(store), &self.log).expect("a test's folder can be written");
        let _ = fs::remove_file(beside(store, "-shm"));
    }
}

fn read(path: &Path) -> Vec<u8> {
    match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

fn beside(store: &Path, end: &str) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(end);
    path.into()
}

fn log(store: &Path) -> PathBuf {
    beside(store, "-wal")
}

fn log_length(store: &Path) -> u64 {
    fs::metadata(log(store)).map_or(0, |facts| facts.len())
}
