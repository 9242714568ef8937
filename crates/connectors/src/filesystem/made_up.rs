//! File systems whose content the kernel makes up: endless, changing, or another view of what is elsewhere. They are entered
//! only when one of them is the source itself.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::sync::OnceLock;

use super::facts::Facts;

/// Magic numbers, as `statfs` tells them.
const MAGIC: &[u64] = &[
    0x0000_9fa0, // proc
    0x6265_6572, // sysfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x7363_6673, // securityfs
    0xcafe_4a11, // bpf
    0x6265_6570, // configfs
    0x6165_676c, // pstore
    0x0000_1cd1, // devpts
    0x1980_0202, // mqueue
    0x9584_58f6, // hugetlbfs
    0x6573_5543, // fusectl
    0x4249_4e4d, // binfmt_misc
    0xde5e_81e4, // efivarfs
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
    0x6759_6969, // rpc_pipefs
    0x6e73_6673, // nsfs
];
/// Types that `statfs` tells like others: this one is like a disk in memory.
const TYPES: &[&str] = &["devtmpfs"];

/// Knows them by what `statfs` says, and the others by the table of mounts, which is read once.
#[derive(Debug, Default)]
pub(super) struct MadeUp(OnceLock<HashSet<u64>>);

impl MadeUp {
    /// Whether what is open as `handle`, with these facts, is in such a file system.
    pub(super) fn holds(&self, facts: &Facts, handle: impl AsFd) -> bool {
        // A magic number is 32 bits, whatever the width and sign of the field.
        let magic = rustix::fs::fstatfs(handle).map_or(0, |fs| fs.f_type as u64 & 0xffff_ffff);
        MAGIC.contains(&magic) || self.0.get_or_init(|| devices(&super::mounts::table())).contains(&facts.dev)
    }
}

/// Devices of mounts of those types. Where the table cannot be read, `statfs` alone tells.
fn devices(table: &str) -> HashSet<u64> {
    let device = |line: &str| {
        let (before, after) = line.split_once(" - ")?;
        let is_one = TYPES.contains(&after.split(' ').next()?);
        let (major, minor) = before.split(' ').nth(2)?.split_once(':')?;
        is_one.then_some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
    };
    table.lines().filter_map(device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_of_made_up_types_are_read_out_of_the_table_of_mounts() {
        let table = "21 1 0:6 / /dev rw,nosuid shared:2 - devtmpfs udev rw,size=1k\n\
                     22 1 0:7 / /tmp rw - tmpfs none rw\n\
                     36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw\nnonsense\n";
        assert_eq!(devices(table), HashSet::from([rustix::fs::makedev(0, 6)]));
    }

    #[test]
    fn proc_is_made_up_and_the_root_is_not() {
        let open = |path: &str| {
            let handle = std::fs::File::open(path).unwrap();
            (Facts::of_handle(&handle).unwrap(), handle)
        };
        let made_up = MadeUp::default();
        let (facts, handle) = open("/proc");
        assert!(made_up.holds(&facts, &handle));
        let (facts, handle) = open("/");
        assert!(!made_up.holds(&facts, &handle));
    }
}
