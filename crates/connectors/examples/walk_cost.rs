//! Measures what a listing of the filesystem source costs beside a bare parallel walk that only calls `stat`.
//!
//! `cargo run --release -p ingather-connectors --no-default-features --example walk_cost [FOLDERS FILES_IN_EACH THREADS]`

use std::io::{self, Write};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ingather_connector::call::{Call, Cancel, Clock};
use ingather_connector::repository::Surroundings;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};

const ROUNDS: usize = 20;

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |time| time.as_millis() as i64)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let figures: Vec<usize> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let figure = |at: usize, default| figures.get(at).copied().unwrap_or(default);
    let (folders, files, threads) = (figure(0, 1_000), figure(1, 100), figure(2, 2));
    let guard = tempfile::tempdir()?;
    let root = guard.path().canonicalize()?;
    for folder in 0..folders {
        let folder = root.join(format!("folder-{:02}/part-{folder:05}", folder % 20));
        std::fs::create_dir_all(&folder)?;
        for file in 0..files {
            std::fs::write(folder.join(format!("document-{file:05}.txt")), "")?;
        }
    }
    // Both take turns, so that a busy machine slows both; the first round only warms the caches.
    let mut bare = Cost::default();
    let mut listing = Cost::default();
    for round in 0..=ROUNDS {
        let first = measure(|| bare_walk(&root, threads))?;
        let second = measure(|| list(&root, threads))?;
        assert_eq!(first.files, second.files);
        if round > 0 {
            bare.add(&first);
            listing.add(&second);
        }
    }
    let mut out = io::stdout();
    writeln!(out, "{folders} folders of {files} files, {threads} threads, mean of {ROUNDS} rounds")?;
    bare.tell(&mut out, "bare walk and stat")?;
    listing.tell(&mut out, "listing")?;
    writeln!(out, "listing / bare: cpu {:.2}, wall {:.2}", listing.cpu / bare.cpu, listing.wall / bare.wall)?;
    Ok(())
}

/// Seconds.
#[derive(Default)]
struct Cost {
    wall: f64,
    cpu: f64,
    files: usize,
}

impl Cost {
    fn add(&mut self, other: &Cost) {
        self.wall += other.wall;
        self.cpu += other.cpu;
        self.files = other.files;
    }

    fn tell(&self, out: &mut impl Write, name: &str) -> io::Result<()> {
        let mean = |seconds: f64| seconds * 1_000.0 / ROUNDS as f64;
        writeln!(
            out,
            "{name:20} cpu {:7.1} ms, wall {:7.1} ms, {} files",
            mean(self.cpu),
            mean(self.wall),
            self.files
        )
    }
}

fn measure(work: impl FnOnce() -> io::Result<usize>) -> io::Result<Cost> {
    let (cpu, start) = (processor_seconds()?, Instant::now());
    let files = work()?;
    Ok(Cost { wall: start.elapsed().as_secs_f64(), cpu: processor_seconds()? - cpu, files })
}

/// User and system time of the process so far; the kernel counts it in hundredths of a second.
fn processor_seconds() -> io::Result<f64> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = text.rsplit(") ").next().unwrap_or_default();
    let ticks: f64 = after_name.split(' ').skip(11).take(2).filter_map(|word| word.parse::<f64>().ok()).sum();
    Ok(ticks / 100.0)
}

fn list(root: &Path, threads: usize) -> io::Result<usize> {
    let settings = serde_json::json!({ "root": root });
    let kind = ingather_connectors::ALL.repository("filesystem").ok_or(io::ErrorKind::NotFound)?;
    let source =
        (kind.open)(&settings, &Surroundings { own: Vec::new(), threads }).map_err(io::Error::other)?;
    let call = Call { clock: Arc::new(SystemClock), cancel: Cancel::default() };
    let mut listing = source.list(&call).map_err(io::Error::other)?;
    let mut files = 0;
    while let Some(page) = listing.next() {
        files += page.map_err(io::Error::other)?.groups.iter().map(|group| group.items.len()).sum::<usize>();
    }
    Ok(files)
}

fn bare_walk(root: &Path, threads: usize) -> io::Result<usize> {
    let stack = Mutex::new((vec![root.to_owned()], 0usize));
    let files = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| bare_work(&stack, &files))).collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| io::Error::other("a thread died"))?)
    })?;
    Ok(files.into_inner())
}

/// Waiting folders, and threads at work.
type Stack = Mutex<(Vec<PathBuf>, usize)>;

fn bare_work(stack: &Stack, files: &AtomicUsize) -> io::Result<()> {
    let mut buffer = vec![MaybeUninit::<u8>::uninit(); 32 << 10];
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    loop {
        let next = {
            let mut stack = stack.lock().map_err(|_| io::Error::other("a thread died"))?;
            let next = stack.0.pop();
            stack.1 += usize::from(next.is_some());
            if next.is_none() && stack.1 == 0 {
                return Ok(());
            }
            next
        };
        let Some(folder) = next else {
            std::thread::yield_now();
            continue;
        };
        let handle = rustix::fs::open(&folder, flags, Mode::empty())?;
        let mut found = 0;
        let mut below = Vec::new();
        let mut entries = RawDir::new(&handle, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            match entry.file_type() {
                FileType::Directory if matches!(name.to_bytes(), b"." | b"..") => {}
                FileType::Directory => below.push(folder.join(name.to_string_lossy().as_ref())),
                _ => {
                    std::hint::black_box(rustix::fs::statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW)?);
                    found += 1;
                }
            }
        }
        files.fetch_add(found, Ordering::Relaxed);
        let mut stack = stack.lock().map_err(|_| io::Error::other("a thread died"))?;
        stack.0.extend(below);
        stack.1 -= 1;
    }
}
