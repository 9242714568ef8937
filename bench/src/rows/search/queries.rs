//! Mixed queries over an index with thousands of distinct classes and places, with and without the filter.

use std::path::Path;
use std::sync::Arc;

use ingather_contract::access_filter::AccessFilter;
use ingather_contract::search::SearchRequest;
use ingather_engine::access_filter;
use ingather_index::Searcher;
use ingather_model::access::{Tokens, unix_group};
use ingather_store::connections::{self, Role};
use ingather_store::{Reader, Target};
use serde_json::json;

use crate::measure::{Line as Command, median, run as run_process};
use crate::page::{Goal, Line};
use crate::rows::inventory::synthetic;
use crate::rows::thousands;
use crate::{Bench, Result};

/// Queries of one round.
const QUERIES: usize = 1_000;

/// How many documents there are, distinct classes and places, tokens of the user, and milliseconds that their first query may take.
const SIZES: [(usize, usize, usize, f64); 3] =
    [(100_000, 5_000, 1_000, 20.0), (100_000, 100_000, 1_000, 200.0), (1_000_000, 100_000, 10_000, 200.0)];

/// One row for each size.
pub(in crate::rows) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (documents, levels, tokens, first_most) in SIZES {
        let (documents, levels) = (bench.size(documents), bench.size(levels));
        let data = bench.path("queries");
        let source = json!({
            "documents": documents, "each": documents / levels, "levels": levels, "bytes": 1_000,
        });
        synthetic("run", &data, "-", "index", &source)?;
        let process =
            Command::new(std::env::current_exe()?).and(["queries"]).and([&data]).and([&tokens.to_string()]);
        let told = (0..bench.pairs)
            .map(|_| Ok(serde_json::from_str(run_process(&process)?.out.trim())?))
            .collect::<Result<Vec<serde_json::Value>>>()?;
        std::fs::remove_dir_all(&data)?;
        let of = |name: &str| median(told.iter().map(|round| round[name].as_f64().unwrap_or(f64::NAN)));
        let line = |what, value, unit, most| Line {
            work: format!(
                "{} mixed queries, {} documents, {} distinct places and classes, a user with {} tokens",
                thousands(QUERIES),
                thousands(documents),
                thousands(levels),
                thousands(tokens)
            ),
            ours: format!("CPU: median {:.2} ms, p99 {:.2} ms", of("median_only"), of("p99_only")),
            beside: format!("no filter: median {:.2} ms, p99 {:.2} ms", of("median_all"), of("p99_all")),
            what,
            value,
            unit,
            goal: Goal::Most(most),
        };
        lines.push(line("p99 of the CPU", of("ratio"), "×", 2.0));
        lines.push(line("first query of a user, CPU", of("first"), "ms", first_most));
    }
    Ok(lines)
}

/// Queries as people write them: a word, two, a phrase, a choice, a prefix, a filter.
fn mixed() -> Vec<String> {
    let words = ["people", "world", "after", "before", "made", "through", "other", "first", "would", "years"];
    (0..QUERIES)
        .map(|number| {
            let (a, b) = (words[number / 6 % 10], words[number / 60 % 10]);
            match number % 6 {
                0 => a.to_owned(),
                1 => format!("{a} {b}"),
                2 => format!("\"{a} {b}\""),
                3 => format!("{a} OR {b}"),
                4 => format!("{a} -{b}"),
                _ => format!("name:document {a}"),
            }
        })
        .collect()
}

/// Processor time of this thread, milliseconds: what a query takes on a machine that has nothing else to do.
pub(crate) fn milliseconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// Asks them all in this process, with the filter and without in turn, and says how long they took, in milliseconds.
pub(crate) fn run(data: &Path, tokens: &str) -> Result<()> {
    let tokens: u32 = tokens.parse()?;
    let reader = Reader::open(&Target::Sqlite(data.join("store.db")))?.ok_or("there is no store")?;
    let searcher = Searcher::open(data, reader.id())?.ok_or("there is no index")?;
    let output = reader.read(|sql| connections::find(sql, Role::Output, "index"))?;
    // Of each other group that there is, and of many that there are not.
    let tokens: Tokens = (0..tokens).map(|group| unix_group(group * 2)).collect();
    let all = Arc::new(AccessFilter::All);
    let ask = |query: &str, access_filter: &Arc<AccessFilter>| -> Result<f64> {
        let begun = milliseconds();
        searcher.search(&SearchRequest::new(query, access_filter.clone()))?;
        Ok(milliseconds() - begun)
    };
    let queries = mixed();
    // The index itself is warm; what is new is the user.
    for query in &queries {
        ask(query, &all)?;
    }
    let begun = milliseconds();
    let only = access_filter::for_identity(&reader, output.map(|output| output.id), &tokens.into())?;
    ask(&queries[0], &only)?;
    let first = milliseconds() - begun;
    let mut times = [Vec::new(), Vec::new()];
    for query in &queries {
        times[0].push(ask(query, &only)?);
        times[1].push(ask(query, &all)?);
    }
    let [(median_only, p99_only), (median_all, p99_all)] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[times.len() * 99 / 100])
    });
    println!(
        "{}",
        json!({
            "first": first, "median_only": median_only, "p99_only": p99_only, "median_all": median_all,
            "p99_all": p99_all, "ratio": p99_only / p99_all,
        })
    );
    Ok(())
}
