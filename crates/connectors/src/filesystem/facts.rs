//! What the kernel says about one file or folder, and the version stamps that are made of it (design 4.5, 4.18).

use std::hash::Hasher as _;
use std::os::fd::{AsFd, BorrowedFd};

use ingather_model::key::Stamp;
use ingather_model::limits;
use rustix::fs::{AtFlags, FileType, Stat, Statx, StatxFlags};
use siphasher::sip::SipHasher13;

/// Asks for a number of the mount that is never given again (since Linux 6.8). Older kernels tell one that is, or none.
const MOUNT: StatxFlags = StatxFlags::from_bits_retain(0x4000);
/// Marks numbers of mounts that are given again.
pub(super) const REUSABLE: u64 = 1 << 63;

/// The parts of a `stat` that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) dev: u64,
    pub(super) ino: u64,
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) size: u64,
    /// Seconds and nanoseconds.
    pub(super) mtime: (i64, u32),
    /// Seconds and nanoseconds.
    pub(super) ctime: (i64, u32),
    /// Number of the mount; 0 where the kernel tells none.
    pub(super) mount: u64,
}

impl Facts {
    #[inline]
    fn of(stat: &Statx) -> Facts {
        let mask = StatxFlags::from_bits_retain(stat.stx_mask);
        Facts {
            dev: rustix::fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
            ino: stat.stx_ino,
            mode: u32::from(stat.stx_mode),
            uid: stat.stx_uid,
            gid: stat.stx_gid,
            size: stat.stx_size,
            mtime: (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec),
            ctime: (stat.stx_ctime.tv_sec, stat.stx_ctime.tv_nsec),
            mount: match (mask.contains(MOUNT), mask.contains(StatxFlags::MNT_ID)) {
                (true, _) => stat.stx_mnt_id,
                (_, true) => stat.stx_mnt_id | REUSABLE,
                _ => 0,
            },
        }
    }

    /// By the older call, which costs less and does not tell the mount.
    #[expect(clippy::unnecessary_cast, reason = "the widths differ between machines")]
    #[inline(always)]
    fn of_stat(stat: &Stat, mount: u64) -> Facts {
        Facts {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            mode: stat.st_mode as u32,
            uid: stat.st_uid,
            gid: stat.st_gid,
            size: stat.st_size as u64,
            mtime: (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
            ctime: (stat.st_ctime as i64, stat.st_ctime_nsec as u32),
            mount,
        }
    }

    /// The facts of `name` in a folder with these facts, without following it. Not `exact`: what lies on the same file system counts
    /// as being on the same mount, for it makes no difference which.
    #[inline(always)]
    pub(super) fn of_entry(
        (above, folder): (&Facts, BorrowedFd<'_>),
        name: &std::ffi::CStr,
        exact: bool,
    ) -> rustix::io::Result<Facts> {
        if exact {
            return Facts::of_name(folder, name);
        }
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let facts = Facts::of_stat(&stat, above.mount);
        if facts.dev == above.dev { Ok(facts) } else { Facts::of_name(folder, name) }
    }

    /// The facts of `name` in a folder, without following it.
    pub(super) fn of_name<N: rustix::path::Arg>(folder: impl AsFd, name: N) -> rustix::io::Result<Facts> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        rustix::fs::statx(folder, name, flags, StatxFlags::BASIC_STATS | MOUNT).map(|stat| Facts::of(&stat))
    }

    /// The same, and when it was made, in one call.
    pub(super) fn of_new(folder: impl AsFd, name: &[u8]) -> rustix::io::Result<(Facts, Option<i64>)> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let wanted = StatxFlags::BASIC_STATS | StatxFlags::BTIME | MOUNT;
        let stat = rustix::fs::statx(folder, name, flags, wanted)?;
        Ok((Facts::of(&stat), born_by(&stat)))
    }

    /// Whether nothing that a reader would notice has happened since these facts of what is open as `handle` were asked for.
    pub(super) fn still(&self, handle: impl AsFd) -> bool {
        rustix::fs::fstat(handle).is_ok_and(|stat| Facts::of_stat(&stat, self.mount).unchanged_since(self))
    }

    /// The facts of what is open as `handle`.
    pub(super) fn of_handle(handle: impl AsFd) -> rustix::io::Result<Facts> {
        rustix::fs::statx(handle, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS | MOUNT)
            .map(|stat| Facts::of(&stat))
    }

    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }

    /// Device and inode.
    pub(super) fn id(&self) -> (u64, u64) {
        (self.dev, self.ino)
    }

    /// Stands for the mount: what is remembered by it is not taken for what is mounted later. Device numbers alone are given again.
    #[inline]
    pub(super) fn mounted(&self) -> u64 {
        self.dev ^ self.mount.rotate_left(32)
    }

    pub(super) fn mount_is_unique(&self) -> bool {
        self.mount != 0 && self.mount & REUSABLE == 0
    }

    /// Identity of a container in reports.
    pub(super) fn container_identity(&self) -> String {
        format!("{}:{}", self.dev, self.ino)
    }

    /// Whether nothing that a reader would notice happened between two looks.
    fn unchanged_since(&self, before: &Facts) -> bool {
        self.id() == before.id()
            && (self.size, self.mtime, self.ctime) == (before.size, before.mtime, before.ctime)
    }

    /// Content and access stamps as of `now`, which must be a time before these facts were asked for. Both are none
    /// while another change could get the same change time, or when that lies in the future. The marks stand for what changes beside
    /// these facts and moves no change time; 0: nothing does.
    #[inline(always)]
    pub(super) fn stamps(&self, now: i64, grain: Grain, content: u64, access: u64) -> (Stamp, Stamp) {
        if millis(self.ctime).saturating_add(grain.of(self.ctime)) >= now {
            return (Stamp::NONE, Stamp::NONE);
        }
        (
            some([self.size, self.mtime.0 as u64, u64::from(self.mtime.1), self.ino ^ content]),
            some([
                self.ctime.0 as u64,
                u64::from(self.ctime.1),
                u64::from(self.uid) << 32 | u64::from(self.gid),
                u64::from(self.mode) ^ access,
            ]),
        )
    }

    /// What stays when the file is renamed; never 0. The mark is that of its content.
    #[inline(always)]
    pub(super) fn identity(&self, content: u64) -> i64 {
        let mut hash = SipHasher13::new();
        for word in [self.dev ^ content, self.ino, self.size, self.mtime.0 as u64, u64::from(self.mtime.1)] {
            hash.write_u64(word);
        }
        match hash.finish() as i64 {
            0 => 1,
            identity => identity,
        }
    }
}

