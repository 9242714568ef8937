//! Changes in a watched folder: how soon search finds them, and what that costs beside `sync` once a second.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{sync, thousands};
use crate::measure::{pause, run, used};
use crate::page::{Goal, Line};
use crate::service::{Client, Service};
use crate::{Bench, Result};

const FILES_PER_FOLDER: usize = 20;
const A_SECOND: usize = 20;
/// Longest wait for one change, after which the row has failed.
const LONGEST: Duration = Duration::from_secs(60);

/// Whether a search for a word finds something.
fn finds(client: &mut Client, word: &str) -> Result<bool> {
    let found = client.get(&format!("/search?query={word}&limit=1&all=true"))?;
    Ok(found["summary"]["total"].as_u64() > Some(0))
}

/// Waits until a word is found.
fn waits_for(client: &mut Client, word: &str) -> Result<()> {
    let begin = Instant::now();
    while !finds(client, word)? {
        if begin.elapsed() > LONGEST {
            return Err(format!("{word} is not found").into());
        }
        pause(Duration::from_millis(10));
    }
    Ok(())
}

/// A tree of small files.
struct Tree {
    root: PathBuf,
    files: usize,
}

impl Tree {
    fn new(bench: &Bench) -> Result<Tree> {
        let (root, files) = (bench.path("watched"), bench.size(20_000));
        let tree = Tree { root, files };
        for number in 0..files {
            if number % FILES_PER_FOLDER == 0 {
                std::fs::create_dir_all(tree.file(number).parent().ok_or("no folder")?)?;
            }
            std::fs::write(tree.file(number), crate::trees::text(number as u64, 256))?;
        }
        Ok(tree)
    }

    fn file(&self, number: usize) -> PathBuf {
        self.root.join(format!("part-{:05}/file{number:06}.txt", number / FILES_PER_FOLDER))
    }

    /// The word of a change: none that search would take for another one.
    fn word(series: u64, number: usize) -> String {
        format!("w{:016x}", (series << 32 | number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Makes one change somewhere.
    fn change(&self, series: u64, number: usize) -> Result<()> {
        let word = Tree::word(series, number);
        Ok(std::fs::write(self.file(number * 7_919 % self.files), word)?)
    }

    /// Makes changes at their times.
    fn change_all(&self, series: u64, changes: usize, made: impl Fn(usize, Instant)) -> Result<()> {
        let begin = Instant::now();
        for number in 0..changes {
            let at = begin + Duration::from_secs_f64(number as f64 / A_SECOND as f64);
            pause(at.saturating_duration_since(Instant::now()));
            let now = Instant::now();
            self.change(series, number)?;
            made(number, now);
        }
        Ok(())
    }
}

/// Milliseconds from each change to the answer that had it.
fn latencies(client: &mut Client, tree: &Tree, changes: usize) -> Result<Vec<f64>> {
    let (sender, made) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let changing = scope.spawn(move || {
            tree.change_all(1, changes, |number, at| sender.send((number, at)).unwrap_or_default())
                .map_err(|error| error.to_string())
        });
        let mut waits = Vec::new();
        // In their order: one that is found before an older one counts from when that was found, so as longer than it was.
        for (number, at) in made {
            waits_for(client, &Tree::word(1, number))?;
            waits.push(at.elapsed().as_secs_f64() * 1_000.0);
        }
        changing.join().map_err(|_| "the changes failed")??;
        waits.sort_by(f64::total_cmp);
        Ok(waits)
    })
}

/// Processor time of the service for the same changes, while nobody searches.
fn cost_of_service(service: &Service, tree: &Tree, changes: usize) -> Result<f64> {
    let cpu = || used(service.pid()).ok_or("the service has ended");
    let before = cpu()?;
    tree.change_all(2, changes, |_, _| {})?;
    pause(Duration::from_secs(1));
    let spent = cpu()? - before;
    waits_for(&mut service.client()?, &Tree::word(2, changes - 1))?;
    Ok(spent)
}

/// Processor time of a `sync` once a second for the same changes.
fn cost_of_syncs(bench: &Bench, tree: &Tree, changes: usize) -> Result<f64> {
    let line = sync(bench, "once-a-second", &tree.root, "index");
    run(&line)?;
    std::thread::scope(|scope| {
        let changing =
            scope.spawn(|| tree.change_all(3, changes, |_, _| {}).map_err(|error| error.to_string()));
        let begin = Instant::now();
        let mut spent = 0.0;
        for second in 1..=changes.div_ceil(A_SECOND) {
            let at = begin + Duration::from_secs(second as u64);
            pause(at.saturating_duration_since(Instant::now()));
            spent += run(&line)?.cpu;
        }
        changing.join().map_err(|_| "the changes failed")??;
        Ok(spent)
    })
}

/// Changes of single files in a watched folder.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let (tree, changes) = (Tree::new(bench)?, bench.size(1_000));
    run(&sync(bench, "continuous", &tree.root, "index").and(["--schedule", "continuous"]))?;
    let service = Service::start(bench, "continuous", None, &["--searches-per-second", "1000"])?;
    // The first pass is over.
    tree.change(0, 0)?;
    waits_for(&mut service.client()?, &Tree::word(0, 0))?;
    let waits = latencies(&mut service.client()?, &tree, changes)?;
    let ours = cost_of_service(&service, &tree, changes)?;
    drop(service);
    let theirs = cost_of_syncs(bench, &tree, changes)?;
    for name in ["watched", "continuous", "once-a-second"] {
        std::fs::remove_dir_all(bench.path(name))?;
    }
    let at = |share: f64| waits[((waits.len() as f64 * share) as usize).min(waits.len() - 1)];
    let line = |what, value, unit, most| Line {
        work: format!(
            "{} changes of single files, {A_SECOND} a second, in a continuous job of {} files in folders of {FILES_PER_FOLDER}, `serve`, once",
            thousands(changes),
            thousands(tree.files),
        ),
        ours: format!(
            "CPU {ours:.2} s; found after {:.0} ms (p50), {:.0} ms (p99), {:.0} ms (longest)",
            at(0.5),
            at(0.99),
            at(1.0)
        ),
        beside: format!("`sync` once a second: CPU {theirs:.2} s"),
        what,
        value,
        unit,
        goal: Goal::Most(most),
    };
    Ok(vec![
        line("change to found, p99", at(0.99), "ms", 2_000.0),
        line("CPU", ours / theirs.max(1e-9), "×", 2.0),
    ])
}
