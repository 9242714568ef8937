//! Web sites: crawled for the first time and again, beside loops of the same libraries and beside what people use; one that is killed; many
//! hosts, each at its pace; and a large site of which little is new.

mod hosts;
mod killed;
mod known;
mod peers;

pub(super) use hosts::measure as hosts;
pub(super) use killed::measure as killed;
pub(super) use known::measure as known;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{figures, floor, sync, thousands, told};
use crate::measure::{Cost, Line as Command, cpu, median, middle, run};
use crate::page::{Goal, Line};
use crate::sites::documentation::{Documentation, Nginx};
use crate::{Bench, Result};

/// Pages of the site.
const PAGES: usize = 50_000;
/// Requests at the same time; the threads of visits are fewer.
const AT_ONCE: usize = 8;

/// `ingather sync` of a site of one's own into `null`, as fast as it goes.
fn crawl(bench: &Bench, root: &str) -> Command {
    politely(bench, root).and(["--set", "delay_ms=0", "--set"]).and([format!("at_once={AT_ONCE}")])
}

/// The same, one request to each host a second.
fn politely(bench: &Bench, root: &str) -> Command {
    sync(bench, "data", Path::new(root), "null")
        .and(["--name", "site", "--set", r#"private_networks=["127.0.0.0/8"]"#])
        .and(["--set", r#"access=["everybody"]"#])
}

fn forget(path: &Path) -> Result<()> {
    match path {
        path if path.is_dir() => Ok(std::fs::remove_dir_all(path)?),
        path if path.exists() => Ok(std::fs::remove_file(path)?),
        _ => Ok(()),
    }
}

/// The site behind its server; none where the machine lacks either.
fn documentation(bench: &Bench, logs: bool) -> Result<Option<(Documentation, Nginx)>> {
    let site = Documentation::of(bench, PAGES)?;
    let server = site.as_ref().map(|site| Nginx::serving(bench, site, logs)).transpose()?.flatten();
    match site.zip(server) {
        Some(both) => Ok(Some(both)),
        None => {
            println!("left out: needs nginx and postgresql-doc (scripts/install.sh installs them)");
            Ok(None)
        }
    }
}

fn count(told: &Value, name: &str) -> usize {
    told[name].as_u64().unwrap_or_default() as usize
}

/// Costs of those that took turns.
#[derive(Default)]
struct Turns {
    ours: Vec<Cost>,
    bare: Vec<Cost>,
    children: Vec<Cost>,
}

impl Turns {
    fn ratio(&self, floor: &[Cost]) -> f64 {
        median(self.ours.iter().zip(floor).map(|(ours, floor)| cpu(ours) / cpu(floor).max(1e-9)))
    }
}

/// The loop of the floors, reading in its own process or in children of the program.
struct Loop {
    line: Command,
    state: PathBuf,
}

impl Loop {
    fn of(bench: &Bench, root: &str, in_children: bool) -> Result<Loop> {
        let state = bench.path(if in_children { "children.json" } else { "bare.json" });
        let reader = if in_children { bench.program.as_os_str() } else { "-".as_ref() };
        let line = floor(&["crawl".as_ref(), root.as_ref(), reader, state.as_os_str()])?;
        Ok(Loop { line, state })
    }

    /// One round; what it said as well.
    fn round(&self) -> Result<(Cost, Value)> {
        let cost = run(&self.line)?;
        let told = told(&cost)?;
        Ok((cost, told))
    }
}

/// A first crawl, and one after that with nothing changed.
pub(super) fn first(bench: &Bench) -> Result<Vec<Line>> {
    let Some((site, server)) = documentation(bench, false)? else { return Ok(Vec::new()) };
    let root = server.root();
    let loops = [Loop::of(bench, &root, false)?, Loop::of(bench, &root, true)?];
    let mut turns = Turns::default();
    let (mut pages, mut links) = (0, 0);
    for _ in 0..bench.pairs {
        forget(&bench.path("data"))?;
        let ours = run(&crawl(bench, &root))?;
        for (of, costs) in loops.iter().zip([&mut turns.bare, &mut turns.children]) {
            forget(&of.state)?;
            let (cost, said) = of.round()?;
            (pages, links) = (count(&said, "pages"), count(&said, "links"));
            costs.push(cost);
        }
        let said = told(&ours)?;
        if count(&said, "added") != pages || pages < site.pages * 9 / 10 {
            return Err(format!("the loop found {pages} of {} pages, the crawl {said}", site.pages).into());
        }
        turns.ours.push(ours);
    }
    let mine = middle(&turns.ours);
    let line = |what, value, unit, beside, goal| Line {
        work: format!(
            "crawl of {} pages to `null` ({} × the manual of PostgreSQL, nginx on the same machine), {:.0} links a page, no politeness",
            thousands(pages),
            site.copies,
            links as f64 / pages as f64
        ),
        ours: figures(&mine),
        beside,
        what,
        value,
        unit,
        goal,
    };
    let bare = format!("a loop that asks and reads, one process: {}", figures(&middle(&turns.bare)));
    let children = format!("a loop that reads in children: {}", figures(&middle(&turns.children)));
    let mut lines = vec![
        line("CPU", turns.ratio(&turns.bare), "×", bare.clone(), Goal::Most(2.2)),
        line("CPU", turns.ratio(&turns.children), "×", children, Goal::Most(1.5)),
        line("speed", pages as f64 / mine.wall, "pages/s", bare, Goal::Least(3_000.0)),
    ];
    for peer in peers::all(bench, &root, pages)? {
        let told = format!("{}, once: {}", peer.name, figures(&peer.cost));
        lines.push(line("pages/s", peer.cost.wall / mine.wall, "×", told.clone(), peer.goal));
        lines.push(line("CPU", mine.cpu / peer.cost.cpu, "×", told, Goal::None));
    }
    clear(bench, &site, &loops)?;
    Ok(lines)
}

/// The same again with nothing changed.
pub(super) fn again(bench: &Bench) -> Result<Vec<Line>> {
    let Some((site, server)) = documentation(bench, false)? else { return Ok(Vec::new()) };
    let root = server.root();
    let loops = [Loop::of(bench, &root, false)?];
    run(&crawl(bench, &root))?;
    let (_, first) = loops[0].round()?;
    let pages = count(&first, "pages");
    let mut turns = Turns::default();
    for _ in 0..bench.pairs {
        let ours = run(&crawl(bench, &root))?;
        let (bare, floor) = loops[0].round()?;
        let said = told(&ours)?;
        let unchanged = [count(&said, "unchanged"), count(&floor, "unchanged")];
        if unchanged != [pages; 2] {
            return Err(format!("of {pages} pages {unchanged:?} were as before: {said}").into());
        }
        turns.ours.push(ours);
        turns.bare.push(bare);
    }
    let mine = middle(&turns.ours);
    let line = |what, value, unit, goal| Line {
        work: format!("the same {} pages again, nothing changed (304)", thousands(pages)),
        ours: figures(&mine),
        beside: format!("a loop that asks on condition, one process: {}", figures(&middle(&turns.bare))),
        what,
        value,
        unit,
        goal,
    };
    let lines = vec![
        line("CPU", turns.ratio(&turns.bare), "×", Goal::Most(1.5)),
        line("speed", pages as f64 / mine.wall, "pages/s", Goal::None),
    ];
    clear(bench, &site, &loops)?;
    Ok(lines)
}

fn clear(bench: &Bench, site: &Documentation, loops: &[Loop]) -> Result<()> {
    loops.iter().try_for_each(|of| forget(&of.state))?;
    forget(&bench.path("data"))?;
    forget(&bench.path("nginx"))?;
    site.remove()
}
