//! Access of files and folders as the kernel judges it: owner, group, mode and POSIX access list become one acl.

use std::hash::Hasher as _;
use std::os::fd::{AsFd, AsRawFd};

use ingather_model::access::{Acl, Entry, UNIX_EVERYONE, unix_group, unix_user};
use ingather_model::limits;
use rustix::io::Errno;
use siphasher::sip::SipHasher13;

use super::facts::Facts;

const ATTRIBUTE: &str = "system.posix_acl_access";
const VERSION: u32 = 2;
const GROUP_BITS: u32 = 0o070;

/// The right that an acl is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    /// Reading a file.
    Read = 4,
    /// Passing through a folder.
    Execute = 1,
}

/// What is known of an access list.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PosixAcl {
    /// There is none, or the file system has none: the mode says everything.
    Absent,
    /// Its entries.
    Entries(Vec<AclEntry>),
    /// It could not be read.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AclEntry {
    tag: Tag,
    /// Read, write, execute bits.
    bits: u32,
    id: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Owner = 0x01,
    User = 0x02,
    OwningGroup = 0x04,
    Group = 0x08,
    Mask = 0x10,
    Other = 0x20,
}

impl PosixAcl {
    /// Equal for equal lists, and hardly for others.
    pub(super) fn digest(&self) -> u64 {
        let mut hash = SipHasher13::new();
        match self {
            PosixAcl::Absent => return 0,
            PosixAcl::Unknown => return 1,
            PosixAcl::Entries(list) => {
                for entry in list {
                    hash.write_u64(
                        (entry.tag as u64) << 48 | u64::from(entry.bits) << 32 | u64::from(entry.id),
                    );
                }
            }
        }
        hash.finish()
    }
}

/// The acl of what only root may see, for nobody can say who else may.
pub(super) fn of_roots_alone() -> Acl {
    Acl::Ordered(vec![Entry::allow(unix_user(0))])
}

/// The acl of what is open for reading as `handle`.
pub(super) fn of_handle(handle: impl AsFd, facts: &Facts, right: Right) -> Acl {
    acl(facts, &list_of_handle(handle), right)
}

/// The acl of what is open as a path only (`O_PATH`), which needs no right to read it.
pub(super) fn of_path(handle: impl AsFd, facts: &Facts, right: Right) -> Acl {
    acl(facts, &list_of_path(handle), right)
}

/// The list of what is open for reading.
pub(super) fn list_of_handle(handle: impl AsFd) -> PosixAcl {
    read(|buffer| rustix::fs::fgetxattr(handle.as_fd(), ATTRIBUTE, buffer))
}

/// The list of what is open as a path only.
pub(super) fn list_of_path(handle: impl AsFd) -> PosixAcl {
    let path = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
    read(|buffer| rustix::fs::getxattr(path.as_str(), ATTRIBUTE, buffer))
}

fn read(get: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> PosixAcl {
    let mut small = [0u8; 1_024];
    let parsed = match get(&mut small) {
        Ok(length) => parse(&small[..length]),
        Err(Errno::RANGE) => {
            let mut large = vec![0u8; limits::ACL_BYTES_MAX];
            get(&mut large).ok().and_then(|length| parse(&large[..length]))
        }
        // No list here, or none anywhere on this file system.
        Err(Errno::NODATA | Errno::NOTSUP | Errno::NOSYS) => return PosixAcl::Absent,
        Err(_) => None,
    };
    parsed.map_or(PosixAcl::Unknown, PosixAcl::Entries)
}

/// Reads the attribute: a version, then entries of tag, bits and id, all little-endian. None when it is anything else.
fn parse(bytes: &[u8]) -> Option<Vec<AclEntry>> {
    let (head, entries) = bytes.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*head) != VERSION || entries.len() % 8 != 0 {
        return None;
    }
    entries
        .chunks_exact(8)
        .map(|entry| {
            let tag = match u16::from_le_bytes([entry[0], entry[1]]) {
                0x01 => Tag::Owner,
                0x02 => Tag::User,
                0x04 => Tag::OwningGroup,
                0x08 => Tag::Group,
                0x10 => Tag::Mask,
                0x20 => Tag::Other,
                _ => return None,
            };
            let bits = u32::from(u16::from_le_bytes([entry[2], entry[3]]));
            let id = u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]);
            (bits <= 7).then_some(AclEntry { tag, bits, id })
        })
        .collect()
}

