//! Files and folders on a mounted disk: a parallel walk that proves folders, and access as the kernel judges it.

mod acls;
mod explain;
mod facts;
mod folder;
mod kinds;
mod looks;
mod made_up;
mod mounts;
mod reached;
mod read;
mod root;
mod rules;
mod settings;
mod single;
mod trust;
mod walk;
mod watch;

pub use rules::check_pattern;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ingather_contract::call::CallContext;
use ingather_contract::repository::{
    ContainerReport, Group, HostContext, Item, Listing, Named, Observed, Page, Presence, ReadContent,
    Repository, RepositoryCapabilities, RepositoryKind, Skipped, SourceStatus, Watch, Watching,
};
use ingather_contract::settings as reading;
use ingather_kit::file_uri;
use ingather_model::access::Acl;
use ingather_model::fault::{Fault, Reason};
use ingather_model::key::Stamp;
use ingather_model::names;
use ingather_model::scope::{BlindSpot, Scope};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use self::acls::{PosixAcl, Right};
use self::facts::Facts;
use self::looks::Looks;
use self::made_up::MadeUp;
use self::mounts::{Mounted, Mounts};
use self::reached::Reached;
use self::root::{Root, RootPath, Spot, Stop};
use self::rules::{Left, Rules};
use self::settings::SourceSettings;
use self::single::{Single, closed};
use self::trust::Trust;
use crate::unix::Owners;

/// The `filesystem` repository.
pub(crate) const REPOSITORY: RepositoryKind = RepositoryKind {
    name: "filesystem",
    about: "Files and folders on a mounted disk.",
    capabilities: RepositoryCapabilities {
        list: true,
        access: true,
        unique_uris: true,
        looks: true,
        bins: false,
    },
    source_schema: reading::schema_of::<SourceSettings>,
    open,
};

fn open(settings: &serde_json::Value, host: &HostContext) -> Result<Arc<dyn Repository>, Fault> {
    Ok(Arc::new(Disk(Arc::new(source_of(settings, host)?))))
}

fn source_of(source: &serde_json::Value, host: &HostContext) -> Result<Source, Fault> {
    let settings: SourceSettings = reading::read(source)?;
    let mut own = host.own.clone();
    own.sort_unstable();
    let source = Source {
        root: RootPath::parse(&settings.root)?,
        addresses: settings.addresses.as_deref().map(RootPath::parse).transpose()?,
        rules: Rules::of(&settings)?,
        own,
        threads: host.threads,
        owners: Owners::default(),
        base: Mutex::new(None),
        reached: Reached::default(),
        mounts: Mutex::default(),
        made_up: MadeUp::default(),
        trust: Trust::new(settings.trust_modes),
        looks: Looks::default(),
    };
    if let Ok(root) = root::open(&source.root, None) {
        *source.base() = Some(root.base());
    }
    Ok(source)
}

/// One source of one job.
struct Source {
    root: RootPath,
    /// What addresses begin with, where that is not the root.
    addresses: Option<RootPath>,
    rules: Rules,
    /// Device and inode of the program's own files, sorted.
    own: Vec<(u64, u64)>,
    threads: usize,
    owners: Owners,
    /// The root as it was when it was opened or last listed; none while it was never met.
    base: Mutex<Option<Base>>,
    reached: Reached,
    mounts: Mutex<Mounts>,
    made_up: MadeUp,
    trust: Trust,
    looks: Looks,
}

/// What tells a root from another one under the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Base {
    /// Device and inode of the folder, or of the folder that holds the file: the file itself may be replaced.
    folder: (u64, u64),
    is_file: bool,
}

impl Source {
    /// What about a folder, open as `handle`, keeps the job out of it when it lies on another device than the folder above.
    fn left_by_device(&self, facts: &Facts, above: u64, root: u64, handle: impl AsFd) -> Option<Left> {
        if facts.dev == above {
            return None;
        }
        if self.made_up.holds(facts, handle) {
            return Some(Left::MadeUp);
        }
        (!self.rules.other_devices && facts.dev != root).then_some(Left::OtherDevice)
    }

    fn is_own(&self, facts: &Facts) -> bool {
        self.own.binary_search(&facts.id()).is_ok()
    }

    /// The mount of what is open as `handle`.
    fn mounted(&self, facts: &Facts, handle: impl AsFd) -> Mounted {
        let mounts = || self.mounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = mounts().known(facts) {
            return known;
        }
        let mounted = mounts::look(facts, handle.as_fd(), self.trust.of(facts, handle.as_fd()));
        mounts().note(facts, mounted);
        mounted
    }

