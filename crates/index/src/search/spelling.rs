//! Corrects words that no visible entry has: to the nearest and then most frequent word of the visible entries, one or two
//! edits away: by stems first, then as both are written. Words that only hidden entries have are never proposed, and do not stand in the way of others.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use ingather_model::limits;
use tantivy::postings::TermInfo;
use tantivy::query::FuzzyTermQuery;
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{DocAddress, Searcher, TantivyDocument, Term};

use crate::entry::Stored;
use crate::query::build::{Builder, Forms};
use crate::query::edits::edits;
use crate::query::visible::{Visible, scored};
use crate::schema::Fields;
use crate::stemming::Stemming;
use crate::tokenizers;

use ingather_kit::language::{beginning, is_unspaced};

/// Shorter words are not corrected, letters, and nothing is corrected to them: everything is near to them.
const LETTERS_MIN: usize = 4;
/// Words from this length on may have two slips, letters.
const LETTERS_TWO_SLIPS: usize = 6;
/// A correction differs by so many letters at most from what was typed, as both are written: two slips, and a letter of another ending.
/// It is not enough that their stems are near: by `heuristics` (`heurist`) nobody means `theorists` (`theorist`).
const WRITTEN_SLIPS_MAX: usize = 3;
/// Of the terms whose stems are equally near, so many are compared as they are written.
const CANDIDATES_MAX: usize = 3;
/// Of each of them, so many entries are looked through for how the word is written there.
const EXAMPLES_MAX: usize = 3;
/// Text of an entry that is looked through, bytes.
const EXAMPLE_BYTES: usize = 64 << 10;
/// Text that is looked through for one word, bytes.
const LOOKED_BYTES: usize = 256 << 10;

/// What is searched instead of words, by the word as it was written.
pub(crate) type Corrections = BTreeMap<String, String>;

/// Where a term is, by segment.
type Occurrences = Vec<(usize, usize, TermInfo)>;

/// Finds corrections among what one user sees.
pub(crate) struct Speller<'a> {
    pub(crate) searcher: &'a Searcher,
    pub(crate) fields: &'a Fields,
    pub(crate) visible: &'a Visible,
}

/// A term that visible entries have.
struct Candidate {
    term: String,
    /// Those of them with the smallest addresses.
    examples: Vec<DocAddress>,
}

