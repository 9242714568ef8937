//! The folders of a source that are watched: each by its own inotify watch, set before it is read.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;

use ingather_model::fault::{Fault, Reason};
use ingather_model::{limits, names};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;

use super::super::facts::Facts;
use super::super::root;
use super::super::rules::Ignored;
use super::{GONE, Shared};

/// Changes of what is in a folder, and of itself. A file that is appended to for days is never closed, so writes count, too.
const INSIDE: WatchFlags = WatchFlags::ATTRIB
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::ONLYDIR);
/// What comes and goes above the source is no concern of it.
const ABOVE: WatchFlags =
    WatchFlags::ATTRIB.union(WatchFlags::DELETE_SELF).union(WatchFlags::MOVE_SELF).union(WatchFlags::ONLYDIR);

/// Why a watch does not go on as it is.
pub(super) enum Over {
    /// Nobody wants it any more.
    Closed,
    /// It has to be set anew.
    Lost(Reason),
    /// It cannot tell all.
    Ended(Reason),
}

impl Over {
    pub(super) fn lost(code: &str, sentence: String) -> Over {
        Over::Lost(Reason::new(code, sentence))
    }

    fn ended(code: &str, sentence: String) -> Over {
        Over::Ended(Reason::new(code, sentence))
    }
}

/// A folder that is watched, by the number of its watch.
struct Node {
    above: i32,
    name: Box<[u8]>,
}

/// All that are.
pub(super) struct Folders {
    pub(super) kernel: Arc<OwnedFd>,
    nodes: HashMap<i32, Node>,
    below: BTreeMap<(i32, Box<[u8]>), i32>,
    /// Folders above the root.
    pub(super) above: HashSet<i32>,
    pub(super) root: i32,
    /// The one file that is the source, in the folder that stands for the root.
    pub(super) only: Option<Box<[u8]>>,
    /// Files and folders of the program itself.
    pub(super) own: BTreeSet<(i32, Box<[u8]>)>,
    /// The longest of the clocks that stamp changes.
    pub(super) grain_ms: i64,
    root_device: u64,
}

/// A folder that is open while those in it are entered.
struct Opened {
    handle: OwnedFd,
    facts: Facts,
    ignored: Option<Arc<Ignored>>,
}

/// A folder that waits to be entered.
struct Waiting {
    above: Rc<Opened>,
    watch_above: i32,
    name: Box<[u8]>,
    /// Below the root, without a slash at its end.
    path: Vec<u8>,
    depth: usize,
}

impl Folders {
    /// Watches all folders of the source.
    pub(super) fn stand(shared: &Shared) -> Result<Folders, Over> {
        let instances =
            "as many watches are under way as the kernel gives a user (fs.inotify.max_user_instances)";
        let kernel = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(|errno| {
            Over::ended(
                "instances",
                if errno == Errno::MFILE { instances.to_owned() } else { sentence(errno) },
            )
        })?;
        let mut folders = Folders {
            kernel: Arc::new(kernel),
            nodes: HashMap::new(),
            below: BTreeMap::new(),
            above: HashSet::new(),
            root: 0,
            only: None,
            own: BTreeSet::new(),
            grain_ms: limits::CLOCK_TICK_MS,
            root_device: 0,
        };
        let source = &shared.source;
        root::each_above(&source.root, |path, handle| {
            let closed = || {
                let path = names::escape(path);
                Over::ended(
                    "above",
                    format!("the folder `{path}` above the source cannot be watched by this user"),
                )
            };
            let facts = Facts::of_handle(handle).map_err(lost)?;
            refuse_elsewhere(shared, &facts, handle)?;
            let watch = folders.add(shared, handle, ABOVE)?.ok_or_else(closed)?;
            folders.above.insert(watch);
            Ok(())
        })?;
        let opened = root::open(&source.root, None).map_err(|fault| match fault {
            Fault::Gone => Over::ended(GONE, "the source is not there".to_owned()),
            other => Over::Ended(other.reason()),
        })?;
        if opened.is_file {
            folders.only = Some(source.root.name().into());
        }
        let root = Opened {
            facts: Facts::of_handle(&opened.folder).map_err(lost)?,
            handle: root::open_folder(&opened.folder, b".").map_err(|errno| {
                Over::ended("unreadable", format!("the source cannot be watched: {}", sentence(errno)))
            })?,
            ignored: None,
        };
        folders.root_device = root.facts.dev;
        folders.root = folders.watch(shared, &root)?.ok_or_else(|| lost(Errno::NOENT))?;
        folders.nodes.insert(folders.root, Node { above: 0, name: Box::default() });
        if folders.only.is_none() {
            let mut waiting = Vec::new();
            folders.read(shared, root, (folders.root, b"", 0), &mut waiting)?;
            folders.enter(shared, waiting, false)?;
        }
        Ok(folders)
    }

