//! Folders that were reached lately, so that a document beside another one costs one step and not one for each folder
//! above it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ingather_model::key::parent_bytes;
use ingather_model::limits;
use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::facts::Facts;
use super::root::{self, Spot};
use super::{Source, Taken};

/// Folders by the parent part of keys.
#[derive(Default)]
pub(super) struct Reached(Mutex<Folders>);

struct Folders {
    /// The way down to each was judged, and nothing on it leaves out what is below. Those that were reached lately, and those
    /// before them.
    judged: [HashMap<String, Judged>; 2],
    /// Those that are open, the latest last.
    open: VecDeque<Open>,
    /// How often those that were open were let go of.
    forgotten: u64,
    /// Where another mount begins, as a listing or a look at all folders above a document has found it last; the root is one.
    /// None when there are too many to be kept.
    mounts: Option<BTreeMap<String, u64>>,
}

impl Default for Folders {
    fn default() -> Folders {
        Folders {
            judged: Default::default(),
            open: VecDeque::new(),
            forgotten: 0,
            mounts: Some(BTreeMap::new()),
        }
    }
}

/// What tells a folder from another one under its path.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Judged {
    id: (u64, u64),
    mount: u64,
}

impl Folders {
    fn is_judged(&self, parent: &str) -> Option<Judged> {
        self.judged.iter().find_map(|judged| judged.get(parent)).copied()
    }

    /// The mount of a folder, as it was looked at last; none when nobody has looked.
    fn mount(&self, folder: &str) -> Option<u64> {
        let mounts = self.mounts.as_ref()?;
        let mut at = folder;
        loop {
            if let Some(mount) = mounts.get(at) {
                return Some(*mount);
            }
            at = above(at)?;
        }
    }

    /// Takes note of the mount of a folder that was looked at.
    fn enter(&mut self, folder: &str, mount: u64) {
        if self.mount(folder) == Some(mount) {
            return;
        }
        let before = above(folder).and_then(|above| self.mount(above));
        let Some(mounts) = &mut self.mounts else { return };
        if before == Some(mount) {
            mounts.remove(folder);
        } else if mounts.len() < limits::MOUNTS_ENTERED_MAX || mounts.contains_key(folder) {
            mounts.insert(folder.to_owned(), mount);
        } else {
            self.mounts = None;
        }
    }
}

/// The folder that a folder of keys is in; none above the root.
fn above(folder: &str) -> Option<&str> {
    folder.strip_suffix('/').map(parent)
}

impl Judged {
    fn of(facts: &Facts) -> Judged {
        Judged { id: facts.id(), mount: facts.mount }
    }
}

/// A folder that stood under its path when it was opened. Whether it still does is asked once for all that is read in it
/// ([`super::looks`]).
struct Open {
    parent: String,
    judged: Judged,
    handle: Arc<OwnedFd>,
}

/// The parent part of a key, with its slash; empty at the root.
fn parent(key: &str) -> &str {
    &key[..parent_bytes(key)]
}

impl Reached {
    fn lock(&self) -> MutexGuard<'_, Folders> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the document `key` when its folder is still what it was: the same one, under the same path, without a link
    /// on the way. None says nothing; the way down does.
    pub(super) fn open_beside(&self, source: &Source, key: &str, flags: OFlags) -> Option<Taken> {
        let taken = self.try_open(source, key, flags);
        if taken.is_none() {
            // There may be no handles left: the way down needs them more.
            self.forget();
        }
        taken
    }

    /// Lets go of the folders that are open.
    pub(super) fn forget(&self) {
        let mut folders = self.lock();
        folders.open.clear();
        folders.forgotten += 1;
    }

    fn try_open(&self, source: &Source, key: &str, flags: OFlags) -> Option<Taken> {
        let path = root::read_key(key).ok()?;
        if source.rules.leaves_out(&path, false, None).is_some() {
            return None;
        }
        let begin = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let (above, name) = path.split_at(begin);
        let folder = self.folder(source, parent(key), above)?;
        // Nothing is opened before it is known to be a file: a pipe or a device would notice.
        let (file, born) = Facts::of_new(&folder, name).ok()?;
        if source.left_by_facts(&file).is_some() {
            return None;
        }
        let handle = rustix::fs::openat(&folder, name, flags, Mode::empty()).ok()?;
        let facts = Facts::of_handle(&handle).ok()?;
        (facts.id() == file.id()).then_some(Taken { handle, facts, born, stands: true })
    }

    /// Opens the folder `parent`, with the path `above` below the root.
    fn folder(&self, source: &Source, parent: &str, above: &[u8]) -> Option<Arc<OwnedFd>> {
        let folders = self.lock();
        if let Some(open) = folders.open.iter().rev().find(|open| open.parent == parent) {
            return Some(open.handle.clone());
        }
        let known = folders.is_judged(parent)?;
        let forgotten = folders.forgotten;
        drop(folders);
        // Kernels that cannot be asked like this, and paths that are too long for them, go the long way.
        let handle = rustix::fs::openat2(
            rustix::fs::CWD,
            [source.root.bytes(), b"/", above].concat().as_slice(),
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
        )
        .ok()?;
        if Judged::of(&Facts::of_handle(&handle).ok()?) != known {
            return None;
        }
        let handle = Arc::new(handle);
        let mut folders = self.lock();
        // Opened before somebody looked again, it is good for who asked and for nobody who looked since.
        if folders.forgotten == forgotten && folders.is_judged(parent) == Some(known) {
            if folders.open.len() >= limits::FOLDERS_STANDING_MAX {
                folders.open.pop_front();
            }
            folders.open.push_back(Open { parent: parent.to_owned(), judged: known, handle: handle.clone() });
        }
        Some(handle)
    }

    /// Takes note of the folder of a document that was found by the way down. False when it is on another mount than at the last look
    /// at it: what lies there is of a folder that nobody has judged, and no later look tells of a mount that is gone by then.
    pub(super) fn remember(&self, source: &Source, key: &str, spot: &Spot) -> bool {
        let Ok(facts) = Facts::of_handle(&spot.folder) else { return false };
        let parent = parent(key);
        if self.lock().mount(parent).is_some_and(|mount| mount != facts.mount) {
            return false;
        }
        let is_file = source.base().is_some_and(|base| base.is_file);
        if spot.left.is_none() && !is_file {
            self.judge(source, parent, &facts);
        }
        true
    }

    /// Takes note of a folder that a look at it, and at those above it, has entered.
    pub(super) fn enter(&self, folder: &str, facts: &Facts) {
        self.lock().enter(folder, facts.mount);
    }

    /// Takes note of a folder that a listing entered.
    pub(super) fn note(&self, source: &Source, folder: &str, facts: &Facts) {
        self.enter(folder, facts);
        self.judge(source, folder, facts);
    }

    /// Takes note of a folder whose way down was judged. Ignore files are asked each time.
    fn judge(&self, source: &Source, folder: &str, facts: &Facts) {
        if source.rules.ignore_files {
            return;
        }
        let known = Judged::of(facts);
        let mut folders = self.lock();
        // What is open and was another one says nothing about documents of this one.
        if !folders.open.is_empty() {
            folders.open.retain(|open| open.judged == known || open.parent != folder);
        }
        let judged = &mut folders.judged;
        if judged[0].len() >= limits::FOLDERS_REACHED_MAX / 2 {
            judged[1] = std::mem::take(&mut judged[0]);
        }
        judged[0].insert(folder.to_owned(), known);
    }
}
