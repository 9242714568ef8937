//! Listing one folder: its entries, its access, and whether it held still meanwhile.

mod entries;

use std::collections::HashSet;
use std::hash::Hasher as _;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ingather_contract::repository::{ContainerReport, Group, Skipped};
use ingather_model::access::Acl;
use ingather_model::key::Stamp;
use ingather_model::limits;
use ingather_model::names;
use ingather_model::scope::{BlindSpot, Scope};
use rustix::fs::{FileType, RawDir, SeekFrom};
use rustix::io::Errno;
use siphasher::sip::SipHasher13;

use self::entries::Found;
use super::acls;
use super::facts::{self, Facts};
use super::looks;
use super::mounts::Mounted;
use super::root;
use super::rules::{Ignored, Left};
use super::walk::{Pages, Shared, Stopped, Waiting};

/// A folder that was listed, for those below it.
pub(super) struct Node {
    parent: Option<Arc<Node>>,
    name: Box<[u8]>,
    /// Name below the root with its slash; empty for the root.
    key: String,
    /// Bytes behind `key`; only when a rule needs them.
    path: Vec<u8>,
    container: String,
    depth: usize,
    ignored: Option<Arc<Ignored>>,
    handle: Option<Handle>,
    facts: Facts,
}

/// A folder that stays open, counted.
struct Handle {
    fd: OwnedFd,
    open: Arc<AtomicUsize>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Node {
    /// Lets go of the folders above one after the other: thousands of nested drops would not fit on the stack.
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some(mut node) = parent.and_then(Arc::into_inner) {
            parent = node.parent.take();
        }
    }
}

/// Lists folders one after the other, in one thread.
pub(super) struct Lister<'a> {
    shared: &'a Shared,
    pub(super) pages: Pages,
    /// The mount that was met last, for almost all folders are on it, and what stands for it.
    mounted: Option<(u64, Mounted)>,
    buffer: Vec<u8>,
    /// Path of the entry that a rule is asked about.
    path: Vec<u8>,
    by_name: bool,
}

