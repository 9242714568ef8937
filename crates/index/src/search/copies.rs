//! Entries with the same text, of which one is enough for most people.

use std::collections::HashMap;

use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocAddress, Searcher, Term};

use crate::query::visible::Visible;
use crate::search::rank::Ranked;
use crate::stemming::Stemming;

/// What a stored body has in common with all that have the same text; none when there is nothing in it. Nobody can make a
/// text that passes for another one: it is the beginning of a cryptographic hash.
pub(crate) fn digest(stored: &str) -> Option<i64> {
    let text = stored.strip_prefix(Stemming::of_marked(stored).mark()).unwrap_or(stored);
    if text.trim().is_empty() {
        return None;
    }
    let mut first = [0u8; 8];
    first.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..8]);
    Some(i64::from_le_bytes(first))
}

/// Entries are found by so many bits of the digest, and told apart by all of it: of a million entries 244 are looked at.
const BUCKET_BITS: u32 = 12;

/// Where entries with a text of that digest are found.
pub(crate) fn bucket(digest: i64) -> i64 {
    digest & ((1 << BUCKET_BITS) - 1)
}

/// How many entries with this text the user sees; `field` is that of the buckets.
pub(crate) fn count(
    searcher: &Searcher,
    field: Field,
    visible: &Visible,
    digest: i64,
) -> tantivy::Result<usize> {
    let term = Term::from_field_i64(field, bucket(digest));
    let mut count = 0;
    for (ordinal, segment) in searcher.segment_readers().iter().enumerate() {
        let (seen, texts) = (&visible.segments[ordinal], &visible.columns[ordinal].text);
        let is_same = |doc: u32| texts.as_ref().is_some_and(|texts| texts.first(doc) == Some(digest));
        let index = segment.inverted_index(field)?;
        let Some(mut postings) = index.read_block_postings(&term, IndexRecordOption::Basic)? else {
            continue;
        };
        while !postings.docs().is_empty() {
            count += postings.docs().iter().filter(|doc| seen.contains(**doc) && is_same(**doc)).count();
            postings.advance();
        }
    }
    Ok(count)
}

/// Names for each of these hits, best first, the one before it that has the same text.
pub(crate) fn tell(hits: &mut [Ranked]) {
    let mut first: HashMap<i64, DocAddress> = HashMap::new();
    for hit in hits {
        let Some(text) = hit.text else { continue };
        let known = *first.entry(text).or_insert(hit.at);
        hit.copy_of = Some(known).filter(|known| *known != hit.at);
    }
}
