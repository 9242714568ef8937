//! Search: the built-in index, as whoever asks.

mod by_server;
mod elsewhere;
mod opened;

use std::collections::BTreeSet;

use ingather_contract::search::{self as contract, Sort, Zone};
use ingather_model::access::identity::Identity;
use ingather_model::ids::JobId;
use ingather_model::lifecycle::job::State;
use ingather_model::limits;
use ingather_store::jobs::{self, Job};
use ingather_store::{Reader, StoreError, runs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::{INDEX, who};
use crate::context::{Caller, Context};
use crate::in_words;
use crate::jobs::{Resends, moving, resends};
use crate::operation::{Answering, Effect, Operation, Rest, Role, Shape, Verb, Words};
use crate::problem::{Code, Problem, Result};
use crate::system::jobs::{is_service, run_again};

pub use opened::renew;

const FOUND: &str = r#"{"summary": {"total": 2, "all_words": 1, "offset": 1, "hits": 1,
    "facets": {"types": [{"value": "text/plain", "count": 2}], "jobs": [{"value": "share", "count": 2}]},
    "notes": ["a sentence"], "corrections": [{"typed": "anual", "used": "annual"}]},
    "hits": [{"job": "share", "document": "a.txt", "component": "", "uri": "file:///srv/share/a.txt", "title": "A",
    "score": 1.5, "snippet": "the annual report", "path": "a.txt", "media_type": "text/plain", "language": "en",
    "author": null, "modified": 1767225600000, "size": 17, "highlights": [[4, 10]], "all_words": true, "copies": 0,
    "copy_of": null, "explanation": [{"word": "annual", "times": 1, "entries": 1, "of": 2,
    "occurrences": {"title": 0, "text": 1, "name": 0}, "score": 1.5}]}],
    "literal": "\"anual\" report", "unfinished": ["a sentence about a job"],
    "resends": [{"sentence": "job notes: 3 documents are still to be sent again", "root": "/srv/notes"}]}"#;

/// Finds documents, as the user who asks.
pub static SEARCH: Answering<Search, Found> = Answering {
    operation: Operation {
        name: "search",
        summary: "Finds documents, as the user who asks; an administrator may ask as others, or see everything.",
        request: Shape::of::<Search>(
            "Search",
            &[r#"{"query": "annual report", "limit": 10, "sort": "modified"}"#],
        ),
        item: None,
        answer: Shape::of::<Found>("Found", &[FOUND]),
        role: Role::Searcher,
        effect: Effect::Reads,
        rest: Rest::At(Verb::Get, "/search"),
        words: Words::Are("search"),
        tool: true,
        problems: &[
            Code::Query,
            Code::NoSuchOutput,
            Code::NoSuchUser,
            Code::NotVouched,
            Code::InvalidToken,
            Code::AuthorityAway,
            Code::Settings,
            Code::Connector,
            Code::IndexOlder,
        ],
    },
    run: search,
};

/// What is said of jobs that whoever asks may not know.
const SOMETHING_UNFINISHED: &str =
    "not everything has been read to its end yet: what cannot be found now may be found later";

/// What is said where an authority was missing: whoever only searches is told of no authority, but that it may be about them.
const NOT_WHOLE: &str = "not all that this user holds could be asked for, so that less may be found than they may see; `ingather tokens` says why";

/// Asks what there is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// What to find; `*` finds everything.
    pub query: String,
    /// As this user, and not as whoever asks: a name, or the number of a user of this machine.
    #[serde(default, rename = "as")]
    pub user: Option<String>,
    /// The authorisation domain that it is a name in, where that has a name.
    #[serde(default)]
    pub domain: Option<String>,
    /// Unfiltered.
    #[serde(default)]
    pub all: bool,
    /// Hits at most: 10 where nobody says how many, and no more than 10,000.
    #[serde(default = "page")]
    #[schemars(range(max = 10_000))]
    pub limit: u32,
    /// Hits to leave out at the beginning; a search reaches the first 100,000.
    #[serde(default)]
    #[schemars(range(max = 1_000_000))]
    pub offset: u32,
    /// Order: `score`, or a field with `+` for the smallest first or `-` for the largest.
    #[serde(default)]
    pub sort: Option<String>,
    /// An output on a server, which is asked in the place of the index, in the query language there.
    #[serde(default)]
    pub output: Option<String>,
    /// Also count hits by media type and by job.
    #[serde(default)]
    pub facets: bool,
    /// Also tell what each word adds to the score of a hit.
    #[serde(default)]
    pub explain: bool,
    /// Of hits with the same text, only the best.
    #[serde(default)]
    pub folds: bool,
    /// Also tell what may be missing from the answer.
    #[serde(default)]
    pub advise: bool,
}

