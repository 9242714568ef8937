//! Orders the entries that match: those with all bare words first, then by score, then by address.
//!
//! The score is BM25F: all forms of a word count as one term, its occurrences in title, text and name are weighed and summed before they
//! saturate, and its rarity is that among the entries which the user may see. Entries are met window by window, in bounded memory.

use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::BlockSegmentPostings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, Searcher, SegmentReader, TERMINATED, Term};

use crate::query::bits::Bits;
use crate::query::condition::Condition;
use crate::query::visible::{SCORED, Visible};
use crate::search::best::{Best, Position};
use crate::search::copies;
use crate::search::facets::{self, SegmentCounts};
use crate::search::keys::{Key, Keys, Order};
use crate::search::rarity::{Rarity, postings};
use ingather_contract::search::Facets;

/// Occurrences of a word beyond about so many hardly count. This and the next two were measured by `cargo x search-quality`;
/// twice and half of each change its mean by less than 0.01.
const SATURATION: f32 = 1.5;
/// How much the words of title, text and name count.
const WEIGHTS: [f32; SCORED] = [1.5, 1.0, 1.5];
/// How much it takes from an occurrence in title, text and name that the field is long. A long text may say more of the same; in a title
/// every word is chosen, so that one of ten says half as much as one of five.
const LENGTHS: [f32; SCORED] = [1.0, 0.65, 0.65];
/// What it counts that an entry has the words from which one is put together, and not the word; such an entry does not have it. A
/// word in a text of common length counts 1.
pub(crate) const OF_PARTS: f32 = 0.5;
/// Entries of one window; a multiple of 64.
const WINDOW: u32 = 1 << 14;

/// A word that entries are ordered by.
pub(crate) struct Leaf {
    /// The word, folded; with `*` for all that begin so.
    pub(crate) word: String,
    /// As it was written, in lower case.
    pub(crate) written: String,
    /// Entries that have it may be hits because of it, and those that have all such ones come first.
    pub(crate) is_bare: bool,
    /// Whether it may be a slip: a bare word as it was typed.
    pub(crate) may_be_slip: bool,
    /// How often it was asked for.
    pub(crate) times: u32,
    /// Where it is.
    pub(crate) source: Source,
    /// Where all words are that it is put together from, if it is.
    pub(crate) parts: Option<Condition>,
}

/// Where a word is.
pub(crate) enum Source {
    /// In these terms of each scored field.
    Terms([Vec<Term>; SCORED]),
    /// Where this holds: once.
    Set(Condition),
}

/// What is to be found.
pub(crate) struct Wanted<'a> {
    /// Words that entries are ordered by.
    pub(crate) leaves: &'a [Leaf],
    /// What every hit must satisfy.
    pub(crate) strict: Option<&'a Condition>,
    /// Whether a hit must have at least one of the bare words.
    pub(crate) needs_bare: bool,
}

/// One hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ranked {
    /// Where it is.
    pub(crate) at: DocAddress,
    /// Its score.
    pub(crate) score: f32,
    /// Whether it has all bare words.
    pub(crate) is_complete: bool,
    /// Digest of its text.
    pub(crate) text: Option<i64>,
    /// The hit before it that has the same text.
    pub(crate) copy_of: Option<DocAddress>,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    /// The page that was asked for.
    pub(crate) hits: Vec<Ranked>,
    /// All hits.
    pub(crate) total: usize,
    /// Those with all bare words.
    pub(crate) complete: usize,
    /// Counts of all hits.
    pub(crate) facets: Option<Facets>,
}

/// Which hits are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// Hits to leave out before.
    pub(crate) offset: usize,
    /// Most hits.
    pub(crate) limit: usize,
    /// Order within both parts.
    pub(crate) order: Order,
    /// Whether to count by media type and job.
    pub(crate) facets: bool,
    /// Whether of hits with the same text only the best counts for the page.
    pub(crate) folds: bool,
}

/// Finds the hits and orders them.
pub(crate) fn rank(
    searcher: &Searcher,
    visible: &Visible,
    wanted: &Wanted<'_>,
    rarity: &Rarity,
    page: &Page,
) -> tantivy::Result<Ranking> {
    let strict = wanted.strict.map(|strict| strict.matching(searcher, visible)).transpose()?;
    let most = page.offset.saturating_add(page.limit);
    let mut best: Best<Key> = Best::new(most, page.folds);
    let mut ranking = Ranking::default();
    let norms = |field| (0..=u8::MAX).map(|norm| factor(field, norm, visible)).collect();
    let factors: Vec<Vec<f32>> = (0..SCORED).map(norms).collect();
    let mut counted = Vec::new();
    let longest = searcher.segment_readers().iter().map(SegmentReader::max_doc).max().unwrap_or(0);
    let mut window = Window::of(WINDOW.min(longest.next_multiple_of(64)) as usize);
    for (ordinal, segment) in searcher.segment_readers().iter().enumerate() {
        let mut one = Segment {
            ordinal: ordinal as u32,
            matched: strict.as_ref().map_or(&visible.segments[ordinal], |strict| &strict[ordinal]),
            has_all: strict.is_none() && visible.whole[ordinal],
            words: words(segment, ordinal, visible, wanted.leaves, rarity, &factors)?,
            bare: wanted.leaves.iter().filter(|leaf| leaf.is_bare).count() as u16,
            needs_bare: wanted.needs_bare,
            keys: Keys::open(segment, &visible.columns[ordinal], page.order)?,
            facets: if page.facets { Some(SegmentCounts::open(segment)?) } else { None },
        };
        let mut own = Best::new(most, page.folds);
        one.run(segment.max_doc(), &mut window, &mut own, &mut ranking);
        for Position { key, address, hit } in own.sorted() {
            let key = one.keys.across(hit.at.doc_id, key)?;
            if best.takes(hit.is_complete, &key, address) {
                best.add(Position { key, address, hit });
            }
        }
        counted.extend(one.facets);
    }
    ranking.hits = best.sorted().map(|position| position.hit).collect();
    copies::tell(&mut ranking.hits);
    ranking.hits.drain(..page.offset.min(ranking.hits.len()));
    ranking.facets = page.facets.then(|| facets::sum(counted)).transpose()?;
    Ok(ranking)
}

