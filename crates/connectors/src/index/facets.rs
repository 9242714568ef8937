//! Counts of all entries that match, by media type and by job.

use std::collections::HashMap;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::{Column, StrColumn};
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

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

impl Facets {
    /// All entries that were counted.
    pub(super) fn total(&self) -> usize {
        self.jobs.iter().map(|facet| facet.count).sum()
    }
}

/// Collects [`Facets`].
pub(super) struct FacetCounts;

/// Counts of one segment.
pub(super) struct SegmentCounts {
    types: Option<StrColumn>,
    jobs: Option<Column<i64>>,
    /// By the number of the type in the segment; the last one counts entries without a type.
    by_type: Vec<usize>,
    by_job: HashMap<i64, usize>,
}

impl Collector for FacetCounts {
    type Fruit = Facets;
    type Child = SegmentCounts;

    fn for_segment(
        &self,
        _ordinal: SegmentOrdinal,
        segment: &SegmentReader,
    ) -> tantivy::Result<SegmentCounts> {
        let types = segment.fast_fields().str("type")?;
        let kinds = types.as_ref().map_or(0, |types| types.num_terms());
        let jobs = segment.fast_fields().column_opt("job")?;
        Ok(SegmentCounts { types, jobs, by_type: vec![0; kinds + 1], by_job: HashMap::new() })
    }

    fn requires_scoring(&self) -> bool {
        false
    }

    fn merge_fruits(
        &self,
        segments: Vec<tantivy::Result<(HashMap<String, usize>, HashMap<i64, usize>)>>,
    ) -> tantivy::Result<Facets> {
        let mut types: HashMap<String, usize> = HashMap::new();
        let mut jobs: HashMap<i64, usize> = HashMap::new();
        for segment in segments {
            let (segment_types, segment_jobs) = segment?;
            segment_types.into_iter().for_each(|(value, count)| *types.entry(value).or_default() += count);
            segment_jobs.into_iter().for_each(|(value, count)| *jobs.entry(value).or_default() += count);
        }
        Ok(Facets { media_types: ordered(types), jobs: ordered(jobs) })
    }
}

fn ordered<T: Ord>(counts: HashMap<T, usize>) -> Vec<Facet<T>> {
    let mut facets: Vec<_> = counts.into_iter().map(|(value, count)| Facet { value, count }).collect();
    facets.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value)));
    facets
}

impl SegmentCollector for SegmentCounts {
    type Fruit = tantivy::Result<(HashMap<String, usize>, HashMap<i64, usize>)>;

    fn collect(&mut self, doc: DocId, _score: Score) {
        let none = self.by_type.len() - 1;
        let kind =
            self.types.as_ref().and_then(|types| types.ords().first(doc)).map_or(none, |kind| kind as usize);
        self.by_type[kind.min(none)] += 1;
        let job = self.jobs.as_ref().and_then(|jobs| jobs.first(doc)).unwrap_or(0);
        *self.by_job.entry(job).or_default() += 1;
    }

    fn harvest(self) -> Self::Fruit {
        let mut types = HashMap::new();
        for (kind, count) in self.by_type.iter().copied().enumerate().filter(|(_, count)| *count > 0) {
            let mut value = String::new();
            if let Some(column) = &self.types {
                column.ord_to_str(kind as u64, &mut value)?;
            }
            types.insert(value, count);
        }
        Ok((types, self.by_job))
    }
}
