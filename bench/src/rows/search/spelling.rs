//! What it costs to correct a mistyped word where there are a million others to choose from.

use std::path::Path;
use std::sync::Arc;

use ingather_contract::access_filter::AccessFilter;
use ingather_contract::search::SearchRequest;
use ingather_index::Searcher;

use super::queries::milliseconds;
use crate::page::{Goal, Line};
use crate::relevance::{Text, fill};
use crate::rows::thousands;
use crate::{Bench, Result};

/// Different words of one text.
const WORDS_EACH: usize = 100;
/// Mistyped words that are asked for.
const TYPED: usize = 200;
const SYLLABLES: &[&str] =
    &["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "ve"];

/// The word of a number: five syllables.
fn word(number: usize) -> String {
    // Neighbours get words that are far from each other; an odd factor makes none of them twice.
    let mixed = number.wrapping_mul(0x9e_3779) % (1 << 20);
    (0..5).map(|place| SYLLABLES[mixed >> (place * 4) & 15]).collect()
}

/// The word with two letters swapped.
fn mistyped(number: usize) -> String {
    let mut letters: Vec<char> = word(number).chars().collect();
    letters.swap(4, 5);
    letters.into_iter().collect()
}

/// Median and worst of the processor time of queries with one mistyped word.
pub(in crate::rows) fn measure(bench: &Bench) -> Result<Vec<Line>> {
    let words = bench.size(1_000_000);
    let texts = (0..words.div_ceil(WORDS_EACH)).map(|number| {
        let words: Vec<String> = (0..WORDS_EACH).map(|at| word(number * WORDS_EACH + at)).collect();
        Text { name: number.to_string(), title: String::new(), body: words.join(" ") }
    });
    let data = bench.path("spelling");
    let searcher = fill(&data, texts)?;
    let step = words / TYPED;
    ask(&searcher, &mistyped(0))?;
    let mut times =
        (0..TYPED).map(|at| ask(&searcher, &mistyped(at * step))).collect::<Result<Vec<f64>>>()?;
    let known = (0..TYPED).map(|at| ask(&searcher, &word(at * step))).collect::<Result<Vec<f64>>>()?;
    std::fs::remove_dir_all(Path::new(&data))?;
    times.sort_by(f64::total_cmp);
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let line = |what, value| Line {
        work: format!("a mistyped word, {} different words in the index", thousands(words)),
        ours: format!("CPU: mean {:.2} ms, worst {:.2} ms", mean(&times), times[times.len() - 1]),
        beside: format!("a known word: mean {:.2} ms", mean(&known)),
        what,
        value,
        unit: "ms",
        goal: Goal::Most(5.0),
    };
    Ok(vec![line("CPU, mean", mean(&times)), line("CPU, p99", times[times.len() * 99 / 100])])
}

fn ask(searcher: &Searcher, query: &str) -> Result<f64> {
    let begun = milliseconds();
    let found = searcher.search(&SearchRequest::new(query, Arc::new(AccessFilter::All)))?;
    let took = milliseconds() - begun;
    match found.total {
        0 => Err(format!("`{query}` found nothing").into()),
        _ => Ok(took),
    }
}