    /// Watches a folder that came, or one that opened, and all below it; a name that is left out, or is no folder that can be read, is
    /// none of ours: what becomes of it is told by the folder above.
    pub(super) fn come(&mut self, shared: &Shared, watch_above: i32, name: &[u8]) -> Result<(), Over> {
        let Some(path_above) = self.path(watch_above) else { return Ok(()) };
        let source = &shared.source;
        let Ok(standing) = root::open(&source.root, None) else {
            return Err(Over::lost("root", "the source is not where it was".to_owned()));
        };
        let Ok(mut handle) = root::open_folder(&standing.folder, b".") else { return Ok(()) };
        let mut ignored = None;
        let mut begin = 0;
        let mut depth = 0;
        loop {
            if source.rules.ignore_files {
                ignored = Ignored::below(ignored, &handle, &path_above[..begin]).map_err(lost)?;
            }
            let Some(length) = path_above[begin..].iter().position(|byte| *byte == b'/') else { break };
            match root::open_folder(&handle, &path_above[begin..begin + length]) {
                Ok(next) => handle = next,
                // What is in it is not told when it opens again, if it has a watch by then.
                Err(Errno::ACCESS | Errno::PERM) => {
                    return Err(Over::lost(
                        "closed",
                        "a folder was closed in which something came".to_owned(),
                    ));
                }
                // It was moved meanwhile: that is told, too.
                Err(errno) => return passed_by(errno),
            }
            begin += length + 1;
            depth += 1;
        }
        let facts = Facts::of_handle(&handle).map_err(lost)?;
        let mut waiting = Vec::new();
        let above = Rc::new(Opened { handle, facts, ignored });
        self.wait(shared, &above, (watch_above, &path_above, depth), name, &mut waiting);
        self.enter(shared, waiting, true)
    }

    /// Watches folders that wait, and all below them; `tells` of each.
    fn enter(&mut self, shared: &Shared, mut waiting: Vec<Waiting>, tells: bool) -> Result<(), Over> {
        while let Some(next) = waiting.pop() {
            if shared.is_closing() {
                return Err(Over::Closed);
            }
            let source = &shared.source;
            let handle = match root::open_folder(&next.above.handle, &next.name) {
                Ok(handle) => handle,
                Err(errno) => {
                    passed_by(errno)?;
                    continue;
                }
            };
            let facts = Facts::of_handle(&handle).map_err(lost)?;
            let device = source.left_by_device(&facts, next.above.facts.dev, self.root_device, &handle);
            if source.is_own(&facts) || device.is_some() {
                continue;
            }
            let ignored = next.above.ignored.clone();
            let opened = Opened { handle, facts, ignored };
            let Some(watch) = self.watch(shared, &opened)? else { continue };
            if !self.place(watch, next.watch_above, &next.name) {
                continue;
            }
            if self.nodes.len() > shared.watching.folders_max {
                let most = shared.watching.folders_max;
                return Err(Over::ended("folders", format!("it has more than {most} folders")));
            }
            if next.depth > limits::WATCH_DEPTH_MAX {
                let most = limits::WATCH_DEPTH_MAX;
                return Err(Over::ended("depth", format!("its folders are nested deeper than {most}")));
            }
            let mut path = next.path;
            path.push(b'/');
            if tells {
                shared.change(names::escape(&path).into_owned());
            }
            let mut below = Vec::new();
            self.read(shared, opened, (watch, &path, next.depth), &mut below)?;
            waiting.append(&mut below);
        }
        Ok(())
    }

    /// Reads the names in a folder: those of folders wait.
    fn read(
        &mut self,
        shared: &Shared,
        mut opened: Opened,
        (watch, path, depth): (i32, &[u8], usize),
        waiting: &mut Vec<Waiting>,
    ) -> Result<(), Over> {
        let source = &shared.source;
        if source.rules.ignore_files {
            opened.ignored = Ignored::below(opened.ignored.take(), &opened.handle, path).map_err(lost)?;
        }
        let opened = Rc::new(opened);
        let mut buffer = Vec::with_capacity(32 << 10);
        let mut directory = RawDir::new(&opened.handle, buffer.spare_capacity_mut());
        while let Some(entry) = directory.next() {
            let entry = entry.map_err(lost)?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            if source.own.iter().any(|(_, inode)| *inode == entry.ino()) {
                let facts = Facts::of_name(&opened.handle, name).ok();
                if facts.is_some_and(|facts| source.is_own(&facts)) {
                    self.own.insert((watch, name.into()));
                    continue;
                }
            }
            let is_folder = match entry.file_type() {
                FileType::Unknown => Facts::of_name(&opened.handle, name)
                    .is_ok_and(|facts| facts.kind() == FileType::Directory),
                kind => kind == FileType::Directory,
            };
            if is_folder {
                self.wait(shared, &opened, (watch, path, depth), name, waiting);
            }
        }
        Ok(())
    }

