//! `ingather search`: the built-in index, as somebody.

use std::sync::Arc;

use ingather_contract::access_filter::AccessFilter;
use ingather_engine::access_filter;
use ingather_engine::outputs::{Misfit, misfit};
use ingather_index::{Correction, Facets, Hit, SearchRequest, SearchResults, Searcher, Sort, WordScore};
use ingather_model::access::Tokens;
use ingather_store::connections::{self, Role};
use ingather_store::jobs::{self, Job};
use ingather_store::{Reader, runs};
use serde_json::json;

use super::why::{self, INDEX};
use crate::arguments::{Global, Search};
use crate::data::DataDirectory;
use crate::exit::{self, Failure, Result};
use crate::show::{self, Look};
use crate::wiring::now;

/// Times that an index is opened again because the inventory knows a later commit.
const ATTEMPTS_MAX: usize = 5;

pub(crate) fn run(global: &Global, search: &Search) -> Result<u8> {
    let data = DataDirectory::of(global)?;
    let reader = data.existing()?;
    let sort =
        search.sort.as_deref().map(Sort::read).transpose().map_err(|f| Failure::usage(f.to_string()))?;
    let (searcher, access_filter) = look_up(&data, &reader, tokens(search)?.as_ref())?;
    let query = search.query.join(" ");
    let jobs = reader.read(jobs::list)?;
    let names: Vec<(i64, String)> = jobs.iter().map(|job| (job.id.0, job.name.clone())).collect();
    // A program gets a line for each hit, and can leave copies out by what is told of them.
    let folds = !search.all_copies && !global.json;
    let found = searcher.search(&SearchRequest {
        query: &query,
        access_filter: Arc::new(access_filter),
        limit: search.limit as usize,
        offset: search.offset as usize,
        sort: sort.flatten(),
        facets: search.facets,
        explain: search.explain_score,
        folds,
        zone: show::zone(now()),
        jobs: &names,
    })?;
    tell_unfinished(global, &data, &reader)?;
    if !global.quiet {
        found.notes.iter().for_each(|note| show::stderr(note));
        for Correction { typed, used } in &found.corrections {
            show::stderr(&format!("nothing has `{typed}`: searched for `{used}`"));
        }
    }
    if global.json {
        if let Some(facets) = &found.facets {
            envelope(&found, facets, search.offset, &jobs);
        }
        found.hits.iter().for_each(json_line);
        return Ok(exit::DONE);
    }
    found.hits.iter().for_each(|hit| tell(hit, folds));
    if !global.quiet {
        show::stderr(&summary(&found));
        if folds && found.hits.iter().any(|hit| hit.copies > 0) {
            show::stderr("what has the same text is counted, and shown once; `--all-copies` shows all of it");
        }
        if let Some(literal) = found.literal(&query) {
            show::stderr(&format!(
                "search for exactly what was typed with: ingather search {}",
                show::argument(&literal)
            ));
        }
    }
    super::tell_resends(global, &reader, None)?;
    if let Some(facets) = found.facets {
        tell_facets("by type", facets.media_types.iter().map(|f| (f.value.as_str(), f.count)));
        tell_facets("by job", facets.jobs.iter().map(|f| (job_name(&jobs, f.value), f.count)));
    }
    Ok(exit::DONE)
}

/// How many hits there are, and how many of them have all words.
fn summary(found: &SearchResults) -> String {
    let number = |count: usize| show::number(count as u64);
    let shown = format!("{} of {} found", found.hits.len(), number(found.total));
    match found.complete {
        _ if found.total == 0 => "nothing found".to_owned(),
        all if all == found.total => shown,
        0 => format!("{shown}; none with all words"),
        all => format!("{shown}: {} with all words, {} with some", number(all), number(found.total - all)),
    }
}

/// Says which jobs have not been read to their end yet: nothing found does not mean that there is nothing.
fn tell_unfinished(global: &Global, data: &DataDirectory, reader: &Reader) -> Result<()> {
    if global.quiet {
        return Ok(());
    }
    let (jobs, unfinished) = reader.read(|sql| Ok((jobs::list(sql)?, runs::unfinished(sql)?)))?;
    let searched = |job: &&Job| job.definition.outputs.iter().any(|output| output == INDEX);
    let is_unfinished = |job: &&Job| job.run == 0 || unfinished.contains(&job.id);
    let next = |job: &Job| match data.holder() {
        Some(_) => "it goes on now".to_owned(),
        None => format!("`ingather sync` of {} goes on", job.root),
    };
    for job in jobs.iter().filter(searched).filter(is_unfinished) {
        show::stderr(&format!(
            "job {}: no run of it has ended yet, so that not everything of it can be found; {}",
            job.name,
            next(job)
        ));
    }
    Ok(())
}

