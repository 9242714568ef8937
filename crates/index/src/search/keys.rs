//! What hits are ordered by: what is larger comes first.

use tantivy::SegmentReader;
use tantivy::columnar::{Column, StrColumn};

use crate::search::sort::{Sort, SortBy};

/// The order of hits.
pub(crate) type Order = Option<Sort>;

/// The columns of one segment that tell the order.
pub(crate) struct Keys {
    sort: Order,
    sizes: Option<Column<u64>>,
    times: Option<Column<i64>>,
    /// Texts, in their own order within the segment.
    texts: Option<StrColumn>,
    addresses: Option<Column<i64>>,
    digests: Option<Column<i64>>,
}

/// Where a hit stands among those of all segments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    number: u128,
    /// Empty when the number tells all.
    text: Box<[u8]>,
}

impl Keys {
    /// Opens what the order needs.
    pub(crate) fn open(segment: &SegmentReader, sort: Order) -> tantivy::Result<Keys> {
        let columns = segment.fast_fields();
        let by = sort.map(|sort| sort.by);
        let times = match by {
            Some(SortBy::Modified) => columns.column_opt("modified")?,
            Some(SortBy::Created) => columns.column_opt("created")?,
            _ => None,
        };
        let texts = match by {
            Some(SortBy::Title) => columns.str("title_order")?,
            Some(SortBy::Path) => columns.str("path_order")?,
            _ => None,
        };
        let (sizes, addresses) = (columns.column_opt("size")?, columns.column_opt("address")?);
        let digests = columns.column_opt("text")?;
        Ok(Keys { sort, sizes, times, texts, addresses, digests })
    }

    /// Where an entry stands in this segment: the larger the sooner; entries without what orders come last.
    pub(crate) fn key(&self, doc: u32, score: f32) -> u128 {
        let Some(sort) = self.sort else { return u128::from(score.max(0.0).to_bits()) };
        let number = match sort.by {
            SortBy::Size => self.sizes.as_ref().and_then(|sizes| sizes.first(doc)),
            SortBy::Modified | SortBy::Created => {
                let time = self.times.as_ref().and_then(|times| times.first(doc));
                // Times before 1970 are below zero and come before all others.
                time.map(|time| (time as u64) ^ (1 << 63))
            }
            SortBy::Title | SortBy::Path => self.ordinal(doc),
        };
        let Some(number) = number else { return 0 };
        1 + u128::from(if sort.ascending { !number } else { number })
    }

    fn ordinal(&self, doc: u32) -> Option<u64> {
        self.texts.as_ref().and_then(|texts| texts.ords().first(doc))
    }

    /// The same key, to be compared with those of other segments: places of texts differ from one to the next.
    pub(crate) fn across(&self, doc: u32, key: u128) -> tantivy::Result<Key> {
        let (Some(texts), Some(ordinal)) = (&self.texts, self.ordinal(doc)) else {
            return Ok(Key { number: key, text: Box::default() });
        };
        let mut text = String::new();
        texts.ord_to_str(ordinal, &mut text)?;
        let mut text = text.into_bytes();
        if self.sort.is_some_and(|sort| sort.ascending) {
            text.iter_mut().for_each(|byte| *byte = !*byte);
            // A beginning stands before what goes on; no byte of UTF-8 is turned into this one.
            text.push(u8::MAX);
        }
        Ok(Key { number: 1, text: text.into_boxed_slice() })
    }

    /// The digest of its text.
    pub(crate) fn text(&self, doc: u32) -> Option<i64> {
        self.digests.as_ref().and_then(|digests| digests.first(doc))
    }

    /// Orders equals.
    pub(crate) fn address(&self, doc: u32) -> i64 {
        self.addresses.as_ref().and_then(|addresses| addresses.first(doc)).unwrap_or(0)
    }
}
