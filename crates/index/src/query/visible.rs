//! What one user may see of a commit: the entries, and all statistics that an answer may depend on. Nothing else of the
//! index tells scores, stems or corrections anything, so that an answer says nothing of hidden entries.

use std::collections::BTreeSet;
use std::sync::Arc;

use ingather_contract::access_filter::AccessFilter;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, SegmentReader};

use crate::entry::Columns;
use crate::query::bits::Bits;
use crate::query::filter::Judge;
use crate::schema::Fields;
use crate::stemming::Stemming;

/// Fields whose words are scored, in the order of their weights.
pub(crate) const SCORED: usize = 3;

/// The fields whose words are scored.
pub(crate) fn scored(fields: &Fields) -> [Field; SCORED] {
    [fields.title, fields.body, fields.name]
}

/// What one user sees of one commit.
pub(crate) struct Visible {
    access_filter: Arc<AccessFilter>,
    /// The entries, by segment.
    pub(crate) segments: Vec<Bits>,
    /// Whether a segment has no others.
    pub(crate) whole: Vec<bool>,
    /// Their numbers, by segment; opened here, since it takes longer than many a query.
    pub(crate) columns: Vec<Columns>,
    /// How many there are.
    pub(crate) count: u64,
    /// Mean length of each scored field where it has words, words.
    pub(crate) lengths: [f32; SCORED],
    /// How their texts are stemmed.
    pub(crate) stemmings: Vec<Stemming>,
}

impl Visible {
    /// Looks at every entry once.
    pub(crate) fn of(
        searcher: &Searcher,
        fields: &Fields,
        access_filter: Arc<AccessFilter>,
    ) -> tantivy::Result<Visible> {
        let mut visible = Visible {
            access_filter,
            segments: Vec::new(),
            whole: Vec::new(),
            columns: Vec::new(),
            count: 0,
            lengths: [0.0; SCORED],
            stemmings: Vec::new(),
        };
        let mut words = [(0u64, 0u64); SCORED];
        let mut stemmings = BTreeSet::new();
        for segment in searcher.segment_readers() {
            let seen = seen(segment, &visible.access_filter)?;
            let count = seen.count();
            visible.count += count;
            visible.whole.push(count == u64::from(segment.max_doc()));
            visible.columns.push(Columns::open(segment)?);
            for (field, (sum, with)) in scored(fields).into_iter().zip(&mut words) {
                let Some(norms) = segment.fieldnorms_readers().get_field(field)? else { continue };
                let lengths = seen.within(0, u32::MAX).map(|doc| u64::from(norms.fieldnorm(doc)));
                lengths.filter(|length| *length > 0).for_each(|length| {
                    *sum += length;
                    *with += 1;
                });
            }
            add_stemmings(segment, fields, &seen, &mut stemmings)?;
            visible.segments.push(seen);
        }
        visible.lengths = words.map(|(sum, with)| (sum as f64 / with.max(1) as f64).max(1.0) as f32);
        visible.stemmings = stemmings.into_iter().collect();
        Ok(visible)
    }

    /// Whether this is what such a search may see.
    pub(crate) fn is_of(&self, access_filter: &Arc<AccessFilter>) -> bool {
        Arc::ptr_eq(&self.access_filter, access_filter)
    }

    /// Handles of the jobs that sent the entries.
    pub(crate) fn jobs(&self, searcher: &Searcher) -> tantivy::Result<BTreeSet<i64>> {
        let mut jobs = BTreeSet::new();
        for (segment, seen) in searcher.segment_readers().iter().zip(&self.segments) {
            if let Some(column) = segment.fast_fields().column_opt::<i64>("job")? {
                jobs.extend(seen.within(0, u32::MAX).filter_map(|doc| column.first(doc)));
            }
        }
        Ok(jobs)
    }
}

fn seen(segment: &SegmentReader, access_filter: &Arc<AccessFilter>) -> tantivy::Result<Bits> {
    let mut seen = Bits::none(segment.max_doc());
    let judge = Judge::open(access_filter, segment)?;
    let passes = |doc: &u32| judge.as_ref().is_none_or(|judge| judge.passes(*doc));
    segment.doc_ids_alive().filter(passes).for_each(|doc| seen.insert(doc));
    Ok(seen)
}

fn add_stemmings(
    segment: &SegmentReader,
    fields: &Fields,
    seen: &Bits,
    stemmings: &mut BTreeSet<Stemming>,
) -> tantivy::Result<()> {
    let index = segment.inverted_index(fields.lang)?;
    let mut codes = index.terms().stream()?;
    while codes.advance() {
        let stemming = Stemming::of_code(&String::from_utf8_lossy(codes.key()));
        if stemmings.contains(&stemming) {
            continue;
        }
        let mut postings =
            index.read_block_postings_from_terminfo(codes.value(), IndexRecordOption::Basic)?;
        while !postings.docs().is_empty() {
            if postings.docs().iter().any(|doc| seen.contains(*doc)) {
                stemmings.insert(stemming);
                break;
            }
            postings.advance();
        }
    }
    Ok(())
}