/// The index, and what the user may see of it; unknown users see nothing, and are told so.
///
/// The index is opened first. One read then tells what was confirmed of it and who may see what: an index that is older than
/// that read would show an earlier text to those for whom a later one was meant (design 4.20).
fn look_up(
    data: &DataDirectory,
    reader: &Reader,
    tokens: Option<&Tokens>,
) -> Result<(Searcher, AccessFilter)> {
    let older = |why: &str| {
        Failure::unable(format!(
            "the search index in {} {why}; `ingather sync` of a job that uses it fills it again",
            data.path.display()
        ))
    };
    for _ in 0..ATTEMPTS_MAX {
        let searcher = Searcher::open(&data.path, reader.id())?;
        let (output, access_filter) = reader.read(|sql| {
            let output = connections::find(sql, Role::Output, INDEX)?;
            let access_filter = match tokens {
                None => Some(AccessFilter::All),
                Some(tokens) => {
                    access_filter::for_tokens_in(sql, output.as_ref().map(|output| output.id), tokens)?
                }
            };
            Ok((output, access_filter))
        })?;
        let known = output.as_ref().filter(|output| output.identity.is_some());
        let Some(searcher) = searcher else {
            return Err(match known {
                Some(_) => older("is not there any more"),
                None => Failure::unable(format!(
                    "there is no index in {} yet; `ingather sync FOLDER` makes one",
                    data.path.display()
                )),
            });
        };
        let stands = searcher.identity_and_generation();
        let misfit = match &output {
            Some(output) => misfit(output, &stands),
            None => (stands.seq > 0).then_some(Misfit::Newer),
        };
        match misfit {
            None => return Ok((searcher, access_filter.ok_or_else(access_filter::too_many)?)),
            Some(Misfit::Newer) => return Err(older("knows changes that the inventory does not")),
            // The inventory may have gone on since the index was opened.
            Some(Misfit::Replaced | Misfit::Older | Misfit::Parted) => {}
        }
    }
    Err(older("is not the one that the inventory speaks of, or of an earlier day"))
}

/// Tokens of the user whose search this is; none for one that is not filtered.
fn tokens(search: &Search) -> Result<Option<Tokens>> {
    Ok(match &search.user {
        _ if search.all => None,
        None => Some(ingather_connectors::unix::calling_user()?),
        Some(user) => Some(why::tokens_of(user)?),
    })
}

fn job_name(jobs: &[Job], id: i64) -> &str {
    jobs.iter().find(|job| job.id.0 == id).map_or("(deleted)", |job| job.name.as_str())
}

/// What is said of all hits, in a line before them.
fn envelope(found: &SearchResults, facets: &Facets, offset: u32, jobs: &[Job]) {
    let counted = |value: &str, count: usize| json!({"value": value, "count": count});
    let corrections = found.corrections.iter();
    show::json(&json!({
        "total": found.total, "all_words": found.complete, "offset": offset, "hits": found.hits.len(),
        "facets": {
            "types": facets.media_types.iter().map(|f| counted(&f.value, f.count)).collect::<Vec<_>>(),
            "jobs": facets.jobs.iter().map(|f| counted(job_name(jobs, f.value), f.count)).collect::<Vec<_>>(),
        },
        "notes": found.notes,
        "corrections": corrections.map(|one| json!({"typed": one.typed, "used": one.used})).collect::<Vec<_>>(),
    }));
}

fn json_line(hit: &Hit) {
    let mut line = json!({
        "job": hit.job_name, "document": hit.document, "component": hit.component, "uri": hit.uri,
        "title": hit.title, "score": hit.score, "snippet": hit.snippet.text, "path": hit.path,
        "media_type": hit.media_type, "language": hit.language, "author": hit.author,
        "modified": hit.modified, "size": hit.size,
        "highlights": hit.snippet.highlights.iter().map(|h| [h.start, h.end]).collect::<Vec<_>>(),
        "all_words": hit.has_all_words, "copies": hit.copies, "copy_of": hit.copy_of,
    });
    if !hit.explanation.is_empty() {
        line["explanation"] = hit.explanation.iter().map(explained).collect();
    }
    show::json(&line);
}

fn explained(word: &WordScore) -> serde_json::Value {
    let [title, text, name] = word.occurrences;
    json!({
        "word": word.word, "times": word.times, "entries": word.entries, "of": word.of,
        "occurrences": {"title": title, "text": text, "name": name}, "score": word.score,
    })
}

/// What each word adds to the score, a line each.
fn tell_explanation(hit: &Hit) {
    if !hit.explanation.is_empty() {
        show::line(&format!("  score {:.3}", hit.score));
    }
    for word in &hit.explanation {
        let [title, text, name] = word.occurrences;
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
    show::line(&format!("  {}", hit.path));
    let mut pieces = vec![(Look::Plain, "  ")];
    let text = hit.snippet.text.as_str();
    let mut at = 0;
    for range in &hit.snippet.highlights {
        pieces.extend([(Look::Plain, &text[at..range.start]), (Look::Found, &text[range.clone()])]);
        at = range.end;
    }
    pieces.push((Look::Plain, &text[at..]));
    if !text.is_empty() {
        show::pieces(&pieces);
    }
    if folds && hit.copies > 0 {
        show::line(&format!("  and {}", show::counted(hit.copies as u64, "copy")));
    }
    tell_explanation(hit);
}

fn tell_facets<'f>(heading: &str, facets: impl Iterator<Item = (&'f str, usize)>) {
    show::line(heading);
    for (value, count) in facets {
        show::line(&format!("  {:>10}  {value}", show::number(count as u64)));
    }
}
