//! The way from `/` down to a source's root and on to one document, name by name: no link is ever followed, and no path
//! is too long.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ingather_contract::repository::ContainerReport;
use ingather_model::fault::{Fault, Reason};
use ingather_model::names;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::facts::Facts;
use super::looks;
use super::rules::{Ignored, Left};
use super::{Base, Source};

/// An absolute path of a source, checked.
#[derive(Clone, Debug)]
pub(super) struct RootPath {
    parts: Vec<Vec<u8>>,
    whole: Vec<u8>,
}

impl RootPath {
    /// Reads the escaped form.
    ///
    /// # Errors
    /// `Refused` with code `root` for anything but an absolute path without `.` and `..`.
    pub(super) fn parse(text: &str) -> Result<RootPath, Fault> {
        let refuse = |sentence: String| Fault::refused("root", sentence);
        let bytes = names::unescape(text).map_err(refuse)?;
        if bytes.first() != Some(&b'/') {
            return Err(refuse(format!("`{text}` is not an absolute path; begin it with `/`")));
        }
        let parts: Vec<Vec<u8>> =
            bytes.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).map(<[u8]>::to_vec).collect();
        if parts.iter().any(|part| part == b"." || part == b".." || part.contains(&0)) {
            return Err(refuse(format!("`{text}` has `.`, `..` or a zero byte in it; give the plain path")));
        }
        let whole = joined(&parts);
        Ok(RootPath { parts, whole })
    }

    /// The path of the first `depth` names below `/`.
    pub(super) fn above(&self, depth: usize) -> Vec<u8> {
        joined(&self.parts[..depth])
    }

    /// The whole path.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.whole
    }

    /// The whole path as a person reads it.
    pub(super) fn text(&self) -> String {
        names::escape(self.bytes()).into_owned()
    }

    /// The last name; empty for `/`.
    pub(super) fn name(&self) -> &[u8] {
        self.parts.last().map_or(&[], Vec::as_slice)
    }
}

/// The path of names below `/`.
fn joined(parts: &[Vec<u8>]) -> Vec<u8> {
    if parts.is_empty() { b"/".to_vec() } else { [b"".as_slice(), &parts.join(&b'/')].join(&b'/') }
}

/// A root that was found.
pub(super) struct Root {
    pub(super) facts: Facts,
    /// The folder itself, or the one that holds the file; open as a path only.
    pub(super) folder: OwnedFd,
    pub(super) is_file: bool,
}

impl Root {
    pub(super) fn base(&self) -> Base {
        // Asking an open folder for its facts does not fail; if it did, it would be no folder that was listed before.
        let folder = Facts::of_handle(&self.folder).map_or((0, 0), |folder| folder.id());
        Base { folder, is_file: self.is_file }
    }
}

/// Without the right to read it.
pub(super) const PATH: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// For reading, without following a link and without waiting.
pub(super) const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens `name` below `folder` without following it and without the right to read it.
pub(super) fn open_path(folder: &OwnedFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(folder, name, PATH, Mode::empty())
}

/// Opens a folder for reading; `name` may be `.`.
pub(super) fn open_folder(folder: &OwnedFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

/// Opens a file for reading; what it turned out to be must be asked before it is read.
pub(super) fn open_file(folder: &OwnedFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    rustix::fs::openat(folder, name, READ, Mode::empty())
}

/// What an error of the kernel means for the thing called `what`.
pub(super) fn fault(errno: Errno, what: &str) -> Fault {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Fault::Gone,
        Errno::ACCESS | Errno::PERM => Fault::unreadable(denied(what)),
        other => Fault::passing("io", format!("{what} cannot be read: {}", sentence(other))),
    }
}

/// "permission denied" with who and what.
pub(super) fn denied(what: &str) -> String {
    let user = rustix::process::geteuid().as_raw();
    format!("{what} cannot be read by user {user}: permission denied")
}

/// An error of the kernel in words.
pub(super) fn sentence(errno: Errno) -> String {
    std::io::Error::from(errno).to_string().to_lowercase()
}

