//! Searching an output: what is asked for whom, and what is found. Filtering happens inside the query.

use std::ops::Range;
use std::sync::Arc;

use ingather_model::fault::Fault;

use crate::access_filter::{AccessFilter, Reference};

/// What is asked.
#[derive(Clone, Debug)]
pub struct SearchRequest<'a> {
    /// In the query language of the manual; `*` finds everything.
    pub query: &'a str,
    /// What the user may see; shared, because it can be large.
    pub access_filter: Arc<AccessFilter>,
    /// Most hits to return; 0 only counts.
    pub limit: usize,
    /// Hits to leave out before.
    pub offset: usize,
    /// Order; none: the best first.
    pub sort: Option<Sort>,
    /// Whether to count by media type and by job.
    pub facets: bool,
    /// Whether to tell what makes up each score.
    pub explain: bool,
    /// Whether of hits with the same text only the best is shown; counts are of all of them.
    pub folds: bool,
    /// In which zone dates are asked.
    pub zone: Zone,
    /// Jobs that a query can name, by handle. What is told of them depends on those alone of which the user may see an
    /// entry.
    pub jobs: &'a [(i64, String)],
    /// Jobs whose documents are elsewhere than the addresses of their entries say: a query names the place or the address.
    pub moved: &'a [MovedJob],
}

/// A job whose source has moved since outputs were told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedJob {
    /// Its handle.
    pub job: i64,
    /// URI of its source, where that is now.
    pub place: String,
    /// What addresses of its entries begin with in place of that.
    pub address: String,
}

impl<'a> SearchRequest<'a> {
    /// The ten best hits of a query, with dates in UTC.
    pub fn new(query: &'a str, access_filter: Arc<AccessFilter>) -> SearchRequest<'a> {
        SearchRequest {
            query,
            access_filter,
            limit: 10,
            offset: 0,
            sort: None,
            facets: false,
            explain: false,
            folds: false,
            zone: Zone::utc(0),
            jobs: &[],
            moved: &[],
        }
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResults {
    /// The page that was asked for.
    pub hits: Vec<Hit>,
    /// How many entries match and may be seen, in both parts.
    pub total: usize,
    /// How many of them have all bare words of the query: they come first.
    pub complete: usize,
    /// How the query was understood, where that may surprise; a sentence each.
    pub notes: Vec<String>,
    /// Words that no visible entry has, and what was searched instead.
    pub corrections: Vec<Correction>,
    /// Counts of all of them, when asked for.
    pub facets: Option<Facets>,
}

/// What a server is asked: a query of a person, and a filter that stands beside it in the query language there.
#[derive(Clone, Copy, Debug)]
pub struct AskedOutput<'a> {
    /// What to find, as the engine reads it; `*` finds everything.
    pub query: &'a str,
    /// What the user may see.
    pub filter: &'a serde_json::Value,
    /// Most hits to return.
    pub limit: usize,
    /// Hits to leave out before.
    pub offset: usize,
}

/// An entry as a server shows it, with what whoever asked judges it by once more.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedEntry {
    /// The store that sent it.
    pub store: String,
    /// Number of its change.
    pub seq: i64,
    /// Hash of its id.
    pub address: i64,
    /// Who may see it.
    pub reference: Reference,
    /// What is shown of it.
    pub hit: Hit,
}

/// One entry that matches.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Handle of the job that sent it.
    pub job: i64,
    /// Name of that job when it was sent.
    pub job_name: String,
    /// Name of the document in its job.
    pub document: String,
    /// Name of the component, such as `inner/mail.eml!/report.pdf`; empty for the document itself.
    pub component: String,
    /// Where a person finds it.
    pub uri: String,
    /// Of an entry of a feed: the page that it is about.
    pub link: Option<String>,
    /// Title, or the file name when it has none.
    pub title: String,
    /// How well it matches.
    pub score: f32,
    /// Whether it has all bare words of the query.
    pub has_all_words: bool,
    /// What each word adds to the score, when asked for.
    pub explanation: Vec<WordScore>,
    /// How many others with the same text the user may see, hits or not.
    pub copies: usize,
    /// The hit before it that has the same text: its URI, with the component behind `#`.
    pub copy_of: Option<String>,
    /// A piece of the body around what matched.
    pub snippet: Snippet,
    /// Media type.
    pub media_type: Option<String>,
    /// Language code of the body.
    pub language: Option<String>,
    /// Author.
    pub author: Option<String>,
    /// Last change, milliseconds since 1970 UTC.
    pub modified: Option<i64>,
    /// Size, bytes.
    pub size: Option<u64>,
    /// Path below the source's root.
    pub path: String,
}

