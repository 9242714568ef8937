//! Watches a source by inotify, so that a continuous job looks when something changed (decision 0027). What is told here is never taken for
//! true: it only says when to list.

mod events;
mod folders;

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use ingather_contract::call::CallContext;
use ingather_contract::repository::{Told, Watch, Watching};
use ingather_model::fault::Reason;
use ingather_model::limits;
use ingather_model::scope::Scope;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use self::folders::{Folders, Over};
use super::{Source, mounts};

/// Begins to watch.
pub(super) fn watch(source: &Arc<Source>, call: &CallContext, watching: Watching) -> Box<dyn Watch> {
    let shared = Arc::new(Shared {
        source: source.clone(),
        call: call.clone(),
        watching,
        pending: Mutex::new(Pending::Nothing),
        grain_ms: AtomicI64::new(limits::CLOCK_TICK_MS),
        closing: AtomicBool::new(false),
    });
    let begun = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
        .map_err(std::io::Error::from)
        .and_then(|bell| {
            let bell = Arc::new(bell);
            let (of_thread, heard) = (shared.clone(), bell.clone());
            let work = move || of_thread.work(&heard);
            Ok((bell, std::thread::Builder::new().name("watch".to_owned()).spawn(work)?))
        });
    let begun = match begun {
        Ok(begun) => Some(begun),
        Err(error) => {
            shared.end(Reason::new("resources", format!("no thread can watch: {error}")));
            None
        }
    };
    Box::new(DiskWatch { shared, begun })
}

/// Code of a watch whose source is not there.
const GONE: &str = "gone";

/// What the thread that watches and its owner share.
struct Shared {
    source: Arc<Source>,
    call: CallContext,
    watching: Watching,
    pending: Mutex<Pending>,
    grain_ms: AtomicI64,
    closing: AtomicBool,
}

