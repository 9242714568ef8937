//! Runs over a tree that is known: without changes, with few, and after a change of access.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{figures, floor, sync, thousands, told};
use crate::measure::{Line as Command, cpu, middle, pairs, run, wall};
use crate::page::{Goal, Line};
use crate::trees::{Files, settle};
use crate::{Bench, Result};

/// Peak memory of a run without changes, MiB.
const MEMORY_MAX: f64 = 100.0;
/// Somebody who owns nothing of the tree; every system has this user.
const STRANGER: &str = "nobody";

fn known(bench: &Bench) -> Result<Files> {
    known_to(bench, "null")
}

fn known_to(bench: &Bench, output: &str) -> Result<Files> {
    let files = Files::wide(bench.path("wide"), bench.size(100_000))?;
    // The second run settles what the first one met too early to tell its version.
    for _ in 0..2 {
        run(&sync(bench, "data", &files.root, output))?;
    }
    Ok(files)
}

fn clear(bench: &Bench) -> Result<()> {
    for name in ["wide", "data", "omega", "deep"] {
        if bench.path(name).exists() {
            std::fs::remove_dir_all(bench.path(name))?;
        }
    }
    Ok(())
}

/// Nothing changed.
pub(super) fn no_change(bench: &Bench) -> Result<Vec<Line>> {
    let files = known(bench)?;
    let ours = || run(&sync(bench, "data", &files.root, "null"));
    let walk = floor(&["walk".as_ref(), files.root.as_os_str()])?;
    let beside_walk = pairs(bench.pairs * 2, ours, || run(&walk))?;
    let (mine, theirs) = (middle(&beside_walk.ours), middle(&beside_walk.floor));
    let work = format!("run without changes, {} files in folders of 100, warm", thousands(files.count));
    let line = |what, value, unit, goal| Line {
        work: work.clone(),
        ours: figures(&mine),
        beside: format!("walk + stat: {}", figures(&theirs)),
        what,
        value,
        unit,
        goal,
    };
    let mut lines = vec![
        line("CPU", beside_walk.ratio(cpu), "×", Goal::Most(2.0)),
        line("wall", beside_walk.ratio(wall), "×", Goal::Most(2.0)),
        line("memory", mine.memory, "MiB", Goal::Most(MEMORY_MAX)),
    ];
    if !bench.small {
        let omindex = Command::new("omindex").and(["--db"]).and([bench.path("omega")]);
        let omindex = omindex.and(["--url", "/"]).and([&files.root]);
        run(&omindex)?;
        let beside = pairs(bench.pairs, ours, || run(&omindex))?;
        lines.push(Line {
            work,
            ours: figures(&middle(&beside.ours)),
            beside: format!("omindex, no change: {}", figures(&middle(&beside.floor))),
            what: "CPU",
            value: beside.ratio(cpu),
            unit: "×",
            goal: Goal::Most(0.6),
        });
    }
    clear(bench)?;
    Ok(lines)
}

/// A hundred files changed, ten added, ten removed.
pub(super) fn few_changes(bench: &Bench) -> Result<Vec<Line>> {
    let mut files = known(bench)?;
    let walk = floor(&["walk".as_ref(), files.root.as_os_str()])?;
    let mut seen = String::new();
    let root = files.root.clone();
    let beside = pairs(
        bench.pairs,
        || {
            files.change((files.count / 1_000).max(5), (files.count / 10_000).max(1))?;
            let cost = run(&sync(bench, "data", &root, "null"))?;
            let told = told(&cost)?;
            seen =
                format!("{} updated, {} added, {} deleted", told["updated"], told["added"], told["deleted"]);
            Ok(cost)
        },
        || run(&walk),
    )?;
    clear(bench)?;
    Ok(vec![Line {
        work: format!("the same with {seen}"),
        ours: figures(&middle(&beside.ours)),
        beside: format!("walk + stat: {}", figures(&middle(&beside.floor))),
        what: "CPU",
        value: beside.ratio(cpu),
        unit: "×",
        goal: Goal::Most(2.5),
    }])
}

/// The access of the folder above everything changes: no document does, and no entry of the index, and it is in force at once.
pub(super) fn folder_access(bench: &Bench) -> Result<Vec<Line>> {
    ["null", "index"].into_iter().map(|output| folder_access_of(bench, output)).collect()
}

fn folder_access_of(bench: &Bench, output: &str) -> Result<Line> {
    // Other users may pass, so that the folder decides.
    std::fs::set_permissions(bench.scratch.path(), std::fs::Permissions::from_mode(0o755))?;
    let files = known_to(bench, output)?;
    let is_open = output == "index" && super::found(bench, "data", STRANGER)?;
    let walk = floor(&["walk".as_ref(), files.root.as_os_str()])?;
    let entries = bench.path("data").join("index");
    let mut mode = 0o755;
    let beside = pairs(
        bench.pairs,
        || {
            mode ^= 0o055;
            std::fs::set_permissions(&files.root, std::fs::Permissions::from_mode(mode))?;
            settle();
            let before = written(&entries)?;
            let cost = run(&sync(bench, "data", &files.root, output))?;
            let told = told(&cost)?;
            if told["unchanged"] != files.count || told["access"] != 0 {
                return Err(format!("a changed folder changed documents: {told}").into());
            }
            if output == "index" {
                if written(&entries)? != before {
                    return Err("a changed folder changed entries of the index".into());
                }
                // Everybody but its owner is shut out by 0700; by 0755 nobody is, unless by a folder above.
                let found = super::found(bench, "data", STRANGER)?;
                if found != (is_open && mode == 0o755) {
                    return Err(format!("with mode {mode:o}, a stranger finds something: {found}").into());
                }
            }
            Ok(cost)
        },
        || run(&walk),
    )?;
    clear(bench)?;
    Ok(Line {
        work: format!(
            "`chmod` of the folder above {} files, the run to `{output}` after it",
            thousands(files.count)
        ),
        ours: format!("{}; no document changed", figures(&middle(&beside.ours))),
        beside: format!("walk + stat: {}", figures(&middle(&beside.floor))),
        what: "CPU",
        value: beside.ratio(cpu),
        unit: "×",
        goal: Goal::Most(2.0),
    })
}

/// Files of an index that hold entries, with their sizes.
fn written(folder: &Path) -> Result<BTreeMap<PathBuf, u64>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.extension().is_some_and(|ending| ending == "json" || ending == "lock") {
                found.insert(path.clone(), std::fs::metadata(&path)?.len());
            }
        }
    }
    Ok(found)
}

/// Every file opens to more people: its content is looked at before they see it.
pub(super) fn file_access(bench: &Bench) -> Result<Vec<Line>> {
    let files = known(bench)?;
    let read = floor(&["read".as_ref(), files.root.as_os_str()])?;
    let changed = |mode: u32| {
        files.set_mode(mode)?;
        let cost = run(&sync(bench, "data", &files.root, "null"))?;
        let told = told(&cost)?;
        if told["access"] != files.count {
            return Err(format!("not every file has other access: {told}").into());
        }
        Ok(cost)
    };
    let beside = pairs(
        bench.pairs,
        || {
            changed(0o640)?;
            changed(0o644)
        },
        || run(&read),
    )?;
    clear(bench)?;
    Ok(vec![Line {
        work: format!("`chmod o+r` of {} files of 2 KiB, the run after it", thousands(files.count)),
        ours: figures(&middle(&beside.ours)),
        beside: format!("walk + read + hash: {}", figures(&middle(&beside.floor))),
        what: "CPU",
        value: beside.ratio(cpu),
        unit: "×",
        goal: Goal::Most(1.5),
    }])
}
