//! `cargo x bench`: measures every path of the main job beside its floor or peer, and writes `docs/performance.md`.
#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

mod floors;
mod machine;
mod malformed;
mod measure;
mod page;
mod reading;
mod relevance;
mod rows;
mod service;
mod sites;
mod synthetic;
mod trees;

use std::path::PathBuf;
use std::process::ExitCode;

/// What goes wrong ends the bench; nobody decides by the kind of error.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USE: &str = "use: cargo x bench [NAME...] [--small] [--pairs N] [--before PROGRAM]";

/// How to measure.
pub(crate) struct Bench {
    /// The program.
    pub(crate) program: PathBuf,
    /// Another one to stand beside it, such as that of an earlier version.
    pub(crate) before: Option<PathBuf>,
    /// Folder for trees and data directories; goes away at the end.
    pub(crate) scratch: tempfile::TempDir,
    /// Sizes are a hundredth, so that only counts mean something.
    pub(crate) small: bool,
    /// Pairs of each comparison.
    pub(crate) pairs: usize,
    /// The PostgreSQL to use, when there is one.
    pub(crate) postgres: Option<String>,
}

impl Bench {
    /// A size of the table, or a hundredth of it.
    pub(crate) fn size(&self, full: usize) -> usize {
        if self.small { (full / 100).max(1) } else { full }
    }

    /// A path in the scratch folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["measure", report, limit, ..] => measure::stand_between(report.as_ref(), limit, &words[3..]),
        ["floor", floor @ ..] => floors::run(floor),
        ["reading", way @ ..] => reading::run(way),
        ["synthetic", step @ ..] => synthetic::run(step),
        ["queries", data, tokens] => rows::search::queries::run(data.as_ref(), tokens),
        ["search-quality", rest @ ..] => relevance::run(".".as_ref(), rest),
        _ => bench(&words),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(words: &[String]) -> Result<()> {
    let mut names: Vec<&str> = Vec::new();
    let (mut program, mut before) = (None, None);
    let (mut small, mut pairs) = (false, 5);
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match word {
            "--small" => small = true,
            "--pairs" => pairs = rest.next().and_then(|text| text.parse().ok()).ok_or(USE)?,
            "--before" => before = rest.next().map(PathBuf::from),
            "--program" => program = rest.next().map(PathBuf::from),
            name if rows::ALL.iter().any(|row| row.name == name) => names.push(name),
            _ => {
                let known: Vec<&str> = rows::ALL.iter().map(|row| row.name).collect();
                return Err(format!("{USE}; NAME is one of {}", known.join(", ")).into());
            }
        }
    }
    let bench = Bench {
        program: std::fs::canonicalize(program.ok_or(USE)?)?,
        before: before.map(std::fs::canonicalize).transpose()?,
        scratch: tempfile::tempdir()?,
        small,
        pairs: if small { 1 } else { pairs },
        postgres: std::env::var("INGATHER_TEST_POSTGRES").ok(),
    };
    let mut page = page::Page::read("docs/performance.md")?;
    let mut grown = Vec::new();
    for row in rows::ALL.iter().filter(|row| names.is_empty() || names.contains(&row.name)) {
        println!("== {}", row.name);
        let mut lines = (row.measure)(&bench)?;
        if small && row.name != rows::COUNTS {
            // Goals are for the full size: of a hundredth of it, the row shows that it works.
            lines.iter_mut().for_each(|line| line.goal = page::Goal::None);
        }
        for line in &lines {
            println!("{}", page::text(line));
        }
        if row.name == rows::COUNTS {
            grown.extend(lines.iter().filter(|line| line.missed()).map(page::text));
        }
        page.replace(row.name, &lines);
        if !small {
            // At once, so that a long bench that is stopped has not measured for nothing.
            page.write(&machine::facts(bench.pairs))?;
        }
    }
    match grown.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "counts have grown; bring them down, or say in the commit why bench/counts.tsv allows more:\n{}",
            grown.join("\n")
        )
        .into()),
    }
}