    fn wait(
        &self,
        shared: &Shared,
        above: &Rc<Opened>,
        (watch_above, path_above, depth): (i32, &[u8], usize),
        name: &[u8],
        waiting: &mut Vec<Waiting>,
    ) {
        let path = [path_above, name].concat();
        if shared.source.rules.leaves_out(&path, true, above.ignored.as_deref()).is_none() {
            waiting.push(Waiting {
                above: above.clone(),
                watch_above,
                name: name.into(),
                path,
                depth: depth + 1,
            });
        }
    }

    /// Watches what is open, if this user may and it is still there.
    fn watch(&mut self, shared: &Shared, opened: &Opened) -> Result<Option<i32>, Over> {
        let source = &shared.source;
        refuse_elsewhere(shared, &opened.facts, &opened.handle)?;
        let mounted = source.mounted(&opened.facts, &opened.handle);
        self.grain_ms = self.grain_ms.max(mounted.grain.longest_ms());
        self.add(shared, &opened.handle, INSIDE)
    }

    fn add(&self, shared: &Shared, handle: impl AsFd, wanted: WatchFlags) -> Result<Option<i32>, Over> {
        let path = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
        match inotify::add_watch(&*self.kernel, path.as_str(), wanted) {
            Ok(watch) => Ok(Some(watch)),
            Err(Errno::NOSPC) => {
                let most = "the kernel gives this user no more watches (fs.inotify.max_user_watches)";
                Err(Over::ended("folders", most.to_owned()))
            }
            Err(Errno::ACCESS | Errno::PERM | Errno::NOENT) => Ok(None),
            Err(errno) => {
                let root = shared.source.root.text();
                Err(Over::ended("io", format!("`{root}` cannot be watched: {}", sentence(errno))))
            }
        }
    }

    /// Takes note of where a folder is that is watched; false where it is watched under another name that leads to this one, as where a
    /// part of a tree is mounted in itself.
    fn place(&mut self, watch: i32, above: i32, name: &[u8]) -> bool {
        let mut at = above;
        while let Some(node) = self.nodes.get(&at) {
            if at == watch {
                return false;
            }
            at = node.above;
        }
        if let Some(before) = self.nodes.insert(watch, Node { above, name: name.into() }) {
            self.below.remove(&(before.above, before.name));
        }
        if let Some(other) = self.below.insert((above, name.into()), watch).filter(|other| *other != watch) {
            self.forget(other);
        }
        true
    }

    /// The folder `name` in another one, if it is watched.
    pub(super) fn watched(&self, above: i32, name: &[u8]) -> Option<i32> {
        self.below.get(&(above, Box::from(name))).copied()
    }

    /// Ends the watches of a folder and of all below it.
    pub(super) fn leave(&mut self, watch: i32) {
        if let Some(node) = self.nodes.get(&watch) {
            self.below.remove(&(node.above, node.name.clone()));
        }
        self.forget(watch);
    }

    fn forget(&mut self, watch: i32) {
        let mut going = vec![watch];
        while let Some(watch) = going.pop() {
            let inside = (watch, Box::default())..(watch.saturating_add(1), Box::default());
            let names: Vec<_> =
                self.below.range(inside.clone()).map(|(at, watch)| (at.clone(), *watch)).collect();
            for (at, below) in names {
                self.below.remove(&at);
                going.push(below);
            }
            // There are few of them in all.
            self.own.retain(|at| !inside.contains(at));
            self.nodes.remove(&watch);
            // A folder that was removed has none any more.
            let _ = inotify::remove_watch(&*self.kernel, watch);
        }
    }

    /// Below the root, with a slash at its end; none for what is not watched.
    pub(super) fn path(&self, watch: i32) -> Option<Vec<u8>> {
        let mut parts: Vec<&[u8]> = Vec::new();
        let mut at = watch;
        while at != self.root {
            let node = self.nodes.get(&at)?;
            parts.push(&node.name);
            at = node.above;
        }
        let mut path = Vec::new();
        for part in parts.into_iter().rev() {
            path.extend_from_slice(part);
            path.push(b'/');
        }
        Some(path)
    }
}

/// Refuses what lies on a file system of which the kernel of this machine does not tell all changes.
fn refuse_elsewhere(shared: &Shared, facts: &Facts, handle: impl AsFd) -> Result<(), Over> {
    if shared.source.trust.tells_all(facts, handle) {
        return Ok(());
    }
    let sentence = "some of it lies on a file system that others may change without this machine being told";
    Err(Over::ended("elsewhere", sentence.to_owned()))
}

/// What cannot be entered because it is gone, is something else, or is closed: the folder above tells when that changes.
fn passed_by(errno: Errno) -> Result<(), Over> {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::PERM => Ok(()),
        other => Err(lost(other)),
    }
}

fn lost(errno: Errno) -> Over {
    Over::lost("io", format!("a folder could not be read: {}", sentence(errno)))
}

fn sentence(errno: Errno) -> String {
    root::sentence(errno)
}