fn page() -> u32 {
    limits::SEARCH_PAGE
}

/// What was found; where lines are wanted, one for each hit, behind one for the summary when facets were asked for.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// What is said of all hits.
    pub summary: FoundSummary,
    /// The page that was asked for.
    pub hits: Vec<Hit>,
    /// The query that searches for exactly what was typed, when a word was corrected.
    pub literal: Option<String>,
    /// Jobs that have not been read to their end yet, a sentence each, or one for all of them to whoever may not see jobs: nothing found does
    /// not mean that there is nothing.
    pub unfinished: Vec<String>,
    /// What jobs have to send again.
    pub resends: Vec<Resends>,
}

/// What is said of all hits.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FoundSummary {
    /// How many entries match and may be seen.
    pub total: usize,
    /// How many of them have all words.
    pub all_words: usize,
    /// Hits that were left out at the beginning.
    pub offset: u32,
    /// Hits on this page.
    pub hits: usize,
    /// Counts of all that match, when asked for.
    pub facets: Option<Facets>,
    /// How the query was understood, where that may surprise, that an authority was missing, and, where nothing was found, what is in other
    /// outputs alone; a sentence each.
    pub notes: Vec<String>,
    /// Words that nothing has, and what was searched instead.
    pub corrections: Vec<Correction>,
}

/// Counts of all that match, largest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Facets {
    /// By media type; entries without one are under the empty text.
    pub types: Vec<Facet>,
    /// By name of the job.
    pub jobs: Vec<Facet>,
}

/// One value and how many entries have it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Facet {
    /// The value.
    pub value: String,
    /// Entries.
    pub count: usize,
}

/// A word that was replaced.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Correction {
    /// As it was asked for.
    pub typed: String,
    /// What was searched instead.
    pub used: String,
}

/// One entry that matches.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// Name of the job that sent it.
    pub job: String,
    /// Name of the document there.
    pub document: String,
    /// Name of the component; empty for the document itself.
    pub component: String,
    /// Where a person finds it.
    pub uri: String,
    /// Of an entry of a feed: the page that it is about, by http or https.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Title, or the file name when it has none.
    pub title: String,
    /// How well it matches.
    pub score: f32,
    /// A piece of its text around what matched.
    pub snippet: String,
    /// Path below the source's root.
    pub path: String,
    /// Media type.
    pub media_type: Option<String>,
    /// Language of its text.
    pub language: Option<String>,
    /// Author.
    pub author: Option<String>,
    /// Last change, milliseconds since 1970 UTC.
    pub modified: Option<i64>,
    /// Size, bytes.
    pub size: Option<u64>,
    /// What matched in the snippet: first byte, and the one behind the last.
    pub highlights: Vec<[usize; 2]>,
    /// Whether it has all words.
    pub all_words: bool,
    /// How many others with the same text the user may see.
    pub copies: usize,
    /// The hit before it that has the same text.
    pub copy_of: Option<String>,
    /// What each word adds to the score, when asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explanation: Vec<WordScore>,
}

/// What one word adds to a score.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WordScore {
    /// The word, folded.
    pub word: String,
    /// How often the query has it.
    pub times: u32,
    /// Entries with it, of those that the user may see.
    pub entries: u64,
    /// Entries that the user may see.
    pub of: u64,
    /// How often this entry has it.
    pub occurrences: Occurrences,
    /// What it adds.
    pub score: f32,
}

/// How often an entry has a word.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Occurrences {
    /// In its title.
    pub title: u32,
    /// In its text.
    pub text: u32,
    /// In its name.
    pub name: u32,
}

