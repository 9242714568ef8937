//! Two looks at folders: whether one stood between them, so that what was read in it meanwhile was read under the access that was
//! judged (design 4.20).
//!
//! A change time tells of a chmod, and of each entry that comes or goes as well. Folders that change while a run goes on are
//! therefore watched, where each change of them passes the kernel of this machine: it tells of changes of the folder itself alone.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ingather_contract::repository::ContainerReport;
use ingather_model::access::Acl;
use ingather_model::fault::Fault;
use ingather_model::key::Stamp;
use ingather_model::{limits, names};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::acls::{self, Right};
use super::facts::{Facts, millis};
use super::{Source, root};

/// Marks stamps of folders that are watched: no change time has so many nanoseconds.
const WATCHED: u32 = u32::MAX;

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
    /// Watched folders by device and inode, which they keep only as long: the number that stands for each since its last change, and
    /// for nothing else ever after.
    by_id: HashMap<(u64, u64), u64>,
    /// Their device and inode by the number that the kernel gave the watch.
    ids: HashMap<i32, (u64, u64)>,
    /// How many numbers were given.
    given: u64,
}

impl Drop for Watches {
    /// The kernel takes 10 to 20 ms to end watches, and nobody has to wait for that: a run that follows begins meanwhile.
    fn drop(&mut self) {
        if let Some(kernel) = self.kernel.take() {
            // Where no thread can be started it is closed here.
            let _ = std::thread::Builder::new().name("unwatch".to_owned()).spawn(move || drop(kernel));
        }
    }
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
        let Ok(number) = inotify::add_watch(kernel, path.as_str(), wanted) else { return false };
        // A folder that is watched already has its number: two that pass for one are none.
        if let Some(other) = self.ids.insert(number, id) {
            self.by_id.remove(&other);
        }
        self.given += 1;
        self.by_id.insert(id, self.given);
        true
    }

    /// Takes note of all that the kernel has told until now.
    fn listen(&mut self) {
        let Some(kernel) = self.kernel.take() else { return };
        let mut buffer = [MaybeUninit::uninit(); 4_096];
        let mut told = Reader::new(&kernel, &mut buffer);
        loop {
            match told.next() {
                // The kernel could not keep all that it had to tell: of which folders, nobody knows.
                Ok(event) if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => return self.forget(),
                // With a name it tells of an entry.
                Ok(event) if event.file_name().is_none() => self.take(event.wd(), event.events()),
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return self.forget(),
            }
        }
        self.kernel = Some(kernel);
    }

    /// Takes note of what has happened to a folder.
    fn take(&mut self, number: i32, what: ReadFlags) {
        let Some(id) = self.ids.get(&number).copied() else { return };
        // Another folder may have its inode from now on, and nothing is told of that one.
        if what.intersects(ReadFlags::IGNORED | ReadFlags::DELETE_SELF | ReadFlags::UNMOUNT) {
            self.ids.remove(&number);
            self.by_id.remove(&id);
        } else if let Some(since) = self.by_id.get_mut(&id) {
            self.given += 1;
            *since = self.given;
        }
    }

    /// Ends all watches: what was told by one equals nothing that is told later.
    fn forget(&mut self) {
        self.kernel = None;
        self.by_id.clear();
        self.ids.clear();
    }

    /// The stamp of a folder that is watched.
    fn stamp(&self, facts: &Facts) -> Option<Stamp> {
        self.by_id.get(&facts.id()).map(|since| of_watch(facts, *since))
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
        let grain = source.mounted(facts, handle).grain.of(facts.ctime);
        let changed = millis(facts.ctime).saturating_add(grain);
        if changed < began && !always {
            return of_times(facts);
        }
        let mut watches = self.lock();
        // A watch that has ended is none: what is open now may only have the inode of what was watched.
        watches.listen();
        let watched = watches.by_id.contains_key(&facts.id())
            || (source.trust.tells_all(facts, handle) && watches.add(facts.id(), handle));
        if watched {
            // The watch is older than the facts, and both are older than the access that is asked for next.
            let since = watches.by_id.get(&facts.id()).copied();
            drop(watches);
            match Facts::of_handle(handle) {
                Ok(now) if now.id() == facts.id() => *facts = now,
                _ => return Stamp::NONE,
            }
            return since.map_or(Stamp::NONE, |since| of_watch(facts, since));
        }
        if changed < began || now.is_some_and(|now| changed < now) { of_times(facts) } else { Stamp::NONE }
    }
}

