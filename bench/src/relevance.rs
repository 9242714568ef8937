//! `cargo x search-quality`: how good the first hits are, judged by people, beside other engines on the same texts.

mod collections;
mod engines;
mod forms;
mod slips;

use std::collections::HashSet;
use std::path::Path;

use collections::{Collection, Query};
use engines::{Ask, Engine};
pub(crate) use engines::{Text, fill};

use crate::Result;

const BEGIN: &str = "<!-- begin: cargo x search-quality -->";
const END: &str = "<!-- end: cargo x search-quality -->";
/// The table of collections that somebody has; nothing holds its figures.
const BEGIN_OTHERS: &str = "<!-- begin: cargo x search-quality --collections -->";
const END_OTHERS: &str = "<!-- end: cargo x search-quality --collections -->";
const PAGE: &str = "docs/performance.md";
const HEAD: &str =
    "| Engine | Collection | nDCG@10 | MAP | R@100 | Found nothing |\n|---|---|---|---|---|---|";
/// Hits that are looked at.
const DEPTH: usize = 100;
/// Hits that nDCG looks at.
const FIRST: usize = 10;
/// By how much a figure may differ from the page's.
const TOLERANCE: f64 = 0.01;
/// The engine whose figures are held.
const OURS: &str = "Ingather";
/// Ours, asked three words of each question.
const MEANT: &str = "Ingather, three words";
/// Ours, asked the same with a slip.
const SLIPPED: &str = "Ingather, one of three mistyped";
/// What a slip may cost of nDCG@10.
const LOSS_MAX: f64 = 0.05;
/// Name of the row that tells the mean of all collections.
const MEAN: &str = "mean";

/// Means over the queries of a collection, or over collections.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Figures {
    ndcg: f64,
    average_precision: f64,
    recall: f64,
    /// Queries that found nothing.
    empty: f64,
}

impl Figures {
    fn mean(all: &[Figures]) -> Figures {
        let mean = |of: fn(&Figures) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
        Figures {
            ndcg: mean(|one| one.ndcg),
            average_precision: mean(|one| one.average_precision),
            recall: mean(|one| one.recall),
            empty: mean(|one| one.empty),
        }
    }

    /// Of one query: what was found, best first, and what people judged relevant.
    fn of(found: &[String], relevant: &HashSet<String>) -> Figures {
        let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
        let ideal: f64 = (0..relevant.len().min(FIRST)).map(gain).sum();
        let mut figures = Figures { empty: f64::from(u8::from(found.is_empty())), ..Figures::default() };
        let mut met = 0;
        for (rank, _) in found.iter().enumerate().filter(|(_, name)| relevant.contains(*name)) {
            met += 1;
            figures.average_precision += f64::from(met) / (rank as f64 + 1.0);
            if rank < FIRST {
                figures.ndcg += gain(rank);
            }
        }
        figures.ndcg /= ideal;
        figures.average_precision /= relevant.len() as f64;
        figures.recall = f64::from(met) / relevant.len() as f64;
        figures
    }
}

/// One line of the table.
struct Row {
    engine: String,
    collection: String,
    figures: Figures,
}

impl Row {
    fn text(&self) -> String {
        let Figures { ndcg, average_precision, recall, empty } = self.figures;
        let empty = match self.collection == MEAN {
            true => String::new(),
            false => format!("{empty:.0}"),
        };
        format!(
            "| {} | {} | {ndcg:.3} | {average_precision:.3} | {recall:.3} | {empty} |",
            self.engine, self.collection
        )
    }
}

/// Measures all engines on the collections that are held, and writes the table; `--check`: compares our rows with those of the
/// table instead; `--collections`: does the same with those in folders below another folder, and writes the other table.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<()> {
    let check = match words {
        [] => false,
        ["--check"] => true,
        ["--collections", folder] => return others(root, Path::new(folder)),
        _ => return Err("use: cargo x search-quality [--check | --collections FOLDER]".into()),
    };
    let Some(collections) = collections::held(root)? else {
        println!("search-quality: left out, needs the collections at one of {:?}", collections::PLACES);
        return Ok(());
    };
    if check {
        let mut rows = measure(&collections, &[engines::OURS])?;
        rows.extend(slipped(&collections)?);
        compare(section(&std::fs::read_to_string(root.join(PAGE))?, BEGIN, END)?.1, &rows)?;
        return worth(&rows);
    }
    let mut rows = measure(&collections, engines::ALL)?;
    rows.extend(slipped(&collections)?);
    write(&root.join(PAGE), (BEGIN, END), &table(&rows))
}