    /// Who may pass through a folder that is open as `handle`: those whom `acl` says, if what it says counts.
    fn of_folder(&self, facts: &Facts, handle: &OwnedFd, acl: impl FnOnce() -> Acl) -> Acl {
        if self.trust.of(facts, handle) { acl() } else { acls::of_roots_alone() }
    }

    /// Whether root alone may see a document, because of what it lies on. In a folder of the same device that decides, so that a
    /// change of mind about the device changes its folders and no document; `of_folder` is what that lies on.
    fn is_alone(&self, facts: &Facts, handle: impl AsFd, of_folder: impl FnOnce() -> Option<u64>) -> bool {
        !self.trust.of(facts, handle) && of_folder() != Some(facts.dev)
    }

    /// What the folder of the document `key` lies on.
    fn device_above(&self, key: &str) -> Option<u64> {
        let path = self.path(key);
        let folder = path.rsplitn(2, |byte| *byte == b'/').nth(1).filter(|folder| !folder.is_empty());
        Facts::of_name(rustix::fs::CWD, folder.unwrap_or(b"/")).ok().map(|folder| folder.dev)
    }

    /// Who may read the document `key`, which has this access list, and its stamps of content and access as of `now`. They hold
    /// whatever the acl is made of.
    fn judge(&self, key: &str, now: i64, taken: &Taken, list: &PosixAcl) -> Judged {
        let Taken { facts, handle, stands, .. } = taken;
        let mounted = self.mounted(facts, handle);
        let alone = self.is_alone(facts, handle, || self.device_above(key));
        let acl = if alone { acls::of_roots_alone() } else { acls::acl(facts, list, Right::Read) };
        let (content, access) = match stands {
            true => mounted.stamps(facts, now, alone, if mounted.mapped { list.digest() } else { 0 }),
            false => (Stamp::NONE, Stamp::NONE),
        };
        Judged { acl, content, access, identity: facts.identity(mounted.mark) }
    }

    /// What about the file itself leaves it out, whatever its name.
    fn left_by_facts(&self, facts: &Facts) -> Option<Left> {
        match facts.kind() {
            FileType::RegularFile if self.is_own(facts) => Some(Left::Own),
            FileType::RegularFile => {
                let size_max = self.rules.size_max;
                (facts.size > size_max).then_some(Left::TooLarge { size: facts.size, size_max })
            }
            FileType::Directory => Some(Left::Folder),
            FileType::Symlink => Some(Left::Link),
            _ => Some(Left::Special),
        }
    }

    fn base(&self) -> MutexGuard<'_, Option<Base>> {
        self.base.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the root that was listed.
    ///
    /// # Errors
    /// `Refused` when it may not be entered, else `Passing`: nothing can be said about documents while the root is
    /// missing, or is another one. That of a disk which is not mounted now must not look like their removal.
    fn standing(&self) -> Result<Root, Fault> {
        let elsewhere = |what: &str| Fault::passing("root", format!("`{}` {what}", self.root.text()));
        match root::open(&self.root, None) {
            Ok(root) if *self.base().get_or_insert(root.base()) == root.base() => Ok(root),
            Ok(_) => Err(elsewhere("is not the folder that was listed; is its disk mounted?")),
            Err(fault @ Fault::Unreadable(_)) => Err(fault),
            Err(Fault::Gone) => Err(elsewhere("is not there now; is its disk mounted?")),
            Err(other) => Err(Fault::passing("root", other.reason().message)),
        }
    }

    /// A document is gone only while its root stands.
    fn sure(&self, fault: Fault) -> Fault {
        match fault {
            Fault::Gone => self.standing().err().unwrap_or(Fault::Gone),
            other => other,
        }
    }

    /// Opens a document that the job takes: [`root::READ`] or [`root::PATH`].
    fn take(&self, key: &str, flags: OFlags) -> Result<Taken, Fault> {
        if let Some(taken) = self.reached.open_beside(self, key, flags) {
            return Ok(taken);
        }
        let spot = root::descend(self, self.standing()?, key).map_err(Stop::fault)?;
        let stands = self.reached.remember(self, key, &spot);
        let (_, left) = spot.facts(self, key).map_err(|errno| root::fault(errno, &self.folder_of(key)))?;
        if let Some(reason) = left {
            return Err(Fault::Refused(reason));
        }
        let fault = |errno| root::fault(errno, &format!("`{key}`"));
        let handle =
            rustix::fs::openat(&spot.folder, spot.name.as_slice(), flags, Mode::empty()).map_err(fault)?;
        let facts = Facts::of_handle(&handle).map_err(fault)?;
        match self.left_by_facts(&facts) {
            Some(left) => Err(Fault::Refused(left.reason(key))),
            None => Ok(Taken { born: facts::born(&handle), handle, facts, stands }),
        }
    }

