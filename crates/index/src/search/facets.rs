//! Counts of all entries that match, by media type and by job.

use std::collections::HashMap;

use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocId, SegmentReader};

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

/// Counts of one segment.
pub(crate) struct SegmentCounts {
    types: Option<StrColumn>,
    jobs: Option<Column<i64>>,
    /// By the number of the type in the segment; the last one counts entries without a type.
    by_type: Vec<usize>,
    by_job: HashMap<i64, usize>,
}

/// The sum of what was counted in several segments.
pub(crate) fn sum(segments: Vec<SegmentCounts>) -> tantivy::Result<Facets> {
    let mut types: HashMap<String, usize> = HashMap::new();
    let mut jobs: HashMap<i64, usize> = HashMap::new();
    for segment in segments {
        for (kind, count) in segment.by_type.iter().copied().enumerate().filter(|(_, count)| *count > 0) {
            let mut value = String::new();
            if let Some(column) = &segment.types {
                column.ord_to_str(kind as u64, &mut value)?;
            }
            *types.entry(value).or_default() += count;
        }
        segment.by_job.into_iter().for_each(|(value, count)| *jobs.entry(value).or_default() += count);
    }
    Ok(Facets { media_types: ordered(types), jobs: ordered(jobs) })
}

fn ordered<T: Ord>(counts: HashMap<T, usize>) -> Vec<Facet<T>> {
    let mut facets: Vec<_> = counts.into_iter().map(|(value, count)| Facet { value, count }).collect();
    facets.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value)));
    facets
}

impl SegmentCounts {
    /// Opens the columns that are counted by.
    pub(crate) fn open(segment: &SegmentReader) -> tantivy::Result<SegmentCounts> {
        let types = segment.fast_fields().str("type")?;
        let kinds = types.as_ref().map_or(0, |types| types.num_terms());
        let jobs = segment.fast_fields().column_opt("job")?;
        Ok(SegmentCounts { types, jobs, by_type: vec![0; kinds + 1], by_job: HashMap::new() })
    }

    /// Counts one entry.
    pub(crate) fn count(&mut self, doc: DocId) {
        let none = self.by_type.len() - 1;
        let kind =
            self.types.as_ref().and_then(|types| types.ords().first(doc)).map_or(none, |kind| kind as usize);
        self.by_type[kind.min(none)] += 1;
        let job = self.jobs.as_ref().and_then(|jobs| jobs.first(doc)).unwrap_or(0);
        *self.by_job.entry(job).or_default() += 1;
    }
}