/// Measures all engines on the collections in folders below `folder`.
fn others(root: &Path, folder: &Path) -> Result<()> {
    let collections = collections::below(folder)?;
    let rows = measure(&collections, engines::ALL)?;
    let of = |one: &Collection| {
        let (documents, questions) = (one.documents.len(), one.queries.len());
        format!("| {} | {documents} | {questions} | {} |", one.name, one.source)
    };
    let sources: Vec<String> = collections.iter().map(of).collect();
    let sources = format!(
        "| Collection | Texts | Judged questions | From |\n|---|---|---|---|\n{}",
        sources.join("\n")
    );
    write(&root.join(PAGE), (BEGIN_OTHERS, END_OTHERS), &format!("{sources}\n\n{}", table(&rows)))
}

fn table(rows: &[Row]) -> String {
    let rows: Vec<String> = rows.iter().map(Row::text).collect();
    format!("{HEAD}\n{}", rows.join("\n"))
}

/// What a page says before, between and after these marks.
fn section<'p>(page: &'p str, begin: &str, end: &str) -> Result<(&'p str, &'p str, &'p str)> {
    let lost = |mark: &str| format!("{PAGE} has lost the line `{mark}`");
    let (before, rest) = page.split_once(begin).ok_or_else(|| lost(begin))?;
    let (between, after) = rest.split_once(end).ok_or_else(|| lost(end))?;
    Ok((before, between, after))
}

/// Puts a table between these marks of the page, and on the terminal.
fn write(page: &Path, (begin, end): (&str, &str), table: &str) -> Result<()> {
    println!("{table}");
    let text = std::fs::read_to_string(page)?;
    let (before, _, after) = section(&text, begin, end)?;
    Ok(std::fs::write(page, format!("{before}{begin}\n{table}\n{end}{after}"))?)
}

fn measure(collections: &[Collection], engines: &[Engine]) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for engine in engines {
        let mut means = Vec::new();
        for collection in collections {
            let mut ask = (engine.open)(collection)?;
            let (row, figures) = row(engine.name, &collection.name, &collection.queries, &mut ask)?;
            means.push(figures);
            rows.push(row);
        }
        let (engine, collection) = (engine.name.to_owned(), MEAN.to_owned());
        rows.push(Row { engine, collection, figures: Figures::mean(&means) });
    }
    Ok(rows)
}

/// The row of an engine that was asked these questions, and its means.
fn row(engine: &str, collection: &str, queries: &[Query], ask: &mut Ask) -> Result<(Row, Figures)> {
    let each = queries.iter().map(|query| Ok(Figures::of(&ask(&query.text, DEPTH)?, &query.relevant)));
    let figures = Figures::mean(&each.collect::<Result<Vec<_>>>()?);
    let counted = Figures { empty: figures.empty * queries.len() as f64, ..figures };
    Ok((Row { engine: engine.to_owned(), collection: collection.to_owned(), figures: counted }, figures))
}

/// What a slip costs: rows of ours for questions of three words, and for the same with one of them mistyped.
fn slipped(collections: &[Collection]) -> Result<Vec<Row>> {
    let (mut rows, mut means) = (Vec::new(), [Vec::new(), Vec::new()]);
    for collection in collections {
        let mut ask = (engines::OURS.open)(collection)?;
        let typed = slips::typed(collection, &mut ask)?;
        for (at, (engine, queries)) in
            [(MEANT, &typed.meant), (SLIPPED, &typed.slipped)].into_iter().enumerate()
        {
            let name = format!("{}, {} questions", collection.name, queries.len());
            let (row, figures) = row(engine, &name, queries, &mut ask)?;
            means[at].push(figures);
            rows.push(row);
        }
    }
    for (engine, means) in [MEANT, SLIPPED].into_iter().zip(&means) {
        let (engine, collection) = (engine.to_owned(), MEAN.to_owned());
        rows.push(Row { engine, collection, figures: Figures::mean(means) });
    }
    Ok(rows)
}

