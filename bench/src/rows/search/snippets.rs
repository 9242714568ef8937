//! What it costs to show the best passage of the largest text that is kept.

use std::path::Path;
use std::sync::Arc;

use ingather_contract::access_filter::AccessFilter;
use ingather_contract::search::SearchRequest;
use ingather_index::Searcher;

use super::queries::milliseconds;
use crate::page::{Goal, Line};
use crate::relevance::{Text, fill};
use crate::{Bench, Result};

/// Searches of one round.
const SEARCHES: usize = 50;
const WORDS: &[&str] =
    &["people", "worlds", "after", "houses", "running", "through", "other", "first", "would", "years"];

/// A text of about so many bytes, with one sentence at its end that has both words of the question.
fn text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    let mut at = 0usize;
    while text.len() < bytes {
        // An odd factor keeps words from coming in the same order again.
        text.push_str(WORDS[at.wrapping_mul(0x9e_3779) / 7 % WORDS.len()]);
        text.push_str(if at % 12 == 11 { ". " } else { " " });
        at += 1;
    }
    text.push_str("The zeppelin was seen over the houses. ");
    text
}

/// Median of the processor time of one search whose only hit is that text.
pub(in crate::rows) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let mib = bench.size(800).div_ceil(100);
    let data = bench.path("snippets");
    let body = text((mib << 20) - 100);
    let small = "The zeppelin was seen over the houses.".to_owned();
    let mut times = Vec::new();
    for body in [body, small] {
        let name = body.len().to_string();
        let folder = data.join(&name);
        let searcher = fill(&folder, std::iter::once(Text { name, title: String::new(), body }))?;
        let mut each = (0..SEARCHES).map(|_| ask(&searcher)).collect::<Result<Vec<f64>>>()?;
        each.sort_by(f64::total_cmp);
        times.push(each[SEARCHES / 2]);
    }
    std::fs::remove_dir_all(Path::new(&data))?;
    Ok(vec![Line {
        work: format!("a search that shows a passage at the end of a text of {mib} MiB"),
        ours: format!("CPU: median {:.2} ms", times[0]),
        beside: format!("a text of one sentence: median {:.2} ms", times[1]),
        what: "CPU",
        value: times[0],
        unit: "ms",
        goal: Goal::Most(50.0),
    }])
}

fn ask(searcher: &Searcher) -> Result<f64> {
    let begun = milliseconds();
    let found = searcher.search(&SearchRequest::new("zeppelin houses", Arc::new(AccessFilter::All)))?;
    let took = milliseconds() - begun;
    match found.hits.first().is_some_and(|hit| hit.snippet.text.contains("zeppelin")) {
        true => Ok(took),
        false => Err("the passage is not the one with both words".into()),
    }
}
