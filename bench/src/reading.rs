//! Reading files of many formats: in a loop in this process, or through a pool of children; and a child that is clumsy.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ingather_extract::{Extracted, Input, Pool, Request, Settings, worker};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::json;

use crate::Result;

/// Files whose name begins so end the clumsy child.
pub(crate) const CRASHER: &str = "crasher-";

/// Runs one of them, for a process of its own.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    match words {
        ["bare", root] => bare(Path::new(root)),
        ["pool", root, program, arguments @ ..] => pooled(Path::new(root), program, arguments),
        ["child"] => Ok(worker::serve(clumsy)?),
        _ => Err(format!("there is no way of reading {words:?}").into()),
    }
}

/// All files of a folder and of the folders in it, or the one file.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    if !root.is_dir() {
        return Ok(vec![root.to_owned()]);
    }
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => folders.push(entry.path()),
                false => found.push(entry.path()),
            }
        }
    }
    found.sort();
    Ok(found)
}

fn request(path: &Path) -> Request {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Request { name, ..Request::default() }
}

/// The readers of formats in a loop: nothing but reading.
fn bare(root: &Path) -> Result<()> {
    let mut text = 0;
    for path in files(root)? {
        text += ingather_extract::extract(&request(&path), Input::memory(std::fs::read(&path)?)).text.len();
    }
    println!("{}", json!({"text_bytes": text}));
    Ok(())
}

/// The same through children, as many as there are processors; says what it took on both sides.
fn pooled(root: &Path, program: &str, arguments: &[&str]) -> Result<()> {
    let children = std::thread::available_parallelism().map_or(1, usize::from);
    let settings = Settings {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        ..Settings::of_this_program(children)?
    };
    let pool = Pool::new(settings);
    let files = files(root)?;
    let (next, text, lost) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let said = Mutex::new(None);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..children)
            .map(|_| {
                scope.spawn(|| {
                    while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let found = pool.extract(&request(path), &mut File::open(path)?)?;
                        text.fetch_add(found.text.len(), Ordering::Relaxed);
                        lost.fetch_add(usize::from(found.lost.is_some()), Ordering::Relaxed);
                        if let (Ok(mut said), Some(reason)) = (said.lock(), reason(&found)) {
                            said.get_or_insert(reason);
                        }
                    }
                    Ok::<(), std::io::Error>(())
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| std::io::Error::other("a thread died"))?)
    })?;
    let started = pool.started();
    // Children count once they have ended.
    drop(pool);
    let peak = |who| getrusage(who).map(|usage| usage.max_rss() as f64 / 1024.0);
    println!(
        "{}",
        json!({
            "text_bytes": text.into_inner(), "lost": lost.into_inner(), "started": started,
            "reason": said.into_inner().ok().flatten(),
            "own_mib": peak(UsageWho::RUSAGE_SELF)?, "child_mib": peak(UsageWho::RUSAGE_CHILDREN)?,
        })
    );
    Ok(())
}

/// The first reason of a document or of its parts.
fn reason(found: &Extracted) -> Option<String> {
    found.reason.clone().or_else(|| found.parts.iter().find_map(reason))
}

/// Reads as any child, but dies of some names.
fn clumsy(request: &Request, input: Input) -> Extracted {
    if request.name.starts_with(CRASHER) {
        std::process::abort();
    }
    ingather_extract::extract(request, input)
}
