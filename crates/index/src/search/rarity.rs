//! How rare the words of a query are among the entries that the user sees, and where they are.

use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, Searcher, SegmentReader, Term};

use crate::query::bits::Bits;
use crate::query::visible::{SCORED, Visible};
use crate::search::rank::{Leaf, Source};

/// How often a word is, and what that is worth.
pub(crate) struct Rarity {
    /// Visible entries that have it, by leaf.
    pub(crate) entries: Vec<u64>,
    /// Entries of prefixes, by leaf and segment; empty for words.
    pub(super) sets: Vec<Vec<Bits>>,
    /// Entries with all words that one is put together from, by leaf and segment; empty for those that are not.
    pub(super) parts: Vec<Vec<Bits>>,
    /// Where the terms of words are, by leaf and segment; empty for prefixes.
    pub(super) found: Vec<Vec<Found>>,
}

/// The terms of a word that a segment has, with the place of their field among those that are scored.
pub(super) type Found = Vec<(usize, TermInfo)>;

impl Rarity {
    /// Counts the visible entries that have each word.
    pub(crate) fn of(searcher: &Searcher, visible: &Visible, leaves: &[Leaf]) -> tantivy::Result<Rarity> {
        let (sets, parts) = (Vec::with_capacity(leaves.len()), Vec::with_capacity(leaves.len()));
        let found = vec![Vec::new(); leaves.len()];
        let mut rarity = Rarity { entries: vec![0; leaves.len()], sets, parts, found };
        for leaf in leaves {
            let parts = leaf.parts.as_ref().map(|parts| parts.matching(searcher, visible));
            rarity.parts.push(parts.transpose()?.unwrap_or_default());
            rarity.sets.push(match &leaf.source {
                Source::Set(set) => set.matching(searcher, visible)?,
                Source::Terms(_) => Vec::new(),
            });
        }
        for (ordinal, segment) in searcher.segment_readers().iter().enumerate() {
            for (at, leaf) in leaves.iter().enumerate() {
                rarity.entries[at] += match &leaf.source {
                    Source::Set(_) => rarity.sets[at][ordinal].count(),
                    Source::Terms(terms) => {
                        let found = find(segment, terms)?;
                        rarity.found[at].push(found);
                        count(segment, terms, &rarity.found[at][ordinal], (visible, ordinal))?
                    }
                };
            }
        }
        Ok(rarity)
    }

    /// Whether an entry that the user sees has the word, or all that it is put together from.
    pub(crate) fn is_known(&self, at: usize) -> bool {
        self.entries[at] > 0 || self.parts[at].iter().any(|parts| parts.count() > 0)
    }

    /// Whether an entry has all words that one is put together from.
    pub(crate) fn has_parts(&self, at: usize, entry: DocAddress) -> bool {
        self.parts[at].get(entry.segment_ord as usize).is_some_and(|parts| parts.contains(entry.doc_id))
    }

    /// Whether an entry is among those of a prefix.
    pub(crate) fn has(&self, at: usize, entry: DocAddress) -> bool {
        self.sets[at].get(entry.segment_ord as usize).is_some_and(|set| set.contains(entry.doc_id))
    }

    /// What having the word is worth.
    pub(crate) fn weight(&self, at: usize, visible: &Visible) -> f32 {
        let (all, have) = (visible.count as f64, self.entries[at] as f64);
        (1.0 + (all - have + 0.5) / (have + 0.5)).ln() as f32
    }
}

/// Visible entries of one segment that have one of the terms.
fn count(
    segment: &SegmentReader,
    terms: &[Vec<Term>; SCORED],
    found: &Found,
    (visible, ordinal): (&Visible, usize),
) -> tantivy::Result<u64> {
    if let ([(_, only)], true) = (found.as_slice(), visible.whole[ordinal]) {
        return Ok(u64::from(only.doc_freq));
    }
    let seen = &visible.segments[ordinal];
    let mut lists = postings(segment, terms, found, IndexRecordOption::Basic)?;
    if let [(_, only)] = lists.as_mut_slice() {
        let mut count = 0;
        while !only.docs().is_empty() {
            count += only.docs().iter().filter(|doc| seen.contains(**doc)).count() as u64;
            only.advance();
        }
        return Ok(count);
    }
    if lists.is_empty() {
        return Ok(0);
    }
    let mut have = Bits::none(segment.max_doc());
    for (_, list) in &mut lists {
        while !list.docs().is_empty() {
            list.docs().iter().for_each(|doc| have.insert(*doc));
            list.advance();
        }
    }
    have.keep(seen);
    Ok(have.count())
}

/// The terms that one segment has.
fn find(segment: &SegmentReader, terms: &[Vec<Term>; SCORED]) -> tantivy::Result<Found> {
    let mut found = Vec::new();
    for (field, terms) in terms.iter().enumerate() {
        let Some(first) = terms.first() else { continue };
        let index = segment.inverted_index(first.field())?;
        for term in terms {
            found.extend(index.get_term_info(term)?.map(|info| (field, info)));
        }
    }
    Ok(found)
}

/// The lists of these terms, with the field of each.
pub(super) fn postings(
    segment: &SegmentReader,
    terms: &[Vec<Term>; SCORED],
    found: &Found,
    option: IndexRecordOption,
) -> tantivy::Result<Vec<(usize, BlockSegmentPostings)>> {
    let mut lists = Vec::with_capacity(found.len());
    for (field, info) in found {
        let Some(first) = terms[*field].first() else { continue };
        let index = segment.inverted_index(first.field())?;
        lists.push((*field, index.read_block_postings_from_terminfo(info, option)?));
    }
    Ok(lists)
}