fn search(context: &Context<'_>, caller: &Caller<'_>, request: Search) -> Result<Found> {
    if request.all || request.user.is_some() {
        caller.needs(Role::Admin, "a search that is not one's own")?;
    }
    for (name, value, most) in [
        ("limit", request.limit, limits::SEARCH_PAGE_MAX),
        ("offset", request.offset, limits::SEARCH_OFFSET_MAX),
    ] {
        if value > most {
            return Err(Problem::usage(format!("`{name}` is at most {most}; ask for less at once")));
        }
    }
    let reader = context.existing()?;
    let sort = request.sort.as_deref().map(Sort::read).transpose()?;
    let identity = identity(context, caller, &request)?;
    if let Some(name) = request.output.as_deref().filter(|name| *name != INDEX) {
        return by_server::search(context, caller, (&request, name, identity.as_ref()));
    }
    let (index, access_filter) = opened::open(context, &reader, identity.as_ref())
        .map_err(|problem| elsewhere::instead(context, caller, &reader, problem))?;
    let names = reader.read(jobs::names)?;
    let names: Vec<(i64, String)> = names.into_iter().map(|(job, name)| (job.0, name)).collect();
    let moved = moved(context, &reader, &request.query)?;
    let found = index.search(&contract::SearchRequest {
        query: &request.query,
        access_filter,
        limit: request.limit as usize,
        offset: request.offset as usize,
        sort: sort.flatten(),
        facets: request.facets,
        explain: request.explain,
        folds: request.folds,
        zone: zone(context.now()),
        jobs: &names,
        moved: &moved,
    })?;
    let found = leading(context, &reader, found)?;
    let mut answer = answer(&request, &names, found);
    if identity.is_some_and(|identity| !identity.is_whole()) {
        answer.summary.notes.push(NOT_WHOLE.to_owned());
    }
    if request.advise {
        answer.unfinished = unfinished(context, &reader)?;
        // Whoever only searches is told of no job that they may not see.
        if !caller.has(Role::Operator) && !answer.unfinished.is_empty() {
            answer.unfinished = vec![SOMETHING_UNFINISHED.to_owned()];
        }
    }
    if request.advise && answer.summary.total == 0 {
        answer.summary.notes.extend(elsewhere::told(context, caller, &reader)?);
    }
    if request.advise && caller.has(Role::Operator) {
        answer.resends = resends(&reader, None)?;
    }
    Ok(answer)
}

/// The user whose search this is; none for one that is not filtered.
fn identity(context: &Context<'_>, caller: &Caller<'_>, request: &Search) -> Result<Option<Identity>> {
    Ok(match &request.user {
        _ if request.all => None,
        None => Some((caller.identity)()?),
        Some(user) => Some(who::of_name(context, user, request.domain.as_deref().unwrap_or_default())?),
    })
}

/// Jobs of the index that have not been read to their end yet.
fn unfinished(context: &Context<'_>, reader: &Reader) -> Result<Vec<String>> {
    let (jobs, unfinished) = reader.read(|sql| Ok((jobs::list(sql)?, runs::unfinished(sql)?)))?;
    let searched = |job: &&Job| job.definition.outputs.iter().any(|output| output == INDEX);
    let is_unfinished = |job: &&Job| job.run == 0 || unfinished.contains(&job.id);
    let holder = context.host.holder();
    let next = |job: &Job| {
        // A service has what it works on, or is about to, on record.
        let is_at_rest = job.state == State::Resting && job.restart.is_none();
        if context.works_on(job.id) && !(is_service(holder.as_deref()) && is_at_rest) {
            "it goes on now".to_owned()
        } else if is_service(holder.as_deref()) && job.definition.schedule.is_some() && !job.paused {
            "its schedule begins one".to_owned()
        } else {
            format!("{} goes on", run_again(context, job, holder.as_deref()))
        }
    };
    let told = jobs.iter().filter(searched).filter(is_unfinished).map(|job| {
        format!(
            "job {}: no run of it has ended yet, so that not everything of it can be found; {}",
            job.name,
            next(job)
        )
    });
    Ok(told.collect())
}

/// Jobs that were moved, for queries that name places.
fn moved(context: &Context<'_>, reader: &Reader, query: &str) -> Result<Vec<contract::MovedJob>> {
    let query = query.to_ascii_lowercase();
    if !query.contains("path:") && !query.contains("uri:") {
        return Ok(Vec::new());
    }
    let jobs = reader.read(jobs::list)?;
    let moved = |job: &Job| {
        let (place, address) = moving::places(&context.registry, job)?;
        Some(contract::MovedJob { job: job.id.0, place, address })
    };
    Ok(jobs.iter().filter_map(moved).collect())
}

