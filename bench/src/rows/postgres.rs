//! The same job on PostgreSQL and on SQLite, on one machine.

use super::{figures, sync};
use crate::measure::{Cost, Line as Command, middle, pairs, run, wall};
use crate::page::{Goal, Line};
use crate::trees::Files;
use crate::{Bench, Result};

/// One step of a job's life.
const STEPS: [&str; 4] = ["first run", "no change", "1 % changed", "delete"];

/// The life of a job: what each step cost.
fn life(bench: &Bench, files: &mut Files, store: Option<&str>, output: &str) -> Result<Vec<Cost>> {
    let data = bench.path("data");
    let with = |line: Command| match store {
        Some(url) => line.and(["--store", url]),
        None => line,
    };
    let line = with(sync(bench, "data", &files.root, output));
    let first = run(&line)?;
    run(&line)?;
    let quiet = run(&line)?;
    files.change((files.count / 100).max(1), 0)?;
    let changed = run(&line)?;
    let delete = Command::new(&bench.program).and(["--json", "--data"]).and([&data]);
    let delete = run(&with(delete.and(["job", "delete", "deep"])))?;
    std::fs::remove_dir_all(&data)?;
    Ok(vec![first, quiet, changed, delete])
}

/// Both stores, in turn.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let Some(url) = &bench.postgres else { return Ok(Vec::new()) };
    let mut files = Files::deep(bench.path("deep"), bench.size(100_000))?;
    let mut lines = Vec::new();
    for output in ["null", "index"] {
        let rounds = if output == "null" { bench.pairs } else { 1 };
        let mut steps: Vec<(Vec<Cost>, Vec<Cost>)> = STEPS.map(|_| Default::default()).into();
        for _ in 0..rounds {
            let ours = life(bench, &mut files, Some(url), output)?;
            let beside = life(bench, &mut files, None, output)?;
            for ((step, ours), beside) in steps.iter_mut().zip(ours).zip(beside) {
                step.0.push(ours);
                step.1.push(beside);
            }
        }
        for (name, (ours, beside)) in STEPS.into_iter().zip(steps) {
            let (mut ours, mut beside) = (ours.into_iter(), beside.into_iter());
            let pairs = pairs(
                rounds,
                || ours.next().ok_or_else(|| "a round is missing".into()),
                || beside.next().ok_or_else(|| "a round is missing".into()),
            )?;
            lines.push(Line {
                work: format!("{name}, `{output}`, PostgreSQL on the same machine (client's CPU)"),
                ours: figures(&middle(&pairs.ours)),
                beside: format!("SQLite: {}", figures(&middle(&pairs.floor))),
                what: "wall",
                value: pairs.ratio(wall),
                unit: "×",
                goal: Goal::Most(3.0),
            });
        }
    }
    std::fs::remove_dir_all(&files.root)?;
    Ok(lines)
}
