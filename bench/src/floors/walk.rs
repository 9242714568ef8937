//! Floors of listing and of reading: a parallel walk that asks the system for nothing but what it must know.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};

use super::threads;
use crate::Result;

/// What is done with each file: its folder, its name, a buffer to read into.
type OnFile = fn(BorrowedFd<'_>, &CStr, &mut [u8]) -> io::Result<()>;

/// Walks, and asks for the facts of every file.
pub(super) fn look(root: &Path) -> Result<()> {
    walk(root, |folder, name, _| {
        std::hint::black_box(rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?);
        Ok(())
    })
}

/// Walks, and reads and hashes every file.
pub(super) fn read(root: &Path) -> Result<()> {
    walk(root, |folder, name, buffer| {
        let file = rustix::fs::openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut hash = blake3::Hasher::new();
        loop {
            match rustix::io::read(&file, &mut *buffer)? {
                0 => break,
                count => hash.update(&buffer[..count]),
            };
        }
        std::hint::black_box(hash.finalize());
        Ok(())
    })
}

/// Waiting folders, and how many threads are at work.
struct Queue {
    state: Mutex<(Vec<PathBuf>, usize)>,
    changed: Condvar,
}

fn walk(root: &Path, on_file: OnFile) -> Result<()> {
    let queue = Queue { state: Mutex::new((vec![root.to_owned()], 0)), changed: Condvar::new() };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads()).map(|_| scope.spawn(|| work(&queue, on_file))).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| io::Error::other("a thread died"))?)
    })?;
    Ok(())
}

impl Queue {
    /// The next folder; none when all are done.
    fn take(&self) -> Option<PathBuf> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(folder) = state.0.pop() {
                state.1 += 1;
                return Some(folder);
            }
            if state.1 == 0 {
                self.changed.notify_all();
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, below: Vec<PathBuf>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.1 -= 1;
        if !below.is_empty() || state.1 == 0 {
            self.changed.notify_all();
        }
        state.0.extend(below);
    }
}

fn work(queue: &Queue, on_file: OnFile) -> io::Result<()> {
    let mut entries = vec![MaybeUninit::<u8>::uninit(); 32 << 10];
    let mut content = vec![0; 64 << 10];
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    while let Some(folder) = queue.take() {
        let handle = rustix::fs::open(&folder, flags, Mode::empty())?;
        let mut below = Vec::new();
        let mut entries = RawDir::new(&handle, &mut entries);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            match entry.file_type() {
                FileType::Directory if matches!(name.to_bytes(), b"." | b"..") => {}
                FileType::Directory => below.push(folder.join(name.to_string_lossy().as_ref())),
                _ => on_file(handle.as_fd(), name, &mut content)?,
            }
        }
        queue.done(below);
    }
    Ok(())
}