/// Outputs know documents of a moved job by the addresses that they were told first; people find them where they are.
fn leading(
    context: &Context<'_>,
    reader: &Reader,
    mut found: contract::SearchResults,
) -> Result<contract::SearchResults> {
    let of: BTreeSet<i64> = found.hits.iter().map(|hit| hit.job).collect();
    let jobs = reader.read(|sql| {
        let jobs = of.iter().filter_map(|job| jobs::get(sql, JobId(*job)).transpose());
        jobs.collect::<std::result::Result<Vec<Job>, StoreError>>()
    })?;
    for hit in &mut found.hits {
        if let Some(job) = jobs.iter().find(|job| job.id.0 == hit.job) {
            hit.uri = moving::leading(&context.registry, job, std::mem::take(&mut hit.uri));
            hit.path = moving::leading_path(job, std::mem::take(&mut hit.path));
        }
    }
    Ok(found)
}

fn answer(request: &Search, jobs: &[(i64, String)], found: contract::SearchResults) -> Found {
    let job_name = |id: i64| {
        jobs.iter().find(|(job, _)| *job == id).map_or("(deleted)", |(_, name)| name.as_str()).to_owned()
    };
    let literal = found.literal(&request.query);
    let facets = found.facets.map(|facets| Facets {
        types: facets
            .media_types
            .into_iter()
            .map(|facet| Facet { value: facet.value, count: facet.count })
            .collect(),
        jobs: facets
            .jobs
            .into_iter()
            .map(|facet| Facet { value: job_name(facet.value), count: facet.count })
            .collect(),
    });
    let corrections = found.corrections.into_iter();
    Found {
        summary: FoundSummary {
            total: found.total,
            all_words: found.complete,
            offset: request.offset,
            hits: found.hits.len(),
            facets,
            notes: found.notes,
            corrections: corrections.map(|one| Correction { typed: one.typed, used: one.used }).collect(),
        },
        hits: found.hits.into_iter().map(Hit::from).collect(),
        literal,
        unfinished: Vec::new(),
        resends: Vec::new(),
    }
}

impl From<contract::Hit> for Hit {
    fn from(hit: contract::Hit) -> Hit {
        Hit {
            job: hit.job_name,
            document: hit.document,
            component: hit.component,
            uri: hit.uri,
            link: hit.link,
            title: hit.title,
            score: hit.score,
            snippet: hit.snippet.text,
            path: hit.path,
            media_type: hit.media_type,
            language: hit.language,
            author: hit.author,
            modified: hit.modified,
            size: hit.size,
            highlights: hit.snippet.highlights.iter().map(|range| [range.start, range.end]).collect(),
            all_words: hit.has_all_words,
            copies: hit.copies,
            copy_of: hit.copy_of,
            explanation: hit.explanation.into_iter().map(WordScore::from).collect(),
        }
    }
}

impl From<contract::WordScore> for WordScore {
    fn from(word: contract::WordScore) -> WordScore {
        let [title, text, name] = word.occurrences;
        WordScore {
            word: word.word,
            times: word.times,
            entries: word.entries,
            of: word.of,
            occurrences: Occurrences { title, text, name },
            score: word.score,
        }
    }
}

/// The zone of this machine, in which dates are asked.
fn zone(now: i64) -> Zone {
    Zone { now: in_words::wall(now).unwrap_or(now), to_utc: |wall| in_words::utc(wall).unwrap_or(wall) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::tests::asked;

    #[test]
    fn only_an_administrator_searches_as_somebody_else() {
        let own = || serde_json::json!({"query": "a", "limit": 1});
        let ask = |role: Role, request: serde_json::Value| {
            let request: Search = serde_json::from_value(request).unwrap();
            asked(&[role], |context, caller| SEARCH.call(context, caller, request))
        };
        let others =
            [("as", "ann".into()), ("all", true.into())].map(|(name, value): (_, serde_json::Value)| {
                let mut request = own();
                request[name] = value;
                request
            });
        assert_eq!(ask(Role::Searcher, own()), Some(Code::NothingYet));
        for request in others {
            assert_eq!(ask(Role::Searcher, request.clone()), Some(Code::Forbidden), "{request}");
            assert_eq!(ask(Role::Operator, request.clone()), Some(Code::Forbidden), "{request}");
            assert_eq!(ask(Role::Admin, request.clone()), Some(Code::NothingYet), "{request}");
        }
    }
}
