//! Runs a program and kills it: after a time, or when it is seen to do a certain thing to its files.
//!
//! The program knows nothing of this. What it does is seen from outside, by the kernel's notices about its folders, so the
//! kill falls a few microseconds behind the named point, with the program in the middle of what comes next.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::io::Result;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

/// Longest time that a run may take.
const RUN_MAX: Duration = Duration::from_secs(300);
/// Longest time that a program may go on when it has lost its database.
pub(super) const LOST_MAX: Duration = Duration::from_secs(60);
/// Pause between two looks at a program of which nothing is seen.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000 };

/// Something that a program is seen to do.
struct Point {
    name: &'static str,
    folder: Folder,
    seen: ReadFlags,
    file: fn(&[u8]) -> bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Folder {
    Data,
    Index,
    Journal,
    ServerLog,
}

/// What can be seen, in the order of a run.
const POINTS: &[Point] = &[
    Point {
        name: "a write to the store",
        folder: Folder::Data,
        seen: ReadFlags::MODIFY,
        file: |name| name == b"store.db-wal",
    },
    Point {
        name: "a write to the database server's log",
        folder: Folder::ServerLog,
        seen: ReadFlags::MODIFY,
        file: |_| true,
    },
    Point {
        name: "a write to the journal",
        folder: Folder::Journal,
        seen: ReadFlags::MODIFY,
        file: |name| name == super::JOURNAL.as_bytes(),
    },
    Point {
        name: "a new part of the index",
        folder: Folder::Index,
        seen: ReadFlags::CREATE,
        file: |name| name.ends_with(b".store"),
    },
    Point {
        name: "deletions written to the index",
        folder: Folder::Index,
        seen: ReadFlags::CREATE,
        file: |name| name.ends_with(b".del"),
    },
    Point {
        name: "a commit of the index begun",
        folder: Folder::Index,
        seen: ReadFlags::CREATE,
        file: |name| name.starts_with(b".tmp"),
    },
    Point {
        name: "a commit of the index done",
        folder: Folder::Index,
        seen: ReadFlags::MOVED_TO,
        file: |name| name == b"meta.json",
    },
];

/// How often each point was seen, by its place in the table.
pub(super) type Seen = BTreeMap<usize, usize>;

/// When a kill happens.
#[derive(Clone, Debug)]
pub(super) enum When {
    /// So long after the start.
    After(Duration),
    /// When a point is seen for the nth time, and a little later.
    Seen { point: usize, nth: usize, later: Duration },
}

impl std::fmt::Display for When {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            When::After(time) => write!(f, "{} µs after its start", time.as_micros()),
            When::Seen { point, nth, later } => {
                write!(f, "{} µs after {} (number {nth})", later.as_micros(), POINTS[*point].name)
            }
        }
    }
}

/// The folders in which a program is watched.
pub(super) struct Watched(pub(super) Vec<(Folder, PathBuf)>);

/// How a watched program ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) err: String,
    pub(super) out: String,
    pub(super) seen: Seen,
    pub(super) took: Duration,
}

/// Runs `command` and does `kill` to it at its time, if there is one.
///
/// # Errors
/// When it cannot be run or watched, or does not end.
pub(super) fn watch(
    mut command: Command,
    watched: &Watched,
    when: Option<&When>,
    kill: &mut dyn FnMut(Pid) -> Result<()>,
) -> Result<Ended> {
    let notices = notices(watched)?;
    let folder = tempfolder(watched);
    let out = folder.join("said.out");
    let err = folder.join("said.err");
    command.stdin(Stdio::null()).stdout(std::fs::File::create(&out)?).stderr(std::fs::File::create(&err)?);
    let start = Instant::now();
    let mut child = command.process_group(0).spawn()?;
    let group = Pid::from_child(&child);
    let mut seen = Seen::new();
    let mut deadline = start + RUN_MAX;
    let mut pending = when;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            end(&mut child, group)?;
            return Err(std::io::Error::other("the program does not end"));
        }
        note(&notices, &mut seen)?;
        if pending.is_some_and(|when| is_due(when, start, &seen)) {
            if let Some(When::Seen { later, .. }) = pending {
                spin(*later);
            }
            pending = None;
            kill(group)?;
            deadline = Instant::now() + LOST_MAX;
            continue;
        }
        wait(&notices, pending, start)?;
    };
    note(&notices, &mut seen)?;
    let text = |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Ended { status, err: text(&err)?, out: text(&out)?, seen, took: start.elapsed() })
}

/// Where the program's words go: beside the journal.
fn tempfolder(watched: &Watched) -> PathBuf {
    watched
        .0
        .iter()
        .find(|(folder, _)| *folder == Folder::Journal)
        .map_or_else(PathBuf::new, |(_, path)| path.clone())
}

fn is_due(when: &When, start: Instant, seen: &Seen) -> bool {
    match when {
        When::After(time) => start.elapsed() >= *time,
        When::Seen { point, nth, .. } => seen.get(point).is_some_and(|times| times >= nth),
    }
}

/// Waits for the next notice, but no longer than a moment and not beyond a kill.
fn wait(notices: &Notices, when: Option<&When>, start: Instant) -> Result<()> {
    let mut time = LOOK;
    if let Some(When::After(after)) = when {
        let left = after.saturating_sub(start.elapsed()).as_nanos();
        time.tv_nsec = time.tv_nsec.min(i64::try_from(left).unwrap_or(i64::MAX));
    }
    match poll(&mut [PollFd::new(&notices.kernel, PollFlags::IN)], Some(&time)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn spin(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

/// Kills a program with all that it has started, at once.
pub(super) fn end(child: &mut Child, group: Pid) -> Result<()> {
    kill_group(group)?;
    child.wait().map(drop)
}

/// As `kill -9 -GROUP`; it may have ended meanwhile.
pub(super) fn kill_group(group: Pid) -> Result<()> {
    match kill_process_group(group, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

struct Notices {
    kernel: OwnedFd,
    folders: BTreeMap<i32, Folder>,
}

fn notices(watched: &Watched) -> Result<Notices> {
    let kernel = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
    let flags = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO;
    let mut folders = BTreeMap::new();
    // What is not there yet cannot be watched: the first run makes it.
    for (folder, path) in watched.0.iter().filter(|(_, path)| path.is_dir()) {
        folders.insert(inotify::add_watch(&kernel, path.as_path(), flags)?, *folder);
    }
    Ok(Notices { kernel, folders })
}

fn note(notices: &Notices, seen: &mut Seen) -> Result<()> {
    let mut buffer = [MaybeUninit::uninit(); 16 << 10];
    let mut reader = inotify::Reader::new(&notices.kernel, &mut buffer);
    loop {
        let event = match reader.next() {
            Ok(event) => event,
            Err(Errno::AGAIN) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let Some(folder) = notices.folders.get(&event.wd()) else { continue };
        let name = event.file_name().map(CStr::to_bytes).unwrap_or_default();
        for (at, point) in POINTS.iter().enumerate() {
            if point.folder == *folder && event.events().contains(point.seen) && (point.file)(name) {
                *seen.entry(at).or_default() += 1;
            }
        }
    }
}

/// Name of a point.
pub(super) fn name(point: usize) -> &'static str {
    POINTS[point].name
}