/// Fails when a slip costs more than it may.
fn worth(rows: &[Row]) -> Result<()> {
    let of = |engine| rows.iter().find(|row| row.engine == engine && row.collection == MEAN);
    let (Some(meant), Some(slipped)) = (of(MEANT), of(SLIPPED)) else {
        return Err("rows are missing".into());
    };
    let loss = 1.0 - slipped.figures.ndcg / meant.figures.ndcg;
    match loss <= LOSS_MAX {
        true => Ok(()),
        false => Err(format!("a slip in one of three words costs {:.1} % of nDCG@10", loss * 100.0).into()),
    }
}

/// Fails when a figure of ours is not what the page says.
fn compare(page: &str, rows: &[Row]) -> Result<()> {
    let mut differing = Vec::new();
    for row in rows {
        let begins = format!("| {} | {} | ", row.engine, row.collection);
        let told = page.lines().find_map(|line| line.strip_prefix(begins.as_str()));
        let told: Vec<f64> = told
            .map(|cells| cells.split(" | ").take(3).filter_map(|cell| cell.trim().parse().ok()).collect())
            .unwrap_or_default();
        let measured = [row.figures.ndcg, row.figures.average_precision, row.figures.recall];
        let agrees = told.len() == measured.len()
            && told.iter().zip(measured).all(|(told, measured)| (told - measured).abs() <= TOLERANCE);
        if !agrees {
            differing.push(format!("{}; {PAGE} says {told:?}", row.text()));
        }
    }
    match differing.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "search finds other things first than {PAGE} says; repair it, or say in the commit why `cargo x search-quality` \
             writes other figures:\n{}",
            differing.join("\n")
        )
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Needs the collections, as the table does; a machine without them says so in its output.
    #[test]
    fn the_first_hits_are_as_good_as_the_page_says() {
        run(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &["--check"]).unwrap();
    }

    #[test]
    fn figures_follow_their_definitions() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let relevant: HashSet<String> = names(&["a", "b"]).into_iter().collect();
        let figures = Figures::of(&names(&["a", "x", "b"]), &relevant);
        assert!((figures.ndcg - 1.5 / (1.0 + 1.0 / 3.0_f64.log2())).abs() < 1e-9);
        assert!((figures.average_precision - f64::midpoint(1.0, 2.0 / 3.0)).abs() < 1e-9);
        assert!((figures.recall - 1.0).abs() < 1e-9);
        assert_eq!(Figures::of(&[], &relevant), Figures { empty: 1.0, ..Figures::default() });
    }

    #[test]
    fn a_figure_that_moved_is_named() {
        let figures = Figures { ndcg: 0.4, average_precision: 0.3, recall: 0.6, empty: 0.0 };
        let row = Row { engine: OURS.to_owned(), collection: "Cranfield".to_owned(), figures };
        assert!(compare(&row.text(), std::slice::from_ref(&row)).is_ok());
        let worse = Row { figures: Figures { ndcg: 0.38, ..figures }, ..row };
        let told = format!("| {OURS} | Cranfield | 0.400 | 0.300 | 0.600 | 0 |");
        assert!(compare(&told, std::slice::from_ref(&worse)).unwrap_err().to_string().contains("0.380"));
        assert!(compare("", &[worse]).is_err());
        let row = |engine: &str, ndcg| Row {
            engine: engine.to_owned(),
            collection: MEAN.to_owned(),
            figures: Figures { ndcg, ..figures },
        };
        assert!(worth(&[row(MEANT, 0.4), row(SLIPPED, 0.385)]).is_ok());
        let told = worth(&[row(MEANT, 0.4), row(SLIPPED, 0.36)]).unwrap_err().to_string();
        assert!(told.contains("10.0 %"), "{told}");
    }
}
