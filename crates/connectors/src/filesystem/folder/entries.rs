//! Taking the entries of a folder, one by one.

use std::os::fd::{AsFd, OwnedFd};

use ingather_contract::repository::{Item, Skipped};
use ingather_model::key::Stamp;
use ingather_model::names;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::super::facts::Facts;
use super::super::mounts::Mounted;
use super::super::rules::Left;
use super::{Lister, Node};

/// What one look at a folder found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) items: Vec<Item>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) children: Vec<Box<[u8]>>,
    /// Those of them that root alone is shown, because of what they lie on themselves.
    pub(super) alone: Vec<Facts>,
    /// Entries of any kind.
    pub(super) entries: usize,
    /// Hashes of the names that were sent already; only for folders larger than a page.
    pub(super) sent: Vec<u64>,
    /// Something could not be looked at.
    pub(super) failure: Option<Errno>,
    /// Something was not there any more.
    pub(super) moving: bool,
}

impl Found {
    pub(super) fn weight(&self) -> usize {
        self.items.len() + self.skipped.len()
    }
}

impl Lister<'_> {
    /// Takes one entry: into the items, the skipped names or the folders, or leaves it out silently by a rule.
    #[inline(always)]
    pub(super) fn entry(
        &mut self,
        node: &Node,
        handle: &OwnedFd,
        (name, kind): (&std::ffi::CStr, FileType),
        (now, mounted): (i64, &Mounted),
        found: &mut Found,
    ) {
        let mut kind = kind;
        let mut facts = None;
        if matches!(kind, FileType::Unknown) || (kind == FileType::RegularFile && !self.by_name) {
            match self.stat((&node.facts, handle), name, mounted.exact, found) {
                Some(known) => (kind, facts) = (known.kind(), Some(known)),
                None => return,
            }
        }
        let bytes = name.to_bytes();
        if self.by_name {
            self.path.clear();
            self.path.extend_from_slice(&node.path);
            self.path.extend_from_slice(bytes);
            let folder = kind == FileType::Directory;
            if self.shared.source.rules.leaves_out(&self.path, folder, node.ignored.as_deref()).is_some() {
                return;
            }
        }
        let left = match kind {
            FileType::Directory => {
                found.children.push(Box::from(bytes));
                return;
            }
            FileType::Symlink => Some(Left::Link),
            FileType::RegularFile => {
                let Some(known) =
                    facts.or_else(|| self.stat((&node.facts, handle), name, mounted.exact, found))
                else {
                    return;
                };
                facts = Some(known);
                self.shared.source.left_by_facts(&known)
            }
            _ => Some(Left::Special),
        };
        match (left, facts) {
            (None, Some(facts)) => {
                let elsewhere = (facts.dev, facts.mount) != (node.facts.dev, node.facts.mount);
                let beside = elsewhere || mounted.mapped;
                let (content, access, mark) = match beside {
                    false => {
                        let (content, access) = mounted.stamps(&facts, now, false, 0);
                        (content, access, mounted.mark)
                    }
                    true => match self.beside(node, handle, (bytes, &facts), now, found) {
                        Some(stamps) => stamps,
                        None => return,
                    },
                };
                let name = names::escape(bytes).into_owned();
                found.items.push(Item { name, content, access, identity: facts.identity(mark) });
            }
            // It became a folder since the folder was read.
            (Some(Left::Folder), _) => found.moving = true,
            (left, _) => {
                let key = format!("{}{}", node.key, names::escape(bytes));
                let reason = left.unwrap_or(Left::Special).reason(&key);
                found.skipped.push(Skipped { key, reason });
            }
        }
    }

    /// The one look at a file; notes what went wrong.
    #[inline(always)]
    fn stat(
        &self,
        (above, folder): (&Facts, &OwnedFd),
        name: &std::ffi::CStr,
        exact: bool,
        found: &mut Found,
    ) -> Option<Facts> {
        match Facts::of_entry((above, folder.as_fd()), name, exact) {
            Ok(facts) => return Some(facts),
            Err(Errno::NOENT) => found.moving = true,
            Err(errno) => found.failure = Some(errno),
        }
        None
    }

    /// The stamps of a file on another mount than its folder; notes when it is another file by now.
    fn beside(
        &self,
        node: &Node,
        handle: &OwnedFd,
        (name, facts): (&[u8], &Facts),
        now: i64,
        found: &mut Found,
    ) -> Option<(Stamp, Stamp, u64)> {
        let stamps = self.shared.source.beside(handle, (name, facts), now, Some(node.facts.dev));
        found.moving |= stamps.is_none();
        if facts.dev != node.facts.dev {
            found.alone.push(*facts);
        }
        stamps
    }
}
