//! Folders that were reached lately, so that a document beside another one costs one step and not one for each folder
//! above it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use ingather_connector::model::limits;
use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::Source;
use super::facts::Facts;
use super::root::{self, Spot};

/// Folders by the parent part of keys, with device and inode: the way down to each was judged, and nothing on it leaves
/// out what is below.
#[derive(Default)]
pub(super) struct Reached(Mutex<HashMap<String, (u64, u64)>>);

/// The parent part of a key, with its slash; empty at the root.
fn parent(key: &str) -> &str {
    &key[..key.rfind('/').map_or(0, |slash| slash + 1)]
}

impl Reached {
    /// Where the document `key` lies, when its folder is still what it was: the same one, under the same path, without
    /// a link on the way. None says nothing; the way down does.
    pub(super) fn beside(&self, source: &Source, key: &str) -> Option<Spot> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner).get(parent(key))?;
        let path = root::read_key(key).ok()?;
        if source.rules.leaves_out(&path, false, None).is_some() {
            return None;
        }
        let begin = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        let folder = [source.root.bytes(), b"/", &path[..begin]].concat();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // Kernels that cannot be asked like this, and paths that are too long for them, go the long way.
        let handle = rustix::fs::openat2(
            rustix::fs::CWD,
            folder.as_slice(),
            flags,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
        )
        .ok()?;
        let facts = Facts::of_handle(&handle).ok()?;
        (facts.id() == known).then(|| Spot { folder: handle, name: path[begin..].to_vec(), left: None })
    }

    /// Takes note of the folder of a document that was found by the way down. Ignore files are asked each time.
    pub(super) fn remember(&self, source: &Source, key: &str, spot: &Spot) {
        let is_file = source.base().is_some_and(|base| base.is_file);
        if spot.left.is_some() || source.rules.ignore_files || is_file {
            return;
        }
        let Ok(facts) = Facts::of_handle(&spot.folder) else { return };
        let mut folders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if folders.len() >= limits::FOLDERS_REACHED_MAX {
            folders.clear();
        }
        folders.insert(parent(key).to_owned(), facts.id());
    }
}
