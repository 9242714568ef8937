//! What every hit must satisfy, evaluated as sets of entries.

use tantivy::query::{EnableScoring, Query};
use tantivy::{Searcher, SegmentReader};

use crate::query::bits::Bits;
use crate::query::visible::Visible;

/// A tree of queries of the library. Its parts are joined here: the library leaves out phrases by seeking backwards, which it
/// forbids itself.
pub(crate) enum Condition {
    /// Every entry.
    All,
    /// What a query finds.
    Query(Box<dyn Query>),
    /// What satisfies each of these; everything, when there are none.
    Each(Vec<Condition>),
    /// What satisfies one of these; nothing, when there are none.
    Any(Vec<Condition>),
    /// What does not satisfy this.
    Not(Box<Condition>),
}

impl Condition {
    /// The visible entries that satisfy it, by segment.
    pub(crate) fn matching(&self, searcher: &Searcher, visible: &Visible) -> tantivy::Result<Vec<Bits>> {
        let segments = searcher.segment_readers().iter().zip(&visible.segments);
        segments.map(|(segment, seen)| self.among(searcher, segment, seen)).collect()
    }

    fn among(&self, searcher: &Searcher, segment: &SegmentReader, seen: &Bits) -> tantivy::Result<Bits> {
        Ok(match self {
            Condition::All => seen.clone(),
            Condition::Query(query) => found(&**query, searcher, segment, seen)?,
            Condition::Each(parts) => {
                let mut all = seen.clone();
                for part in parts {
                    all.keep(&part.among(searcher, segment, seen)?);
                }
                all
            }
            Condition::Any(parts) => {
                let mut any = Bits::none(segment.max_doc());
                for part in parts {
                    any.add(&part.among(searcher, segment, seen)?);
                }
                any
            }
            Condition::Not(part) => {
                let mut rest = seen.clone();
                rest.remove(&part.among(searcher, segment, seen)?);
                rest
            }
        })
    }
}

/// The entries among `seen` that a query finds.
pub(crate) fn found(
    query: &dyn Query,
    searcher: &Searcher,
    segment: &SegmentReader,
    seen: &Bits,
) -> tantivy::Result<Bits> {
    let mut found = Bits::none(segment.max_doc());
    let weight = query.weight(EnableScoring::disabled_from_searcher(searcher))?;
    weight.for_each_no_score(segment, &mut |docs| {
        docs.iter().filter(|doc| seen.contains(**doc)).for_each(|doc| found.insert(*doc));
    })?;
    Ok(found)
}
