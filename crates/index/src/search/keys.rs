//! What hits are ordered by: what is larger comes first.

use tantivy::SegmentReader;
use tantivy::columnar::StrColumn;

use crate::entry::Columns;
use ingather_contract::search::{Sort, SortBy};

/// The order of hits.
pub(crate) type Order = Option<Sort>;

/// The columns of one segment that tell the order.
pub(crate) struct Keys<'a> {
    sort: Order,
    columns: &'a Columns,
    /// Texts, in their own order within the segment.
    texts: Option<StrColumn>,
}

/// Where a hit stands among those of all segments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    number: u128,
    /// Empty when the number tells all.
    text: Box<[u8]>,
}

impl<'a> Keys<'a> {
    /// Opens what the order needs beside the columns of the segment.
    pub(crate) fn open(
        segment: &SegmentReader,
        columns: &'a Columns,
        sort: Order,
    ) -> tantivy::Result<Keys<'a>> {
        let texts = match sort.map(|sort| sort.by) {
            Some(SortBy::Title) => segment.fast_fields().str("title_order")?,
            Some(SortBy::Path) => segment.fast_fields().str("path_order")?,
            _ => None,
        };
        Ok(Keys { sort, columns, texts })
    }

    /// Where an entry stands in this segment: the larger the sooner; entries without what orders come last.
    pub(crate) fn key(&self, doc: u32, score: f32) -> u128 {
        let Some(sort) = self.sort else { return u128::from(score.max(0.0).to_bits()) };
        let number = match sort.by {
            SortBy::Size => self.columns.size.as_ref().and_then(|sizes| sizes.first(doc)),
            SortBy::Modified | SortBy::Created => {
                let is_created = sort.by == SortBy::Created;
                let times = if is_created { &self.columns.created } else { &self.columns.modified };
                let time = times.as_ref().and_then(|times| times.first(doc));
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
        self.columns.text.as_ref().and_then(|digests| digests.first(doc))
    }

    /// Orders equals.
    pub(crate) fn address(&self, doc: u32) -> i64 {
        self.columns.address.as_ref().and_then(|addresses| addresses.first(doc)).unwrap_or(0)
    }
}
