//! Whether the modes that a file system shows are what the kernel of this machine goes by. Where a server or another program
//! decides, they may be made up, and nobody but root is shown what lies there (design 4.20).

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ingather_model::{names, run_counts};

use super::facts::Facts;
use super::{kinds, mounts};

/// Devices that are remembered; a source with more of them asks again for those beyond.
const DEVICES_MAX: usize = 64;

/// A line of the mount table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Mount {
    kind: String,
    /// Where it is mounted, as a person reads it.
    place: String,
    /// Options of the file system, not of the place.
    options: Vec<String>,
}

/// What is known of one file system.
#[derive(Clone, Debug)]
struct Device {
    /// As [`Facts::mounted`] says.
    mounted: u64,
    trusted: bool,
    /// Whether each change passes the kernel of this machine, so that it tells watchers of all.
    watched: bool,
    /// For those that are not trusted: what it is and where.
    label: String,
}

/// What a source trusts.
#[derive(Debug, Default)]
pub(super) struct Trust {
    /// What the job says: none when nobody has decided.
    word: Option<bool>,
    /// The mount that was trusted last, for almost all documents are on it; 0: none.
    last: AtomicU64,
    devices: Mutex<Vec<Device>>,
    /// Documents listed on devices that are not trusted, by what they are and where.
    hidden: Mutex<BTreeMap<String, u64>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Trust {
    pub(super) fn new(word: Option<bool>) -> Trust {
        Trust { word, ..Trust::default() }
    }

    /// Whether the modes of what is open as `handle`, with these facts, count.
    pub(super) fn of(&self, facts: &Facts, handle: impl AsFd) -> bool {
        if self.word == Some(true) || self.is_last(facts) {
            return true;
        }
        let trusted = self.device(facts, handle).trusted;
        if trusted {
            self.last.store(facts.mounted(), Ordering::Relaxed);
        }
        trusted
    }

    fn is_last(&self, facts: &Facts) -> bool {
        facts.mounted() != 0 && self.last.load(Ordering::Relaxed) == facts.mounted()
    }

    /// Whether the kernel of this machine tells of each change there, whatever the job says. Who checks modes need not be who
    /// changes them.
    pub(super) fn tells_all(&self, facts: &Facts, handle: impl AsFd) -> bool {
        self.device(facts, handle).watched
    }

    fn device(&self, facts: &Facts, handle: impl AsFd) -> Device {
        if let Some(device) = locked(&self.devices).iter().find(|device| device.mounted == facts.mounted()) {
            return device.clone();
        }
        let device = look(facts, handle);
        let mut devices = locked(&self.devices);
        if devices.len() < DEVICES_MAX {
            devices.push(device.clone());
        }
        device
    }

    /// Takes note of documents of a folder that was judged.
    pub(super) fn count(&self, facts: &Facts, documents: usize) {
        if self.is_last(facts) {
            return;
        }
        let label = locked(&self.devices)
            .iter()
            .find(|device| device.mounted == facts.mounted() && !device.trusted)
            .map(|device| device.label.clone());
        if let Some(label) = label {
            *locked(&self.hidden).entry(label).or_default() += documents as u64;
        }
    }

    /// Begins to count from nothing.
    pub(super) fn begin(&self) {
        locked(&self.hidden).clear();
    }

    /// What nobody has decided yet, for people.
    pub(super) fn notes(&self) -> Vec<String> {
        if self.word.is_some() {
            return Vec::new();
        }
        let told = |(label, documents): (&String, &u64)| {
            let (what, are) = match *documents {
                0 => ("what lies".to_owned(), "is"),
                1 => (run_counts::counted(1, "document"), "is"),
                n => (run_counts::counted(n, "document"), "are"),
            };
            format!(
                "{what} on {label} {are} shown to root alone, for this machine does not decide who may read there, so that the \
                 modes may be made up; if they are right, `--trust-modes on` goes by them, and `--trust-modes \
                 off` leaves it so without a word"
            )
        };
        locked(&self.hidden).iter().map(told).collect()
    }
}

fn look(facts: &Facts, handle: impl AsFd) -> Device {
    // A magic number is 32 bits, whatever the width and sign of the field.
    let magic = rustix::fs::fstatfs(handle).map_or(0, |fs| fs.f_type as u64 & 0xffff_ffff);
    if kinds::is(magic, kinds::LOCAL) {
        return local(facts, magic);
    }
    judge(facts, magic, &mounts::table())
}

fn local(facts: &Facts, magic: u64) -> Device {
    let watched = kinds::is(magic, kinds::WATCHED);
    Device { mounted: facts.mounted(), trusted: true, watched, label: String::new() }
}

/// Judges a device that is not local by its line in the mount table.
fn judge(facts: &Facts, magic: u64, table: &str) -> Device {
    let mount = mount_of(facts.dev, table).unwrap_or_default();
    let has = |option: &str| mount.options.iter().any(|other| other == option);
    // A machine's own folders, shared with it by the machine that it runs on, are checked by its kernel as well. Without
    // `allow_other` only the one who mounted it may enter, whatever the modes say.
    let trusted = magic == kinds::FUSE
        && (mount.kind == "virtiofs" || (has("default_permissions") && has("allow_other")));
    let label = match mount.kind.is_empty() {
        true => format!("a file system of the unknown kind {magic:#x}"),
        false => format!("`{}` ({})", mount.place, mount.kind),
    };
    Device { mounted: facts.mounted(), trusted, watched: false, label }
}

/// The line of a device in the mount table: `36 35 98:0 /in /at rw - kind source options`, with optional words before the dash.
fn mount_of(dev: u64, table: &str) -> Option<Mount> {
    let number = format!("{}:{}", rustix::fs::major(dev), rustix::fs::minor(dev));
    table.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut words = before.split(' ').skip(2);
        (words.next()? == number).then_some(())?;
        let place = words.nth(1)?;
        let mut words = after.split(' ');
        let kind = words.next()?.to_owned();
        let options = words.nth(1).unwrap_or_default().split(',').map(str::to_owned).collect();
        Some(Mount { kind, place: plain(place), options })
    })
}

