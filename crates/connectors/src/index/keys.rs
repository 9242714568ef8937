//! What hits are ordered by: a number that is larger for what comes first.

use tantivy::SegmentReader;
use tantivy::columnar::Column;

use super::search::{Sort, SortBy};

/// The order of hits.
pub(super) type Order = Option<Sort>;

/// The columns of one segment that tell the order.
pub(super) struct Keys {
    sort: Order,
    sizes: Option<Column<u64>>,
    times: Option<Column<i64>>,
    addresses: Option<Column<i64>>,
}

impl Keys {
    /// Opens what the order needs.
    pub(super) fn open(segment: &SegmentReader, sort: Order) -> tantivy::Result<Keys> {
        let columns = segment.fast_fields();
        let times = match sort.map(|sort| sort.by) {
            Some(SortBy::Modified) => columns.column_opt("modified")?,
            Some(SortBy::Created) => columns.column_opt("created")?,
            Some(SortBy::Size) | None => None,
        };
        Ok(Keys {
            sort,
            sizes: columns.column_opt("size")?,
            times,
            addresses: columns.column_opt("address")?,
        })
    }

    /// The larger the sooner; entries without the number that orders come last.
    pub(super) fn key(&self, doc: u32, score: f32) -> u128 {
        let Some(sort) = self.sort else { return u128::from(score.max(0.0).to_bits()) };
        let number = match sort.by {
            SortBy::Size => self.sizes.as_ref().and_then(|sizes| sizes.first(doc)),
            SortBy::Modified | SortBy::Created => {
                let time = self.times.as_ref().and_then(|times| times.first(doc));
                // Times before 1970 are below zero and come before all others.
                time.map(|time| (time as u64) ^ (1 << 63))
            }
        };
        let Some(number) = number else { return 0 };
        1 + u128::from(if sort.ascending { !number } else { number })
    }

    /// Orders equals.
    pub(super) fn address(&self, doc: u32) -> i64 {
        self.addresses.as_ref().and_then(|addresses| addresses.first(doc)).unwrap_or(0)
    }
}