impl Speller<'_> {
    /// What to search instead of a word that no visible entry has, if there is something near.
    pub(crate) fn correct(&self, word: &Forms) -> tantivy::Result<Option<String>> {
        let letters = word.plain.chars().count();
        let odd = |c: char| c.is_numeric() || is_unspaced(c);
        if letters < LETTERS_MIN || word.plain.contains(odd) {
            return Ok(None);
        }
        let most = if letters < LETTERS_TWO_SLIPS { 1 } else { 2 };
        for distance in 1..=most {
            let slips = |term: &str| word.stems.iter().map(|form| edits(form, term)).min().unwrap_or(0);
            let mut near = self.terms(word, distance)?;
            // Nearer ones were looked at.
            near.retain(|term, _| {
                term.chars().count() >= LETTERS_MIN && slips(term) >= usize::from(distance)
            });
            if let Some(written) = self.nearest_as_written(word, usize::from(distance), near)? {
                return Ok(Some(written));
            }
        }
        Ok(None)
    }

    /// Of words whose stems are equally near, the one that is written most like what was typed, if any is near enough. A stem has several
    /// words, and the entries with the smallest addresses may have those with other endings: for `warrenty`, `warranties` is too far,
    /// and `warranty` is meant.
    fn nearest_as_written(
        &self,
        word: &Forms,
        distance: usize,
        near: BTreeMap<String, Occurrences>,
    ) -> tantivy::Result<Option<String>> {
        let mut best: Option<(usize, String)> = None;
        let mut budget = LOOKED_BYTES;
        for candidate in self.most_frequent(near)? {
            let is_seen = Cell::new(false);
            let mut consider = |written: &str| {
                is_seen.set(true);
                let slips = edits(&word.written, written);
                if slips < best.as_ref().map_or(WRITTEN_SLIPS_MAX + 1, |(least, _)| *least) {
                    best = Some((slips, written.to_owned()));
                }
                slips <= distance
            };
            for example in &candidate.examples {
                if self.any_written(&candidate.term, *example, &mut budget, &mut consider)? {
                    return Ok(best.map(|(_, written)| written));
                }
            }
            if !is_seen.get() && consider(&candidate.term) {
                break;
            }
        }
        Ok(best.map(|(_, written)| written))
    }

    /// All terms of the scored fields within so many edits of a form of the word.
    fn terms(&self, word: &Forms, distance: u8) -> tantivy::Result<BTreeMap<String, Occurrences>> {
        let mut found: BTreeMap<String, Occurrences> = BTreeMap::new();
        for form in &word.stems {
            let near = FuzzyTermQuery::new(Term::from_field_text(self.fields.body, form), distance, true);
            let automaton = near.automaton()?;
            for (ordinal, segment) in self.searcher.segment_readers().iter().enumerate() {
                for (field_at, field) in scored(self.fields).into_iter().enumerate() {
                    let index = segment.inverted_index(field)?;
                    let mut terms = index.terms().search(&automaton).into_stream()?;
                    while terms.advance() {
                        let occurrences =
                            found.entry(String::from_utf8_lossy(terms.key()).into_owned()).or_default();
                        let known =
                            occurrences.iter().any(|(at, field, _)| (*at, *field) == (ordinal, field_at));
                        if !known {
                            occurrences.push((ordinal, field_at, terms.value().clone()));
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// The [`CANDIDATES_MAX`] that most visible entries have, the most frequent first; equals by letters.
    fn most_frequent(&self, terms: BTreeMap<String, Occurrences>) -> tantivy::Result<Vec<Candidate>> {
        let mut counted = Vec::new();
        for (term, occurrences) in terms {
            let mut entries = 0_u64;
            self.each(&occurrences, |_, _| entries += 1)?;
            if entries > 0 {
                counted.push((entries, term, occurrences));
            }
        }
        counted.sort_by_key(|(entries, ..)| std::cmp::Reverse(*entries));
        counted.truncate(CANDIDATES_MAX);
        let segments = self.searcher.segment_readers().iter();
        let addresses = segments
            .map(|segment| segment.fast_fields().column_opt::<i64>("address"))
            .collect::<tantivy::Result<Vec<_>>>()?;
        let mut candidates = Vec::new();
        for (_, term, occurrences) in counted {
            let mut least = BTreeSet::new();
            self.each(&occurrences, |ordinal, doc| {
                let address = addresses[ordinal].as_ref().and_then(|addresses| addresses.first(doc));
                least.insert((address, DocAddress::new(ordinal as u32, doc)));
                if least.len() > EXAMPLES_MAX {
                    least.pop_last();
                }
            })?;
            candidates
                .push(Candidate { term, examples: least.into_iter().map(|(_, example)| example).collect() });
        }
        Ok(candidates)
    }

    /// Tells the visible entries of a term, segment by segment.
    fn each(&self, occurrences: &Occurrences, mut tell: impl FnMut(usize, u32)) -> tantivy::Result<()> {
        for (ordinal, field_at, info) in occurrences {
            let index = self
                .searcher
                .segment_reader(*ordinal as u32)
                .inverted_index(scored(self.fields)[*field_at])?;
            let mut postings = index.read_block_postings_from_terminfo(info, IndexRecordOption::Basic)?;
            while !postings.docs().is_empty() {
                let seen =
                    postings.docs().iter().filter(|doc| self.visible.segments[*ordinal].contains(**doc));
                seen.for_each(|doc| tell(*ordinal, *doc));
                postings.advance();
            }
        }
        Ok(())
    }

    /// Whether any of the words of an entry that have this term is what is looked for, in the order in which they stand there. What is
    /// looked through is taken from the budget, bytes.
    fn any_written(
        &self,
        term: &str,
        example: DocAddress,
        budget: &mut usize,
        is_it: &mut impl FnMut(&str) -> bool,
    ) -> tantivy::Result<bool> {
        let document: TantivyDocument = self.searcher.doc(example)?;
        let body = document.get_first(self.fields.body);
        let body = body.as_ref().and_then(|body| body.as_str()).unwrap_or_default();
        let stored = Stored::of(&document, self.fields.stored_schema()).ok();
        let (title, name) = stored
            .as_ref()
            .map_or(("", ""), |stored| (&*stored.stored_fields.title, stored.stored_fields.name()));
        let stemming = stored
            .as_ref()
            .and_then(|stored| stored.stored_fields.language.as_deref())
            .map_or(Stemming::PLAIN, Stemming::of_code);
        let texts = [(title, stemming), (body, Stemming::of_marked(body)), (name, Stemming::PLAIN)];
        Ok(texts.into_iter().any(|(text, stemming)| {
            let text = beginning(text, EXAMPLE_BYTES.min(*budget));
            *budget -= text.len();
            let mut analyzer = tokenizers::for_queries(stemming);
            let mut stream = analyzer.token_stream(text);
            while stream.advance() {
                let token = stream.token();
                if token.text == term && is_it(&text[token.offset_from..token.offset_to].to_lowercase()) {
                    return true;
                }
            }
            false
        }))
    }
}

/// Corrections of bare words that no visible entry has, by the word as it was written.
pub(crate) fn corrections<'w>(
    speller: &Speller<'_>,
    unknown: impl Iterator<Item = &'w str>,
) -> tantivy::Result<Corrections> {
    let mut builder = Builder::new(speller.searcher, speller.fields, &speller.visible.stemmings);
    let mut corrections = Corrections::new();
    for typed in unknown.take(limits::QUERY_CORRECTIONS_MAX) {
        for forms in builder.forms(typed) {
            if let Some(used) = speller.correct(&forms)? {
                corrections.insert(typed.to_owned(), used);
            }
        }
    }
    Ok(corrections)
}