    /// The folder of the document `key`, as a person reads it.
    fn folder_of(&self, key: &str) -> String {
        let above = key.rsplit_once('/').map_or("", |(above, _)| above);
        format!("folder `{}/{above}`", self.root.text().trim_end_matches('/'))
    }

    /// The absolute path of the document `key`: the same whatever job names it.
    fn path(&self, key: &str) -> Vec<u8> {
        self.below(&self.root, key)
    }

    /// The same as outputs know it.
    fn known_path(&self, key: &str) -> Vec<u8> {
        self.below(self.addresses.as_ref().unwrap_or(&self.root), key)
    }

    fn below(&self, root: &RootPath, key: &str) -> Vec<u8> {
        let root = root.bytes();
        let mut path = Vec::with_capacity(root.len() + 1 + key.len());
        path.extend_from_slice(root);
        // Of a root that was never met, the name is all that is known.
        let is_file = self.base().map_or_else(|| key == names::escape(self.root.name()), |base| base.is_file);
        if !is_file {
            if path.last() != Some(&b'/') {
                path.push(b'/');
            }
            // What cannot be read as a name was never ours; it gets a path that is as odd.
            path.extend_from_slice(&names::unescape(key).unwrap_or_else(|_| key.as_bytes().into()));
        }
        path
    }

    /// The URI of the document `key`.
    fn uri(&self, key: &str) -> String {
        file_uri::of_path(&self.known_path(key))
    }

    /// The listing of a source that is one file.
    fn one_file(&self, now: i64, root: &Root, first: &mut Page) {
        let name = names::escape(self.root.name()).into_owned();
        first.proven.push(Scope::Folder(String::new()));
        // The folder that holds the file rules all keys that there are.
        if let Some(container) = first.containers.last_mut() {
            container.folder = Some(String::new());
        }
        if self.rules.leaves_out(self.root.name(), false, None).is_some() {
            return;
        }
        match self.left_by_facts(&root.facts) {
            Some(left) => first.skipped.push(Skipped { reason: left.reason(&name), key: name }),
            None => {
                let entry = (self.root.name(), &root.facts);
                let Some((content, access, mark)) = self.beside(&root.folder, entry, now, None) else {
                    first.proven.clear();
                    let message = format!("`{}` was replaced while it was looked at", self.root.text());
                    let scope = Scope::Folder(String::new());
                    first.blind.push(BlindSpot { scope, cause: "changing".to_owned(), message });
                    return;
                };
                let item = Item { name, content, access, identity: root.facts.identity(mark) };
                let container =
                    first.containers.last().map(|container: &ContainerReport| container.name.clone());
                first.groups.push(Group {
                    parent: String::new(),
                    container,
                    items: vec![item],
                    ..Group::default()
                });
                self.trust.count(&root.facts, 1);
            }
        }
    }

    /// The stamps of a file that lies beside others on another mount, or on one that shows owners as others than they are; and the
    /// mark of its content. None when it is another one by now. `above` is what the folder lies on; none: whatever it is.
    fn beside(
        &self,
        folder: &OwnedFd,
        (name, facts): (&[u8], &Facts),
        now: i64,
        above: Option<u64>,
    ) -> Option<(Stamp, Stamp, u64)> {
        let handle = root::open_path(folder, name).ok()?;
        if Facts::of_handle(&handle).ok()?.id() != facts.id() {
            return None;
        }
        let mounted = self.mounted(facts, &handle);
        let of_folder = || above.or_else(|| Facts::of_handle(folder).ok().map(|folder| folder.dev));
        let alone = self.is_alone(facts, &handle, of_folder);
        let list = if mounted.mapped { acls::list_of_path(&handle).digest() } else { 0 };
        let (content, access) = mounted.stamps(facts, now, alone, list);
        Some((content, access, mounted.mark))
    }
}

/// What a document's acl is, and the stamps that go with it.
struct Judged {
    acl: Acl,
    content: Stamp,
    access: Stamp,
    identity: i64,
}

/// A document that was opened.
struct Taken {
    handle: OwnedFd,
    facts: Facts,
    /// When it was made, milliseconds since 1970 UTC, where the file system knows.
    born: Option<i64>,
    /// Its folder is on the mount that was looked at last. Else this says nothing of who may read what lies there.
    stands: bool,
}

struct Disk(Arc<Source>);

impl Repository for Disk {
    fn check(&self, _call: &CallContext) -> Result<String, Fault> {
        let source = &self.0;
        let root = root::open(&source.root, None)?;
        if !source.trust.of(&root.facts, &root.folder) {
            source.trust.count(&root.facts, 0);
        }
        let label = format!("`{}`", source.root.text());
        if root.is_file {
            let spot = Spot { folder: root.folder, name: source.root.name().to_vec(), left: None };
            root::open_file(&spot.folder, &spot.name).map_err(|errno| root::fault(errno, &label))?;
            return Ok(format!("file {label} can be read"));
        }
        root::open_folder(&root.folder, b".").map_err(|errno| root::fault(errno, &label))?;
        Ok(format!("folder {label} can be read"))
    }

