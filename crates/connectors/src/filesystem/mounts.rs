//! What stamps must hold of a mount: where change times tell of each change nothing, elsewhere the mount itself, so that after another
//! one each file is looked at anew (design 4.18, decision 0013).

use std::ffi::OsString;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt as _;
use std::sync::OnceLock;

use ingather_model::key::Stamp;
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use siphasher::sip::SipHasher13;

use super::facts::{Facts, Grain};
use super::kinds;

/// Longest table of mounts that is read, bytes.
const TABLE_BYTES_MAX: u64 = 16 << 20;
/// Mounts that are remembered; a source with more of them asks again for those beyond.
const MOUNTS_MAX: usize = 256;

/// How deep overlays lie in each other: the kernel takes no more.
const OVERLAYS_DEPTH_MAX: usize = 2;

/// Marks stamps of documents that root alone may see, because of what they lie on.
const ALONE: u64 = 0x616c_6f6e_6500_0000;

/// What is known of one mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mounted {
    /// Of the clock that stamps its changes.
    pub(super) grain: Grain,
    /// What stamps hold of the mount; 0 where change times tell of each change.
    pub(super) mark: u64,
    /// It shows other owners than its file system has, and no change time tells since when: stamps hold the access list.
    pub(super) mapped: bool,
    /// It makes a difference on which mount of its file system a file is: one may be mounted by itself.
    pub(super) exact: bool,
}

impl Mounted {
    /// The stamps of content and access of a file on it, as [`Facts::stamps`]. `list` is the digest of what is shown as its access
    /// list, where that has to be looked at; `alone`: root alone may see it, because of what it lies on.
    #[inline(always)]
    pub(super) fn stamps(&self, facts: &Facts, now: i64, alone: bool, list: u64) -> (Stamp, Stamp) {
        let access = self.mark ^ list ^ if alone { ALONE } else { 0 };
        facts.stamps(now, self.grain, self.mark, access)
    }
}

/// Mounts met so far; each is asked about once.
#[derive(Debug, Default)]
pub(super) struct Mounts(Vec<(u64, Mounted)>);

impl Mounts {
    /// The mount that something with these facts is on, if it was met before.
    pub(super) fn known(&self, facts: &Facts) -> Option<Mounted> {
        self.0.iter().find(|(key, _)| *key == facts.mounted()).map(|(_, mounted)| *mounted)
    }

    pub(super) fn note(&mut self, facts: &Facts, mounted: Mounted) {
        self.0.retain(|(key, _)| *key != facts.mounted());
        if self.0.len() < MOUNTS_MAX {
            self.0.push((facts.mounted(), mounted));
        }
    }

    /// The longest grain, milliseconds.
    pub(super) fn longest_ms(&self) -> i64 {
        self.0.iter().map(|(_, mounted)| mounted.grain.longest_ms()).max().unwrap_or_default()
    }
}

/// Asks about the mount of what is open as `handle`. What is not `trusted` is shown to root alone, whatever its stamps say.
pub(super) fn look(facts: &Facts, handle: impl AsFd, trusted: bool) -> Mounted {
    let magic = magic_of(handle.as_fd());
    let number = number(handle);
    let table = table();
    let line = number.and_then(|number| line_of(number, &table));
    let tells = || {
        tells_changes(magic, line.as_deref())
            && !has_image(magic, line.as_deref(), &table, OVERLAYS_DEPTH_MAX, &open_layer)
    };
    let mark = if !trusted || tells() { 0 } else { mark(facts, boot()) };
    let mapped = number.is_some() && line.is_none_or(|line| is_mapped(&line));
    Mounted {
        grain: Grain::of_magic(magic),
        mark,
        mapped,
        exact: mark != 0 || mapped || table.lines().any(is_mapped),
    }
}

/// A magic number is 32 bits, whatever the width and sign of the field.
fn magic_of(handle: impl AsFd) -> Option<u64> {
    rustix::fs::fstatfs(handle).ok().map(|fs| fs.f_type as u64 & 0xffff_ffff)
}

/// The number of a mount in the table of mounts; none where the kernel is older than those that map owners.
fn number(handle: impl AsFd) -> Option<u64> {
    let stat = rustix::fs::statx(handle, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::MNT_ID).then_some(stat.stx_mnt_id)
}