/// One word in one segment.
struct Word<'a> {
    lists: Vec<List<'a>>,
    set: Option<&'a Bits>,
    /// Entries with all words that it is put together from.
    parts: Option<&'a Bits>,
    /// What having it often enough adds to a score.
    weight: f32,
    is_bare: bool,
}

/// The entries of one term, read up to somewhere.
struct List<'a> {
    postings: BlockSegmentPostings,
    at: usize,
    norms: Option<FieldNormReader>,
    /// What one occurrence counts, by the length of the field.
    factors: &'a [f32],
}

fn words<'a>(
    segment: &SegmentReader,
    ordinal: usize,
    visible: &Visible,
    leaves: &[Leaf],
    rarity: &'a Rarity,
    factors: &'a [Vec<f32>],
) -> tantivy::Result<Vec<Word<'a>>> {
    let mut words = Vec::new();
    for (at, leaf) in leaves.iter().enumerate().filter(|(at, _)| rarity.is_known(*at)) {
        let weight = rarity.weight(at, visible) * leaf.times as f32;
        let mut word = Word {
            lists: Vec::new(),
            set: rarity.sets[at].get(ordinal),
            parts: rarity.parts[at].get(ordinal),
            weight,
            is_bare: leaf.is_bare,
        };
        if let Source::Terms(terms) = &leaf.source {
            for (field, postings) in
                postings(segment, terms, &rarity.found[at][ordinal], IndexRecordOption::WithFreqs)?
            {
                let norms = match terms[field].first() {
                    Some(term) => segment.fieldnorms_readers().get_field(term.field())?,
                    None => None,
                };
                word.lists.push(List { postings, at: 0, norms, factors: &factors[field] });
            }
        }
        words.push(word);
    }
    Ok(words)
}

/// What one occurrence in a field of that length counts.
pub(crate) fn factor(field: usize, norm: u8, visible: &Visible) -> f32 {
    let share = FieldNormReader::id_to_fieldnorm(norm) as f32 / visible.lengths[field];
    WEIGHTS[field] / (1.0 - LENGTHS[field] + LENGTHS[field] * share)
}

/// What weighed occurrences of a word add to a score.
pub(crate) fn saturated(occurrences: f32) -> f32 {
    occurrences / (SATURATION + occurrences)
}

impl List<'_> {
    /// The next entry.
    fn doc(&self) -> u32 {
        self.postings.docs().get(self.at).copied().unwrap_or(TERMINATED)
    }

    /// Tells the entries from `base` on and before `end` with what their occurrences count.
    fn read(&mut self, base: u32, end: u32, mut tell: impl FnMut(u32, f32)) {
        loop {
            let docs = self.postings.docs();
            if docs.is_empty() {
                return;
            }
            let from = self.at;
            let upto = if docs.last().is_some_and(|last| *last < end) {
                docs.len()
            } else {
                from + docs[from..].partition_point(|doc| *doc < end)
            };
            let freqs = &self.postings.freqs()[from..upto];
            for (doc, freq) in docs[from..upto].iter().zip(freqs).filter(|(doc, _)| **doc >= base) {
                let norm = self.norms.as_ref().map_or(0, |norms| norms.fieldnorm_id(*doc));
                tell(*doc, *freq as f32 * self.factors[usize::from(norm)]);
            }
            self.at = upto;
            if upto < docs.len() {
                return;
            }
            self.postings.advance();
            self.at = 0;
        }
    }
}

/// One segment while its hits are found.
struct Segment<'a> {
    ordinal: u32,
    matched: &'a Bits,
    /// Whether these are all entries of the segment.
    has_all: bool,
    words: Vec<Word<'a>>,
    bare: u16,
    needs_bare: bool,
    keys: Keys<'a>,
    facets: Option<SegmentCounts>,
}