impl<'a> Lister<'a> {
    pub(super) fn new(shared: &'a Shared, pages: Pages) -> Lister<'a> {
        let by_name = shared.source.rules.speak_of_names();
        let buffer = Vec::with_capacity(32 << 10);
        Lister { shared, pages, mounted: None, buffer, path: Vec::new(), by_name }
    }

    /// Lists one folder into the page; folders below it are added to `below`.
    pub(super) fn list(&mut self, waiting: Waiting, below: &mut Vec<Waiting>) -> Result<(), Stopped> {
        let mut node = node_of(self.shared, waiting);
        self.pages.room_for(2)?;
        if node.depth > limits::FOLDER_DEPTH_MAX {
            let sentence = format!("folders are nested deeper than {}", limits::FOLDER_DEPTH_MAX);
            self.blind(&node, "too_deep", sentence);
            return Ok(());
        }
        let handle = match open(self.shared, node.parent.as_deref(), &node.name, root::open_folder) {
            Ok(handle) => handle,
            Err(errno) => {
                self.not_opened(&mut node, errno);
                return Ok(());
            }
        };
        node.facts = match Facts::of_handle(&handle) {
            Ok(facts) => facts,
            Err(errno) => {
                self.blind(&node, "unreadable", root::sentence(errno));
                return Ok(());
            }
        };
        if self.stays_out(&node, &handle) {
            return Ok(());
        }
        let source = &self.shared.source;
        source.reached.note(source, &node.key, &node.facts);
        let judged = looks::judge(source, &mut node.facts, &handle, None, acls::of_handle);
        self.report_container(&node, judged);
        if self.by_name {
            // The name was made from these very bytes.
            node.path = names::unescape(&node.key).unwrap_or_default().into_owned();
        }
        if self.shared.source.rules.ignore_files {
            match Ignored::below(node.ignored.take(), &handle, &node.path) {
                Ok(ignored) => node.ignored = ignored,
                Err(errno) => {
                    let sentence = format!("its ignore file cannot be read: {}", root::sentence(errno));
                    self.blind(&node, "unreadable", sentence);
                    return Ok(());
                }
            }
        }
        let children = self.look(&mut node, &handle)?;
        self.descend(node, handle, children, below)
    }

    /// Looks at the folder until it holds still; returns the folders in it.
    fn look(&mut self, node: &mut Node, handle: &OwnedFd) -> Result<Vec<Box<[u8]>>, Stopped> {
        let mut found = Found::default();
        for attempt in 1..=limits::LIST_ATTEMPTS_MAX {
            if attempt > 1 {
                found = Found { sent: found.sent, ..Found::default() };
                match rustix::fs::seek(handle, SeekFrom::Start(0)).and_then(|_| Facts::of_handle(handle)) {
                    Ok(facts) => node.facts = facts,
                    Err(errno) => {
                        self.blind(node, "unreadable", root::sentence(errno));
                        return Ok(Vec::new());
                    }
                }
            }
            self.entries(node, handle, &mut found)?;
            let still = node.facts.still(handle);
            if (still && !found.moving)
                || found.failure.is_some()
                || found.sent.len() >= limits::FOLDER_NAMES_MAX
            {
                return self.settle(node, found, still);
            }
        }
        self.settle(node, found, false)
    }

    /// Puts what was found into the page: proven when the folder held still and everything in it could be looked at.
    fn settle(&mut self, node: &Node, mut found: Found, still: bool) -> Result<Vec<Box<[u8]>>, Stopped> {
        self.pages.room_for(found.weight() + 1)?;
        let empty = node.parent.is_none() && found.entries == 0;
        self.add(node, &mut found);
        self.pages.page.root_empty |= empty;
        if let Some(errno) = found.failure {
            self.blind(
                node,
                "unreadable",
                format!("entries of it cannot be looked at: {}", root::sentence(errno)),
            );
        } else if still && !found.moving {
            self.pages.page.proven.push(Scope::Folder(node.key.clone()));
        } else {
            self.blind(node, "changing", "it changed each time that it was listed".to_owned());
        }
        Ok(found.children)
    }

    /// Moves items and skipped names into the page.
    fn add(&mut self, node: &Node, found: &mut Found) {
        self.pages.weight += found.weight();
        self.pages.page.skipped.append(&mut found.skipped);
        if !found.items.is_empty() {
            let items = std::mem::take(&mut found.items);
            self.shared.source.trust.count(&node.facts, items.len());
            found.alone.drain(..).for_each(|facts| self.shared.source.trust.count(&facts, 1));
            self.pages.page.groups.push(Group {
                parent: node.key.clone(),
                container: Some(node.container.clone()),
                items,
                ..Group::default()
            });
        }
    }

    /// Reads all entries once.
    fn entries(&mut self, node: &Node, handle: &OwnedFd, found: &mut Found) -> Result<(), Stopped> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let now = self.shared.call.now();
        let mounted = self.mounted(&node.facts, handle);
        let known: HashSet<u64> = found.sent.iter().copied().collect();
        let mut directory = RawDir::new(handle, buffer.spare_capacity_mut());
        let mut result = Ok(());
        while let Some(entry) = directory.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) => {
                    found.failure = Some(errno);
                    break;
                }
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            found.entries += 1;
            let is_folder = entry.file_type() == FileType::Directory;
            if !known.is_empty() && !is_folder && known.contains(&hash(name.to_bytes())) {
                continue;
            }
            self.entry(node, handle, (name, entry.file_type()), (now, &mounted), found);
            if found.weight() + 2 > limits::PAGE_ITEMS_MAX || found.entries.is_multiple_of(4_096) {
                result = self.interim(node, found);
                if result.is_err() {
                    break;
                }
            }
        }
        self.buffer = buffer;
        result
    }

    fn mounted(&mut self, facts: &Facts, handle: &OwnedFd) -> Mounted {
        if let Some((key, mounted)) = self.mounted
            && key == facts.mounted()
        {
            return mounted;
        }
        let mounted = self.shared.source.mounted(facts, handle);
        self.mounted = Some((facts.mounted(), mounted));
        mounted
    }

    /// Sends part of a folder that is larger than a page, and remembers the names in case it must be listed again.
    fn interim(&mut self, node: &Node, found: &mut Found) -> Result<(), Stopped> {
        if self.shared.stopped() {
            return Err(Stopped);
        }
        if found.weight() + 2 <= limits::PAGE_ITEMS_MAX {
            return Ok(());
        }
        let names = found.items.iter().map(|item| item.name.as_bytes());
        let skipped = found.skipped.iter().map(|skipped| &skipped.key.as_bytes()[node.key.len()..]);
        let room = limits::FOLDER_NAMES_MAX.saturating_sub(found.sent.len());
        // Names are hashed as bytes of the folder, not as they are written.
        let hashes = names.chain(skipped).take(room).map(|name| {
            let text = std::str::from_utf8(name).unwrap_or_default();
            hash(&names::unescape(text).unwrap_or_default())
        });
        found.sent.extend(hashes);
        self.pages.room_for(found.weight())?;
        self.add(node, found);
        self.pages.send()
    }

    /// Whether the folder belongs to the program itself, or lies on a device that the job does not enter.
    fn stays_out(&mut self, node: &Node, handle: &OwnedFd) -> bool {
        let Some(parent) = node.parent.as_deref() else { return false };
        let source = &self.shared.source;
        let own = source.is_own(&node.facts).then_some(Left::Own);
        let device = || source.left_by_device(&node.facts, parent.facts.dev, self.shared.root_dev, handle);
        let left = own.or_else(device);
        // What a flag leaves out is left out without a word, like names.
        if let Some(left @ (Left::Own | Left::MadeUp)) = left {
            let key = node.key.trim_end_matches('/').to_owned();
            self.pages.page.skipped.push(Skipped { reason: left.reason(&key), key });
            self.pages.weight += 1;
        }
        left.is_some()
    }

    /// Reports the folder as a container.
    fn report_container(&mut self, node: &Node, (stamp, acl): (Stamp, Acl)) {
        let parent = match &node.parent {
            Some(parent) => Some(parent.container.clone()),
            None => self.shared.above.clone(),
        };
        self.pages.page.containers.push(ContainerReport {
            name: node.container.clone(),
            parent,
            identity: node.facts.container_identity(),
            acl,
            folder: Some(node.key.clone()),
            stamp,
        });
        self.pages.weight += 1;
    }

    fn blind(&mut self, node: &Node, cause: &str, what: String) {
        let message = format!("folder `{}`: {what}", node.container);
        let scope = Scope::Folder(node.key.clone());
        self.pages.page.blind.push(BlindSpot { scope, cause: cause.to_owned(), message });
        self.pages.weight += 1;
    }

    /// Tells why a folder could not be opened. What is allowed to pass through it is told all the same: it may have
    /// been closed to others as well.
    fn not_opened(&mut self, node: &mut Node, errno: Errno) {
        match errno {
            Errno::ACCESS | Errno::PERM => {
                let path = open(self.shared, node.parent.as_deref(), &node.name, root::open_path);
                let facts = path.as_ref().ok().and_then(|path| Facts::of_handle(path).ok());
                if let (Ok(path), Some(facts)) = (&path, facts) {
                    node.facts = facts;
                    if self.stays_out(node, path) {
                        return;
                    }
                    let judged =
                        looks::judge(&self.shared.source, &mut node.facts, path, None, acls::of_path);
                    self.report_container(node, judged);
                }
                self.blind(node, "unreadable", root::denied("it"));
            }
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP => {
                if !self.surely_gone(node) {
                    self.blind(node, "vanished", "it was not there any more when its turn came".to_owned());
                }
            }
            other => self.blind(node, "unreadable", root::sentence(other)),
        }
    }

    /// Whether the folder above changed since it was listed and answers, asked again, that the name does not exist:
    /// then its own listing says all there is to say.
    fn surely_gone(&self, node: &Node) -> bool {
        let Some(parent) = node.parent.as_deref() else { return false };
        let Ok(handle) = open(self.shared, parent.parent.as_deref(), &parent.name, root::open_path) else {
            return false;
        };
        let Ok(now) = Facts::of_handle(&handle) else { return false };
        let asked = Facts::of_name(&handle, &*node.name);
        now.id() == parent.facts.id() && now.mtime != parent.facts.mtime && matches!(asked, Err(Errno::NOENT))
    }

    /// Queues the folders in a folder that was listed.
    fn descend(
        &mut self,
        mut node: Node,
        fd: OwnedFd,
        children: Vec<Box<[u8]>>,
        below: &mut Vec<Waiting>,
    ) -> Result<(), Stopped> {
        if children.is_empty() {
            return Ok(());
        }
        let half = limits::FOLDERS_OPEN_MAX / 2;
        // The second half is spread over all depths, so that no folder is reached from far above.
        let spread = node.depth.is_multiple_of(limits::FOLDER_DEPTH_MAX / half);
        let most = if spread { limits::FOLDERS_OPEN_MAX } else { half };
        if self.shared.open.fetch_add(1, Ordering::Relaxed) < most {
            node.handle = Some(Handle { fd, open: self.shared.open.clone() });
        } else {
            self.shared.open.fetch_sub(1, Ordering::Relaxed);
        }
        let parent = Arc::new(node);
        for name in children {
            let waiting = Waiting { parent: Some(parent.clone()), name };
            if self.shared.waiting.fetch_add(1, Ordering::Relaxed) < limits::FOLDERS_WAITING_MAX {
                below.push(waiting);
            } else {
                self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
                let sentence = format!("more than {} folders wait to be listed", limits::FOLDERS_WAITING_MAX);
                self.pages.room_for(1)?;
                let node = node_of(self.shared, waiting);
                self.blind(&node, "too_many_folders", sentence);
            }
        }
        Ok(())
    }
}