/// The table of mounts; as much of it as can be read.
pub(super) fn table() -> String {
    let mut text = Vec::new();
    if let Ok(table) = std::fs::File::open("/proc/self/mountinfo") {
        let _ = table.take(TABLE_BYTES_MAX).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The line of a mount: `36 35 98:0 /in /at options - kind source options`, with optional words before the dash.
fn line_of(number: u64, table: &str) -> Option<String> {
    let number = number.to_string();
    table.lines().find(|line| line.split(' ').next() == Some(&number)).map(str::to_owned)
}

fn is_mapped(line: &str) -> bool {
    line.split(' ').nth(5).is_some_and(|options| options.split(',').any(|option| option == "idmapped"))
}

fn tells_changes(magic: Option<u64>, line: Option<&str>) -> bool {
    let kind = || line?.split_once(" - ")?.1.split(' ').next();
    magic.is_some_and(|magic| {
        kinds::is(magic, kinds::TIMES) || (magic == kinds::FUSE && kind() == Some("virtiofs"))
    })
}

/// Whether a lower layer of an overlay, or of one that it lies on, is known to be on what does not keep change times: the overlay shows its
/// times and numbers, and those of another image at the next mount. Layers that cannot be seen from here count as ordinary ones.
/// `open` tells the kind of a layer and its mount.
fn has_image(
    magic: Option<u64>,
    line: Option<&str>,
    table: &str,
    depth: usize,
    open: &dyn Fn(Vec<u8>) -> Option<(Option<u64>, Option<u64>)>,
) -> bool {
    let (Some(kinds::OVERLAY), Some(line)) = (magic, line) else { return false };
    lower_layers(line).into_iter().filter_map(open).any(|(magic, number)| {
        let line = number.and_then(|number| line_of(number, table));
        !tells_changes(magic, line.as_deref())
            || (depth > 0 && has_image(magic, line.as_deref(), table, depth - 1, open))
    })
}

/// The kind of what lies at a path, and the number of its mount.
fn open_layer(path: Vec<u8>) -> Option<(Option<u64>, Option<u64>)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let layer = rustix::fs::open(OsString::from_vec(path), flags, Mode::empty()).ok()?;
    Some((Some(magic_of(&layer)?), number(&layer)))
}

/// Absolute paths of the lower layers of an overlay, by its line: `lowerdir=/a:/b`, or an option for each.
fn lower_layers(line: &str) -> Vec<Vec<u8>> {
    let Some((_, after)) = line.split_once(" - ") else { return Vec::new() };
    let options = after.split(' ').nth(2).unwrap_or_default();
    let mut layers = Vec::new();
    for option in options.split(',') {
        let Some((name, value)) = option.split_once('=') else { continue };
        match name {
            // A colon that belongs to a path follows a backslash, which is written as `\134` here.
            "lowerdir" => layers.extend(value.replace(r"\134:", r"\134\072").split(':').map(unescaped)),
            "lowerdir+" | "datadir+" => layers.push(unescaped(value)),
            _ => {}
        }
    }
    // Some kernels show the words of who mounted it, with backslashes before what belongs to a path, others the paths.
    let plain: Vec<Vec<u8>> =
        layers.iter().filter(|path| path.contains(&b'\\')).map(|path| bare(path)).collect();
    layers.extend(plain);
    layers.retain(|layer| layer.first() == Some(&b'/'));
    layers
}

/// Without the backslashes that say that the next letter belongs to a path.
fn bare(path: &[u8]) -> Vec<u8> {
    let mut letters = path.iter().copied();
    std::iter::from_fn(|| {
        letters.next().and_then(|one| if one == b'\\' { letters.next() } else { Some(one) })
    })
    .collect()
}

/// A word of the table of mounts, in which blanks and the like are written as `\040`.
pub(super) fn unescaped(written: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(written.len());
    let mut rest = written.as_bytes();
    while let [first, after @ ..] = rest {
        let number = after.get(..3).and_then(|three| std::str::from_utf8(three).ok());
        match (first, number.and_then(|three| u8::from_str_radix(three, 8).ok())) {
            (b'\\', Some(byte)) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// What numbers of mounts are worth.
#[derive(Clone, Copy, Debug)]
struct Boot {
    /// Since when a number that is never given twice stands for one mount; none where the kernel does not say.
    boot: Option<u64>,
    process: u64,
}

fn boot() -> Boot {
    static BOOT: OnceLock<Boot> = OnceLock::new();
    *BOOT.get_or_init(|| {
        let id = std::fs::read("/proc/sys/kernel/random/boot_id").ok().filter(|id| !id.is_empty());
        let hash = |id: Vec<u8>| {
            let mut hash = SipHasher13::new();
            hash.write(&id);
            hash.finish()
        };
        let process = std::collections::hash_map::RandomState::new().hash_one(std::process::id());
        Boot { boot: id.map(hash), process }
    })
}

/// What stands for one mount and for no other; never 0. Numbers that are given again stand for one in this process alone: the next
/// one looks at each file again.
fn mark(facts: &Facts, boot: Boot) -> u64 {
    let since = boot.boot.filter(|_| facts.mount_is_unique()).unwrap_or(boot.process);
    let mut hash = SipHasher13::new();
    for word in [since, facts.mount, facts.dev] {
        hash.write_u64(word);
    }
    hash.finish().max(1)
}

#[cfg(test)]
mod tests {
    use super::super::facts::REUSABLE;
    use super::*;

    const TABLE: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 8:1 /in /at rw,idmapped,relatime shared:2 - ext4 /dev/sda1 rw
41 22 7:0 / /image ro,nodev - squashfs /dev/loop0 ro
45 22 0:55 / /mnt/idmapped rw - virtiofs host rw
";

    #[test]
    fn a_mount_that_maps_owners_is_told_by_its_options_alone() {
        let mapped = [22, 40, 41, 45].map(|number| is_mapped(&line_of(number, TABLE).unwrap()));
        assert_eq!(mapped, [false, true, false, false]);
        assert_eq!(line_of(4, TABLE), None);
    }

    #[test]
    fn a_file_is_asked_for_its_own_mount_wherever_that_makes_a_difference() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "x").unwrap();
        let handle = std::fs::File::open(folder.path()).unwrap();
        let facts = Facts::of_handle(&handle).unwrap();
        // Where only the number of the mount would tell, it is asked for.
        let elsewhere = Facts { mount: facts.mount ^ 1, ..facts };
        let asked = |exact| Facts::of_entry((&elsewhere, handle.as_fd()), c"a", exact).unwrap().mount;
        assert_eq!((asked(true), asked(false)), (facts.mount, elsewhere.mount));
        let other = Facts { dev: facts.dev ^ 1, ..elsewhere };
        assert_eq!(Facts::of_entry((&other, handle.as_fd()), c"a", false).unwrap().mount, facts.mount);
    }

    #[test]
    fn images_and_file_systems_without_change_times_hold_their_mount() {
        let virtiofs = line_of(45, TABLE);
        for (magic, tells) in [
            (Some(0xef53), true),
            (Some(0x6969), true),
            (Some(0x7371_7368), false), // squashfs
            (Some(0x9660), false),      // iso9660
            (Some(0xe0f5_e1e2), false), // erofs
            (Some(0x1501_3346), false), // udf
            (Some(0x28cd_3d45), false), // cramfs
            (Some(0x7275), false),      // romfs
            (Some(0x4d44), false),      // fat
            (Some(0x2011_bab0), false), // exfat
            (Some(kinds::FUSE), false),
            (Some(1), false),
            (None, false),
        ] {
            assert_eq!(tells_changes(magic, None), tells, "{magic:x?}");
        }
        assert!(tells_changes(Some(kinds::FUSE), virtiofs.as_deref()));
    }

    #[test]
    fn an_overlay_tells_changes_as_long_as_no_lower_layer_is_known_to_be_an_image() {
        const SQUASHFS: u64 = 0x7371_7368;
        let open = |path: Vec<u8>| match path.as_slice() {
            b"/image" | b"/an image" | b"/colon:" | b"/comma," | br"/a\b" => Some((Some(SQUASHFS), Some(41))),
            b"/disk" => Some((Some(0xef53), Some(22))),
            b"/inner" => Some((Some(kinds::OVERLAY), Some(50))),
            _ => None,
        };
        let inner = "50 22 0:60 / /inner rw - overlay overlay rw,lowerdir=/image,upperdir=/u,workdir=/w";
        let table = format!("{TABLE}{inner}\n");
        for (options, image) in [
            ("rw,lowerdir=/disk,upperdir=/image,workdir=/w", false),
            ("rw,lowerdir=/disk:/image,upperdir=/u,workdir=/w", true),
            (r"rw,lowerdir=/an\040image", true),
            (r"rw,lowerdir=/disk:/colon\072", true),
            (r"rw,lowerdir=/colon\134::/disk", true),
            (r"rw,lowerdir=/comma\134\054:/disk", true),
            (r"rw,lowerdir=/a\134b", true),
            (r"rw,lowerdir=/a\134\134b", true),
            ("rw,lowerdir+=/disk,lowerdir+=/image", true),
            ("rw,lowerdir=/disk::/image", true),
            ("rw,lowerdir=/inner", true),
            ("rw,lowerdir=/elsewhere:image", false),
            ("rw", false),
        ] {
            let line = format!("51 22 0:61 / /o rw shared:9 - overlay overlay {options}");
            let found = has_image(Some(kinds::OVERLAY), Some(&line), &table, OVERLAYS_DEPTH_MAX, &open);
            assert_eq!(found, image, "{options}");
            assert!(!has_image(Some(0xef53), Some(&line), &table, OVERLAYS_DEPTH_MAX, &open));
        }
    }

    #[test]
    fn a_number_that_is_given_again_stands_for_a_mount_in_one_process_alone() {
        let facts = |mount| Facts { mount, ..super::super::facts::none() };
        let one = Boot { boot: Some(1), process: 2 };
        let (later, rebooted) = (Boot { process: 3, ..one }, Boot { boot: Some(4), ..one });
        assert_eq!(mark(&facts(9), one), mark(&facts(9), later));
        assert_ne!(mark(&facts(9), one), mark(&facts(9), rebooted));
        assert_ne!(mark(&facts(9), one), mark(&facts(10), one));
        for number in [0, REUSABLE | 9] {
            assert_eq!(mark(&facts(number), one), mark(&facts(number), one));
            assert_ne!(mark(&facts(number), one), mark(&facts(number), later));
        }
        let nowhere = Boot { boot: None, process: 2 };
        assert_ne!(mark(&facts(9), nowhere), mark(&facts(9), Boot { process: 3, ..nowhere }));
    }
}
