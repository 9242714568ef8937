//! The same tree by a service and by `sync`, on both databases, beside what ManifoldCF's engine was measured at.

use serde_json::{Value, json};

use super::inventory::stores;
use super::{figures, sync, thousands, told};
use crate::measure::{Cost, Pairs, cpu, middle, run};
use crate::page::{Goal, Line};
use crate::service::{Service, costs};
use crate::trees::Files;
use crate::{Bench, Result};

/// Files a second of ManifoldCF 2.28's engine with a source and a sink that read nothing, PostgreSQL, 11,111 items, on a quiet machine of two
/// cores: its first run and its run without changes. It does not run beside us: what it needs is not part of this project.
const THEIRS: [f64; 2] = [66.0, 71.0];

/// The first run and one without changes, by a service; the number of files of each is proven by what the run says.
fn served(bench: &Bench, files: &Files, store: Option<&str>) -> Result<[Cost; 2]> {
    let service = Service::start(bench, "served", store, &[])?;
    let mut client = service.client()?;
    client.change(
        "POST",
        "/declaration",
        &json!({"declaration": {"version": 1, "repositories": {"files": {"kind": "filesystem", "settings": {}}},
            "outputs": {"null": {"kind": "null", "settings": {}}},
            "jobs": [{"name": "deep", "repository": "files", "source": {"root": files.root},
                "stages": [{"transform": "text", "settings": {}}], "outputs": ["null"],
                "delete_guard": {"limits": {"percent": 10, "documents": 20}}, "compare_content": false}]}}),
    )?;
    let mut of = |what: &str| -> Result<Cost> {
        let (last, cost) = costs(&service, || client.runs_undisturbed("deep"))?;
        let counts: &Value = &last["counts"];
        match last["outcome"] == "done" && counts[what] == files.count {
            true => Ok(cost),
            false => Err(format!("the run by the service was another one: {last}").into()),
        }
    };
    let costs = [of("added")?, of("unchanged")?];
    client.change("DELETE", "/jobs/deep", &json!({}))?;
    drop(service);
    std::fs::remove_dir_all(bench.path("served"))?;
    Ok(costs)
}

/// The same by `sync`.
fn synced(bench: &Bench, files: &Files, store: Option<&str>) -> Result<[Cost; 2]> {
    let with = |line: crate::measure::Line| match store {
        Some(url) => line.and(["--store", url]),
        None => line,
    };
    let of = |what: &str| -> Result<Cost> {
        let cost = run(&with(sync(bench, "served", &files.root, "null")))?;
        match told(&cost)? {
            told if told[what] == files.count => Ok(cost),
            told => Err(format!("the run was another one: {told}").into()),
        }
    };
    let costs = [of("added")?, of("unchanged")?];
    let delete = crate::measure::Line::new(&bench.program).and(["--data"]).and([bench.path("served")]);
    run(&with(delete.and(["job", "delete", "deep"])))?;
    std::fs::remove_dir_all(bench.path("served"))?;
    Ok(costs)
}

/// Both ways in turn.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let files = Files::deep(bench.path("deep"), bench.size(100_000))?;
    let mut lines = Vec::new();
    for (name, store) in stores(bench)? {
        let url = (store != "-").then_some(store.as_str());
        let mut steps = [Pairs::default(), Pairs::default()];
        for _ in 0..bench.pairs {
            for (step, cost) in steps.iter_mut().zip(served(bench, &files, url)?) {
                step.ours.push(cost);
            }
            for (step, cost) in steps.iter_mut().zip(synced(bench, &files, url)?) {
                step.floor.push(cost);
            }
        }
        let titles = ["first run", "run without changes"].into_iter().zip(THEIRS).zip([300.0, 1_000.0]);
        for (((title, theirs), least), step) in titles.zip(steps) {
            let mine = middle(&step.ours);
            let line = |what, value, beside, goal| Line {
                work: format!(
                    "{title} to `null` by `serve`, {} files in {} folders, {name}",
                    thousands(files.count),
                    thousands(files.folders.len())
                ),
                ours: figures(&mine),
                beside,
                what,
                value,
                unit: "×",
                goal,
            };
            let speed = files.count as f64 / mine.wall / theirs;
            let manifold = format!("ManifoldCF's engine, measured before elsewhere: {theirs:.0} files/s");
            lines.push(line("files/s", speed, manifold, Goal::Least(least)));
            let beside = format!("`sync`: {}", figures(&middle(&step.floor)));
            lines.push(line("CPU", step.ratio(cpu), beside, Goal::Most(1.05)));
        }
    }
    std::fs::remove_dir_all(&files.root)?;
    Ok(lines)
}
