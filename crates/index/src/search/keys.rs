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
    texts: Texts,
}

/// Texts that order entries, each column in its own order within the segment.
enum Texts {
    /// Numbers tell all.
    None,
    /// By the first, then by the second.
    Path([Option<StrColumn>; 2]),
    /// By the first where there is one, else by the second.
    Title([Option<StrColumn>; 2], Places),
}

/// Where each text of two columns stands among those of both; empty where only one of them has texts.
#[derive(Default)]
struct Places([Vec<u32>; 2]);

/// Where a hit stands among those of all segments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    number: u128,
    /// Empty when the number tells all.
    texts: [Box<[u8]>; 2],
}

impl<'a> Keys<'a> {
    /// Opens what the order needs beside the columns of the segment.
    pub(crate) fn open(
        segment: &SegmentReader,
        columns: &'a Columns,
        sort: Order,
    ) -> tantivy::Result<Keys<'a>> {
        let column = |name| segment.fast_fields().str(name);
        let texts = match sort.map(|sort| sort.by) {
            Some(SortBy::Path) => Texts::Path([column("path_order")?, column("name_order")?]),
            Some(SortBy::Title) => {
                let both = [column("title_order")?, column("name_order")?];
                let places = Places::of(&both)?;
                Texts::Title(both, places)
            }
            _ => Texts::None,
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
            SortBy::Title | SortBy::Path => self.texts.place(doc),
        };
        let Some(number) = number else { return 0 };
        1 + u128::from(if sort.ascending { !number } else { number })
    }

    /// The same key, to be compared with those of other segments: places of texts differ from one to the next.
    pub(crate) fn across(&self, doc: u32, key: u128) -> tantivy::Result<Key> {
        let found = self.texts.of(doc);
        if found.iter().all(Option::is_none) {
            return Ok(Key { number: key, texts: Default::default() });
        }
        let mut texts = [String::new(), String::new()];
        for (text, found) in texts.iter_mut().zip(found) {
            if let Some((column, ordinal)) = found {
                column.ord_to_str(ordinal, text)?;
            }
        }
        Ok(Key { number: 1, texts: texts.map(|text| self.directed(text)) })
    }

    fn directed(&self, text: String) -> Box<[u8]> {
        let mut text = text.into_bytes();
        if self.sort.is_some_and(|sort| sort.ascending) {
            text.iter_mut().for_each(|byte| *byte = !*byte);
            // A beginning stands before what goes on; no byte of UTF-8 is turned into this one.
            text.push(u8::MAX);
        }
        text.into_boxed_slice()
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

fn ordinal(column: &Option<StrColumn>, doc: u32) -> Option<(&StrColumn, u64)> {
    let column = column.as_ref()?;
    column.ords().first(doc).map(|ordinal| (column, ordinal))
}

impl Texts {
    /// Where an entry stands in the segment.
    fn place(&self, doc: u32) -> Option<u64> {
        // A segment has fewer entries than 2^32.
        match self {
            Texts::None => None,
            Texts::Path([first, second]) => {
                let (first, second) = (ordinal(first, doc), ordinal(second, doc));
                let place = |found: Option<(_, u64)>| found.map_or(0, |(_, ordinal)| 1 + ordinal);
                (first.is_some() || second.is_some()).then(|| place(first) << 32 | place(second))
            }
            Texts::Title([first, second], places) => {
                let told = |at: usize, ordinal: u64| match places.0[at].get(ordinal as usize) {
                    Some(place) => u64::from(*place),
                    None => ordinal,
                };
                let first = ordinal(first, doc).map(|(_, ordinal)| told(0, ordinal));
                first.or_else(|| ordinal(second, doc).map(|(_, ordinal)| told(1, ordinal)))
            }
        }
    }

    /// What an entry is ordered by.
    fn of(&self, doc: u32) -> [Option<(&StrColumn, u64)>; 2] {
        match self {
            Texts::None => [None, None],
            Texts::Path([first, second]) => [ordinal(first, doc), ordinal(second, doc)],
            Texts::Title([first, second], _) => [ordinal(first, doc).or_else(|| ordinal(second, doc)), None],
        }
    }
}

impl Places {
    /// Merges both, which takes as long as there are texts; few are asked for in this order.
    fn of(columns: &[Option<StrColumn>; 2]) -> tantivy::Result<Places> {
        let [Some(first), Some(second)] = columns else { return Ok(Places::default()) };
        let (mut places, mut place) = (Places::default(), 0);
        let mut streams = [first.dictionary().stream()?, second.dictionary().stream()?];
        let mut more = [streams[0].advance(), streams[1].advance()];
        while more[0] || more[1] {
            let least = match more {
                [true, true] => streams[0].key().min(streams[1].key()).to_vec(),
                [true, false] => streams[0].key().to_vec(),
                _ => streams[1].key().to_vec(),
            };
            for at in 0..2 {
                if more[at] && streams[at].key() == least {
                    places.0[at].push(place);
                    more[at] = streams[at].advance();
                }
            }
            place += 1;
        }
        Ok(places)
    }
}