/// Judges as the kernel does: the owner by its own bits; then named users; then, of all groups that a user is in, one
/// that grants is enough and none that grants shuts out; then everybody else.
pub(super) fn acl(facts: &Facts, posix: &PosixAcl, right: Right) -> Acl {
    let right = right as u32;
    if *posix == PosixAcl::Unknown {
        return of_roots_alone();
    }
    let mut entries = vec![Entry::allow(unix_user(0))];
    let entry = |who: String, bits: u32| Entry { who, allow: bits & right != 0 };
    let list = match posix {
        // Without any group bit (with a list: an empty mask) the kernel does not consult the list.
        PosixAcl::Entries(list) if facts.mode & GROUP_BITS != 0 => list.as_slice(),
        PosixAcl::Entries(_) | PosixAcl::Absent | PosixAcl::Unknown => &[],
    };
    if list.is_empty() {
        entries.push(entry(unix_user(facts.uid), facts.mode >> 6));
        entries.push(entry(unix_group(facts.gid), facts.mode >> 3));
        entries.push(entry(UNIX_EVERYONE.to_owned(), facts.mode));
        return Acl::Ordered(entries);
    }
    let mask = list.iter().find(|e| e.tag == Tag::Mask).map_or(7, |e| e.bits);
    let bits_of = |tag: Tag| list.iter().find(|e| e.tag == tag).map_or(0, |e| e.bits);
    entries.push(entry(unix_user(facts.uid), bits_of(Tag::Owner)));
    let users = list.iter().filter(|e| e.tag == Tag::User);
    entries.extend(users.map(|e| entry(unix_user(e.id), e.bits & mask)));
    let mut groups: Vec<Entry> = list
        .iter()
        .filter_map(|e| match e.tag {
            Tag::OwningGroup => Some(entry(unix_group(facts.gid), e.bits & mask)),
            Tag::Group => Some(entry(unix_group(e.id), e.bits & mask)),
            _ => None,
        })
        .collect();
    groups.sort_by_key(|group| !group.allow);
    entries.extend(groups);
    entries.push(entry(UNIX_EVERYONE.to_owned(), bits_of(Tag::Other)));
    Acl::Ordered(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ingather_model::access::Tokens;
    use proptest::prelude::*;

    fn facts(mode: u32) -> Facts {
        Facts { mode, uid: 10, gid: 20, ..crate::filesystem::facts::none() }
    }

    fn write(entries: &[AclEntry]) -> Vec<u8> {
        let mut bytes = VERSION.to_le_bytes().to_vec();
        for entry in entries {
            bytes.extend_from_slice(&(entry.tag as u16).to_le_bytes());
            bytes.extend_from_slice(&(entry.bits as u16).to_le_bytes());
            bytes.extend_from_slice(&entry.id.to_le_bytes());
        }
        bytes
    }

    fn judge(acl: &Acl, tokens: &[&str]) -> bool {
        acl.admits(&tokens.iter().copied().collect::<Tokens>())
    }

    #[test]
    fn the_first_class_that_matches_decides_by_mode() {
        let closed_to_group = acl(&facts(0o604), &PosixAcl::Absent, Right::Read);
        assert!(
            judge(&closed_to_group, &["unix:u:10", "unix:g:20", UNIX_EVERYONE]),
            "the owner, in a denied group"
        );
        assert!(!judge(&closed_to_group, &["unix:u:11", "unix:g:20", UNIX_EVERYONE]));
        assert!(judge(&closed_to_group, &["unix:u:11", "unix:g:21", UNIX_EVERYONE]));
        assert!(!judge(&closed_to_group, &[]), "nobody anonymous");
        let closed_to_owner = acl(&facts(0o044), &PosixAcl::Absent, Right::Read);
        assert!(!judge(&closed_to_owner, &["unix:u:10", "unix:g:20", UNIX_EVERYONE]));
        assert!(judge(&acl(&facts(0), &PosixAcl::Absent, Right::Read), &["unix:u:0"]), "root");
    }

    #[test]
    fn an_access_list_that_cannot_be_read_admits_only_root() {
        let acl = acl(&facts(0o777), &PosixAcl::Unknown, Right::Read);
        assert!(judge(&acl, &["unix:u:0"]));
        assert!(!judge(&acl, &["unix:u:10", "unix:g:20", UNIX_EVERYONE]));
    }

    #[test]
    fn one_group_that_grants_is_enough_and_none_that_grants_shuts_out() {
        let posix = PosixAcl::Entries(vec![
            AclEntry { tag: Tag::Owner, bits: 7, id: u32::MAX },
            AclEntry { tag: Tag::User, bits: 7, id: 11 },
            AclEntry { tag: Tag::OwningGroup, bits: 0, id: u32::MAX },
            AclEntry { tag: Tag::Group, bits: 4, id: 21 },
            AclEntry { tag: Tag::Mask, bits: 5, id: u32::MAX },
            AclEntry { tag: Tag::Other, bits: 4, id: u32::MAX },
        ]);
        let acl = acl(&facts(0o754), &posix, Right::Read);
        assert!(judge(&acl, &["unix:u:12", "unix:g:20", "unix:g:21", UNIX_EVERYONE]));
        assert!(!judge(&acl, &["unix:u:12", "unix:g:20", UNIX_EVERYONE]));
        assert!(judge(&acl, &["unix:u:12", "unix:g:22", UNIX_EVERYONE]));
        assert!(judge(&acl, &["unix:u:11", "unix:g:20", UNIX_EVERYONE]));
    }

    fn any_entry() -> impl Strategy<Value = AclEntry> {
        let tags = [Tag::Owner, Tag::User, Tag::OwningGroup, Tag::Group, Tag::Mask, Tag::Other];
        (0usize..6, 0u32..8, any::<u32>()).prop_map(move |(tag, bits, id)| AclEntry {
            tag: tags[tag],
            bits,
            id,
        })
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(entries in proptest::collection::vec(any_entry(), 0..40)) {
            prop_assert_eq!(parse(&write(&entries)), Some(entries));
        }

        #[test]
        fn garbage_never_panics_and_a_cut_list_is_unknown(
            entries in proptest::collection::vec(any_entry(), 1..9),
            cut in 1usize..8,
            garbage in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            let bytes = write(&entries);
            prop_assert_eq!(parse(&bytes[..bytes.len() - cut]), None);
            let _ = parse(&garbage);
        }
    }
}