/// Where there is no change time of its own, who may pass tells at least what is not as it was.
fn of_times(facts: &Facts) -> Stamp {
    let (device, inode) = with_rights(facts);
    Stamp([device, inode, facts.ctime.0 as u64, beside_mount(facts, facts.ctime.1)])
}

/// The stamp of a folder that is watched, and did not change since that number was given. Who may pass by its mode is part of it: two
/// looks that differ there are not equal, whatever the kernel has told until now.
fn of_watch(facts: &Facts, since: u64) -> Stamp {
    let (device, inode) = with_rights(facts);
    Stamp([device, inode, since, beside_mount(facts, WATCHED)])
}

/// Device and inode, each mixed with what tells who may pass: mode, and owner.
fn with_rights(facts: &Facts) -> (u64, u64) {
    let owner = (u64::from(facts.uid) << 32 | u64::from(facts.gid)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (facts.dev ^ u64::from(facts.mode) << 32, facts.ino ^ owner)
}

/// Another mount under the same name is another container: what is in it may have the device, the inodes and the times of what was.
fn beside_mount(facts: &Facts, nanoseconds: u32) -> u64 {
    facts.mount << 32 | u64::from(nanoseconds)
}

/// The second look at folders, by their paths.
pub(super) fn again(source: &Source, containers: &[&str]) -> Vec<Stamp> {
    let mut watches = source.looks.lock();
    watches.listen();
    let stamp = |container: &&str| {
        let facts = by_path(container).filter(|facts| facts.kind() == FileType::Directory)?;
        Some(watches.stamp(&facts).unwrap_or_else(|| of_times(&facts)))
    };
    containers.iter().map(|container| stamp(container).unwrap_or(Stamp::NONE)).collect()
}

/// What stands under a path now. Links on the way are noticed by the looks at the folders above.
fn by_path(container: &str) -> Option<Facts> {
    let path = names::unescape(container).ok()?;
    match Facts::of_name(CWD, &*path) {
        Ok(facts) => Some(facts),
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
    acl: impl FnOnce(&'h OwnedFd, &Facts, Right) -> Acl,
) -> (Stamp, Acl) {
    let stamp = source.looks.stamp(source, facts, handle, now, false);
    (stamp, source.of_folder(facts, handle, || acl(handle, facts, Right::Execute)))
}

/// A first look at a folder that is open as a path: who may pass through it, and its facts.
pub(super) fn report(
    source: &Source,
    handle: &OwnedFd,
    name: String,
    parent: Option<String>,
    folder: Option<String>,
    now: Option<i64>,
) -> rustix::io::Result<(ContainerReport, Facts)> {
    let mut facts = Facts::of_handle(handle)?;
    // Those above the source are few, and what comes and goes in them is no concern of it.
    let stamp = source.looks.stamp(source, &mut facts, handle, now, folder.is_none());
    let acl = source.of_folder(&facts, handle, || acls::of_path(handle, &facts, Right::Execute));
    Ok((ContainerReport { name, parent, identity: facts.container_identity(), acl, folder, stamp }, facts))
}

/// Looks at all folders above a document, from `/` down.
pub(super) fn containers_of(source: &Source, now: i64, key: &str) -> Result<Vec<ContainerReport>, Fault> {
    source.looks.begin(now);
    let containers = look_down(source, now, key);
    // Whatever has changed, folders that were reached before these looks prove nothing.
    source.reached.forget();
    containers
}

fn look_down(source: &Source, now: i64, key: &str) -> Result<Vec<ContainerReport>, Fault> {
    let mut containers = Vec::new();
    let root = root::open(&source.root, Some((source, &mut containers, Some(now))))?;
    let path = root::read_key(key).map_err(root::Stop::fault)?;
    if root.is_file {
        source.reached.enter("", &Facts::of_handle(&root.folder).map_err(|errno| root::fault(errno, "`/`"))?);
        // The folder that holds the file rules all keys that there are.
        if let Some(container) = containers.last_mut() {
            container.folder = Some(String::new());
        }
        return Ok(containers);
    }
    let label = || format!("folder `{}`", source.folder_of(key));
    let above = |containers: &[ContainerReport]| containers.last().map(|container| container.name.clone());
    let parent = above(&containers);
    let (container, facts) =
        report(source, &root.folder, source.root.text(), parent, Some(String::new()), Some(now))
            .map_err(|errno| root::fault(errno, &label()))?;
    source.reached.enter("", &facts);
    containers.push(container);
    let mut handle = root.folder;
    let mut parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    parts.pop();
    let mut folder = String::new();
    for part in parts {
        let fault = |errno| root::fault(errno, &label());
        handle = root::open_path(&handle, part).map_err(fault)?;
        let name = names::escape(part);
        let parent = above(&containers);
        let container = format!("{}/{name}", parent.as_deref().unwrap_or_default().trim_end_matches('/'));
        folder.push_str(&name);
        folder.push('/');
        let (container, facts) =
            report(source, &handle, container, parent, Some(folder.clone()), Some(now)).map_err(fault)?;
        if facts.kind() != FileType::Directory {
            return Err(Fault::Gone);
        }
        source.reached.enter(&folder, &facts);
        containers.push(container);
    }
    Ok(containers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, OwnedFd) {
        let folder = tempfile::tempdir().unwrap();
        let handle = std::fs::File::open(folder.path()).unwrap();
        (folder, handle.into())
    }

    fn facts(ino: u64) -> Facts {
        Facts { dev: 1, ino, ..super::super::facts::none() }
    }

    fn close(folder: &tempfile::TempDir) {
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_folder_with_the_inode_of_one_that_was_watched_and_removed_is_not_that_one() {
        // What a file system does that gives an inode again at once.
        let facts = facts(2);
        let mut watches = Watches::default();
        let (first, handle) = folder();
        assert!(watches.add(facts.id(), &handle));
        let before = watches.stamp(&facts);
        drop((first, handle));
        watches.listen();
        assert_eq!((before.is_some(), watches.stamp(&facts)), (true, None), "nobody watches it any more");
        let (second, handle) = folder();
        assert!(watches.add(facts.id(), &handle));
        let after = watches.stamp(&facts);
        assert_ne!(before, after, "what was told of one is not told of the other");
        close(&second);
        watches.listen();
        assert_ne!(watches.stamp(&facts), after, "the watch is alive");
    }

    #[test]
    fn a_watched_folder_with_another_mode_or_owner_is_not_as_it_was_whatever_was_told() {
        let (_folder, handle) = folder();
        let mut watches = Watches::default();
        let before = facts(2);
        assert!(watches.add(before.id(), &handle));
        let others = [
            Facts { mode: 0o040_700, ..facts(2) },
            Facts { uid: 7, ..facts(2) },
            Facts { gid: 7, ..facts(2) },
        ];
        assert!(others.iter().all(|other| watches.stamp(other) != watches.stamp(&before)));
        assert_eq!(watches.stamp(&facts(2)), watches.stamp(&before));
    }

    #[test]
    fn after_events_were_lost_no_stamp_is_as_before() {
        let (folder, handle) = folder();
        let mut watches = Watches::default();
        assert!(watches.add((1, 2), &handle));
        let before = watches.stamp(&facts(2));
        // Each event beside another one, or the kernel makes one of both.
        let (other, handle_of_other) = self::folder();
        assert!(watches.add((1, 3), &handle_of_other));
        let most = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
        for _ in 0..=most.trim().parse::<u32>().unwrap() / 2 {
            close(&other);
            close(&folder);
        }
        watches.listen();
        assert_eq!(watches.stamp(&facts(2)), None);
        assert!(watches.add((1, 2), &handle));
        assert_ne!(watches.stamp(&facts(2)), before);
        let before = watches.stamp(&facts(2));
        close(&folder);
        watches.listen();
        assert_ne!(watches.stamp(&facts(2)), before);
    }
}
