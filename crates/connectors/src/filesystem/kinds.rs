//! table: what is known of kinds of file systems, by their magic number: who checks modes, and what change times and watches tell of
//! (design 4.20, decision 0013). Grains of their clocks: `ingather_model::limits`.

/// The kernel of this machine checks the modes that they show at each access. FAT and exFAT have none of their own: those that they were
/// mounted with count for everybody.
pub(super) const LOCAL: u8 = 1;
/// They move a change time at each change and keep it: nobody sets it. All others are images that were made with whatever times, make it
/// of the time of modification, or are not known.
pub(super) const TIMES: u8 = 2;
/// Every change passes this kernel, which tells watchers of it: none is made by another machine, by a stream of changes that is received,
/// or in the folder that is encrypted.
pub(super) const WATCHED: u8 = 4;

const ALL: u8 = LOCAL | TIMES | WATCHED;
/// FUSE: the program behind it decides and makes change times up, unless it leaves that to the kernel; see [`super::trust`] and
/// [`super::mounts`].
pub(super) const FUSE: u64 = 0x6573_5546;

/// Overlay: what its layers lie on tells what its times tell; see [`super::mounts`].
pub(super) const OVERLAY: u64 = 0x794c_7630;

const KINDS: &[(u64, u8)] = &[
    (0xef53, ALL),                  // ext2, ext3, ext4
    (0x5846_5342, ALL),             // xfs
    (0x9123_683e, ALL),             // btrfs
    (0xf2f5_2010, ALL),             // f2fs
    (0x0102_1994, ALL),             // tmpfs
    (0x8584_58f6, ALL),             // ramfs
    (OVERLAY, ALL),                 // overlay
    (0xca45_1a4e, ALL),             // bcachefs
    (0x7366_746e, ALL),             // ntfs3
    (0x5265_4973, ALL),             // reiserfs
    (0x3153_464a, ALL),             // jfs
    (0x3434, ALL),                  // nilfs2
    (0x2405_1905, ALL),             // ubifs
    (0x2fc1_2fc1, LOCAL | TIMES),   // zfs
    (0xf15f, LOCAL | TIMES),        // ecryptfs
    (0x0116_1970, LOCAL | TIMES),   // gfs2
    (0x7461_636f, LOCAL | TIMES),   // ocfs2
    (0x4d44, LOCAL | WATCHED),      // fat
    (0x2011_bab0, LOCAL | WATCHED), // exfat
    (0x9660, LOCAL | WATCHED),      // iso9660
    (0x1501_3346, LOCAL | WATCHED), // udf
    (0x7371_7368, LOCAL | WATCHED), // squashfs
    (0xe0f5_e1e2, LOCAL | WATCHED), // erofs
    (0x482b, LOCAL | WATCHED),      // hfs+
    (0x6969, TIMES),                // nfs
    (0xfe53_4d42, TIMES),           // smb2
    (0xff53_4d42, TIMES),           // cifs
    (0x0102_1997, TIMES),           // 9p
    (0x00c3_6400, TIMES),           // ceph
    (0x0bd0_0bd0, TIMES),           // lustre
];

/// Whether a kind is known to do all of `what`.
pub(super) fn is(magic: u64, what: u8) -> bool {
    KINDS.iter().any(|(kind, does)| *kind == magic && does & what == what)
}
