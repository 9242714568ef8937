//! Two looks at folders: whether one stood between them, so that what was read in it meanwhile was read under the access that was
//! judged (design 4.20).
//!
//! A change time tells of a chmod, and of each entry that comes or goes as well. Folders that change while a run goes on are
//! therefore watched, as far as the kernel of this machine decides about them: it tells of changes of the folder itself alone.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ingather_connector::model::access::Level;
use ingather_connector::model::fault::Fault;
use ingather_connector::model::key::Stamp;
use ingather_connector::model::{limits, names};
use ingather_connector::repository::PlaceReport;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::facts::{Facts, millis};
use super::levels::{self, Right};
use super::{Source, root};

/// Marks stamps of folders that are watched: no change time has so many nanoseconds.
const WATCHED: u64 = u64::MAX;

/// What is known of the folders of one source beside their times.
pub(super) struct Looks {
    /// When the first look was, milliseconds since 1970 UTC.
    began: AtomicI64,
    watches: Mutex<Watches>,
}

impl Default for Looks {
    fn default() -> Looks {
        Looks { began: AtomicI64::new(i64::MAX), watches: Mutex::default() }
    }
}

#[derive(Default)]
struct Watches {
    /// None until the first folder is watched, and where the system gives none.
    kernel: Option<OwnedFd>,
    /// Watched folders by device and inode.
    by_id: HashMap<(u64, u64), i32>,
    /// How often each has changed since it is watched.
    changes: HashMap<i32, u64>,
    /// How often the kernel could not keep all that it had to tell.
    lost: u64,
}

impl Watches {
    /// Watches what is open as `handle`; whether it is watched from now on.
    fn add(&mut self, id: (u64, u64), handle: impl AsFd) -> bool {
        if self.by_id.len() >= limits::FOLDERS_WATCHED_MAX {
            return false;
        }
        if self.kernel.is_none() {
            self.kernel = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok();
        }
        let Some(kernel) = &self.kernel else { return false };
        let path = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
        let wanted =
            WatchFlags::ATTRIB | WatchFlags::MOVE_SELF | WatchFlags::DELETE_SELF | WatchFlags::ONLYDIR;
        let Ok(watch) = inotify::add_watch(kernel, path.as_str(), wanted) else { return false };
        self.by_id.insert(id, watch);
        self.changes.entry(watch).or_default();
        true
    }

    /// Takes note of all that the kernel has told until now.
    fn listen(&mut self) {
        let Some(kernel) = &self.kernel else { return };
        let mut buffer = [MaybeUninit::uninit(); 4_096];
        let mut told = Reader::new(kernel, &mut buffer);
        loop {
            match told.next() {
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => self.lost += 1,
                // With a name it tells of an entry.
                Ok(event) if event.file_name().is_none() => {
                    *self.changes.entry(event.wd()).or_default() += 1;
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    self.lost += 1;
                    return;
                }
            }
        }
    }

    /// The stamp of a folder that is watched.
    fn stamp(&self, id: (u64, u64)) -> Option<Stamp> {
        let watch = self.by_id.get(&id)?;
        let changes = self.changes.get(watch).copied().unwrap_or_default();
        // A watch number is never given twice in one process.
        let told = (*watch as u64) << 48 ^ self.lost << 32 ^ changes;
        Some(Stamp([id.0, id.1, told, WATCHED]))
    }
}

