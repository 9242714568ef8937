//! table: the rows of the bench, in the order of the page.

mod at_once;
mod authorities;
mod counts;
mod crawl;
mod files;
mod first;
mod hops;
mod inventory;
mod many_jobs;
mod moves;
mod postgres;
mod pushed;
mod reading;
mod real_tree;
pub(crate) mod search;
mod served;
mod store;
mod watched;
mod whole;

use crate::measure::{Cost, Line as Command, run};
use crate::page::Line;
use crate::{Bench, Result};

/// One row: a work with its goals.
pub(crate) struct Row {
    /// What `cargo x bench NAME` takes.
    pub(crate) name: &'static str,
    /// Measures it.
    pub(crate) measure: fn(&Bench) -> Result<Vec<Line>>,
}

/// The row whose bounds hold on every machine.
pub(crate) const COUNTS: &str = "counts";

/// All of them.
pub(crate) const ALL: &[Row] = &[
    Row { name: "no-change", measure: files::no_change },
    Row { name: "few-changes", measure: files::few_changes },
    Row { name: "folder-access", measure: files::folder_access },
    Row { name: "file-access", measure: files::file_access },
    Row { name: "first-null", measure: first::to_null },
    Row { name: "first-index", measure: first::to_index },
    Row { name: "killed", measure: first::killed },
    Row { name: "inventory", measure: inventory::growth },
    Row { name: "delete", measure: inventory::delete },
    Row { name: "one-document", measure: whole::one_document },
    Row { name: "program", measure: whole::program },
    Row { name: "queries", measure: search::queries::measure },
    Row { name: "spelling", measure: search::spelling::measure },
    Row { name: "snippets", measure: search::snippets::measure },
    Row { name: "extract", measure: reading::extract },
    Row { name: "html", measure: reading::html },
    Row { name: "html-apart", measure: reading::apart },
    Row { name: "crashers", measure: reading::crashers },
    Row { name: "memory", measure: reading::memory },
    Row { name: "postgres", measure: postgres::measure },
    Row { name: "store", measure: store::measure },
    Row { name: "watched", measure: watched::measure },
    Row { name: "idle", measure: many_jobs::idle },
    Row { name: "busy", measure: many_jobs::busy },
    Row { name: "moves", measure: moves::measure },
    Row { name: "at-once", measure: at_once::measure },
    Row { name: "authorities", measure: authorities::measure },
    Row { name: "served", measure: served::measure },
    Row { name: "pushed", measure: pushed::measure },
    Row { name: "fairness", measure: inventory::fairness },
    Row { name: "crawl", measure: crawl::first },
    Row { name: "crawl-again", measure: crawl::again },
    Row { name: "crawl-hosts", measure: crawl::hosts },
    Row { name: "crawl-known", measure: crawl::known },
    Row { name: "crawl-killed", measure: crawl::killed },
    Row { name: "hops", measure: hops::measure },
    Row { name: "real-tree", measure: real_tree::measure },
    Row { name: COUNTS, measure: counts::measure },
];

/// Figures of one command, as a person reads them.
fn figures(cost: &Cost) -> String {
    let seconds = |seconds: f64| match seconds {
        seconds if seconds < 0.1 => format!("{:.1} ms", seconds * 1_000.0),
        seconds if seconds < 10.0 => format!("{seconds:.2} s"),
        seconds => format!("{seconds:.1} s"),
    };
    format!("CPU {}, wall {}, {:.0} MiB", seconds(cost.cpu), seconds(cost.wall), cost.memory)
}

/// A number with its unit of thousands, for titles.
fn thousands(count: usize) -> String {
    match count {
        count if count >= 1_000_000 && count.is_multiple_of(1_000_000) => format!("{} M", count / 1_000_000),
        count if count >= 1_000 && count.is_multiple_of(1_000) => format!("{},000", count / 1_000),
        count => count.to_string(),
    }
}

/// `ingather sync ROOT` into an output, with a data directory.
fn sync(bench: &Bench, data: &str, root: &std::path::Path, output: &str) -> Command {
    Command::new(&bench.program)
        .and(["--json", "--data"])
        .and([bench.path(data)])
        .and(["sync", "--to", output])
        .and([root])
}

/// Whether a user finds anything in an index.
fn found(bench: &Bench, data: &str, user: &str) -> Result<bool> {
    let search = Command::new(&bench.program).and(["--json", "--data"]).and([bench.path(data)]);
    Ok(!run(&search.and(["search", "*", "--limit", "1", "--as", user]))?.out.trim().is_empty())
}

/// A floor of this program.
fn floor(words: &[&std::ffi::OsStr]) -> Result<Command> {
    Ok(Command::new(std::env::current_exe()?).and(["floor"]).and(words))
}

/// What `sync --json` says at its end.
fn told(cost: &Cost) -> Result<serde_json::Value> {
    let last = cost.out.lines().last().unwrap_or_default();
    Ok(serde_json::from_str(last).map_err(|error| format!("sync said {last:?}: {error}"))?)
}