    fn list(&self, call: &CallContext) -> Result<Box<dyn Listing>, Fault> {
        let source = &self.0;
        let now = call.now();
        source.trust.begin();
        let mut containers = Vec::new();
        source.looks.begin(now);
        let root = match root::open(&source.root, Some((source, &mut containers, Some(now)))) {
            Ok(root) => root,
            Err(fault) => return closed(containers, fault),
        };
        *source.base() = Some(root.base());
        if root.is_file {
            if let Ok(facts) = Facts::of_handle(&root.folder) {
                source.reached.enter("", &facts);
            }
            let mut first = Page { containers, ..Page::default() };
            source.one_file(now, &root, &mut first);
            return Ok(Box::new(Single(Some(first))));
        }
        if let Err(errno) = root::open_folder(&root.folder, b".") {
            let parent = containers.last().map(|container| container.name.clone());
            let (name, folder) = (source.root.text(), Some(String::new()));
            if let Ok((container, _)) = looks::report(source, &root.folder, name, parent, folder, Some(now)) {
                containers.push(container);
            }
            return closed(containers, root::fault(errno, &format!("folder `{}`", source.root.text())));
        }
        let first = Page { containers, ..Page::default() };
        walk::start(source.clone(), call, root, first)
    }

    fn look(&self, call: &CallContext, key: &str) -> Result<Observed, Fault> {
        read::look(&self.0, call, key).map_err(|fault| self.0.sure(fault))
    }

    fn fetch(&self, call: &CallContext, key: &str, read: &mut ReadContent<'_>) -> Result<Observed, Fault> {
        read::fetch(&self.0, call, key, read).map_err(|fault| self.0.sure(fault))
    }

    fn stamps(&self, _call: &CallContext, containers: &[&str]) -> Vec<Stamp> {
        looks::again(&self.0, containers)
    }

    fn containers_of(&self, call: &CallContext, key: &str) -> Result<Vec<ContainerReport>, Fault> {
        looks::containers_of(&self.0, call.now(), key).map_err(|fault| self.0.sure(fault))
    }

    fn grain_ms(&self) -> i64 {
        self.0.mounts.lock().unwrap_or_else(PoisonError::into_inner).longest_ms()
    }

    fn probe(&self, _call: &CallContext, key: &str) -> Presence {
        let source = &self.0;
        let Ok(root) = source.standing() else { return Presence::Unknown };
        let gone = |errno: Errno| match errno {
            // The root may have gone while its inside was asked.
            Errno::NOENT | Errno::NOTDIR if source.standing().is_ok() => Presence::Absent,
            _ => Presence::Unknown,
        };
        match root::descend(source, root, key) {
            Ok(spot) => match spot.facts(source, key) {
                Ok((_, None)) => Presence::Present,
                Ok((_, Some(_))) => Presence::Excluded,
                Err(errno) => gone(errno),
            },
            Err(Stop::Left(_)) => Presence::Excluded,
            Err(Stop::Kernel(errno, _)) => gone(errno),
            Err(Stop::Key(_)) => Presence::Unknown,
        }
    }

    fn acl_of_left_out(&self, call: &CallContext, key: &str) -> Option<Acl> {
        read::acl_of_left_out(&self.0, call, key)
    }

    fn uri(&self, key: &str) -> String {
        self.0.uri(key)
    }

    fn place(&self, key: &str) -> String {
        file_uri::of_path(&self.0.path(key))
    }

    fn named(&self, text: &str) -> Result<Named, Reason> {
        explain::named(&self.0, text)
    }

    fn may_hold(&self, folder: &str) -> bool {
        self.0.rules.may_hold(folder)
    }

    fn explain(&self, call: &CallContext, key: &str) -> SourceStatus {
        explain::explain(&self.0, call, key)
    }

    fn notes(&self) -> Vec<String> {
        self.0.trust.notes()
    }

    fn watch(&self, call: &CallContext, watching: Watching) -> Option<Box<dyn Watch>> {
        Some(watch::watch(&self.0, call, watching))
    }

    fn credentials_fingerprint(&self) -> String {
        let mut groups: Vec<u32> =
            rustix::process::getgroups().unwrap_or_default().iter().map(|group| group.as_raw()).collect();
        groups.sort_unstable();
        let groups: Vec<String> = groups.iter().map(u32::to_string).collect();
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        format!("user {user} group {group} groups {}", groups.join(","))
    }
}

#[cfg(test)]
mod tests;