/// Begins the entry of a folder; its facts are filled in when it is open.
fn node_of(shared: &Shared, waiting: Waiting) -> Node {
    let facts = facts::none();
    let (key, container, depth, ignored) = match waiting.parent.as_deref() {
        None => (String::new(), shared.root_container.clone(), 0, None),
        Some(parent) => {
            let name = names::escape(&waiting.name);
            let container = [parent.container.trim_end_matches('/'), "/", &name].concat();
            ([&*parent.key, &name, "/"].concat(), container, parent.depth + 1, parent.ignored.clone())
        }
    };
    let Waiting { parent, name } = waiting;
    Node { parent, name, key, path: Vec::new(), container, depth, ignored, handle: None, facts }
}

/// Opens `name` below `parent` (none: the root), from the nearest folder that is still open down, name by name.
fn open(
    shared: &Shared,
    parent: Option<&Node>,
    name: &[u8],
    last: impl Fn(&OwnedFd, &[u8]) -> rustix::io::Result<OwnedFd>,
) -> rustix::io::Result<OwnedFd> {
    let mut way: Vec<&[u8]> = Vec::new();
    let mut start = &shared.root;
    let mut at = parent;
    while let Some(node) = at {
        if let Some(handle) = &node.handle {
            start = &handle.fd;
            break;
        }
        // The root has no name of its own: it is where the way starts.
        if node.parent.is_some() {
            way.push(&node.name);
        }
        at = node.parent.as_deref();
    }
    let mut reached: Option<OwnedFd> = None;
    for part in way.into_iter().rev() {
        reached = Some(root::open_path(reached.as_ref().unwrap_or(start), part)?);
    }
    last(reached.as_ref().unwrap_or(start), name)
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hash = SipHasher13::new();
    hash.write(bytes);
    hash.finish()
}
