//! First runs: everything is read, and sent nowhere or to the index; and a first run that is killed at half.

use std::path::Path;

use super::{figures, floor, sync, thousands, told};
use crate::measure::{Cost, Line as Command, cpu, median, middle, pairs, run, run_until, wall};
use crate::page::{Goal, Line};
use crate::trees::Files;
use crate::{Bench, Result};

fn tree(bench: &Bench) -> Result<Files> {
    Files::deep(bench.path("deep"), bench.size(100_000))
}

fn fresh(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(())
}

fn first_run(bench: &Bench, files: &Files, output: &str) -> Result<Cost> {
    fresh(&bench.path("data"))?;
    let cost = run(&sync(bench, "data", &files.root, output))?;
    match told(&cost)? {
        told if told["added"] == files.count => Ok(cost),
        told => Err(format!("the first run did not add everything: {told}").into()),
    }
}

fn clear(bench: &Bench) -> Result<()> {
    ["deep", "data", "bare", "omega"].into_iter().try_for_each(|name| fresh(&bench.path(name)))
}

/// Everything is read and hashed, nothing is kept but the inventory.
pub(super) fn to_null(bench: &Bench) -> Result<Vec<Line>> {
    let files = tree(bench)?;
    let read = floor(&["read".as_ref(), files.root.as_os_str()])?;
    run(&read)?;
    let beside = pairs(bench.pairs, || first_run(bench, &files, "null"), || run(&read))?;
    clear(bench)?;
    let (mine, theirs) = (middle(&beside.ours), middle(&beside.floor));
    let count = files.count as f64;
    let line = |what, value, unit, goal| Line {
        work: format!("first run to `null`, {} files of 2 KiB in folders of ten", thousands(files.count)),
        ours: figures(&mine),
        beside: format!("walk + read + hash: {}", figures(&theirs)),
        what,
        value,
        unit,
        goal,
    };
    let above = beside.each(|ours, floor| (ours.cpu - floor.cpu) / count * 1e6);
    Ok(vec![
        line("CPU above the floor", above, "µs per document", Goal::Most(20.0)),
        line("speed", count / mine.wall, "documents/s", Goal::Least(20_000.0)),
    ])
}

/// The fields of the index that lies somewhere below a folder, as it tells them itself.
fn schema_in(folder: &Path) -> Result<serde_json::Value> {
    let found = find(folder, "meta.json")?.ok_or("there is no index")?;
    let told: serde_json::Value = serde_json::from_slice(&std::fs::read(found)?)?;
    Ok(told["schema"].clone())
}

fn find(folder: &Path, name: &str) -> Result<Option<std::path::PathBuf>> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let found = if path.is_dir() { find(&path, name)? } else { path.ends_with(name).then_some(path) };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Everything becomes searchable.
pub(super) fn to_index(bench: &Bench) -> Result<Vec<Line>> {
    let files = tree(bench)?;
    let bare = floor(&["index".as_ref(), files.root.as_os_str(), bench.path("bare").as_os_str()])?;
    let beside = pairs(
        bench.pairs,
        || first_run(bench, &files, "index"),
        || {
            fresh(&bench.path("bare"))?;
            run(&bare)
        },
    )?;
    let (program, floor) = (schema_in(&bench.path("data"))?, schema_in(&bench.path("bare"))?);
    if program != floor {
        return Err(format!("the bare index has other fields: {floor}\nthe program's: {program}").into());
    }
    let mine = middle(&beside.ours);
    let work = format!("first run to `index`, {} files of 2 KiB in folders of ten", thousands(files.count));
    let mut lines = vec![Line {
        work: work.clone(),
        ours: figures(&mine),
        beside: format!("bare tantivy, one commit: {}", figures(&middle(&beside.floor))),
        what: "CPU",
        value: beside.ratio(cpu),
        unit: "×",
        goal: Goal::Most(1.6),
    }];
    if !bench.small {
        // It takes minutes, and its ratio is far from one: one run is enough.
        let omindex = Command::new("omindex").and(["--db"]).and([bench.path("omega")]);
        let omindex = run(&omindex.and(["--url", "/"]).and([&files.root]))?;
        lines.push(Line {
            work,
            ours: figures(&mine),
            beside: format!("omindex, first run, once: {}", figures(&omindex)),
            what: "CPU",
            value: mine.cpu / omindex.cpu,
            unit: "×",
            goal: Goal::Most(0.15),
        });
    }
    clear(bench)?;
    Ok(lines)
}

/// A first run is killed when it has used half of its time, and run again.
pub(super) fn killed(bench: &Bench) -> Result<Vec<Line>> {
    let files = tree(bench)?;
    let mut lines = Vec::new();
    for output in ["null", "index"] {
        first_run(bench, &files, output)?;
        let mut shares = Vec::new();
        let mut totals: Vec<Cost> = Vec::new();
        let mut undisturbed: Vec<Cost> = Vec::new();
        for _ in 0..bench.pairs {
            let whole = first_run(bench, &files, output)?;
            fresh(&bench.path("data"))?;
            let line = sync(bench, "data", &files.root, output);
            let half = run_until(&line, Some(whole.cpu / 2.0))?;
            let rest = run(&line)?;
            shares.push(told(&rest)?["unchanged"].as_f64().unwrap_or_default() / files.count as f64);
            let (cpu, wall) = (half.cpu + rest.cpu, half.wall + rest.wall);
            totals.push(Cost { cpu, wall, ..rest });
            undisturbed.push(whole);
        }
        let ratio = median(totals.iter().zip(&undisturbed).map(|(total, whole)| cpu(total) / cpu(whole)));
        let slower = median(totals.iter().zip(&undisturbed).map(|(total, w)| wall(total) / wall(w)));
        lines.push(Line {
            work: format!("first run to `{output}`, killed at half of its CPU, run again"),
            ours: format!(
                "{}; {:.0} % were settled before; wall {slower:.2} ×",
                figures(&middle(&totals)),
                median(shares) * 100.0
            ),
            beside: format!("undisturbed: {}", figures(&middle(&undisturbed))),
            what: "CPU",
            value: ratio,
            unit: "×",
            goal: Goal::Most(1.2),
        });
    }
    clear(bench)?;
    Ok(lines)
}
