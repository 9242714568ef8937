//! `ingather search`: the built-in index, as somebody.

use ingather_operations::search::{self, Correction, Facet, Found, FoundSummary, Hit, SEARCH};

use crate::arguments::{Global, Search};
use crate::exit::{self, Result};
use crate::show::{self, Look};
use crate::wiring::{Program, caller};

pub(crate) fn run(global: &Global, search: &Search) -> Result<u8> {
    let program = Program::of(global)?;
    // A program gets a line for each hit, and can leave copies out by what is told of them.
    let folds = !search.all_copies && !global.json;
    let request = search::Search {
        query: search.query.join(" "),
        user: search.user.clone(),
        domain: search.domain.clone(),
        all: search.all,
        limit: search.limit,
        offset: search.offset,
        sort: search.sort.clone(),
        output: search.output.clone(),
        facets: search.facets,
        explain: search.explain_score,
        folds,
        advise: !global.quiet,
    };
    let found = SEARCH.call(&program.context(), &caller(), request)?;
    found.unfinished.iter().for_each(|job| show::stderr(job));
    if !global.quiet {
        found.summary.notes.iter().for_each(|note| show::stderr(note));
        for Correction { typed, used } in &found.summary.corrections {
            show::stderr(&format!("nothing has `{typed}`: searched for `{used}`"));
        }
    }
    if global.json {
        if found.summary.facets.is_some() {
            show::answer(&found.summary);
        }
        found.hits.iter().for_each(show::answer);
        return Ok(exit::DONE);
    }
    found.hits.iter().for_each(|hit| tell(hit, folds));
    if !global.quiet {
        tell_summary(&found, folds);
    }
    super::tell_resends(global, &found.resends);
    if let Some(facets) = &found.summary.facets {
        tell_facets("by type", &facets.types);
        tell_facets("by job", &facets.jobs);
    }
    Ok(exit::DONE)
}

fn tell_summary(found: &Found, folds: bool) {
    show::stderr(&summary(&found.summary));
    if folds && found.hits.iter().any(|hit| hit.copies > 0) {
        show::stderr("what has the same text is counted, and shown once; `--all-copies` shows all of it");
    }
    if let Some(literal) = &found.literal {
        show::stderr(&format!(
            "search for exactly what was typed with: ingather search {}",
            show::argument(literal)
        ));
    }
}

/// How many hits there are, and how many of them have all words.
fn summary(found: &FoundSummary) -> String {
    let number = |count: usize| show::number(count as u64);
    let shown = format!("{} of {} found", found.hits, number(found.total));
    match found.all_words {
        _ if found.total == 0 => "nothing found".to_owned(),
        all if all == found.total => shown,
        0 => format!("{shown}; none with all words"),
        all => format!("{shown}: {} with all words, {} with some", number(all), number(found.total - all)),
    }
}

/// What each word adds to the score, a line each.
fn tell_explanation(hit: &Hit) {
    if !hit.explanation.is_empty() {
        show::line(&format!("  score {:.3}", hit.score));
    }
    for word in &hit.explanation {
        let search::Occurrences { title, text, name } = word.occurrences;
        show::line(&format!(
            "  {:>10.3}  {}: {title} in the title, {text} in the text, {name} in the name; in {} of {}",
            word.score,
            word.word,
            show::number(word.entries),
            show::counted(word.of, "entry"),
        ));
    }
}

fn tell(hit: &Hit, folds: bool) {
    let title = if hit.title.is_empty() { &hit.document } else { &hit.title };
    let facts: Vec<String> =
        [hit.media_type.clone(), hit.size.map(show::bytes), hit.modified.map(show::time)]
            .into_iter()
            .flatten()
            .collect();
    show::pieces(&[(Look::Strong, title), (Look::Plain, &format!("  {}", facts.join(" · ")))]);
    show::line(&format!("  {}", hit.link.as_ref().unwrap_or(&hit.path)));
    let mut pieces = vec![(Look::Plain, "  ")];
    let text = hit.snippet.as_str();
    let mut at = 0;
    for [start, end] in hit.highlights.iter().copied() {
        // A service may answer anything.
        let (Some(before), Some(found)) = (text.get(at..start), text.get(start..end)) else { break };
        pieces.extend([(Look::Plain, before), (Look::Found, found)]);
        at = end;
    }
    pieces.push((Look::Plain, text.get(at..).unwrap_or_default()));
    if !text.is_empty() {
        show::pieces(&pieces);
    }
    if folds && hit.copies > 0 {
        show::line(&format!("  and {}", show::counted(hit.copies as u64, "copy")));
    }
    tell_explanation(hit);
}

fn tell_facets(heading: &str, facets: &[Facet]) {
    show::line(heading);
    for Facet { value, count } in facets {
        show::line(&format!("  {:>10}  {value}", show::number(*count as u64)));
    }
}
