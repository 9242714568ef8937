//! Inventories of any size: the cost of a document, of a start and of a stop must not grow with them.

use std::path::Path;

use serde_json::{Value, json};

use super::thousands;
use crate::measure::{Cost, Line as Command, median, run};
use crate::page::{Goal, Line};
use crate::{Bench, Result};

/// What a store is called, and its URL or `-`.
pub(super) fn stores(bench: &Bench) -> Result<Vec<(&'static str, String)>> {
    let mut stores = vec![("SQLite", "-".to_owned())];
    if let Some(url) = &bench.postgres {
        stores.push(("PostgreSQL", url.clone()));
    }
    Ok(stores)
}

/// A step of synthetic documents in a process of its own; what it cost, and what it said.
pub(super) fn synthetic(
    step: &str,
    data: &Path,
    store: &str,
    output: &str,
    source: &Value,
) -> Result<(Cost, Value)> {
    let line = Command::new(std::env::current_exe()?).and(["synthetic", step]).and([data]);
    let cost = run(&line.and([store, output, &source.to_string()]))?;
    let told = serde_json::from_str(cost.out.trim())?;
    Ok((cost, told))
}

fn source(documents: usize) -> Value {
    json!({ "documents": documents, "each": 100, "levels": 0, "bytes": 200 })
}

fn number(told: &Value, name: &str) -> f64 {
    told[name].as_f64().unwrap_or(f64::NAN)
}

/// What one size showed.
struct Size {
    documents: usize,
    /// Microseconds of processor time per document: first run, run without changes.
    first: f64,
    quiet: f64,
    memory: f64,
    /// Milliseconds until a start, a stop and a start after it took effect.
    start: f64,
    stop: f64,
    restart: f64,
}

fn grow(bench: &Bench, store: &str, documents: usize) -> Result<Size> {
    let data = bench.path("synthetic");
    let source = source(documents);
    let each = |told: &Value| number(told, "cpu") / documents as f64 * 1e6;
    let (cost, first) = synthetic("run", &data, store, "null", &source)?;
    let mut memory = cost.memory;
    let mut quiet = Vec::new();
    for _ in 0..3 {
        let (cost, told) = synthetic("run", &data, store, "null", &source)?;
        quiet.push(each(&told));
        memory = memory.max(cost.memory);
    }
    let (_, stopped) = synthetic("stop", &data, store, "null", &source)?;
    Ok(Size {
        documents,
        first: each(&first),
        quiet: median(quiet),
        memory,
        start: number(&stopped, "start_ms"),
        stop: number(&stopped, "stop_ms").max(number(&stopped, "stop_again_ms")),
        restart: number(&stopped, "restart_ms"),
    })
}

fn clear(bench: &Bench, store: &str) -> Result<Cost> {
    let (cost, _) = synthetic("delete", &bench.path("synthetic"), store, "null", &source(1))?;
    std::fs::remove_dir_all(bench.path("synthetic"))?;
    Ok(cost)
}

/// The same with ten and fifty times as many documents.
pub(super) fn growth(bench: &Bench) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (name, store) in stores(bench)? {
        let mut small = None;
        let sizes: &[usize] =
            if name == "SQLite" { &[100_000, 1_000_000, 5_000_000] } else { &[100_000, 1_000_000] };
        for size in sizes {
            let size = grow(bench, &store, bench.size(*size))?;
            clear(bench, &store)?;
            let Some(small) = &small else {
                small = Some(size);
                continue;
            };
            lines.extend(compare(name, small, &size));
        }
    }
    Ok(lines)
}

fn compare(name: &str, small: &Size, size: &Size) -> Vec<Line> {
    let line = |what, value, unit, bound| Line {
        work: format!("inventory of {} synthetic documents, {name}, once", thousands(size.documents)),
        ours: format!(
            "CPU {:.1} µs per new, {:.2} µs per unchanged document, {:.0} MiB",
            size.first, size.quiet, size.memory
        ),
        beside: format!(
            "{} documents: CPU {:.1} µs, {:.2} µs, {:.0} MiB",
            thousands(small.documents),
            small.first,
            small.quiet,
            small.memory
        ),
        what,
        value,
        unit,
        goal: Goal::Most(bound),
    };
    vec![
        line("CPU per new document", size.first / small.first, "×", 1.3),
        line("CPU per unchanged document", size.quiet / small.quiet, "×", 1.3),
        line("memory", size.memory, "MiB", 250.0),
        line("start", size.start, "ms", 100.0),
        line("stop (abort)", size.stop, "ms", 100.0),
        line("start after it", size.restart, "ms", 100.0),
    ]
}

/// All documents of a job go.
pub(super) fn delete(bench: &Bench) -> Result<Vec<Line>> {
    let documents = bench.size(1_000_000);
    let mut lines = Vec::new();
    for (name, store) in stores(bench)? {
        let data = bench.path("synthetic");
        synthetic("run", &data, &store, "null", &source(documents))?;
        let (cost, told) = synthetic("delete", &data, &store, "null", &source(documents))?;
        std::fs::remove_dir_all(&data)?;
        if told["deleted"] != documents {
            return Err(format!("the deletion left something: {told}").into());
        }
        lines.push(Line {
            work: format!(
                "deleting a job of {} synthetic documents (`null`), {name}, once",
                thousands(documents)
            ),
            ours: super::figures(&cost),
            beside: "–".to_owned(),
            what: "speed",
            value: documents as f64 / number(&told, "seconds"),
            unit: "documents/s",
            goal: Goal::Least(if name == "SQLite" { 40_000.0 } else { 10_000.0 }),
        });
    }
    Ok(lines)
}

/// Time of one fetch of the documents whose bins take turns.
const FETCH_MS: u64 = 50;

/// Bins of which each fetches one document at a time: together they take no longer than one of them.
pub(super) fn fairness(bench: &Bench) -> Result<Vec<Line>> {
    const BINS: usize = 10;
    let each = bench.size(200);
    let source = json!({
        "documents": BINS * each, "each": each, "levels": 0, "bytes": 200, "fetch_ms": FETCH_MS,
    });
    let mut lines = Vec::new();
    for (name, store) in stores(bench)? {
        let data = bench.path("synthetic");
        let (_, told) = synthetic("run", &data, &store, "null", &source)?;
        clear(bench, &store)?;
        let alone = (each as u64 * FETCH_MS) as f64 / 1_000.0;
        lines.push(Line {
            work: format!(
                "{BINS} bins of {each} documents, one fetch at a time in each, {FETCH_MS} ms a fetch, {name}, once"
            ),
            ours: format!("CPU {:.2} s, wall {:.2} s", number(&told, "cpu"), number(&told, "seconds")),
            beside: format!("the fetches of one bin: wall {alone:.2} s"),
            what: "wall",
            value: number(&told, "seconds") / alone,
            unit: "×",
            goal: Goal::Most(1.05),
        });
    }
    Ok(lines)
}