/// What waits to be told.
enum Pending {
    Nothing,
    Changed { folders: BTreeSet<String>, since: i64, until: i64 },
    Lost(Reason),
    Ended(Reason),
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        // It is whole after every statement.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed) || self.call.cancel.cancelled()
    }

    /// Something changed in the folder of keys `folder`, or with itself.
    fn change(&self, folder: String) {
        let now = self.call.steady();
        let mut pending = self.lock();
        match &mut *pending {
            Pending::Changed { folders, until, .. } => {
                *until = now;
                folders.insert(folder);
                if folders.len() > limits::WATCH_SCOPES_MAX {
                    let most = limits::WATCH_SCOPES_MAX;
                    *pending =
                        Pending::Lost(Reason::new("many", format!("more than {most} folders changed")));
                    drop(pending);
                    (self.watching.wake)();
                }
            }
            Pending::Nothing => {
                *pending = Pending::Changed { folders: [folder].into(), since: now, until: now };
                drop(pending);
                (self.watching.wake)();
            }
            Pending::Lost(_) | Pending::Ended(_) => {}
        }
    }

    fn lose(&self, reason: Reason) {
        *self.lock() = Pending::Lost(reason);
        (self.watching.wake)();
    }

    fn end(&self, reason: Reason) {
        *self.lock() = Pending::Ended(reason);
        (self.watching.wake)();
    }

    /// Sets watches, tells, and sets them anew when they were lost, until it ends.
    fn work(&self, bell: &OwnedFd) {
        let mut why = Reason::new("begun", "the watch begins");
        let (mut attempts, mut away) = (0, 0);
        loop {
            // Asked before the first folder: what is mounted from now on is noticed.
            let Ok(table) = File::open("/proc/self/mountinfo") else {
                return self.end(Reason::new("mounts", "the table of mounts cannot be read"));
            };
            let before = self.mounts();
            let mut folders = match Folders::stand(self) {
                Ok(folders) => folders,
                Err(Over::Closed) => return,
                Err(Over::Lost(reason)) => {
                    attempts += 1;
                    if attempts >= limits::LIST_ATTEMPTS_MAX {
                        return self.end(reason);
                    }
                    if self.rests(bell, limits::WATCH_REST_MS) {
                        return;
                    }
                    continue;
                }
                // Nothing can be found until it comes back. It is asked for ever more seldom: a service may have many such jobs.
                Err(Over::Ended(reason)) if reason.code == GONE => {
                    if away == 0 {
                        self.lose(reason);
                    }
                    why = Reason::new("back", "the source is there again");
                    if self.rests(bell, limits::WATCH_REST_MS << away) {
                        return;
                    }
                    away = (away + 1).min(limits::WATCH_AWAY_DOUBLINGS_MAX);
                    continue;
                }
                Err(Over::Ended(reason)) => return self.end(reason),
            };
            (attempts, away) = (0, 0);
            self.grain_ms.store(folders.grain_ms, Ordering::Relaxed);
            self.lose(why);
            match self.listen(&mut folders, bell, (&table, &before)) {
                Over::Closed => return,
                Over::Ended(reason) => return self.end(reason),
                Over::Lost(reason) => why = reason,
            }
            // The kernel forgets what nobody will read.
            drop(folders);
            if self.rests(bell, limits::WATCH_REST_MS) {
                return;
            }
        }
    }

    /// Waits before all folders are entered once more; whether the watch closes.
    fn rests(&self, bell: &OwnedFd, ms: i64) -> bool {
        let timeout = Timespec { tv_sec: ms / 1_000, tv_nsec: 0 };
        // Interrupted, it rests for less.
        let _ = rustix::event::poll(&mut [PollFd::new(bell, PollFlags::IN)], Some(&timeout));
        self.is_closing()
    }

    /// Hands on what the kernel tells until that is over.
    fn listen(&self, folders: &mut Folders, bell: &OwnedFd, (table, before): (&File, &[String])) -> Over {
        let kernel = folders.kernel.clone();
        loop {
            if let Err(over) = events::read(self, folders, &kernel) {
                return over;
            }
            let mut sources = [
                PollFd::new(&kernel, PollFlags::IN),
                PollFd::new(bell, PollFlags::IN),
                PollFd::new(table, PollFlags::PRI),
            ];
            match rustix::event::poll(&mut sources, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Over::lost("io", format!("the watch cannot wait: {errno}")),
            }
            let mounted = sources[2].revents().intersects(PollFlags::PRI | PollFlags::ERR);
            if self.is_closing() {
                return Over::Closed;
            }
            if mounted && self.mounts() != before {
                return Over::lost("mounts", "something was mounted or unmounted".to_owned());
            }
        }
    }

    /// Mounts at the root, and above and below it: mount number, device and place. The kernel tells watchers of no mount.
    fn mounts(&self) -> Vec<String> {
        let root = self.source.root.bytes();
        let concerns = |place: &[u8]| {
            let is_below =
                |one: &[u8], other: &[u8]| one.strip_prefix(other).is_some_and(|rest| rest.starts_with(b"/"));
            place == b"/" || root == b"/" || place == root || is_below(place, root) || is_below(root, place)
        };
        let table = mounts::table();
        let lines = table.lines().filter_map(|line| {
            let words: Vec<&str> = line.split(' ').take(5).collect();
            let place = mounts::unescaped(words.get(4)?);
            concerns(&place).then(|| words.join(" "))
        });
        lines.collect()
    }
}

/// The watch of one source.
struct DiskWatch {
    shared: Arc<Shared>,
    /// What rings when it ends, and its thread.
    begun: Option<(Arc<OwnedFd>, JoinHandle<()>)>,
}

impl Watch for DiskWatch {
    fn told(&mut self) -> Told {
        let mut pending = self.shared.lock();
        match &*pending {
            // It stays ended.
            Pending::Ended(reason) => Told::Ended(reason.clone()),
            _ => match std::mem::replace(&mut *pending, Pending::Nothing) {
                Pending::Changed { folders, since, until } => {
                    Told::Changed { scopes: folders.into_iter().map(Scope::Folder).collect(), since, until }
                }
                Pending::Lost(reason) => Told::Lost(reason),
                Pending::Nothing | Pending::Ended(_) => Told::Nothing,
            },
        }
    }

    fn grain_ms(&self) -> i64 {
        self.shared.grain_ms.load(Ordering::Relaxed)
    }
}

impl Drop for DiskWatch {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        if let Some((bell, thread)) = self.begun.take() {
            // It rings already if this cannot be written.
            let _ = rustix::io::write(&*bell, &1_u64.to_ne_bytes());
            // A panic of it was told by its hook.
            let _ended = thread.join();
        }
    }
}

#[cfg(test)]
mod tests;
