//! Whole processes that a person waits for: one document, one search, the version; and the size of the program.

use super::{figures, sync, thousands};
use crate::measure::{Cost, Line as Command, middle, run};
use crate::page::{Goal, Line};
use crate::trees::Files;
use crate::{Bench, Result};

/// Runs of one command.
const RUNS: usize = 11;

fn runs(line: &Command) -> Result<Cost> {
    let costs: Vec<Cost> = (0..RUNS).map(|_| run(line)).collect::<Result<_>>()?;
    Ok(middle(&costs))
}

fn line(work: String, cost: &Cost, most: f64) -> Line {
    Line {
        work,
        ours: figures(cost),
        beside: "–".to_owned(),
        what: "wall",
        value: cost.wall * 1_000.0,
        unit: "ms",
        goal: Goal::Most(most),
    }
}

/// A job of one document, from the start of the program to its end.
pub(super) fn one_document(bench: &Bench) -> Result<Vec<Line>> {
    let files = Files::wide(bench.path("one"), 1)?;
    let mut lines = Vec::new();
    for output in ["null", "index"] {
        let mut costs = Vec::new();
        for number in 0..RUNS {
            let data = format!("one-{output}-{number}");
            costs.push(run(&sync(bench, &data, &files.root, output))?);
            std::fs::remove_dir_all(bench.path(&data))?;
        }
        lines.push(line(
            format!("one-document job to `{output}`, new data directory"),
            &middle(&costs),
            100.0,
        ));
    }
    std::fs::remove_dir_all(bench.path("one"))?;
    Ok(lines)
}

/// The program itself.
pub(super) fn program(bench: &Bench) -> Result<Vec<Line>> {
    let files = Files::wide(bench.path("wide"), bench.size(100_000))?;
    run(&sync(bench, "data", &files.root, "index"))?;
    let search = Command::new(&bench.program).and(["--json", "--data"]).and([bench.path("data")]);
    let found = runs(&search.and(["search", "other people"]))?;
    let version = runs(&Command::new(&bench.program).and(["--version"]))?;
    let size = std::fs::metadata(&bench.program)?.len() as f64 / (1 << 20) as f64;
    for name in ["wide", "data"] {
        std::fs::remove_dir_all(bench.path(name))?;
    }
    let profile = if bench.small { "development build" } else { "release build, stripped" };
    Ok(vec![
        line(format!("`search` as a whole process, {} documents", thousands(files.count)), &found, 50.0),
        line("`--version` as a whole process".to_owned(), &version, 20.0),
        Line {
            work: format!("the program, {profile}"),
            ours: "–".to_owned(),
            beside: "–".to_owned(),
            what: "size",
            value: size,
            unit: "MiB",
            goal: if bench.small { Goal::None } else { Goal::Most(60.0) },
        },
    ])
}