/// When what is open as `handle` was made, milliseconds since 1970 UTC, where the file system knows.
pub(super) fn born(handle: impl AsFd) -> Option<i64> {
    born_by(&rustix::fs::statx(handle, c"", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?)
}

fn born_by(stat: &Statx) -> Option<i64> {
    let known = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
    known.then(|| millis((stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec)))
}

/// A time of the kernel in milliseconds since 1970 UTC.
pub(super) fn millis((seconds, nanoseconds): (i64, u32)) -> i64 {
    seconds.saturating_mul(1_000).saturating_add(i64::from(nanoseconds / 1_000_000))
}

fn some(words: [u64; 4]) -> Stamp {
    if Stamp(words) == Stamp::NONE { Stamp([0, 0, 0, u64::MAX]) } else { Stamp(words) }
}

/// The grain of the clock that stamps the changes of a device, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grain {
    /// Of stamps in whole milliseconds: they may be in whole seconds as well.
    whole: i64,
    /// Of stamps with a smaller fraction.
    fraction: i64,
}

impl Grain {
    /// The grain of one stamp, milliseconds.
    pub(super) fn of(self, stamp: (i64, u32)) -> i64 {
        if stamp.1.is_multiple_of(1_000_000) { self.whole } else { self.fraction }
    }

    /// Of stamps as they are now, milliseconds.
    pub(super) fn longest_ms(self) -> i64 {
        self.fraction
    }

    /// That of a file system, by its magic number; none when it does not tell.
    pub(super) fn of_magic(magic: Option<u64>) -> Grain {
        let same = |whole: i64| Grain { whole, fraction: whole };
        let Some(magic) = magic else {
            return same(
                limits::CLOCK_GRAINS.iter().map(|(_, grain)| *grain).max().unwrap_or(limits::CLOCK_GRAIN_MS),
            );
        };
        if limits::CLOCKS_OF_TWO_AGES.contains(&magic) {
            return Grain { whole: limits::CLOCK_GRAIN_MS, fraction: limits::CLOCK_TICK_MS };
        }
        let known = limits::CLOCK_GRAINS.iter().find(|(known, _)| *known == magic);
        same(known.map_or(limits::CLOCK_GRAIN_MS, |(_, grain)| *grain))
    }
}

/// Facts of nothing, for what is filled in later.
pub(super) fn none() -> Facts {
    Facts { dev: 0, ino: 0, mode: 0, uid: 0, gid: 0, size: 0, mtime: (0, 0), ctime: (0, 0), mount: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(ctime: (i64, u32)) -> Facts {
        Facts { dev: 1, ino: 2, mode: 0o100_644, uid: 3, gid: 4, size: 5, mtime: (6, 7), ctime, mount: 8 }
    }

    #[test]
    fn a_change_within_the_grain_or_in_the_future_is_racy() {
        let now = 1_000_000;
        let grain = Grain { whole: 2_000, fraction: 100 };
        let racy = |ctime| facts(ctime).stamps(now, grain, 0, 0) == (Stamp::NONE, Stamp::NONE);
        assert!(racy((1_000, 0)), "just now");
        assert!(racy((998, 0)), "two seconds ago exactly");
        assert!(racy((5_000, 0)), "in the future");
        assert!(racy((i64::MAX, 0)), "far in the future");
        assert!(!racy((997, 999_000_000)));
        assert!(!racy((-5, 0)), "before 1970");
        assert!(!racy((999, 800_000_001)), "a clock of nanoseconds");
        assert!(racy((999, 900_000_001)));
    }

    #[test]
    fn stamps_tell_content_and_access_apart() {
        let grain = Grain { whole: 0, fraction: 0 };
        let old = facts((0, 0));
        let (content, access) = old.stamps(1_000_000, grain, 0, 0);
        let chmodded = Facts { mode: 0o100_600, ctime: (1, 0), ..old };
        assert_eq!(chmodded.stamps(1_000_000, grain, 0, 0).0, content);
        assert_ne!(chmodded.stamps(1_000_000, grain, 0, 0).1, access);
        let rewritten = Facts { mtime: (6, 8), ..old };
        assert_ne!(rewritten.stamps(1_000_000, grain, 0, 0).0, content);
        assert_ne!(rewritten.identity(0), old.identity(0));
        assert_eq!(chmodded.identity(0), old.identity(0));
        let (content_of_another, access_of_another) = old.stamps(1_000_000, grain, 7, 9);
        assert!(content_of_another != content && access_of_another != access, "what stands beside the facts");
        assert_ne!(old.identity(7), old.identity(0));
    }
}