/// What is known of the entries of one window.
struct Window {
    /// Weighed occurrences of the word that is being read.
    occurrences: Vec<f32>,
    /// Entries that have it.
    having: Vec<u32>,
    scores: Vec<f32>,
    /// Bare words that an entry has; and [`MET`], when it is among those that were met.
    bare: Vec<u16>,
    /// Entries that have a bare word, or what it is put together from.
    met: Vec<u32>,
}

/// Entries never have so many bare words.
const MET: u16 = 1 << 15;

impl Segment<'_> {
    fn run(&mut self, entries: u32, window: &mut Window, best: &mut Best<u128>, ranking: &mut Ranking) {
        let matched = (!self.has_all).then_some(self.matched);
        let mut base = 0;
        while base < entries {
            if self.needs_bare && self.words.iter().all(|word| word.set.is_none() && word.parts.is_none()) {
                let lists = self.words.iter().filter(|word| word.is_bare).flat_map(|word| &word.lists);
                let next = lists.map(List::doc).min().unwrap_or(TERMINATED);
                base = base.max(next - next % WINDOW);
                if base >= entries {
                    break;
                }
            }
            let end = base.saturating_add(WINDOW).min(entries);
            let mut words = std::mem::take(&mut self.words);
            words.iter_mut().for_each(|word| window.add(word, base, end, matched));
            self.words = words;
            self.collect(base, window, best, ranking);
            window.scores.fill(0.0);
            window.bare.fill(0);
            window.met.clear();
            base = base.saturating_add(WINDOW);
        }
    }

    fn collect(&mut self, base: u32, window: &Window, best: &mut Best<u128>, ranking: &mut Ranking) {
        let mut floor = floor(best);
        let mut tell = |doc: u32| {
            let at = (doc - base) as usize;
            let is_complete = window.bare[at] & !MET == self.bare;
            ranking.total += 1;
            ranking.complete += usize::from(is_complete);
            if let Some(facets) = &mut self.facets {
                facets.count(doc);
            }
            let score = window.scores[at];
            let key = self.keys.key(doc, score);
            if floor.is_some_and(|floor| (is_complete, key) < floor) || best.wants_none() {
                return;
            }
            let address = self.keys.address(doc);
            if best.takes(is_complete, &key, address) {
                let (at, text) = (DocAddress::new(self.ordinal, doc), self.keys.text(doc));
                let hit = Ranked { at, score, is_complete, text, copy_of: None };
                best.add(Position { key, address, hit });
                floor = self::floor(best);
            }
        };
        match self.needs_bare {
            true => window.met.iter().for_each(|doc| tell(*doc)),
            false => self.matched.within(base, base.saturating_add(WINDOW)).for_each(tell),
        }
    }
}

/// What a hit must reach at least, so that most of them are told apart by one comparison; none while there is room.
fn floor(best: &Best<u128>) -> Option<(bool, u128)> {
    best.worst().map(|worst| (worst.hit.is_complete, worst.key))
}

impl Window {
    /// For so many entries.
    fn of(entries: usize) -> Window {
        Window {
            occurrences: vec![0.0; entries],
            having: Vec::new(),
            scores: vec![0.0; entries],
            bare: vec![0; entries],
            met: Vec::new(),
        }
    }

    /// Adds what one word is worth to the entries from `base` to `end` that match; all of them, when `matched` is none.
    fn add(&mut self, word: &mut Word<'_>, base: u32, end: u32, matched: Option<&Bits>) {
        let Window { occurrences, having, scores, bare, met } = self;
        let (weight, is_bare) = (word.weight, word.is_bare);
        let mut score = |doc: u32, occurrences: f32, has_word: bool| {
            let at = (doc - base) as usize;
            scores[at] += weight * saturated(occurrences);
            if is_bare {
                if bare[at] & MET == 0 {
                    met.push(doc);
                }
                bare[at] = (bare[at] | MET) + u16::from(has_word);
            }
        };
        let is_match = |doc: u32| matched.is_none_or(|matched| matched.contains(doc));
        // Most words are in one field only: nothing is summed before it saturates.
        if let ([only], None, None) = (word.lists.as_mut_slice(), word.set, word.parts) {
            only.read(base, end, |doc, counts| {
                if is_match(doc) {
                    score(doc, counts, true);
                }
            });
            return;
        }
        for list in &mut word.lists {
            list.read(base, end, |doc, counts| {
                if is_match(doc) {
                    let sum = &mut occurrences[(doc - base) as usize];
                    if *sum == 0.0 {
                        having.push(doc);
                    }
                    *sum += counts;
                }
            });
        }
        let set = word.set.into_iter().flat_map(|set| set.within(base, base.saturating_add(WINDOW)));
        for doc in set.filter(|doc| is_match(*doc)) {
            occurrences[(doc - base) as usize] = 1.0;
            having.push(doc);
        }
        let parts = word.parts.into_iter().flat_map(|parts| parts.within(base, base.saturating_add(WINDOW)));
        for doc in parts.filter(|doc| is_match(*doc) && occurrences[(*doc - base) as usize] == 0.0) {
            score(doc, OF_PARTS, false);
        }
        for doc in having.drain(..) {
            score(doc, std::mem::take(&mut occurrences[(doc - base) as usize]), true);
        }
    }
}