/// A path of the mount table, as names are written.
fn plain(written: &str) -> String {
    names::escape(&mounts::unescaped(written)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:50 / /mnt/nfs rw - nfs4 server:/export rw,vers=4.2
41 22 0:51 / /mnt/my\\040share rw,nosuid shared:7 master:2 - cifs //server/share rw,uid=0
42 22 0:52 / /mnt/sshfs rw - fuse.sshfs ann@host: rw,user_id=0,default_permissions,allow_other
43 22 0:53 / /mnt/own rw - fuse.sshfs ann@host: rw,user_id=1000,default_permissions
44 22 0:54 / /mnt/other rw - fuse.rclone remote: rw,allow_other
45 22 0:55 / /mnt/host rw - virtiofs host rw
";

    fn facts(minor: u32) -> Facts {
        Facts { dev: rustix::fs::makedev(0, minor), mount: 7, ..super::super::facts::none() }
    }

    fn device(minor: u32, magic: u64) -> Device {
        judge(&facts(minor), magic, TABLE)
    }

    #[test]
    fn a_server_or_a_program_that_decides_by_itself_is_not_trusted() {
        for (minor, magic, trusted, label) in [
            (50, 0x6969, false, "`/mnt/nfs` (nfs4)"),
            (51, 0xff53_4d42, false, "`/mnt/my share` (cifs)"),
            (52, kinds::FUSE, true, "`/mnt/sshfs` (fuse.sshfs)"),
            (53, kinds::FUSE, false, "`/mnt/own` (fuse.sshfs)"),
            (54, kinds::FUSE, false, "`/mnt/other` (fuse.rclone)"),
            (55, kinds::FUSE, true, "`/mnt/host` (virtiofs)"),
            (56, kinds::FUSE, false, "a file system of the unknown kind 0x65735546"),
        ] {
            let found = device(minor, magic);
            assert_eq!((found.trusted, found.label.as_str()), (trusted, label));
            assert!(!found.watched, "the machine or the program behind it changes modes as well: {label}");
        }
    }

    #[test]
    fn only_where_each_change_passes_this_kernel_is_a_watch_told_of_all() {
        for (magic, watched) in [
            (0xef53, true),
            (0x5846_5342, true),
            (0x0102_1994, true),
            (0x794c_7630, true),
            (0x2fc1_2fc1, false),
            (0xf15f, false),
            (0x0116_1970, false),
            (0x7461_636f, false),
        ] {
            let found = local(&facts(1), magic);
            assert_eq!((found.trusted, found.watched), (true, watched), "{magic:#x}");
        }
    }

    #[test]
    fn what_is_hidden_is_told_until_somebody_decides() {
        let facts = facts(50);
        let handle = std::fs::File::open("/").unwrap();
        for (word, notes) in [(None, 1), (Some(false), 0), (Some(true), 0)] {
            let trust = Trust::new(word);
            locked(&trust.devices).push(device(50, 0x6969));
            assert_eq!(trust.of(&facts, &handle), word == Some(true));
            trust.count(&facts, 7);
            trust.count(&facts, 5);
            assert_eq!(trust.notes().len(), notes, "{word:?}");
            if word.is_none() {
                let said = &trust.notes()[0];
                assert!(
                    said.contains("12 documents on `/mnt/nfs` (nfs4)") && said.contains("--trust-modes on")
                );
            }
            let another = Facts { mount: 8, ..facts };
            assert!(trust.of(&another, &handle), "another mount that got the number of the device");
            trust.begin();
            assert_eq!(trust.notes(), [""; 0]);
        }
    }
}