impl Looks {
    fn lock(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A first look begins at `now`.
    pub(super) fn begin(&self, now: i64) {
        self.began.fetch_min(now, Ordering::Relaxed);
    }

    /// The stamp of a folder that is open as `handle`. `facts` were asked for after `now` (none: when the first look began), and
    /// are asked for again where a watch has to come first: when it changed lately, or `always`.
    pub(super) fn stamp(
        &self,
        source: &Source,
        facts: &mut Facts,
        handle: &OwnedFd,
        now: Option<i64>,
        always: bool,
    ) -> Stamp {
        let began = self.began.load(Ordering::Relaxed);
        let grain = source.grain(facts, handle).of(facts.ctime);
        let changed = millis(facts.ctime).saturating_add(grain);
        if changed < began && !always {
            return of_times(facts);
        }
        let mut watches = self.lock();
        let watched = watches.by_id.contains_key(&facts.id())
            || (source.trust.decides_here(facts, handle) && watches.add(facts.id(), handle));
        if watched {
            watches.listen();
            let stamp = watches.stamp(facts.id());
            drop(watches);
            match Facts::of_handle(handle) {
                Ok(now) if now.id() == facts.id() => *facts = now,
                _ => return Stamp::NONE,
            }
            return stamp.unwrap_or(Stamp::NONE);
        }
        if changed < began || now.is_some_and(|now| changed < now) { of_times(facts) } else { Stamp::NONE }
    }
}

fn of_times(facts: &Facts) -> Stamp {
    Stamp([facts.dev, facts.ino, facts.ctime.0 as u64, u64::from(facts.ctime.1)])
}

/// The second look at folders, by their paths.
pub(super) fn again(source: &Source, places: &[&str]) -> Vec<Stamp> {
    let mut watches = source.looks.lock();
    watches.listen();
    let stamp = |place: &&str| {
        let facts = by_path(place).filter(|facts| facts.kind() == FileType::Directory)?;
        Some(watches.stamp(facts.id()).unwrap_or_else(|| of_times(&facts)))
    };
    places.iter().map(|place| stamp(place).unwrap_or(Stamp::NONE)).collect()
}

/// What stands under a path now. Links on the way are noticed by the looks at the folders above.
fn by_path(place: &str) -> Option<Facts> {
    let path = names::unescape(place).ok()?;
    match Facts::of_name(CWD, &path) {
        Ok((facts, _)) => Some(facts),
        Err(Errno::NAMETOOLONG) => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let mut folder = rustix::fs::open("/", flags, Mode::empty()).ok()?;
            for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
                folder = root::open_path(&folder, part).ok()?;
            }
            Facts::of_handle(&folder).ok()
        }
        Err(_) => None,
    }
}

/// A first look at a folder that is open as `handle`: its stamp, and then who may pass through it.
pub(super) fn judge<'h>(
    source: &Source,
    facts: &mut Facts,
    handle: &'h OwnedFd,
    now: Option<i64>,
    level: impl FnOnce(&'h OwnedFd, &Facts, Right) -> Level,
) -> (Stamp, Level) {
    let stamp = source.looks.stamp(source, facts, handle, now, false);
    (stamp, source.of_folder(facts, handle, || level(handle, facts, Right::Execute)))
}

/// A first look at a folder that is open as a path: who may pass through it, and its facts.
pub(super) fn report(
    source: &Source,
    handle: &OwnedFd,
    name: String,
    parent: Option<String>,
    folder: Option<String>,
    now: Option<i64>,
) -> rustix::io::Result<(PlaceReport, Facts)> {
    let mut facts = Facts::of_handle(handle)?;
    // Those above the source are few, and what comes and goes in them is no concern of it.
    let stamp = source.looks.stamp(source, &mut facts, handle, now, folder.is_none());
    let level = source.of_folder(&facts, handle, || levels::of_path(handle, &facts, Right::Execute));
    Ok((PlaceReport { name, parent, identity: facts.place_identity(), level, folder, stamp }, facts))
}

/// Looks at all folders above a document, from `/` down.
pub(super) fn places_of(source: &Source, now: i64, key: &str) -> Result<Vec<PlaceReport>, Fault> {
    source.looks.begin(now);
    // Whatever has changed, folders that were reached before prove nothing.
    source.reached.forget();
    let mut places = Vec::new();
    let root = root::open(&source.root, Some((source, &mut places, Some(now))))?;
    let path = root::read_key(key).map_err(root::Stop::fault)?;
    if root.is_file {
        // The folder that holds the file rules all keys that there are.
        if let Some(place) = places.last_mut() {
            place.folder = Some(String::new());
        }
        return Ok(places);
    }
    let label = || format!("folder `{}`", source.folder_of(key));
    let above = |places: &[PlaceReport]| places.last().map(|place| place.name.clone());
    let parent = above(&places);
    let (place, _) = report(source, &root.folder, source.root.text(), parent, Some(String::new()), Some(now))
        .map_err(|errno| root::fault(errno, &label()))?;
    places.push(place);
    let mut handle = root.folder;
    let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    parts.pop();
    let mut folder = String::new();
    for part in parts {
        let fault = |errno| root::fault(errno, &label());
        handle = root::open_path(&handle, part).map_err(fault)?;
        let name = names::escape(part);
        let parent = above(&places);
        let place = format!("{}/{name}", parent.as_deref().unwrap_or_default().trim_end_matches('/'));
        folder.push_str(&name);
        folder.push('/');
        let (place, facts) =
            report(source, &handle, place, parent, Some(folder.clone()), Some(now)).map_err(fault)?;
        if facts.kind() != FileType::Directory {
            return Err(Fault::Gone);
        }
        places.push(place);
    }
    Ok(places)
}