/// A piece of text; `highlights` are byte ranges of it, in order and apart from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The text, on one line.
    pub text: String,
    /// What matched.
    pub highlights: Vec<Range<usize>>,
}

impl SearchResults {
    /// The query with its corrected words in quotes, which searches for exactly them; none when nothing was corrected.
    pub fn literal(&self, query: &str) -> Option<String> {
        (!self.corrections.is_empty()).then(|| literal(query, &self.corrections))
    }
}

impl Snippet {
    /// The text with `before` and `after` around what matched.
    pub fn marked(&self, before: &str, after: &str) -> String {
        let mut out = String::with_capacity(self.text.len() + 16);
        let mut at = 0;
        for range in &self.highlights {
            out.extend([&self.text[at..range.start], before, &self.text[range.clone()], after]);
            at = range.end;
        }
        out.push_str(&self.text[at..]);
        out
    }
}

/// Order of hits; entries without what orders them come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// What orders.
    pub by: SortBy,
    /// Smallest, oldest or first by letters first.
    pub ascending: bool,
}

/// What hits can be ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortBy {
    /// Last change.
    Modified,
    /// Creation.
    Created,
    /// Size.
    Size,
    /// Title, or file name where there is none.
    Title,
    /// Folder of the path as it is shown, then the name in it.
    Path,
}

impl Sort {
    /// Reads the name of a field, such as `modified`: newest or largest first, titles and paths by letters; `+` before it
    /// puts the smallest first, `-` the largest. None: by score.
    ///
    /// # Errors
    /// `Refused` with the names that there are.
    pub fn read(text: &str) -> Result<Option<Sort>, Fault> {
        let name = text.strip_prefix(['+', '-']).unwrap_or(text);
        let by = match name {
            "modified" => SortBy::Modified,
            "created" => SortBy::Created,
            "size" => SortBy::Size,
            "title" => SortBy::Title,
            "path" => SortBy::Path,
            "score" if name == text => return Ok(None),
            _ => {
                let message = format!(
                    "cannot sort by `{text}`; there are score, modified, created, size, title and path, with `+` before \
                     the last five for the smallest first, with `-` for the largest"
                );
                return Err(Fault::refused("query", message));
            }
        };
        let ascending = match text.as_bytes().first() {
            Some(b'+') => true,
            Some(b'-') => false,
            _ => matches!(by, SortBy::Title | SortBy::Path),
        };
        Ok(Some(Sort { by, ascending }))
    }
}

/// Counts, largest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facets {
    /// By media type; entries without one are under the empty text.
    pub media_types: Vec<Facet<String>>,
    /// By the handle of the job.
    pub jobs: Vec<Facet<i64>>,
}

/// One value and how many entries have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facet<T> {
    /// The value.
    pub value: T,
    /// Entries.
    pub count: usize,
}

/// What one word of the query adds to a score.
#[derive(Clone, Debug, PartialEq)]
pub struct WordScore {
    /// The word, folded; with `*` for all that begin so.
    pub word: String,
    /// How often the query has it.
    pub times: u32,
    /// Entries with it, of those that the user may see.
    pub entries: u64,
    /// Entries that the user may see.
    pub of: u64,
    /// How often this entry has it in title, text and name, all forms together.
    pub occurrences: [u32; 3],
    /// What it adds.
    pub score: f32,
}

/// A word that was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// As it was asked for, in lower case.
    pub typed: String,
    /// What was searched instead.
    pub used: String,
}

/// In which zone dates are asked, and what time it is there.
#[derive(Clone, Copy, Debug)]
pub struct Zone {
    /// Milliseconds from 1970 to now by a clock on the wall there.
    pub now: i64,
    /// Milliseconds since 1970 UTC when such a clock shows so many.
    pub to_utc: fn(i64) -> i64,
}

impl Zone {
    /// The zone of UTC.
    pub const fn utc(now: i64) -> Zone {
        Zone { now, to_utc: |wall| wall }
    }
}

/// The query with its corrected words in quotes, which searches for exactly them.
fn literal(query: &str, corrections: &[Correction]) -> String {
    let exact = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = bare.to_lowercase();
        match corrections.iter().any(|correction| correction.typed == lower) {
            true => format!("\"{bare}\""),
            false => word.to_owned(),
        }
    };
    query.split_whitespace().map(exact).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_literal_query_has_what_was_corrected_in_quotes() {
        let corrections = [Correction { typed: "zeplin".to_owned(), used: "zeppelin".to_owned() }];
        assert_eq!(literal("a  Zeplin, b", &corrections), "a \"Zeplin\" b");
    }
}
