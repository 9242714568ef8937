//! A first run of what this machine has below `/usr` into the index: how much memory the program and its readers have at most.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::figures;
use crate::measure::{Cost, pause};
use crate::page::{Goal, Line};
use crate::service::tree;
use crate::{Bench, Result};

const ROOT: &str = "/usr";
/// What a small bench reads instead.
const SMALL: &str = "/usr/share/doc";
/// Of that, what is there for crawls to read.
const OF_CRAWLS: &str = "postgresql-doc-*";
/// Time between two looks at memory.
const LOOK: Duration = Duration::from_millis(50);

/// What a run took, and what it had in memory at most, MiB.
struct Peak {
    cost: Cost,
    parent: f64,
    child: f64,
    seen: u64,
}

fn first_run(bench: &Bench, program: &std::path::Path) -> Result<Peak> {
    let data = bench.path("real");
    let root = if bench.small { SMALL } else { ROOT };
    let out = bench.path("real.json");
    let begun = Instant::now();
    let before = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)?;
    let mut child = Command::new(program)
        .args(["--json", "--data"])
        .arg(&data)
        .args(["sync", "--to", "index", root])
        .args(bench.small.then_some(["--exclude", OF_CRAWLS]).into_iter().flatten())
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&out)?)
        .stderr(Stdio::null())
        .spawn()?;
    let (mut parent, mut below) = (0.0, 0.0);
    while child.try_wait()?.is_none() {
        parent = f64::max(parent, tree::mebibytes(child.id(), "RssAnon").unwrap_or_default());
        below = f64::max(below, tree::largest_below(child.id()));
        pause(LOOK);
    }
    let wall = begun.elapsed().as_secs_f64();
    let after = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let of = |usage: &nix::sys::resource::Usage| seconds(usage.user_time()) + seconds(usage.system_time());
    let text = std::fs::read_to_string(&out)?;
    let told: serde_json::Value = serde_json::from_str(text.lines().last().unwrap_or_default())
        .map_err(|error| format!("{} said {text:?}: {error}", program.display()))?;
    std::fs::remove_dir_all(&data)?;
    let cost = Cost { cpu: of(&after) - of(&before), wall, memory: parent, out: String::new() };
    Ok(Peak { cost, parent, child: below, seen: told["seen"].as_u64().unwrap_or_default() })
}

/// Once: it takes minutes.
pub(super) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let ours = first_run(bench, &bench.program)?;
    let before = bench.before.as_ref().map(|program| first_run(bench, program)).transpose()?;
    let beside = before.as_ref().map_or("–".to_owned(), |before| {
        format!("the program that was named: {}, child {:.0} MiB", figures(&before.cost), before.child)
    });
    let line = |what, value, unit, goal| Line {
        work: format!(
            "first run of {} real files of all kinds to `index`, once; anonymous memory",
            ours.seen
        ),
        ours: format!("{}, child {:.0} MiB", figures(&ours.cost), ours.child),
        beside: beside.clone(),
        what,
        value,
        unit,
        goal,
    };
    let mut lines = vec![
        line("memory of the parent", ours.parent, "MiB", Goal::Most(300.0)),
        line("memory of the largest child", ours.child, "MiB", Goal::Most(160.0)),
    ];
    if let Some(before) = before {
        lines.push(line("wall", ours.cost.wall / before.cost.wall, "×", Goal::Most(1.0)));
        lines.push(line("CPU", ours.cost.cpu / before.cost.cpu, "×", Goal::Most(1.0)));
    }
    Ok(lines)
}