/// Opens the root. `containers` is told the folders above it, from `/` down, as far as the reader may go, as of a time before now.
///
/// # Errors
/// `Gone` when it does not exist; `Refused` when it cannot be entered, or is neither folder nor file, or lies behind a
/// link.
pub(super) fn open(
    path: &RootPath,
    mut containers: Option<(&Source, &mut Vec<ContainerReport>, Option<i64>)>,
) -> Result<Root, Fault> {
    let label = |depth: usize| format!("`{}`", names::escape(&path.above(depth)));
    let top = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open("/", top, Mode::empty()).map_err(|errno| fault(errno, "`/`"))?;
    let mut facts = Facts::of_handle(&folder).map_err(|errno| fault(errno, "`/`"))?;
    for (depth, part) in path.parts.iter().enumerate() {
        if let Some((source, containers, now)) = &mut containers {
            let name = names::escape(&path.above(depth)).into_owned();
            let parent = containers.last().map(|container| container.name.clone());
            let looked = looks::report(source, &folder, name, parent, None, *now);
            containers.push(looked.map_err(|errno| fault(errno, &label(depth)))?.0);
        }
        // The right that is missing is that of the folder above.
        let next =
            open_path(&folder, part).map_err(|errno| fault(errno, &format!("folder {}", label(depth))))?;
        facts = Facts::of_handle(&next).map_err(|errno| fault(errno, &label(depth + 1)))?;
        let last = depth + 1 == path.parts.len();
        match facts.kind() {
            FileType::Directory => folder = next,
            FileType::RegularFile if last => return Ok(Root { facts, folder, is_file: true }),
            FileType::Symlink => {
                let sentence =
                    format!("{} is a symbolic link; name the place that it points to", label(depth + 1));
                return Err(Fault::refused("link", sentence));
            }
            _ if last => {
                let sentence = format!("{} is neither a folder nor a file", label(depth + 1));
                return Err(Fault::refused("root", sentence));
            }
            _ => return Err(Fault::Gone),
        }
    }
    Ok(Root { facts, folder, is_file: false })
}

/// Opens the folders above a root, from `/` down, with their paths; `each` is handed one after the other. A file's own folder stands for the
/// root and is none of them.
///
/// # Errors
/// What `each` answers. What cannot be entered ends it without a word: so does [`open`], with one.
pub(super) fn each_above<E>(
    path: &RootPath,
    mut each: impl FnMut(&[u8], &OwnedFd) -> Result<(), E>,
) -> Result<(), E> {
    let top = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(mut folder) = rustix::fs::open("/", top, Mode::empty()) else { return Ok(()) };
    for (depth, part) in path.parts.iter().enumerate() {
        let Ok(next) = open_path(&folder, part) else { return each(&path.above(depth), &folder) };
        let is_folder = Facts::of_handle(&next).is_ok_and(|facts| facts.kind() == FileType::Directory);
        if !is_folder {
            return Ok(());
        }
        each(&path.above(depth), &folder)?;
        folder = next;
    }
    Ok(())
}

/// Where a document lies: its folder, open, and its name there.
pub(super) struct Spot {
    pub(super) folder: OwnedFd,
    pub(super) name: Vec<u8>,
    /// A folder above it, or a rule about its name, leaves it out.
    pub(super) left: Option<Reason>,
}

/// Why the way to a document ended early.
pub(super) enum Stop {
    /// The name cannot be one of ours.
    Key(Reason),
    /// The kernel said no at this folder.
    Kernel(Errno, String),
    /// A link is in the way.
    Left(Reason),
}

impl Stop {
    /// As a fault.
    pub(super) fn fault(self) -> Fault {
        match self {
            Stop::Key(reason) => Fault::Refused(reason),
            Stop::Kernel(errno, folder) => fault(errno, &format!("folder `{folder}`")),
            Stop::Left(reason) => Fault::Refused(reason),
        }
    }
}

/// Reads a document's name. Only the spelling that a listing uses is taken, so that no document has two names.
pub(super) fn read_key(key: &str) -> Result<Cow<'_, [u8]>, Stop> {
    let refuse = |sentence: String| Stop::Key(Reason::new("key", sentence));
    let bytes = names::unescape(key).map_err(refuse)?;
    let odd = |part: &[u8]| part.is_empty() || part == b"." || part == b".." || part.contains(&0);
    if names::escape(&bytes) != key || bytes.split(|byte| *byte == b'/').any(odd) {
        let sentence =
            "is not a valid name of a document: names are below the root, without empty parts, `.` and `..`";
        return Err(refuse(format!("`{key}` {sentence}")));
    }
    Ok(bytes)
}

