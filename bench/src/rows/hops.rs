//! What counting hops costs a run that follows links.

use serde_json::{Value, json};

use super::inventory::synthetic;
use super::{figures, thousands};
use crate::measure::{Cost, cpu, middle, pairs};
use crate::page::{Goal, Line};
use crate::{Bench, Result};

/// Documents, and links of each.
const DOCUMENTS: usize = 100_000;
const LINKS: usize = 10;
/// Hops that a document may be away from the first: none is as far, so that both runs do the same work.
const FAR: u32 = 100;

/// A first run in a process of its own.
fn first(bench: &Bench, source: &Value) -> Result<Cost> {
    let data = bench.path("linked");
    let (cost, told) = synthetic("run", &data, "-", "null", source)?;
    std::fs::remove_dir_all(&data)?;
    match told["added"] == source["documents"] {
        true => Ok(cost),
        false => Err(format!("the run did not reach all of {source}: {told}").into()),
    }
}

pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let documents = bench.size(DOCUMENTS);
    let free = json!({ "documents": documents, "links": LINKS, "bytes": 200 });
    let mut bounded = free.clone();
    bounded["hops"] = json!({ "most": { "link": FAR } });
    let beside = pairs(bench.pairs, || first(bench, &bounded), || first(bench, &free))?;
    let line = |what, value, unit, goal| Line {
        work: format!(
            "first run over {} links of synthetic documents, hops bounded",
            thousands(documents * LINKS)
        ),
        ours: figures(&middle(&beside.ours)),
        beside: format!("without a bound: {}", figures(&middle(&beside.floor))),
        what,
        value,
        unit,
        goal,
    };
    let memory = beside.each(|ours, floor| ours.memory - floor.memory);
    Ok(vec![
        line("CPU", beside.ratio(cpu), "×", Goal::Most(1.5)),
        line("memory above it", memory, "MiB", Goal::None),
    ])
}