/// Goes down to the folder of the document `key`; `root` is where to start.
pub(super) fn descend(source: &Source, root: Root, key: &str) -> Result<Spot, Stop> {
    let path = read_key(key)?;
    if root.is_file {
        let other = || format!("is not `{}`, the one file that is the source", source.root.text());
        let left = match path == source.root.name() {
            true => by_rule(source, key, &path, false, None),
            false => Some(Left::Excluded.told(key, key, &other())),
        };
        return Ok(Spot { folder: root.folder, left, name: path.into_owned() });
    }
    let mut folder = root.folder;
    let mut left: Option<Reason> = None;
    let mut ignored: Option<Arc<Ignored>> = None;
    let mut begin = 0;
    let mut device_above = root.facts.dev;
    loop {
        let stop = |errno: Errno| {
            let above = names::escape(&path[..begin]);
            Stop::Kernel(errno, format!("{}/{above}", source.root.text().trim_end_matches('/')))
        };
        if source.rules.ignore_files && left.is_none() {
            ignored = Ignored::below(ignored, &folder, &path[..begin]).map_err(stop)?;
        }
        let Some(slash) = path[begin..].iter().position(|byte| *byte == b'/') else { break };
        let end = begin + slash;
        let next = open_path(&folder, &path[begin..end]).map_err(stop)?;
        let facts = Facts::of_handle(&next).map_err(stop)?;
        match facts.kind() {
            FileType::Directory => {}
            FileType::Symlink => {
                return Err(Stop::Left(left.unwrap_or_else(|| link(source, &folder, key, &path[..end]))));
            }
            _ => return Err(stop(Errno::NOTDIR)),
        }
        let above = &path[..end];
        let device = source.left_by_device(&facts, device_above, root.facts.dev, &next);
        device_above = facts.dev;
        left = left.or_else(|| by_rule(source, key, above, true, ignored.as_deref())).or_else(|| {
            let left = match source.is_own(&facts) {
                true => Some(Left::Own),
                false => device,
            };
            left.map(|left| left.told(key, &names::escape(above), &left.words()))
        });
        folder = next;
        begin = end + 1;
    }
    left = left.or_else(|| by_rule(source, key, &path, false, ignored.as_deref()));
    Ok(Spot { folder, name: path[begin..].to_vec(), left })
}

/// The rule that leaves the document `key` out because of the name `path`: its own, or that of a folder above it.
fn by_rule(
    source: &Source,
    key: &str,
    path: &[u8],
    folder: bool,
    ignored: Option<&Ignored>,
) -> Option<Reason> {
    let left = source.rules.leaves_out(path, folder, ignored)?;
    Some(left.told(key, &names::escape(path), &source.rules.words(left, path, folder, ignored)))
}

/// That the document `key`, or a folder above it, is a link, and where it leads to.
fn link(source: &Source, folder: &OwnedFd, key: &str, path: &[u8]) -> Reason {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let words = match rustix::fs::readlinkat(folder, name, Vec::new()) {
        Ok(target) => {
            let target = target.to_bytes();
            let root = source.root.bytes();
            let mut at = root.to_vec();
            at.push(b'/');
            at.extend_from_slice(&path[..path.len() - name.len()]);
            let inside =
                Path::new(OsStr::from_bytes(&plain(&at, target))).starts_with(OsStr::from_bytes(root));
            let beyond = if inside { "" } else { ", out of the source" };
            format!("is a symbolic link to `{}`{beyond}; links are not followed", names::escape(target))
        }
        Err(_) => Left::Link.words(),
    };
    Left::Link.told(key, &names::escape(path), &words)
}

/// The path that `target` means when it stands in the folder `at`, by its letters alone.
fn plain(at: &[u8], target: &[u8]) -> Vec<u8> {
    let whole = if target.first() == Some(&b'/') { target.to_vec() } else { [at, target].concat() };
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in whole.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    [b"/".as_slice(), &parts.join(&b'/')].concat()
}

impl Spot {
    /// The facts of the document `key` itself, and what leaves it out.
    pub(super) fn facts(&self, source: &Source, key: &str) -> rustix::io::Result<(Facts, Option<Reason>)> {
        let facts = Facts::of_name(&self.folder, self.name.as_slice())?;
        let left = self.left.clone().or_else(|| match source.left_by_facts(&facts)? {
            Left::Link => {
                let path = names::unescape(key).unwrap_or_default();
                Some(link(source, &self.folder, key, &path))
            }
            left => Some(left.reason(key)),
        });
        Ok((facts, left))
    }
}
